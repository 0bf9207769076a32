"""The content of a seed directory: tables with their settings, items, and the files of items."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from faradisc.records import dataclass, field

STREAM = ""
"""As the ResourceArn of a request: the stream of its table, whose ARN is not known before it is there."""


class Location(NamedTuple):
    file: str
    """Relative to the seed directory."""
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class LocatedError(NamedTuple):
    """An error in a seed."""

    location: Location
    text: str

    def __str__(self) -> str:
        return f"{self.location}: {self.text}"


class SeedError(Exception):
    """Raised for an error in a file; its reader collects it as a LocatedError."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        """None: the line of the definition."""


class Line(NamedTuple):
    """An item of a file, and where it stands."""

    number: int
    item: dict[str, Any]


@dataclass(slots=True)
class TableSeed:
    location: Location
    request: dict[str, Any]
    """Of CreateTable."""
    later: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """(operation, request) when the table is ACTIVE."""
    notes: list[str] = field(default_factory=list)
    """Settings of the definition that Faradisc ignores."""

    @property
    def name(self) -> str:
        return str(self.request["TableName"])


@dataclass(slots=True)
class InlineItem:
    """An item in a file of definitions."""

    location: Location
    table_name: str
    item: dict[str, Any]


@dataclass(slots=True)
class ItemFile:
    path: Path
    name: str
    """Relative to the seed directory."""
    table_name: str


@dataclass(slots=True)
class Seed:
    tables: list[TableSeed] = field(default_factory=list)
    items: list[InlineItem] = field(default_factory=list)
    files: list[ItemFile] = field(default_factory=list)
    errors: list[LocatedError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was found and is not read, each with its location."""
    others: list[tuple[str, str, Mapping[str, Any], Location]] = field(default_factory=list)
    """(kind, name, arguments, location) of resources that belong to tables, perhaps of other files."""

    def add(self, other: Seed) -> None:
        """Adds the content of one file."""
        self.tables += other.tables
        self.items += other.items
        self.errors += other.errors
        self.notes += other.notes
        self.others += other.others

    def note(self, location: Location, text: str) -> None:
        self.notes.append(f"{location}: {text}")

    def table(self, name: str) -> TableSeed | None:
        return next((each for each in self.tables if each.name == name), None)


def line_of(text: str, pattern: str) -> int:
    """Returns the line of the first match; 1 without a match."""
    found = re.search(pattern, text)
    return text.count("\n", 0, found.start()) + 1 if found is not None else 1


class TwiceNamed(ValueError):
    """An object has two members of one name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"an object has the name {name[:60]!r} twice")
        self.name = name


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the members of an object in JSON. Raises TwiceNamed; other readers would take one of them."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise TwiceNamed(next(name for name in names if names.count(name) > 1))
    return found


def parsed_json(text: str) -> Any:
    """Raises SeedError with the line; RecursionError."""
    try:
        return json.loads(text, object_pairs_hook=distinct)
    except TwiceNamed as error:
        found = list(re.finditer(rf"{re.escape(json.dumps(error.name))}\s*:", text))
        line = text.count("\n", 0, found[-1].start()) + 1 if found else 1
        raise SeedError(f"not valid JSON: {error}", line) from None
    except ValueError as error:
        raise SeedError(f"not valid JSON: {error}", getattr(error, "lineno", 1)) from error


def select(stored: dict[str, Any], *names: str) -> dict[str, Any]:
    """Returns the members with these names that exist."""
    return {name: stored[name] for name in names if name in stored}
