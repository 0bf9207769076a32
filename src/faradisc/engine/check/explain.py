"""Describes every stored byte, for `faradisc inspect`.

A key or a payload becomes a list of fields, which together have all its bytes; a field named `unreadable` has
those that cannot be read. The layouts are those of docs/formats/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from faradisc.engine.check.history import PART_BYTES as HISTORY_PART_BYTES
from faradisc.engine.check.inventory import Inventory, name_of, stream_name
from faradisc.engine.derived.history import STAMP_BYTES
from faradisc.engine.streams.records import parse_entry
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import DAY_NS
from faradisc.model.codec import keyspace
from faradisc.model.codec.item_record import HEADER_BYTES
from faradisc.model.codec.keyspace import HASH_BYTES, LEASES_PREFIX, Placement
from faradisc.model.codec.sortkey import decode_component
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import Part

_BYTES_PER_LINE = 32
_NS_PER = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class Field(NamedTuple):
    name: str
    data: bytes
    words: str


Fields = list[Field]
Explain = Callable[[bytes], Fields]


def _number(name: str, data: bytes, unit: str = "") -> Field:
    return Field(name, data, f"{int.from_bytes(data, 'big')}{unit}")


def _time(name: str, data: bytes, unit: str) -> Field:
    """unit: s, ms, us or ns."""
    time = int.from_bytes(data, "big")
    return Field(name, data, f"{time} {unit}, {_moment(time * _NS_PER[unit])}")


def _moment(ns: int) -> str:
    """Returns a time as text, also for one that no calendar has."""
    try:
        return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return "beyond any calendar"


def _string(name: str, data: bytes) -> Field:
    return Field(name, data, data.decode(errors="replace"))


def _printable(data: bytes) -> str:
    text = data.decode("ascii", errors="replace")
    return text if text.isascii() and text.isprintable() else data.hex()


def _opaque(data: bytes) -> Fields:
    return [Field("bytes", data, _printable(data))] if data else []


def _rest(data: bytes) -> Fields:
    return [Field("unreadable", data, _printable(data))] if data else []


class Layout(NamedTuple):
    """The content of the rows and log entries of a part."""

    what: str
    key: Explain = _opaque
    payload: Explain = _opaque
    entry: Explain = _opaque


SYSTEM_PARTS: dict[Part, str] = {
    value: f"the system's {name.removesuffix('_PART').lower()}"
    for name, value in vars(keyspace).items()
    if name.endswith("_PART")
}


class Explainer:
    """Describes the parts of one store."""

    def __init__(self, inventory: Inventory) -> None:
        self._layouts: dict[int, Layout] = {}
        for table in inventory.tables:
            self._add_table(table)
        for stream in inventory.streams.values():
            key = KeySchema.of_elements(stream.key_schema, stream.types)
            self._layouts[stream.resource] = Layout(
                stream_name(stream), entry=_entry_of(Placement(stream.resource, stream.slots, key), "ms")
            )
        self._owners = inventory.owners

    def _add_table(self, table: TableLayout) -> None:
        name, state = name_of(table), table.state
        layouts = self._layouts
        layouts[state.resource] = Layout(f"items of {name}", _row_key_of(table.placement), record)
        for index in table.local_indexes + table.global_indexes + table.vector_indexes:
            placement = index.placement
            layouts[placement.resource] = Layout(
                f"{name}, index {index.name}",
                _row_key_of(placement),
                record,
            )
        if table.collections is not None:
            layouts[table.collections.resource] = Layout(
                f"{name}, sizes of item collections", _row_key_of(table.collections), _size
            )
        if state.ttl is not None and state.ttl.resource is not None:
            layouts[state.ttl.resource] = Layout(f"{name}, time to live", _expiry_key_of(table.placement))
        if state.pitr is not None:
            layouts[state.pitr.resource] = Layout(
                f"{name}, point-in-time recovery", _change_key_of(table.placement), _image
            )
        for destination in state.kinesis:
            if destination.resource is not None:
                layouts[destination.resource] = Layout(
                    f"{name}, changes captured for Kinesis", entry=_entry_of(table.named_placement, "us")
                )

    def layout(self, part: Part) -> Layout:
        if part.startswith(keyspace.TOKENS_PART):
            part = keyspace.TOKENS_PART  # or that of another place
        if part in SYSTEM_PARTS:
            return Layout(SYSTEM_PARTS[part], _SYSTEM_KEYS.get(part, _opaque), _json)
        if part.startswith(LEASES_PREFIX):
            return Layout(f"the lease of the job {_printable(part[5:])}", payload=_json)
        resource = int.from_bytes(part[:4], "big")
        known = self._layouts.get(resource)
        if known is not None:
            return known
        owner, _ = self._owners.get(resource, ("nothing that the catalog knows", 0))
        return Layout(owner, payload=_json)


def part_name(part: Part) -> Fields:
    """Returns the fields of a part's name."""
    if len(part) < 5:
        return _opaque(part)
    fields = [_number("resource", part[:4]), _number("slot", part[4:5])]
    if len(part) == HISTORY_PART_BYTES:
        day = int.from_bytes(part[5:], "big")
        fields.append(Field("day", part[5:], _moment(day * DAY_NS)[:10]))
    elif len(part) > 5:
        fields += _opaque(part[5:])
    return fields


# --- Keys ----------------------------------------------------------------------------------------


def _row_key_of(placement: Placement) -> Explain:
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
        return fields + _rest(data[at:])

    return explain


def _expiry_key_of(placement: Placement) -> Explain:
    row_key = _row_key_of(placement)

    def explain(data: bytes) -> Fields:
        return [_time("expires", data[:8], "s"), *row_key(data[8:])]

    return explain


def _change_key_of(placement: Placement) -> Explain:
    row_key = _row_key_of(placement)

    def explain(data: bytes) -> Fields:
        if len(data) < STAMP_BYTES:
            return _rest(data)
        stamp = data[-STAMP_BYTES:]
        row_fields = row_key(data[:-STAMP_BYTES])
        return [*row_fields, _time("changed", stamp[:8], "ns"), _number("number", stamp[8:])]

    return explain


def _catalog_key(data: bytes) -> Fields:
    if data == b"\xff":
        return [Field("row", data, "the last resource number given out")]
    namespace, zero, name = data.partition(b"\x00")
    return [
        Field("namespace", namespace, namespace.decode(errors="replace") or "(the one of all regions)"),
        Field("end", zero, "of the namespace"),
        _string("table", name),
    ]


def _token_key(data: bytes) -> Fields:
    if data[:1] == b"x":
        row = Field("row", data[:1], "finds a token when it expires")
        return [row, _time("expires", data[1:9], "ns"), *_token_key(data[9:])]
    account, zero, token = data[1:].partition(b"\x00")
    return [
        Field("row", data[:1], "a token"),
        _string("account", account),
        Field("end", zero, "of the account"),
        _string("token", token),
    ]


def _job_key(data: bytes) -> Fields:
    if len(data) < 5:
        return _opaque(data)
    return [_string("job", data[:-4]), _number("resource", data[-4:])]


def _stream_key(data: bytes) -> Fields:
    return [_number("resource", data)]


_SYSTEM_KEYS: dict[Part, Explain] = {
    keyspace.CATALOG_PART: _catalog_key,
    keyspace.TOKENS_PART: _token_key,
    keyspace.JOBS_PART: _job_key,
    keyspace.STREAMS_PART: _stream_key,
}


# --- Payloads ------------------------------------------------------------------------------------


def record(data: bytes) -> Fields:
    """A stored item or index entry."""
    if len(data) < HEADER_BYTES:
        return _rest(data)
    return [
        _number("format", data[:1]),
        _number("size", data[1:HEADER_BYTES], " bytes"),
        Field("item", data[HEADER_BYTES:], data[HEADER_BYTES:].decode(errors="backslashreplace")),
    ]


def _image(data: bytes) -> Fields:
    return record(data) if data else [Field("image", data, "there was no item")]


def _size(data: bytes) -> Fields:
    return [_number("size", data, " bytes")]


def _json(data: bytes) -> Fields:
    if len(data) == 4 and data[:1] != b"[":
        return [_number("number", data)]
    return [Field("state", data, data.decode(errors="backslashreplace"))] if data else []


# --- Log entries ---------------------------------------------------------------------------------


def _entry_of(placement: Placement, unit: str) -> Explain:
    """unit: unit of time, ms in a stream and us in a captured log."""
    row_key = _row_key_of(placement)

    def explain(data: bytes) -> Fields:
        try:
            entry = parse_entry(data)
        except ValueError as error:
            return [Field("unreadable", data, str(error))]
        what = (entry.name or "end of a shard") + (" by the service" if entry.by_service else "")
        fields = [
            _number("format", data[:1]),
            Field("what", data[1:2], what),
            _time("when", data[2:10], unit),
            _number("key length", data[10:12], " bytes"),
            _number("new length", data[12:16], " bytes"),
        ]
        if entry.row_key:
            fields += row_key(entry.row_key)
        for name, image in (("new", entry.new), ("old", entry.old)):
            if image:
                fields += [Field(f"{name} {each.name}", each.data, each.words) for each in record(image)]
        return fields

    return explain


# --- Output --------------------------------------------------------------------------------------


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
