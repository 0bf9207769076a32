"""The nearest entries of a vector index.

    block in memory, loaded if necessary -> rows written meanwhile -> candidates by 32-bit ranks, and all
    that rounding cannot distinguish from these -> by ranks in 64 bits -> their entries read from the store
    -> exact scores in 64 bits -> the best of them

The answer comes from entries that are read at the end: an outdated matrix can miss an entry, but never show
one that no longer exists. A few more candidates than requested replace those that have changed.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from faradisc.engine.vectors import numbers
from faradisc.engine.vectors.block import Block, Ranked
from faradisc.engine.vectors.memory import WHOLE, IndexVectors, Slot, VectorMemory
from faradisc.engine.vectors.schema import Distance, VectorSchema
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import HASH_BYTES, Placement
from faradisc.model.codec.sortkey import after_prefix
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.records import dataclass
from faradisc.storage.api import ReadOnlyStore

SPARE_CANDIDATES = 32
ROWS_PER_READ = 256
"""Rows read at once while a block is loaded: some milliseconds, after which other requests may run."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parameters of a search."""

    query: tuple[float, ...]
    top_k: int
    hash_value: AttributeValue | None
    """Set if the search schema has a HASH attribute."""
    filters: Sequence[tuple[str, AttributeValue]]


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of the result; its vector is packed."""

    score: float
    entry: Item
    size_bytes: int
    row_key: bytes


@dataclass(frozen=True, slots=True)
class Searched:
    """One index, its key placement and its vectors in memory."""

    store: ReadOnlyStore
    memory: VectorMemory
    vectors: IndexVectors
    schema: VectorSchema
    placement: Placement
    yield_control: Callable[[], Awaitable[None]]
    """Awaited between the reads of a long loading."""

    async def search(self, wanted: Wanted) -> list[Found]:
        """Returns the best entries, the best first; of equal scores in the order of their row keys."""
        key, prefix = WHOLE, None
        if wanted.hash_value is not None:
            prefix = self.placement.collection((wanted.hash_value,))
            key = prefix[:HASH_BYTES]
        slot = self.vectors.slots.get(key)
        if slot is None:
            slot = self.vectors.slots[key] = Slot()
        async with slot.lock:
            if slot.block is None:
                ranked = await self._load(wanted, slot, key, prefix)
            else:
                await self._renew(slot)
                ranked = _nearest(slot.block, wanted)
            if slot.block is not None:
                self.memory.searched(self.placement.resource, key, slot.block.memory_bytes)
        found = await self._scored(wanted, ranked)
        descending = self.schema.distance == "DOT_PRODUCT"
        found.sort(key=lambda each: (-each.score if descending else each.score, each.row_key))
        return found[: wanted.top_k]

    async def _load(self, wanted: Wanted, slot: Slot, key: bytes, prefix: bytes | None) -> Ranked:
        """Loads the block and searches it; in pieces, without storing it, if it is larger than memory."""
        best: Ranked = []
        block, fits = Block(self.schema), True
        try:
            async for rows in self._rows(prefix):
                block.put(rows)
                await self.yield_control()
                if block.memory_bytes > self.memory.memory_bytes_max:
                    best = _best(block, wanted, best + _nearest(block, wanted))
                    block, fits = Block(self.schema), False
            if fits:
                slot.block = block
                await self._renew(slot)
        finally:
            if slot.block is None and self.vectors.slots.get(key) is slot:
                del self.vectors.slots[key]
        return _best(block, wanted, best + _nearest(block, wanted))

    async def _rows(self, prefix: bytes | None) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        """Yields the entries of one HASH value, or of the whole index, as (row key, record) in order."""
        parts = self.placement.parts if prefix is None else (self.placement.part_of(prefix),)
        high = None if prefix is None else after_prefix(prefix)
        for part in parts:
            low = prefix
            while True:
                rows = await self.store.range(part, low, high, limit=ROWS_PER_READ)
                yield [(key, payload) for key, (_, payload) in rows]
                if len(rows) < ROWS_PER_READ:
                    break
                low = rows[-1][0] + b"\x00"

    async def _renew(self, slot: Slot) -> None:
        """Reads again what was written since the block was updated. Requires the slot's lock."""
        block, changed = slot.block, slot.changed
        if block is None or not changed:
            return
        slot.changed = set()
        try:
            rows = await self._read(list(changed))
        except BaseException:
            slot.changed |= changed
            raise
        for key in changed.difference(rows):
            block.remove(key)
        block.put(list(rows.items()))

    async def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Returns the entries that exist, by row key."""
        by_part: dict[bytes, list[bytes]] = {}
        for key in keys:
            by_part.setdefault(self.placement.part_of(key), []).append(key)
        found: dict[bytes, bytes] = {}
        for part, wanted in by_part.items():
            rows = await self.store.get(part, wanted)
            found.update((key, row[1]) for key, row in zip(wanted, rows, strict=True) if row is not None)
        return found

    async def _scored(self, wanted: Wanted, ranked: Ranked) -> list[Found]:
        rows = await self._read([key for _, key in ranked])
        found: list[Found] = []
        for key, payload in rows.items():
            entry = item_record.decode(payload)
            if any(entry.get(name) != value for name, value in wanted.filters):
                continue  # written since the ranking
            vector = numbers.unpacked(numbers.packed_of(entry[self.schema.vector]))
            exact = score(self.schema.distance, wanted.query, vector)
            found.append(Found(exact, entry, item_record.size_of(payload), key))
        return found


def _nearest(block: Block, wanted: Wanted) -> Ranked:
    return block.nearest(wanted.query, wanted.filters, wanted.top_k + SPARE_CANDIDATES)


def _best(block: Block, wanted: Wanted, ranked: Ranked) -> Ranked:
    return block.best(ranked, wanted.query, wanted.top_k + SPARE_CANDIDATES)


def score(distance: Distance, query: Sequence[float], vector: Sequence[float]) -> float:
    """Returns the score of one vector (new-features.md section 13, "Scores"), in double precision.

    Assumed: a vector of length 0 is as far from every other as one at a right angle.
    """
    if distance == "EUCLIDEAN":
        return math.dist(query, vector)
    product = math.fsum(map(float.__mul__, query, vector))
    if distance == "DOT_PRODUCT":
        return product
    lengths = math.hypot(*query) * math.hypot(*vector)
    return min(max(1.0 - product / lengths, 0.0), 2.0) if lengths else 1.0
