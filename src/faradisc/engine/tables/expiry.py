"""The expiry index: which items of a table expire, in the order of when.

A table with time to live has a resource of rows without payload, kept in the item's own commit like an
index, in the slots of the table itself:

    row key    the second at which the item expires (8 bytes, big-endian), row key of the item

So the items that have expired lie at the beginning of each part (engine/ttl/sweep.py). What counts is a
number attribute's value, fractions rounded up; everything else never expires, nor does an item whose time lay
more than five years in the past when it was written. Source: limits.md section 7.

An Expiry also remembers, in memory only, what spares the sweep to look in vain: when the next item
expires, and how far each part is known to be empty.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal

from faradisc.clock import Clock
from faradisc.limits import TTL_PAST_S_MAX
from faradisc.model.codec.keyspace import parts_of, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Part

NEVER_S = 1 << 62
_SECONDS_BYTES = 8
_DIGITS_MAX = 18
"""Longer numbers of seconds lie beyond anything a clock will show."""


def expires_s(item: Item | None, attribute: str) -> int | None:
    """The second at which an item expires; None if it does not."""
    text: str | None = item.get(attribute, {}).get("N") if item is not None else None
    if text is None or text[0] == "-":
        return None
    if not text.isdigit():
        text = str(Decimal(text).to_integral_value(ROUND_CEILING))
    return int(text) if len(text) <= _DIGITS_MAX else None


def index_key(seconds: int, row_key: bytes) -> bytes:
    return seconds.to_bytes(_SECONDS_BYTES, "big") + row_key


def split_index_key(key: bytes) -> tuple[int, bytes]:
    """(second, row key of the item) of a row of the index."""
    return int.from_bytes(key[:_SECONDS_BYTES], "big"), key[_SECONDS_BYTES:]


class Expiry:
    """The expiry index of one table, while its time to live is on."""

    __slots__ = ("_clock", "_shift", "attribute", "empty_below", "parts", "resource", "soonest_s")

    def __init__(self, attribute: str, resource: int, slots: int, clock: Clock) -> None:
        self.attribute = attribute
        self.resource = resource
        self.parts = parts_of(resource, slots)
        self._shift = slot_shift(slots)
        self._clock = clock
        self.soonest_s = 0
        """No item expires before this."""
        self.empty_below = [b""] * slots
        """Per slot: no row of the index lies below this key. The sweep leaves its deletions behind there,
        and reading over them again and again would cost more than everything else."""

    def place_of(self, item: Item, row_key: bytes) -> tuple[Part, bytes] | None:
        """Part and key of an item's row in the index; None when it has none."""
        seconds = expires_s(item, self.attribute)
        if seconds is None or self._is_long_ago(seconds):
            return None
        return self.parts[row_key[0] >> self._shift], index_key(seconds, row_key)

    def _is_long_ago(self, seconds: int) -> bool:
        return seconds < self._clock.now_ns() // 1_000_000_000 - TTL_PAST_S_MAX

    def added(self, key: bytes) -> None:
        """A row with this key was written. To be called after its commit: called before, a sweep that
        runs in between would look in vain and forget it."""
        seconds, row_key = split_index_key(key)
        self.soonest_s = min(self.soonest_s, seconds)
        slot = row_key[0] >> self._shift
        self.empty_below[slot] = min(self.empty_below[slot], key)

    def add_change(
        self, batch_of: Callable[[Part], Batch], row_key: bytes, old: Item | None, new: Item | None
    ) -> bytes | None:
        """Add to the batches what a change of one item changes in the index; the key of the new row, of
        which `added` has to be told."""
        before = expires_s(old, self.attribute) if old is not None else None
        after = expires_s(new, self.attribute) if new is not None else None
        if before == after:
            return None
        batch = batch_of(self.parts[row_key[0] >> self._shift])
        if before is not None:
            batch.deletes.append(index_key(before, row_key))
        if after is None or self._is_long_ago(after):
            return None
        key = index_key(after, row_key)
        batch.puts.append((key, b""))
        return key
