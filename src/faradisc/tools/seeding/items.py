"""Reads the items of one file: DynamoDB JSON, plain JSON, JSON lines, or CSV.

    NAME.json    a list of items, or an object with the list `Items`, as in an answer of Scan
    NAME.jsonl   an item per line, also as in an export: {"Item": {...}}
    NAME.csv     a header with attribute names, an item per line

An item is DynamoDB JSON when each of its attributes is an object whose only member is the name of a type.
Otherwise it is plain: strings, numbers, booleans, null, lists and maps become S, N, BOOL, NULL, L and M, and
key attributes have the types of the table's definition. In CSV an attribute is a string, except key
attributes and those with `name:TYPE` in the header; an empty field is no attribute.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from faradisc.model.values.attribute import TYPES
from faradisc.tools.seeding.seed import SeedError

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv")
_ITEMS = re.compile(r'"Items"\s*:\s*\[')
_SPACE = re.compile(r"\s*")
_TYPED_COLUMN = re.compile(r"(.+):(S|N|B|BOOL|SS|NS|BS|L|M)")


class Numeral(str):
    """The text of a number, with all of up to 38 digits."""


class Line(NamedTuple):
    number: int
    item: dict[str, Any]


def read_items(path: Path, key_types: Mapping[str, str]) -> Iterator[Line | SeedError]:
    """Yields the items of a file in DynamoDB JSON, and an error for each that is invalid.

    key_types: S, N or B by the names of the key attributes of the table and its indexes.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            if path.suffix == ".csv":
                yield from _csv_items(csv.reader(file, strict=True), key_types)
            elif path.suffix == ".json":
                yield from _converted(_json_items(file.read()), key_types)
            else:
                yield from _converted(_line_items(file), key_types)
    except UnicodeDecodeError as error:
        yield SeedError(f"the file is not UTF-8: {error.reason} at byte {error.start}", 1)
    except OSError as error:
        yield SeedError(f"the file cannot be read: {error.strerror}", 1)


Found = Iterator["tuple[int, Any] | SeedError"]


def _converted(found: Found, key_types: Mapping[str, str]) -> Iterator[Line | SeedError]:
    for each in found:
        if isinstance(each, SeedError):
            yield each
            continue
        number, item = each
        try:
            yield Line(number, dynamodb_item(item, key_types))
        except SeedError as error:
            yield SeedError(error.text, number)


def parse_json(text: str) -> Any:
    """Parses JSON with numbers as Numeral. Raises ValueError."""
    return _DECODER.decode(text.strip())


def _line_items(lines: Iterator[str]) -> Found:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = parse_json(line)
        except ValueError as error:
            yield SeedError(f"not valid JSON: {getattr(error, 'msg', error)}", number)
            continue
        if isinstance(item, dict) and set(item) == {"Item"}:
            item = item["Item"]
        yield number, item


_DECODER = json.JSONDecoder(parse_float=Numeral, parse_int=Numeral)


def _json_items(text: str) -> Found:
    """Yields the members of the list, each with its line."""
    start = _SPACE.match(text)
    at = start.end() if start is not None else 0
    if not text.startswith("[", at):
        wrapped = _ITEMS.search(text)
        if wrapped is None:
            yield SeedError("the file has no list of items.", 1)
            return
        at = wrapped.end() - 1
    at += 1
    line, counted = 1, 0
    while True:
        at = _skipped(text, at)
        line, counted = line + text.count("\n", counted, at), at
        if text.startswith("]", at):
            return
        try:
            item, at = _DECODER.raw_decode(text, at)
        except ValueError as error:
            position = getattr(error, "pos", at)
            message = getattr(error, "msg", str(error))
            yield SeedError(f"not valid JSON: {message}", text.count("\n", 0, position) + 1)
            return
        yield line, item
        at = _skipped(text, at)
        if text.startswith(",", at):
            at += 1
        elif not text.startswith("]", at):
            message = "not valid JSON: a comma or the end of the list is missing"
            yield SeedError(message, text.count("\n", 0, at) + 1)
            return


def _skipped(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


# --- Values --------------------------------------------------------------------------------------


def dynamodb_item(item: Any, key_types: Mapping[str, str]) -> dict[str, Any]:
    """Converts an item, plain or DynamoDB JSON, to DynamoDB JSON. Raises SeedError."""
    if not isinstance(item, dict):
        raise SeedError("an item must be an object.")
    if item and all(_is_typed(value) for value in item.values()):
        return {name: _without_numerals(value) for name, value in item.items()}
    made: dict[str, Any] = {}
    for name, value in item.items():
        kind = key_types.get(name)
        made[name] = _plain(value) if kind is None else _key_value(name, value, kind)
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


def _plain(value: Any) -> dict[str, Any]:
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
        return {"L": [_plain(each) for each in value]}
    return {"M": {name: _plain(each) for name, each in value.items()}}


def _key_value(name: str, value: Any, kind: str) -> dict[str, Any]:
    if not isinstance(value, str):
        raise SeedError(f"{name} is a key attribute and must have the type {kind}.")
    if isinstance(value, Numeral) and kind != "N":
        raise SeedError(f"{name} is a key attribute of type {kind}, not a number.")
    return {kind: str(value)}


# --- CSV -----------------------------------------------------------------------------------------


def _csv_items(rows: Any, key_types: Mapping[str, str]) -> Iterator[Line | SeedError]:
    """rows: a csv.reader. Its `line_num` is the last line of a row, so the next row begins on the line
    after."""
    try:
        header = next(rows, None)
    except csv.Error as error:
        yield SeedError(f"not valid CSV: {error}", 1)
        return
    if not header:
        yield SeedError("the header with the attribute names is missing.", 1)
        return
    columns = [_column(name, key_types) for name in header]
    names = [name for name, _ in columns]
    if "" in names or len(set(names)) < len(names):
        yield SeedError("the header has an empty name, or one twice.", 1)
        return
    while True:
        line = rows.line_num + 1
        try:
            fields = next(rows, None)
        except csv.Error as error:
            yield SeedError(f"not valid CSV: {error}", rows.line_num)
            return
        if fields is None:
            return
        if not fields:
            continue
        if len(fields) != len(columns):
            yield SeedError(f"the row has {len(fields)} fields, the header {len(columns)}.", line)
            continue
        try:
            yield Line(
                line,
                {name: _value_of_field(name, kind, text) for (name, kind), text in _filled(columns, fields)},
            )
        except SeedError as error:
            yield SeedError(error.text, line)


Column = tuple[str, str]


def _column(name: str, key_types: Mapping[str, str]) -> Column:
    """Returns (attribute, type) of a column from its header."""
    typed = _TYPED_COLUMN.fullmatch(name)
    if typed is not None and name not in key_types:
        return typed[1], typed[2]
    return name, key_types.get(name, "S")


def _filled(columns: list[Column], fields: list[str]) -> Iterator[tuple[Column, str]]:
    return ((column, field) for column, field in zip(columns, fields, strict=True) if field != "")


def _value_of_field(name: str, kind: str, text: str) -> dict[str, Any]:
    if kind in ("S", "N", "B"):
        return {kind: text}
    if kind == "BOOL":
        if text.lower() not in ("true", "false"):
            raise SeedError(f"{name} must be true or false.")
        return {"BOOL": text.lower() == "true"}
    try:
        value = parse_json(text)
    except ValueError as error:
        raise SeedError(f"{name} must be JSON: {getattr(error, 'msg', error)}") from error
    if kind in ("SS", "NS", "BS"):
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise SeedError(f"{name} must be a list of strings or numbers.")
        return {kind: [str(each) for each in value]}
    if not isinstance(value, list if kind == "L" else dict):
        raise SeedError(f"{name} must be a {'list' if kind == 'L' else 'map'}.")
    return _plain(value)
