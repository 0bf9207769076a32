"""Replays a recorded trace: its requests, as the discrete-event engine takes them."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.capacity.admission import Charge
from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.results.item_collections import recorded_bytes
from faradisc.tools.planner.simulation.discrete_event import RequestPart, SimulatedRequest
from faradisc.tools.planner.simulation.recorder import FlowRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.retries import Retries
from faradisc.tools.traces.trace_format import Trace


def replay(
    trace: Trace, tables: VirtualTables, recorder: RunRecorder, retries: Retries
) -> Iterator[SimulatedRequest]:
    """Yields the requests of a trace in order of time. Those of unknown tables and indexes are skipped."""
    flows: dict[tuple[str, str], FlowRecord] = {}
    now = tables.start_ns
    for recorded in trace.requests():
        parts = []
        try:
            for charge in recorded.charges:
                writes = charge.direction == "W"
                record = recorder.direction(recorded.table, charge.index, writes=writes)
                asked = Charge(record.limiter, charge.place, charge.half_units, charge.eventual)
                # Traces name the keys of tables only.
                key = recorded.key if charge.index is None else None
                parts.append(RequestPart(record, asked, key))
        except KeyError as missing:
            table, index = missing.args[0]
            named = f"table {table!r}" if index is None else f"index {index!r} of table {table!r}"
            trace.skip(trace.line, f"{named} is not in the plan")
            trace.lines_read -= 1
            continue
        parts[0].grows, parts[0].items = recorded.grows_bytes, recorded.grows_items
        name = (recorded.table, recorded.operation)
        flow = flows.get(name)
        if flow is None:
            flow = flows[name] = recorder.flow(f"{recorded.table}: {recorded.operation}")
        flow.offered += 1
        # A server writes a line when a request ends, so lines may be a little out of order.
        now = max(now, tables.start_ns + round(recorded.at_s * SECOND_NS))
        growth = recorder.growth.get(recorded.table)
        if growth is not None and recorded.key is not None and (recorded.grows_bytes or recorded.grows_items):
            table_plan = parts[0].record.virtual.table
            gained = recorded_bytes(table_plan, recorded.grows_bytes, recorded.grows_items)
            growth.add(recorded.key, gained)
        yield SimulatedRequest(now, flow, retries, parts)
