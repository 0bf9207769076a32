"""Secondary indexes and vector indexes.

An entry is written in the commit of its item, and costs; so it is made with the new image, before the commit
(engine/tables/indexes.py), and this module has the rest: how a new index is filled while its table is in use.

From the moment an index is CREATING, every write maintains it. The filling adds the entries of items that are
not written meanwhile, and of no others:

1. An entry that exists is that of the present item, so it is never overwritten.
2. A write during the filling may find no entry of the old image; then there is none to replace (`prepare`).
3. The index becomes ACTIVE only after the last page.

Items whose attributes cannot be keys of the index are left out (limits.md section 2). The filling uses no
capacity (capacity.md section 2.2); metrics of their own show what it would have cost (metrics.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import orjson

from faradisc.capacity import units
from faradisc.engine.derived.item_rows import DerivedRow, ItemRows
from faradisc.engine.inspection.layouts import Layout, record, row_key_of
from faradisc.engine.inspection.words import read_item, shortened
from faradisc.engine.jobs.walk import WalkPage, WalkPosition
from faradisc.engine.tables.derived import CommitBatches, Derived, DerivedKind, LiveParts, WrittenItem
from faradisc.engine.tables.layout import Index, TableLayout
from faradisc.engine.tables.partition_sizes import grow_index
from faradisc.engine.tables.state import UNASSIGNED, TableState
from faradisc.engine.tables.table import Table
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.metrics.metric_store import dimensions
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.storage.api import Batches, Part, Store


class IndexEntries(ItemRows):
    """The entries of one index."""

    job = b"backfill"
    filled_while = frozenset({"ACTIVE"})
    """While the index is set up the table is UPDATING; then it is filled."""
    reads = True
    fenced = True
    noun = "an entry"
    remedy = "rewrites the entries that are wrong, from the table"

    def __init__(self, table: TableLayout, index: Index, live: LiveParts) -> None:
        super().__init__(table, index.placement.resource, f"index {index.name}")
        self.index = index
        self.is_filled = index.status != "CREATING"
        self.is_leaving = index.status == "DELETING"
        self.is_maintained = not self.is_filled  # only to prepare; outcomes have the entries
        self.kind = "vector index" if index in table.vector_indexes else "index"
        self._vectors = live.vectors
        self._added: list[tuple[Part, bytes, int]] = []
        """Parts, row keys and sizes of the entries that the present page adds."""

    def parts(self) -> Sequence[Part]:
        return self.index.placement.parts

    def forget(self) -> None:
        self._vectors.forget(self.resource)

    # --- While it is being filled ---

    async def prepare(self, store: Store, batches: CommitBatches, written: Sequence[WrittenItem], /) -> None:
        """The old image may have no entry yet; then there is none to replace."""
        for each in written:
            for entry in each.entries:
                if entry.index.placement.resource != self.resource or entry.old_location is None:
                    continue
                part, row_key = entry.old_location
                (row,) = await store.get(part, (row_key,), for_update=True)
                if row is None:
                    entry.delete = None
                    entry.old_bytes = 0

    async def fill(self, store: Store, page: WalkPage, batches: CommitBatches) -> None:
        table, index = self.table, self.index
        assert isinstance(table, Table), "only a running database fills indexes"
        records = [payload for _, (_, payload) in page.rows]
        self._added = added = await add_missing(store, index, records, batches)
        if index.vectors is None and table.meter.enforced and added:
            batches.growth.append((table.meter, lambda undone: grow_index(table, index, added, undone)))

    async def page_filled(self, store: Store, before: WalkPosition, after: WalkPosition) -> None:
        """Adds the metrics of a page."""
        table = self.table
        if self.index.vectors is not None or not isinstance(table, Table):
            return
        percent = 100.0
        if after.slot < len(table.placement.parts):
            items = sum([(await store.usage(part))[0] for part in table.placement.parts])
            percent = min(100 * after.seen / max(items, 1), 100.0)
        now, metrics = table.meter.now(), table.meter.registry.metrics
        which = dimensions(TableName=table.name, GlobalSecondaryIndexName=self.index.name)
        cost = sum(units.write_units(0, size) for _, _, size in self._added)
        metrics.add("OnlineIndexConsumedWriteCapacity", which, now, cost)
        metrics.add("OnlineIndexPercentageProgress", which, now, percent)
        metrics.add("OnlineIndexThrottleEvents", which, now, 0)

    def filled(self, state: TableState) -> bool:
        for stored in state.online_indexes():
            if stored.resource == self.resource and stored.status == "CREATING":
                stored.status = "ACTIVE"
                return True
        return False

    # --- Checks ---

    def layout(self) -> Layout:
        return Layout(self.where, row_key_of(self.index.placement), record)

    def row_of(self, item: Item, row_key: bytes, stored: bytes) -> DerivedRow | None:
        entry = self.index.schema.entry(item)
        if entry is None:
            return None
        placement = self.index.placement
        key = placement.row_key(entry)
        payload = stored if entry is item else item_record.encode(entry, item_size(entry))
        return DerivedRow(placement.part_of(key), key, payload)

    def source_of(self, row: DerivedRow) -> bytes | None:
        entry = read_item(row.payload)
        names = self.table.key.types
        if entry is None or any(names[name] not in entry.get(name, ()) for name in names):
            return None
        return self.table.placement.row_key(entry)

    def is_optional(self, key: bytes, now_ns: int) -> bool:
        return not self.is_filled

    def key_words(self, row: DerivedRow) -> str:
        entry = read_item(row.payload)
        if entry is None:
            return f"row key {shortened(row.key.hex())}"
        named = {name: entry[name] for name in self.index.schema.all_key_names if name in entry}
        return shortened(orjson.dumps(named).decode())

    def usage_of(self, key: bytes, payload: bytes) -> tuple[int, int]:
        return 1, item_record.size_of(payload) + STORAGE_OVERHEAD_BYTES


class IndexKind(DerivedKind):
    name = "index"

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        indexes = table.local_indexes + table.global_indexes + table.vector_indexes
        return [IndexEntries(table, index, live) for index in indexes]

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        for index in [*state.local_indexes, *state.online_indexes()]:
            if index.resource == UNASSIGNED:
                index.resource = next(numbers)


async def add_missing(
    store: Store, index: Index, payloads: list[bytes], batches: Batches
) -> list[tuple[Part, bytes, int]]:
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
