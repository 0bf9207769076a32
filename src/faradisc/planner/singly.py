"""Tables whose requests the fluid engine leaves to the engine of events, one by one.

A bucket forgives what it would owe beyond so many seconds of its rate (`max_debt_s`). How much that is hangs
on who comes first: a large request that finds the bucket just open is forgiven most of its cost, and the
small ones that come before and after it take what is there. Rates cannot tell. Such tables are small (their
rate is less than the cost of a request in a few seconds), so that their requests are affordable; those of
larger plans stay fluid (planner/gates.py, `forgive`).

Tables are independent of each other, so that two engines can run in one world, second by second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from faradisc.capacity.config import HALF_UNIT, UNIT
from faradisc.planner.events import EventEngine, Request
from faradisc.planner.observe import LaneNote
from faradisc.planner.plan import Plan, Rates, TablePlan
from faradisc.planner.streams import Flow, Stream

SINGLE_MAX = 1_000_000
"""No more requests than this are run one by one."""


class Singles:
    """The requests of such tables, as a guest of the fluid engine."""

    def __init__(self, engine: EventEngine, requests: Iterator[Request]) -> None:
        self._engine = engine
        self._requests = requests

    def run_second(self, end_ns: int) -> None:
        self._engine.run_second(self._requests, end_ns)

    def finish(self) -> None:
        self._engine.finish()


def tables_run_singly(plan: Plan, flows: Sequence[Flow]) -> frozenset[str]:
    """The names of the tables with a bucket that may forgive some of a request's cost, if there are not too
    many requests."""
    tables = {table.name: table for table in plan.tables}
    found = {
        flow.plan.table
        for flow in flows
        if any(_may_be_forgiven(stream, tables[flow.plan.table]) for stream in flow.streams)
    }
    micro = sum(flow.plan.rate.most * flow.plan.share for flow in flows if flow.plan.table in found)
    return frozenset(found if micro * plan.duration_s / 1_000_000 <= SINGLE_MAX else ())


def _may_be_forgiven(stream: Stream, table: TablePlan) -> bool:
    charges = [(stream.note, stream.half_units), *((each.note, each.half_units) for each in stream.indexes)]
    return any(2 * half_units * HALF_UNIT > _least_debt(note, table) for note, half_units in charges)


def _least_debt(note: LaneNote, table: TablePlan) -> float:
    """What each of a lane's buckets may owe at any time of the run, in nano-units."""
    seconds = table.config.max_debt_s
    if seconds is None:
        return float("inf")
    debts = [cell.debt for cell in note.lane.cells]
    index = note.member.index
    rates = table.rates if index is None else index.rates
    units = [*_units(rates, note.writes), *_changed_units(table, index.name if index else None, note.writes)]
    return min([*debts, *(each * seconds * UNIT for each in units)])


def _units(rates: Rates, writes: bool) -> Iterable[int]:
    """The rates that a resource begins with, or may be scaled to."""
    if rates.on_demand:
        maximum = rates.max_write if writes else rates.max_read
        return [] if maximum is None else [maximum]
    scaling = rates.write_scaling if writes else rates.read_scaling
    found = [rates.write_units if writes else rates.read_units]
    if scaling is not None:
        found += [scaling.minimum, *(each.minimum for each in scaling.scheduled if each.minimum is not None)]
    return found


def _changed_units(table: TablePlan, index: str | None, writes: bool) -> Iterable[int]:
    for change in table.changes:
        units = change.write_units if writes else change.read_units
        if change.index == index and units is not None:
            yield units
