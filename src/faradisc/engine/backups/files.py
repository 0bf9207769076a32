"""The file formats of a backup: blocks of records, and the manifest with their checksum.

    rows            "FDBACKUP" 00 01, then blocks one after another:
                    bytes 0-3    length of the body
                    bytes 4-7    length of the body before compression
                    bytes 8-11   number of records in it
                    bytes 12-15  CRC-32 of bytes 0-11 and the body
                    then         the body: zlib over records, each after its length in 4 bytes;
                                 of an encrypted table sealed as a row is (engine/sealing/sealer.py)
    manifest.json   one JSON object on one line; then its SHA-256 in hexadecimal digits, on a line

All numbers are big-endian. The manifest holds the SHA-256 of `rows`, so `sha256sum` checks a backup without
this program. docs/formats/backup.md has the members and worked bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import sha256
from struct import Struct
from typing import Any

import orjson

from faradisc.engine.sealing.sealer import Sealer
from faradisc.model.codec.item_record import Record
from faradisc.storage.api import Corruption

MAGIC = b"FDBACKUP\x00\x01"
FORMAT = 1
_HEAD = Struct(">IIII")
HEAD_BYTES = _HEAD.size
_LENGTH_BYTES = 4
_LEVEL = 1
"""Of zlib: twice as fast as level 2, and at most a tenth larger for items."""
_BODY_BYTES_MAX = 64 * 1024 * 1024
"""Far above any block; a damaged length must not allocate gigabytes."""


class Damaged(Exception):
    """Raised when the bytes of a backup are not those that were written. The text says where."""


def block_location(name: str, at: int) -> bytes:
    """Returns what binds a sealed block to its backup and to its place in `rows`."""
    return b"backup" + name.encode() + at.to_bytes(8, "big")


def block_of(records: Sequence[Record], sealer: Sealer | None = None, location: bytes = b"") -> bytes:
    """Returns the block of some records, with its head. sealer: of an encrypted table."""
    raw = b"".join([part for each in records for part in (len(each).to_bytes(4, "big"), each)])
    body = zlib.compress(raw, _LEVEL)
    if sealer is not None:
        body = sealer.seal(body, location)
    lengths = _HEAD.pack(len(body), len(raw), len(records), 0)[:12]
    return lengths + _sum(lengths, body).to_bytes(4, "big") + body


def _sum(lengths: bytes, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(lengths))


def body_bytes(head: bytes) -> int:
    """Returns how many bytes follow the head of a block. Raises Damaged."""
    if len(head) < HEAD_BYTES:
        raise Damaged("a block is cut off")
    length: int
    length, raw_length, _, _ = _HEAD.unpack(head)
    if max(length, raw_length) > _BODY_BYTES_MAX:
        raise Damaged("a block's length cannot be right")
    return length


def records_of(head: bytes, body: bytes, opener: Sealer | None = None, location: bytes = b"") -> list[Record]:
    """Returns the records of a block. opener: of a sealed backup. Raises Damaged, KeyDenied."""
    length, raw_length, count, checksum = _HEAD.unpack(head)
    if len(body) != length:
        raise Damaged("a block is cut off")
    if _sum(head[:12], body) != checksum:
        raise Damaged("a block does not match its checksum")
    if opener is not None:
        try:
            body = opener.open(body, location)
        except Corruption:
            raise Damaged("a block cannot be opened with the backup's data key") from None
    try:
        raw = zlib.decompressobj().decompress(body, raw_length + 1)  # no more than the head says
    except zlib.error:
        raise Damaged("a block cannot be decompressed") from None
    records: list[Record] = []
    at = 0
    while at < len(raw):
        end = at + _LENGTH_BYTES + int.from_bytes(raw[at : at + _LENGTH_BYTES], "big")
        records.append(raw[at + _LENGTH_BYTES : end])
        at = end
    if len(raw) != raw_length or len(records) != count or at != len(raw):
        raise Damaged("a block does not hold what its head says")
    return records


def manifest_bytes(document: dict[str, Any]) -> bytes:
    line = orjson.dumps({"format": FORMAT, **document}) + b"\n"
    return line + sha256(line).hexdigest().encode() + b"\n"


def read_manifest(data: bytes) -> dict[str, Any]:
    """Returns the parsed manifest. Raises Damaged."""
    line, _, rest = data.partition(b"\n")
    if rest != sha256(line + b"\n").hexdigest().encode() + b"\n":
        raise Damaged("manifest.json does not match its checksum")
    document: dict[str, Any] = orjson.loads(line)
    if document["format"] != FORMAT:
        raise Damaged(
            f"manifest.json has format {document['format']}, of a later release; this one reads {FORMAT}"
        )
    return document
