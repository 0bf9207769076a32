"""What a check found: faults in words, counts of what was looked at, and what a repair would do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

LISTED_MAX = 50
"""Faults of one kind at one place that are listed; all are counted."""

LOST = "cannot be repaired from what is here: restore it from a backup"

MendKind: TypeAlias = Literal[
    "records", "derived", "collections", "usage", "tokens", "job", "orphan", "numbers", "unlink", "end stream"
]


@dataclass(frozen=True, slots=True)
class Mend:
    """One thing that a repair does. Many faults may ask for the same one; it is then done once."""

    kind: MendKind
    resource: int = 0
    """Of the table, index, expiry index or stream it is about."""
    part: bytes = b""
    """For `usage` and `orphan`."""
    key: bytes = b""
    """For `job`: the row."""


@dataclass(frozen=True, slots=True)
class Fault:
    where: str
    """`table music`, `table music, index by-year`, ..."""
    what: str
    """One sentence without its full stop; the same for all faults of a kind."""
    remedy: str
    """What `--repair` does about it, or why it does nothing."""
    detail: str = ""
    """The key in words, the numbers that differ."""
    mend: Mend | None = None

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.where}: {self.what}{detail}"


@dataclass(slots=True)
class Group:
    """The faults of one kind at one place."""

    where: str
    what: str
    remedy: str
    repairable: bool
    count: int = 0
    details: list[str] = field(default_factory=list)
    """Of the first LISTED_MAX."""


@dataclass(slots=True)
class Tally:
    """What was looked at in one table, index, expiry index, stream or captured log."""

    where: str
    kind: str
    """table, index, vector index, expiry, stream, capture, tokens."""
    rows: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Report:
    groups: dict[tuple[str, str], Group] = field(default_factory=dict)
    tallies: list[Tally] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be judged, and why."""
    mends: dict[Mend, None] = field(default_factory=dict)
    """In the order in which they were first asked for."""
    rows: int = 0
    """Rows and log entries read so far."""

    @property
    def faults(self) -> int:
        return sum(group.count for group in self.groups.values())

    @property
    def clean(self) -> bool:
        return not self.groups

    def add(self, fault: Fault) -> None:
        group = self.groups.get((fault.where, fault.what))
        if group is None:
            group = Group(fault.where, fault.what, fault.remedy, fault.mend is not None)
            self.groups[(fault.where, fault.what)] = group
        group.count += 1
        if fault.detail and len(group.details) < LISTED_MAX:
            group.details.append(fault.detail)
        if fault.mend is not None:
            self.mends[fault.mend] = None

    def add_all(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self.add(fault)

    def tally(self, where: str, kind: str) -> Tally:
        tally = Tally(where, kind)
        self.tallies.append(tally)
        return tally

    def sentences(self) -> list[str]:
        """Every listed fault in one line; [] when there is none."""
        return [
            f"{group.where}: {group.what}{f': {detail}' if detail else ''}"
            for group in self.groups.values()
            for detail in group.details or [""]
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "clean": self.clean,
            "faults": self.faults,
            "rows": self.rows,
            "found": [asdict(group) for group in self.groups.values()],
            "looked_at": [asdict(tally) for tally in self.tallies],
            "notes": self.notes,
        }
