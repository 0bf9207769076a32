"""A recorded trace as the engine of events takes it; fluid_replay.py has the other engine's part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faradisc.capacity.admission import Charge
from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.results.item_collections import recorded_bytes
from faradisc.tools.planner.simulation.discrete_event import Request, RequestPart
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.traces.trace_format import Recorded, Trace, TraceCharge
from faradisc.tools.planner.workload.retries import Retries


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded request with the notes of the run it is replayed in."""

    at_ns: int
    flow: FlowRecord
    recorded: Recorded
    notes: tuple[DirectionRecord, ...]
    """Of its charges."""

    def key_of(self, charge: TraceCharge) -> str | None:
        """The name of a charge's key: traces name the table's keys only."""
        return self.recorded.key if charge.index is None else None


def replay(trace: Trace, world: VirtualTables, recorder: RunRecorder) -> Iterator[Replayed]:
    """The requests of a trace in order of time. Those of unknown tables and indexes are skipped."""
    flows: dict[tuple[str, str], FlowRecord] = {}
    now = world.start_ns
    for recorded in trace.requests():
        try:
            notes = tuple(
                recorder.direction(recorded.table, charge.index, writes=charge.direction == "W")
                for charge in recorded.charges
            )
        except KeyError as missing:
            trace.skip(f"{_named(missing.args[0])} is not in the plan")
            trace.lines_read -= 1
            continue
        name = (recorded.table, recorded.operation)
        flow = flows.get(name)
        if flow is None:
            flow = flows[name] = recorder.flow(f"{recorded.table}: {recorded.operation}")
        # A server writes a line when a request ends, so lines may be a little out of order.
        now = max(now, world.start_ns + round(recorded.at_s * SECOND_NS))
        if (recorded.grows_bytes or recorded.grows_items) and recorded.key is not None:
            growth = recorder.growth.get(recorded.table)
            if growth is not None:
                table = notes[0].virtual.table
                gained = recorded_bytes(table, recorded.grows_bytes, recorded.grows_items)
                growth.add(recorded.key, gained)
        yield Replayed(now, flow, recorded, notes)


def _named(missing: tuple[str, str | None]) -> str:
    table, index = missing
    return f"table {table!r}" if index is None else f"index {index!r} of table {table!r}"


def request_of(replayed: Replayed, retries: Retries) -> Request:
    """A recorded request for the engine of events."""
    recorded = replayed.recorded
    parts = [
        RequestPart(
            record,
            Charge(record.limiter, charge.place, charge.half_units, charge.eventual),
            replayed.key_of(charge),
            0,
            0,
        )
        for record, charge in zip(replayed.notes, recorded.charges, strict=True)
    ]
    parts[0].grows, parts[0].items = recorded.grows_bytes, recorded.grows_items
    replayed.flow.offered += 1
    return Request(replayed.at_ns, replayed.flow, retries, parts)
