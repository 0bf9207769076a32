"""Condition operators (iam.md sections 3.4 and 4)."""

from __future__ import annotations

import operator
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final

from faradisc.auth.policy.model import PolicyError, Request
from faradisc.auth.policy.patterns import Test, arn_like, equal, is_arn, like
from faradisc.records import dataclass

Condition = Callable[[Request], bool]

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_MONTH: Final = re.compile(r"[0-9]{4}-[0-9]{2}")
_EPOCH_DIGITS_MAX: Final = 19
_BOOLEANS: Final = frozenset({"true", "false"})
LEGACY: Final = "The policy failed legacy parsing"


@dataclass(frozen=True, slots=True)
class _Operator:
    """`make` returns the test of one value of the policy; the flag says whether variables count.

    One value of several suffices, or none may be equal: then every test of a negated operator holds.
    """

    make: Callable[[str, bool], Test]
    negated: bool = False


def _never(text: str) -> Test:
    """Returns the test of a value that cannot be compared. Variables do not count there, and match nothing.

    Raises PolicyError for what names no variable: a denial of what nothing can match would deny nothing.
    """
    if "${" not in text:
        raise PolicyError(LEGACY, f'"{text}" is no value of its operator')
    return lambda value, request: False


def _not(make: Callable[[str, bool], Test]) -> Callable[[str, bool], Test]:
    def negated(text: str, variables: bool) -> Test:
        test = make(text, variables)
        return lambda value, request: not test(value, request)

    return negated


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(c.lower() if c.isascii() else c for c in text)


def _string_equals(text: str, variables: bool) -> Test:
    return equal(text, variables=variables)


def _string_equals_ignoring_case(text: str, variables: bool) -> Test:
    return equal(text, variables=variables, fold=_ascii_lower)


def _string_like(text: str, variables: bool) -> Test:
    return like(text, variables=variables)


def _number(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _moment(text: str) -> float | None:
    """Returns epoch seconds of a date in ISO 8601 or of digits, which are epoch seconds; None for neither."""
    if text.isdigit() and text.isascii():
        return int(text) if len(text) <= _EPOCH_DIGITS_MAX else None
    try:
        moment = datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text.upper())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _ordered(
    read: Callable[[str], Any], compare: Callable[[Any, Any], bool], text: str, _variables: bool
) -> Test:
    """Compares the request's value, which matches nothing unless it can be read, with the policy's."""
    wanted = read(text)
    if wanted is None and read is _moment:
        raise PolicyError(LEGACY, f'"{text}" is not a date')
    if wanted is None:
        return _never(text)

    def test(value: str, _request: Request) -> bool:
        given = read(value)
        return given is not None and compare(given, wanted)

    return test


def _bool(text: str, variables: bool) -> Test:
    if text.lower() not in _BOOLEANS and not (variables and "${" in text):
        raise PolicyError(LEGACY, f'"{text}" is neither true nor false')
    same = equal(text, variables=variables, fold=_ascii_lower)
    return lambda value, request: value.lower() in _BOOLEANS and same(value, request)


def _bytes(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return None


@lru_cache(256)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Returns an address; one of IPv4 that a socket of both versions shows as IPv6 is one of IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _ip_address(text: str, _variables: bool) -> Test:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return _never(text)

    def test(value: str, _request: Request) -> bool:
        address = _address(value)
        return address is not None and address in network

    return test


def _arn_like(text: str, variables: bool) -> Test:
    return arn_like(text, variables=variables, complete=False)


def _arn_not_like(text: str, variables: bool) -> Test:
    test = _arn_like(text, variables)
    return lambda value, request: is_arn(value) and not test(value, request)


_COMPARISONS: Final = {
    "Equals": operator.eq,
    "NotEquals": operator.ne,
    "LessThan": operator.lt,
    "LessThanEquals": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanEquals": operator.ge,
}
_OPERATORS: Final[Mapping[str, _Operator]] = {
    name.lower(): found
    for name, found in {
        "StringEquals": _Operator(_string_equals),
        "StringNotEquals": _Operator(_not(_string_equals), negated=True),
        "StringEqualsIgnoreCase": _Operator(_string_equals_ignoring_case),
        "StringNotEqualsIgnoreCase": _Operator(_not(_string_equals_ignoring_case), negated=True),
        "StringLike": _Operator(_string_like),
        "StringNotLike": _Operator(_not(_string_like), negated=True),
        **{
            f"Numeric{name}": _Operator(partial(_ordered, _number, compare), name == "NotEquals")
            for name, compare in _COMPARISONS.items()
        },
        **{
            f"Date{name}": _Operator(partial(_ordered, _moment, compare), name == "NotEquals")
            for name, compare in _COMPARISONS.items()
        },
        "Bool": _Operator(_bool),
        "BinaryEquals": _Operator(partial(_ordered, _bytes, operator.eq)),
        "IpAddress": _Operator(_ip_address),
        "NotIpAddress": _Operator(_not(_ip_address), negated=True),
        "ArnEquals": _Operator(_arn_like),
        "ArnLike": _Operator(_arn_like),
        "ArnNotEquals": _Operator(_arn_not_like, negated=True),
        "ArnNotLike": _Operator(_arn_not_like, negated=True),
    }.items()
}
_FORM: Final = re.compile(r"(?:(forallvalues|foranyvalue):)?([a-z]+?)(ifexists)?", re.ASCII)


def condition(name: str, key: str, values: Sequence[str], *, variables: bool) -> Condition:
    """Returns one operator for one key. Raises PolicyError if there is no such operator."""
    key = key.lower()
    form = _FORM.fullmatch(name.lower())
    if name.lower() == "null":
        return _null(key, values)
    if form is None or (found := _OPERATORS.get(form[2])) is None:
        raise PolicyError("Syntax errors in policy.", f'"{name}" is no condition operator')
    test = _combined(found, values, variables)
    absent = bool(form[3])
    if form[1] == "forallvalues":
        return _for_all_values(key, test)
    if form[1] == "foranyvalue":
        return _for_any_value(key, test, absent)
    return _plain(key, test, absent or found.negated)


def _combined(found: _Operator, values: Sequence[str], variables: bool) -> Test:
    """Returns the test of all values of one key."""
    if found.make is _string_equals and not (variables and any("${" in value for value in values)):
        texts = frozenset(values)
        return lambda value, _request: value in texts
    tests = [found.make(value, variables) for value in values]
    if len(tests) == 1:
        return tests[0]
    combine = all if found.negated else any
    return lambda value, request: combine(test(value, request) for test in tests)


def _plain(key: str, test: Test, absent: bool) -> Condition:
    """A key with several values needs a set operator: without one it does not match."""

    def holds(request: Request) -> bool:
        value = request.value(key)
        if isinstance(value, str):
            return test(value, request)
        return absent if value is None or not _several(value) else False

    return holds


def _for_all_values(key: str, test: Test) -> Condition:
    """True also for a key that is absent or empty."""

    def holds(request: Request) -> bool:
        value = request.value(key)
        if isinstance(value, str):
            return test(value, request)
        return value is None or all(test(each, request) for each in _several(value))

    return holds


def _for_any_value(key: str, test: Test, absent: bool) -> Condition:
    def holds(request: Request) -> bool:
        value = request.value(key)
        if isinstance(value, str):
            return test(value, request)
        if value is None or not _several(value):
            return absent
        return any(test(each, request) for each in value)

    return holds


def _several(value: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the values of a key. Raises TypeError for what is no value: a mistake is not an absence."""
    if not isinstance(value, tuple):
        raise TypeError(f"a condition key has the value {value!r}")
    return value


def _null(key: str, values: Sequence[str]) -> Condition:
    """The text "true" asks for a key that is absent or empty, "false" for one with a value."""
    wanted = {value.lower() for value in values}
    if not wanted <= _BOOLEANS:
        raise PolicyError(LEGACY, "a value of Null is neither true nor false")
    when_absent, when_present = "true" in wanted, "false" in wanted
    return lambda request: when_absent if request.value(key) in {None, ()} else when_present
