"""Compares an outcome with an earlier one that was written with `--json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from faradisc.charts.words import SPACE, money, percent, units
from faradisc.records import dataclass
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.traces.errors import PlanError

TOLERANCE_PERCENT = 5.0
_NAMES: dict[str, tuple[str, float, Callable[[float], str]]] = {
    "lost": ("requests lost", 0.1, percent),
    "throttled": ("attempts throttled", 0.1, percent),
    "wait": ("wait in ms, 99th percentile", 1, units),
    "cost": ("a month as planned", 0.5, money),
    "cheapest": ("the cheapest month", 0.5, money),
    "partitions": ("partitions at the end", 0, units),
}
"""What is compared: its name, a difference that does not matter, and how values are written."""


@dataclass(frozen=True, slots=True)
class PlanDifference:
    words: str
    worse: bool
    """Whether it is worse by more than the tolerance."""


def earlier(file: str, document: Any) -> Sequence[Mapping[str, Any]]:
    """Returns the outcomes in a document. Raises PlanError for one that is none of `--json`."""
    found = document if isinstance(document, list) else [document]
    if not found or not all(
        isinstance(each, dict) and {"headline", "totals", "costs"} <= each.keys() for each in found
    ):
        what = "this was not written by faradisc plan --json"
        raise PlanError(file, None, what, "Name such a file.")
    return found


def compared(
    before: Sequence[Mapping[str, Any]], outcome: PlanOutcome, tolerance: float
) -> Iterator[PlanDifference]:
    """Yields what is different from the outcome of the same plan and variant, if there is one."""
    now = outcome.to_json()
    title = (now["name"], now["variant"])
    old = next((each for each in before if (each["name"], each.get("variant", "")) == title), None)
    if old is None:
        yield PlanDifference("the earlier file does not have this plan", False)
        return
    if old["headline"]["holds"] != now["headline"]["holds"]:
        held = "held" if old["headline"]["holds"] else "failed"
        yield PlanDifference(
            f"it {held}, and now it {'holds' if outcome.holds else 'fails'}", not outcome.holds
        )
    values, present = _values(old), _values(now)
    for name, (words, small, written) in _NAMES.items():
        first, last = values[name], present[name]
        if abs(last - first) <= small or abs(last - first) * 100 <= tolerance * first:
            continue
        said = f"{words}: {written(first)}, and now {written(last)}".replace(SPACE, " ")
        yield PlanDifference(said, last > first)


def _values(found: Mapping[str, Any]) -> dict[str, float]:
    modes = {mode["mode"]: mode for mode in found["costs"]["modes"]}
    cheapest = next((mode["total_usd"] for mode in modes.values() if mode["cheapest"]), 0)
    return {
        "lost": found["totals"]["lost_percent"],
        "throttled": found["totals"]["throttled_percent"],
        "wait": found["totals"]["waits"]["p99_ms"],
        "cost": modes["as-planned"]["total_usd"] if "as-planned" in modes else 0,
        "cheapest": cheapest,
        "partitions": sum(_last(each["partition_count"]) for each in found["resources"]),
    }


def _last(counts: Any) -> float:
    """Returns the last value of a series, as it is in full or summarised."""
    if isinstance(counts, list):
        return counts[-1] if counts else 0
    return counts["last"] if counts else 0
