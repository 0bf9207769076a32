"""The backfill of a new expiry index, in steps, while its table is read and written.

From the moment time to live is enabled, every write maintains the index, and a step adds the rows of a page
of items that are not written meanwhile (engine/jobs/walk.py). Rows that exist are written again unchanged.
"""

from __future__ import annotations

from contextlib import suppress

from faradisc.engine.jobs.walk import Walk
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException
from faradisc.model.codec import item_record
from faradisc.storage.api import Store

JOB = b"ttl"


async def fill_step(store: Store, catalog: Catalog) -> bool:
    """Does one step for a table with an incomplete expiry index; returns False if there is none."""
    for table, expiry in catalog.background_index.expiring():
        if table.state.ttl is not None and not table.state.ttl.filled:
            await _fill(store, catalog, table, expiry)
            return True
    return False


async def _fill(store: Store, catalog: Catalog, table: Table, expiry: Expiry) -> None:
    walk = await Walk.load(store, JOB, expiry.resource, table.placement.parts)
    if walk.is_complete:
        await _finish(catalog, table, expiry, walk)
        return
    page = await walk.page(epoch=table.epoch)
    if all(each is not expiry for _, each in catalog.background_index.expiring()):
        return  # disabled or deleted meanwhile
    rows = page.batches[expiry.parts[page.slot]]
    for row_key, (_, payload) in page.rows:
        location = expiry.location_of(item_record.decode(payload), row_key)
        if location is not None:
            rows.puts.append((location[1], b""))
    if await walk.commit(page):
        for key, _ in rows.puts:
            expiry.added(key)


async def _finish(catalog: Catalog, table: Table, expiry: Expiry, walk: Walk) -> None:
    def filled(state: TableState) -> bool:
        if state.ttl is not None and state.ttl.resource == expiry.resource:
            state.ttl.filled = True
        return False

    with suppress(ResourceNotFoundException):  # deleted meanwhile
        await catalog.update(table, filled, while_in_use=True, also=walk.end)
