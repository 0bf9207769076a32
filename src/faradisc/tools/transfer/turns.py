"""Changes the order of writes so that partition keys take turns.

Files often have all items of a partition key one after the other. Written in that order they meet in one
partition, which throttles, while the others have nothing to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

ENTRIES_MAX = 5_000
BYTES_MAX = 16 << 20

T = TypeVar("T")


class KeyTurns(Generic[T]):
    """Holds back some entries and gives them out one for each group in turn; a group keeps its order."""

    def __init__(self) -> None:
        self._groups: dict[bytes, deque[tuple[T, int]]] = {}
        self._entries = 0
        self._bytes = 0

    def add(self, group: bytes, entry: T, size_bytes: int) -> Iterator[T]:
        """Yields what must not be held back any longer."""
        self._groups.setdefault(group, deque()).append((entry, size_bytes))
        self._entries += 1
        self._bytes += size_bytes
        while self._entries > ENTRIES_MAX or self._bytes > BYTES_MAX:
            yield from self._round()

    def rest(self) -> Iterator[T]:
        """Yields all that is held back."""
        while self._groups:
            yield from self._round()

    def _round(self) -> Iterator[T]:
        """Yields one entry of each group."""
        for group in list(self._groups):
            waiting = self._groups[group]
            entry, size_bytes = waiting.popleft()
            self._entries -= 1
            self._bytes -= size_bytes
            if not waiting:
                del self._groups[group]
            yield entry
