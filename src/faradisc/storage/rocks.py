"""The embedded default: a store in one directory, on RocksDB through `rocksdict`.

A commit is one WriteBatch. Once written, it survives a killed process and later reads see it; it returns
after a sync of the write-ahead log that covers it (durability.py). A commit that is not durable skips the
log: it is in memory until RocksDB writes that to a table, by itself or for `flush`. A table has everything
written before it was begun, so a crash keeps such commits up to some moment.

Invariants:
1. Versions count commits, starting above the sequence number that RocksDB has at open. Every commit with a
   version adds at least one to that number, so versions after a reopen are above all earlier ones.
2. A part's state in memory equals the stored one, or the part is not in `_parts`; a log entry and the
   state that counts it are in the same WriteBatch.
3. `_seen` has the versions as stored now: every write empties it.
4. After a failed write or sync `disk.failure` is set and no write is attempted again.
5. For a part that is not in `disk.unlogged`, all that the write-ahead log builds on is in the log or in
   tables, so a crash cannot lose it.

Reads are calls into RocksDB in the event loop's own thread: a few microseconds in memory, and what the disk
takes where a block is in no cache (docs/guide/sizing.md). Only syncs run in another thread.

What is on disk, and the waiting for it, is rocks_disk.py.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from rocksdict import Rdict, RdictIter, WriteBatch, WriteOptions

from faradisc.errors import StorageError
from faradisc.storage.api import (
    EMBEDDED_SLOTS,
    Batch,
    Closed,
    Conflict,
    Epochs,
    Keys,
    Part,
    ReadOnlyStore,
    Row,
)
from faradisc.storage.figures import StoreFigures
from faradisc.storage.format import unwritable
from faradisc.storage.rocks_disk import RocksDisk
from faradisc.storage.rocks_figures import figures
from faradisc.storage.rocks_files import BLOCK_CACHE_BYTES, open_files, translated
from faradisc.storage.rocks_view import LiveReader, PartState, RocksSnapshot, pack_state, unpack_version
from faradisc.storage.sync_record import SyncRecord

SEEN_KEYS_MAX = 4096
_UNLOGGED = WriteOptions()
_UNLOGGED.disable_wal = True  # type: ignore[method-assign,assignment]  # a property, unlike its stub


class RocksStore(LiveReader):
    """A store on RocksDB. Open it with `open_rocks`.

    With inline durability no call ever suspends; with grouped durability calls wait in the running loop.
    """

    shared = is_loose = False
    slots = EMBEDDED_SLOTS

    def __init__(
        self,
        db: Rdict,
        durability: Literal["grouped", "inline"],
        sync: Callable[[], None] | None = None,
        flush: Callable[[], None] | None = None,
        record: SyncRecord | None = None,
        *,
        log_all: bool = False,
    ) -> None:
        """sync: makes the log so far durable, in any thread. flush: makes everything so far durable, as a
        table. Both are RocksDB's own unless given by a test. record: records each sync; closed with the
        store. log_all: commits that are not durable are in the log too, for a copy that is made of it."""
        super().__init__(db)
        self._closed = False
        self._record = record
        self._log_all = log_all
        self.disk = RocksDisk(db, durability, sync, flush, record)
        """What of the commits is on disk. `disk.written` is the version of the newest commit."""
        self._seen: dict[bytes, int] = {}
        """Versions by physical key, read `for_update` since the last write, so that checks need no second
        read."""
        self._snapshots: weakref.WeakSet[RocksSnapshot] = weakref.WeakSet()
        _OPEN.add(self)

    def _load(self, part: Part) -> PartState:
        loaded = super()._load(part)
        loaded.deleted = self.disk.written  # earlier deletes are unknown, so assume the latest version
        return loaded

    # --- Reads -----------------------------------------------------------------------------------

    async def get(
        self,
        part: Part,
        keys: Sequence[bytes],
        *,
        for_update: bool = False,
        stale_ok: bool = False,
        epoch: int | None = None,
    ) -> list[Row | None]:
        prefix = (self._parts.get(part) or self._part(part)).rows
        find = self._find
        rows: list[Row | None] = []
        try:
            for key in keys:
                value = find(prefix + key)
                rows.append(None if value is None else (unpack_version(value)[0], value[8:]))
        except Exception as error:
            raise translated(error) from error
        if for_update:
            seen = self._seen
            if len(seen) > SEEN_KEYS_MAX:
                seen.clear()
            for key, row in zip(keys, rows, strict=True):
                seen[prefix + key] = 0 if row is None else row[0]
        elif (disk := self.disk).written > disk.log.synced or disk.unlogged:
            await disk.show_of((part,), self._newest(rows, self._part(part)))
        return rows

    async def range(
        self,
        part: Part,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool = False,
        max_bytes: int | None = None,
        epoch: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        known = self._part(part)
        page = self._read_page(known, lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes)
        if self._is_behind():
            await self.disk.show_of((part,), max([known.deleted, *(row[0] for _, row in page)]))
        return page

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        # A consistent view without a snapshot: nothing suspends between the first and the last read.
        rows = [self._read_row(self._part(part).rows + key) for part, key in keys]
        if self._is_behind():
            pairs = zip(keys, rows, strict=True)
            newest = max((self._newest([row], self._part(key[0])) for key, row in pairs), default=0)
            await self.disk.show_of([part for part, _ in keys], newest)
        return rows

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        entries = self._read_log(self._part(part), after, limit)
        if entries and (self._is_behind()):
            await self.disk.show_of((part,), entries[-1][0])
        return [(sequence, entry) for _, sequence, entry in entries]

    async def usage(self, part: Part) -> tuple[int, int]:
        """Does not wait for the disk: the sums are informative."""
        if self._closed:
            raise Closed
        known = self._part(part)
        return known.items, known.bytes

    async def parts(self) -> list[tuple[Part, int]]:
        found = self._read_parts()
        await self.flush()
        return found

    async def sweep(self) -> bool:
        return False

    async def snapshot(self) -> ReadOnlyStore:
        try:
            snapshot = RocksSnapshot(self._db.iter())
        except Exception as error:
            raise translated(error) from error
        self._snapshots.add(snapshot)
        await self.flush()
        return snapshot

    def numbered_iterator(self) -> tuple[int, RdictIter]:
        """Returns a sequence number, and an iterator over the whole keyspace as it is after that change. Any
        thread may call this."""
        while True:
            before = self._db.latest_sequence_number()
            iterator = self._db.iter()
            if self._db.latest_sequence_number() == before:
                return before, iterator

    @staticmethod
    def _newest(rows: list[Row | None], part: PartState) -> int:
        """Returns the newest version that `rows` show."""
        return max((part.deleted if row is None else row[0] for row in rows), default=0)

    def _is_behind(self) -> bool:
        """Whether something is written that may not be on disk yet."""
        return self.disk.written > self.disk.log.synced or bool(self.disk.unlogged)

    async def flush(self) -> None:
        if self._closed:
            raise Closed
        await self.disk.show_all(self.disk.written)

    async def wait_durable(self, version: int) -> None:
        if self._closed:
            raise Closed
        disk = self.disk
        version = min(version, disk.written) if version else disk.written
        if version > disk.log.synced:  # asked here too, because most reads wait for nothing
            await disk.show(version)

    # --- Writes ----------------------------------------------------------------------------------

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        disk = self.disk
        if disk.failure is not None:
            raise disk.write_error()
        for batch in batches:
            if batch.checks:
                conflict = self._first_conflict(batch)
                if conflict is not None:
                    return conflict
        version = disk.written + 1
        write = WriteBatch(raw_mode=True)
        logged = self._log_all or (durable and not (disk.unlogged and self._builds_on_unlogged(batches)))
        try:
            answer = [self._collect(batch, write, version) for batch in batches]
            if write.is_empty():  # wait only for what its checks rely on
                if durable:
                    await disk.show(disk.written)
                return answer
            if not logged:
                disk.unlogged.update(dict.fromkeys([batch.part for batch in batches], version))
            self._write(write, version, logged=logged)
        except BaseException:
            for batch in batches:
                self._parts.pop(batch.part, None)  # its state may count what was not written: load it again
            raise
        if not logged:
            if durable:
                await disk.wait_flushed(version)
            return answer
        if not durable:
            return answer
        waiting = disk.log.wrote(version)
        if waiting is not None:
            await waiting
        if version > disk.log.synced:
            raise disk.write_error()
        return answer

    def _builds_on_unlogged(self, batches: Sequence[Batch]) -> bool:
        """Returns whether the commit changes a part's state that counts unlogged commits.

        Such a state must not be in the log without these commits.
        """
        return any(
            batch.part in self.disk.unlogged and (batch.log or batch.items_delta or batch.bytes_delta)
            for batch in batches
        )

    def _first_conflict(self, batch: Batch) -> Conflict | None:
        prefix = self._part(batch.part).rows
        seen = self._seen
        for key, version in batch.checks:
            found = seen.get(prefix + key)
            if found is None:
                row = self._read_row(prefix + key)
                found = 0 if row is None else row[0]
            if found != version:
                return Conflict(batch.part, key, found)
        return None

    def _collect(self, batch: Batch, write: WriteBatch, version: int) -> int:
        """Adds one batch to the write. Returns the part's last log sequence after it."""
        part = self._parts.get(batch.part) or self._part(batch.part)
        stamp = version.to_bytes(8, "big")
        rows = part.rows
        for key, payload in batch.puts:
            write.put(rows + key, stamp + payload)
        if batch.deletes:
            for key in batch.deletes:
                write.delete(rows + key)
            part.deleted = version
        if batch.log or batch.items_delta or batch.bytes_delta:
            for entry in batch.log:
                part.last += 1
                write.put(part.log + part.last.to_bytes(8, "big"), stamp + entry)
            part.items += batch.items_delta
            part.bytes += batch.bytes_delta
            write.put(part.state, pack_state(part.last, part.items, part.bytes))
        return part.last

    def _write(self, write: WriteBatch, version: int, *, logged: bool = True) -> None:
        """Writes a batch, which RocksDB applies whole or not at all."""
        disk = self.disk
        self._seen.clear()
        before, disk.written = disk.written, version  # first, in case of an interrupt
        try:
            if logged:
                self._db.write(write)
                disk.logged = None
            else:
                if disk.logged is None:
                    disk.logged = self._db.latest_sequence_number()
                self._db.write(write, _UNLOGGED)
        except Exception as error:
            disk.fail(error)  # raises errors that are not the disk's: the commit may be written then
            disk.written = before
            raise translated(error) from error

    async def trim(self, part: Part, before: int) -> None:
        if self.disk.failure is not None:
            raise self.disk.write_error()
        known = self._part(part)
        first = known.log
        end = known.log + max(min(before, known.last + 1), 0).to_bytes(8, "big")
        if self._holds(first, end):
            write = WriteBatch(raw_mode=True)
            write.delete_range(first, end)
            self._write(write, self.disk.written)

    async def clear(self, part: Part) -> None:
        if self.disk.failure is not None:
            raise self.disk.write_error()
        known = self._part(part)
        write = WriteBatch(raw_mode=True)
        # A range delete slows later reads until compaction, so none is written for an empty range.
        for first, end in ((known.rows, known.rows_end), (known.log, known.log_end)):
            if self._holds(first, end):
                write.delete_range(first, end)
        write.delete(known.state)
        version = self.disk.written + 1
        self._write(write, version)
        self._parts.pop(part, None)
        await self.disk.show(version)

    async def now_ns(self) -> None:
        return None

    def figures(self) -> StoreFigures:
        """Returns sizes, work in the background and durations of syncs, for metrics."""
        return figures(self._db, self.disk.sync_times)

    @property
    def failure(self) -> StorageError | None:
        failure = self.disk.failure
        return None if isinstance(failure, Closed) else failure

    @property
    def synced_sequence(self) -> int:
        """RocksDB's sequence number of the last change that is known to be on disk."""
        return self.disk.sequence

    # --- Failure and close -----------------------------------------------------------------------

    def abandon(self) -> None:
        """Closes the store in a fork of its process without touching its files, which the parent writes.

        RocksDB itself cannot be closed here: it would wait for threads that exist only in the parent.
        """
        import ctypes  # noqa: PLC0415 - few processes are forks

        self.disk.failure = Closed()
        self._closed = True
        # One reference too many: it is never closed, not even when this process ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))

    async def close(self) -> None:
        """Syncs, ends all waiting commits, releases the directory. Never suspends."""
        if self._closed:
            return
        self._closed = True
        complete = self.disk.stop()
        for snapshot in list(self._snapshots):
            snapshot.release()
        self._parts.clear()
        self._seen.clear()
        if self._record is not None:
            self._record.close()
            if complete:
                with suppress(Exception):  # on a full disk, for example: the log has all acknowledged commits
                    self._db.flush()  # so that the next start has no log to replay
                    self.disk.sequence = self._db.latest_sequence_number()
        try:
            self._db.close()
        except Exception as error:
            # It is closed nevertheless. An earlier failure also fails the last flush, and was reported then.
            if complete:
                raise translated(error) from error


_OPEN: weakref.WeakSet[RocksStore] = weakref.WeakSet()


def _abandon_all() -> None:
    for store in list(_OPEN):
        store.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def open_rocks(
    directory: Path | str,
    *,
    durability: Literal["grouped", "inline"] = "grouped",
    keep_log: bool = False,
    cache_bytes: int = BLOCK_CACHE_BYTES,
) -> RocksStore:
    """Opens or creates the store in `directory`.

    keep_log: everything is in the log, whose files stay until they are copied (rocks_log.py).
    grouped: commits of one event loop share syncs in a thread; needs a running loop from the first commit on.
    inline: each commit syncs before it returns, and no call suspends.
    cache_bytes: of blocks in memory.

    Raises: NewerFormat, Unwritable, InUse, Corruption, Full, IOFailed.
    """
    directory = Path(directory).absolute()
    db = open_files(directory, cache_bytes, keep_log=keep_log)
    try:
        record = SyncRecord(directory)
    except OSError as error:
        db.close()
        raise unwritable(directory, error) from error
    return RocksStore(db, durability, record=record, log_all=keep_log)
