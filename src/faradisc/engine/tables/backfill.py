"""The backfill of a new global or vector index, in steps, while its table is read and written.

From the moment an index is CREATING, every write maintains it (engine/tables/commit.py). The backfill adds
the entries of items that are not written meanwhile. A step finds some rows of the table after the cursor,
adds the entries that are missing, and moves the cursor, all in one commit that checks the versions of the
rows it has read. Finding rows may wait for the disk, so the rows are read again after it: on an embedded
store nothing runs between that read and the commit, so that a table under constant writes is filled as fast
as an idle one.

Invariants:
1. An entry that exists is that of the present item, so a step never overwrites one.
2. Cursor and entries change together; after a crash the next step continues after the last one.
3. The index becomes ACTIVE only after the last step.

Items whose attributes cannot be keys of the index are left out (limits.md section 2). The backfill uses no
capacity (capacity.md section 2.2); metrics of their own show what it would have cost (metrics.md).
"""

from __future__ import annotations

import logging
from contextlib import suppress

from faradisc.capacity import units
from faradisc.engine.jobs.walk import Walk, WalkPosition
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.partition_sizes import grow_index
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Index, Table
from faradisc.errors import ResourceNotFoundException
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.metrics.metric_store import dimensions
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import JOBS_PART, job_key
from faradisc.model.values.size import item_size
from faradisc.storage.api import Batches, Store

log = logging.getLogger("faradisc.backfill")

JOB = b"backfill"
LOG_EVERY_ROWS = 100_000


async def backfill_step(store: Store, catalog: Catalog) -> bool:
    """Does one step for an index that is being filled; returns False if there is none."""
    table = catalog.backfilling()
    if table is None or table.changing_index is None:
        return False
    index = table.changing_index
    walk = await Walk.load(store, JOB, index.placement.resource, table.placement.parts)
    if walk.is_complete:
        if await _finish(catalog, table, index, walk):
            log.info(
                "index %s of table %s is filled: %d items seen", index.name, table.name, walk.position.seen
            )
        return True
    page = await walk.page(epoch=table.epoch)
    if not _is_filled(catalog, index):
        return True  # it was deleted meanwhile
    added = await add_missing(store, index, [payload for _, (_, payload) in page.rows], page.batches)
    entries = added if index.vectors is None and table.meter.enforced else []
    grow_index(table, index, entries, undone=False)
    try:
        committed = await walk.commit(page)
    except BaseException:
        if entries:
            table.meter.reconcile_later()  # the commit may have been made
        raise
    if not committed:
        grow_index(table, index, entries, undone=True)
        return True
    if page.moved.seen // LOG_EVERY_ROWS > walk.position.seen // LOG_EVERY_ROWS:
        log.info("index %s of table %s: %d items seen", index.name, table.name, page.moved.seen)
    if index.vectors is None:
        _publish(table, index, added, await _percent(store, table, page.moved))
    return True


async def _percent(store: Store, table: Table, position: WalkPosition) -> float:
    """Returns the progress in percent of the present number of items."""
    if position.slot == len(table.placement.parts):
        return 100.0
    items = sum([(await store.usage(part))[0] for part in table.placement.parts])
    return min(100 * position.seen / max(items, 1), 100.0)


def _publish(table: Table, index: Index, added: list[tuple[bytes, bytes, int]], percent: float) -> None:
    """Adds the metrics of a step."""
    meter = table.meter
    now, metrics = meter.now(), meter.registry.metrics
    which = dimensions(TableName=table.name, GlobalSecondaryIndexName=index.name)
    cost = sum(units.write_units(0, size) for _, _, size in added)
    metrics.add("OnlineIndexConsumedWriteCapacity", which, now, cost)
    metrics.add("OnlineIndexPercentageProgress", which, now, percent)
    metrics.add("OnlineIndexThrottleEvents", which, now, 0)


def _is_filled(catalog: Catalog, index: Index) -> bool:
    """Whether this index still waits to be filled."""
    table = catalog.backfilling()
    if table is None or table.changing_index is None:
        return False
    return table.changing_index.placement.resource == index.placement.resource


async def progress(store: Store, index: Index) -> int | None:
    """Returns the number of items seen while an index is being filled; None when it is not."""
    key = job_key(JOB, index.placement.resource)
    (row,) = await store.get(JOBS_PART, (key,))
    return WalkPosition.of(row[1]).seen if row is not None else None


async def add_missing(
    store: Store, index: Index, payloads: list[bytes], batches: Batches
) -> list[tuple[bytes, bytes, int]]:
    """Adds the missing entries of these records to the batches; returns their parts, row keys and sizes."""
    added = []
    placement = index.placement
    entries: list[tuple[bytes, bytes, bytes, int]] = []
    for payload in payloads:
        item = item_record.decode(payload)
        entry = index.schema.entry(item)
        if entry is None:
            continue
        size = item_size(entry)
        row_key = placement.row_key(entry)
        entries.append((placement.part_of(row_key), row_key, item_record.encode(entry, size), size))
    for part, row_key, payload, size in entries:
        (row,) = await store.get(part, (row_key,), for_update=True)
        if row is not None:
            continue
        batch = batches[part]
        batch.checks.append((row_key, 0))
        batch.puts.append((row_key, payload))
        batch.items_delta += 1
        batch.bytes_delta += size + STORAGE_OVERHEAD_BYTES
        added.append((part, row_key, size))
    return added


async def _finish(catalog: Catalog, table: Table, index: Index, walk: Walk) -> bool:
    """Makes the index ACTIVE; returns False if index or table do not exist any more."""
    found = False

    def activate(state: TableState) -> bool:
        nonlocal found
        for stored in state.online_indexes():
            if stored.resource == index.placement.resource and stored.status == "CREATING":
                stored.status = "ACTIVE"
                found = True
        return False

    with suppress(ResourceNotFoundException):
        await catalog.update(table, activate, while_in_use=True, also=walk.end)
    return found
