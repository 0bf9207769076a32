"""Loading many items at once into a table that is being filled: a shorter way beside the write path.

Nobody else reads or writes such a table, it has no stream, no capture, no expiry and no history, so what is
left of a write is its row, its index entries and the counters. A page of items is one commit; when an
item is there already, the later one wins, and the entries of the earlier one go.

Why not tables/writes.py: there each item has its own change, conditions and charges. Measured, a page takes
a third of the time here. tests/fixtures/integrity.py holds what comes out against what the write path makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from faradisc.codec import record
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.storage.api import Batch, Store
from faradisc.tables.indexes import entry_change
from faradisc.tables.table import Table
from faradisc.values.attribute import Item


@dataclass(slots=True)
class _Page:
    """One batch per part."""

    batches: dict[bytes, Batch] = field(default_factory=dict)

    def of(self, part: bytes) -> Batch:
        batch = self.batches.get(part)
        if batch is None:
            batch = self.batches[part] = Batch(part)
        return batch


async def load_items(store: Store, table: Table, items: Sequence[tuple[Item, int]], also: Batch) -> None:
    """Put checked items, each with its size in bytes, into a table that is being filled, in one commit.

    `also` is committed with them: how far the filler has come. Nothing suspends between the look at `table`
    and the writing of the commit, on a store that is embedded.
    """
    state = table.state
    assert state.filler is not None and table.stream is None and table.collections is None
    rows: dict[bytes, dict[bytes, tuple[Item, int]]] = {}
    placement = table.placement
    for entry in items:
        row_key = placement.row_key(entry[0])
        rows.setdefault(placement.part_of(row_key), {})[row_key] = entry
    page = _Page({also.part: also})
    touched: list[tuple[int, bytes]] = []
    for part, found in rows.items():
        batch = page.of(part)
        olds = await store.get(part, list(found), for_update=True)
        for (row_key, (item, size)), old in zip(found.items(), olds, strict=True):
            batch.puts.append((row_key, record.encode(item, size)))
            if old is None:
                batch.items_delta += 1
                batch.bytes_delta += size + STORAGE_OVERHEAD_BYTES
            else:
                batch.bytes_delta += size - record.size_of(old[1])
            if table.indexes:
                before = record.decode(old[1]) if old is not None else None
                touched += _add_entries(page, table, before, item)
    try:
        await store.commit(list(page.batches.values()))
    finally:
        for index, row_key in touched:
            resident = table.indexes[index].resident
            if resident is not None:
                resident.written(row_key)


def _add_entries(page: _Page, table: Table, before: Item | None, item: Item) -> list[tuple[int, bytes]]:
    """Add what changes in the indexes; the rows that do in vector indexes, by the index's position."""
    touched = []
    for position, index in enumerate(table.indexes):
        change = entry_change(index, before, item)
        if change is None:
            continue
        if change.delete is not None:
            part, row_key = change.delete
            batch = page.of(part)
            batch.deletes.append(row_key)
            batch.items_delta -= 1
            batch.bytes_delta -= change.old_bytes
        if change.put is not None:
            part, row_key, entry = change.put
            batch = page.of(part)
            batch.puts.append((row_key, entry))
            replaced = change.delete is None and change.old_bytes > 0
            batch.items_delta += 0 if replaced else 1
            batch.bytes_delta += change.new_bytes - (change.old_bytes if replaced else 0)
        if index.resident is not None:
            touched += [(position, place[1]) for place in (change.delete, change.put) if place]
    return touched
