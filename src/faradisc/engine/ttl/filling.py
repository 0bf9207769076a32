"""The backfill of a new expiry index, in steps, while its table is read and written.

It works like engine/tables/backfill.py: from the moment time to live is enabled, every write maintains the
index, and a step adds the rows of items that are not written meanwhile. A step checks the versions of the
items it has read. Finding them may wait for the disk, so they are read again after it: on an embedded store
nothing runs between that read and the commit, so that a table under constant writes is filled as fast as an
idle one. Rows that exist are written again unchanged.
"""

from __future__ import annotations

from contextlib import suppress

from faradisc.engine.tables.backfill import Cursor
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import JOBS_PART, job_key
from faradisc.storage.api import Batch, Store

ROWS_PER_STEP = 200


async def fill_step(store: Store, catalog: Catalog) -> bool:
    """Does one step for a table with an incomplete expiry index; returns False if there is none."""
    for table, expiry in catalog.background_index.expiring():
        if table.state.ttl is not None and not table.state.ttl.filled:
            await _fill(store, catalog, table, expiry)
            return True
    return False


async def _fill(store: Store, catalog: Catalog, table: Table, expiry: Expiry) -> None:
    cursor_key = job_key(b"ttl", expiry.resource)
    (row,) = await store.get(JOBS_PART, (cursor_key,), for_update=True)
    cursor = Cursor.of(row[1] if row is not None else None)
    if cursor.slot == len(table.placement.parts):
        await _finish(store, catalog, table, expiry, cursor_key)
        return
    part = table.placement.parts[cursor.slot]
    rows = await store.range(part, cursor.after, None, limit=ROWS_PER_STEP)
    if all(each is not expiry for _, each in catalog.background_index.expiring()):
        return  # disabled or deleted meanwhile
    keys = [key for key, _ in rows]
    items, batch = table.item_batch(part), Batch(expiry.parts[cursor.slot])
    for row_key, present in zip(keys, await store.get(part, keys, for_update=True), strict=True):
        if present is None:
            continue
        version, payload = present
        items.checks.append((row_key, version))
        location = expiry.location_of(item_record.decode(payload), row_key)
        if location is not None:
            batch.puts.append((location[1], b""))
    moved = cursor.moved(rows[-1][0] if len(rows) == ROWS_PER_STEP else None, len(rows))
    await store.commit(
        [
            items,
            batch,
            Batch(
                JOBS_PART,
                checks=[(cursor_key, row[0] if row is not None else 0)],
                puts=[(cursor_key, moved.stored())],
            ),
        ]
    )
    for key, _ in batch.puts:
        expiry.added(key)


async def _finish(store: Store, catalog: Catalog, table: Table, expiry: Expiry, cursor_key: bytes) -> None:
    def filled(state: TableState) -> bool:
        if state.ttl is not None and state.ttl.resource == expiry.resource:
            state.ttl.filled = True
        return False

    with suppress(ResourceNotFoundException):  # deleted meanwhile
        await catalog.update(table, filled, while_in_use=True)
    await store.commit([Batch(JOBS_PART, deletes=[cursor_key])])
