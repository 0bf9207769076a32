"""The history of a table with point-in-time recovery: the image before each change.

An undo log, ordered by key. A change writes one more row in the commit of the item:

    part      resource number (4 bytes), slot (1 byte), day of the change since the epoch (4 bytes)
    row key   row key of the item, nanoseconds since the epoch (8 bytes), the last 4 bytes of the version of
              the row it replaced
    payload   the record before the change; empty where there was no item

All numbers are big-endian. The state of an item at a moment is the payload of its first change after that
moment, or its present record if there is none (engine/backups/history.py). All changes of one commit have one
moment, so no moment divides a transaction; no two commits have the same.

The part of a day is cleared as a whole once it is older than the recovery period, so the history is at most a
day longer than the period. The usage of the part counts its changes and their bytes.
docs/decisions/0010-point-in-time-recovery.md has the reasons for this design.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from struct import Struct

from faradisc.engine.inspection.layouts import Fields, Layout, image, number, row_key_of, time
from faradisc.engine.inspection.layouts import rest as unreadable
from faradisc.engine.inspection.problems import LOST
from faradisc.engine.inspection.reading import StoreLook, pages, usage_problems
from faradisc.engine.inspection.words import read_item, row_words
from faradisc.engine.tables.derived import (
    CommitBatches,
    Derived,
    DerivedCheck,
    DerivedKind,
    LiveParts,
    WrittenItem,
    find,
)
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import DAY_NS, UNASSIGNED, PitrState, TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import PointInTimeRecoveryUnavailableException
from faradisc.model.codec.keyspace import HASH_BYTES, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Part, Store

AFTER_ITEM = b"\xff"
"""Sorts after all changes of a row key: a time follows it there, whose first byte is smaller; and no row key
is a prefix of another."""
STAMP_BYTES = 12
"""Bytes after the item's row key."""
PART_BYTES = 9
"""Length of the name of a part: resource, slot and day."""
CLOCKS_DIFFER_NS = 2_000_000_000
"""The clocks of two nodes differ by less; each may be a second from the store's (engine/cluster/nodes.py)."""
_STAMP = Struct(">QI").pack


class History(Derived):
    """The history of one table."""

    def __init__(self, table: TableLayout, state: PitrState, live: LiveParts) -> None:
        super().__init__(table, state.resource, "point-in-time recovery")
        self.enabled_ns = state.enabled_ns
        self.period_days = state.period_days
        self.first_day = state.first_day
        self.slots = table.state.slots
        self.moments = live.moments
        self.reads = live.shared  # another node, whose clock is ahead, may have made the newest change
        self._shift = slot_shift(self.slots)
        self._day = -1
        self._parts: list[Part] = []
        """Parts of that day, by slot."""

    async def prepare(self, store: Store, batches: CommitBatches, written: Sequence[WrittenItem], /) -> None:
        """Finds the newest moment in the histories of the items that change."""
        for each in written:
            if each.new_record == each.old.record:
                continue
            low = each.change.row_key
            for part in self.newest_parts(low):
                rows = await store.range(part, low, low + AFTER_ITEM, limit=1, reverse=True)
                batches.after_ns = max(batches.after_ns, *(split_change_key(key)[1] for key, _ in rows), 0)

    def add(self, batches: CommitBatches, written: WrittenItem, /) -> None:
        """All changes of one commit have one moment, whatever their tables."""
        batches.at_ns = batches.at_ns or self.moments.next_ns(batches.after_ns)
        part, key = self.location(written.change.row_key, batches.at_ns, written.old.version)
        before = written.old.record or b""
        batch = batches[part]
        batch.puts.append((key, before))
        batch.items_delta += 1
        batch.bytes_delta += len(key) + len(before)

    def part(self, slot: int, day: int) -> Part:
        return history_part(self.resource, slot, day)

    def location(self, row_key: bytes, at_ns: int, version: int) -> tuple[Part, bytes]:
        """Returns part and key of the row that a change writes. version: of the replaced row, 0 for none."""
        day = at_ns // DAY_NS
        if day != self._day:
            self._parts = [self.part(slot, day) for slot in range(self.slots)]
            self._day = day
        return self._parts[row_key[0] >> self._shift], change_key(row_key, at_ns, version)

    def newest_parts(self, row_key: bytes) -> set[Part]:
        """Returns the parts that may have the newest change of an item, if it was within CLOCKS_DIFFER_NS: a
        node with a faster clock may be in the next day."""
        slot, now_ns = row_key[0] >> self._shift, self.moments.now_ns()
        return {self.part(slot, at_ns // DAY_NS) for at_ns in (now_ns, now_ns + CLOCKS_DIFFER_NS)}

    def parts_of_slot(self, slot: int, from_ns: int) -> list[Part]:
        """Returns the parts that may have changes of a slot at or after a moment, newest first."""
        newest = self.moments.now_ns() // DAY_NS
        oldest = max(from_ns // DAY_NS, self.first_day)
        return [self.part(slot, day) for day in range(newest, oldest - 1, -1)]

    def parts(self) -> Sequence[Part]:
        """Returns every part that may have rows."""
        return self.parts_before(self.moments.now_ns() // DAY_NS + 1)

    def parts_before(self, day: int) -> list[Part]:
        return history_parts(self.resource, self.slots, range(self.first_day, day))

    def earliest_ns(self, now_ns: int) -> int:
        """Returns the oldest moment whose state can be read."""
        return max(self.enabled_ns, now_ns - self.period_days * DAY_NS)

    # --- Checks ---

    def layout(self) -> Layout:
        row_key = row_key_of(self.table.placement)

        def change(data: bytes) -> Fields:
            if len(data) < STAMP_BYTES:
                return unreadable(data)
            stamp = data[-STAMP_BYTES:]
            changed = time("changed", stamp[:8], "ns")
            return [*row_key(data[:-STAMP_BYTES]), changed, number("number", stamp[8:])]

        return Layout(self.where, change, image)

    def usage_of(self, key: bytes, payload: bytes) -> tuple[int, int]:
        return 1, len(key) + len(payload)

    def verification(self, look: StoreLook) -> DerivedCheck:
        return HistoryVerification(self, look)

    def stored_parts(self, look: StoreLook) -> list[Part]:
        """Returns the parts that have rows."""
        resource = self.resource.to_bytes(4, "big")
        return [part for part in look.parts if part[:4] == resource and len(part) == PART_BYTES]

    async def rows_about(
        self, look: StoreLook, key: Item, item: Item | None, record: bytes
    ) -> list[tuple[Part, list[bytes]]]:
        row_key = self.table.placement.row_key(key)
        found = []
        for part in self.stored_parts(look):
            if part[4] == row_key[0] >> self._shift:
                rows = await look.store.range(part, row_key, row_key + AFTER_ITEM, limit=look.rows_max)
                found.append((part, [change for change, _ in rows]))
        return found


class HistoryVerification(DerivedCheck):
    """Checks that the images are readable, and each in the part of its day."""

    def __init__(self, history: History, look: StoreLook) -> None:
        self._history = history
        self._look = look

    async def rest(self) -> AsyncIterator[None]:
        history, look, report = self._history, self._look, self._look.report
        tally = report.tally(history.where, "history")
        if not look.lists_parts:
            report.notes.append(f"{history.where} was not checked: its days are unknown")
        for part in history.stored_parts(look):
            count = size = 0
            async for rows in pages(look.store, part, report):
                for key, payload in rows:
                    reason = _reason(history.table, part, key, payload)
                    if reason:
                        row_key = key[:-STAMP_BYTES]
                        detail = f"{row_words(history.table.placement, row_key)}: {reason}"
                        report.add(history.where, "an earlier image cannot be used", LOST, detail)
                    one, row_bytes = history.usage_of(key, payload)
                    count += one
                    size += row_bytes
                tally.rows += len(rows)
                tally.bytes += sum(len(payload) for _, payload in rows)
                yield
            stored = await look.store.usage(part)
            report.add_all(usage_problems(history.where, part, (count, size), stored))


def _reason(table: TableLayout, part: Part, key: bytes, payload: bytes) -> str:
    """Returns why a change is wrong; empty when it is not."""
    row_key, at_ns = split_change_key(key)
    if len(row_key) <= HASH_BYTES or row_words(table.placement, row_key).startswith("row key"):
        return "its row key is malformed"
    if row_key[0] >> slot_shift(table.state.slots) != part[4]:
        return "its item belongs to another slot"
    if at_ns // DAY_NS != int.from_bytes(part[5:], "big"):
        return "its time is on another day"
    if payload and read_item(payload) is None:
        return "the image cannot be read"
    return ""


class HistoryKind(DerivedKind):
    name = "history"

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        pitr = table.state.pitr
        return () if pitr is None else (History(table, pitr, live),)

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        if state.pitr is not None and state.pitr.resource == UNASSIGNED:
            state.pitr.resource = next(numbers)

    def dropped(self, table: TableLayout, live: LiveParts) -> Iterable[Part]:
        dropped = table.state.dropped_history
        if dropped is None:
            return ()
        days = range(dropped.first_day, dropped.end_day)
        return history_parts(dropped.resource, table.state.slots, days)

    def settle(self, state: TableState) -> None:
        state.dropped_history = None


def recovery_is_off(table: Table) -> PointInTimeRecoveryUnavailableException:
    """Returns the error of a table without a history."""
    return PointInTimeRecoveryUnavailableException(
        f"Point in time recovery is not enabled for table '{table.name}'"
    )


def history_of(table: Table) -> History | None:
    """Returns the history of a table with point-in-time recovery."""
    found: History | None = find(table.derived, History)
    return found


def history_part(resource: int, slot: int, day: int) -> Part:
    return resource.to_bytes(4, "big") + bytes([slot]) + day.to_bytes(4, "big")


def history_parts(resource: int, slots: int, days: range) -> list[Part]:
    return [history_part(resource, slot, day) for day in days for slot in range(slots)]


def change_key(row_key: bytes, at_ns: int, version: int) -> bytes:
    """version: of the replaced row. It keeps two changes of one item apart if the clock was set back
    between two runs."""
    return row_key + _STAMP(at_ns, version & 0xFFFFFFFF)


def after_moment(row_key: bytes, at_ns: int) -> bytes:
    """Returns the smallest key that a change of this item can have after a moment."""
    return row_key + (at_ns + 1).to_bytes(8, "big")


def split_change_key(key: bytes) -> tuple[bytes, int]:
    """Returns (row key of the item, moment in nanoseconds)."""
    return key[:-STAMP_BYTES], int.from_bytes(key[-STAMP_BYTES:-4], "big")
