"""Which vectors are in memory, and which of them are outdated.

A *block* has the vectors of one index and one HASH value, or of the whole index if its search schema has no
HASH. The write path does not change blocks: it marks the row keys it writes, right before its commit and
after it, and the next search reads those rows again. So the order in which commits are answered does not
matter, and a write adds one set entry, only if its block is in memory.

Invariants:
1. A row key is marked after its commit is visible, so that a search which then reads the row gets it or a
   later one. It is marked before too: a commit is visible, to searches as to all other reads, before its sync
   has ended.
2. A block is registered before its first row is read, so that writes during the loading are marked.
3. Blocks together stay within `memory_bytes_max`; the one searched longest ago is dropped first. A block that
   would be larger alone is searched in pieces and not stored (searching.py).
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
"""Rows of a block that may be outdated, plus a quarter of its rows; with more, the block is dropped."""

WHOLE = b""
"""Key of the only block of an index without HASH."""


class Slot:
    """A block, or the place for it while it is loaded; usable without NumPy."""

    __slots__ = ("block", "changed", "lock")

    def __init__(self) -> None:
        self.block: Block | None = None
        """None until it is loaded."""
        self.changed: set[bytes] = set()
        """Row keys written since the block was updated."""
        self.lock = asyncio.Lock()
        """Held while the block is loaded or updated."""


class IndexVectors:
    """The blocks of one index, by the hash at the start of their row keys."""

    __slots__ = ("slots",)

    def __init__(self) -> None:
        self.slots: dict[bytes, Slot] = {}

    def written(self, row_key: bytes) -> None:
        """Marks an entry that is being written or deleted, or has been."""
        if not self.slots:
            return
        for key in (row_key[:HASH_BYTES], WHOLE):
            slot = self.slots.get(key)
            if slot is None:
                continue
            slot.changed.add(row_key)
            rows = len(slot.block) if slot.block is not None else 0
            if len(slot.changed) > CHANGED_ROWS_MAX + rows // 4:
                del self.slots[key]


class VectorMemory:
    """All blocks of a database, within a limit of memory."""

    def __init__(self, memory_bytes_max: int = MEMORY_BYTES_MAX) -> None:
        self.memory_bytes_max = memory_bytes_max
        self._indexes: dict[int, IndexVectors] = {}
        self._searched: OrderedDict[tuple[int, bytes], int] = OrderedDict()
        """Bytes of each block; the one searched last is at the end."""

    def of(self, resource: int) -> IndexVectors:
        """Returns the blocks of an index by its resource number."""
        found = self._indexes.get(resource)
        if found is None:
            found = self._indexes[resource] = IndexVectors()
        return found

    def forget(self, resource: int) -> None:
        """Removes the blocks of a deleted index."""
        self._indexes.pop(resource, None)
        for block in [block for block in self._searched if block[0] == resource]:
            del self._searched[block]

    def searched(self, resource: int, key: bytes, memory_bytes: int) -> None:
        """Counts a block that has just been searched, and drops others until all fit."""
        self._searched.pop((resource, key), None)
        self._searched[resource, key] = memory_bytes
        while self.memory_bytes > self.memory_bytes_max and len(self._searched) > 1:
            (other, other_key), _ = self._searched.popitem(last=False)
            index = self._indexes.get(other)
            if index is not None:
                index.slots.pop(other_key, None)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all blocks, as counted when each was last searched."""
        return sum(self._searched.values())
