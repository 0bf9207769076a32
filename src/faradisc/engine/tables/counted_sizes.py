"""The counts and sizes that descriptions of tables show, where they are not to be current.

The service refreshes ItemCount, TableSizeBytes and IndexSizeBytes about every six hours. With an interval all
of them are counted together at its multiples, and descriptions show that until the next time; what is new
shows zero until then. A start counts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from faradisc.clock import Clock
from faradisc.engine.tables.table import Table
from faradisc.storage.api import Part, ReadOnlyStore


class UsageReader(Protocol):
    """A store, or what it has counted before."""

    async def usage(self, part: Part) -> tuple[int, int]:
        """Returns (items, bytes) of a part."""
        ...


class CountedSizes:
    def __init__(
        self, store: ReadOnlyStore, tables: Callable[[], Iterable[Table]], clock: Clock, interval_s: float
    ) -> None:
        self._store = store
        self._tables = tables
        self._clock = clock
        self._interval_ns = int(interval_s * 1_000_000_000)
        """0: what is shown is current."""
        self._due_ns = 0
        self._counted: dict[Part, tuple[int, int]] = {}

    async def usage(self, part: Part) -> tuple[int, int]:
        if not self._interval_ns:
            return await self._store.usage(part)
        return self._counted.get(part, (0, 0))

    async def step(self) -> bool:
        """Counts everything when it is time: a read per slot of each table and index."""
        now_ns = self._clock.now_ns()
        if not self._interval_ns or now_ns < self._due_ns:
            return False
        self._due_ns = now_ns - now_ns % self._interval_ns + self._interval_ns
        counted = {}
        for table in self._tables():
            indexes = table.local_indexes + table.global_indexes + table.vector_indexes
            for placement in (table.placement, *(index.placement for index in indexes)):
                for part in placement.parts:
                    counted[part] = await self._store.usage(part)
        self._counted = counted
        return False
