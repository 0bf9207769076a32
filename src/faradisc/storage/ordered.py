"""A set of byte strings kept in ascending order.

Keys lie in blocks of at most BLOCK_KEYS_MAX, each block a sorted list; `_firsts` holds each block's
first key. Finding a place is two bisections; inserting shifts one block (a memmove of at most 8 KB) and,
once in a few hundred inserts, the list of blocks. A million keys insert at about a microsecond each.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

BLOCK_KEYS_MAX = 1024


class OrderedKeys:
    __slots__ = ("_blocks", "_firsts")

    def __init__(self) -> None:
        self._blocks: list[list[bytes]] = []
        self._firsts: list[bytes] = []

    def copy(self) -> OrderedKeys:
        twin = OrderedKeys()
        twin._blocks = [block.copy() for block in self._blocks]
        twin._firsts = self._firsts.copy()
        return twin

    def add(self, key: bytes) -> None:
        """Inserts a key. Requires: it is absent."""
        if not self._blocks:
            self._blocks.append([key])
            self._firsts.append(key)
            return
        index = max(bisect_right(self._firsts, key) - 1, 0)
        block = self._blocks[index]
        insort(block, key)
        self._firsts[index] = block[0]
        if len(block) > BLOCK_KEYS_MAX:
            # A full last block mostly comes from keys appended in order: leave it full.
            cut = len(block) // 2 if index < len(self._blocks) - 1 else len(block) - 1
            upper = block[cut:]
            del block[cut:]
            self._blocks.insert(index + 1, upper)
            self._firsts.insert(index + 1, upper[0])

    def remove(self, key: bytes) -> None:
        """Removes a key. Requires: it is present."""
        index = bisect_right(self._firsts, key) - 1
        block = self._blocks[index]
        del block[bisect_left(block, key)]
        if block:
            self._firsts[index] = block[0]
        else:
            del self._blocks[index], self._firsts[index]

    def ascending(self, lo: bytes | None, hi: bytes | None) -> Iterator[bytes]:
        """Yields keys with lo <= key < hi, from the smallest. Requires: no change while iterating."""
        index = 0 if lo is None else max(bisect_right(self._firsts, lo) - 1, 0)
        for block in self._blocks[index:]:
            start = 0 if lo is None else bisect_left(block, lo)
            end = len(block) if hi is None else bisect_left(block, hi)
            yield from block[start:end]
            if end < len(block):
                return

    def descending(self, lo: bytes | None, hi: bytes | None) -> Iterator[bytes]:
        """Yields keys with lo <= key < hi, from the largest. Requires: no change while iterating."""
        index = len(self._blocks) if hi is None else bisect_left(self._firsts, hi)
        for block in reversed(self._blocks[:index]):
            start = 0 if lo is None else bisect_left(block, lo)
            end = len(block) if hi is None else bisect_left(block, hi)
            yield from reversed(block[start:end])
            if start > 0:
                return
