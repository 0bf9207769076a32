"""Checks the items of one table, and adds up the data derived from them.

Scans the table slot by slot in the order of row keys, which is also the order of item collections, so the
sizes of collections are compared by merging two ordered scans.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

from faradisc.engine.check.derived import Derived, Sums, usage_problems
from faradisc.engine.check.inventory import name_of
from faradisc.engine.check.items import check_item, row_words
from faradisc.engine.check.problems import Problem, RepairAction, Report
from faradisc.engine.check.reading import pages
from faradisc.engine.tables.layout import TableLayout
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.storage.api import Part, ReadOnlyStore


class Collection(NamedTuple):
    """One item collection, according to its items."""

    row_key: bytes
    size_bytes: int
    is_known: bool
    """False when one of its items cannot be read."""


class CollectionSums:
    """Adds up item collections from the items of one slot in order."""

    __slots__ = ("_is_known", "_row_key", "_size_bytes", "_table")

    def __init__(self, table: TableLayout) -> None:
        self._table = table
        self._row_key = b""
        self._size_bytes = 0
        self._is_known = True

    def add(self, row_key: bytes, item: Item | None) -> Iterator[Collection]:
        """Counts an item. Yields the collection before it, when that has ended."""
        placement = self._table.collections
        if placement is None:
            return
        if not self._row_key or not row_key.startswith(self._row_key):
            yield from self.end()
            if item is None:
                self._is_known = False  # it may belong to the next collection
                return
            self._row_key = placement.row_key(item)
        if item is None:
            self._is_known = False
            return
        self._size_bytes += item_size(item) + STORAGE_OVERHEAD_BYTES
        for index in self._table.local_indexes:
            entry = index.schema.entry(item)
            if entry is not None:
                self._size_bytes += item_size(entry) + STORAGE_OVERHEAD_BYTES

    def end(self) -> Iterator[Collection]:
        if self._row_key:
            yield Collection(self._row_key, self._size_bytes, self._is_known)
            self._row_key, self._size_bytes, self._is_known = b"", 0, True


async def walk_items(
    store: ReadOnlyStore, table: TableLayout, derived: Sequence[Derived], sums: Sums, *, report: Report
) -> AsyncIterator[None]:
    """Checks every item, counters and collections, and adds the derived rows to `sums`.

    Raises: StorageError when some part of the table cannot be read.
    """
    records = RepairAction("records", resource=table.state.resource)
    where = name_of(table)
    tally = report.tally(where, "table")
    for slot, part in enumerate(table.placement.parts):
        count = size = 0
        collections = CollectionSums(table)
        merge = CollectionMerge(store, table, slot)
        async for rows in pages(store, part, report):
            ended: list[Collection] = []
            for row_key, payload in rows:
                checked = check_item(table, part, row_key, payload)
                if checked.what:
                    repair = None if checked.canonical is None else records
                    report.add(
                        where, checked.what, checked.remedy, row_words(table.placement, row_key), repair
                    )
                    merge.has_gaps = merge.has_gaps or checked.item is None
                count += 1
                size += checked.size_bytes + STORAGE_OVERHEAD_BYTES
                ended.extend(collections.add(row_key, checked.item))
                if checked.item is not None:
                    _add_expected(derived, sums, checked.item, row_key, checked.canonical or payload)
            tally.rows += len(rows)
            report.add_all([problem async for problem in merge.problems(ended)])
            yield
        tally.bytes += size - count * STORAGE_OVERHEAD_BYTES
        report.add_all([problem async for problem in merge.problems(list(collections.end()), at_end=True)])
        report.add_all(usage_problems(where, part, (count, size), await store.usage(part)))


def _add_expected(
    derived: Sequence[Derived], sums: Sums, item: Item, row_key: bytes, canonical: bytes
) -> None:
    for each in derived:
        row = each.row_of(item, row_key, canonical)
        if row is not None and not each.is_optional(row.key):
            sums.add(row)


class CollectionMerge:
    """Merges the stored sizes of one slot's collections with the sums of its items, both in order."""

    def __init__(self, store: ReadOnlyStore, table: TableLayout, slot: int) -> None:
        self._store = store
        self._table = table
        self._part: Part | None = None
        if table.collections is not None:
            self._part = table.collections.parts[slot]
        self._low: bytes | None = None
        self.has_gaps = False
        """Whether some item cannot be read; a size without a collection may belong to its collection."""

    async def problems(self, ended: list[Collection], *, at_end: bool = False) -> AsyncIterator[Problem]:
        """Yields the problems up to the last of `ended`; with `at_end`, up to the end of the slot."""
        async for key, size in self.differences(ended, at_end=at_end):
            collections = self._table.collections
            assert collections is not None, "otherwise nothing differs"
            there = await self._store.get(collections.part_of(key), (key,))
            if size is None:
                what, numbers = "the size of an item collection that does not exist", ""
            elif there[0] is None:
                what, numbers = "the size of an item collection is missing", f" is {size}"
            else:
                what = "the size of an item collection is wrong"
                numbers = f" is {size}, not {int.from_bytes(there[0][1], 'big')}"
            yield Problem(
                name_of(self._table),
                what,
                "adds up the item collections again",
                f"{row_words(collections, key)}{numbers}",
                RepairAction("collections", resource=self._table.state.resource),
            )

    async def differences(
        self, ended: list[Collection], *, at_end: bool = False
    ) -> AsyncIterator[tuple[bytes, int | None]]:
        """Yields (row key, correct size; None: no size) of every wrong size."""
        if self._part is None or not (ended or at_end):
            return
        high = None if at_end else ended[-1].row_key + b"\x00"
        expected = {each.row_key: each for each in ended}
        async for key, size in self._stored(self._part, high):
            collection = expected.pop(key, None)
            if collection is None:
                if not self.has_gaps:
                    yield key, None
            elif collection.is_known and collection.size_bytes != size:
                yield key, collection.size_bytes
        for collection in expected.values():
            if collection.is_known:
                yield collection.row_key, collection.size_bytes

    async def _stored(self, part: Part, high: bytes | None) -> AsyncIterator[tuple[bytes, int]]:
        while rows := await self._store.range(part, self._low, high, limit=500):
            for key, (_, payload) in rows:
                yield key, int.from_bytes(payload, "big")
            self._low = rows[-1][0] + b"\x00"
