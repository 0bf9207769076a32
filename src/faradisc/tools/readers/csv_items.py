"""Reads items from CSV as a seed has it: with types of columns in the header, and empty fields left out.

`engine.formats.csv_rows` is the service's own form, for ImportTable.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from faradisc.tools.readers.item_values import parse_json, plain_value
from faradisc.tools.readers.seed import Line, SeedError

_TYPED_COLUMN = re.compile(r"(.+):(S|N|B|BOOL|SS|NS|BS|L|M)")


def csv_items(rows: Any, key_types: Mapping[str, str]) -> Iterator[Line | SeedError]:
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
    return plain_value(value)
