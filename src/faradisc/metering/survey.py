"""What a full partition holds, measured by walking its rows: where its bytes have their middle.

A partition may be many gigabytes, so the walk goes in steps, and keeps marks, not rows: (place, bytes and
items up to it). When there are too many, small neighbours become one: then the middle is found to about a
thousandth. Small partitions are measured exactly.
What is written behind the walk while it lasts is not seen: a split needs the middle, not the last byte.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from faradisc.capacity.partitions import Contents
from faradisc.codec import record
from faradisc.storage.api import ReadOnlyStore

MARKS_MAX = 4096
ROWS_PER_READ = 1000


@dataclass(slots=True)
class Mark:
    """Rows from the mark before (exclusive) up to this place (inclusive)."""

    place: bytes
    bytes: int
    items: int


@dataclass(frozen=True, slots=True)
class Measured:
    """The rows of one partition; answers capacity.topology.Survey."""

    marks: list[Mark]

    def median(self, low: bytes, high: bytes | None) -> bytes | None:
        inside = self._inside(low, high)
        half = sum(mark.bytes for mark in inside) / 2
        passed = 0
        for mark in inside:
            passed += mark.bytes
            if passed >= half:
                return mark.place
        return None

    def measure(self, low: bytes, high: bytes | None) -> Contents:
        inside = self._inside(low, high)
        return Contents(sum(mark.bytes for mark in inside), sum(mark.items for mark in inside))

    def _inside(self, low: bytes, high: bytes | None) -> list[Mark]:
        places = [mark.place for mark in self.marks]
        first = bisect_left(places, low)
        return self.marks[first : None if high is None else bisect_left(places, high)]


class Walk:
    """Measures the rows of some parts from low (inclusive) to high (exclusive), step by step.

    local_parts: of a table's local indexes, whose entries take space and are no items.
    """

    def __init__(
        self, parts: Sequence[bytes], local_parts: Sequence[bytes], low: bytes, high: bytes | None
    ) -> None:
        self._left = deque([(part, 1) for part in parts] + [(part, 0) for part in local_parts])
        """The parts to walk over, and what a row counts there as an item."""
        self._low = low
        self._high = high
        self._position = low
        self._marks: list[Mark] = []

    async def step(self, store: ReadOnlyStore) -> Measured | None:
        """Read up to 1,000 rows; the result, once all were read."""
        if self._left:
            part, items = self._left[0]
            rows = await store.range(part, self._position, self._high, limit=ROWS_PER_READ)
            for place, (_, payload) in rows:
                self._marks.append(Mark(place, record.size_of(payload), items))
            if len(self._marks) > MARKS_MAX:
                self._marks = _thinned(self._marks)
            if len(rows) == ROWS_PER_READ:
                self._position = rows[-1][0] + b"\x00"
            else:
                self._left.popleft()
                self._position = self._low
        if self._left:
            return None
        self._marks.sort(key=lambda mark: mark.place)
        return Measured(self._marks)


def _thinned(marks: list[Mark]) -> list[Mark]:
    """No more than half as many as there may be, plus one: neighbours are put together as long as they hold
    less than a thousandth. So marks get coarser everywhere as a walk goes on, not only where it began."""
    marks.sort(key=lambda mark: mark.place)
    most = sum(mark.bytes for mark in marks) * 4 // MARKS_MAX
    thinned: list[Mark] = []
    for mark in marks:
        if thinned and thinned[-1].bytes + mark.bytes <= most:
            last = thinned[-1]
            thinned[-1] = Mark(mark.place, last.bytes + mark.bytes, last.items + mark.items)
        else:
            thinned.append(mark)
    return thinned
