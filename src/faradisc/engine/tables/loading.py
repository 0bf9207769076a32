"""Loads many items at once into a table that a job fills; faster than the write path.

No other request reads or writes such a table. A write is its row, its index entries and the counters; a table
from which more is derived is loaded by way of commit.py. A page of items is one commit. If an item exists
already, the later one replaces it and its entries. So loading a page again changes nothing.

An item is encoded at once (`row_of`) and dropped: with thousands of items in memory for a page, garbage
collection takes more time than everything else here (measured: half of it).

The write path (engine/tables/writes.py) has a change, conditions and charges per item; measured, a page takes
a third of its time here. tests/fixtures/integrity.py compares the result with that of the write path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from faradisc.engine.tables.change import Change, Image, evaluate
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.indexes import entry_change
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import slot_shift
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.storage.api import Batch, Batches, Row, Stale, Store

HASHES = 1 << 23
"""Number of hash values of row keys. A power of two."""

Entry = tuple[int, bytes, bytes, int]
"""Entry of one index, by its position in `Table.indexes`: row key, record, size."""
LoadedRow = tuple[bytes, bytes, int, Sequence[Entry]]
"""Row key, record and size of an item, and its index entries."""


def row_of(table: Table, item: Item, size: int) -> LoadedRow:
    """Returns the row of a checked item of that size."""
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
    """Finds row keys that are surely new to a table that was empty at the start.

    Looking up each key in the store takes a tenth of the time of an import. Here a byte per hash value says
    whether a key with that hash has been seen, and only keys with a hash that has been seen are looked up.
    The memory does not depend on the number of keys; with millions of them more keys are looked up.
    """

    def __init__(self) -> None:
        self._known = bytearray(HASHES)

    def doubted(self, row_keys: list[bytes]) -> list[bytes]:
        """Returns the keys that may have been seen before, and counts all of them as seen."""
        known = self._known
        hashes = [hash(row_key) & (HASHES - 1) for row_key in row_keys]
        doubted = list(compress(row_keys, map(known.__getitem__, hashes)))
        for each in hashes:
            known[each] = 1
        return doubted


async def load_rows(
    store: Store,
    table: Table,
    rows: Iterable[LoadedRow],
    *,
    also: Batch | None = None,
    novelty: Novelty | None = None,
) -> None:
    """Puts rows into a table that is being filled, in one commit; of rows with one key the last one counts.

    The commit is not durable: the owner job flushes the store before anything relies on it. also: progress of
    the job, committed with the rows. novelty: must have seen every row of the table, if given.
    """
    assert table.state.owner_job is not None
    if table.maintained:
        await _write_rows(store, table, rows, also)
        return
    page = Batches({also.part: also} if also is not None else {})
    for part, found in _by_part(table, {row[0]: row for row in rows}.values()):
        batch = page[part] = table.item_batch(part)
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
        await store.commit(list(page.values()), durable=False)
    finally:
        # A cancelled wait may leave the commit made.
        for index in table.indexes:
            if index.vectors is not None:
                for part in set(index.placement.parts) & page.keys():
                    for row_key in (*(key for key, _ in page[part].puts), *page[part].deletes):
                        index.vectors.written(row_key)


async def _write_rows(store: Store, table: Table, rows: Iterable[LoadedRow], also: Batch | None) -> None:
    """Puts rows as other writes do, with all that is derived from the items."""
    changes = []
    for _, stored, size, _ in {row[0]: row for row in rows}.values():
        item = item_record.decode(stored)
        changes.append(
            Change(table, table.key.key_of(item), lambda _, item=item: item, size=size)  # type: ignore[misc]
        )
    outcomes = []
    for change in changes:
        (old,) = await store.get(change.part, (change.row_key,), for_update=True)
        outcomes.append(evaluate(change, Image(old)))
    if not await commit_outcomes(store, outcomes, also=also, durable=False):
        raise Stale  # a table that is being loaded has one writer


def _by_part(table: Table, rows: Iterable[LoadedRow]) -> Iterator[tuple[bytes, list[LoadedRow]]]:
    """Returns the parts that have some of the rows, with these rows."""
    parts, shift = table.placement.parts, slot_shift(table.placement.slots)
    slots: list[list[LoadedRow]] = [[] for _ in parts]
    for row in rows:
        slots[row[0][0] >> shift].append(row)
    return ((part, found) for part, found in zip(parts, slots, strict=True) if found)


def _replace(
    page: Batches, table: Table, batch: Batch, rows: list[LoadedRow], olds: dict[bytes, Row | None]
) -> list[LoadedRow]:
    """Counts the rows whose items exist, as `olds` says; returns the others."""
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


def _add_entries(page: Batches, table: Table, rows: list[LoadedRow]) -> None:
    """Adds the entries of new rows."""
    slots_of = [(index.placement.parts, slot_shift(index.placement.slots)) for index in table.indexes]
    found: list[list[list[Entry]]] = [[[] for _ in parts] for parts, _ in slots_of]
    for row in rows:
        for entry in row[3]:
            number = entry[0]
            found[number][entry[1][0] >> slots_of[number][1]].append(entry)
    for (parts, _), slots in zip(slots_of, found, strict=True):
        for part, entries in zip(parts, slots, strict=True):
            if entries:
                batch = page[part]
                batch.puts += [(row_key, stored) for _, row_key, stored, _ in entries]
                batch.items_delta += len(entries)
                batch.bytes_delta += sum([entry[3] for entry in entries])
                batch.bytes_delta += STORAGE_OVERHEAD_BYTES * len(entries)


def _replace_entries(page: Batches, table: Table, before: Item, item: Item) -> None:
    for index in table.indexes:
        change = entry_change(index, before, item)
        if change is not None:
            change.add_to(page, [])  # `load_rows` marks all rows
