"""Findings as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent
from typing import Any

from faradisc.tools.advisor.findings import Effect, Finding, count
from faradisc.tools.advisor.rules import RULES
from faradisc.tools.advisor.rules.partition_keys import good_keys
from faradisc.tools.advisor.traffic import Traffic
from faradisc.tools.planner.results.prices import US_EAST_1

FORMAT = 1


def to_json(traffic: Traffic, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "faradisc_advice": FORMAT,
        "source": traffic.source,
        "duration_s": traffic.duration_s,
        "times": traffic.times,
        "tables": sorted(traffic.tables),
        "notes": traffic.notes,
        "good_keys": _good_keys(traffic),
        "prices": US_EAST_1.to_json(),
        "findings": [finding.to_json() for finding in findings],
    }


def as_text(traffic: Traffic, findings: Sequence[Finding]) -> str:
    """Returns what a person reads: a headline, and each finding with evidence, effect and code."""
    times = f", times {traffic.times}" if traffic.times > 1 else ""
    lines = [
        f"{count(len(findings), 'finding')} in {count(len(traffic.tables), 'table')} "
        f"({traffic.source}, {traffic.duration_s:,} s{times}; prices of {US_EAST_1.region}, {US_EAST_1.date})"
    ]
    lines += [f"note: {note}" for note in traffic.notes]
    lines += [f"good key: {sentence}" for sentence in _good_keys(traffic)]
    practices = {rule.name: rule.practice for rule in RULES}
    for finding in findings:
        lines += [
            "",
            f"{finding.level.upper()} {finding.rule}: {finding.title}",
            f"  {finding.evidence}",
            f"  Practice: {practices[finding.rule]}",
            f"  Effect: {effect_text(finding.effect)}",
            indent(finding.code, "    "),
        ]
    return "".join(
        each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in "\n".join(lines)
    )


def _good_keys(traffic: Traffic) -> list[str]:
    return [sentence for _, table in sorted(traffic.tables.items()) for sentence in good_keys(table)]


def effect_text(effect: Effect) -> str:
    """Returns the numbers of an effect, a month, with their meaning."""
    numbers = [
        f"{abs(value):,.0f} {name} units {'less' if value > 0 else 'more'}"
        for name, value in (("read", effect.read_units), ("write", effect.write_units))
        if value
    ]
    if effect.usd is not None:
        amount = f"${abs(effect.usd):,.2f}" if effect.usd else "less than a cent"
        numbers.append(f"{amount} {'less' if effect.usd > 0 else 'more'}")
    return f"{', '.join(numbers)} a month: {effect.words}" if numbers else effect.words
