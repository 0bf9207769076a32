"""What a full partition holds, measured by walking its rows: where its bytes have their middle.

A partition may be many gigabytes, so the walk keeps marks, not rows: (place, bytes and items up to it). When
there are too many marks, every second one goes. Small partitions are measured exactly.
"""

from __future__ import annotations

from bisect import bisect_left
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


async def survey(
    store: ReadOnlyStore,
    parts: Sequence[bytes],
    local_parts: Sequence[bytes],
    low: bytes,
    high: bytes | None,
) -> Measured:
    """Measure the rows of the parts from low (inclusive) to high (exclusive).

    local_parts: of a table's local indexes, whose entries take space and are no items. Cost: one walk over
    the rows, in reads of 1,000.
    """
    marks: list[Mark] = []
    for part in (*parts, *local_parts):
        items = 0 if part in local_parts else 1
        position: bytes | None = low
        while position is not None:
            rows = await store.range(part, position, high, limit=ROWS_PER_READ)
            for place, (_, payload) in rows:
                marks.append(Mark(place, record.size_of(payload), items))
            if len(marks) > MARKS_MAX:
                marks = _thinned(marks)
            position = rows[-1][0] + b"\x00" if len(rows) == ROWS_PER_READ else None
    marks.sort(key=lambda mark: mark.place)
    return Measured(marks)


def _thinned(marks: list[Mark]) -> list[Mark]:
    """Pairs of neighbours as one."""
    marks.sort(key=lambda mark: mark.place)
    thinned = [
        Mark(second.place, first.bytes + second.bytes, first.items + second.items)
        for first, second in zip(marks[::2], marks[1::2], strict=False)
    ]
    return thinned + marks[len(thinned) * 2 :]
