"""Repair: rewrites derived data, removes data without an owner.

Never adds or removes an item. Index entries, expiry rows, counters and sizes of item collections are derived
from the items and rewritten where they are wrong; a readable record is put into its canonical form; orphans
are removed. Each commit is bounded and correct by itself: the next repair continues an interrupted one.

Requires: no other writer of the store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import orjson

from faradisc.clock import Clock
from faradisc.engine.check.inventory import LAST_RESOURCE_KEY, Inventory, take_inventory
from faradisc.engine.check.system import single_tokens, token_parts
from faradisc.engine.derived.stored_items import check_item
from faradisc.engine.inspection.problems import RepairAction, Report
from faradisc.engine.inspection.reading import pages
from faradisc.engine.tables.derived import Derived
from faradisc.engine.tables.layout import TableLayout
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import CATALOG_PART, JOBS_PART, STREAMS_PART
from faradisc.storage.api import Batch, Conflict, Part, Store


class Repair:
    """Runs the actions of a report, in their order of dependence."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def all(self, repairs: Iterable[RepairAction]) -> int:
        """Runs all actions. Returns their number. Raises StorageError."""
        done = 0
        async for _ in self.run(repairs):
            done += 1
        return done

    async def run(self, repairs: Iterable[RepairAction]) -> AsyncIterator[RepairAction]:
        """Runs each action and yields it when it is done. Raises StorageError."""
        wanted = list(repairs)
        order = ("unlink", "end stream", "numbers", "records", "derived", "usage")
        wanted.sort(key=lambda action: order.index(action.kind) if action.kind in order else len(order))
        inventory = await take_inventory(self._store, Report())
        for action in wanted:
            await self._do(action, inventory)
            yield action

    async def _do(self, action: RepairAction, inventory: Inventory) -> None:
        tables = {table.state.resource: table for table in inventory.tables}
        match action.kind:
            case "records":
                await self._rewrite_records(tables[action.resource])
            case "derived":
                await self._rewrite_derived(action.resource, inventory)
            case "usage":
                await self._count_again(action.part, inventory)
            case "tokens":
                await self._remove_single_token_rows()
            case "job":
                await self._commit(Batch(JOBS_PART, deletes=[action.key]))
            case "orphan":
                await self._store.clear(action.part)
            case "numbers":
                last = max(inventory.owners, default=0).to_bytes(4, "big")
                await self._commit(Batch(CATALOG_PART, puts=[(LAST_RESOURCE_KEY, last)]))
            case "unlink":
                await self._unlink(tables[action.resource])
            case "end stream":
                await self._end_stream(inventory, action.resource)

    async def _commit(self, *batches: Batch) -> None:
        changing = [batch for batch in batches if batch.puts or batch.deletes]
        answer = await self._store.commit(changing) if changing else []
        assert not isinstance(answer, Conflict), "nothing was checked"

    # --- Items and derived data ---

    async def _rewrite_records(self, table: TableLayout) -> None:
        for part in table.placement.parts:
            async for rows in pages(self._store, part):
                puts = [
                    (row_key, checked.canonical)
                    for row_key, payload in rows
                    if (checked := check_item(table, part, row_key, payload)).canonical is not None
                ]
                await self._commit(Batch(part, puts=puts))

    async def _rewrite_derived(self, resource: int, inventory: Inventory) -> None:
        derived = self._owner(resource, inventory)
        assert derived is not None, "the problem is in it"
        await derived.repair(self._store, inventory.look(self._store, self._clock.now_ns()))
        for part in derived.parts():
            await self._count_again(part, inventory)

    def _owner(self, resource: int, inventory: Inventory) -> Derived | None:
        return next(
            (
                each
                for table in inventory.tables
                for each in inventory.derived_of(table)
                if each.resource == resource
            ),
            None,
        )

    async def _count_again(self, part: Part, inventory: Inventory) -> None:
        """Corrects a part's usage from its rows."""
        derived = self._owner(int.from_bytes(part[:4], "big"), inventory)
        count = size = 0
        async for rows in pages(self._store, part):
            for key, payload in rows:
                if derived is not None:
                    one, row_bytes = derived.usage_of(key, payload)
                else:  # a part of items
                    one, row_bytes = 1, item_record.size_of(payload) + STORAGE_OVERHEAD_BYTES
                count += one
                size += row_bytes
        items, bytes_ = await self._store.usage(part)
        if (items, bytes_) != (count, size):
            await self._store.commit([Batch(part, items_delta=count - items, bytes_delta=size - bytes_)])

    # --- System rows ---

    async def _remove_single_token_rows(self) -> None:
        for part in token_parts(part for part, _ in await self._store.parts()):
            async for rows in pages(self._store, part):
                single = [key for key, _ in await single_tokens(self._store, part, rows)]
                await self._commit(Batch(part, deletes=single))

    async def _unlink(self, table: TableLayout) -> None:
        state = table.state
        state.stream = None
        key = state.namespace.encode() + b"\x00" + state.name.encode()
        await self._commit(Batch(CATALOG_PART, puts=[(key, orjson.dumps(state.to_json()))]))

    async def _end_stream(self, inventory: Inventory, resource: int) -> None:
        state = inventory.streams[resource]
        state.ended_ns = self._clock.now_ns()
        key = resource.to_bytes(4, "big")
        await self._commit(Batch(STREAMS_PART, puts=[(key, orjson.dumps(state.to_json()))]))
