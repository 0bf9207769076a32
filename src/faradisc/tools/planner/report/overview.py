"""The first and the last part of a plan: whether it holds, why, what it costs; what the numbers rest on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import paragraphs
from faradisc.charts.tables import pairs
from faradisc.charts.words import SPACE, count, duration, moment, percent, plural, units
from faradisc.tools.planner.report.detail import Detail, cut, cut_paragraph
from faradisc.tools.planner.results.headline import sentence
from faradisc.tools.planner.results.outcome import PlanOutcome


def opening(outcome: PlanOutcome, detail: Detail) -> Markup:
    """Returns the headline, the findings and the totals."""
    headline = outcome.headline
    style, word = ("holds", "Holds.") if headline.holds else ("fails", "Fails.")
    words = cut_paragraph(headline.words, detail)
    found = [text for text in outcome.verdict if text not in headline.words]
    return join(
        element("p", element("b", word), " ", words, class_=f"verdict {style}"),
        element("p", cut_paragraph(headline.change, detail), class_="change") if headline.change else None,
        _list([cut(sentence(text), detail) for text in found]),
        paragraphs(cut_paragraph(outcome.description, detail), style="soft") if outcome.description else None,
        pairs(_totals(outcome)),
    )


def _list(entries: Sequence[Child]) -> Markup | None:
    return element("ul", [element("li", entry) for entry in entries]) if entries else None


def _totals(outcome: PlanOutcome) -> list[tuple[str, Child]]:
    totals = outcome.totals
    found: list[tuple[str, Child]] = [
        ("time simulated", duration(outcome.duration_s)),
        ("requests", count(totals.offered)),
        ("attempts throttled", f"{count(totals.throttled)} ({percent(totals.throttled_percent)})"),
        ("requests lost", f"{count(totals.lost)} ({percent(totals.lost_percent)})"),
        ("wait, 99th percentile", f"{units(totals.waits.p99_ms)}{SPACE}ms"),
        ("read / write units", f"{count(totals.read_units)} / {count(totals.write_units)}"),
    ]
    if totals.cached:
        found.insert(2, ("answered by the cache", count(totals.cached)))
    return found


def prices(outcome: PlanOutcome, detail: Detail) -> Markup | None:
    """Returns the note below the costs."""
    found = outcome.costs
    if not found.modes:
        return None
    labels = [str(found.prices[name]) for name in ("region", "date", "source") if found.prices.get(name)]
    source = f" Prices: {', '.join(labels)}." if labels else ""
    none = "" if found.cheapest else " Each mode throttles more than the budget allows."
    return paragraphs(
        cut(f"A month has {count(found.month_hours)} hours.{source}{none}", detail), style="soft"
    )


def assumptions(outcome: PlanOutcome, detail: Detail) -> Markup:
    """Returns what the numbers rest on."""
    engine = "request by request" if outcome.engine == "events" else "in steps of a second, as flows"
    facts = [
        ("plan", cut(outcome.file, detail)),
        ("profile", outcome.profile),
        ("computed", engine),
        ("seed", str(outcome.seed)),
        ("0:00 is", _start(outcome.start)),
        ("samples", f"{count(outcome.samples)} of {duration(outcome.step_s)}"),
    ]
    sentences = [cut(sentence(text), detail) for text in outcome.assumptions[: detail.rows]]
    title = element("h3", "What this rests on")
    return element("section", title, pairs(facts), _list(sentences), _skipped(outcome, detail))


def _start(written: str) -> str:
    """Returns ISO 8601 as a date and time; anything else as it is."""
    try:
        return moment(datetime.fromisoformat(written).timestamp())
    except ValueError:
        return written


def _skipped(outcome: PlanOutcome, detail: Detail) -> Markup | None:
    skipped = outcome.skipped
    if skipped is None or not skipped.lines:
        return None
    lines = plural(skipped.lines, "line")
    return join(
        paragraphs(f"{lines} of the trace skipped, {count(skipped.read)} read. The first:"),
        _list([element("code", cut(line, detail)) for line in skipped.first[: detail.rows]]),
    )
