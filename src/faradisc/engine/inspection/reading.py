"""Reads a part or a log from end to end, in pages of bounded size."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping

from faradisc.engine.inspection.problems import Problem, RepairAction, Report
from faradisc.records import dataclass, field
from faradisc.storage.api import Part, ReadOnlyStore

ROWS_PER_PAGE = 200
PAGE_BYTES = 4 * 1024 * 1024
ENTRIES_PER_PAGE = 20
"""A log entry can have two images of 400 KB."""

Pairs = list[tuple[bytes, bytes]]
"""(row key, payload), ascending."""


async def pages(store: ReadOnlyStore, part: Part, report: Report | None = None) -> AsyncIterator[Pairs]:
    """Yields all rows of a part, counted in `report`. Raises StorageError where they cannot be read."""
    low: bytes | None = None
    while rows := await store.range(part, low, None, limit=ROWS_PER_PAGE, max_bytes=PAGE_BYTES):
        if report is not None:
            report.rows += len(rows)
        yield [(key, payload) for key, (_, payload) in rows]
        low = rows[-1][0] + b"\x00"


async def log_pages(store: ReadOnlyStore, part: Part) -> AsyncIterator[list[tuple[int, bytes]]]:
    """Yields all entries of a part's log. Raises StorageError where they cannot be read."""
    after = 0
    while entries := await store.log(part, after, ENTRIES_PER_PAGE):
        yield entries
        after = entries[-1][0]


@dataclass(slots=True)
class StoreLook:
    """One state of a store, for a check, a repair or an inspection."""

    store: ReadOnlyStore
    now_ns: int
    report: Report = field(default_factory=Report)
    parts: Mapping[Part, int] = field(default_factory=dict)
    """Every part that is not empty -> the last number of its log."""
    rows_max: int = 20
    """Rows of a part that an inspection shows."""
    lists_parts: bool = True
    """False when damage prevents the listing of parts; `parts` is then empty."""

    def counter(self, part: Part) -> int | None:
        """Returns the last number of a part's log; None when it is unknown."""
        return self.parts.get(part, 0) if self.lists_parts else None


def usage_problems(
    where: str, part: Part, held: tuple[int, int], stored: tuple[int, int]
) -> Iterator[Problem]:
    """Compares what the rows of a part add up to with its counters."""
    if held != stored:
        yield Problem(
            where,
            "the counters differ from the rows",
            "counts again",
            f"slot {part[4]} holds {held[0]} rows of {held[1]} bytes, "
            f"counted are {stored[0]} of {stored[1]} bytes",
            RepairAction("usage", part=part),
        )
