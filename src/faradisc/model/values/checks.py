"""Checks of attribute values as clients send them, and their canonical form.

Two functions for the same rules. `canonical_size` is the fast one: it makes a value canonical in place and
returns its size, or a negative number for a malformed value. It checks the JSON types too, so one pass per
request is enough. For a malformed value, `check_value` then finds the first error and raises it with the
service's text.

Sources: errors.md sections 3 ("Two layers in 2026"), 6.2 and 11, limits.md section 2.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import orjson

from faradisc.errors import EMPTY_NAME, RequestRuleError, ValidationException
from faradisc.limits import ECHO_CHARACTERS_MAX, NESTING_LEVELS_MAX
from faradisc.model.values import number
from faradisc.model.values.attribute import SET_TYPES, TYPES, AttributeValue, sorted_set
from faradisc.model.values.size import binary_size, value_size

MALFORMED = -1
"""Returned in place of a size for a malformed value."""

NESTED_CONTAINERS_MAX = NESTING_LEVELS_MAX - 1
"""The item is the first level: a value of 31 nested maps is accepted, of 32 is not (limits.md section 2)."""

_SORTED_MEMBERS_MAX = 204_800
"""A set of more distinct members is larger than an item may be: it is rejected, and its order never shows."""
_MEMBERS_AT_ONCE = 16_384
"""Other threads run between calls of C code, so a long one is divided (protocol/front.py, large bodies)."""


def canonicalise(raw: object) -> bool:
    """Makes one decoded AttributeValue canonical in place. Returns whether it is well formed.

    A malformed value may be partly canonical afterwards, which changes no error text.
    """
    return _canonical_size((raw,), []) >= 0


def canonical_size(raw: object) -> int:
    """Makes one decoded AttributeValue canonical in place. Returns its bytes (model/values/size.py).

    Negative for a malformed value.
    """
    return _canonical_size((raw,), [])


def canonical_item_size(item: dict[str, Any]) -> int:
    """Makes an item canonical in place. Returns the bytes of its names and values; negative if malformed."""
    if "" in item:
        return MALFORMED
    return _canonical_size(item.values(), [*item])


def _canonical_size(members: Iterable[Any], texts: list[str]) -> int:
    try:
        size = _canonicalise_members(members, texts, NESTED_CONTAINERS_MAX)
        joined = "".join(texts)
    except (AttributeError, TypeError, ValueError):
        return MALFORMED
    return size + (len(joined) if joined.isascii() else len(joined.encode()))


def _canonicalise_members(members: Iterable[Any], texts: list[str], levels: int) -> int:
    """Makes the values of an item, a map or a list canonical. Returns their bytes without names and strings.

    Names and strings are added to `texts`, so that the caller measures them as one text; joining them also
    checks their types. Raises: AttributeError, TypeError or ValueError for a malformed value, from its use
    without a check of its type, which would cost time on every valid value.
    """
    size = 0
    for member in members:
        text = member.get("S")
        if text is not None and len(member) == 1:
            texts.append(text)
            continue
        (kind,) = member
        content = member[kind]
        if kind == "N":
            bytes_of_number = number.plain_size(content)
            if not bytes_of_number:
                member["N"] = canonical = number.parse(content)
                bytes_of_number = number.size_bytes(canonical)
            size += bytes_of_number
        elif kind == "M" and levels and "" not in content:
            texts += content
            size += 3 + len(content) + _canonicalise_members(content.values(), texts, levels - 1)
        elif kind == "L" and levels and type(content) is list:
            size += 3 + len(content) + _canonicalise_members(content, texts, levels - 1)
        elif (kind == "BOOL" and type(content) is bool) or (kind == "NULL" and content is True):
            size += 1
        elif kind == "B" and _is_canonical_base64(content):
            size += binary_size(content)
        elif kind in SET_TYPES and _canonicalise_set(member, kind, content):
            size += value_size(member)
        else:
            raise ValueError(kind)
    return size


def _is_canonical_base64(text: str) -> bool:
    try:
        return b2a_base64(a2b_base64(text, strict_mode=True), newline=False) == text.encode()
    except (ValueError, Base64Error):
        return text == ""


def _canonicalise_set(raw: dict[str, Any], kind: str, members: object) -> bool:
    if type(members) is not list or not members or not all(type(member) is str for member in members):
        return False
    if kind == "NS":
        try:
            members = [number.parse(member) if member else "" for member in members]
        except number.NumberError:
            return False
        if "" in members:
            return False
    elif kind == "BS" and not all(map(_is_canonical_base64, members)):
        return False
    if not _are_distinct(members):
        return False
    if 1 < len(members) <= _SORTED_MEMBERS_MAX:
        members = sorted_set(kind, members)
    raw[kind] = members
    return True


def _are_distinct(members: list[str]) -> bool:
    if len(members) <= _MEMBERS_AT_ONCE:
        return len(set(members)) == len(members)
    distinct: set[str] = set()
    for start in range(0, len(members), _MEMBERS_AT_ONCE):
        distinct.update(members[start : start + _MEMBERS_AT_ONCE])
    return len(distinct) == len(members)


class Wording(Enum):
    """The variant of some error texts, by operation; see protocol/overrides.py."""

    NEW = "new"
    OLD = "old"


EMPTY_VALUE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
PATH_NESTING_EXCEEDED = "Nesting Levels have exceeded supported limits"
NESTING_EXCEEDED = (
    f"{PATH_NESTING_EXCEEDED}: Attributes in the item have nested levels beyond supported limit"
)
_INVALID = "One or more parameter values were invalid: "


_CURRENT_LAYER_LEVELS_MAX = 62


def has_deep_value(request: dict[str, Any]) -> bool:
    """Whether a value in a request has more than 62 levels of maps and lists: then the older layer checks
    the request (errors.md sections 4 and 11, captured for the single-item writes and Query)."""
    pending: list[tuple[Any, int]] = [(request, 0)]
    while pending:
        value, level = pending.pop()
        if level > _CURRENT_LAYER_LEVELS_MAX:
            return True
        if type(value) is list:
            pending.extend((element, level) for element in value)
        elif type(value) is dict:
            pending.extend((member, level + (name in ("M", "L"))) for name, member in value.items())
    return False


def check_values(
    values: Mapping[str, AttributeValue], wording: Wording, levels: int = NESTED_CONTAINERS_MAX
) -> None:
    """Checks named values as `check_value` does, and their names."""
    for name, value in values.items():
        if not name:
            raise RequestRuleError(EMPTY_NAME)
        check_value(value, wording, levels)


def check_value(raw: AttributeValue, wording: Wording, levels: int = NESTED_CONTAINERS_MAX) -> None:
    """Makes one value canonical in place, or raises the service's error for its first mistake.

    Requires: JSON types checked (protocol/serialization.py). levels: of maps and lists that it may have.
    Raises: ValidationException for an empty or multi-typed value, RequestRuleError for all others.
    """
    kinds = [kind for kind in raw if kind in TYPES]
    if not kinds:
        raise ValidationException(EMPTY_VALUE)
    if len(kinds) > 1:
        _check_members_apart(raw, wording)
        raise ValidationException(SEVERAL_TYPES)
    kind = kinds[0]
    content = raw[kind]
    if len(raw) > 1:
        raw.clear()
        raw[kind] = content
    if kind == "N":
        raw["N"] = checked_number(content, wording)
    elif kind == "NULL" and content is not True:
        raise RequestRuleError(_NULL_FALSE)
    elif kind in ("SS", "NS", "BS"):
        raw[kind] = _checked_set(kind, content, wording)
    elif kind in ("L", "M"):
        if not levels:
            raise RequestRuleError(NESTING_EXCEEDED)
        if kind == "M":
            check_values(content, wording, levels - 1)
        else:
            for member in content:
                check_value(member, wording, levels - 1)


_NULL_FALSE = _INVALID + "Null attribute value types must have the value of true"


def _check_members_apart(raw: AttributeValue, wording: Wording) -> None:
    """Raises RequestRuleError for what the service finds in several members before it counts them."""
    for kind, text in _EMPTY_SET.items():
        if raw.get(kind) == []:
            raise RequestRuleError(text)
    for text in (*(raw[kind] for kind in ("N",) if kind in raw), *raw.get("NS", ())):
        checked_number(text, wording)
    if raw.get("NULL") is False:
        raise RequestRuleError(_NULL_FALSE)


def checked_number(text: str, wording: Wording) -> str:
    """Returns the canonical form of a number. Raises RequestRuleError with the service's text."""
    try:
        if text == "":
            raise number.NotANumber(text)
        return number.parse(text)
    except number.NumberError as error:
        raise RequestRuleError(number_message(error, text, wording)) from None


def number_message(error: number.NumberError, text: str, wording: Wording) -> str:
    """Returns the service's error text for a number that cannot be stored."""
    out_of_range = isinstance(error, number.Overflow | number.Underflow)
    if wording is Wording.OLD and out_of_range and not number.reads_as_big_decimal(text):
        error = number.NotANumber(text)
    match error:
        case number.Overflow() if wording is Wording.NEW or not number.overflows_big_decimal(text):
            return "Number overflow. Attempting to store a number with magnitude larger than supported range"
        case number.Underflow() | number.Overflow():
            return (
                "Number underflow. Attempting to store a number with magnitude smaller than supported range"
            )
        case number.TooManyDigits():
            return "Attempting to store more than 38 significant digits in a Number"
        case _ if text == "" and wording is Wording.OLD:
            return "The parameter cannot be converted to a numeric value"
        case _:
            return f"The parameter cannot be converted to a numeric value: {text}"


_EMPTY_SET = {
    "SS": _INVALID + "An string set  may not be empty",
    "NS": _INVALID + "An number set  may not be empty",
    "BS": _INVALID + "Binary sets should not be empty",
}


def _checked_set(kind: str, members: list[str], wording: Wording) -> list[str]:
    if not members:
        raise RequestRuleError(_EMPTY_SET[kind])
    if kind == "NS":
        members = [checked_number(member, wording) for member in members]
    if len(set(members)) != len(members):
        raise RequestRuleError(_duplicates_message(kind, members, wording))
    return sorted_set(kind, members)


def _duplicates_message(kind: str, members: list[str], wording: Wording) -> str:
    """The newer layer shows what it has read before the first repeat in order, then the others as sent."""
    new = wording is Wording.NEW
    if kind == "NS":
        return (
            _INVALID + "Input collection contains duplicates."
            if new
            else ("Input collection contains duplicates")
        )
    if new:
        before: dict[str, None] = {}
        while members[len(before)] not in before:
            before[members[len(before)]] = None
        shown_order = (*sorted_set(kind, list(before)), *members[len(before) :])
        quoted = [orjson.dumps(member).decode() for member in shown_order]
    if kind == "SS":
        shown = f"[{', '.join(quoted)}]" if new else _java_list(members)
        return f"{_INVALID}Input collection {shown[:ECHO_CHARACTERS_MAX]} contains duplicates."
    shown = f"[{','.join(quoted)}]" if new else _java_list(_signed_order(members))
    return f"{_INVALID}Input collection {shown[:ECHO_CHARACTERS_MAX]}of type BS contains duplicates."


def _signed_order(members: list[str]) -> list[str]:
    """Returns the members in the order of Java's signed bytes.

    Assumed: from the old layer's one capture, `[/w==, AA==, AA==]`.
    """
    return sorted(members, key=lambda member: [(byte ^ 0x80) for byte in a2b_base64(member)])


def _java_list(members: list[str]) -> str:
    return "[" + ", ".join(members) + "]"
