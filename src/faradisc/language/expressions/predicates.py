"""Operators and boolean functions: each function here returns a test of an item.

Operands are bound: either a constant attribute value (a dict) or a reader, a function that returns a value of
the item or None where there is none. Tests do not raise; a missing or unsuitable value makes a test false,
except `<>`, which it makes true.

Equality of canonical values is Python's `==` (model/values/attribute.py). Strings are ordered by UTF-8
bytes, which is the order of Python's strings; numbers by value; binaries as unsigned bytes.

Source: expressions.md section 2, "Semantics".
"""

from __future__ import annotations

import operator as _operators
from binascii import a2b_base64
from collections.abc import Callable
from typing import Any, TypeAlias

from faradisc.model.values import number
from faradisc.model.values import path as paths
from faradisc.model.values.attribute import ORDERED_TYPES, SET_TYPES, AttributeValue, Item, type_of

Reader: TypeAlias = Callable[[Item], AttributeValue | None]
Bound: TypeAlias = AttributeValue | Reader
Test: TypeAlias = Callable[[Item], bool]

_ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": _operators.lt,
    "<=": _operators.le,
    ">": _operators.gt,
    ">=": _operators.ge,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SORT_KEYS: dict[str, Callable[[str], Any]] = {"S": str, "N": number.sort_key, "B": a2b_base64}


def reader_of_path(path: paths.Path) -> Reader:
    if len(path) == 1:
        name = path[0]
        return lambda item: item.get(name)  # type: ignore[arg-type]
    return lambda item: paths.get(item, path)


def _reader(operand: Bound) -> Reader:
    if isinstance(operand, dict):
        constant = operand
        return lambda item: constant
    return operand


# --- Comparators ---------------------------------------------------------------------------------


def equal(left: Bound, right: Bound) -> Test:
    if isinstance(left, dict):
        left, right = right, left
    read = _reader(left)
    if isinstance(right, dict):
        constant = right
        return lambda item: read(item) == constant
    read_right = right

    def test(item: Item) -> bool:
        value = read(item)
        return value is not None and value == read_right(item)

    return test


def not_equal(left: Bound, right: Bound) -> Test:
    same = equal(left, right)
    return lambda item: not same(item)


def ordered(operator: str, left: Bound, right: Bound) -> Test:
    """Tests `<`, `<=`, `>` or `>=`: false unless both sides are of one type among S, N and B."""
    if isinstance(left, dict) and not isinstance(right, dict):
        left, right, operator = right, left, _MIRRORED[operator]
    holds = _ORDERINGS[operator]
    read = _reader(left)
    if isinstance(right, dict):
        kind = type_of(right)
        if kind not in ORDERED_TYPES:
            return _never
        sort_key = _SORT_KEYS[kind]
        bound = sort_key(right[kind])

        def against_constant(item: Item) -> bool:
            value = read(item)
            if value is None:
                return False
            content = value.get(kind)
            return content is not None and holds(sort_key(content), bound)

        return against_constant
    read_right = right

    def against_value(item: Item) -> bool:
        value, other = read(item), read_right(item)
        if value is None or other is None:
            return False
        kind = type_of(value)
        if kind not in ORDERED_TYPES or kind not in other:
            return False
        sort_key = _SORT_KEYS[kind]
        return holds(sort_key(value[kind]), sort_key(other[kind]))

    return against_value


def _never(item: Item) -> bool:
    return False


def between(operand: Bound, lower: Bound, upper: Bound) -> Test:
    """Tests a range that includes both ends."""
    return both(ordered(">=", operand, lower), ordered("<=", operand, upper))


def one_of(operand: Bound, options: list[Bound]) -> Test:
    read = _reader(operand)
    scalars: set[tuple[str, str]] = set()
    others: list[AttributeValue] = []
    readers: list[Reader] = []
    for option in options:
        if not isinstance(option, dict):
            readers.append(option)
        elif (kind := type_of(option)) in ORDERED_TYPES:
            scalars.add((kind, option[kind]))
        else:
            others.append(option)

    def test(item: Item) -> bool:
        value = read(item)
        if value is None:
            return False
        kind = type_of(value)
        if kind in ORDERED_TYPES:
            if (kind, value[kind]) in scalars:
                return True
        elif value in others:
            return True
        return any(value == other(item) for other in readers)

    return test


# --- Functions -----------------------------------------------------------------------------------


def exists(path: paths.Path) -> Test:
    if len(path) == 1:
        name = path[0]
        return lambda item: name in item
    return lambda item: paths.get(item, path) is not None


def not_exists(path: paths.Path) -> Test:
    if len(path) == 1:
        name = path[0]
        return lambda item: name not in item
    return lambda item: paths.get(item, path) is None


def has_type(operand: Bound, kind: str) -> Test:
    read = _reader(operand)

    def test(item: Item) -> bool:
        value = read(item)
        return value is not None and kind in value

    return test


def begins_with(operand: Bound, prefix: Bound) -> Test:
    read, read_prefix = _reader(operand), _reader(prefix)

    def test(item: Item) -> bool:
        value, start = read(item), read_prefix(item)
        if value is None or start is None:
            return False
        if "S" in value:
            return "S" in start and value["S"].startswith(start["S"])
        return "B" in value and "B" in start and a2b_base64(value["B"]).startswith(a2b_base64(start["B"]))

    return test


def contains(container: Bound, member: Bound) -> Test:
    """Tests for a substring of a string or binary, or an element of a set or list (deep equality)."""
    read, read_member = _reader(container), _reader(member)

    def test(item: Item) -> bool:
        value, sought = read(item), read_member(item)
        return value is not None and sought is not None and _contains(value, sought)

    return test


def _contains(value: AttributeValue, sought: AttributeValue) -> bool:
    kind = type_of(value)
    if kind == "L":
        return sought in value["L"]
    if kind in SET_TYPES:
        return kind[0] in sought and sought[kind[0]] in value[kind]
    if kind == "S":
        return "S" in sought and sought["S"] in value["S"]
    return kind == "B" and "B" in sought and a2b_base64(sought["B"]) in a2b_base64(value["B"])


def truth_of(test: Test) -> Reader:
    """Returns a reader of the outcome of a test as a BOOL."""
    return lambda item: {"BOOL": test(item)}


def size_of(operand: Bound) -> Reader:
    """Returns a reader of the size as a number; None for N, BOOL, NULL and missing values."""
    read = _reader(operand)

    def size(item: Item) -> AttributeValue | None:
        value = read(item)
        if value is None:
            return None
        ((kind, content),) = value.items()
        if kind == "S":
            return {"N": str(_utf16_units(content))}
        if kind == "B":
            return {"N": str(len(a2b_base64(content)))}
        if kind in ("L", "M") or kind in SET_TYPES:
            return {"N": str(len(content))}
        return None

    return size


def _utf16_units(text: str) -> int:
    """Returns the UTF-16 code units of a text, as captures show; documentation says characters
    (expressions.md)."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


# --- Connectives ---------------------------------------------------------------------------------


def both(first: Test, second: Test) -> Test:
    return lambda item: first(item) and second(item)


def all_of(tests: list[Test]) -> Test:
    if len(tests) == 2:
        return both(tests[0], tests[1])

    def every(item: Item) -> bool:
        for test in tests:  # noqa: SIM110 -- all() with a generator costs a second frame per test
            if not test(item):
                return False
        return True

    return every


def any_of(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda item: first(item) or second(item)

    def some(item: Item) -> bool:
        for test in tests:  # noqa: SIM110
            if test(item):
                return True
        return False

    return some


def negated(test: Test) -> Test:
    return lambda item: not test(item)
