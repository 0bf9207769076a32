"""The report of a check: problems, counts of checked data, and repairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from faradisc.records import asdict, dataclass, field

LISTED_MAX = 50
"""Listed problems of one kind at one location; all are counted."""

LOST = "it cannot be derived from other data: restore it from a backup"

ActionKind: TypeAlias = Literal[
    "records", "derived", "usage", "tokens", "job", "orphan", "numbers", "unlink", "end stream"
]


@dataclass(frozen=True, slots=True)
class RepairAction:
    """One action of a repair. Problems with equal actions need it once."""

    kind: ActionKind
    resource: int = 0
    """The table, the stream, or what is derived from the items of a table."""
    part: bytes = b""
    """For `usage` and `orphan`."""
    key: bytes = b""
    """For `job`: the row."""


@dataclass(frozen=True, slots=True)
class Problem:
    where: str
    """`table music`, `table music, index by-year`, ..."""
    what: str
    """A sentence without its full stop, the same for all problems of a kind."""
    remedy: str
    """What `--repair` does, or why it does nothing."""
    detail: str = ""
    """The key, the numbers that differ."""
    repair: RepairAction | None = None

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.where}: {self.what}{detail}"


@dataclass(slots=True)
class ProblemGroup:
    """The problems of one kind at one location."""

    where: str
    what: str
    remedy: str
    repairable: bool
    count: int = 0
    details: list[str] = field(default_factory=list)
    """Details of the first LISTED_MAX."""


@dataclass(slots=True)
class Tally:
    """Counts of checked data of one table, index, expiry index, stream or captured log."""

    where: str
    kind: str
    """table, index, vector index, expiry, stream, capture, tokens."""
    rows: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Report:
    groups: dict[tuple[str, str], ProblemGroup] = field(default_factory=dict)
    tallies: list[Tally] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be checked, and why."""
    repairs: dict[RepairAction, None] = field(default_factory=dict)
    """The repairs, in the order of the problems."""
    rows: int = 0
    """Rows and log entries read so far."""

    @property
    def problems(self) -> int:
        return sum(group.count for group in self.groups.values())

    @property
    def clean(self) -> bool:
        return not self.groups

    def add(
        self, where: str, what: str, remedy: str, detail: str = "", repair: RepairAction | None = None
    ) -> None:
        """Adds the problem with these fields."""
        self.add_all([Problem(where, what, remedy, detail, repair)])

    def _add(self, problem: Problem) -> None:
        group = self.groups.get((problem.where, problem.what))
        if group is None:
            group = ProblemGroup(problem.where, problem.what, problem.remedy, problem.repair is not None)
            self.groups[(problem.where, problem.what)] = group
        group.count += 1
        if problem.detail and len(group.details) < LISTED_MAX:
            group.details.append(problem.detail)
        if problem.repair is not None:
            self.repairs[problem.repair] = None

    def add_all(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self._add(problem)

    def tally(self, where: str, kind: str) -> Tally:
        tally = Tally(where, kind)
        self.tallies.append(tally)
        return tally

    def sentences(self) -> list[str]:
        """Returns every listed problem in one line."""
        return [
            f"{group.where}: {group.what}{f': {detail}' if detail else ''}"
            for group in self.groups.values()
            for detail in group.details or [""]
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "clean": self.clean,
            "problems": self.problems,
            "rows": self.rows,
            "found": [asdict(group) for group in self.groups.values()],
            "looked_at": [asdict(tally) for tally in self.tallies],
            "notes": self.notes,
        }
