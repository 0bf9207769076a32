"""The expiry index: the items of a table in the order of their expiry.

A table with time to live has a resource of rows without payload, written in the commit of the item like an
index, in the slots of the table itself:

    row key    the second at which the item expires (8 bytes, big-endian), row key of the item

So expired items are at the beginning of each part (engine/ttl/sweep.py). The value of a number attribute
counts, with fractions rounded up; items with other values never expire, nor does an item whose expiry was
more than five years in the past when it was written. Source: limits.md section 7.

`ExpiryHints` has, in memory only, what saves the sweep useless reads: when the next item expires, and up to
which key each part is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, Decimal

from faradisc.clock import Clock
from faradisc.engine.derived.item_rows import DerivedRow, ItemRows
from faradisc.engine.inspection.layouts import Fields, Layout, row_key_of, time
from faradisc.engine.inspection.words import row_words
from faradisc.engine.jobs.walk import WalkPage
from faradisc.engine.tables.derived import CommitBatches, Derived, DerivedKind, LiveParts, WrittenItem, find
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import UNASSIGNED, TableState
from faradisc.engine.tables.table import Table
from faradisc.limits import TTL_PAST_S_MAX
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import HASH_BYTES, parts_of, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Part, Store

NEVER_S = 1 << 62
_SECONDS_BYTES = 8
_DIGITS_MAX = 18
"""Numbers of seconds with more digits are never reached."""


def expires_s(item: Item | None, attribute: str) -> int | None:
    """Returns the second at which an item expires; None if it does not."""
    text: str | None = item.get(attribute, {}).get("N") if item is not None else None
    if text is None or text[0] == "-":
        return None
    if not text.isdigit():
        text = str(Decimal(text).to_integral_value(ROUND_CEILING))
    return int(text) if len(text) <= _DIGITS_MAX else None


def index_key(seconds: int, row_key: bytes) -> bytes:
    return seconds.to_bytes(_SECONDS_BYTES, "big") + row_key


def split_index_key(key: bytes) -> tuple[int, bytes]:
    """Returns (second, row key of the item) of a row of the index."""
    return int.from_bytes(key[:_SECONDS_BYTES], "big"), key[_SECONDS_BYTES:]


class ExpiryHints:
    """What is in memory of one expiry index, and shared by its objects."""

    __slots__ = ("empty_below", "shift", "soonest_s")

    def __init__(self, slots: int) -> None:
        self.shift = slot_shift(slots)
        self.soonest_s = 0
        """No item expires before this."""
        self.empty_below = [b""] * slots
        """Per slot: no row of the index is below this key. Deleted rows stay below it until the store
        compacts them, and reading over them again would cost more than everything else."""

    def forget(self) -> None:
        """Forgets what saves useless reads, because other processes write too."""
        self.soonest_s = 0
        self.empty_below = [b""] * len(self.empty_below)

    def written(self, row_key: bytes) -> None:
        """Notes a new row. Must be called after its commit: before it, a sweep in between would find
        nothing and forget the row."""
        seconds, item_key = split_index_key(row_key)
        self.soonest_s = min(self.soonest_s, seconds)
        slot = item_key[0] >> self.shift
        self.empty_below[slot] = min(self.empty_below[slot], row_key)


class Expiry(ItemRows):
    """The expiry index of one table."""

    job = b"ttl"
    kind = "expiry"
    noun = "the expiry row of an item"
    remedy = "rewrites the expiry rows that are wrong, from the table"

    def __init__(
        self, table: TableLayout, attribute: str, resource: int, clock: Clock, *, is_filled: bool
    ) -> None:
        super().__init__(table, resource, "time to live")
        self.attribute = attribute
        self.slot_parts = parts_of(resource, table.state.slots)
        self.hints = ExpiryHints(table.state.slots)
        self.is_filled = is_filled
        self._clock = clock

    def parts(self) -> Sequence[Part]:
        return self.slot_parts

    def continues(self, before: Derived, /) -> None:
        assert isinstance(before, Expiry)
        self.hints = before.hints

    def _is_long_ago(self, seconds: int) -> bool:
        return seconds < self._clock.now_ns() // 1_000_000_000 - TTL_PAST_S_MAX

    def add(self, batches: CommitBatches, written: WrittenItem, /) -> None:
        old, new, row_key = written.old.item, written.new_item, written.change.row_key
        before = expires_s(old, self.attribute) if old is not None else None
        after = expires_s(new, self.attribute) if new is not None else None
        if before == after:
            return
        batch = batches[self.slot_parts[row_key[0] >> self.hints.shift]]
        if before is not None:
            batch.deletes.append(index_key(before, row_key))
        if after is None or self._is_long_ago(after):
            return
        self._put(batches, batch, index_key(after, row_key))

    def _put(self, batches: CommitBatches, batch: Batch, key: bytes) -> None:
        batch.puts.append((key, b""))
        batches.written.append((self.hints, key))

    async def fill(self, store: Store, page: WalkPage, batches: CommitBatches) -> None:
        """Rows that exist are written again unchanged."""
        batch = batches[self.slot_parts[page.slot]]
        for row_key, (_, payload) in page.rows:
            seconds = expires_s(item_record.decode(payload), self.attribute)
            if seconds is not None and not self._is_long_ago(seconds):
                self._put(batches, batch, index_key(seconds, row_key))

    def filled(self, state: TableState) -> bool:
        if state.ttl is None or state.ttl.resource != self.resource:
            return False
        state.ttl.filled = True
        return True

    # --- Checks ---

    def layout(self) -> Layout:
        row_key = row_key_of(self.table.placement)

        def key(data: bytes) -> Fields:
            return [time("expires", data[:_SECONDS_BYTES], "s"), *row_key(data[_SECONDS_BYTES:])]

        return Layout(self.where, key)

    def row_of(self, item: Item, row_key: bytes, stored: bytes) -> DerivedRow | None:
        seconds = expires_s(item, self.attribute)
        if seconds is None:
            return None
        part = self.slot_parts[row_key[0] >> self.hints.shift]
        return DerivedRow(part, index_key(seconds, row_key), b"")

    def source_of(self, row: DerivedRow) -> bytes | None:
        _, row_key = split_index_key(row.key)
        return row_key if len(row_key) > HASH_BYTES else None

    def is_optional(self, key: bytes, now_ns: int) -> bool:
        """Items that had long expired when they were written have no row."""
        return not self.is_filled or split_index_key(key)[0] < now_ns // 1_000_000_000 - TTL_PAST_S_MAX

    def key_words(self, row: DerivedRow) -> str:
        seconds, row_key = split_index_key(row.key)
        return f"{row_words(self.table.placement, row_key)} expiring at {seconds}"


class ExpiryKind(DerivedKind):
    name = "expiry"

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        ttl = table.state.ttl
        if ttl is None or ttl.resource is None:
            return ()
        return (Expiry(table, ttl.attribute, ttl.resource, live.clock, is_filled=ttl.filled),)

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        if state.ttl is not None and state.ttl.resource == UNASSIGNED:
            state.ttl.resource = next(numbers)

    def dropped(self, table: TableLayout, live: LiveParts) -> Iterable[Part]:
        ttl = table.state.ttl
        if ttl is None or ttl.previous_resource is None:
            return ()
        return parts_of(ttl.previous_resource, table.state.slots)


def expiry_of(table: Table) -> Expiry | None:
    """Returns the expiry index of a table with time to live."""
    found: Expiry | None = find(table.derived, Expiry)
    return found
