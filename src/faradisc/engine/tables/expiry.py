"""The expiry index: the items of a table in the order of their expiry.

A table with time to live has a resource of rows without payload, written in the commit of the item like an
index, in the slots of the table itself:

    row key    the second at which the item expires (8 bytes, big-endian), row key of the item

So expired items are at the beginning of each part (engine/ttl/sweep.py). The value of a number attribute
counts, with fractions rounded up; items with other values never expire, nor does an item whose expiry was
more than five years in the past when it was written. Source: limits.md section 7.

An Expiry also has, in memory only, what saves the sweep useless reads: when the next item expires, and up to
which key each part is empty.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from faradisc.clock import Clock
from faradisc.limits import TTL_PAST_S_MAX
from faradisc.model.codec.keyspace import parts_of, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batches, Part

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


class Expiry:
    """The expiry index of one table."""

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
        """Per slot: no row of the index is below this key. Deleted rows stay below it until the store
        compacts them, and reading over them again would cost more than everything else."""

    def forget(self) -> None:
        """Forgets what saves useless reads, because other processes write too."""
        self.soonest_s = 0
        self.empty_below = [b""] * len(self.parts)

    def location_of(self, item: Item, row_key: bytes) -> tuple[Part, bytes] | None:
        """Returns part and key of an item's row in the index; None if it has none."""
        seconds = expires_s(item, self.attribute)
        if seconds is None or self._is_long_ago(seconds):
            return None
        return self.parts[row_key[0] >> self._shift], index_key(seconds, row_key)

    def _is_long_ago(self, seconds: int) -> bool:
        return seconds < self._clock.now_ns() // 1_000_000_000 - TTL_PAST_S_MAX

    def added(self, key: bytes) -> None:
        """Notes a new row. Must be called after its commit: before it, a sweep in between would find
        nothing and forget the row."""
        seconds, row_key = split_index_key(key)
        self.soonest_s = min(self.soonest_s, seconds)
        slot = row_key[0] >> self._shift
        self.empty_below[slot] = min(self.empty_below[slot], key)

    def add_change(
        self, batches: Batches, row_key: bytes, old: Item | None, new: Item | None
    ) -> bytes | None:
        """Adds the change of one item to the batches; returns the key of the new row for `added`."""
        before = expires_s(old, self.attribute) if old is not None else None
        after = expires_s(new, self.attribute) if new is not None else None
        if before == after:
            return None
        batch = batches[self.parts[row_key[0] >> self._shift]]
        if before is not None:
            batch.deletes.append(index_key(before, row_key))
        if after is None or self._is_long_ago(after):
            return None
        key = index_key(after, row_key)
        batch.puts.append((key, b""))
        return key
