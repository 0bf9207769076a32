"""Describes stored bytes: a key, a payload or a log entry becomes a list of fields, for `faradisc inspect`.

The fields together have all the bytes; a field named `unreadable` has those that cannot be read. The layouts
are those of docs/formats/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from faradisc.model.codec.item_record import HEADER_BYTES
from faradisc.model.codec.keyspace import HASH_BYTES, Placement
from faradisc.model.codec.sortkey import decode_component

_BYTES_PER_LINE = 32
_NS_PER = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class Field(NamedTuple):
    name: str
    data: bytes
    words: str


Fields = list[Field]
Explain = Callable[[bytes], Fields]


def number(name: str, data: bytes, unit: str = "") -> Field:
    return Field(name, data, f"{int.from_bytes(data, 'big')}{unit}")


def time(name: str, data: bytes, unit: str) -> Field:
    """unit: s, ms, us or ns."""
    at = int.from_bytes(data, "big")
    return Field(name, data, f"{at} {unit}, {moment(at * _NS_PER[unit])}")


def moment(ns: int) -> str:
    """Returns a time as text, also for one that no calendar has."""
    try:
        return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return "beyond any calendar"


def string(name: str, data: bytes) -> Field:
    return Field(name, data, data.decode(errors="replace"))


def printable(data: bytes) -> str:
    text = data.decode("ascii", errors="replace")
    return text if text.isascii() and text.isprintable() else data.hex()


def opaque(data: bytes) -> Fields:
    return [Field("bytes", data, printable(data))] if data else []


def rest(data: bytes) -> Fields:
    return [Field("unreadable", data, printable(data))] if data else []


class Layout(NamedTuple):
    """The content of the rows and log entries of a part."""

    what: str
    key: Explain = opaque
    payload: Explain = opaque
    entry: Explain = opaque


def row_key_of(placement: Placement) -> Explain:
    parts: list[tuple[str, str]] = []
    for key, words in ((placement.key, ""), (placement.table_key, " (table)")):
        if key is not None:
            names: list[tuple[str, str]] = [(f"{name}{words}", key.types[name]) for name in key.names]
            if placement.hashed:
                names[: len(key.hash)] = [(f"{', '.join(key.hash)}{words}", "")]
            parts += names

    def explain(data: bytes) -> Fields:
        fields = [Field("hash", data[:HASH_BYTES], "of the partition key")]
        at = HASH_BYTES
        for name, kind in parts:
            if not kind:
                end = at + HASH_BYTES
                fields.append(Field(name, data[at:end], "as a hash"))
                at = end
                continue
            try:
                value, end = decode_component(data, at, kind)
            except (ValueError, IndexError):
                break
            fields.append(Field(name, data[at:end], orjson.dumps(value).decode()))
            at = end
        return fields + rest(data[at:])

    return explain


def record(data: bytes) -> Fields:
    """A stored item or index entry."""
    if len(data) < HEADER_BYTES:
        return rest(data)
    return [
        number("format", data[:1]),
        number("size", data[1:HEADER_BYTES], " bytes"),
        Field("item", data[HEADER_BYTES:], data[HEADER_BYTES:].decode(errors="backslashreplace")),
    ]


def image(data: bytes) -> Fields:
    return record(data) if data else [Field("image", data, "there was no item")]


def size(data: bytes) -> Fields:
    return [number("size", data, " bytes")]


def json(data: bytes) -> Fields:
    if len(data) == 4 and data[:1] != b"[":
        return [number("number", data)]
    return [Field("state", data, data.decode(errors="backslashreplace"))] if data else []


def joined(fields: Fields) -> bytes:
    """Returns the bytes of all fields."""
    return b"".join(field.data for field in fields)


def lines(fields: Fields, *, raw: bool) -> Iterator[str]:
    """Yields one line per field; with its bytes in hex if `raw`."""
    for name, data, words in fields:
        yield f"    {name:14} {words}"
        if raw:
            for at in range(0, len(data), _BYTES_PER_LINE):
                yield f"    {'':14} | {data[at : at + _BYTES_PER_LINE].hex(' ', -4)}"
