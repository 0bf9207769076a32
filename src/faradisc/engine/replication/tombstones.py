"""Deletes the stamps of items that were deleted, once nothing older than them can arrive.

Once a day, and only while the logs of all replicas are empty: then no write is under way. Stamps of the last
day stay, for clocks of servers differ.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.clock import Clock
from faradisc.engine.derived.replication import CURSOR_BYTES_MAX, Replication, replication_of, stamp_time
from faradisc.engine.tables.state import DAY_NS
from faradisc.engine.tables.table import Table
from faradisc.storage.api import Batch, Store

ROWS_PER_STEP = 200


class Tombstones:
    """Of all replicas. Where it is, is in memory only: a start begins again a day later."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._due_ns: dict[int, int] = {}
        """By resource of the replication: when it is looked through again."""
        self._at: dict[int, tuple[int, bytes | None]] = {}
        """Slot and next key of those that are being looked through."""

    async def step(self, table: Table, replication: Replication, copies: Iterable[Table]) -> bool:
        """Looks through a page of stamps, if it is time; returns whether it did."""
        now_ns, resource = self._clock.now_ns(), replication.resource
        due_ns = self._due_ns.setdefault(resource, now_ns + DAY_NS)
        if now_ns < due_ns or replication.group.is_changing or not await self._is_quiet(copies):
            return False
        slot, after = self._at.pop(resource, (0, None))
        part, items = replication.slot_parts[slot], table.placement.parts[slot]
        rows = await self._store.range(part, after, None, limit=ROWS_PER_STEP)
        old = [
            (key, version)
            for key, (version, stamp) in rows
            if len(key) > CURSOR_BYTES_MAX and stamp_time(stamp) < now_ns - DAY_NS
        ]
        present = await self._store.get(items, [key for key, _ in old]) if old else []
        gone = [found for found, item in zip(old, present, strict=True) if item is None]
        if gone:
            absent = Batch(items, checks=[(key, 0) for key, _ in gone])
            await self._store.commit([absent, Batch(part, checks=gone, deletes=[key for key, _ in gone])])
        if len(rows) == ROWS_PER_STEP:
            self._at[resource] = (slot, rows[-1][0] + b"\x00")
        elif slot + 1 < len(replication.slot_parts):
            self._at[resource] = (slot + 1, None)
        else:
            self._due_ns[resource] = now_ns + DAY_NS
        return True

    async def _is_quiet(self, copies: Iterable[Table]) -> bool:
        """Whether no replica has a write that another one has not got."""
        for copy in copies:
            replication = replication_of(copy)
            for part in () if replication is None else replication.slot_parts:
                if await self._store.log(part, 0, 1):
                    return False
        return True
