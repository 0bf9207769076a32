"""Loading many items at once into a table that is being filled: a shorter way beside the write path.

Nobody else reads or writes such a table, it has no stream, no capture, no expiry and no history, so what is
left of a write is its row, its index entries and the counters. A page of items is one commit; when an
item is there already, the later one wins, and the entries of the earlier one go. So a page that was loaded
and is loaded again changes nothing.

An item becomes bytes at once (`row_of`) and is let go: thousands of items kept for a page cost the collector
of garbage more time than everything else here (measured: half of it).

Why not engine/tables/writes.py: there each item has its own change, conditions and charges. Measured, a page
takes a third of the time here. tests/fixtures/integrity.py holds what comes out against what the write path
makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress

from faradisc.engine.tables.indexes import entry_change
from faradisc.engine.tables.table import Index, Table
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import slot_shift
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.storage.api import Batch, Row, Store

HASHES = 1 << 23
"""Of row keys that are told apart. A power of two."""

Entry = tuple[int, bytes, bytes, int]
"""Of one index, by its position in `Table.indexes`: row key, record, size."""
LoadedRow = tuple[bytes, bytes, int, Sequence[Entry]]
"""Row key, record and size of an item, and its index entries."""


def row_of(table: Table, item: Item, size: int) -> LoadedRow:
    """What is stored of a checked item of that size."""
    stored = item_record.encode(item, size)
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
    return number, row_key, item_record.encode(entry, entry_size), entry_size


class Novelty:
    """Which of many row keys are surely new to a table that was empty when this was made.

    To look each of them up in the store is a tenth of an import's work. Here a byte stands for all keys of
    one hash and says whether any of them has been seen; so what is said to be new is new, and only the others
    are to be looked up. Takes the same memory however many keys there are: with millions it knows less.
    """

    def __init__(self) -> None:
        self._known = bytearray(HASHES)

    def doubted(self, row_keys: list[bytes]) -> list[bytes]:
        """Those that may have been seen before; from now on all of them have been."""
        known = self._known
        hashes = [hash(row_key) & (HASHES - 1) for row_key in row_keys]
        doubted = list(compress(row_keys, map(known.__getitem__, hashes)))
        for each in hashes:
            known[each] = 1
        return doubted


@dataclass(slots=True)
class _Page:
    """One batch per part."""

    batches: dict[bytes, Batch] = field(default_factory=dict)

    def of(self, part: bytes) -> Batch:
        batch = self.batches.get(part)
        if batch is None:
            batch = self.batches[part] = Batch(part)
        return batch


async def load_rows(
    store: Store,
    table: Table,
    rows: Iterable[LoadedRow],
    *,
    also: Batch | None = None,
    novelty: Novelty | None = None,
) -> None:
    """Put rows into a table that is being filled, in one commit; of rows with one key the last one counts.

    The commit is not durable: the owner job flushes the store before anything relies on it.
    also: committed with them; its progress. novelty: if there is one, it has seen every row of
    the table. On an embedded store nothing suspends.
    """
    assert table.state.owner_job is not None and table.stream is None and table.collections is None
    page = _Page({also.part: also} if also is not None else {})
    for part, found in _by_part(table, {row[0]: row for row in rows}.values()):
        batch = page.of(part)
        batch.puts += [(row_key, stored) for row_key, stored, _, _ in found]
        row_keys = [row[0] for row in found]
        doubted = row_keys if novelty is None else novelty.doubted(row_keys)
        olds = await store.get(part, doubted, for_update=True) if doubted else []
        if olds.count(None) < len(olds):
            found = _replace(page, table, batch, found, dict(zip(doubted, olds, strict=True)))
        batch.items_delta += len(found)
        batch.bytes_delta += sum([row[2] for row in found]) + STORAGE_OVERHEAD_BYTES * len(found)
        if table.indexes:
            _add_entries(page, table, found)
    try:
        await store.commit(list(page.batches.values()), durable=False)
    finally:
        # Even when nobody waits for the commit any more, it may have been made.
        for index in table.indexes:
            if index.vectors is not None:
                for part in set(index.placement.parts) & page.batches.keys():
                    for row_key in (*(key for key, _ in page.of(part).puts), *page.of(part).deletes):
                        index.vectors.written(row_key)


def _by_part(table: Table, rows: Iterable[LoadedRow]) -> Iterator[tuple[bytes, list[LoadedRow]]]:
    """The parts that have some of the rows, with theirs."""
    parts, shift = table.placement.parts, slot_shift(table.placement.slots)
    slots: list[list[LoadedRow]] = [[] for _ in parts]
    for row in rows:
        slots[row[0][0] >> shift].append(row)
    return ((part, found) for part, found in zip(parts, slots, strict=True) if found)


def _replace(
    page: _Page, table: Table, batch: Batch, rows: list[LoadedRow], olds: dict[bytes, Row | None]
) -> list[LoadedRow]:
    """Count those rows whose items are there already, as `olds` says; the others."""
    new: list[LoadedRow] = []
    for row in rows:
        row_key, stored, size, _ = row
        old = olds.get(row_key)
        if old is None:
            new.append(row)
            continue
        batch.bytes_delta += size - item_record.size_of(old[1])
        _replace_entries(page, table, item_record.decode(old[1]), item_record.decode(stored))
    return new


def _add_entries(page: _Page, table: Table, rows: list[LoadedRow]) -> None:
    """The entries of new rows."""
    places = [(index.placement.parts, slot_shift(index.placement.slots)) for index in table.indexes]
    found: list[list[list[Entry]]] = [[[] for _ in parts] for parts, _ in places]
    for row in rows:
        for entry in row[3]:
            number = entry[0]
            found[number][entry[1][0] >> places[number][1]].append(entry)
    for (parts, _), slots in zip(places, found, strict=True):
        for part, entries in zip(parts, slots, strict=True):
            if entries:
                batch = page.of(part)
                batch.puts += [(row_key, stored) for _, row_key, stored, _ in entries]
                batch.items_delta += len(entries)
                batch.bytes_delta += sum([entry[3] for entry in entries])
                batch.bytes_delta += STORAGE_OVERHEAD_BYTES * len(entries)


def _replace_entries(page: _Page, table: Table, before: Item, item: Item) -> None:
    for index in table.indexes:
        change = entry_change(index, before, item)
        if change is not None:
            change.add_to(page.of)
