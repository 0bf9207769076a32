"""What happened to partitions and rates, told one event at a time."""

from __future__ import annotations

from faradisc.capacity.config import SECOND_NS
from faradisc.capacity.events import (
    CapacityGrown,
    Event,
    ShareBoosted,
    Split,
    SplitRefused,
    SplitStarted,
)
from faradisc.capacity.partitions import HASH_BYTES
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results.outcome import EventRow, Number, number
from faradisc.tools.planner.simulation.recorder import RunRecorder

ROWS_MAX = 2000

_WHY = {
    "size": "it has outgrown 10 GB",
    "raise": "the provisioned rate was raised",
    "warm": "warm throughput was raised",
    "on-demand": "on-demand capacity has grown",
    "heat": "it has been hot for long",
    "admin": "it was asked for",
}


def event_rows(recorder: RunRecorder, plan: Plan) -> tuple[tuple[EventRow, ...], int]:
    """The events of a run in order of time, and how many were left out at the end."""
    names = _names(plan)
    start_ns = recorder.world.start_ns
    timed: list[tuple[int, int, EventRow]] = []
    for order, (member, event) in enumerate(recorder.events):
        row = _row(member.name, event, number((event.at_ns - start_ns) / SECOND_NS), names)
        if row is not None:
            timed.append((event.at_ns, order, row))
    for order, (member, at_ns, words) in enumerate(recorder.changes):
        at_s = number((at_ns - start_ns) / SECOND_NS)
        row = EventRow(at_s, member.name, "changed", None, None, None, None, words)
        timed.append((at_ns, -len(recorder.changes) + order, row))
    rows = [row for _, _, row in sorted(timed, key=lambda entry: entry[:2])]
    return tuple(rows[:ROWS_MAX]), max(len(rows) - ROWS_MAX, 0)


def _names(plan: Plan) -> dict[str, str]:
    """Names of the keys a plan knows, by their hash."""
    found = {}
    for flow in plan.traffic:
        for key in flow.keys.shape(0, 0, 1).keys:
            found[key.prefix[:HASH_BYTES].hex()] = key.name
    for table in plan.tables:
        for index in table.indexes:
            if index.keys is not None:
                for key in index.keys.shape(0, 0, 1).keys:
                    found[key.prefix[:HASH_BYTES].hex()] = key.name
    return found


def _row(resource: str, event: Event, at_s: Number, names: dict[str, str]) -> EventRow | None:
    def name_of(place: str | None) -> str | None:
        return names.get(place[: 2 * HASH_BYTES]) if place else None

    match event:
        case SplitStarted():
            key = name_of(event.key)
            words = f"{event.parent} begins to split: {_WHY[event.reason]}"
            words += f"; key {key!r} is isolated" if key else ""
            return EventRow(at_s, resource, "split-started", event.parent, event.reason, key, None, words)
        case Split():
            words = (
                f"{event.parent} was replaced by {' and '.join(event.children)}: "
                f"{event.partitions} partitions now"
            )
            return EventRow(
                at_s, resource, "split", event.parent, event.reason, None, event.partitions, words
            )
        case SplitRefused():
            key = name_of(event.key)
            named = f" (key {key!r})" if key else ""
            words = f"{event.partition} is not split: {event.cause}{named}"
            return EventRow(at_s, resource, "split-refused", event.partition, event.wanted, key, None, words)
        case CapacityGrown():
            what = "reads" if event.direction == "R" else "writes"
            words = f"On demand, it serves {event.units:,} {what} units a second from now on"
            return EventRow(at_s, resource, "grown", None, event.direction, None, None, words)
        case ShareBoosted():
            unit = "RCU" if event.direction == "R" else "WCU"
            words = f"Adaptive capacity gives {event.partition} {event.units} {unit}"
            return EventRow(at_s, resource, "boosted", event.partition, event.direction, None, None, words)
    return None
