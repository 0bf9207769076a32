"""A recorded trace as requests of the engine of events."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.capacity.admission import Charge
from faradisc.capacity.config import SECOND_NS
from faradisc.planner.events import Part, Request
from faradisc.planner.observe import FlowNote, Observer
from faradisc.planner.retries import Retries
from faradisc.planner.trace import Recorded, Trace, TraceCharge
from faradisc.planner.world import World


def requests_of_trace(trace: Trace, world: World, observer: Observer, retries: Retries) -> Iterator[Request]:
    """The recorded requests as the engine of events takes them. Requests of unknown tables are skipped."""
    flows: dict[tuple[str, str], FlowNote] = {}
    now = world.start_ns
    for number, recorded in enumerate(trace.requests(), 1):
        try:
            parts = [_part(observer, recorded, charge) for charge in recorded.charges]
        except KeyError as missing:
            trace.skip(number, f"{_named(missing.args[0])} is not in the plan")
            trace.lines_read -= 1
            continue
        parts[0].grows, parts[0].items = recorded.grows_bytes, recorded.grows_items
        name = (recorded.table, recorded.operation)
        flow = flows.get(name)
        if flow is None:
            flow = flows[name] = observer.flow(f"{recorded.table}: {recorded.operation}")
        flow.offered += 1
        # A server writes a line when a request ends, so lines may be a little out of order.
        now = max(now, world.start_ns + int(recorded.at_s * SECOND_NS))
        yield Request(now, flow, retries, parts)


def _named(missing: tuple[str, str | None]) -> str:
    table, index = missing
    return f"table {table!r}" if index is None else f"index {index!r} of table {table!r}"


def _part(observer: Observer, recorded: Recorded, charge: TraceCharge) -> Part:
    note = observer.lane(recorded.table, charge.index, writes=charge.direction == "W")
    key = recorded.key if charge.index is None else None
    return Part(note, Charge(note.lane, charge.place, charge.half_units, charge.eventual), key, 0, 0)
