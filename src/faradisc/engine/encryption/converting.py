"""Rewrites the rows of a table after its encryption was enabled or disabled, in steps, while it is in use.

From the commit of the change on, every write is in the new form, and reads accept both (engine/sealing/). A
step writes a page of rows again, as they are; the store around the engine seals them, or does not. It checks
the versions of the rows it has read. The progress is stored in the commit of the rows.

Log entries are not rewritten: those of a stream are deleted after a day.
"""

from __future__ import annotations

from faradisc.engine.tables.backfill import Cursor
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.model.codec.keyspace import JOBS_PART, job_key
from faradisc.storage.api import Batch, Store

ROWS_PER_STEP = 200
BYTES_PER_STEP = 1 << 20


async def convert_step(store: Store, catalog: Catalog, table: Table) -> bool:
    """Does one step. Requires: the table is UPDATING, so that its resources stay the same."""
    parts = table.parts()
    cursor_key = job_key(b"sealing", table.state.resource)
    (row,) = await store.get(JOBS_PART, (cursor_key,), for_update=True)
    cursor = Cursor.of(row[1] if row is not None else None)
    if cursor.slot >= len(parts):
        await _finish(catalog, table, cursor_key)
        return True
    part = parts[cursor.slot]
    rows = await store.range(part, cursor.after, None, limit=ROWS_PER_STEP, max_bytes=BYTES_PER_STEP)
    batch = Batch(part)
    for key, (version, payload) in rows:
        if payload:
            batch.checks.append((key, version))
            batch.puts.append((key, payload))
    moved = cursor.moved(rows[-1][0] if rows else None, len(rows))
    progress = Batch(
        JOBS_PART,
        checks=[(cursor_key, row[0] if row is not None else 0)],
        puts=[(cursor_key, moved.stored())],
    )
    await store.commit([batch, progress])  # after a conflict the next step reads the page again
    return True


async def _finish(catalog: Catalog, table: Table, cursor_key: bytes) -> None:
    def converted(state: TableState) -> bool:
        if state.sealing is not None:
            state.sealing.converting = False
        return False

    done = Batch(JOBS_PART, deletes=[cursor_key])
    await catalog.update(table, converted, while_in_use=True, also=done)
