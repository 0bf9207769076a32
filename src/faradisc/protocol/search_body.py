"""Reads a SearchVectors body again, for its errors: the service has another deserialiser here, serde_json.

It reads the body as it comes and stops at the first error; an absent member is found at the end of the
object. Nothing is coerced. An AttributeValue has exactly one member, named as one of _VARIANTS. Columns count
bytes of the line, from 1, up to the last byte read: a scalar is read before it is rejected, a list or an
object is not.

Source: errors.md section 7, recorded in October 2026. Assumed, from what that library is known to do: the
names after `DECIMAL`, a variant without content, base64 that cannot be read, 128 levels without text.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar, Final, NoReturn

import orjson

from faradisc.errors import SerializationException, ValidationException
from faradisc.protocol.plan import ATTRIBUTE, ShapeNode

REQUIRED: Final = ("TableName", "IndexName", "SearchVector", "TopK")
"""The required members in the order of their errors."""

_HELD: Final = {
    "string": "S N INT DECIMAL DOUBLE",
    "strings": "SS NS INTSET DECIMALSET DOUBLESET",
    "blob": "B",
    "blobs": "BS",
    "boolean": "BOOL NULL",
    "values": "L",
    "named values": "M",
}
_VARIANTS: Final = dict(sorted((name, held) for held, names in _HELD.items() for name in names.split()))
"""The members of an AttributeValue, in the order of messages, and what they hold."""
_LISTS: Final = {"blobs": "blob", "strings": "string", "values": ATTRIBUTE}
_EXPECTED: Final = {
    "string": "a string",
    "boolean": "a boolean",
    "integer": "i32",
    "blob": "a Base64-encoded string",
    "list": "a sequence",
    "map": "a map",
}
_JSON_TYPES: Final = {"string": str, "blob": str, "boolean": bool, "integer": int}
_LEVELS_MAX = 127
_I32: Final = range(-(2**31), 2**31)
_I64_OR_U64: Final = range(-(2**63), 2**64)
_BLANKS: Final = re.compile(rb"[ \t\r\n:]*")
"""What stands before a value, the colon after a name too."""
_SCALAR: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|true|false|null', re.DOTALL)


class _WrongType(SerializationException):
    code = "SerializationException"
    text_member: ClassVar[str] = "message"


def check(root: ShapeNode, body: bytes) -> None:
    """body: a JSON object. Raises SerializationException, ValidationException."""
    _Reader(body).request(root)


class _Reader:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0
        """The bytes read."""
        self._levels = 0

    def request(self, root: ShapeNode) -> None:
        found = set()
        for name in self._members():
            member = root.members.get(name)
            found.add(name)
            if member is None:
                self._skip()
            elif name in REQUIRED or not self._takes(b"null"):
                self._value(member)
        for name in REQUIRED:
            if name not in found:
                self._reject(ValidationException, f"missing field `{name}`")

    def _value(self, node: ShapeNode) -> None:
        if node.kind == "list":
            assert node.element is not None
            for _ in self._elements():
                self._value(node.element)
        elif node.kind == "map":
            assert node.element is not None
            self._opening(b"{", "map")
            for _ in self._members():
                self._value(node.element)
        elif node.kind == ATTRIBUTE:
            self._attribute()
        else:
            self._scalar(node.kind)

    def _attribute(self) -> None:
        if self._next() == b'"':
            variant = self._token()
            self._variant(variant)
            self._reject(_WrongType, "invalid type: unit variant, expected newtype variant")
        if self._next() != b"{":
            raise SerializationException
        members = self._members()
        kind = self._variant(next(members, None))
        if kind in _LISTS:
            for _ in self._elements():
                self._attribute() if _LISTS[kind] == ATTRIBUTE else self._scalar(_LISTS[kind])
        elif kind == "named values":
            self._opening(b"{", "map")
            for _ in self._members():
                self._attribute()
        else:
            self._scalar(kind)
        if next(members, None) is not None:
            raise SerializationException

    def _variant(self, name: str | None) -> str:
        if name is None:
            raise SerializationException
        if name not in _VARIANTS:
            names = ", ".join(f"`{each}`" for each in _VARIANTS)
            self._reject(ValidationException, f"unknown variant `{name}`, expected one of {names}")
        return _VARIANTS[name]

    def _scalar(self, kind: str) -> None:
        expected = _EXPECTED[kind]
        self._opening(None, kind)
        value = self._token()
        if type(value) is not _JSON_TYPES[kind] or (type(value) is int and value not in _I64_OR_U64):
            self._reject(_WrongType, f"invalid type: {_named(value)}, expected {expected}")
        if (kind == "integer" and value not in _I32) or (kind == "blob" and not _is_base64(str(value))):
            self._reject(ValidationException, f"invalid value: {_named(value)}, expected {expected}")

    # --- JSON ------------------------------------------------------------------------------------

    def _members(self) -> Iterator[str]:
        """Yields the names of an object; the caller reads each value before it asks for the next."""
        for _ in self._inside(b"}"):
            yield self._token()

    def _elements(self) -> Iterator[None]:
        """Yields before each element of a list, which the caller reads."""
        self._opening(b"[", "list")
        return self._inside(b"]")

    def _inside(self, end: bytes) -> Iterator[None]:
        self._levels += 1
        if self._levels > _LEVELS_MAX:
            raise SerializationException
        self._at += 1
        while self._next() != end:
            if self._next() == b",":
                self._at += 1
                self._next()
            yield
        self._at += 1
        self._levels -= 1

    def _opening(self, bracket: bytes | None, kind: str) -> None:
        """Rejects what begins with another bracket, or with one at all, or with none."""
        found = self._next()
        if found == bracket or (bracket is None and found not in b"[{"):
            return
        what = {b"[": "sequence", b"{": "map"}.get(found) or _named(self._token())
        self._reject(_WrongType, f"invalid type: {what}, expected {_EXPECTED[kind]}")

    def _next(self) -> bytes:
        blanks = _BLANKS.match(self._body, self._at)
        assert blanks is not None
        self._at = blanks.end()
        return self._body[self._at : self._at + 1]

    def _takes(self, text: bytes) -> bool:
        self._next()
        if not self._body.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _token(self) -> Any:
        """Reads a scalar."""
        self._next()
        found = _SCALAR.match(self._body, self._at)
        assert found is not None
        self._at = found.end()
        return orjson.loads(found[0])

    def _skip(self) -> None:
        depth = 0
        while True:
            first = self._next()
            if first in b"[{":
                depth += 1
            elif first in b"]}":
                depth -= 1
            if first in b"[]{},":
                self._at += 1
            else:
                self._token()
            if depth == 0:
                return

    def _reject(self, error: type[SerializationException | ValidationException], text: str) -> NoReturn:
        line = self._body.count(b"\n", 0, self._at) + 1
        before = self._body.rfind(b"\n", 0, self._at) + 1
        raise error(f"{text} at line {line} column {self._at - before}")


def _is_base64(text: str) -> bool:
    try:
        a2b_base64(text, strict_mode=True)
    except (ValueError, Base64Error):
        return text == ""
    return True


def _named(value: Any) -> str:
    """Returns a scalar as this library's errors name it."""
    if value is None:
        return "null"
    if type(value) is bool:
        return f"boolean `{str(value).lower()}`"
    if type(value) is str:
        return f"string {orjson.dumps(value).decode()}"
    if type(value) is int and value in _I64_OR_U64:
        return f"integer `{value}`"
    mantissa, _, exponent = repr(float(value)).partition("e")
    if exponent == "-05":
        return f"floating point `{Decimal(repr(value)):f}`"
    return f"floating point `{mantissa}{exponent and f'e{int(exponent)}'}`"
