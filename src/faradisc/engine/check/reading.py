"""Reads a part or a log from end to end, in pages of bounded size."""

from __future__ import annotations

from collections.abc import AsyncIterator

from faradisc.engine.check.problems import Report
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
