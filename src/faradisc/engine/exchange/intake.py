"""Reads the records of many objects in bounded steps, and continues after a crash.

The progress is the key of the current object and the number of its records that are done. After a crash the
object is opened again and those records are skipped: they are read again, so damage before them is found as
in the first reading.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, BinaryIO

from faradisc.engine.exchange.object_reader import InputFormat, ObjectReader, Record, keys_of
from faradisc.engine.exchange.sealed_objects import opened
from faradisc.engine.exchange.task_store import FAILED, TaskFailed
from faradisc.engine.formats.compression import InputDamaged
from faradisc.engine.formats.json_lines import Malformed
from faradisc.engine.formats.manifests import Manifests
from faradisc.engine.objects.api import Listing, NoSuchKey, Object, ObjectStorage
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.tables.table import Table
from faradisc.records import dataclass, field

STEP_BYTES = 256 * 1024
"""Content read in one step: about ten milliseconds of work."""
STEP_RECORDS = 2000
OBJECTS_MAX = 50_000


@dataclass(slots=True)
class Step:
    """The records of one step, all of one object, read while they are consumed."""

    key: str
    first: int
    """Number of the first record in its object, from 0."""
    records: Iterator[Record] = field(default_factory=lambda: iter(()))
    """Raises InputDamaged. The progress advances only when the iterator is exhausted."""
    count: int = 0
    """Number of records consumed."""


class Intake:
    """Belongs to one job of one process."""

    def __init__(
        self,
        storage: ObjectStorage,
        location: tuple[str, str],
        source: InputFormat,
        table: Table,
        progress: dict[str, Any],
        *,
        sealers: Sealers,
        skips_unparsed: bool = False,
    ) -> None:
        """location: bucket and prefix; progress: how far an earlier run has come, updated by `step` and
        committed by the job. sealers: open sealed objects. skips_unparsed: leave out the rest of an object
        after a record that cannot be parsed."""
        self._storage = storage
        self._sealers = sealers
        self._skips_unparsed = skips_unparsed
        self._bucket, self._prefix = location
        self._source = source
        self._table = table
        self._progress = progress
        self._listing: Listing | None = None
        self._listed: list[Object] = []
        self._objects: list[Object] | None = None
        self._manifests = Manifests(storage, self._bucket, ())
        self._file: BinaryIO | None = None
        self._reader: ObjectReader | None = None
        self._records: Iterator[Record | None] = iter(())
        self._to_skip = 0

    @property
    def total_bytes(self) -> int | None:
        """Size of all objects as stored; None until they are listed."""
        return sum(each.size for each in self._objects) if self._objects is not None else None

    @property
    def done(self) -> bool:
        return bool(self._progress.get("done"))

    async def step(self) -> Step | None:
        """Returns the next records, perhaps none; or None when it prepared the next step, or all is `done`.

        Raises BucketError, InputDamaged, TaskFailed, Unavailable, OSError.
        """
        if self.done:
            return None
        if self._objects is None:
            await self._list_on()
            return None
        if await self._manifests.read_on():
            return None
        if self._reader is None:
            await self._open()
            return None
        key: str = self._progress["key"]
        try:
            if self._to_skip:
                self._skip_records(self._reader)
                return None
        except InputDamaged as damage:
            raise InputDamaged(f"{key}: {damage}") from None
        step = Step(key, self._progress["records"])
        step.records = self._consumed(step, self._reader)
        return step

    async def _list_on(self) -> None:
        """Lists one more page of objects; after the last page sorts them."""
        if self._listing is None:
            self._listing = self._storage.objects(self._bucket, self._prefix)
            self._listed = []
        try:
            page = await self._listing.page()
        except BaseException:
            self._listing = None  # a generator that has raised would report the end on the next call
            raise
        if page is not None:
            self._listed += [each for each in page if each.size]
            return
        found = sorted(self._listed, key=attrgetter("key"))
        self._listing, self._listed = None, []
        self._manifests = Manifests(self._storage, self._bucket, found)
        self._objects = self._manifests.data_only()
        if not self._objects and "key" in self._progress:
            raise NoSuchKey(f"The objects that begin with {self._prefix!r} in {self._bucket} were deleted")
        if len(self._objects) > OBJECTS_MAX:
            raise TaskFailed(FAILED, f"{len(self._objects)} objects; the limit is {OBJECTS_MAX}")

    async def _open(self) -> None:
        """Opens the current object, or the next one, or sets `done` when there is none."""
        assert self._objects is not None
        progress = self._progress
        key, records = progress.get("key"), progress.get("records", 0)
        search = bisect_right if progress.get("ended") else bisect_left
        position = search(self._objects, key, key=attrgetter("key")) if key is not None else 0
        if position == len(self._objects):
            progress["done"] = True
            return
        chosen = self._objects[position]
        if chosen.key != key:
            records = 0
            progress["bytes_before"] = progress.get("bytes", 0)
        if self._manifests.want(chosen.key):
            return  # its manifest is read first, in steps of its own
        self._file = await self._manifests.fetch(chosen.key)
        self._file = await opened(self._file, self._sealers)
        self._reader = ObjectReader(self._file, self._source, keys_of(self._table))
        self._records = self._reader.records_and_pauses
        self._to_skip = records
        progress |= {"key": chosen.key, "records": records, "ended": False}

    def _skip_records(self, reader: ObjectReader) -> None:
        for each in self._one_step(reader, min(self._to_skip, STEP_RECORDS)):
            if each is not None:
                self._to_skip -= 1
            elif self._to_skip:
                return
        self._to_skip = 0  # also when the object has fewer records now

    def _one_step(self, reader: ObjectReader, most: int) -> Iterator[Record | None]:
        """Yields the records of one step, at most `most`; ends with None when the object has more."""
        until = reader.bytes_read + STEP_BYTES
        for count, each in enumerate(self._records, 1):
            yield each
            if each is None:
                return
            if count == most or reader.bytes_read >= until:
                yield None
                return

    def _consumed(self, step: Step, reader: ObjectReader) -> Iterator[Record]:
        ended = True
        try:
            for record in self._one_step(reader, STEP_RECORDS):
                if record is None:
                    ended = False
                    break
                step.count += 1
                yield record
                if self._skips_unparsed and isinstance(record, Malformed) and record.unparsed:
                    break
            if ended:
                self._progress["ended"] = True
                self.close()
        except InputDamaged as damage:
            raise InputDamaged(f"{step.key}: {damage}") from None
        self._progress["records"] = step.first + step.count
        # From the object's start: a job may have committed a part of a step whose bytes are all counted.
        self._progress["bytes"] = self._progress["bytes_before"] + reader.bytes_read

    @property
    def bytes_read(self) -> int:
        """Decompressed content read from all objects."""
        count: int = self._progress.get("bytes", 0)
        return count

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._manifests.close()
        self._listing = None
        self._file = self._reader = None
        self._records = iter(())
