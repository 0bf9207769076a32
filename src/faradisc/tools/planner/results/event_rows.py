"""Describes what happened to partitions and rates: one row and one sentence for each event."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.capacity.config import HASH_BYTES, SECOND_NS
from faradisc.capacity.events import CapacityGrown, Event, ShareBoosted, Split, SplitRefused, SplitStarted
from faradisc.charts.words import SPACE, brief, elapsed
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results.outcome import EventRow
from faradisc.tools.planner.results.series import Number, number
from faradisc.tools.planner.simulation.recorder import RunRecorder

ROWS_MAX = 2000

_REASONS = {
    "size": "it is larger than 10 GB",
    "raise": "the provisioned rate was raised",
    "warm": "warm throughput was raised",
    "on-demand": "on-demand capacity grew",
    "heat": "it was hot for long",
    "admin": "it was requested",
}


def event_rows(recorder: RunRecorder, plan: Plan) -> tuple[tuple[EventRow, ...], int]:
    """Returns the events of a run in order of time, and how many were left out at the end."""
    names = _names(plan)
    start_ns = recorder.tables.start_ns
    timed: list[tuple[int, int, EventRow]] = []
    for order, (member, event) in enumerate(recorder.events):
        row = _row(member.name, event, number((event.at_ns - start_ns) / SECOND_NS), names)
        if row is not None:
            timed.append((event.at_ns, order, row))
    for order, (member, at_ns, words) in enumerate(recorder.changes):
        at_s = number((at_ns - start_ns) / SECOND_NS)
        row = EventRow(at_s, member.name, "changed", None, None, None, None, words)
        timed.append((at_ns, order - len(recorder.changes), row))
    rows = [row for _, _, row in sorted(timed, key=lambda entry: entry[:2])]
    return tuple(rows[:ROWS_MAX]), max(len(rows) - ROWS_MAX, 0)


def repeated(events: Sequence[EventRow]) -> list[tuple[EventRow, str]]:
    """Returns each event with its words. A split that is rejected again and again for the same reason is one
    event that says how often."""
    found: dict[object, list[EventRow]] = {}
    for position, event in enumerate(events):
        same = (event.resource, event.words) if event.kind == "split-rejected" else position
        found.setdefault(same, []).append(event)
    return [
        (first, f"{first.words} ({len(rest) + 1:,} times, the last at {clock(rest[-1].at_s)})")
        if rest
        else (first, first.words)
        for first, *rest in found.values()
    ]


def clock(seconds: float) -> str:
    return elapsed(seconds).replace(SPACE, " ")


def _names(plan: Plan) -> dict[str, str]:
    """Returns the names of the plan's keys by their hash."""
    models = [flow.keys for flow in plan.traffic]
    models += [index.keys for table in plan.tables for index in table.indexes if index.keys is not None]
    return {key.prefix[:HASH_BYTES].hex(): key.name for model in models for key in model.shape(0, 0, 1).keys}


def _row(resource: str, event: Event, at_s: Number, names: dict[str, str]) -> EventRow | None:
    key = None
    if isinstance(event, SplitStarted | SplitRefused) and event.key:
        key = names.get(event.key[: 2 * HASH_BYTES])
    match event:
        case SplitStarted():
            part = brief(event.parent)
            isolated = f"; key {key!r} is isolated" if key else ""
            words = f"{part} begins to split: {_REASONS[event.reason]}{isolated}"
            return EventRow(at_s, resource, "split-started", part, event.reason, key, None, words)
        case Split():
            part, count = brief(event.parent), event.partitions
            children = " and ".join(map(brief, event.children))
            words = f"{part} was split into {children}: {count} partitions now"
            return EventRow(at_s, resource, "split", part, event.reason, None, count, words)
        case SplitRefused():
            part = brief(event.partition)
            named = f" (key {key!r})" if key else ""
            words = f"{part} is not split: {event.cause}{named}"
            return EventRow(at_s, resource, "split-rejected", part, event.wanted, key, None, words)
        case CapacityGrown():
            direction = "reads" if event.direction == "R" else "writes"
            words = f"On demand, it serves {event.units:,} {direction} units a second from now on"
            return EventRow(at_s, resource, "grown", None, event.direction, None, None, words)
        case ShareBoosted():
            part, unit = brief(event.partition), "RCU" if event.direction == "R" else "WCU"
            words = f"Adaptive capacity gives {part} {event.units} {unit}"
            return EventRow(at_s, resource, "boosted", part, event.direction, None, None, words)
    return None
