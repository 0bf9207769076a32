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
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from hashlib import blake2b

from faradisc.engine.inspection.layouts import Layout, size
from faradisc.engine.inspection.problems import RepairAction
from faradisc.engine.inspection.reading import StoreLook, pages
from faradisc.engine.inspection.words import read_item
from faradisc.engine.jobs.walk import WalkPage, WalkPosition
from faradisc.engine.tables.derived import CommitBatches, Derived, DerivedCheck, WrittenItem
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

    # --- Checks ---

    def layout(self) -> Layout:
        return Layout(self.where, payload=size)

    def verification(self, look: StoreLook) -> DerivedCheck:
        return CounterVerification(self, look)

    async def repair(self, store: Store, look: StoreLook) -> None:
        """Counts again. Needs memory for all counters of a part."""
        for part in self.parts():
            totals: Counter[bytes] = Counter()
            for items in self.table.placement.parts:
                async for rows in pages(store, items):
                    for row_key, payload in rows:
                        item = read_item(payload)
                        for of, key, number in () if item is None else self.counted(item, row_key):
                            if of == part:
                                totals[key] += number
            batch = Batch(part)
            async for rows in pages(store, part):
                for key, payload in rows:
                    number = totals.pop(key, 0)
                    if not number:
                        batch.deletes.append(key)
                    elif number != int.from_bytes(payload, "big"):
                        batch.puts.append((key, number.to_bytes(NUMBER_BYTES, "big")))
            batch.puts += [(key, each.to_bytes(NUMBER_BYTES, "big")) for key, each in totals.items() if each]
            if batch.puts or batch.deletes:
                await store.commit([batch])

    async def rows_about(
        self, look: StoreLook, key: Item, item: Item | None, record: bytes
    ) -> list[tuple[Part, list[bytes]]]:
        if item is None:
            return []
        row_key = self.table.placement.row_key(key)
        return [(part, [counter]) for part, counter, _ in self.counted(item, row_key)]


class CounterVerification(DerivedCheck):
    """Compares sums over all counters of a part, in which each counts as often as its number says.

    What an item adds is a digest of the counter's key times a number; what a stored row adds is the same
    digest times the stored number. So the sums are equal if the counters are right, in any order of items,
    and take the memory of one number per part.
    """

    def __init__(self, counters: Counters, look: StoreLook) -> None:
        self._counters = counters
        self._look = look
        self._expected: Counter[Part] = Counter()
        self._has_gaps = False

    def see(self, row_key: bytes, item: Item | None, record: bytes) -> None:
        if item is None:
            self._has_gaps = True
            return
        for part, key, number in self._counters.counted(item, row_key):
            self._expected[part] += _digest(key) * number

    async def rest(self) -> AsyncIterator[None]:
        counters, report = self._counters, self._look.report
        if not counters.is_filled or self._has_gaps:
            why = "an item cannot be read" if self._has_gaps else "it is being filled"
            report.notes.append(f"{counters.where} was not checked: {why}")
            return
        tally = report.tally(counters.where, "counters")
        for part in counters.parts():
            total = 0
            async for rows in pages(self._look.store, part, report):
                total += sum(_digest(key) * int.from_bytes(payload, "big") for key, payload in rows)
                tally.rows += len(rows)
                tally.bytes += sum(len(payload) for _, payload in rows)
                yield
            if total != self._expected[part]:
                action = RepairAction("derived", resource=counters.resource)
                report.add(counters.where, "a counter is wrong", "counts again", f"slot {part[4]}", action)


def _digest(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=16).digest(), "big")


def put_counter(batch: Batch, key: bytes, version: int, number: int) -> None:
    """Writes a counter that had this version."""
    batch.checks.append((key, version))
    if number > 0:
        batch.puts.append((key, number.to_bytes(NUMBER_BYTES, "big")))
    else:
        batch.deletes.append(key)
