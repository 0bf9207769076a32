"""Which vectors are in memory, and which of them are out of date.

A *block* holds the vectors of one index and one HASH value (of the whole index, where its search schema
has no HASH). The write path does not touch blocks: it names the row keys it writes, right before its commit
and after it, and the next search reads those rows again. So the order in which commits are answered does
not matter, and a write costs one set entry, and only where its block is in memory.

Invariants:
1. A row key is named after its commit is visible, so whoever reads the row then reads it or a later one.
   It is named before too: a commit is visible before its sync has ended, to searches as to all other reads.
2. A block is registered before its first row is read: a write during the loading is named too.
3. Blocks together stay within `memory_bytes_max`; the one searched longest ago goes first. A block that
   would be larger than that alone is searched in pieces and not kept (searching.py).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from faradisc.model.codec.keyspace import HASH_BYTES

if TYPE_CHECKING:
    from faradisc.engine.vectors.block import Block

MEMORY_BYTES_MAX = 1024 * 1024 * 1024
CHANGED_ROWS_MAX = 1000
"""Rows that may be out of date in a block, plus a quarter of its rows; more, and it is dropped."""

WHOLE = b""
"""The place of the only block of an index without HASH."""


class Slot:
    """A block's place: what is known of it without NumPy."""

    __slots__ = ("block", "changed", "lock")

    def __init__(self) -> None:
        self.block: Block | None = None
        """None until it is loaded."""
        self.changed: set[bytes] = set()
        """Row keys written since the block took them in."""
        self.lock = asyncio.Lock()
        """Held while the block is loaded or brought up to date."""


class IndexVectors:
    """The blocks of one index, by the hash that begins their row keys."""

    __slots__ = ("slots",)

    def __init__(self) -> None:
        self.slots: dict[bytes, Slot] = {}

    def written(self, row_key: bytes) -> None:
        """An entry is written or deleted: now, or by a commit that is over."""
        if not self.slots:
            return
        for place in (row_key[:HASH_BYTES], WHOLE):
            slot = self.slots.get(place)
            if slot is None:
                continue
            slot.changed.add(row_key)
            rows = len(slot.block) if slot.block is not None else 0
            if len(slot.changed) > CHANGED_ROWS_MAX + rows // 4:
                del self.slots[place]


class VectorMemory:
    """All blocks of a database, and the memory they may take."""

    def __init__(self, memory_bytes_max: int = MEMORY_BYTES_MAX) -> None:
        self.memory_bytes_max = memory_bytes_max
        self._indexes: dict[int, IndexVectors] = {}
        self._searched: OrderedDict[tuple[int, bytes], int] = OrderedDict()
        """Bytes of each block, the one searched last at the end."""

    def of(self, resource: int) -> IndexVectors:
        """The blocks of an index by its resource number."""
        found = self._indexes.get(resource)
        if found is None:
            found = self._indexes[resource] = IndexVectors()
        return found

    def forget(self, resource: int) -> None:
        """The index is gone."""
        self._indexes.pop(resource, None)
        for place in [place for place in self._searched if place[0] == resource]:
            del self._searched[place]

    def searched(self, resource: int, place: bytes, memory_bytes: int) -> None:
        """Count a block that was just searched, and drop others until all fit."""
        key = (resource, place)
        self._searched.pop(key, None)
        self._searched[key] = memory_bytes
        while self.memory_bytes > self.memory_bytes_max and len(self._searched) > 1:
            (other, other_place), _ = self._searched.popitem(last=False)
            index = self._indexes.get(other)
            if index is not None:
                index.slots.pop(other_place, None)

    @property
    def memory_bytes(self) -> int:
        """Of all blocks, as counted when each was last searched."""
        return sum(self._searched.values())
