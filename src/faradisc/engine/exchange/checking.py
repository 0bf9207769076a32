"""Checks one item read from a file: makes it canonical and measures it, or rejects it with the service's
text.

`canonical_size` is the fast walk of requests (model/values/checks.py) with the rules for names. Only when it
fails the slow checks find the reason. Both apply the rules of PutItem.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.change import PUT_TOO_LARGE, check_names, is_too_large
from faradisc.engine.tables.keys import check_index_keys, check_item_keys
from faradisc.engine.tables.table import Table
from faradisc.errors import ValidationException
from faradisc.limits import ATTRIBUTE_NAME_BYTES_MAX
from faradisc.model.values.attribute import Item
from faradisc.model.values.checks import (
    EMPTY_VALUE,
    MALFORMED,
    Wording,
    canonical_item_size,
    canonicalise,
    check_value,
)

_WRONG_TYPE = "The JSON type of an attribute value is not that of its attribute type"


def checked_item(item: object, table: Table) -> int:
    """Makes an item canonical in place and returns its size in bytes.

    Raises ValidationException with the reason why it cannot be put into the table.
    """
    size = canonical_size(item) if type(item) is dict else -1
    if size < 0:
        raise ValidationException(reason_of(item))
    if is_too_large(table, item, size):  # type: ignore[arg-type]
        raise ValidationException(PUT_TOO_LARGE)
    checked: Item = item  # type: ignore[assignment]
    if not table.key.is_plain(checked):
        check_item_keys(checked, table.key)
    for index in table.indexes:
        check_index_keys(checked, index.schema)
    return size


def canonical_size(item: Item) -> int:
    """Makes an item canonical in place and returns its size in bytes; negative when it is malformed."""
    size = canonical_item_size(item)
    if size > ATTRIBUTE_NAME_BYTES_MAX or "" in item:
        try:
            check_names(item)
        except ValidationException:
            return MALFORMED
    return size


def reason_of(item: object) -> str:
    """Returns the reason why an item is malformed. Requires that `canonical_size` has found it malformed."""
    if type(item) is not dict:
        return "The item is no map of attributes"
    try:
        check_names(item)
    except ValidationException as error:
        return str(error.message)
    for value in item.values():
        if not _has_json_types(value):
            return _WRONG_TYPE
        try:
            check_value(value, Wording.NEW)
        except ValidationException as error:
            return str(error.message)
        except ValueError:
            return _WRONG_TYPE
        if not canonicalise(value):
            return _WRONG_TYPE
    return EMPTY_VALUE


_JSON_TYPES: dict[str, type] = {"S": str, "N": str, "B": str, "BOOL": bool, "NULL": bool}


def _has_json_types(value: Any, levels: int = 64) -> bool:
    """Returns whether the members of an attribute value have the required JSON types."""
    if type(value) is not dict or not levels:
        return False
    for kind, content in value.items():
        if kind in _JSON_TYPES:
            fits = type(content) is _JSON_TYPES[kind]
        elif kind in ("SS", "NS", "BS"):
            fits = type(content) is list and all(type(member) is str for member in content)
        elif kind == "L":
            fits = type(content) is list and all(_has_json_types(each, levels - 1) for each in content)
        elif kind == "M":
            fits = type(content) is dict and all(
                _has_json_types(each, levels - 1) for each in content.values()
            )
        else:
            fits = True
        if not fits:
            return False
    return True
