"""The ten attribute types in memory.

An attribute value is its own canonical wire form: a dict with one entry, the type's name and the value.

    {"S": "text"}  {"N": "12.5"}  {"B": "<base64>"}  {"BOOL": True}  {"NULL": True}
    {"SS": [...]}  {"NS": [...]}  {"BS": [...]}      members distinct and sorted
    {"L": [value, ...]}           {"M": {name: value, ...}}

Canonical means: numbers in the form of `values.number`, set members sorted (strings by UTF-8 bytes,
numbers numerically, binaries by bytes), base64 in its one padded form. Two values are then equal in
DynamoDB's sense exactly when they are equal in Python's.

Values inside an item are shared and never changed in place: containers are copied before a change.
"""

from __future__ import annotations

from binascii import a2b_base64
from typing import Any, TypeAlias

from faradisc.model.values import number

AttributeValue: TypeAlias = dict[str, Any]
Item: TypeAlias = dict[str, AttributeValue]

TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})
SET_TYPES = frozenset({"SS", "NS", "BS"})
ORDERED_TYPES = frozenset({"S", "N", "B"})


def type_of(value: AttributeValue) -> str:
    """Returns the type's name: S, N, B, BOOL, NULL, SS, NS, BS, L or M."""
    for kind in value:
        return kind
    raise AssertionError("an attribute value has one entry")


def binary(value: AttributeValue) -> bytes:
    """Returns the bytes of a B value."""
    return a2b_base64(value["B"])


def compare(left: AttributeValue, right: AttributeValue) -> int:
    """Returns -1, 0 or 1. Requires: both values are of one type among S, N and B.

    Strings compare by their UTF-8 bytes (which is the order of code points), numbers numerically,
    binaries as unsigned bytes.
    """
    kind = type_of(left)
    if kind == "N":
        return number.compare(left["N"], right["N"])
    first, second = (left["S"], right["S"]) if kind == "S" else (binary(left), binary(right))
    return (first > second) - (first < second)


def sorted_set(kind: str, members: list[str]) -> list[str]:
    """Returns the members of a set of type SS, NS or BS in canonical order."""
    if kind == "SS":
        return sorted(members)
    if kind == "NS":
        return sorted(members, key=number.sort_key)
    return sorted(members, key=a2b_base64)
