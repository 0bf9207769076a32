"""The sizes of item collections, on tables with local indexes: a limit of the service concerns them.

row key   hash and HASH components of the partition key, as at the beginning of the items' row keys
payload   bytes of the items and of their entries in local indexes, with the storage overhead of each
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from faradisc.engine.derived.counters import NUMBER_BYTES, Counted, Counters, put_counter
from faradisc.engine.derived.stored_items import check_item
from faradisc.engine.inspection.layouts import Layout, row_key_of
from faradisc.engine.inspection.layouts import size as size_fields
from faradisc.engine.inspection.problems import Problem, RepairAction
from faradisc.engine.inspection.reading import StoreLook, pages
from faradisc.engine.inspection.words import row_words
from faradisc.engine.tables.change import CollectionsFull, Outcome
from faradisc.engine.tables.derived import (
    CommitBatches,
    Derived,
    DerivedCheck,
    DerivedKind,
    LiveParts,
    WrittenItem,
)
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import UNASSIGNED, TableState
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size
from faradisc.storage.api import Batch, Part, ReadOnlyStore, Store


class Collections(Counters):
    def __init__(self, table: TableLayout, resource: int, live: LiveParts) -> None:
        super().__init__(table, resource, "sizes of item collections")
        hash_only = KeySchema(table.key.hash, (), table.key.types)
        self.placement: Placement = replace(table.placement, resource=resource, key=hash_only)
        self._bytes_max = live.collection_bytes_max

    def parts(self) -> Sequence[Part]:
        return self.placement.parts

    def counted(self, item: Item, row_key: bytes) -> Iterable[Counted]:
        size_bytes = item_size(item) + STORAGE_OVERHEAD_BYTES
        for index in self.table.local_indexes:
            entry = index.schema.entry(item)
            if entry is not None:
                size_bytes += item_size(entry) + STORAGE_OVERHEAD_BYTES
        key = self.placement.row_key(item)
        yield self.placement.part_of(key), key, size_bytes

    async def prepare(self, store: Store, batches: CommitBatches, written: Sequence[WrittenItem], /) -> None:
        """Also tells each change how large its collection is now. Raises CollectionsFull."""
        members: dict[bytes, list[WrittenItem]] = {}
        for each in written:
            members.setdefault(self.placement.row_key(each.change.key), []).append(each)
        too_large: list[Outcome] = []
        for row_key, changed in members.items():
            part = self.placement.part_of(row_key)
            delta = sum(map(_delta, changed))
            (row,) = await store.get(part, (row_key,), for_update=True)
            version, before = (row[0], int.from_bytes(row[1], "big")) if row is not None else (0, 0)
            after = before + delta
            if delta > 0 and after > self._bytes_max:
                await store.wait_durable(version)
                too_large += [each for each in changed if isinstance(each, Outcome) and _delta(each) > 0]
            for each in changed:
                each.collection_bytes = after
            if delta:
                put_counter(batches[part], row_key, version, after)
        if too_large:
            raise CollectionsFull(too_large)

    # --- Checks ---

    def layout(self) -> Layout:
        return Layout(self.where, row_key_of(self.placement), size_fields)

    def verification(self, look: StoreLook) -> DerivedCheck:
        return CollectionVerification(self, look)

    async def repair(self, store: Store, look: StoreLook) -> None:
        """Adds up the collections again."""
        table = self.table
        for slot, part in enumerate(table.placement.parts):
            merge = CollectionMerge(store, self, slot)
            sums = CollectionSums(self)
            async for rows in pages(store, part):
                ended: list[CollectionSum] = []
                for row_key, payload in rows:
                    item = check_item(table, part, row_key, payload).item
                    merge.has_gaps = merge.has_gaps or item is None
                    ended.extend(sums.add(row_key, item))
                await merge.correct(store, ended)
            await merge.correct(store, list(sums.end()), at_end=True)

    async def rows_about(
        self, look: StoreLook, key: Item, item: Item | None, record: bytes
    ) -> list[tuple[Part, list[bytes]]]:
        row_key = self.placement.row_key(key)
        return [(self.placement.part_of(row_key), [row_key])]


def _delta(written: WrittenItem) -> int:
    """Returns by how much a change makes its collection larger. The sizes of all images are known here."""
    old = written.old
    delta = (written.new_size + STORAGE_OVERHEAD_BYTES if written.new_item is not None else 0) - (
        old.size_bytes + STORAGE_OVERHEAD_BYTES if old.exists else 0
    )
    return delta + sum(
        entry.new_bytes - entry.old_bytes for entry in written.entries if not entry.index.schema.is_global
    )


class CollectionKind(DerivedKind):
    name = "collections"
    numbering = 0

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        resource = table.state.collections_resource
        return () if resource is None else (Collections(table, resource, live),)

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        if state.collections_resource == UNASSIGNED:
            state.collections_resource = next(numbers)


class CollectionVerification(DerivedCheck):
    """Compares the stored sizes with the items by merging the two: they are in the same order."""

    def __init__(self, collections: Collections, look: StoreLook) -> None:
        self._collections = collections
        self._look = look
        self._ended: list[CollectionSum] = []

    def begin_slot(self, slot: int) -> None:
        self._sums = CollectionSums(self._collections)
        self._merge = CollectionMerge(self._look.store, self._collections, slot)

    def see(self, row_key: bytes, item: Item | None, record: bytes) -> None:
        self._merge.has_gaps = self._merge.has_gaps or item is None
        self._ended.extend(self._sums.add(row_key, item))

    async def page_seen(self) -> None:
        ended, self._ended = self._ended, []
        self._look.report.add_all([each async for each in self._merge.problems(ended)])

    async def slot_seen(self) -> None:
        ended = list(self._sums.end())
        self._look.report.add_all([each async for each in self._merge.problems(ended, at_end=True)])


class CollectionSum(NamedTuple):
    """One item collection, according to its items."""

    row_key: bytes
    size_bytes: int
    is_known: bool
    """False when one of its items cannot be read."""


class CollectionSums:
    """Adds up item collections from the items of one slot in order."""

    __slots__ = ("_collections", "_is_known", "_row_key", "_size_bytes")

    def __init__(self, collections: Collections) -> None:
        self._collections = collections
        self._row_key = b""
        self._size_bytes = 0
        self._is_known = True

    def add(self, row_key: bytes, item: Item | None) -> Iterator[CollectionSum]:
        """Counts an item. Yields the collection before it, when that has ended."""
        if not self._row_key or not row_key.startswith(self._row_key):
            yield from self.end()
            if item is None:
                self._is_known = False  # it may belong to the next collection
                return
            self._row_key = self._collections.placement.row_key(item)
        if item is None:
            self._is_known = False
            return
        self._size_bytes += sum(size for _, _, size in self._collections.counted(item, row_key))

    def end(self) -> Iterator[CollectionSum]:
        if self._row_key:
            yield CollectionSum(self._row_key, self._size_bytes, self._is_known)
            self._row_key, self._size_bytes, self._is_known = b"", 0, True


class CollectionMerge:
    """Merges the stored sizes of one slot's collections with the sums of its items, both in order."""

    def __init__(self, store: ReadOnlyStore, collections: Collections, slot: int) -> None:
        self._store = store
        self._collections = collections
        self._part = collections.placement.parts[slot]
        self._low: bytes | None = None
        self.has_gaps = False
        """Whether some item cannot be read; a size without a collection may belong to its collection."""

    async def problems(self, ended: list[CollectionSum], *, at_end: bool = False) -> AsyncIterator[Problem]:
        """Yields the problems up to the last of `ended`; with `at_end`, up to the end of the slot."""
        async for key, size in self.differences(ended, at_end=at_end):
            there = await self._store.get(self._part, (key,))
            if size is None:
                what, numbers = "the size of an item collection that does not exist", ""
            elif there[0] is None:
                what, numbers = "the size of an item collection is missing", f" is {size}"
            else:
                what = "the size of an item collection is wrong"
                numbers = f" is {size}, not {int.from_bytes(there[0][1], 'big')}"
            yield Problem(
                self._collections.table.title,
                what,
                "adds up the item collections again",
                f"{row_words(self._collections.placement, key)}{numbers}",
                RepairAction("derived", resource=self._collections.resource),
            )

    async def differences(
        self, ended: list[CollectionSum], *, at_end: bool = False
    ) -> AsyncIterator[tuple[bytes, int | None]]:
        """Yields (row key, correct size; None: no size) of every wrong size."""
        if not (ended or at_end):
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

    async def correct(self, store: Store, ended: list[CollectionSum], *, at_end: bool = False) -> None:
        """Writes the correct sizes where `differences` finds wrong ones."""
        batch = Batch(self._part)
        async for key, size_bytes in self.differences(ended, at_end=at_end):
            if size_bytes is None:
                batch.deletes.append(key)
            else:
                batch.puts.append((key, size_bytes.to_bytes(NUMBER_BYTES, "big")))
        if batch.puts or batch.deletes:
            await store.commit([batch])
