"""Walking over the records of many objects in bounded steps, and going on where a crash left off.

How far a walk has come is the key of the present object and the number of its records that are done. After
a crash the object is opened again and those are passed over: that costs reading them again, and finds damage
before them as the first reading would have.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, BinaryIO

from faradisc.engine.exchange.buckets import Buckets, Listing, NoSuchKey, Object
from faradisc.engine.exchange.compression import Damaged
from faradisc.engine.exchange.json_lines import Shortcut
from faradisc.engine.exchange.manifests import Manifests
from faradisc.engine.exchange.reading import Found, Reading, Record, Source, keys_of
from faradisc.engine.tables.loading import Rows
from faradisc.engine.tables.table import Table

STEP_BYTES = 256 * 1024
"""Of content read in one step: some ten milliseconds of work."""
QUICK_STEP_BYTES = 2 * STEP_BYTES
"""Where a shortcut takes all records of a step: each takes a quarter of the time, and others are waiting."""
STEP_RECORDS = 2000
OBJECTS_MAX = 50_000


@dataclass(slots=True)
class Step:
    """The records of one step, all of one object, read while they are asked for."""

    key: str
    first: int
    """Number of the first record in its object, from 0."""
    records: Iterator[Record | Rows] = field(default_factory=lambda: iter(()))
    """To be read to the end; only then the walk has gone on. Raises: Damaged."""
    count: int = 0
    """How many there were, once they have been read."""


class TooManyObjects(Exception):
    pass


class Intake:
    """Belongs to one job of one process."""

    def __init__(
        self,
        buckets: Buckets,
        place: tuple[str, str],
        source: Source,
        table: Table,
        progress: dict[str, Any],
        *,
        shortcut: Shortcut | None = None,
    ) -> None:
        """place: bucket and prefix; progress: how far an earlier run has come, kept up to date by `step`
        and committed by the job; shortcut: makes some records rows at once."""
        self._buckets = buckets
        self._bucket, self._prefix = place
        self._source = source
        self._table = table
        self._progress = progress
        self._shortcut = shortcut
        self._listing: Listing | None = None
        self._listed: list[Object] = []
        self._objects: list[Object] | None = None
        self._manifests = Manifests(buckets, self._bucket, ())
        self._file: BinaryIO | None = None
        self._reading: Reading | None = None
        self._found: Iterator[Found] = iter(())
        self._to_pass = 0

    @property
    def total_bytes(self) -> int | None:
        """Of all objects as stored; None until they have been listed."""
        return sum(each.size for each in self._objects) if self._objects is not None else None

    @property
    def done(self) -> bool:
        return bool(self._progress.get("done"))

    async def step(self) -> Step | None:
        """The next records, perhaps none; None when this only prepared the next step, or when all is `done`.

        Raises: BucketError, Damaged, TooManyObjects, Unavailable, OSError.
        """
        if self.done:
            return None
        if self._objects is None:
            await self._list_on()
            return None
        if await self._manifests.read_on():
            return None
        if self._reading is None:
            await self._open()
            return None
        key: str = self._progress["key"]
        try:
            if self._to_pass:
                self._pass_over(self._reading)
                return None
        except Damaged as damage:
            raise Damaged(f"{key}: {damage}") from None
        step = Step(key, self._progress["records"])
        step.records = self._bounded(step, self._reading)
        return step

    async def _list_on(self) -> None:
        """Some more of the objects; with the last of them it is known which there are."""
        if self._listing is None:
            self._listing = self._buckets.objects(self._bucket, self._prefix)
            self._listed = []
        try:
            page = await self._listing.page()
        except BaseException:
            self._listing = None  # one that has failed would only say that this was all
            raise
        if page is not None:
            self._listed += [each for each in page if each.size]
            return
        found = sorted(self._listed, key=attrgetter("key"))
        self._listing, self._listed = None, []
        self._manifests = Manifests(self._buckets, self._bucket, found)
        self._objects = self._manifests.data_only()
        if not self._objects:
            raise NoSuchKey(f"No objects with content begin with {self._prefix!r} in {self._bucket}")
        if len(self._objects) > OBJECTS_MAX:
            raise TooManyObjects(f"{len(self._objects)} objects; the limit is {OBJECTS_MAX}")

    async def _open(self) -> None:
        """Open the present object, or the next one, or find that there is none."""
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
            return  # its manifest is read first, in steps of their own
        self._file = await self._manifests.fetch(chosen.key)
        self._reading = Reading(self._file, self._source, keys_of(self._table), self._shortcut)
        self._found = self._reading.found
        self._to_pass = records
        progress |= {"key": chosen.key, "records": records, "ended": False}

    def _pass_over(self, reading: Reading) -> None:
        for each in self._in_one_step(reading, min(self._to_pass, STEP_RECORDS)):
            if each is not None:
                self._to_pass -= _count(each)
            elif self._to_pass:
                return
        self._to_pass = 0  # also when the object has fewer records now

    def _in_one_step(self, reading: Reading, most: int) -> Iterator[Found]:
        """What there is to read in one step, `most` records; None is the last when there is more."""
        until = reading.bytes_read + QUICK_STEP_BYTES
        quick = True
        for each in self._found:
            if each is None:
                yield None
                return
            if type(each) is Rows:
                if len(each) > most:
                    reading.give_back(Rows(each[most:]))
                    del each[most:]
            elif quick:
                quick = False
                until -= QUICK_STEP_BYTES - STEP_BYTES
            most -= _count(each)
            yield each
            if not most or reading.bytes_read >= until:
                yield None
                return

    def _bounded(self, step: Step, reading: Reading) -> Iterator[Record | Rows]:
        try:
            for record in self._in_one_step(reading, STEP_RECORDS):
                if record is None:
                    break
                step.count += _count(record)
                yield record
            else:
                self._progress["ended"] = True
                self.close()
        except Damaged as damage:
            raise Damaged(f"{step.key}: {damage}") from None
        self._progress["records"] = step.first + step.count
        # From the object's start: a job may have committed a part of a step whose bytes are all counted.
        self._progress["bytes"] = self._progress["bytes_before"] + reading.bytes_read

    @property
    def bytes_read(self) -> int:
        """Of content, decompressed, in all objects."""
        count: int = self._progress.get("bytes", 0)
        return count

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._manifests.close()
        self._listing = None
        self._file = self._reading = None
        self._found = iter(())


def _count(found: Record | Rows) -> int:
    """How many records they are."""
    return len(found) if type(found) is Rows else 1
