"""Checks rows derived from the items of a table: index entries and expiry rows, both ways.

Each item determines its derived rows. A scan of the table adds the digests of these rows, per part; a scan of
the stored rows does the same. Equal sums of 128 bits mean equal rows, so a correct index costs two scans and
a few numbers. Only where the sums differ, every stored row is compared with its item, then every item with
its row.

Some rows are optional: those of an index that is still being filled, and expiry rows of items that had long
expired when they were written. The sums exclude them; those that exist are compared with their items.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from hashlib import md5
from typing import NamedTuple

import orjson

from faradisc.engine.check.inventory import name_of
from faradisc.engine.check.items import read_item, row_words, shortened
from faradisc.engine.check.problems import Problem, RepairAction, Report
from faradisc.engine.check.reading import Pairs, pages
from faradisc.engine.derived.expiry import expires_s, index_key, split_index_key
from faradisc.engine.tables.layout import Index, TableLayout
from faradisc.limits import STORAGE_OVERHEAD_BYTES, TTL_PAST_S_MAX
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import HASH_BYTES, parts_of, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.storage.api import Part, ReadOnlyStore

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


class Derived(ABC):
    """One resource whose rows are derived from the items of a table."""

    kind: str
    """index, vector index or expiry: for the report."""
    noun: str
    remedy: str

    def __init__(self, table: TableLayout, where: str, resource: int, parts: Sequence[Part]) -> None:
        self.table = table
        self.where = where
        self.resource = resource
        self.parts = tuple(parts)
        self.repair = RepairAction("derived", resource=resource)

    @abstractmethod
    def row_of(self, item: Item, row_key: bytes, stored: bytes) -> DerivedRow | None:
        """Returns the row of an item (with its row key and canonical record); None when it has none."""

    @abstractmethod
    def source_of(self, row: DerivedRow) -> bytes | None:
        """Returns the row key of a stored row's item; None when it cannot be read."""

    @abstractmethod
    def is_optional(self, key: bytes) -> bool:
        """Returns whether the row with this key is optional."""

    @abstractmethod
    def words(self, row: DerivedRow) -> str:
        """Returns a readable form of the row's key."""

    def usage_of(self, payload: bytes) -> tuple[int, int]:
        """Returns what a row adds to its part's usage: items and bytes."""
        return 0, 0

    def problem(self, what: str, row: DerivedRow) -> Problem:
        return Problem(self.where, f"{self.noun} {what}", self.remedy, self.words(row), self.repair)


class IndexEntries(Derived):
    noun = "an entry"
    remedy = "rewrites the entries that are wrong, from the table"

    def __init__(self, table: TableLayout, index: Index) -> None:
        where = f"{name_of(table)}, index {index.name}"
        super().__init__(table, where, index.placement.resource, index.placement.parts)
        self.kind = "vector index" if index in table.vector_indexes else "index"
        self._placement = index.placement
        self._schema = index.schema
        self._is_filled = index.status == "ACTIVE"

    def row_of(self, item: Item, row_key: bytes, stored: bytes) -> DerivedRow | None:
        entry = self._schema.entry(item)
        if entry is None:
            return None
        key = self._placement.row_key(entry)
        payload = stored if entry is item else item_record.encode(entry, item_size(entry))
        return DerivedRow(self._placement.part_of(key), key, payload)

    def source_of(self, row: DerivedRow) -> bytes | None:
        entry = read_item(row.payload)
        names = self.table.key.types
        if entry is None or any(names[name] not in entry.get(name, ()) for name in names):
            return None
        return self.table.placement.row_key(entry)

    def is_optional(self, key: bytes) -> bool:
        return not self._is_filled

    def words(self, row: DerivedRow) -> str:
        entry = read_item(row.payload)
        if entry is None:
            return f"row key {shortened(row.key.hex())}"
        named = {name: entry[name] for name in self._schema.all_key_names if name in entry}
        return shortened(orjson.dumps(named).decode())

    def usage_of(self, payload: bytes) -> tuple[int, int]:
        return 1, item_record.size_of(payload) + STORAGE_OVERHEAD_BYTES


class ExpiryRows(Derived):
    kind = "expiry"
    noun = "the expiry row of an item"
    remedy = "rewrites the expiry rows that are wrong, from the table"

    def __init__(
        self, table: TableLayout, attribute: str, resource: int, *, filled: bool, now_ns: int
    ) -> None:
        parts = parts_of(resource, table.state.slots)
        super().__init__(table, f"{name_of(table)}, time to live", resource, parts)
        self._attribute = attribute
        self._shift = slot_shift(table.state.slots)
        self._is_filled = filled
        self._horizon_s = now_ns // 1_000_000_000 - TTL_PAST_S_MAX
        """Items that expired before this have no row if they were written long after they expired."""

    def row_of(self, item: Item, row_key: bytes, stored: bytes) -> DerivedRow | None:
        seconds = expires_s(item, self._attribute)
        if seconds is None:
            return None
        return DerivedRow(self.parts[row_key[0] >> self._shift], index_key(seconds, row_key), b"")

    def source_of(self, row: DerivedRow) -> bytes | None:
        _, row_key = split_index_key(row.key)
        return row_key if len(row_key) > HASH_BYTES else None

    def is_optional(self, key: bytes) -> bool:
        return not self._is_filled or split_index_key(key)[0] < self._horizon_s

    def words(self, row: DerivedRow) -> str:
        seconds, row_key = split_index_key(row.key)
        return f"{row_words(self.table.placement, row_key)} expiring at {seconds}"


def derived_of(table: TableLayout, now_ns: int) -> list[Derived]:
    """Returns the derived resources of a table, without indexes that are being deleted."""
    indexes = table.local_indexes + table.global_indexes + table.vector_indexes
    found: list[Derived] = [IndexEntries(table, each) for each in indexes if each.status != "DELETING"]
    ttl = table.state.ttl
    if ttl is not None and ttl.resource is not None:
        found.append(ExpiryRows(table, ttl.attribute, ttl.resource, filled=ttl.filled, now_ns=now_ns))
    return found


async def verify(
    store: ReadOnlyStore, derived: Derived, expected: Sums, report: Report
) -> AsyncIterator[None]:
    """Compares the stored rows with the sums of a scan of the whole table."""
    tally = report.tally(derived.where, derived.kind)
    suspicious: list[Part] = []
    for part in derived.parts:
        actual = Sums()
        items = size = 0
        has_wrong = False
        async for rows in pages(store, part, report):
            optional: list[DerivedRow] = []
            for key, payload in rows:
                row = DerivedRow(part, key, payload)
                one, row_bytes = derived.usage_of(payload)
                items += one
                size += row_bytes
                tally.rows += 1
                tally.bytes += row_bytes - STORAGE_OVERHEAD_BYTES if one else len(payload)
                if derived.is_optional(key):
                    optional.append(row)
                else:
                    actual.add(row)
            has_wrong = has_wrong or bool([wrong async for wrong in _compared(store, derived, optional)])
            yield
        if has_wrong or actual.of(part) != expected.of(part):
            suspicious.append(part)
        else:
            report.add_all(usage_problems(derived.where, part, (items, size), await store.usage(part)))
    if suspicious:
        async for wrong in differences(store, derived, suspicious):
            report.add_all(problem for problem, _, _ in wrong)
            yield


def usage_problems(
    where: str, part: Part, held: tuple[int, int], stored: tuple[int, int]
) -> Iterator[Problem]:
    if held != stored:
        yield Problem(
            where,
            "the counters differ from the rows",
            "counts again",
            f"slot {part[4]} holds {held[0]} rows of {held[1]} bytes, "
            f"counted are {stored[0]} of {stored[1]} bytes",
            RepairAction("usage", part=part),
        )


Difference = tuple[Problem, DerivedRow, bool]
"""A problem; the row to correct; whether to put it (as given) or to delete it."""


async def differences(
    store: ReadOnlyStore, derived: Derived, parts: Sequence[Part]
) -> AsyncIterator[list[Difference]]:
    """Yields the wrong rows of some parts of a derived resource, in pages, some of them empty."""
    for part in parts:
        async for rows in pages(store, part):
            stored = [DerivedRow(part, key, payload) for key, payload in rows]
            yield [wrong async for wrong in _compared(store, derived, stored)]
    wanted_parts = frozenset(parts)
    for part in derived.table.placement.parts:
        async for rows in pages(store, part):
            yield [wrong async for wrong in _missing(store, derived, rows, wanted_parts)]


async def _compared(
    store: ReadOnlyStore, derived: Derived, rows: list[DerivedRow]
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
    store: ReadOnlyStore, derived: Derived, items: Pairs, parts: frozenset[Part]
) -> AsyncIterator[Difference]:
    """Finds items without their row."""
    wanted: list[DerivedRow] = []
    for row_key, payload in items:
        item = read_item(payload)
        row = None
        if item is not None:
            row = derived.row_of(item, row_key, item_record.encode(item, item_size(item)))
        if row is not None and row.part in parts and not derived.is_optional(row.key):
            wanted.append(row)
    found = await store.read_many([(row.part, row.key) for row in wanted])
    for row, present in zip(wanted, found, strict=True):
        if present is None:
            yield derived.problem("is missing", row), row, True
