"""Deletes expired items, a few per step, in the order of their expiry.

An item is deleted through the one write path, with its index entries and its stream record, if it still
expires at the time that the index has. So an item that has been written again is never deleted. It uses no
capacity. Source: limits.md section 7.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from faradisc.clock import Clock
from faradisc.engine.derived.expiry import NEVER_S, Expiry, expires_s, expiry_of, split_index_key
from faradisc.engine.derived.replication import expires_here
from faradisc.engine.jobs.runner import Attempts, Work
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.change import Change, Image, Outcome
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import INACCESSIBLE
from faradisc.engine.tables.writes import apply_changes
from faradisc.errors import ResourceNotFoundException
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import key_of_row
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Part, Store

ITEMS_PER_STEP = 25
"""Items of one commit. A step takes about as long as a round of the server's loop under load, so that
requests do not wait for it (docs/performance.md, "A million items expire")."""

HINTS_NS = 30_000_000_000
"""How long a node of a shared store relies on what it knows of the next expiries: others write items too."""
_ABOVE_ALL = b"\xff" * 9


class Sweeper:
    """Deletes the expired items of all tables."""

    def __init__(self, store: Store, catalog: Catalog, clock: Clock, *, delay_s: float) -> None:
        """delay_s: how long an item stays after its expiry."""
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._delay_ns = int(delay_s * 1_000_000_000)
        self.attempts = Attempts(clock)
        self._working = asyncio.Lock()
        self._forgotten_ns = 0
        """When what is known of the items that expire next was last forgotten."""

    async def step(self) -> bool:
        """Deletes some expired items; returns False if there are none."""
        return await self.attempts.step(
            Work(f"expiry of {table.arn}", partial(self._sweep, table, expiry, until_s))
            for table, expiry, until_s in self._due(self._clock.now_ns() - self._delay_ns)
        )

    async def expire_now(self) -> int:
        """Deletes every expired item, without delay; returns their number."""
        now_ns = self._clock.now_ns()
        self._forgotten_ns = 0
        count = 0
        while found := sum([await self._sweep(*due) for due in self._due(now_ns)]):
            count += found
        return count

    def _due(self, until_ns: int) -> Iterator[tuple[Table, Expiry, int]]:
        """Yields the tables with items that may have expired until a time, and the time in seconds."""
        until_s = until_ns // 1_000_000_000
        now_ns = self._clock.now_ns()
        if self._store.shared and now_ns >= self._forgotten_ns + HINTS_NS:
            self._forgotten_ns = now_ns
            for _, expiry in self._catalog.tables.background_index.having(Expiry):
                expiry.hints.forget()
        for table, expiry in self._catalog.tables.background_index.having(Expiry):
            if not expires_here(table.derived, table.state.region):
                continue
            if table.state.status != INACCESSIBLE and expiry.hints.soonest_s <= until_s:
                yield table, expiry, until_s

    async def _sweep(self, table: Table, expiry: Expiry, until_s: int) -> int:
        async with self._working:
            with suppress(ResourceNotFoundException):  # deleted meanwhile
                return await self._sweep_slots(table, expiry, until_s)
        return 0

    async def _sweep_slots(self, table: Table, expiry: Expiry, until_s: int) -> int:
        """Deletes up to ITEMS_PER_STEP items of one part of one table; returns the number of rows handled.

        Writes may add rows meanwhile. They lower `soonest_s` and `empty_below`, which are therefore set high
        first, and lowered to the result at the end.
        """
        hints = expiry.hints
        soonest_s, hints.soonest_s = hints.soonest_s, NEVER_S
        next_s = soonest_s
        try:
            following = []
            for slot in range(len(expiry.slot_parts)):
                found, next_in_slot_s = await self._sweep_slot(table, expiry, slot, until_s)
                if found:
                    return found
                following.append(next_in_slot_s)
            next_s = min(following)
            return 0
        finally:
            hints.soonest_s = min(hints.soonest_s, next_s)

    async def _sweep_slot(self, table: Table, expiry: Expiry, slot: int, until_s: int) -> tuple[int, int]:
        """Handles one part; returns the number of rows handled, and the next expiry if there is none."""
        part = expiry.slot_parts[slot]
        hints = expiry.hints
        floor, hints.empty_below[slot] = hints.empty_below[slot], _ABOVE_ALL
        try:
            rows = await self._store.range(part, floor, None, limit=ITEMS_PER_STEP)
            keys = [key for key, _ in rows if split_index_key(key)[0] <= until_s]
            if not keys:
                return 0, split_index_key(rows[0][0])[0] if rows else NEVER_S
            named = await self._named(table, slot, part, keys)
            outcomes = await apply_changes(
                self._store, [expire_change(table, expiry, key, of_item) for key, of_item in named.items()]
            )
            expired = sum(outcome.new_record is None and outcome.old.exists for outcome in outcomes)
            table.meter.registry.requests.expired[table.name] += expired
            await self._forget_strays(part, list(named), outcomes)
            floor = keys[-1]
            return len(keys), until_s
        finally:
            hints.empty_below[slot] = min(hints.empty_below[slot], floor)

    async def _named(self, table: Table, slot: int, part: Part, keys: Sequence[bytes]) -> dict[bytes, Item]:
        """Returns the keys of items by the rows of the index; reads the items where row keys have no values.

        Deletes rows without an item.
        """
        row_keys = [split_index_key(key)[1] for key in keys]
        if not table.hashed_keys:
            return {key: key_of_row(row_key, table.key) for key, row_key in zip(keys, row_keys, strict=True)}
        items = table.placement.parts[slot]
        named: dict[bytes, Item] = {}
        for key, row_key, row in zip(keys, row_keys, await self._store.get(items, row_keys), strict=True):
            if row is not None:
                named[key] = table.key.key_of(item_record.decode(row[1]))
                continue
            absent = table.item_batch(items)
            absent.checks.append((row_key, 0))
            await self._store.commit([absent, Batch(part, deletes=[key])])
        return named

    async def _forget_strays(self, part: Part, keys: Sequence[bytes], outcomes: Sequence[Outcome]) -> None:
        """Deletes index rows whose items do not expire.

        Item and row change together, so there are none unless the item was written since the row was read;
        then that write has deleted the row, and this does nothing.
        """
        strays = [
            (key, outcome)
            for key, outcome in zip(keys, outcomes, strict=True)
            if outcome.new_record == outcome.old.record
        ]
        for key, outcome in strays:
            change = outcome.change
            unchanged = change.table.item_batch(change.part)
            unchanged.checks.append((change.row_key, outcome.old.version))
            await self._store.commit([unchanged, Batch(part, deletes=[key])])


def expire_change(table: Table, expiry: Expiry, key: bytes, of_item: Item) -> Change:
    """Returns the deletion of the item of an index row, unless time to live has been disabled since.

    key: of the row. of_item: the item's key.
    """
    seconds, _ = split_index_key(key)

    def transform(image: Image) -> Item | None:
        item = image.item
        present = expiry_of(table.newest)
        is_present = present is not None and present.resource == expiry.resource
        is_due = is_present and expires_s(item, expiry.attribute) == seconds
        return None if is_due else item

    return Change(table, of_item, transform, by_service=True)
