"""Writes items as Ion text, one value per line: the ION format of exports.

    $ion_1_0 {Item:{id:103.,tags:$dynamodb_SS::["a","b"],photo:{{aGVsbG8=}},draft:false}}

    S    string               BOOL  bool         SS, NS, BS  a list with the annotation $dynamodb_SS, ...
    N    decimal, never int   NULL  null         L           list
    B    blob                                    M           struct

A decimal keeps the digits and exponent of a DynamoDB number. Writing needs only this subset of Ion; reading
needs all of Ion and uses its library (ion_values.py).

Source: the developer guide's page on export formats, as recalled; the annotations are those that the
service's import accepts. docs/reference/assumptions.md lists the assumptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from faradisc.model.values.attribute import AttributeValue, Item

LINE_START = "$ion_1_0 "

_SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*").fullmatch
_KEYWORDS = frozenset({"null", "true", "false", "nan"})
_NUMBERED = re.compile(r"\$[0-9]+").fullmatch
_PLAIN = re.compile(r"[ !#-\[\]-~\x80-\U0010ffff]*").fullmatch
"""Matches text without escapes between double quotes."""
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f]')
_QUOTED = re.compile(r"[\x00-\x1f'\\\x7f]")
_SHORT = {"'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\x00": "\\0"}


def item_line(item: Item) -> bytes:
    """Returns a line of a full export."""
    return f"{LINE_START}{{Item:{struct(item)}}}\n".encode()


def change_line(parts: dict[str, str]) -> bytes:
    """Returns a line of an incremental export, from the Ion texts of its members."""
    members = ",".join(f"{name}:{text}" for name, text in parts.items())
    return f"{LINE_START}{{Record:{{{members}}}}}\n".encode()


def struct(item: Item) -> str:
    return "{" + ",".join([f"{field_name(name)}:{_value(value)}" for name, value in item.items()]) + "}"


def decimal(canonical: str) -> str:
    """Returns a canonical number as an Ion decimal; without the point it would be an int."""
    return canonical if "." in canonical else canonical + "."


@lru_cache(4096)
def field_name(name: str) -> str:
    """Returns a field name, quoted where Ion requires it."""
    if _SYMBOL(name) and name not in _KEYWORDS and not _NUMBERED(name) and name != "$ion_1_0":
        return name
    return "'" + _QUOTED.sub(_escape, name) + "'"


def _string(text: str) -> str:
    return f'"{text}"' if _PLAIN(text) else '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\x{ord(character):02x}"


def _value(value: AttributeValue) -> str:
    for kind, content in value.items():
        if kind == "S":
            return _string(content)
        if kind == "N":
            return decimal(content)
        if kind == "BOOL":
            return "true" if content else "false"
        if kind == "NULL":
            return "null"
        if kind == "B":
            return f"{{{{{content}}}}}"
        if kind == "M":
            return struct(content)
        if kind == "L":
            return "[" + ",".join(map(_value, content)) + "]"
        return f"$dynamodb_{kind}::[" + ",".join(map(_MEMBER[kind], content)) + "]"
    raise AssertionError("an attribute value has one entry")


_MEMBER: dict[str, Callable[[str], str]] = {"SS": _string, "NS": decimal, "BS": "{{{{{}}}}}".format}
