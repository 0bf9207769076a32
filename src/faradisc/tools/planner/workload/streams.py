"""Traffic of a plan as streams of equal requests: what each one charges, and how many there are per second.

One flow of the plan (PutItem on a table with a sparse index, say) becomes a few *streams*, each of which
makes the same charges with every request: those whose items are in the index and those whose items are not.
Both engines run streams; the costs are the core's (capacity/units.py).

Sources: capacity.md sections 2.2 (charges), 2.9 (indexes).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from faradisc.capacity import units
from faradisc.limits import PAGE_BYTES_MAX, STORAGE_OVERHEAD_BYTES
from faradisc.tools.planner.plan_file.plan import FlowPlan, IndexPlan, TablePlan
from faradisc.tools.planner.results.item_collections import FlowGrowth
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, RunRecorder
from faradisc.tools.planner.workload.arrival_rates import MICRO, Counter
from faradisc.tools.planner.workload.key_distributions import ONE, KeyModel, Sequential, Shape

BILLION = 1_000_000_000
_ANYWHERE = Shape((), ONE)
"""Keys of an index that the plan does not describe, and of scans: as evenly spread as can be."""


class _Anywhere:
    words = "evenly spread"

    def shape(self, second: int, first: int, count: int) -> Shape:
        return _ANYWHERE


ANYWHERE: KeyModel = _Anywhere()


@dataclass(frozen=True, slots=True)
class IndexCharge:
    """What a write does to one global index."""

    record: DirectionRecord
    half_units: int
    """0: the index is asked whether it admits the write, and charged nothing."""
    keys: KeyModel
    grows: int
    """Bytes its partition gains per request."""


@dataclass(frozen=True, slots=True)
class Stream:
    record: DirectionRecord
    half_units: int
    eventual: bool
    indexes: tuple[IndexCharge, ...]
    share: int
    """Of the flow's requests, in billionths."""
    grows: int
    """Bytes the table's partition gains per request; negative when items are removed."""
    items: int
    """Items gained per request: 1, 0 or -1."""
    collects: int = 0
    """Bytes an item collection gains per request, local indexes and storage overhead included."""

    @property
    def charges(self) -> list[tuple[DirectionRecord, int]]:
        """The lanes that a request asks, and what it costs each in half units."""
        return [(self.record, self.half_units), *((each.record, each.half_units) for each in self.indexes)]


class Flow:
    """The streams of one flow of the plan, and its count of requests."""

    def __init__(self, plan: FlowPlan, table: TablePlan, recorder: RunRecorder) -> None:
        self.plan = plan
        self.keys = plan.keys if plan.operation != "Scan" else ANYWHERE
        self.record: FlowRecord = recorder.flow(plan.name)
        self.streams = compile_flow(plan, table, recorder)
        self._models = (self.keys, *(index.keys for stream in self.streams for index in stream.indexes))
        self.sequence = 0
        """Requests so far, those a cache answered left out."""
        self._counter = Counter(plan.rate)
        self._share = int(plan.share * BILLION)
        self._cache_left = 0
        self._left = [0] * len(self.streams)
        self._hits = int(plan.cache.hits * BILLION) if plan.cache is not None else 0
        self.growth: FlowGrowth | None = None
        """Of item collections, where their sizes are limited."""
        if table.locals and plan.writes:
            self.growth = FlowGrowth([stream.collects for stream in self.streams])

    @property
    def has_turns(self) -> bool:
        """Whether keys of the table or of an index follow one another."""
        return any(isinstance(model, Sequential) for model in self._models)

    @property
    def turns_s(self) -> list[float]:
        """How long keys of the table and of each index have their turn, if they follow one another, at the
        highest rate: seconds."""
        most = max(self.plan.rate.most, 1)
        return [model.per_key * MICRO / most for model in self._models if isinstance(model, Sequential)]

    def alike(self, second: int, seconds: int) -> bool:
        """Whether so many seconds have the same keys, and rates within a percent."""
        last = second + seconds - 1
        return self.has_same_keys(second, last) and all(
            self.is_like(second, later) for later in range(second + 1, last + 1)
        )

    def has_same_keys(self, second: int, later: int) -> bool:
        return not self.has_turns and all(
            model.shape(second, 0, 1) is model.shape(later, 0, 1) for model in self._models
        )

    def is_like(self, second: int, later: int, percent: int = 1) -> bool:
        """Whether the rate of another second is the same, within so many percent."""
        rate = self.plan.rate
        first = rate.micro(second)
        return 100 * abs(rate.micro(later) - first) <= percent * first

    def warms_up(self, second: int) -> bool:
        """Whether its cache answers more requests with every second."""
        cache = self.plan.cache
        return cache is not None and second < cache.warm_up_s

    def take(self, second: int) -> tuple[int, list[int], Shape]:
        """The requests of a second: how many reach the database, of each stream, and their keys."""
        count = self._counter.take(second, self._share)
        if self._hits and count:
            count -= self._cached(second, count)
        first = self.sequence
        self.sequence += count
        shape = self.keys.shape(second, first, count)
        record = self.record
        record.offered += count
        record.peak = max(record.peak, count)
        counts = [count] if len(self.streams) == 1 else self._divided(count)
        if self.growth is not None:
            self.growth.add(shape, counts)
        return count, counts, shape

    def _divided(self, count: int) -> list[int]:
        """So many requests by stream."""
        counts = []
        rest = count
        for position, stream in enumerate(self.streams[:-1]):
            mine, self._left[position] = divmod(self._left[position] + count * stream.share, BILLION)
            mine = min(mine, rest)
            rest -= mine
            counts.append(mine)
        return [*counts, rest]

    def _cached(self, second: int, count: int) -> int:
        cache = self.plan.cache
        assert cache is not None
        hits = self._hits
        if second < cache.warm_up_s:
            hits = hits * second // cache.warm_up_s
        cached, self._cache_left = divmod(self._cache_left + count * hits, BILLION)
        self.record.cached += cached
        return cached


# --- Costs ----------------------------------------------------------------------------------------------


def compile_flow(flow: FlowPlan, table: TablePlan, recorder: RunRecorder) -> list[Stream]:
    """The streams of a flow."""
    if not flow.writes:
        return [_read(flow, table, recorder)]
    variants = _variants(flow, table)
    total = sum(share for share, _, _ in variants)
    return [
        _write(flow, table, recorder, share=int(share / total * BILLION), changed=changed, held=held)
        for share, changed, held in variants
    ]


def _read(flow: FlowPlan, table: TablePlan, recorder: RunRecorder) -> Stream:
    index = next((each for each in table.indexes if each.name == flow.index), None)
    size = flow.item_bytes
    if index is not None and index.entry_bytes is not None:
        size = index.entry_bytes
    if flow.half_units is not None:
        half_units = flow.half_units
    elif flow.operation == "Query":
        half_units = units.read_half_units(size * flow.items, consistent=flow.consistent)
    elif flow.operation == "Scan":
        page = min(size * flow.items, PAGE_BYTES_MAX) if flow.items > 1 else PAGE_BYTES_MAX
        half_units = units.read_half_units(page, consistent=flow.consistent)
    elif flow.transaction:
        half_units = 2 * units.read_half_units(size, consistent=True)
    else:
        half_units = units.read_half_units(size, consistent=flow.consistent)
    where = index.name if index is not None and index.is_global else None
    eventual = not flow.consistent and not flow.transaction
    return Stream(recorder.lane(table.name, where, writes=False), half_units, eventual, (), BILLION, 0, 0)


Variant = tuple[Fraction, bool, frozenset[str]]
"""Share of the requests; whether what indexes hold changes; the indexes the item is in."""


def _variants(flow: FlowPlan, table: TablePlan) -> list[Variant]:
    """The kinds of items a write may meet: in a sparse index or not, its entry changed or not."""
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
    share: int,
    changed: bool,
    held: frozenset[str],
) -> Stream:
    old = 0 if flow.effect == "add" else flow.old_bytes
    new = 0 if flow.effect == "remove" else flow.item_bytes
    known = flow.half_units is not None
    cost = (
        flow.half_units // 2
        if flow.half_units is not None
        else units.write_units(old, new) * (2 if flow.transaction else 1)
    )
    items = {"add": 1, "remove": -1}.get(flow.effect, 0)
    collects = new - old + items * STORAGE_OVERHEAD_BYTES
    charges: list[IndexCharge] = []
    for index in table.indexes:
        if index.name not in held:
            continue
        index_cost, grows = _index_cost(flow, index, changed)
        if not index.is_global:
            collects += grows + items * STORAGE_OVERHEAD_BYTES
            cost += 0 if known else index_cost
            continue
        rule = table.config.index_precheck
        if not index_cost and rule == "affected":
            continue
        record = recorder.lane(table.name, index.name, writes=True)
        charges.append(IndexCharge(record, 2 * index_cost, index.keys or ANYWHERE, grows))
    record = recorder.lane(table.name, None, writes=True)
    return Stream(record, 2 * cost, False, tuple(charges), share, new - old, items, collects)


def _index_cost(flow: FlowPlan, index: IndexPlan, changed: bool) -> tuple[int, int]:
    """Write units of one index entry, and the bytes it gains."""

    def entry(size: int) -> int:
        return size if index.entry_bytes is None else index.entry_bytes

    old = None if flow.effect == "add" else entry(flow.old_bytes)
    new = None if flow.effect == "remove" else entry(flow.item_bytes)
    grows = (new or 0) - (old or 0)
    if not changed:
        return 0, grows
    return units.index_write_units(old, new, key_changed=False), grows
