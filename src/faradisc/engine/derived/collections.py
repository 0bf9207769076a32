"""The sizes of item collections, on tables with local indexes: a limit of the service concerns them.

row key   hash and HASH components of the partition key, as at the beginning of the items' row keys
payload   bytes of the items and of their entries in local indexes, with the storage overhead of each
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from faradisc.engine.derived.counters import Counted, Counters, put_counter
from faradisc.engine.tables.change import CollectionsFull, Outcome
from faradisc.engine.tables.derived import CommitBatches, Derived, Kind, Live, WrittenItem
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import UNASSIGNED, TableState
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size
from faradisc.storage.api import Part, Store


class Collections(Counters):
    def __init__(self, table: TableLayout, resource: int, live: Live) -> None:
        super().__init__(table, resource, "sizes of item collections")
        hash_only = KeySchema(table.key.hash, (), table.key.types)
        self.placement: Placement = replace(table.placement, resource=resource, key=hash_only)
        self._bytes_max = live.collection_bytes_max

    def parts(self) -> Sequence[Part]:
        return self.placement.parts

    def counted(self, item: Item, row_key: bytes) -> Iterable[Counted]:
        size = item_size(item) + STORAGE_OVERHEAD_BYTES
        for index in self.table.local_indexes:
            entry = index.schema.entry(item)
            if entry is not None:
                size += item_size(entry) + STORAGE_OVERHEAD_BYTES
        key = self.placement.row_key(item)
        yield self.placement.part_of(key), key, size

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


def _delta(written: WrittenItem) -> int:
    """Returns by how much a change makes its collection larger. The sizes of all images are known here."""
    old = written.old
    delta = (written.new_size + STORAGE_OVERHEAD_BYTES if written.new_item is not None else 0) - (
        old.size_bytes + STORAGE_OVERHEAD_BYTES if old.exists else 0
    )
    return delta + sum(
        entry.new_bytes - entry.old_bytes for entry in written.entries if not entry.index.schema.is_global
    )


class CollectionKind(Kind):
    name = "collections"

    def of(self, table: TableLayout, live: Live) -> Iterable[Derived]:
        resource = table.state.collections_resource
        return () if resource is None else (Collections(table, resource, live),)

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        if state.collections_resource == UNASSIGNED:
            state.collections_resource = next(numbers)
