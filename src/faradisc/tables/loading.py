"""Loading many items at once into a table that is being filled: a shorter way beside the write path.

Nobody else reads or writes such a table, it has no stream, no capture, no expiry and no history, so what is
left of a write is its row, its index entries and the counters. A page of items is one commit; when an
item is there already, the later one wins, and the entries of the earlier one go.

An item becomes bytes at once (`row_of`) and is let go: thousands of items kept for a page cost the collector
of garbage more time than everything else here (measured: half of it).

Why not tables/writes.py: there each item has its own change, conditions and charges. Measured, a page takes
a third of the time here. tests/fixtures/integrity.py holds what comes out against what the write path makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from faradisc.codec import record
from faradisc.codec.keyspace import slot_shift
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.storage.api import Batch, Row, Store
from faradisc.tables.indexes import entry_change
from faradisc.tables.table import Index, Table
from faradisc.values.attribute import Item
from faradisc.values.size import item_size

Entry = tuple[int, bytes, bytes, int]
"""Of one index, by its position in `Table.indexes`: row key, record, size."""
LoadedRow = tuple[bytes, bytes, int, Sequence[Entry]]
"""Row key, record and size of an item, and its index entries."""


class Rows(list[LoadedRow]):
    """Of items that came one after another. A class of its own, so that it can stand among single records."""


def row_of(table: Table, item: Item, size: int) -> LoadedRow:
    """What is stored of a checked item of that size."""
    stored = record.encode(item, size)
    entries = [_entry(index, number, item, stored, size) for number, index in enumerate(table.indexes)]
    return (table.placement.row_key(item), stored, size, [entry for entry in entries if entry is not None])


def _entry(index: Index, number: int, item: Item, stored: bytes, size: int) -> Entry | None:
    entry = index.schema.entry(item)
    if entry is None:
        return None
    row_key = index.placement.row_key(entry)
    if entry is item:
        return number, row_key, stored, size
    entry_size = item_size(entry)
    return number, row_key, record.encode(entry, entry_size), entry_size


@dataclass(slots=True)
class _Page:
    """One batch per part."""

    batches: dict[bytes, Batch] = field(default_factory=dict)

    def of(self, part: bytes) -> Batch:
        batch = self.batches.get(part)
        if batch is None:
            batch = self.batches[part] = Batch(part)
        return batch


async def load_rows(store: Store, table: Table, rows: Iterable[LoadedRow], also: Batch) -> None:
    """Put rows into a table that is being filled, in one commit; of rows with one key the last one counts.

    The commit is not durable: the filler hardens the store before anything relies on it.
    `also` is committed with them: how far the filler has come. On an embedded store nothing suspends between
    the call and the writing of the commit.
    """
    assert table.state.filler is not None and table.stream is None and table.collections is None
    page = _Page({also.part: also})
    for part, found in _by_part(table, {row[0]: row for row in rows}.values()):
        batch = page.of(part)
        olds = await store.get(part, [row[0] for row in found], for_update=True)
        batch.puts += [(row_key, stored) for row_key, stored, _, _ in found]
        if olds.count(None) < len(olds):
            found = _replace(page, table, batch, found, olds)
        batch.items_delta += len(found)
        batch.bytes_delta += sum([row[2] for row in found]) + STORAGE_OVERHEAD_BYTES * len(found)
        if table.indexes:
            _add_entries(page, table, [entry for row in found for entry in row[3]])
    try:
        await store.commit(list(page.batches.values()), durable=False)
    finally:
        # Even when nobody waits for the commit any more, it may have been made.
        for index in table.indexes:
            if index.resident is not None:
                for part in set(index.placement.parts) & page.batches.keys():
                    for row_key in (*(key for key, _ in page.of(part).puts), *page.of(part).deletes):
                        index.resident.written(row_key)


def _by_part(table: Table, rows: Iterable[LoadedRow]) -> Iterator[tuple[bytes, list[LoadedRow]]]:
    """The parts that have some of the rows, with theirs."""
    parts, shift = table.placement.parts, slot_shift(table.placement.slots)
    slots: list[list[LoadedRow]] = [[] for _ in parts]
    for row in rows:
        slots[row[0][0] >> shift].append(row)
    return ((part, found) for part, found in zip(parts, slots, strict=True) if found)


def _replace(
    page: _Page, table: Table, batch: Batch, rows: list[LoadedRow], olds: list[Row | None]
) -> list[LoadedRow]:
    """Count those rows whose items are there already, as `olds` says; the others."""
    new: list[LoadedRow] = []
    for row, old in zip(rows, olds, strict=True):
        if old is None:
            new.append(row)
            continue
        _, stored, size, _ = row
        batch.bytes_delta += size - record.size_of(old[1])
        _replace_entries(page, table, record.decode(old[1]), record.decode(stored))
    return new


def _add_entries(page: _Page, table: Table, entries: Iterable[Entry]) -> None:
    placements = [index.placement for index in table.indexes]
    for number, row_key, stored, size in entries:
        batch = page.of(placements[number].part_of(row_key))
        batch.puts.append((row_key, stored))
        batch.items_delta += 1
        batch.bytes_delta += size + STORAGE_OVERHEAD_BYTES


def _replace_entries(page: _Page, table: Table, before: Item, item: Item) -> None:
    for index in table.indexes:
        change = entry_change(index, before, item)
        if change is not None:
            change.add_to(page.of)
