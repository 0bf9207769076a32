"""Lines of DynamoDB JSON straight into rows of a table that is being filled: one pass, no item in between.

A stencil (stencils.py) is cut from a line whose item the careful way takes (checking.py, tables/loading.py).
Whatever else fits it has the same attributes, of the same types, under the same keys; so what is left of all
checks is this:

    strings    UTF-8, and only escapes that the stored JSON has too
    numbers    in canonical form: others fit no hole
    keys       not empty and not too long: the holes say how long
    sets, binaries    given to the careful checks, one by one
    the item   not too large

Sizes need no walk either: an item's JSON is longer than the item by what the stencil's own line was, but for
contents that do not count by their length, such as numbers. The stored record is the line's text, attributes
in the order of the record. tests/exchange/test_row_stencils.py holds all of it to the careful way.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any

import orjson

from faradisc.codec import record
from faradisc.codec.keyspace import Placement, hash_of
from faradisc.codec.sortkey import encode_component, raw_bytes
from faradisc.errors import ValidationException
from faradisc.exchange.checking import checked_item
from faradisc.exchange.stencils import Pieces, Stencil, Stencils, joined, string_of, template_of
from faradisc.limits import ITEM_SIZE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from faradisc.tables.loading import Entry, LoadedRow
from faradisc.tables.table import Table
from faradisc.values import number
from faradisc.values.attribute import AttributeValue, Item
from faradisc.values.checks import canonicalise
from faradisc.values.schema import KeySchema
from faradisc.values.size import item_size, value_size

_HEAD, _TAIL = b'{"Item":', b"}"
_HOLES_MAX = 200
_HOLE_BYTES_MAX = 256
"""Bytes of a line for each hole: where values are longer the careful way is quicker (from about 200 on)."""

_PLAIN = rb" !#-\[\]-\xff"
_STRING = string_of(_PLAIN, rb'"\\bfnrt')
_NUMBER = rb"0|-?+(?:[1-9][0-9]{0,17}+(?:\.[0-9]{0,15}+(?<=[1-9]))?+|0\.[0-9]{0,15}+(?<=[1-9]))"
"""Canonical, and short enough for no limit to be near."""
_BINARY = rb"[0-9A-Za-z+/]*+={0,2}+"
_SHORT_BINARY = rb"[0-9A-Za-z+/]{2,%d}+={0,2}+"
_SET = rb'\["[%b]*+"(?:,"[%b]*+")*+\]' % (_PLAIN, _PLAIN)
_STRINGS = rb'\[(?:\{"S":"%b"\}(?:,\{"S":"%b"\})*+)?+\]' % (_STRING, _STRING)


class _Unsure(Exception):
    """The content of a hole is for the careful way."""


Grows = Callable[[bytes], int]
"""By how much the content of a hole counts more (or less) than its length. Raises: _Unsure."""


# --- What contents count ---------------------------------------------------------------------------


@lru_cache(16_384)
def _number_grows(text: bytes) -> int:
    return number.size_bytes(text.decode()) - len(text)


def _truth_grows(text: bytes) -> int:
    return 1 - len(text)


def _binary_grows(text: bytes) -> int:
    try:
        content = a2b_base64(text, strict_mode=True) if text else b""
    except Base64Error:
        raise _Unsure from None
    if b2a_base64(content, newline=False) != text:
        raise _Unsure
    return len(content) - len(text)


def _strings_grow(text: bytes) -> int:
    """Of a list of strings: 3 bytes and one for each, where the JSON has `[]`, commas and `{"S":""}`."""
    members = text.count(b'{"S"')
    return 2 - 8 * members if members else 1


def _set_grows(kind: str) -> Grows:
    def grows(text: bytes) -> int:
        value: AttributeValue = {kind: orjson.loads(text)}
        if not canonicalise(value) or orjson.dumps(value[kind]) != text:
            raise _Unsure
        return value_size(value) - len(text)

    return grows


def _escapes(text: bytes) -> int:
    """How many characters are written as two; a pair of backslashes is one of them."""
    return text.count(b"\\") - text.count(b"\\\\")


# --- The parts of a stencil ------------------------------------------------------------------------


class _Outline:
    """The pattern of items like one, and how much the contents of its holes count."""

    def __init__(self, limits: dict[str, int]) -> None:
        """limits: lengths in bytes of the attributes that are keys."""
        self.pattern = bytearray()
        self.grows: list[Grows | None] = []
        self.hole_of: dict[str, int] = {}
        """Of a top-level attribute: its first."""
        self._limits = limits

    def item(self, item: Item) -> dict[str, Pieces]:
        """Each attribute's text by its name."""
        texts: dict[str, Pieces] = {}
        for name, value in item.items():
            self._literal(b"," if texts else b"{")
            self.hole_of[name] = len(self.grows)
            texts[name] = self._attribute(name, value, self._limits.get(name))
        self._literal(b"}")
        return texts

    def _attribute(self, name: str, value: AttributeValue, limit: int | None = None) -> Pieces:
        return [*self._literal(orjson.dumps(name) + b":"), *self._value(value, limit)]

    def _value(self, value: AttributeValue, limit: int | None = None) -> Pieces:
        ((kind, content),) = value.items()
        if kind == "L" and not all("S" in member for member in content):
            first = self._literal(b'{"L":[')
            members = []
            for position, member in enumerate(content):
                if position:
                    self._literal(b",")
                members.append(self._value(member))
            return [*first, *joined(members, b","), *self._literal(b"]}")]
        if kind == "M":
            first = self._literal(b'{"M":{')
            texts: dict[str, Pieces] = {}
            for name, member in content.items():
                if texts:
                    self._literal(b",")
                texts[name] = self._attribute(name, member)
            return [*first, *in_order(texts), *self._literal(b"}}")]
        return self._leaf(kind, limit)

    def _leaf(self, kind: str, limit: int | None) -> Pieces:
        if kind == "NULL":
            return self._literal(b'{"NULL":true}')
        pattern, grows = _LEAVES[kind]
        if limit is not None and kind != "N":
            # Base64 is longer than what it says, so where it keeps the limit the bytes do. No escapes: the
            # key's bytes are the text's.
            pattern = rb"[%b]{1,%d}+" % (_PLAIN, limit) if kind == "S" else _SHORT_BINARY % (limit - 2)
        quote = b'"' if kind in ("S", "N", "B") else b""
        first = self._literal(b'{"' + kind.encode() + b'":' + quote)
        self.pattern += b"(" + pattern + b")"
        self.grows.append(grows)
        return [*first, len(self.grows) - 1, *self._literal(quote + b"}")]

    def _literal(self, text: bytes) -> Pieces:
        self.pattern += re.escape(text)
        return [text]


_LEAVES: dict[str, tuple[bytes, Grows | None]] = {
    "S": (_STRING, None),
    "N": (_NUMBER, _number_grows),
    "B": (_BINARY, _binary_grows),
    "BOOL": (b"true|false", _truth_grows),
    "SS": (_SET, _set_grows("SS")),
    "NS": (_SET, _set_grows("NS")),
    "BS": (_SET, _set_grows("BS")),
    "L": (_STRINGS, _strings_grow),
}


def in_order(texts: dict[str, Pieces]) -> Pieces:
    """Attributes as the stored JSON has them: by name."""
    return joined([texts[name] for name in sorted(texts)], b",")


class _Layout:
    """How a record is put together from the contents of holes."""

    def __init__(self, texts: dict[str, Pieces], grows: list[Grows | None]) -> None:
        template, holes = template_of([b"{", *in_order(texts), b"}"])
        self._template = template
        self._pick = itemgetter(*holes)
        counted = [(hole, grows[hole]) for hole in sorted(holes)]
        self._counted = [(hole, each) for hole, each in counted if each is not None]
        self._constant = 0

    def calibrate(self, holes: tuple[bytes, ...], size: int) -> None:
        """size: in bytes of what these contents make. Raises: _Unsure."""
        self._constant += size - self.record(holes)[1]

    def record(self, holes: tuple[bytes, ...]) -> tuple[record.Record, int]:
        """The record and the item's size in bytes. Raises: _Unsure."""
        json = self._template % self._pick(holes)
        size = len(json) + self._constant
        for hole, grows in self._counted:
            size += grows(holes[hole])
        if b"\\" in json:
            size -= _escapes(json)
        return record.of_json(json, size), size


class _RowKey:
    """How a row key is put together from the contents of holes; see `Placement.row_key`."""

    def __init__(self, placement: Placement, hole_of: dict[str, int], types: dict[str, Any]) -> None:
        self._hash = [(hole_of[name], types[name]) for name in placement.key.hash]
        self._tail = [(hole_of[name], types[name]) for name in placement.tail]
        self._last: tuple[list[bytes], bytes] = ([], b"")
        """HASH contents of the last row, and what they became: exports have the items of a collection
        one after another."""

    def of(self, holes: tuple[bytes, ...]) -> bytes:
        contents = [holes[hole] for hole, _ in self._hash]
        if contents == self._last[0]:
            key = self._last[1]
        else:
            key = self._collection(contents)
            self._last = contents, key
        for hole, kind in self._tail:
            key += holes[hole] + b"\x00\x00" if kind == "S" else _component(kind, holes[hole])
        return key

    def _collection(self, contents: list[bytes]) -> bytes:
        components = b"".join(
            _component(kind, content) for (_, kind), content in zip(self._hash, contents, strict=True)
        )
        if len(contents) > 1:
            return hash_of(components) + components
        kind = self._hash[0][1]
        return hash_of(raw_bytes({kind: contents[0].decode()})) + components


def _component(kind: str, content: bytes) -> bytes:
    return encode_component({kind: content.decode()})


class RowStencil(Stencil):
    """Makes rows of all lines like one."""

    __slots__ = ("_entries", "_layout", "_row_key")

    def __init__(self, item: Item, size: int, line: bytes, table: Table) -> None:
        """Raises: _Unsure when there is no stencil of such lines."""
        outline = _Outline(_limits(table))
        texts = outline.item(item)
        holes_count = len(outline.grows)
        if holes_count > _HOLES_MAX or len(line) > _HOLE_BYTES_MAX * holes_count:
            raise _Unsure
        super().__init__(re.escape(_HEAD) + bytes(outline.pattern) + _TAIL)
        match = self.fullmatch(line)
        if match is None:
            raise _Unsure
        holes = match.groups()
        self._layout = _Layout(texts, outline.grows)
        self._layout.calibrate(holes, size)
        self._row_key = _RowKey(table.placement, outline.hole_of, table.key.types)
        self._entries: list[tuple[int, _RowKey, _Layout | None]] = []
        for position, index in enumerate(table.indexes):
            entry = index.schema.entry(item)
            if entry is None:
                continue
            types = {**index.schema.key.types, **table.key.types}
            row_key = _RowKey(index.placement, outline.hole_of, types)
            layout = None
            if entry is not item:
                layout = _Layout({name: texts[name] for name in entry}, outline.grows)
                layout.calibrate(holes, item_size(entry))
            self._entries.append((position, row_key, layout))

    def row(self, holes: tuple[bytes, ...]) -> LoadedRow | None:
        """What is stored of a line; None when it has to go the careful way."""
        try:
            stored, size = self._layout.record(holes)
        except _Unsure:
            return None
        if size > ITEM_SIZE_BYTES_MAX:
            return None
        entries: tuple[Entry, ...] = ()
        for position, row_key, layout in self._entries:
            entry, entry_size = (stored, size) if layout is None else layout.record(holes)
            entries += ((position, row_key.of(holes), entry, entry_size),)
        return self._row_key.of(holes), stored, size, entries


def _limits(table: Table) -> dict[str, int]:
    """The lengths in bytes that attributes may have which are keys of the table or of an index."""
    limits: dict[str, int] = {}

    def add(key: KeySchema) -> None:
        for names, limit in ((key.hash, PARTITION_KEY_BYTES_MAX), (key.range, SORT_KEY_BYTES_MAX)):
            limits.update({name: min(limit, limits.get(name, limit)) for name in names})

    add(table.key)
    for index in table.indexes:
        add(index.schema.key)
    return limits


# --- A job's way through ---------------------------------------------------------------------------


class RowShortcut:
    """Rows of the lines that fit a stencil, for one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._stencils = Stencils(self._cut)

    def __call__(self, line: bytes) -> LoadedRow | None:
        """The row of a line of DynamoDB JSON; None sends it the careful way."""
        found = self._stencils.find(line)
        if found is None:
            return None
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError:
                return None
        stencil, match = found
        return stencil.row(match.groups())

    def _cut(self, line: bytes) -> RowStencil | None:
        try:
            document = orjson.loads(line)
            item = document["Item"]
            size = checked_item(item, self._table)
            # The same bytes again: no other members, no spaces, no name twice, nothing but canonical values.
            if orjson.dumps({"Item": item}) != line:
                return None
            return RowStencil(item, size, line, self._table)
        except (ValueError, TypeError, KeyError, ValidationException, _Unsure):
            return None


def shortcut_into(table: Table) -> RowShortcut | None:
    """None for a table that has none: what a vector index takes of an item is not a matter of texts."""
    return RowShortcut(table) if all(index.resident is None for index in table.indexes) else None
