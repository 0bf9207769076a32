"""Vectors as attribute values, as bytes in an index entry, and as text again.

An entry holds its vector as the binary value of its elements, IEEE 754 single precision, little-endian.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from decimal import Decimal

from faradisc.model.values.attribute import AttributeValue
from faradisc.model.values.number import parse

WHOLE_DIGITS_MAX = 16
"""Assumed: longer whole numbers are shown without `.0`, since clients refuse more than 38 digits."""


def packed(elements: list[AttributeValue]) -> bytes | None:
    """Returns a list of numbers as bytes; None if an element is not a finite 32-bit float."""
    try:
        return struct.pack(f"<{len(elements)}f", *[float(element["N"]) for element in elements])
    except (KeyError, OverflowError):
        return None


def unpacked(data: bytes) -> tuple[float, ...]:
    """Returns the elements of a packed vector."""
    return struct.unpack(f"<{len(data) // 4}f", data)


def stored(data: bytes) -> AttributeValue:
    """Returns a packed vector as the attribute of an index entry."""
    return {"B": b64encode(data).decode()}


def packed_of(value: AttributeValue) -> bytes:
    """Returns the packed vector of an index entry's attribute."""
    return b64decode(value["B"])


def shown(data: bytes) -> AttributeValue:
    """Returns a packed vector as clients see it: each element is the shortest number that rounds to it."""
    return {"L": [{"N": _text(element)} for element in unpacked(data)]}


def _text(element: float) -> str:
    for digits in range(6, 10):
        text = f"{element:.{digits}g}"
        if struct.unpack("<f", struct.pack("<f", float(text)))[0] == element:
            break
    shown = parse(f"{Decimal(text):f}")
    return shown if "." in shown or len(shown) > WHOLE_DIGITS_MAX else f"{shown}.0"
