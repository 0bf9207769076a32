"""Counters: rows that add up something of many items, such as the sizes of item collections.

A commit reads the rows of the counters that change, checks their versions, and writes the new numbers; so two
commits that change one counter never lose a change, and the second of them is repeated. A counter that falls
to 0 is deleted.

    row payload   the number, 8 bytes, big-endian

An example, the sizes of collections, in a commit that puts two items of 100 bytes with the same partition key
where there is one already:

    read   (5, 200)                     version 5, 200 bytes
    add    100 + 100 of each            with 100 bytes of storage overhead: 400
    write  check version 5, put 600

A new counter of a table with items is filled in pages, in the order of the row keys. An item before the
position of the walk is counted, one behind it is not. So a write during the filling adds its difference only
if the walk has passed its item, and checks the version of the cursor: if the walk moves meanwhile, the write
is repeated.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from faradisc.engine.jobs.walk import WalkPage, WalkPosition
from faradisc.engine.tables.derived import CommitBatches, Derived, WrittenItem
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import JOBS_PART, job_key
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Part, Store

NUMBER_BYTES = 8

Counted = tuple[Part, bytes, int]
"""Part and row key of a counter, and what an item adds to it; never negative."""


class Counters(Derived):
    reads = True

    @abstractmethod
    def counted(self, item: Item, row_key: bytes) -> Iterable[Counted]:
        """Returns what an item adds to the counters."""

    def changed(self, written: WrittenItem) -> Iterable[Counted]:
        """Returns by how much the change of one item changes the counters."""
        row_key = written.change.row_key
        if written.old.item is not None:
            for part, key, number in self.counted(written.old.item, row_key):
                yield part, key, -number
        if written.new_item is not None:
            yield from self.counted(written.new_item, row_key)

    async def prepare(self, store: Store, batches: CommitBatches, written: Sequence[WrittenItem], /) -> None:
        passed = written if self.is_filled else await self._passed(store, batches, written)
        changes = [each for one in passed if one.new_record != one.old.record for each in self.changed(one)]
        await self.add_to_counters(store, batches, changes)

    async def _passed(
        self, store: Store, batches: CommitBatches, written: Sequence[WrittenItem]
    ) -> list[WrittenItem]:
        """Returns the items that the walk has passed."""
        key = job_key(self.job, self.resource)
        (row,) = await store.get(JOBS_PART, (key,), for_update=True)
        version, stored = (0, None) if row is None else row
        position = WalkPosition.of(stored)
        batches[JOBS_PART].checks.append((key, version))
        placement = self.table.placement
        return [
            each
            for each in written
            if position.is_past(placement.parts.index(each.change.part), each.change.row_key)
        ]

    async def add_to_counters(self, store: Store, batches: CommitBatches, changes: Iterable[Counted]) -> None:
        """Adds differences to the stored counters."""
        deltas: dict[tuple[Part, bytes], int] = {}
        for part, key, number in changes:
            deltas[part, key] = deltas.get((part, key), 0) + number
        for (part, key), delta in deltas.items():
            if delta:
                (row,) = await store.get(part, (key,), for_update=True)
                version, before = (0, 0) if row is None else (row[0], int.from_bytes(row[1], "big"))
                put_counter(batches[part], key, version, before + delta)

    async def fill(self, store: Store, page: WalkPage, batches: CommitBatches) -> None:
        items = [(key, item_record.decode(payload)) for key, (_, payload) in page.rows]
        counted = [each for key, item in items for each in self.counted(item, key)]
        await self.add_to_counters(store, batches, counted)


def put_counter(batch: Batch, key: bytes, version: int, number: int) -> None:
    """Writes a counter that had this version."""
    batch.checks.append((key, version))
    if number > 0:
        batch.puts.append((key, number.to_bytes(NUMBER_BYTES, "big")))
    else:
        batch.deletes.append(key)
