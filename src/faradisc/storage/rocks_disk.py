"""What of a RocksDB store is on disk, and the waiting until it is.

A commit is on disk when a sync of the write-ahead log covers it. A commit that skipped the log is on disk
when a table has it: RocksDB writes its memory to a table by itself, or for a flush. After a failed write or
sync it is unknown which bytes are on disk: nothing is written from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal

from rocksdict import Rdict

from faradisc.clock import stopwatch_s
from faradisc.errors import StorageError
from faradisc.storage.api import Closed, IOFailed, Part
from faradisc.storage.durability import Durability, GroupedSync, InlineSync
from faradisc.storage.figures import SyncTimes
from faradisc.storage.rocks_files import translated
from faradisc.storage.sync_record import Position, SyncRecord


class RocksDisk:
    """Syncs and flushes of one open store. Versions are those of its commits."""

    def __init__(
        self,
        db: Rdict,
        durability: Literal["grouped", "inline"],
        sync: Callable[[], None] | None,
        flush: Callable[[], None] | None,
        record: SyncRecord | None,
    ) -> None:
        """The parameters of RocksStore. record: closed by the owner."""
        sequence = db.latest_sequence_number()
        driver = InlineSync if durability == "inline" else GroupedSync
        self._db = db
        self._sync = sync or db.flush_wal
        self._record = record
        self.written = sequence
        """Version of the newest commit written, which the store sets."""
        self.sequence = sequence
        """RocksDB's sequence number of the last change that is known to be on disk. With a record only."""
        self.after_sync: Callable[[int], None] | None = None
        """Called in the thread of a sync, with the sequence number that it covers, before any commit of it is
        answered. An error that it raises is a failed sync: nothing of it is answered."""
        self.sync_times = SyncTimes()
        self.logged: int | None = None
        """Sequence number of the newest change that is in the log; None if the newest of all is."""
        self.log: Durability = driver(self._begin_sync, self.fail, sequence)
        self.tables: Durability = driver(lambda: flush or db.flush, self.fail, sequence)
        self.failure: StorageError | None = None
        self.unlogged: dict[Part, int] = {}
        """By part: the newest commit that was not durable, unless a flush by this store covers it."""

    # --- Waiting ---------------------------------------------------------------------------------

    async def show(self, version: int) -> None:
        """Waits until everything up to a version is durable, before it is shown."""
        if version > self.log.synced:
            await self._wait(self.log, version)

    async def show_of(self, parts: Iterable[Part], version: int) -> None:
        """Waits until what was read in some parts is durable; unlogged commits need a flush."""
        unlogged = self.unlogged.keys() & parts
        if unlogged:
            await self.wait_flushed(max([self.unlogged[part] for part in unlogged]))
        await self.show(version)

    async def wait_flushed(self, version: int) -> None:
        """Waits until tables have everything up to a version."""
        if version > self.tables.synced:
            await self._wait(self.tables, version)
        for part in [part for part, newest in self.unlogged.items() if newest <= self.tables.synced]:
            del self.unlogged[part]

    async def show_all(self, version: int) -> None:
        """Waits until everything up to a version is on disk, and everything that is in no log."""
        if self.unlogged:
            await self.wait_flushed(max(self.unlogged.values()))
        await self.show(version)

    async def _wait(self, durability: Durability, version: int) -> None:
        """Waits for the sync of a version that is not synced. Raises the error that prevents it."""
        if self.failure is None:
            await durability.wait(version)
        if version > durability.synced:
            raise self.write_error()

    # --- Syncs -----------------------------------------------------------------------------------

    def _begin_sync(self) -> Callable[[], None]:
        """Returns a function that syncs the log and then records how far it reached when this was called."""
        if self._record is None:
            return self._sync
        sequence = self._db.latest_sequence_number() if self.logged is None else self.logged
        return partial(self._sync_and_record, self._record, Position(sequence, self.written))

    def _sync_and_record(self, record: SyncRecord, position: Position) -> None:
        began = stopwatch_s()
        self._sync()
        self.sync_times.add(stopwatch_s() - began)
        try:
            record.write(position)
        except OSError as error:
            raise IOFailed(f"The record of what is synced cannot be written: {error}") from error
        self.sequence = max(self.sequence, position.sequence)
        if self.after_sync is not None:
            self.after_sync(position.sequence)

    def follow(self, sequence: int) -> None:
        """Syncs and records what another store has committed, up to a sequence number, which is the version
        too."""
        self._sync()
        if self._record is not None:
            self._record.write(Position(sequence, sequence))
        self.sequence = self.written = self.log.synced = sequence

    # --- Failure and end -------------------------------------------------------------------------

    def fail(self, error: Exception) -> None:
        """Fails the store: no later write is attempted, since it is unknown which bytes of the log are on
        disk.

        Raises the error itself if it is not the disk's: a signal handler can raise one anywhere.
        """
        if self.failure is None:
            self.failure = error if isinstance(error, StorageError) else translated(error)

    def write_error(self) -> StorageError:
        """Returns the error of a write after a failure, or after the end."""
        failure = self.failure
        if failure is None or isinstance(failure, Closed):
            return Closed()
        return type(failure)(f"{failure}; the store refuses writes until it is opened again")

    def stop(self) -> bool:
        """Syncs the rest and ends all waiting. Returns whether all is on disk. Never suspends."""
        self.log.stop()
        self.tables.stop()
        failed, self.failure = self.failure is not None, Closed()
        return not failed
