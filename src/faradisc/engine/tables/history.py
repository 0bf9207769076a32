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

from struct import Struct

from faradisc.clock import Clock
from faradisc.engine.tables.state import DAY_NS, PitrState
from faradisc.model.codec.keyspace import slot_shift
from faradisc.storage.api import Part

AFTER_ITEM = b"\xff"
"""Sorts after all changes of a row key: a time follows it there, whose first byte is smaller; and no row key
is a prefix of another."""
STAMP_BYTES = 12
"""Bytes after the item's row key."""
CLOCKS_DIFFER_NS = 2_000_000_000
"""The clocks of two nodes differ by less; each may be a second from the store's (engine/cluster/nodes.py)."""
_STAMP = Struct(">QI").pack


class Moments:
    """Gives every change its time: that of the clock, or a nanosecond after the last change.

    No change gets a moment whose state has been read, so a restore reads what can no longer change.
    Each node of a shared store has its own moments. There a change of an item is after the one before it,
    whichever node made that (engine/tables/commit.py), so that no moment divides a commit.
    """

    __slots__ = ("_clock", "_last_ns")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_ns = 0

    def now_ns(self) -> int:
        """Returns the present, which is not before any change."""
        return max(self._clock.now_ns(), self._last_ns)

    def next_ns(self, after_ns: int = 0) -> int:
        """Returns the moment of a new change, after all others, and after `after_ns`."""
        now_ns, last_ns = self._clock.now_ns(), max(self._last_ns, after_ns)
        self._last_ns = now_ns if now_ns > last_ns else last_ns + 1
        return self._last_ns

    def seal(self, at_ns: int) -> None:
        """Makes changes happen after `at_ns` from now on."""
        self._last_ns = max(self._last_ns, at_ns)


class History:
    """The history of one table."""

    __slots__ = (
        "_day",
        "_parts",
        "_shift",
        "enabled_ns",
        "first_day",
        "moments",
        "period_days",
        "resource",
        "slots",
    )

    def __init__(self, state: PitrState, slots: int, moments: Moments) -> None:
        self.resource = state.resource
        self.enabled_ns = state.enabled_ns
        self.period_days = state.period_days
        self.first_day = state.first_day
        self.slots = slots
        self.moments = moments
        self._shift = slot_shift(slots)
        self._day = -1
        self._parts: list[Part] = []
        """Parts of that day, by slot."""

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

    def parts(self, until_day: int | None = None) -> list[Part]:
        """Returns every part that may have rows; with `until_day` only those before it."""
        end = self.moments.now_ns() // DAY_NS + 1 if until_day is None else until_day
        return history_parts(self.resource, self.slots, range(self.first_day, end))

    def earliest_ns(self, now_ns: int) -> int:
        """Returns the oldest moment whose state can be read."""
        return max(self.enabled_ns, now_ns - self.period_days * DAY_NS)


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
