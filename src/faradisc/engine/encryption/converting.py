"""Rewrites the rows of a table after its encryption was enabled or disabled, in steps, while it is in use.

From the commit of the change on, every write is in the new form, and reads accept both (engine/sealing/). A
step writes a page of rows again, as they are (engine/jobs/walk.py); the store around the engine seals them,
or does not.

Log entries are not rewritten: those of a stream are deleted after a day.
"""

from __future__ import annotations

from contextlib import suppress

from faradisc.engine.jobs.walk import Walk
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException
from faradisc.storage.api import Store

JOB = b"sealing"


async def convert_step(store: Store, catalog: Catalog, table: Table) -> None:
    """Does one step. Requires: the table is UPDATING, so that its resources stay the same."""
    walk = await Walk.load(store, JOB, table.state.resource, table.parts())
    if walk.is_complete:
        await _finish(catalog, table, walk)
        return
    page = await walk.page()
    page.batches[page.part].puts += [(key, payload) for key, (_, payload) in page.rows if payload]
    await walk.commit(page)


async def _finish(catalog: Catalog, table: Table, walk: Walk) -> None:
    def converted(state: TableState) -> bool:
        if state.sealing is not None:
            state.sealing.converting = False
        return False

    with suppress(ResourceNotFoundException):  # deleted meanwhile
        await catalog.update(table, converted, while_in_use=True, also=walk.end)
