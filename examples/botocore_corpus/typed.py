"""Converts JSON values to DynamoDB attribute values, measures and compares them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal, Inexact, Overflow
from typing import Any

Typed = dict[str, Any]
"""One attribute value with its type: {"S": "text"}."""

_EXACT = Context(prec=38, Emax=125, Emin=-130, traps=[Inexact, Overflow])
"""The numbers of DynamoDB: 38 digits, magnitudes from 1E-130 to 9.99E+125."""


class NotStorable(Exception):
    """A value that no attribute can store exactly."""


def to_typed(value: Any) -> Typed:
    """Converts a value of `json.loads(..., parse_float=Decimal)`. Raises NotStorable."""
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case None:
            return {"NULL": True}
        case int() | Decimal():
            return {"N": number_text(value)}
        case list():
            return {"L": [to_typed(element) for element in value]}
        case dict():
            return {"M": {name: to_typed(member) for name, member in value.items()}}
    raise NotStorable(f"a {type(value).__name__}")


def number_text(value: int | Decimal) -> str:
    """Returns a decimal text without an exponent or trailing zeros. Raises NotStorable."""
    try:
        exact = Decimal(value).normalize(_EXACT)
    except (Inexact, Overflow):
        raise NotStorable(f"the number {value}") from None
    return format(exact, "f")


def size_bytes(value: Typed) -> int:
    """Returns the size of a value as DynamoDB counts it (developer guide, "Item sizes and formats")."""
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return _number_size_bytes(Decimal(content))
    if kind == "L":
        return 3 + sum(1 + size_bytes(element) for element in content)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + size_bytes(member) for name, member in content.items())
    return 1


def _number_size_bytes(number: Decimal) -> int:
    """Returns one byte, one per two digits counted from the decimal point, and one for a minus sign."""
    if not number:
        return 1
    negative, digits, _ = number.normalize(_EXACT).as_tuple()
    unaligned = len(digits) % 2 == 0 and number.adjusted() % 2 == 0
    return 1 + (len(digits) + 1) // 2 + unaligned + negative


def item_size_bytes(item: dict[str, Typed]) -> int:
    return sum(len(name.encode()) + size_bytes(value) for name, value in item.items())


def differences(source: Any, read: Any, path: str) -> Iterator[str]:
    """Yields one line per difference between a value and its source.

    Numbers are compared by value, so another spelling of the same number is not a difference.
    """
    if source == read:
        return
    if type(source) is not type(read):
        yield f"{path}: {_short(source)} was read as {_short(read)}"
    elif isinstance(source, dict):
        if source.keys() == read.keys() == {"N"} and Decimal(source["N"]) == Decimal(read["N"]):
            return
        for name in source.keys() - read.keys():
            yield f"{path}.{name}: missing"
        for name in read.keys() - source.keys():
            yield f"{path}.{name}: was never written"
        for name in source.keys() & read.keys():
            yield from differences(source[name], read[name], f"{path}.{name}")
    elif isinstance(source, list) and len(source) == len(read):
        for index, (left, right) in enumerate(zip(source, read, strict=True)):
            yield from differences(left, right, f"{path}[{index}]")
    else:
        yield f"{path}: {_short(source)} was read as {_short(read)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
