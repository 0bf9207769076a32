"""Items in DynamoDB JSON, from plain JSON or DynamoDB JSON.

An item is DynamoDB JSON when each of its attributes is an object whose only member is the name of a type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from faradisc.model.values.attribute import TYPES
from faradisc.tools.readers.seed import SeedError, distinct


class Numeral(str):
    """The text of a number, with all of up to 38 digits."""


DECODER = json.JSONDecoder(parse_float=Numeral, parse_int=Numeral, object_pairs_hook=distinct)


def parse_json(text: str) -> Any:
    """Parses JSON with numbers as Numeral. Raises ValueError."""
    return DECODER.decode(text.strip())


def dynamodb_item(item: Any, key_types: Mapping[str, str]) -> dict[str, Any]:
    """Converts an item, plain or DynamoDB JSON, to DynamoDB JSON. Raises SeedError."""
    if not isinstance(item, dict):
        raise SeedError("an item must be an object.")
    if item and all(_is_typed(value) for value in item.values()):
        return {name: _without_numerals(value) for name, value in item.items()}
    made: dict[str, Any] = {}
    for name, value in item.items():
        kind = key_types.get(name)
        made[name] = plain_value(value) if kind is None else _key_value(name, value, kind)
    return made


def _is_typed(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in TYPES


def _without_numerals(value: Any) -> Any:
    """Replaces numbers by their texts: DynamoDB JSON has numbers as strings."""
    if isinstance(value, dict):
        return {name: _without_numerals(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_numerals(each) for each in value]
    return str(value) if isinstance(value, Numeral) else value


def plain_value(value: Any) -> dict[str, Any]:
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, Numeral):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, float):
        raise SeedError("NaN and Infinity are not valid numbers.")
    if isinstance(value, list):
        return {"L": [plain_value(each) for each in value]}
    return {"M": {name: plain_value(each) for name, each in value.items()}}


def _key_value(name: str, value: Any, kind: str) -> dict[str, Any]:
    if not isinstance(value, str):
        raise SeedError(f"{name} is a key attribute and must have the type {kind}.")
    if isinstance(value, Numeral) and kind != "N":
        raise SeedError(f"{name} is a key attribute of type {kind}, not a number.")
    return {kind: str(value)}
