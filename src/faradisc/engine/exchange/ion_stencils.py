"""Stored records straight into lines of Ion: one pass, no item in between.

A stencil (stencils.py) is cut from a record's JSON; beside it lies the Ion of its line (ion_text.py) with the
same holes. What Ion writes as JSON does goes from hole to hole as it is. A number has two holes, of which the
second, its fraction, may be missing: then the point that makes it a decimal stands there.

What Ion escapes otherwise than JSON fits no hole and goes the careful way, which tests/exchange/
test_ion_stencils.py holds all of this to.
"""

from __future__ import annotations

import re

import orjson

from faradisc.engine.exchange import ion_text
from faradisc.engine.exchange.stencils import Stencil, Stencils, string_of
from faradisc.model.values.attribute import AttributeValue, Item

_HOLES_MAX = 200

_STRING = string_of(rb" !#-\[\]-~\x80-\xff", rb'"\\nrt')
_STRINGS = rb'\["%b"(?:,"%b")*+\]' % (_STRING, _STRING)
_NO_FRACTION = b"."


class IonStencil(Stencil):
    """Makes lines of all records like one."""

    __slots__ = ("_template",)

    def __init__(self, pattern: bytes, template: bytes) -> None:
        super().__init__(pattern)
        self._template = template

    def line(self, match: re.Match[bytes]) -> bytes:
        return self._template % match.groups(_NO_FRACTION)


class _Outline:
    """The pattern of records like one, and a template of their Ion."""

    def __init__(self) -> None:
        self.pattern = bytearray()
        self.template = bytearray()
        self.holes = 0

    def text(self, json: bytes, ion: bytes) -> None:
        self.pattern += re.escape(json)
        self.template += ion.replace(b"%", b"%%")

    def hole(self, pattern: bytes) -> None:
        self.pattern += b"(" + pattern + b")"
        self.template += b"%b"
        self.holes += 1

    def struct(self, item: Item) -> None:
        self.text(b"{", b"{")
        for position, (name, value) in enumerate(item.items()):
            comma = b"," if position else b""
            ion = ion_text.field_name(name).encode() + b":"
            self.text(comma + orjson.dumps(name) + b":", comma + ion)
            self._value(value)
        self.text(b"}", b"}")

    def _value(self, value: AttributeValue) -> None:
        ((kind, content),) = value.items()
        self.text(b'{"' + kind.encode() + b'":', b"")
        if kind == "M":
            self.struct(content)
        elif kind in ("L", "NS", "BS"):
            self.text(b"[", b"[" if kind == "L" else f"$dynamodb_{kind}::[".encode())
            for position, member in enumerate(content):
                if position:
                    self.text(b",", b",")
                if kind == "L":
                    self._value(member)
                else:
                    self._leaf(kind[0], member)
            self.text(b"]", b"]")
        else:
            self._leaf(kind, content)
        self.text(b"}", b"")

    def _leaf(self, kind: str, content: object) -> None:
        """A value that one hole holds, or for a number two."""
        if kind == "S":
            self.text(b'"', b'"')
            self.hole(_STRING)
            self.text(b'"', b'"')
        elif kind == "N":
            self.text(b'"', b"")
            self.hole(b"-?+[0-9]++")
            self.hole(rb"\.[0-9]++")
            self.pattern += b"?+"
            self.text(b'"', b"")
        elif kind == "BOOL":
            self.hole(b"true|false")
        elif kind == "NULL":
            self.text(b"true", b"null")
        elif kind == "B":
            self.text(b'"', b"{{")
            self.hole(b"[0-9A-Za-z+/=]*+")
            self.text(b'"', b"}}")
        else:
            self.text(b"", b"$dynamodb_SS::")
            self.hole(_STRINGS)


class IonLines:
    """Lines of a full export in Ion, for one table."""

    def __init__(self) -> None:
        self._stencils = Stencils(_cut)

    def line(self, json: bytes) -> bytes:
        """json: of a record, canonical."""
        found = self._stencils.find(json)
        if found is None:
            return ion_text.item_line(orjson.loads(json))
        stencil, match = found
        return stencil.line(match)


def _cut(json: bytes) -> IonStencil | None:
    outline = _Outline()
    outline.text(b"", ion_text.LINE_START.encode() + b"{Item:")
    outline.struct(orjson.loads(json))
    outline.text(b"", b"}\n")
    if outline.holes > _HOLES_MAX:
        return None
    stencil = IonStencil(bytes(outline.pattern), bytes(outline.template))
    return stencil if stencil.fullmatch(json) is not None else None
