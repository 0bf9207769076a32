"""Rows of which each follows from one item: index entries, rows of the expiry index.

Each item determines its row. A check adds the digests of these rows, per part, while it scans the table; a
scan of the stored rows does the same. Equal sums of 128 bits mean equal rows, so a correct index costs two
scans and a few numbers. Only where the sums differ, every stored row is compared with its item, then every
item with its row.

Some rows are optional: those of an index that is still being filled, and expiry rows of items that had long
expired when they were written. The sums exclude them; those that exist are compared with their items.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from hashlib import md5
from typing import NamedTuple

from faradisc.engine.inspection.problems import Problem, RepairAction
from faradisc.engine.inspection.reading import Pairs, StoreLook, pages, usage_problems
from faradisc.engine.inspection.words import read_item
from faradisc.engine.tables.derived import Derived, DerivedCheck
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.storage.api import Batch, Part, ReadOnlyStore, Store

_SUM_MASK = (1 << 128) - 1


class DerivedRow(NamedTuple):
    part: Part
    key: bytes
    payload: bytes


class Sums:
    """Per part, the number of rows and the sum of their digests."""

    __slots__ = ("_sums",)

    def __init__(self) -> None:
        self._sums: dict[Part, tuple[int, int]] = {}

    def add(self, row: DerivedRow) -> None:
        digest = md5(row.key, usedforsecurity=False)
        digest.update(row.payload)
        count, total = self._sums.get(row.part, (0, 0))
        number = int.from_bytes(digest.digest(), "big")
        self._sums[row.part] = (count + 1, (total + number) & _SUM_MASK)

    def of(self, part: Part) -> tuple[int, int]:
        return self._sums.get(part, (0, 0))


class ItemRows(Derived):
    kind: str
    """index, vector index or expiry: for the report."""
    noun: str
    remedy: str

    @abstractmethod
    def row_of(self, item: Item, row_key: bytes, stored: bytes) -> DerivedRow | None:
        """Returns the row of an item (with its row key and canonical record); None when it has none."""

    @abstractmethod
    def source_of(self, row: DerivedRow) -> bytes | None:
        """Returns the row key of a stored row's item; None when it cannot be read."""

    @abstractmethod
    def is_optional(self, key: bytes, now_ns: int) -> bool:
        """Returns whether the row with this key is optional."""

    @abstractmethod
    def key_words(self, row: DerivedRow) -> str:
        """Returns a readable form of the row's key."""

    def problem(self, what: str, row: DerivedRow) -> Problem:
        action = RepairAction("derived", resource=self.resource)
        return Problem(self.where, f"{self.noun} {what}", self.remedy, self.key_words(row), action)

    def verification(self, look: StoreLook) -> DerivedCheck:
        return ItemRowsVerification(self, look)

    async def repair(self, store: Store, look: StoreLook) -> None:
        async for wrong in differences(store, self, self.parts(), look.now_ns):
            batches: dict[Part, Batch] = {}
            for _, row, is_put in wrong:
                batch = batches.setdefault(row.part, Batch(row.part))
                if is_put:
                    batch.puts.append((row.key, row.payload))
                else:
                    batch.deletes.append(row.key)
            if batches:
                await store.commit(list(batches.values()))

    async def rows_about(
        self, look: StoreLook, key: Item, item: Item | None, record: bytes
    ) -> list[tuple[Part, list[bytes]]]:
        row = None
        if item is not None:
            row = self.row_of(item, self.table.placement.row_key(key), record)
        return [] if row is None else [(row.part, [row.key])]


class ItemRowsVerification(DerivedCheck):
    def __init__(self, derived: ItemRows, look: StoreLook) -> None:
        self._derived = derived
        self._look = look
        self._expected = Sums()

    def see(self, row_key: bytes, item: Item | None, record: bytes) -> None:
        if item is not None:
            row = self._derived.row_of(item, row_key, record)
            if row is not None and not self._derived.is_optional(row.key, self._look.now_ns):
                self._expected.add(row)

    async def rest(self) -> AsyncIterator[None]:
        """Compares the stored rows with the sums of the scan of the table."""
        derived, look = self._derived, self._look
        tally = look.report.tally(derived.where, derived.kind)
        suspicious: list[Part] = []
        for part in derived.parts():
            actual = Sums()
            items = size = 0
            has_wrong = False
            async for rows in pages(look.store, part, look.report):
                optional: list[DerivedRow] = []
                for key, payload in rows:
                    row = DerivedRow(part, key, payload)
                    one, row_bytes = derived.usage_of(key, payload)
                    items += one
                    size += row_bytes
                    tally.rows += 1
                    tally.bytes += row_bytes - STORAGE_OVERHEAD_BYTES if one else len(payload)
                    if derived.is_optional(key, look.now_ns):
                        optional.append(row)
                    else:
                        actual.add(row)
                wrong = [each async for each in _compared(look.store, derived, optional)]
                has_wrong = has_wrong or bool(wrong)
                yield
            if has_wrong or actual.of(part) != self._expected.of(part):
                suspicious.append(part)
            else:
                stored = await look.store.usage(part)
                look.report.add_all(usage_problems(derived.where, part, (items, size), stored))
        if suspicious:
            async for found in differences(look.store, derived, suspicious, look.now_ns):
                look.report.add_all(problem for problem, _, _ in found)
                yield


Difference = tuple[Problem, DerivedRow, bool]
"""A problem; the row to correct; whether to put it (as given) or to delete it."""


async def differences(
    store: ReadOnlyStore, derived: ItemRows, parts: Sequence[Part], now_ns: int
) -> AsyncIterator[list[Difference]]:
    """Yields the wrong rows of some parts of a derived resource, in pages, some of them empty."""
    for part in parts:
        async for rows in pages(store, part):
            stored = [DerivedRow(part, key, payload) for key, payload in rows]
            yield [wrong async for wrong in _compared(store, derived, stored)]
    wanted_parts = frozenset(parts)
    for part in derived.table.placement.parts:
        async for rows in pages(store, part):
            yield [wrong async for wrong in _missing(store, derived, rows, wanted_parts, now_ns)]


async def _compared(
    store: ReadOnlyStore, derived: ItemRows, rows: list[DerivedRow]
) -> AsyncIterator[Difference]:
    """Compares each stored row with its item."""
    placement = derived.table.placement
    sources = [derived.source_of(row) for row in rows]
    asked = [(placement.part_of(source), source) for source in sources if source is not None]
    found = iter(await store.read_many(asked))
    for row, source in zip(rows, sources, strict=True):
        if source is None:
            yield derived.problem("cannot be read", row), row, False
            continue
        present = next(found)
        if present is None:
            yield derived.problem("belongs to no item", row), row, False
            continue
        item = read_item(present[1])
        if item is None:
            continue  # reported for the item; until it is restored, its rows may be all that is left of it
        expected = derived.row_of(item, source, item_record.encode(item, item_size(item)))
        if expected is None or expected[:2] != row[:2]:
            yield derived.problem("does not follow from its item", row), row, False
        elif expected.payload != row.payload:
            yield derived.problem("differs from its item", row), expected, True


async def _missing(
    store: ReadOnlyStore, derived: ItemRows, items: Pairs, parts: frozenset[Part], now_ns: int
) -> AsyncIterator[Difference]:
    """Finds items without their row."""
    wanted: list[DerivedRow] = []
    for row_key, payload in items:
        item = read_item(payload)
        row = None
        if item is not None:
            row = derived.row_of(item, row_key, item_record.encode(item, item_size(item)))
        if row is not None and row.part in parts and not derived.is_optional(row.key, now_ns):
            wanted.append(row)
    found = await store.read_many([(row.part, row.key) for row in wanted])
    for row, present in zip(wanted, found, strict=True):
        if present is None:
            yield derived.problem("is missing", row), row, True
