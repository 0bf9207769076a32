"""Measures partitions that may be full, by reading their rows: how much they hold, and where they are cut.

A partition may be many gigabytes, so a measurement reads in steps and keeps marks, not rows. When there are
too many marks, small adjacent ones are merged: the median is then exact to about a thousandth, the sum is
exact.

Rows that are written during a measurement are counted as growth, whether or not it still reads them. So the
result can be a little too large then. Pending measurements are not stored: a partition that is full is found
again after a restart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from faradisc.capacity.partitions import Contents, Partition
from faradisc.engine.throughput.meter import TableMeter
from faradisc.errors import AccessDeniedException
from faradisc.model.codec import item_record
from faradisc.records import dataclass
from faradisc.storage.api import Corruption, ReadOnlyStore

MARKS_MAX = 4096
ROWS_PER_READ = 1000
BYTES_PER_READ = 1 << 20


@dataclass(slots=True)
class MeasurementMark:
    """Rows behind the mark before up to `key` (inclusive)."""

    key: bytes
    bytes: int
    items: int


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """The rows of one partition; implements capacity.topology.SizeMeasurement."""

    marks: list[MeasurementMark]

    def median(self, low: bytes, high: bytes | None) -> bytes | None:
        inside = self._inside(low, high)
        half = sum(mark.bytes for mark in inside) / 2
        passed = 0
        for mark in inside:
            passed += mark.bytes
            if passed >= half:
                return mark.key
        return None

    def measure(self, low: bytes, high: bytes | None) -> Contents:
        inside = self._inside(low, high)
        return Contents(sum(mark.bytes for mark in inside), sum(mark.items for mark in inside))

    def _inside(self, low: bytes, high: bytes | None) -> list[MeasurementMark]:
        keys = [mark.key for mark in self.marks]
        first = bisect_left(keys, low)
        return self.marks[first : None if high is None else bisect_left(keys, high)]


class RowReader:
    """Reads the rows of some parts from low (inclusive) to high (exclusive), step by step.

    local_parts: parts of local indexes, whose entries take space and are no items.
    """

    def __init__(
        self, parts: Sequence[bytes], local_parts: Sequence[bytes], low: bytes, high: bytes | None
    ) -> None:
        self._parts = [(part, 1) for part in parts] + [(part, 0) for part in local_parts]
        """The parts that are left, and how many items a row counts as."""
        self._low = low
        self._high = high
        self._position = low
        self._marks: list[MeasurementMark] = []

    async def step(self, store: ReadOnlyStore) -> MeasuredRows | None:
        """Reads at most 1,000 rows or one megabyte of one part. Returns the result after the last row."""
        read = 0
        while self._parts and not read:
            read = await self._read(store)
            if len(self._marks) > MARKS_MAX:
                self._marks = _merged(self._marks)
        if self._parts:
            return None
        self._marks.sort(key=lambda mark: mark.key)
        return MeasuredRows(self._marks)

    async def _read(self, store: ReadOnlyStore) -> int:
        """Reads the next rows. Returns their number."""
        part, items = self._parts[0]
        rows = await store.range(
            part, self._position, self._high, limit=ROWS_PER_READ, max_bytes=BYTES_PER_READ
        )
        self._marks += [
            MeasurementMark(key, item_record.size_of(payload), items) for key, (_, payload) in rows
        ]
        if len(rows) < ROWS_PER_READ and sum(len(payload) for _, (_, payload) in rows) <= BYTES_PER_READ:
            self._parts.pop(0)
            self._position = self._low
        else:
            self._position = rows[-1][0] + b"\x00"
        return len(rows)


def _merged(marks: list[MeasurementMark]) -> list[MeasurementMark]:
    """Merges adjacent marks that together hold less than about a thousandth, so that at most half of
    MARKS_MAX marks plus one are left. Marks become coarser everywhere, not only where the measurement
    began."""
    marks.sort(key=lambda mark: mark.key)
    most = sum(mark.bytes for mark in marks) * 4 // MARKS_MAX
    merged: list[MeasurementMark] = []
    for mark in marks:
        if merged and merged[-1].bytes + mark.bytes <= most:
            last = merged[-1]
            merged[-1] = MeasurementMark(mark.key, last.bytes + mark.bytes, last.items + mark.items)
        else:
            merged.append(mark)
    return merged


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement of one partition that runs, or has ended."""

    meter: TableMeter
    index: str | None
    part: Partition
    due_ns: int
    """When the partition was found to be full."""
    rows: RowReader
    counted: Contents
    """What the partition was counted to hold when the measurement began."""

    @property
    def written(self) -> Contents:
        """What was written since the measurement began."""
        return Contents(self.part.bytes - self.counted.bytes, self.part.items - self.counted.items)


class Measurements:
    """The partitions of one server that are to be measured, one after the other."""

    def __init__(self, store: ReadOnlyStore) -> None:
        self._store = store
        self._waiting: dict[tuple[TableMeter, str | None, str], int] = {}
        """Partition ids of tables (None) and global indexes, and when each was found to be full."""
        self._running: Measurement | None = None

    @property
    def busy(self) -> bool:
        return bool(self._running or self._waiting)

    def request(self, meter: TableMeter, index: str | None, partition: str, due_ns: int) -> None:
        self._waiting.setdefault((meter, index, partition), due_ns)

    def forget(self, meter: TableMeter, *indexes: str | None) -> None:
        """Drops the measurements of a table (None) or of global indexes."""
        self._waiting = {
            key: due_ns
            for key, due_ns in self._waiting.items()
            if key[0] is not meter or key[1] not in indexes
        }
        running = self._running
        if running is not None and running.meter is meter and running.index in indexes:
            self._running = None

    def restart(self, meter: TableMeter) -> None:
        """Starts a running measurement of a table again, because the counts of its partitions were
        corrected."""
        running = self._running
        if running is not None and running.meter is meter:
            self._running = None
            self.request(meter, running.index, running.part.id, running.due_ns)

    async def step(self) -> tuple[Measurement, MeasuredRows] | None:
        """Reads a bounded number of rows. Returns a measurement that has ended.

        Raises StorageError; AccessDeniedException while the key of an encrypted table cannot be used. After
        that and after Corruption the partition stays as it is.
        """
        running = self._running = self._running or self._next()
        if running is None:
            return None
        try:
            found = await running.rows.step(self._store)
        except (Corruption, AccessDeniedException):
            self._running = None
            raise
        if self._running is not running:
            return None
        if found is None and running.part.state != "retired":
            return None
        self._running = None
        return (running, found) if found is not None else None

    def _next(self) -> Measurement | None:
        while self._waiting:
            key = next(iter(self._waiting))
            due_ns = self._waiting.pop(key)
            meter, index, identity = key
            part = meter.resource_of(index).partitions.by_id(identity)
            if part is not None:
                provision = meter.provisions[index]
                rows = RowReader(provision.parts, provision.local_parts, part.low, part.high)
                return Measurement(meter, index, part, due_ns, rows, Contents(part.bytes, part.items))
        return None
