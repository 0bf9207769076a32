"""The section of one table or index."""

from __future__ import annotations

from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import paragraphs
from faradisc.charts.tables import pairs
from faradisc.charts.words import SPACE, count, duration, elapsed, percent, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.report.heat import Heat, partitions
from faradisc.tools.planner.report.scaling import timeline
from faradisc.tools.planner.report.tables import collections, headroom, hot_keys, partition_table, split_log
from faradisc.tools.planner.report.throughput import burst, consumption, throttling
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome
from faradisc.tools.planner.results.series import Series

_TABLES = (headroom, hot_keys, collections, split_log)


def section(
    outcome: PlanOutcome, resource: ResourceOutcome, heat: Heat, detail: Detail, *, anchor: str
) -> Markup:
    both = (("Writes", resource.write), ("Reads", resource.read))
    busy = [(what, series) for what, series in both if any(series.offered) or any(series.consumed)]
    quiet = [what.lower() for what, series in both if (what, series) not in busy]
    figures = join(
        [consumption(outcome, resource, series, what, detail) for what, series in busy],
        throttling(outcome, resource, detail),
        partitions(outcome, resource, heat, detail),
        [burst(outcome, series, what, detail) for what, series in busy],
        [
            timeline(outcome, target, resource.read if target.direction == "R" else resource.write, detail)
            for target in outcome.scaling
            if target.resource == resource.name
        ],
    )
    title = cut(resource.title, detail)
    return element(
        "section",
        element("h2", title[:1].upper() + title[1:], id=anchor),
        pairs(_facts(resource)),
        paragraphs(f"No {' and no '.join(quiet)}.", style="soft") if quiet else None,
        paragraphs(*_throttled_by_indexes(outcome, resource, detail)),
        element("div", figures, class_="together") if outcome.samples else None,
        [found.html() for each in _TABLES if (found := each(outcome, resource, detail)) is not None],
        element("details", element("summary", "The numbers of each partition"), listed.html())
        if (listed := partition_table(resource, detail)) is not None
        else None,
    )


def _throttled_by_indexes(outcome: PlanOutcome, resource: ResourceOutcome, detail: Detail) -> list[str]:
    """Returns a sentence for each index that throttled writes of this table, which counts none of them."""
    found = []
    for each in outcome.resources if resource.index is None else ():
        events = each.throttle_summary.events.items()
        throttled = sum(number for cause, number in events if cause.startswith("W "))
        if each.table == resource.table and each.index is not None and throttled:
            name = cut(each.index, detail)
            found.append(
                f"The index {name} throttled {count(throttled)} writes of this table; see there for why."
            )
    return found


def _facts(resource: ResourceOutcome) -> list[tuple[str, Child]]:
    summary, most = resource.throttle_summary, resource.busiest
    throttled = sum(summary.events.values())
    found: list[tuple[str, Child]] = [
        ("mode", "provisioned" if resource.mode == "PROVISIONED" else "on demand"),
        ("partitions", _from_to(resource.partition_count)),
        ("throttled attempts", count(throttled)),
    ]
    if most is not None:
        found.insert(2, ("busiest partition", f"{most.partition}, {percent(most.percent)} of its limit"))
    if not throttled:
        return found
    if summary.first_s is not None:
        found.append(("first throttled at", elapsed(summary.first_s)))
    if summary.worst_second_s is not None:
        worst = f"{count(summary.worst_second_events)} at {elapsed(summary.worst_second_s)}"
        found.append(("worst second", worst))
    found.append(("longest without a pause", duration(summary.longest_throttled_s)))
    return found


def _from_to(values: Series) -> str:
    if not values:
        return "none"
    first, last = units(values[0]), units(values[-1])
    return first if first == last else f"{first}{SPACE}\u2192{SPACE}{last}"
