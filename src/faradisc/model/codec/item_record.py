"""The stored record: one item (or index entry) and its size.

    byte 0      format, 01
    bytes 1-4   size of the item in bytes as the service counts it, big-endian
    bytes 5-    the item as canonical wire JSON, member names sorted

The JSON is what clients receive, so a read without a projection splices it into the answer without decoding
it. It is canonical, so two records are equal exactly when their items are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

import orjson

from faradisc.model.values.attribute import Item

Record: TypeAlias = bytes

HEADER_BYTES = 5
_FORMAT = b"\x01"
_HEADER = struct.Struct(">cI").pack
_SORTED = orjson.OPT_SORT_KEYS
_SIZE = struct.Struct(">I").unpack_from
"""Takes half the instructions of int.from_bytes on a slice."""


def encode(item: Item, size_bytes: int) -> Record:
    return _HEADER(_FORMAT, size_bytes) + orjson.dumps(item, option=_SORTED)


def size_of(record: Record) -> int:
    """Returns the size of the item in bytes, from the header."""
    size: int = _SIZE(record, 1)[0]
    return size


def sum_of_sizes(records: Sequence[Record]) -> int:
    """Returns the sum of the items' sizes in bytes."""
    return sum([_SIZE(record, 1)[0] for record in records])


def decode(record: Record) -> Item:
    item: Item = orjson.loads(record[HEADER_BYTES:])
    return item


def json_of(record: Record) -> orjson.Fragment:
    """Returns the item's JSON, to be spliced into an answer."""
    return orjson.Fragment(record[HEADER_BYTES:])


def json_list(records: Sequence[Record]) -> orjson.Fragment:
    """Returns the JSON list of the items: one splice for a whole page."""
    return orjson.Fragment(b"[" + b",".join([record[HEADER_BYTES:] for record in records]) + b"]")
