"""Flows whose requests the fluid engine leaves to others, which know who comes first.

In a second in which a bucket is short, rates let each kind of requests through in the same proportion. But a
large request is admitted by a bucket that has anything, and shuts it for as long as it takes to earn its
cost: small ones that come after it, in this second or the next ones, are refused, and it is admitted as often
as they are, however much it costs. A bucket that saves little, as those of partitions do, is empty when a few
large ones happen to come together, and spills what flows in while none comes. And what a bucket would owe
beyond so many seconds of its rate it forgives (`max_debt_s`): how much that is hangs on who comes first.

Where requests cost so much that this matters and there are not too many of them, the engine of events runs
them one by one; where there are, every admission is run (openings.py), or those of a part of the time
(pace.py). With very many partitions that would be too much, and they stay fluid, as all others do.

What does not charge the same lanes is independent of each other, so that several engines can run in one
world, second by second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from faradisc.capacity.admission import Limiter as Lane
from faradisc.capacity.config import HALF_UNIT, UNIT
from faradisc.tools.planner.pace import Pace, find_pace
from faradisc.tools.planner.plan_file.plan import Plan, TablePlan
from faradisc.tools.planner.simulation.discrete_event import DiscreteEventEngine, Request
from faradisc.tools.planner.simulation.recorder import DirectionRecord, RunRecorder
from faradisc.tools.planner.traces.trace_format import Trace
from faradisc.tools.planner.workload.streams import Flow, Stream

SINGLE_MAX = 1_000_000
"""No more requests than this are run one by one."""
BANK_MIN = 5
"""A bucket that saves as much as so many requests cost smooths over how they come (measured: with four, fluid
is 0.3 % off where as much is asked for as flows in, with three 1.3 %)."""
MIXED_MIN = 16
"""Where requests of different costs meet, so many of the largest in a second are many (measured: with five,
fluid is 2 % off at worst, with two 6 %)."""


class Singles:
    """Such requests, as a guest of the fluid engine."""

    def __init__(self, engine: DiscreteEventEngine, next_second: Callable[[], Iterable[Request]]) -> None:
        self._engine = engine
        self._next_second = next_second

    def run_second(self, end_ns: int) -> None:
        self._engine.run_second(self._next_second(), end_ns)

    def finish(self) -> None:
        self._engine.finish()


@dataclass
class Parted:
    """The flows of a plan, by the engine that runs them."""

    singly: list[Flow] = field(default_factory=list)
    """By events."""
    tables: frozenset[str] = frozenset()
    """So are the requests of a trace to these."""
    by_openings: list[Flow] = field(default_factory=list)
    roughly: list[Flow] = field(default_factory=list)
    """Fluid, though it matters who comes first."""
    fluid: list[Flow] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)
    """Of the engine that does."""


def part(plan: Plan, flows: Sequence[Flow]) -> Parted:
    """See for which flows it matters who comes first, or for others that they meet."""
    tables = {table.name: table for table in plan.tables}
    parted = Parted()
    for together in _together(flows):
        table = tables[together[0].plan.table]
        streams = [stream for flow in together for stream in flow.streams]
        if not _hangs_on_order(streams, table):
            parted.fluid += together
            continue
        if sum(flow.plan.most for flow in together) * plan.duration_s <= SINGLE_MAX:
            parted.singly += together
            continue
        pace = find_pace(parted.by_openings + together, plan.duration_s)
        if pace is None:
            parted.roughly += together
        else:
            parted.by_openings += together
            parted.pace = pace
    return parted


def tables_of_trace(plan: Plan, trace: Trace, recorder: RunRecorder) -> frozenset[str]:
    """The tables of a trace for which it matters who comes first. However many their requests are: to read
    them takes longer than to run them."""
    tables = {table.name: table for table in plan.tables}
    found = set()
    for (name, index, direction), (least, most) in trace.costs.items():
        try:
            record = recorder.lane(name, index, writes=direction == "W")
        except KeyError:
            continue
        if _meets_little(record, most * HALF_UNIT, least * HALF_UNIT, tables[name]):
            found.add(name)
    return frozenset(found)


def _together(flows: Iterable[Flow]) -> list[list[Flow]]:
    """Flows that charge the same lanes, directly or by way of others. They are of one table."""
    found: list[tuple[set[Lane], list[Flow]]] = []
    for flow in flows:
        lanes = {record.lane for stream in flow.streams for record, _ in stream.charges}
        mine = [flow]
        apart = []
        for theirs, others in found:
            if lanes & theirs:
                lanes |= theirs
                mine = others + mine
            else:
                apart.append((theirs, others))
        found = [*apart, (lanes, mine)]
    return [mine for _, mine in found]


def _hangs_on_order(streams: Iterable[Stream], table: TablePlan) -> bool:
    costs: dict[DirectionRecord, list[int]] = {}
    for stream in streams:
        for record, half_units in stream.charges:
            if half_units:
                costs.setdefault(record, []).append(half_units * HALF_UNIT)
    return any(_meets_little(record, max(nano), min(nano), table) for record, nano in costs.items())


def _meets_little(record: DirectionRecord, most: int, least: int, table: TablePlan) -> bool:
    """Whether a lane has a bucket to which a request that costs `most` is a lot."""
    config = table.config
    parts = min(cell.rate / cell.scale for cell in record.lane.buckets)
    units = float(min([*_units(record, table), *_changed_units(record, table)], default=1 << 62))
    if config.shares:
        units /= len(record.lane.buckets)
    rate = min(parts, units) * UNIT
    bank = min(parts * config.partition_burst_ms / 1000, units * config.burst_s) * UNIT
    forgiven = config.max_debt_s is not None and most > rate * config.max_debt_s / 2
    return forgiven or most * BANK_MIN > bank or (most >= 2 * least and most * MIXED_MIN > rate)


def _units(record: DirectionRecord, table: TablePlan) -> Iterator[int]:
    """The rates that a resource begins with, or may be scaled to."""
    rates = table.rates if record.virtual.index is None else record.virtual.index.rates
    if rates.on_demand:
        maximum = rates.max_write if record.writes else rates.max_read
        if maximum is not None:
            yield maximum
        return
    scaling = rates.write_scaling if record.writes else rates.read_scaling
    yield rates.write_units if record.writes else rates.read_units
    if scaling is not None:
        yield scaling.minimum
        yield from (each.minimum for each in scaling.scheduled if each.minimum is not None)


def _changed_units(record: DirectionRecord, table: TablePlan) -> Iterator[int]:
    index = None if record.virtual.index is None else record.virtual.index.name
    for change in table.changes:
        units = change.write_units if record.writes else change.read_units
        if change.index == index and units is not None:
            yield units
