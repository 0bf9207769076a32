"""Change capture for a Kinesis destination: what happened to the items of a table, until it is delivered.

It stands beside the table's stream and depends on it in nothing: both images are always kept, times are
finer, and an entry is trimmed when it was delivered. Entries are written in the item's own commit, to the
log of the slot's part of the destination's resource:

    byte 0       format, 01
    byte 1       what happened: 1 INSERT, 2 MODIFY, 3 REMOVE, 43 (hex) REMOVE by the service itself
    bytes 2-9    when, in microseconds since the epoch, big-endian
    bytes 10-11  length of the row key, big-endian
    bytes 12-15  length of the new record, big-endian; 0 without one
    then         row key, new record, old record; the records as model/codec/item_record.py has them
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from faradisc.clock import Clock
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import HASH_BYTES, key_of_row, parts_of, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import Part

_HEAD = Struct(">BBQHI")
_FORMAT = 1
_INSERT, _MODIFY, _REMOVE = 1, 2, 3
_BY_SERVICE = 0x40
_NAMES = {_INSERT: "INSERT", _MODIFY: "MODIFY", _REMOVE: "REMOVE"}


class Capture:
    """Makes the entries of one destination."""

    __slots__ = ("_clock", "_shift", "parts")

    def __init__(self, resource: int, slots: int, clock: Clock) -> None:
        self.parts = parts_of(resource, slots)
        self._shift = slot_shift(slots)
        self._clock = clock

    def entry(
        self, row_key: bytes, old: bytes | None, new: bytes | None, *, by_service: bool
    ) -> tuple[Part, bytes]:
        """The part whose log takes the change of one item, and the log entry."""
        if new is None:
            kind = _REMOVE | _BY_SERVICE if by_service else _REMOVE
        else:
            kind = _INSERT if old is None else _MODIFY
        head = _HEAD.pack(_FORMAT, kind, self._clock.now_ns() // 1000, len(row_key), len(new or b""))
        return self.parts[row_key[0] >> self._shift], head + row_key + (new or b"") + (old or b"")


class Captured(NamedTuple):
    """An entry taken apart."""

    name: str
    by_service: bool
    at_us: int
    hash: bytes
    """Of the partition key."""
    key: Item
    new: item_record.Record | None
    old: item_record.Record | None


def read_entry(entry: bytes, key: KeySchema) -> Captured:
    _, kind, at_us, key_length, new_length = _HEAD.unpack_from(entry)
    new_at = _HEAD.size + key_length
    old_at = new_at + new_length
    row_key = entry[_HEAD.size : new_at]
    return Captured(
        name=_NAMES[kind & ~_BY_SERVICE],
        by_service=bool(kind & _BY_SERVICE),
        at_us=at_us,
        hash=row_key[:HASH_BYTES],
        key=key_of_row(row_key, key),
        new=entry[new_at:old_at] or None,
        old=entry[old_at:] or None,
    )
