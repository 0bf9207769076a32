"""What a seed asks for: tables with what is set on them, and the files their items come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Place(NamedTuple):
    file: str
    """Relative to the seed's directory."""
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Fault(NamedTuple):
    """Something in the seed that cannot be used."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class SeedError(Exception):
    """Raised where a fault is met, and collected by whoever reads the file."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        """None: that of the definition."""


@dataclass(slots=True)
class TableSeed:
    place: Place
    request: dict[str, Any]
    """Of CreateTable."""
    later: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """(operation, request) for the ACTIVE table."""
    notes: list[str] = field(default_factory=list)
    """What the definition says and Faradisc leaves out."""

    @property
    def name(self) -> str:
        return str(self.request["TableName"])


@dataclass(slots=True)
class InlineItem:
    """An item that stands among the definitions."""

    place: Place
    table_name: str
    item: dict[str, Any]


@dataclass(slots=True)
class ItemFile:
    path: Path
    name: str
    """Relative to the seed's directory."""
    table_name: str


@dataclass(slots=True)
class Seed:
    tables: list[TableSeed] = field(default_factory=list)
    items: list[InlineItem] = field(default_factory=list)
    files: list[ItemFile] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def take(stored: dict[str, Any], *names: str) -> dict[str, Any]:
    """The members of those names that are there."""
    return {name: stored[name] for name in names if name in stored}
