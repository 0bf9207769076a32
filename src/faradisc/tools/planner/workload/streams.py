"""The request streams of a plan: what each request charges, and how many requests arrive in a second.

One flow of the plan (PutItem on a table with a sparse index, for example) becomes a few streams, each of
which makes the same charges with every request: those whose items are in the index and those whose items are
not. Both engines run streams; the costs are the core's (capacity/units.py).

Sources: capacity.md sections 2.2 (charges), 2.9 (indexes).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random

from faradisc.capacity import units
from faradisc.capacity.config import SECOND_NS
from faradisc.limits import PAGE_BYTES_MAX, STORAGE_OVERHEAD_BYTES
from faradisc.records import dataclass
from faradisc.tools.planner.plan_file.plan import FlowPlan, IndexPlan, TablePlan
from faradisc.tools.planner.results.item_collections import FlowGrowth
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, RunRecorder
from faradisc.tools.planner.workload.key_distributions import EVENLY_SPREAD, KeyModel, KeyShape
from faradisc.tools.traces.rate_file import MICRO, PerSecond


@dataclass(frozen=True, slots=True)
class Charged:
    """What one request costs a table or an index, and what the partition gains."""

    record: DirectionRecord
    half_units: int
    """0 for an index: the write is charged nothing, and needs the index to have capacity all the same."""
    grows: int = 0
    """Bytes gained; negative when items are removed."""
    items: int = 0
    """Items gained: 1, 0 or -1."""
    eventual: bool = False


@dataclass(frozen=True, slots=True)
class IndexCharge(Charged):
    """The charge of a write to one global index."""

    keys: KeyModel = EVENLY_SPREAD


@dataclass(frozen=True, slots=True)
class StreamWorkload(Charged):
    """Requests that make the same charges."""

    indexes: tuple[IndexCharge, ...] = ()
    share: float = 1.0
    """Part of the flow's requests, 0 to 1."""
    collects: int = 0
    """Bytes an item collection gains per request, local indexes and storage overhead included."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The requests of one flow in one second."""

    first: int
    """Number of the first one among all requests of the flow."""
    count: int
    shape: KeyShape


class Flow:
    """The streams of one flow of the plan, and the number of its requests.

    In every second, call `rates`, then `begin_second` with the rates or with what was drawn by them.
    """

    def __init__(self, plan: FlowPlan, table: TablePlan, recorder: RunRecorder, seed: int) -> None:
        self.plan = plan
        self.keys = plan.keys if plan.operation != "Scan" else EVENLY_SPREAD
        self.streams = compile_flow(plan, table, recorder)
        number = len(recorder.flows)
        self._randoms = [Random(f"{seed}/{number}/{stream}") for stream in range(len(self.streams))]
        self.record: FlowRecord = recorder.flow(plan.name)
        self.growth: FlowGrowth | None = None
        """Growth of item collections, where their sizes are limited."""
        if table.locals and plan.writes:
            self.growth = FlowGrowth([stream.collects for stream in self.streams])
        self._share = float(plan.share)
        self._uncounted = [0.0] * len(self.streams)
        self._offered = 0.0
        self._cached = 0.0

    def rates(self, second: int) -> list[float]:
        """Returns the mean number of requests in a second, by stream, without those that a cache answers."""
        rate = self.plan.rate.micro(second) / MICRO * self._share
        cache = self.plan.cache
        if cache is not None:
            hits = float(cache.hits) * (min(second / cache.warm_up_s, 1) if cache.warm_up_s else 1)
            self._cached += rate * hits
            self.record.cached = round(self._cached)
            rate *= 1 - hits
        return [rate * stream.share for stream in self.streams]

    def draw(self, rates: Sequence[float]) -> list[list[int]]:
        """Returns the moments of a second, in nanoseconds, at which the requests of each stream arrive: a
        Poisson process, so that gaps between them are distributed exponentially. Where the rates are those of
        a file, which counted the requests, only the moments are random."""
        drawn = []
        for stream, (rate, random) in enumerate(zip(rates, self._randoms, strict=True)):
            moments: list[int] = []
            if isinstance(self.plan.rate, PerSecond):
                self._uncounted[stream] += rate
                # The sum of many fractions may be a little less than a whole number.
                count = int(self._uncounted[stream] + 1e-6)
                self._uncounted[stream] -= count
                moments = sorted(int(random.random() * SECOND_NS) for _ in range(count))
            elif rate:
                at = random.expovariate(rate)
                while at < 1:
                    moments.append(int(at * SECOND_NS))
                    at += random.expovariate(rate)
            drawn.append(moments)
        return drawn

    def begin_second(self, second: int, counts: Sequence[float]) -> Arrivals:
        """Counts the requests of a second, by stream."""
        record = self.record
        first = record.offered
        self._offered += sum(counts)
        record.offered = round(self._offered)
        count = record.offered - first
        record.peak = max(record.peak, count)
        shape = self.keys.shape(second, first, count)
        if self.growth is not None:
            self.growth.add(shape, counts)
        return Arrivals(first, count, shape)


# --- Costs ----------------------------------------------------------------------------------------------


def compile_flow(flow: FlowPlan, table: TablePlan, recorder: RunRecorder) -> list[StreamWorkload]:
    """Returns the streams of a flow."""
    if not flow.writes:
        return [_read(flow, table, recorder)]
    variants = _variants(flow, table)
    total = sum(share for share, _, _ in variants)
    return [
        _write(flow, table, recorder, share=float(share / total), changed=changed, held=held)
        for share, changed, held in variants
    ]


def _read(flow: FlowPlan, table: TablePlan, recorder: RunRecorder) -> StreamWorkload:
    index = next((each for each in table.indexes if each.name == flow.index), None)
    size = flow.item_bytes
    if index is not None and index.entry_bytes is not None:
        size = index.entry_bytes
    if flow.operation == "Query":
        size *= flow.items
    elif flow.operation == "Scan":
        size = min(size * flow.items, PAGE_BYTES_MAX) if flow.items > 1 else PAGE_BYTES_MAX
    half_units = flow.half_units
    if half_units is None:
        consistent = flow.consistent or flow.transaction
        half_units = units.read_half_units(size, consistent=consistent) * (2 if flow.transaction else 1)
    where = index.name if index is not None and index.is_global else None
    eventual = not flow.consistent and not flow.transaction
    return StreamWorkload(recorder.direction(table.name, where, writes=False), half_units, eventual=eventual)


Variant = tuple[Fraction, bool, frozenset[str]]
"""Share of the requests; whether what indexes hold changes; the indexes the item is in."""


def _variants(flow: FlowPlan, table: TablePlan) -> list[Variant]:
    """Returns the kinds of items that are written: in a sparse index or not, its entry changed or not."""
    changes = [(Fraction(1), True)]
    if flow.effect == "replace":
        changes = [(flow.changes, True), (1 - flow.changes, False)]
    choices = [[(index.share, index.name), (1 - index.share, "")] for index in table.indexes]
    found: dict[tuple[bool, frozenset[str]], Fraction] = {}
    for (share, changed), held in product(changes, product(*choices)):
        weight = share
        for part, _ in held:
            weight *= part
        if weight:
            key = (changed, frozenset(name for _, name in held if name))
            found[key] = found.get(key, Fraction(0)) + weight
    return [(weight, changed, names) for (changed, names), weight in found.items()]


def _write(
    flow: FlowPlan,
    table: TablePlan,
    recorder: RunRecorder,
    *,
    share: float,
    changed: bool,
    held: frozenset[str],
) -> StreamWorkload:
    old = 0 if flow.effect == "add" else flow.old_bytes
    new = 0 if flow.effect == "remove" else flow.item_bytes
    cost = units.write_units(old, new) * (2 if flow.transaction else 1)
    if flow.half_units is not None:
        cost = flow.half_units // 2
    items = {"add": 1, "remove": -1}.get(flow.effect, 0)
    collects = new - old + items * STORAGE_OVERHEAD_BYTES
    charges: list[IndexCharge] = []
    for index in table.indexes:
        if index.name not in held:
            continue
        index_cost, grows = _index_cost(flow, index, changed)
        if not index.is_global:
            collects += grows + items * STORAGE_OVERHEAD_BYTES
            cost += index_cost if flow.half_units is None else 0
            continue
        if index_cost or table.config.index_precheck != "affected":
            record = recorder.direction(table.name, index.name, writes=True)
            charges.append(IndexCharge(record, 2 * index_cost, grows, keys=index.keys or EVENLY_SPREAD))
    record = recorder.direction(table.name, None, writes=True)
    indexes = tuple(charges)
    return StreamWorkload(record, 2 * cost, new - old, items, indexes=indexes, share=share, collects=collects)


def _index_cost(flow: FlowPlan, index: IndexPlan, changed: bool) -> tuple[int, int]:
    """Returns the write units of one index entry, and the bytes it gains."""

    def entry(size: int) -> int:
        return size if index.entry_bytes is None else index.entry_bytes

    old = None if flow.effect == "add" else entry(flow.old_bytes)
    new = None if flow.effect == "remove" else entry(flow.item_bytes)
    grows = (new or 0) - (old or 0)
    if not changed:
        return 0, grows
    return units.index_write_units(old, new, key_changed=index.name in flow.moves), grows
