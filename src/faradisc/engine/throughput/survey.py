"""What a partition holds, measured by walking its rows: how much, and where its bytes have their middle.

A partition may be many gigabytes, so the walk goes in steps, and keeps marks, not rows: (place, bytes and
items up to it). When there are too many, small neighbours become one: then the middle is found to about a
thousandth, while the sum stays exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from faradisc.capacity.partitions import Contents
from faradisc.model.codec import item_record
from faradisc.storage.api import ReadOnlyStore

MARKS_MAX = 4096
ROWS_PER_READ = 1000
BYTES_PER_READ = 1 << 20


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

    @property
    def whole(self) -> Contents:
        """What the partition holds."""
        return Contents(sum(mark.bytes for mark in self.marks), sum(mark.items for mark in self.marks))

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

    Whoever writes there meanwhile calls `written`, in one go with the commit: what lies behind the walk is
    added to what was found, what lies before it will be met, and what is being read is as it was written
    last. So the result is exact at the moment at which it is given.

    local_parts: of a table's local indexes, whose entries take space and are no items.
    """

    def __init__(
        self, parts: Sequence[bytes], local_parts: Sequence[bytes], low: bytes, high: bytes | None
    ) -> None:
        self._parts = [(part, 1) for part in parts] + [(part, 0) for part in local_parts]
        """The parts to walk over, and what a row counts there as an item."""
        self._turns = {part: turn for turn, (part, _) in enumerate(self._parts)}
        self._turn = 0
        """Which of the parts is walked over."""
        self._low = low
        self._high = high
        self._position = low
        self._meanwhile: dict[bytes, int | None] = {}
        """Rows ahead in this part that were written during a read, and their sizes; None: deleted."""
        self._marks: list[Mark] = []

    def written(self, part: bytes, place: bytes, before: int | None, after: int | None) -> None:
        """A row of a part has another size in bytes now, overhead left out; None: there is none."""
        turn = self._turns.get(part)
        if turn is None or turn > self._turn or place < self._low:
            return
        if self._high is not None and place >= self._high:
            return
        if turn == self._turn and place >= self._position:
            self._meanwhile[place] = after
            return
        items = self._parts[turn][1] * ((after is not None) - (before is not None))
        self._marks.append(Mark(place, (after or 0) - (before or 0), items))

    async def step(self, store: ReadOnlyStore) -> Measured | None:
        """Read up to 1,000 rows or one megabyte of some part, and the parts before that hold little; the
        result, once all were read."""
        read = 0
        while self._turn < len(self._parts) and not read:
            read = await self._read(store)
            if len(self._marks) > MARKS_MAX:
                self._marks = _thinned(self._marks)
        if self._turn < len(self._parts):
            return None
        self._marks.sort(key=lambda mark: mark.place)
        return Measured(self._marks)

    async def _read(self, store: ReadOnlyStore) -> int:
        """Read the next rows, how many is answered, and move on behind them."""
        part, items = self._parts[self._turn]
        self._meanwhile.clear()
        rows = await store.range(
            part, self._position, self._high, limit=ROWS_PER_READ, max_bytes=BYTES_PER_READ
        )
        found: dict[bytes, int | None] = {place: item_record.size_of(payload) for place, (_, payload) in rows}
        is_last = len(rows) < ROWS_PER_READ and sum(len(row[1]) for _, row in rows) <= BYTES_PER_READ
        behind = None if is_last else rows[-1][0] + b"\x00"
        for place, size in self._meanwhile.items():
            if behind is None or place < behind:
                found[place] = size
        self._marks += [Mark(place, size, items) for place, size in found.items() if size is not None]
        if behind is None:
            self._turn += 1
            self._position = self._low
        else:
            self._position = behind
        return len(rows)


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
