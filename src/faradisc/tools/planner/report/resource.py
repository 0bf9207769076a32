"""The section of one table or index."""

from __future__ import annotations

from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import paragraphs
from faradisc.charts.tables import pairs
from faradisc.charts.words import SPACE, count, duration, elapsed, percent, units
from faradisc.tools.planner.report.collections import collections
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.report.headroom import headroom
from faradisc.tools.planner.report.heat import Heat, partitions
from faradisc.tools.planner.report.keys import hot_keys, partition_table, split_log
from faradisc.tools.planner.report.lanes import bank, consumption, refusals
from faradisc.tools.planner.report.scaling import timeline
from faradisc.tools.planner.results.outcome import LaneSeries, Outcome, ResourceOutcome


def section(
    outcome: Outcome, resource: ResourceOutcome, heat: Heat, detail: Detail, *, anchor: str
) -> Markup:
    if resource.index is None:
        title: list[Child] = ["Table ", cut(resource.table, detail)]
    else:
        title = ["Index ", cut(resource.index, detail), " of ", cut(resource.table, detail)]
    lanes = [
        (lane, what)
        for lane, what in ((resource.write, "Writes"), (resource.read, "Reads"))
        if any(lane.offered) or any(lane.consumed)
    ]
    quiet = [what for what, lane in (("writes", resource.write), ("reads", resource.read)) if not _busy(lane)]
    figures = join(
        [consumption(outcome, resource, lane, what, detail) for lane, what in lanes],
        refusals(outcome, resource, detail),
        partitions(outcome, resource, heat, detail),
        [bank(outcome, lane, what, detail) for lane, what in lanes],
        [
            timeline(outcome, target, resource.read if target.direction == "R" else resource.write, detail)
            for target in outcome.scaling
            if target.resource == resource.name
        ],
    )
    return element(
        "section",
        element("h2", title, id=anchor),
        pairs(facts(resource, heat)),
        paragraphs(f"No {' and no '.join(quiet)}.", style="soft") if quiet else None,
        paragraphs(*_held_back(outcome, resource, detail)),
        element("div", figures, class_="together") if outcome.samples else None,
        headroom(outcome, resource, detail),
        hot_keys(outcome, resource, detail),
        collections(outcome, resource, detail),
        split_log(outcome, resource, detail),
        partition_table(outcome, resource, detail),
    )


def _busy(lane: LaneSeries) -> bool:
    return any(lane.offered) or any(lane.consumed)


def _held_back(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> list[str]:
    """A sentence for each index that refused writes of this table: the table itself counts none of them."""
    if resource.index is not None:
        return []
    held = []
    for each in outcome.resources:
        events = each.throttle_summary.events.items()
        refused = sum(number for cause, number in events if cause.startswith("W "))
        if each.table == resource.table and each.index is not None and refused:
            name = cut(each.index, detail)
            held.append(f"The index {name} refused {count(refused)} writes of this table; see there for why.")
    return held


def facts(resource: ResourceOutcome, heat: Heat) -> list[tuple[str, Child]]:
    """The resource in a line of numbers."""
    summary = resource.throttle_summary
    refused = sum(summary.events.values())
    found: list[tuple[str, Child]] = [
        ("mode", "provisioned" if resource.mode == "PROVISIONED" else "on demand"),
        ("partitions", _from_to(resource.partition_count)),
        ("busiest partition", f"{percent(heat.top)} of its limit"),
        ("throttle events", count(refused)),
    ]
    if not refused:
        return found
    if summary.first_s is not None:
        found.append(("first refusal", elapsed(summary.first_s)))
    if summary.worst_second_s is not None:
        worst = f"{count(summary.worst_second_events)} at {elapsed(summary.worst_second_s)}"
        found.append(("worst second", worst))
    found.append(("longest stretch", duration(summary.longest_stretch_s)))
    return found


def _from_to(values: tuple[float, ...]) -> str:
    if not values:
        return "none"
    first, last = units(values[0]), units(values[-1])
    return first if first == last else f"{first}{SPACE}\u2192{SPACE}{last}"
