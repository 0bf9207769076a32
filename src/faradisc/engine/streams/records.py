"""Stream records: written in the item's own commit, returned by GetRecords.

An entry is written on the hot path, so it consists of existing bytes: the row key and the stored item
records. Everything else is computed when the entry is read. An entry in the log of a stream's part
(docs/formats/stream-records.md):

    byte 0       format, 01
    byte 1       kind of change: 0 none (the shard ends here), 1 INSERT, 2 MODIFY, 3 REMOVE,
                 43 REMOVE by the service itself (an expired item)
    bytes 2-9    time in milliseconds since the epoch, big-endian
    bytes 10-11  length of the row key, big-endian
    bytes 12-15  length of the new record, big-endian; 0 without one
    then         row key, new record, old record; the records as model/codec/item_record.py has them

The stream's view type determines which records an entry has. Source of the records that clients receive:
streams.md section 5.
"""

from __future__ import annotations

from hashlib import md5
from struct import Struct
from typing import Any, NamedTuple

from faradisc.clock import Clock
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import key_of_row, slot_shift
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size
from faradisc.storage.api import Part

_HEAD = Struct(">BBQHI")
_FORMAT = 1
_SHARD_END, _INSERT, _MODIFY, _REMOVE = 0, 1, 2, 3
_BY_SERVICE = 0x40
_NAMES = {_INSERT: "INSERT", _MODIFY: "MODIFY", _REMOVE: "REMOVE"}
_SERVICE_IDENTITY = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
"""Source: streams.md section 5; the members are spelled as the service model has them."""


class ChangeRecorder:
    """Makes the log entries of one stream, or of one Kinesis destination (capture.py)."""

    __slots__ = ("_clock", "_keeps_new", "_keeps_old", "_parts", "_shift", "_tick_ns")

    def __init__(
        self, parts: tuple[Part, ...], view_type: str, clock: Clock, *, tick_ns: int = 1_000_000
    ) -> None:
        """tick_ns: the unit of an entry's time."""
        self._parts = parts
        self._shift = slot_shift(len(parts))
        self._keeps_new = view_type in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
        self._keeps_old = view_type in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")
        self._clock = clock
        self._tick_ns = tick_ns

    def entry(
        self, row_key: bytes, old: bytes | None, new: bytes | None, *, by_service: bool
    ) -> tuple[Part, bytes]:
        """Returns the part whose log takes the change of one item, and the log entry."""
        if new is None:
            kind = _REMOVE | _BY_SERVICE if by_service else _REMOVE
        else:
            kind = _INSERT if old is None else _MODIFY
        new_image = new if new is not None and self._keeps_new else b""
        old_image = old if old is not None and self._keeps_old else b""
        head = _HEAD.pack(_FORMAT, kind, self._clock.now_ns() // self._tick_ns, len(row_key), len(new_image))
        entry = b"".join((head, row_key, new_image, old_image))
        return self._parts[row_key[0] >> self._shift], entry


def shard_end(now_ns: int) -> bytes:
    """Returns the entry that closes a shard. Readers skip it; it has the shard's last number."""
    return _HEAD.pack(_FORMAT, _SHARD_END, now_ns // 1_000_000, 0, 0)


def created_ms(entry: bytes) -> int:
    return int.from_bytes(entry[2:10], "big")


def row_key_of(entry: bytes) -> bytes:
    """Returns the row key of the changed item; b"" at the end of a shard."""
    return entry[_HEAD.size : _HEAD.size + int.from_bytes(entry[10:12], "big")]


class Entry(NamedTuple):
    """A parsed entry of a stream's log, or of a captured log (capture.py)."""

    kind: int
    at: int
    """Milliseconds since the epoch in a stream, microseconds in a captured log."""
    row_key: bytes
    new: item_record.Record
    old: item_record.Record
    """New and old image, empty where there is none."""

    @property
    def is_shard_end(self) -> bool:
        return self.kind == _SHARD_END

    @property
    def name(self) -> str:
        """INSERT, MODIFY or REMOVE; empty for the end of a shard."""
        return _NAMES.get(self.kind & ~_BY_SERVICE, "")

    @property
    def by_service(self) -> bool:
        return bool(self.kind & _BY_SERVICE)


def parse_entry(entry: bytes) -> Entry:
    """Parses an entry. Raises ValueError, with the reason, for bytes that are no entry."""
    if len(entry) < _HEAD.size:
        raise ValueError(f"{len(entry)} bytes are too few")
    form, kind, at, key_length, new_length = _HEAD.unpack_from(entry)
    if form != _FORMAT:
        raise ValueError(f"format {form} is unknown")
    if kind not in (_SHARD_END, _INSERT, _MODIFY, _REMOVE, _REMOVE | _BY_SERVICE):
        raise ValueError(f"{kind:#04x} is no kind of change")
    new_at = _HEAD.size + key_length
    old_at = new_at + new_length
    if old_at > len(entry):
        raise ValueError(f"{old_at} bytes are announced, {len(entry)} are there")
    return Entry(kind, at, entry[_HEAD.size : new_at], entry[new_at:old_at], entry[old_at:])


class Shown(NamedTuple):
    """A record as GetRecords returns it, and its size towards the limit of a page."""

    record: dict[str, Any]
    size_bytes: int


def show(
    entry: bytes, sequence_number: str, *, stream: str, view_type: str, region: str, key: KeySchema
) -> Shown | None:
    """Returns the record of an entry; None for the end of a shard. `stream` is the ARN."""
    parsed = parse_entry(entry)
    if parsed.is_shard_end:
        return None
    keys = key_of_row(parsed.row_key, key)
    size_bytes = item_size(keys)
    change: dict[str, Any] = {"ApproximateCreationDateTime": parsed.at // 1000, "Keys": keys}
    for name, image in (("NewImage", parsed.new), ("OldImage", parsed.old)):
        if image:
            change[name] = item_record.json_of(image)
            size_bytes += item_record.size_of(image)
    change["SequenceNumber"] = sequence_number
    change["SizeBytes"] = size_bytes
    change["StreamViewType"] = view_type
    shown: dict[str, Any] = {
        "eventID": md5(f"{stream}/{sequence_number}".encode(), usedforsecurity=False).hexdigest(),
        "eventName": parsed.name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        "dynamodb": change,
    }
    if parsed.by_service:
        shown["userIdentity"] = _SERVICE_IDENTITY
    return Shown(shown, size_bytes)
