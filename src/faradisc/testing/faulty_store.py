"""A store on a disk that can be slow, fail, and lose power: the whole seam of storage/api.py, with faults.

    disk = FaultyDisk(random.Random(7))
    store = disk.open(Faults(sync_turns=8, fail_after_write=0.01))
    ...
    disk.crash()                # power is gone: what was synced stays, of the rest a beginning, or nothing;
                                # and a shorter beginning of the commits that were not durable
    store = disk.open()         # the next life

It waits exactly where the RocksDB engine may wait and nowhere else. A commit is visible to later reads at
once and returns after a sync that began after it; a read of something newer than the last sync waits for
it, but for one made `for_update`; a commit that conflicts, and a `for_update` read, never wait. How many
turns of the event loop a sync takes is drawn by chance, so any number of commits may hang on one.

What can go wrong, each with its own rate (Faults):

    fail_before_write   a commit raises, nothing of it was applied
    fail_after_write    a commit raises, and yet it is visible, and a crash may or may not lose it
    fail_sync           a sync raises: everyone who waits for it gets the error

After each of them the store refuses writes until it is opened again, as the seam has it. Everything that
is drawn comes from the one `random.Random`, so a run can be repeated.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Closed, Conflict, IOFailed, Part, ReadOnlyStore, Row
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore


@dataclass(frozen=True, slots=True)
class Faults:
    """Rates are shares of commits (or of syncs), 0 to 1."""

    sync_turns: int = 4
    """A sync takes up to so many turns of the loop."""
    slow_sync: float = 0.0
    """Share of syncs that take twenty times as long."""
    fail_before_write: float = 0.0
    fail_after_write: float = 0.0
    fail_sync: float = 0.0


NO_FAULTS = Faults()

Watch = Callable[[Sequence[Batch], int], None]
"""Told of every commit that was applied, with its version, before anyone else can see it."""


class _Image(MemoryStore):
    """The content of a disk, or of a store that has one."""

    @property
    def closed(self) -> bool:
        return self._closed

    async def redo(self, batches: Sequence[Batch], version: int) -> None:
        """A commit again, with the version it had."""
        self._version = version - 1
        await self.commit(batches)

    def copy(self) -> _Image:
        """The same content, with the same versions, that goes its own way from here."""
        twin = _Image()
        twin._parts = {name: data.copy() for name, data in self._parts.items()}
        twin._version = self._version
        return twin


_Redo = Callable[[_Image], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class _Write:
    version: int
    """The store's, after it."""
    redo: _Redo
    durable: bool


class _Group(asyncio.Future[None]):
    """Shared by all who wait for one sync: none of them can cancel it for the others."""

    def cancel(self, msg: object | None = None) -> bool:
        return False


class FaultyDisk:
    """What outlives a store: everything that was synced, and what may have been."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.synced = _Image()
        """What is certainly on the disk."""
        self.synced_version = 0
        self._tail: list[_Write] = []
        """Writes in order, from the first one on that a crash may lose."""
        self._covered = 0
        """How many of them were synced; those that are not durable may be lost all the same."""
        self._store: FaultyStore | None = None

    def open(self, faults: Faults = NO_FAULTS, watch: Watch | None = None) -> FaultyStore:
        """Requires: no other store of this disk is open."""
        if self._store is not None:
            raise RuntimeError("the disk is in use: close its store, or crash it")
        self.synced._version = self.synced_version  # no version is given again, whatever became of its commit
        self._store = FaultyStore(self, faults, watch)
        return self._store

    def crash(self, lose: float | None = None) -> int:
        """Take the power away; the version of the last commit that is still there.

        lose: share of what was not synced that is lost, from its end; by chance, if not said, with none
        and all as likely as everything in between.
        """
        if self._store is not None:
            self._store.die()
        if lose is None:
            lose = min(max(self.chance.uniform(-0.5, 1.5), 0.0), 1.0)
        self.sync(self.unsynced - round(self.unsynced * lose))
        if self._covered:
            # Tables hold what is not durable up to some moment, and the log holds the rest of what is.
            tabled = self.chance.randint(0, self._covered)
            logged = filter(attrgetter("durable"), self._tail[tabled : self._covered])
            self._tail = [*self._tail[:tabled], *logged]
            self._keep(len(self._tail))
        self._tail.clear()
        self._covered = 0
        return self.synced_version

    def written(self, version: int, redo: _Redo, *, durable: bool = True) -> None:
        self._tail.append(_Write(version, redo, durable))

    @property
    def unsynced(self) -> int:
        """How many writes no sync has covered."""
        return len(self._tail) - self._covered

    def _keep(self, count: int) -> None:
        for write in self._tail[:count]:
            run(write.redo(self.synced))
            self.synced_version = max(write.version, self.synced_version)
        del self._tail[:count]

    def sync(self, count: int) -> None:
        """The first so many of the writes that were not synced now are."""
        self._covered += count
        if count:
            self.synced_version = self._tail[self._covered - 1].version
        covered = enumerate(self._tail[: self._covered])
        certain = next((number for number, write in covered if not write.durable), self._covered)
        self._covered -= certain
        self._keep(certain)

    def flush(self) -> None:
        """All that was synced stays, be it durable or not."""
        certain, self._covered = self._covered, 0
        self._keep(certain)

    def released(self) -> None:
        self._store = None


class FaultyStore:
    """Open it by a FaultyDisk."""

    def __init__(self, disk: FaultyDisk, faults: Faults, watch: Watch | None) -> None:
        self._disk = disk
        self.faults = faults
        """May be others from any moment on."""
        self._watch = watch
        self._live = disk.synced.copy()
        self.version = disk.synced_version
        """Of the newest commit applied."""
        self._written = 0
        """Writes of this life, and how many of them were synced."""
        self._synced = 0
        self._versions: list[int] = []
        """The version after each write of this life."""
        self._deleted: dict[Part, int] = {}
        """By part: the number of the write that last deleted something there. An absence may be as new."""
        self._unlogged: dict[Part, int] = {}
        """By part: the number of the last write that was not durable, if nothing has flushed it since."""
        self._waiting: _Group | None = None
        self._syncing = False
        self._failure: StorageError | None = None

    @property
    def synced_version(self) -> int:
        return self._disk.synced_version

    @property
    def failure(self) -> StorageError | None:
        return self._failure

    @property
    def failed(self) -> bool:
        """The store refuses writes until it is opened again."""
        return self._failure is not None

    # --- Waiting for the disk --------------------------------------------------------------------

    async def _reach(self, write: int) -> None:
        """Return once the first `write` writes of this life are on disk. Raises StorageError."""
        while self._synced < write:
            if self._failure is not None:
                raise self._refusal()
            if self._waiting is None:
                self._waiting = _Group(loop=asyncio.get_running_loop())
            if not self._syncing:
                self._begin_sync()
            await self._waiting

    def _begin_sync(self) -> None:
        self._syncing = True
        chance, faults = self._disk.chance, self.faults
        turns = chance.randint(1, max(faults.sync_turns, 1))
        if chance.random() < faults.slow_sync:
            turns *= 20
        asyncio.get_running_loop().call_soon(self._sync_turn, turns, self._written)

    def _sync_turn(self, turns: int, covers: int) -> None:
        if not self._syncing:
            return  # the store was closed or died meanwhile
        if turns > 1:
            asyncio.get_running_loop().call_soon(self._sync_turn, turns - 1, covers)
            return
        self._syncing = False
        if self._failure is None and self._disk.chance.random() < self.faults.fail_sync:
            self._failure = IOFailed("a sync failed")
        if self._failure is None:
            self._disk.sync(covers - self._synced)
            self._synced = covers
        self._wake()
        if self._waiting is not None and not self._syncing and self._failure is None:
            self._begin_sync()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _write_of(self, version: int) -> int:
        """How many writes of this life have to be on disk for this version to be."""
        return bisect_left(self._versions, version) + 1 if version > self._disk.synced_version else 0

    def _newest(self, part: Part, rows: Sequence[Row | None]) -> int:
        """How many writes have to be on disk before these rows are shown."""
        version = max((row[0] for row in rows if row is not None), default=0)
        deleted = self._deleted.get(part, 0) if None in rows else 0
        return max(self._write_of(version), deleted)

    async def _show(self, parts: Iterable[Part], write: int) -> None:
        """Wait until neither the first `write` writes nor what is not durable in some parts can vanish."""
        await self._reach(write)
        if self._unlogged.keys() & parts:
            await self._flush()

    async def _flush(self) -> None:
        written = self._written
        await self._reach(written)
        self._disk.flush()
        self._unlogged = {part: write for part, write in self._unlogged.items() if write > self._synced}

    # --- Reads -----------------------------------------------------------------------------------

    async def get(
        self, part: Part, keys: Sequence[bytes], *, for_update: bool = False, stale_ok: bool = False
    ) -> list[Row | None]:
        rows = await self._live.get(part, keys)
        if not for_update:
            await self._show((part,), self._newest(part, rows))
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
    ) -> list[tuple[bytes, Row]]:
        page = await self._live.range(part, lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes)
        # What is missing from a page may be missing because it was just deleted.
        await self._show((part,), self._newest(part, [None, *(row for _, row in page)]))
        return page

    async def read_many(self, keys: Sequence[tuple[Part, bytes]]) -> list[Row | None]:
        rows = await self._live.read_many(keys)
        newest = [self._newest(part, [row]) for (part, _), row in zip(keys, rows, strict=True)]
        await self._show([part for part, _ in keys], max(newest, default=0))
        return rows

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        entries = await self._live.log(part, after, limit)
        if entries:  # which commit the last one belongs to is not known here, so wait for all
            await self._show((part,), self._written)
        return entries

    async def usage(self, part: Part) -> tuple[int, int]:
        return await self._live.usage(part)

    async def parts(self) -> list[tuple[Part, int]]:
        found = await self._live.parts()
        await self._flush()
        return found

    async def snapshot(self) -> ReadOnlyStore:
        snapshot = await self._live.snapshot()
        await self._flush()
        return snapshot

    async def flush(self) -> None:
        if self._live.closed:
            raise Closed
        await self._flush()

    async def wait_durable(self, version: int) -> None:
        if self._live.closed:
            raise Closed
        await self._reach(self._write_of(min(version, self.version)) if version else self._written)

    # --- Writes ----------------------------------------------------------------------------------

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        self._check_writable()
        if self._draws(self.faults.fail_before_write):
            raise self._fails("a write failed before it was made")
        answer = await self._live.commit(batches)
        if isinstance(answer, Conflict):
            return answer
        kept = [_copy(batch) for batch in batches]
        version = self.version = self.version + 1
        unlogged = not durable or self._builds_on_unlogged(kept)
        write = self._wrote(lambda image: image.redo(kept, version), durable=not unlogged)
        if unlogged:
            self._unlogged.update(dict.fromkeys([batch.part for batch in kept], write))
        for batch in batches:
            if batch.deletes:
                self._deleted[batch.part] = write
        if self._watch is not None:
            self._watch(kept, self.version)
        if self._draws(self.faults.fail_after_write):
            raise self._fails("a write failed after it was made")
        if durable:
            await (self._flush() if unlogged else self._reach(write))
        return answer

    def _builds_on_unlogged(self, batches: Sequence[Batch]) -> bool:
        """Whether a part's usage or log is to count what is not durable: then neither is this."""
        return any(
            batch.part in self._unlogged and (batch.log or batch.items_delta or batch.bytes_delta)
            for batch in batches
        )

    async def trim(self, part: Part, before: int) -> None:
        self._check_writable()
        await self._live.trim(part, before)
        self._wrote(lambda store: store.trim(part, before))

    async def clear(self, part: Part) -> None:
        self._check_writable()
        await self._live.clear(part)
        write = self._wrote(lambda store: store.clear(part))
        self._deleted[part] = write
        await self._reach(write)

    def _wrote(self, redo: _Redo, *, durable: bool = True) -> int:
        self._disk.written(self.version, redo, durable=durable)
        self._versions.append(self.version)
        self._written += 1
        return self._written

    def _draws(self, rate: float) -> bool:
        return rate > 0 and self._disk.chance.random() < rate

    def _check_writable(self) -> None:
        if self._failure is not None:
            raise self._refusal()

    def _fails(self, text: str) -> StorageError:
        self._failure = IOFailed(text)
        self._wake()
        return self._refusal()

    def _refusal(self) -> StorageError:
        failure = self._failure
        if failure is None or isinstance(failure, Closed):
            return Closed()
        return type(failure)(f"{failure}; the store refuses writes until it is opened again")

    # --- The end ---------------------------------------------------------------------------------

    async def close(self) -> None:
        """Sync, unless that failed before, and release the disk."""
        if self._live.closed:
            return
        if self._failure is None:
            self._disk.sync(self._written - self._synced)
            self._disk.flush()
            self._synced = self._written
        self.die()

    def die(self) -> None:
        """Nothing more is answered: the process is gone, or the store is closed."""
        self._failure = Closed()
        self._syncing = False
        self._wake()
        run(self._live.close())
        self._disk.released()


def _copy(batch: Batch) -> Batch:
    """A batch as it was committed, whatever becomes of the caller's lists."""
    return Batch(
        batch.part,
        list(batch.checks),
        list(batch.puts),
        list(batch.deletes),
        list(batch.log),
        batch.items_delta,
        batch.bytes_delta,
    )
