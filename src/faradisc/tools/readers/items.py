"""Reads the items of one file: DynamoDB JSON, plain JSON, JSON lines, CSV, Ion, or an export.

    NAME.json    a list of items, an object with the list `Items`, as in an answer of Scan, or a request of
                 BatchWriteItem
    NAME.jsonl   an item per line, also as in an export: {"Item": {...}}
    NAME.csv     a header with attribute names, an item per line
    NAME.ion, and all of them with .gz or .zst; NAME/ is an export with its manifests

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
from typing import Any

from faradisc.engine.exchange.object_reader import KeyAttributes, ObjectReader
from faradisc.engine.formats.compression import InputDamaged, Unavailable
from faradisc.engine.formats.json_lines import Malformed
from faradisc.tools.readers.batches import puts_of
from faradisc.tools.readers.csv_items import csv_items
from faradisc.tools.readers.inputs import NoInput, find_input
from faradisc.tools.readers.item_values import DECODER, dynamodb_item, parse_json
from faradisc.tools.readers.recognising import (
    FIRST_BYTES,
    InputKind,
    kind_of_bytes,
    kind_of_document,
    kind_of_file,
)
from faradisc.tools.readers.seed import Line, SeedError, line_of

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".ion")
_NAME = re.compile(rf"(.+?)({'|'.join(map(re.escape, SUFFIXES))})(\.gz|\.zst)?")
_ITEMS = re.compile(r'"Items"\s*:\s*\[')
_REQUESTS = re.compile(r'\[\s*\{\s*"[^"\\]+"\s*:\s*(\{\s*"[^"\\]+"\s*:\s*)?\[\s*\{\s*"(Put|Delete)Request"')
_SPACE = re.compile(r"\s*")


def table_of_name(name: str) -> str | None:
    """Returns the table whose items a file has, by its name; None for the name of another file."""
    found = _NAME.fullmatch(name)
    return found[1] if found is not None else None


def read_items(
    path: Path, key_types: Mapping[str, str], table: str | None = None
) -> Iterator[Line | SeedError]:
    """Yields the items of a file in DynamoDB JSON, and an error for each that is invalid.

    table: whose items a BatchWriteItem request must have; None: those of any one.
    key_types: S, N or B by the names of the key attributes of the table and its indexes.
    """
    try:
        kind = None if path.is_dir() else kind_of_bytes(_first_bytes(path))
        if path.is_dir() or kind in (InputKind.COMPRESSED, InputKind.ION):
            yield from _of_input(path, key_types)
        elif kind is not None:
            yield SeedError(f"the file is {kind.title}: {kind.use}.", 1)
        else:
            yield from _of_text(path, key_types, table)
    except UnicodeDecodeError as error:
        yield SeedError(f"the file is not UTF-8: {error.reason} at byte {error.start}", 1)
    except OSError as error:
        yield SeedError(f"the file cannot be read: {error.strerror}", 1)
    except RecursionError:
        yield SeedError("it is nested too deeply.", 1)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(FIRST_BYTES)


def _of_text(path: Path, key_types: Mapping[str, str], table: str | None) -> Iterator[Line | SeedError]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        if path.suffix == ".csv":
            yield from csv_items(csv.reader(file, strict=True), key_types)
        elif path.suffix == ".json" and not _has_lines(path):
            yield from _converted(_json_items(file.read(), table), key_types)
        else:
            yield from _converted(_line_items(file), key_types)


def _has_lines(path: Path) -> bool:
    """Returns whether a file has a document in each of several lines."""
    return (
        kind_of_file(path) in (InputKind.ITEM_LINES, InputKind.EXPORT_LINES)
        and b"\n" in _first_bytes(path).strip()
    )


def _of_input(path: Path, key_types: Mapping[str, str]) -> Iterator[Line | SeedError]:
    """Yields the items of what an import reads. The number of a record stands for its line."""
    try:
        given = find_input(path)
        given.source.check_libraries()
        if given.changes:
            raise NoInput("an incremental export is no whole table; `faradisc import` applies it.")
        for file in given.files:
            with file.path.open("rb") as opened:
                reader = ObjectReader(opened, given.source, KeyAttributes(key_types, frozenset()))
                for number, record in enumerate(reader.records, 1):
                    item = None if isinstance(record, Malformed) else record.get("Item")
                    if item is None:
                        text = record.reason if isinstance(record, Malformed) else "the record has no Item"
                        yield SeedError(f"{text}.", number)
                        continue
                    try:
                        yield Line(number, dynamodb_item(item, key_types))
                    except SeedError as error:
                        yield SeedError(error.text, number)
    except (NoInput, InputDamaged, Unavailable) as error:
        yield SeedError(str(error), 1)


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


def _batched(text: str, table: str | None) -> Found:
    """Yields the items of a BatchWriteItem request; an error when it is none."""
    if not text.strip():
        yield SeedError("the file has no list of items.", 1)
        return
    try:
        document = parse_json(text)
        kind = kind_of_document(document)
        if kind is InputKind.WORKBENCH:
            yield from _sample_items(document, text, table)
            return
        if kind is not InputKind.BATCH:
            what = "" if kind is None else f"; it is {kind.title}: {kind.use}"
            yield SeedError(f"the file has no list of items{what}.", 1)
            return
        named = {name for name, _ in puts_of(document)}
        wanted = table or (next(iter(named)) if len(named) == 1 else None)
        if wanted is None or named - {wanted}:
            yield SeedError(f"the file has items of the tables {', '.join(sorted(named))}.", 1)
            return
        for _, item in puts_of(document):
            yield line_of(text, rf"{re.escape(json.dumps(wanted))}\s*:"), item
    except SeedError as error:
        yield SeedError(error.text, 1)
    except ValueError as error:
        yield SeedError(f"not valid JSON: {getattr(error, 'msg', error)}", getattr(error, "lineno", 1))


def _sample_items(model: Mapping[str, Any], text: str, table: str | None) -> Found:
    """Yields the sample items of a table in a NoSQL Workbench model."""
    tables = [each for each in model["DataModel"] if isinstance(each, dict)]
    found = [each for each in tables if each.get("TableName") == table or table is None]
    items = found[0].get("TableData") if len(found) == 1 else None
    if not isinstance(items, list):
        names = ", ".join(str(each.get("TableName")) for each in tables)
        yield SeedError(f"the model has sample items of its tables only: {names}.", 1)
        return
    line = line_of(text, rf'"TableName"\s*:\s*{re.escape(json.dumps(found[0].get("TableName")))}')
    for item in items:
        yield line, item


def _json_items(text: str, table: str | None) -> Found:
    """Yields the members of the list, each with its line."""
    start = _SPACE.match(text)
    at = start.end() if start is not None else 0
    if not text.startswith("[", at):
        wrapped = _ITEMS.search(text)
        if wrapped is None:
            yield from _batched(text, table)
            return
        at = wrapped.end() - 1
    elif _REQUESTS.match(text, at):
        yield from _batched(text, table)
        return
    at += 1
    line, counted = 1, 0
    while True:
        at = _skipped(text, at)
        line, counted = line + text.count("\n", counted, at), at
        if text.startswith("]", at):
            return
        try:
            item, at = DECODER.raw_decode(text, at)
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
