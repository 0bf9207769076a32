"""What lines of DynamoDB JSON that are alike have in common: their attributes, and which may be missing.

A *shape* is an attribute with its type, or with the structure of its map or list: one regular expression,
and what its text counts in the item's size. A *slot* is the place of an attribute in a line: it has the
shapes that were seen there (a string in one line, NULL in another), and some lines may be without it. So
items whose attributes are optional are one form and not two to the power of their number.

Every shape takes what it fits for itself, so a form may be put together from as many lines as one likes: it
accepts nothing that one of its shapes would not.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, TypeVar

import orjson

from faradisc.engine.exchange.stencils import Pieces, joined, string_of, template_of
from faradisc.model.values import number
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.checks import canonicalise
from faradisc.model.values.size import item_size, value_size

HEAD, TAIL = b'{"Item":{', b"}}"
UNSURE = 1 << 40
"""What a content counts that is for the careful way: more than any item may."""
SHAPES_MAX = 4
"""In one slot."""
ATTRIBUTES_MAX = 16_384
"""Numbers with their names whose sizes are remembered."""
GROUPS_MAX = 200
"""In the pattern of a form."""

PLAIN = rb" !#-\[\]-\xff"
_STRING = string_of(PLAIN, rb'"\\bfnrt')
ESCAPES = _STRING.removeprefix(b"[%b]*+" % PLAIN)
"""The part of a string's pattern that only one with escapes needs. No text in a pattern looks like it, for it
has a byte that is never in UTF-8."""
_NUMBER = rb"0|-?+(?:[1-9][0-9]{0,17}+(?:\.[0-9]{0,14}[1-9](?![0-9]))?|0\.[0-9]{0,15}+(?<=[1-9]))"
"""Canonical, and short enough for no limit to be near. No possessive group looks around:
language/partiql/lexer.py."""
_BINARY = rb"[0-9A-Za-z+/]*+={0,2}+"
_SHORT_BINARY = rb"[0-9A-Za-z+/]{2,%d}+={0,2}+"
_SET = rb'\["[%b]*+"(?:,"[%b]*+")*+\]' % (PLAIN, PLAIN)
_STRINGS = rb'\[(?:\{"S":"%b"\}(?:,\{"S":"%b"\})*+)?+\]' % (_STRING, _STRING)


# --- What contents count ---------------------------------------------------------------------------

K = TypeVar("K")
V = TypeVar("V")


class Kept(dict[K, V]):
    """What a function has made of its arguments, as long as they are few: a third of lru_cache's time."""

    def __init__(self, make: Callable[[K], V], most: int) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, key: K) -> V:
        if len(self) >= self._most:
            self.clear()
        value = self[key] = self._make(key)
        return value


Grows = Callable[[Iterable[bytes]], Iterable[int]]
"""By how much each of many contents counts more (or less) than its length; 0 for b"", which stands for none;
or UNSURE."""


def _each(grows: Callable[[bytes], int]) -> Grows:
    return partial(map, grows)


def _number_grows(text: bytes) -> int:
    return number.size_bytes(text.decode()) - len(text) if text else 0


_TRUTHS = {b"": 0, b"true": 1 - len(b"true"), b"false": 1 - len(b"false")}


def _binary_grows(text: bytes) -> int:
    try:
        content = a2b_base64(text, strict_mode=True) if text else b""
    except Base64Error:
        return UNSURE
    return len(content) - len(text) if b2a_base64(content, newline=False) == text else UNSURE


def _strings_grow(texts: Iterable[bytes]) -> Iterable[int]:
    """Of lists of strings: 3 bytes and one for each, where the JSON has `[]`, commas and `{"S":""}`."""
    return [2 - 8 * members if (members := text.count(b'{"S"')) else 1 if text else 0 for text in texts]


def _set_grows(kind: str) -> Callable[[bytes], int]:
    def grows(text: bytes) -> int:
        if not text:
            return 0
        value: AttributeValue = {kind: orjson.loads(text)}
        if not canonicalise(value) or orjson.dumps(value[kind]) != text:
            return UNSURE
        return value_size(value) - len(text)

    return grows


_LEAVES: dict[str, tuple[bytes, Grows | None]] = {
    "S": (_STRING, None),
    "N": (_NUMBER, _each(_number_grows)),
    "B": (_BINARY, _each(_binary_grows)),
    "BOOL": (b"true|false", _each(_TRUTHS.__getitem__)),
    "SS": (_SET, _each(_set_grows("SS"))),
    "NS": (_SET, _each(_set_grows("NS"))),
    "BS": (_SET, _each(_set_grows("BS"))),
    "L": (_STRINGS, _strings_grow),
}


def _number_attribute_grows(attribute: bytes) -> int:
    return _number_grows(attribute[attribute.rfind(b":") + 2 : -2])


def _truth_attribute_grows(attribute: bytes) -> int:
    return _TRUTHS[attribute[attribute.rfind(b":") + 1 : -1]]


_OFTEN_SAME = {
    "N": _each(Kept(_number_attribute_grows, ATTRIBUTES_MAX).__getitem__),
    "BOOL": _each(Kept(_truth_attribute_grows, ATTRIBUTES_MAX).__getitem__),
}


def _within(kind: str, grows: Grows, begin: int, behind: int) -> Grows:
    """The same of contents that begin there in the texts given, with so many bytes behind them."""
    if kind in _OFTEN_SAME:
        return _OFTEN_SAME[kind]
    if kind == "L":
        return grows  # it counts members, and there are none before or behind the list
    return lambda texts: grows([text[begin:-behind] for text in texts])


def escapes(text: bytes) -> int:
    """How many characters are written as two; a pair of backslashes is one of them."""
    return text.count(b"\\") - text.count(b"\\\\")


# --- Attributes ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """Groups are counted from the first of the shape's own, which holds the whole attribute.

    The pattern says all: shapes with the same one are the same.
    """

    pattern: bytes
    groups: int = field(compare=False)
    counted: tuple[tuple[int, Grows], ...] = field(compare=False)
    """Groups with contents that do not count by their length."""
    template: tuple[bytes, tuple[int, ...]] | None = field(compare=False)
    """Of the attribute as the record has it, and the groups it takes. None: as the line has it."""
    constant: int = field(compare=False)
    """What the attribute counts beside the length of its text and what the contents of groups count."""
    leaves: int = field(compare=False)


class _Outline:
    """Goes through an attribute and takes down its shape."""

    def __init__(self, name: str, value: AttributeValue, limit: int | None) -> None:
        """limit: length in bytes that a key may have; None for what is no key."""
        self._pattern = bytearray(b"(")
        self._groups = 1
        self._counted: list[tuple[int, Grows]] = []
        self._grown = 0
        self._leaves = 0
        ordered = _is_ordered(value)
        self._all = limit is not None or not ordered
        """Whether all contents are wanted, not only those that are counted."""
        ((kind, content),) = value.items()
        if kind in _LEAVES and not self._all and self._is_leaf(kind, content):
            pieces = self._simple(name, kind, content)
        else:
            pieces = self._attribute(name, value, limit)
        text = orjson.dumps({name: value})[1:-1]
        size = item_size({name: value})
        self.shape = Shape(
            bytes(self._pattern) + b")",
            self._groups,
            tuple(self._counted),
            None if ordered else template_of(pieces),
            size - (len(text) + self._grown - escapes(text)),
            self._leaves,
        )

    def _simple(self, name: str, kind: str, content: Any) -> Pieces:
        """An attribute that is one content, which needs no group of its own."""
        quote = b'"' if kind in ("S", "N", "B") else b""
        before = orjson.dumps(name) + b':{"' + kind.encode() + b'":' + quote
        text = orjson.dumps(content)
        pattern, grows = _LEAVES[kind]
        if grows is not None:
            of_text = _within(kind, grows, len(before), len(quote) + 1)
            self._grown += sum(of_text([before + (text[1:-1] if quote else text) + quote + b"}"]))
            self._counted.append((0, of_text))
        self._leaves += 1
        self._pattern += re.escape(before) + b"(?:" + pattern + b")" + quote + b"\\}"
        return []

    def _attribute(self, name: str, value: AttributeValue, limit: int | None = None) -> Pieces:
        return [*self._literal(orjson.dumps(name) + b":"), *self._value(value, limit)]

    def _value(self, value: AttributeValue, limit: int | None = None) -> Pieces:
        ((kind, content),) = value.items()
        if kind == "L" and not self._is_leaf(kind, content):
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
            return [*first, *joined([texts[name] for name in sorted(texts)], b","), *self._literal(b"}}")]
        return self._leaf(kind, content, limit)

    @staticmethod
    def _is_leaf(kind: str, content: Any) -> bool:
        """Lists of strings are contents, however long."""
        return kind != "L" or all("S" in member for member in content)

    def _leaf(self, kind: str, content: Any, limit: int | None) -> Pieces:
        if kind == "NULL":
            return self._literal(b'{"NULL":true}')
        self._leaves += 1
        pattern, grows = _LEAVES[kind]
        if limit is not None and kind != "N":
            # Base64 is longer than what it says, so where it keeps the limit the bytes do. No escapes: the
            # key's bytes are the text's.
            pattern = rb"[%b]{1,%d}+" % (PLAIN, limit) if kind == "S" else _SHORT_BINARY % (limit - 2)
        quote = b'"' if kind in ("S", "N", "B") else b""
        first = self._literal(b'{"' + kind.encode() + b'":' + quote)
        if grows is not None:
            text = orjson.dumps(content)
            self._grown += sum(grows([text[1:-1] if quote else text]))
            self._counted.append((self._groups, grows))
        if grows is None and not self._all:
            self._pattern += pattern
            return [*first, *self._literal(quote + b"}")]
        self._pattern += b"(" + pattern + b")"
        self._groups += 1
        return [*first, self._groups - 1, *self._literal(quote + b"}")]

    def _literal(self, text: bytes) -> Pieces:
        self._pattern += re.escape(text)
        return [text]


def _is_ordered(value: AttributeValue) -> bool:
    """Whether the members of all maps stand by name, as a record has them."""
    ((kind, content),) = value.items()
    if kind == "M":
        return [*content] == sorted(content) and all(map(_is_ordered, content.values()))
    return kind != "L" or all(map(_is_ordered, content))


# --- Forms -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slot:
    name: str
    shapes: tuple[Shape, ...]
    optional: bool = False

    @property
    def sure(self) -> Shape | None:
        """The shape that every line has here, if there is one."""
        return None if self.optional or len(self.shapes) > 1 else self.shapes[0]


@dataclass(frozen=True, slots=True)
class Form:
    slots: tuple[Slot, ...]
    """In an order that all lines had so far."""
    neighbours: tuple[tuple[str, str], ...]
    """Names of attributes that stood side by side in some line."""

    @property
    def groups(self) -> int:
        return sum(shape.groups for slot in self.slots for shape in slot.shapes)


def form_of(item: Item, limits: dict[str, int]) -> Form:
    """The form of items with the same attributes. limits: lengths in bytes that keys may have, by name."""
    slots = tuple(
        Slot(name, (_Outline(name, value, limits.get(name)).shape,)) for name, value in item.items()
    )
    return Form(slots, tuple(pairwise(item)))


def merged(form: Form, line: Form) -> Form | None:
    """The form of lines like either; line: the form of one.

    None when they do not belong together: their orders differ, or they have less than a third in common.
    """
    slots = {slot.name: slot for slot in form.slots}
    names = {slot.name for slot in line.slots}
    for slot in line.slots:
        known = slots.get(slot.name)
        shapes = tuple(dict.fromkeys((*known.shapes, *slot.shapes))) if known else slot.shapes
        slots[slot.name] = Slot(slot.name, shapes, known is None or known.optional)
    for name in slots.keys() - names:
        slots[name] = replace(slots[name], optional=True)
    if 3 * (len(form.slots) + len(names) - len(slots)) < len(slots):
        return None
    if max(len(slot.shapes) for slot in slots.values()) > SHAPES_MAX:
        return None
    neighbours = tuple(dict.fromkeys((*form.neighbours, *line.neighbours)))
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(slots, ()))
    for before, after in neighbours:
        sorter.add(after, before)
    try:
        return Form(tuple(slots[name] for name in sorter.static_order()), neighbours)
    except CycleError:
        return None


def pattern_of(form: Form, always: str) -> bytes:
    """The pattern of the lines of a form. always: the name of an attribute that none of them lacks.

    It hangs the commas on: those before it have one behind them, those after it one in front. Where there is
    a choice the group is atomic: what was found is not given back, so no line is gone through twice.
    """
    parts: list[bytes] = []
    before = True
    for slot in form.slots:
        shapes = b"|".join(shape.pattern for shape in slot.shapes)
        if slot.name == always:
            before = False
            parts.append(shapes)
            continue
        text = b"(?>" + shapes + b")" if len(slot.shapes) > 1 else shapes
        text = text + b"," if before else b"," + text
        parts.append(b"(?>" + text + b"|)" if slot.optional else text)
    return re.escape(HEAD) + b"".join(parts) + TAIL
