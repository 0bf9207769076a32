"""Items as Ion text, one value per line, as an export in ION format has them.

    $ion_1_0 {Item:{id:103.,tags:$dynamodb_SS::["a","b"],photo:{{aGVsbG8=}},draft:false}}

    S    string               BOOL  bool         SS, NS, BS  a list with the annotation $dynamodb_SS, ...
    N    decimal, never int   NULL  null         L           list
    B    blob                                    M           struct

A decimal keeps what a number in DynamoDB is: digits and an exponent. Ion text is written here, because a
line can be put together from what is there already; reading needs the whole of Ion and uses its library
(ion_values.py).

Source: the developer guide's page on export formats, as recalled; the annotations are those that the
service's import knows. docs/reference/assumptions.md says what is assumed.
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
"""Text that needs no escape between double quotes."""
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f]')
_QUOTED = re.compile(r"[\x00-\x1f'\\\x7f]")
_SHORT = {"'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\x00": "\\0"}


def item_line(item: Item) -> bytes:
    """A line of a full export."""
    return f"{LINE_START}{{Item:{struct(item)}}}\n".encode()


def change_line(parts: dict[str, str]) -> bytes:
    """A line of an incremental export, from the Ion texts of its members."""
    members = ",".join(f"{name}:{text}" for name, text in parts.items())
    return f"{LINE_START}{{Record:{{{members}}}}}\n".encode()


def struct(item: Item) -> str:
    return "{" + ",".join([f"{field_name(name)}:{_value(value)}" for name, value in item.items()]) + "}"


def decimal(canonical: str) -> str:
    """A canonical number as an Ion decimal: the point makes it one."""
    return canonical if "." in canonical else canonical + "."


@lru_cache(4096)
def field_name(name: str) -> str:
    """A field name: bare where Ion allows it, otherwise quoted."""
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
