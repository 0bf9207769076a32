"""A store on a disk that can be slow, fail, and lose power: storage/api.py with injected errors.

    disk = FaultyDisk(random.Random(7))
    store = disk.open(Faults(sync_turns=8, fail_after_write=0.01))
    ...
    disk.crash()                # loses power: synced writes stay, and a random prefix of the others;
                                # of the unlogged commits perhaps a shorter prefix
    store = disk.open()         # the store after the crash

It waits exactly where the RocksDB engine may wait. A commit is visible to later reads at once, and returns
after a sync that began after it; a read of something newer than the last sync waits for one, unless it is
made `for_update`; a commit that conflicts, and a `for_update` read, never wait. A sync takes a random number
of turns of the event loop, so any number of commits may wait for one.

Errors, each with its own rate (Faults):

    fail_before_write   a commit raises, and is not applied
    fail_after_write    a commit raises, but is visible, and a crash may or may not lose it
    fail_sync           a sync raises in every commit and read that waits for it

After each of them the store rejects writes until it is opened again, as storage/api.py requires. All random
numbers come from one `random.Random`, so a run can be repeated.

Longer than other modules: the disk opens the store and loses what the store has not synced, so neither is
useful without the other.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from faradisc.errors import StorageError
from faradisc.storage.api import EMBEDDED_SLOTS, Batch, Closed, Conflict, IOFailed, Part, ReadOnlyStore, Row
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore


@dataclass(frozen=True, slots=True)
class Faults:
    """Rates are shares of commits (or of syncs), 0 to 1."""

    sync_turns: int = 4
    """Most turns of the loop that a sync takes."""
    slow_sync: float = 0.0
    """Share of syncs that take twenty times as long."""
    fail_before_write: float = 0.0
    fail_after_write: float = 0.0
    fail_sync: float = 0.0


NO_FAULTS = Faults()

Watch = Callable[[Sequence[Batch], int], None]
"""Called with every applied commit and its version, before the commit returns."""


class _Image(MemoryStore):
    """The content of a disk, or of an open store."""

    @property
    def closed(self) -> bool:
        return self._closed

    async def redo(self, batches: Sequence[Batch], version: int) -> None:
        """Applies a commit again, with its version."""
        self._place.version = version - 1
        await self.commit(batches)

    def copy(self) -> _Image:
        """Returns an independent copy, with the same versions."""
        twin = _Image()
        twin._parts.update({name: data.copy() for name, data in self._parts.items()})
        twin._place.version = self._place.version
        return twin


_Redo = Callable[[_Image], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class _Write:
    version: int
    """Of the store after this write."""
    redo: _Redo
    durable: bool


class _Group(asyncio.Future[None]):
    """The future of one sync, shared by all its waiters, so it cannot be cancelled."""

    def cancel(self, msg: object | None = None) -> bool:
        return False


class FaultyDisk:
    """The content that outlives a store: everything that was synced, and what may have been."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.synced = _Image()
        """What no crash can lose."""
        self.synced_version = 0
        self._tail: list[_Write] = []
        """Writes in order, from the first one that a crash may lose."""
        self._covered = 0
        """How many of them are synced; a crash may lose the unlogged ones all the same."""
        self._store: FaultyStore | None = None

    def open(self, faults: Faults = NO_FAULTS, watch: Watch | None = None) -> FaultyStore:
        """Opens the store. Raises RuntimeError while another one is open."""
        if self._store is not None:
            raise RuntimeError("the disk is in use: close its store, or crash it")
        self.synced._place.version = self.synced_version  # versions of lost commits are not used again
        self._store = FaultyStore(self, faults, watch)
        return self._store

    def crash(self, lose: float | None = None) -> int:
        """Loses power. Returns the version of the last commit that is still there.

        lose: share of the unsynced writes that is lost, from the end; default: random, with none, all and
        some equally likely.
        """
        if self._store is not None:
            self._store.kill()
        if lose is None:
            lose = min(max(self.chance.uniform(-0.5, 1.5), 0.0), 1.0)
        self.sync(self.unsynced - round(self.unsynced * lose))
        if self._covered:
            # SST files hold all writes up to some point, the log holds the durable ones after it.
            flushed = self.chance.randint(0, self._covered)
            logged = filter(attrgetter("durable"), self._tail[flushed : self._covered])
            self._tail = [*self._tail[:flushed], *logged]
            self._keep(len(self._tail))
        self._tail.clear()
        self._covered = 0
        return self.synced_version

    def written(self, version: int, redo: _Redo, *, durable: bool = True) -> None:
        self._tail.append(_Write(version, redo, durable))

    @property
    def unsynced(self) -> int:
        """Number of writes that no sync has covered."""
        return len(self._tail) - self._covered

    def _keep(self, count: int) -> None:
        for write in self._tail[:count]:
            run(write.redo(self.synced))
            self.synced_version = max(write.version, self.synced_version)
        del self._tail[:count]

    def sync(self, count: int) -> None:
        """Marks the first `count` unsynced writes as synced."""
        self._covered += count
        if count:
            self.synced_version = self._tail[self._covered - 1].version
        covered = enumerate(self._tail[: self._covered])
        certain = next((number for number, write in covered if not write.durable), self._covered)
        self._covered -= certain
        self._keep(certain)

    def flush(self) -> None:
        """Makes all synced writes certain, unlogged ones too."""
        certain, self._covered = self._covered, 0
        self._keep(certain)

    def released(self) -> None:
        self._store = None


class FaultyStore:
    """Opened by `FaultyDisk.open`."""

    shared = False
    slots = EMBEDDED_SLOTS

    def __init__(self, disk: FaultyDisk, faults: Faults, watch: Watch | None) -> None:
        self._disk = disk
        self.faults = faults
        """May be changed at any time."""
        self._watch = watch
        self._live = disk.synced.copy()
        self.version = disk.synced_version
        """Of the newest commit applied."""
        self._written = 0
        """Writes since it was opened, and how many of them are synced."""
        self._synced = 0
        self._versions: list[int] = []
        """The version after each write since it was opened."""
        self._deleted: dict[Part, int] = {}
        """By part: the number of the last write that deleted something; a missing row may be as new."""
        self._unlogged: dict[Part, int] = {}
        """By part: the number of the last unlogged write that no flush has made durable."""
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
        """Whether the store rejects writes until it is opened again."""
        return self._failure is not None

    # --- Waiting for the disk --------------------------------------------------------------------

    async def _wait_synced(self, write: int) -> None:
        """Waits until the first `write` writes are synced. Raises StorageError."""
        while self._synced < write:
            if self._failure is not None:
                raise self._rejection()
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
            return  # the store was closed or crashed meanwhile
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
        """Returns how many writes have to be synced for a version."""
        return bisect_left(self._versions, version) + 1 if version > self._disk.synced_version else 0

    def _newest(self, part: Part, rows: Sequence[Row | None]) -> int:
        """Returns how many writes have to be synced before rows are returned."""
        version = max((row[0] for row in rows if row is not None), default=0)
        deleted = self._deleted.get(part, 0) if None in rows else 0
        return max(self._write_of(version), deleted)

    async def _wait_to_show(self, parts: Iterable[Part], write: int) -> None:
        """Waits until a crash can lose neither the first `write` writes nor unlogged ones in some parts."""
        await self._wait_synced(write)
        if self._unlogged.keys() & parts:
            await self._flush()

    async def _flush(self) -> None:
        written = self._written
        await self._wait_synced(written)
        self._disk.flush()
        self._unlogged = {part: write for part, write in self._unlogged.items() if write > self._synced}

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
        rows = await self._live.get(part, keys)
        if not for_update:
            await self._wait_to_show((part,), self._newest(part, rows))
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
        page = await self._live.range(part, lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes)
        # A row may be missing from a page because it was just deleted.
        await self._wait_to_show((part,), self._newest(part, [None, *(row for _, row in page)]))
        return page

    async def read_many(
        self, keys: Sequence[tuple[Part, bytes]], *, epochs: Mapping[Part, int] | None = None
    ) -> list[Row | None]:
        rows = await self._live.read_many(keys)
        newest = [self._newest(part, [row]) for (part, _), row in zip(keys, rows, strict=True)]
        await self._wait_to_show([part for part, _ in keys], max(newest, default=0))
        return rows

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        entries = await self._live.log(part, after, limit)
        if entries:  # the commit of the last entry is unknown here, so wait for all
            await self._wait_to_show((part,), self._written)
        return entries

    async def usage(self, part: Part) -> tuple[int, int]:
        return await self._live.usage(part)

    async def parts(self) -> list[tuple[Part, int]]:
        found = await self._live.parts()
        await self._flush()
        return found

    async def now_ns(self) -> None:
        return None

    async def sweep(self) -> bool:
        return False

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
        await self._wait_synced(self._write_of(min(version, self.version)) if version else self._written)

    # --- Writes ----------------------------------------------------------------------------------

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        self._check_writable()
        if self._draws(self.faults.fail_before_write):
            raise self._fails("a write failed before it was made")
        answer = await self._live.commit(batches)
        if isinstance(answer, Conflict):
            return answer
        copies = [_copy(batch) for batch in batches]
        version = self.version = self.version + 1
        unlogged = not durable or self._builds_on_unlogged(copies)
        write = self._wrote(lambda image: image.redo(copies, version), durable=not unlogged)
        if unlogged:
            self._unlogged.update(dict.fromkeys([batch.part for batch in copies], write))
        for batch in batches:
            if batch.deletes:
                self._deleted[batch.part] = write
        if self._watch is not None:
            self._watch(copies, self.version)
        if self._draws(self.faults.fail_after_write):
            raise self._fails("a write failed after it was made")
        if durable:
            await (self._flush() if unlogged else self._wait_synced(write))
        return answer

    def _builds_on_unlogged(self, batches: Sequence[Batch]) -> bool:
        """Whether a part's usage or log would count an unlogged write; then this commit is unlogged too."""
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
        await self._wait_synced(write)

    def _wrote(self, redo: _Redo, *, durable: bool = True) -> int:
        self._disk.written(self.version, redo, durable=durable)
        self._versions.append(self.version)
        self._written += 1
        return self._written

    def _draws(self, rate: float) -> bool:
        return rate > 0 and self._disk.chance.random() < rate

    def _check_writable(self) -> None:
        if self._failure is not None:
            raise self._rejection()

    def _fails(self, text: str) -> StorageError:
        self._failure = IOFailed(text)
        self._wake()
        return self._rejection()

    def _rejection(self) -> StorageError:
        failure = self._failure
        if failure is None or isinstance(failure, Closed):
            return Closed()
        return type(failure)(f"{failure}; the store refuses writes until it is opened again")

    # --- The end ---------------------------------------------------------------------------------

    async def close(self) -> None:
        """Syncs, unless a sync has failed, and releases the disk."""
        if self._live.closed:
            return
        if self._failure is None:
            self._disk.sync(self._written - self._synced)
            self._disk.flush()
            self._synced = self._written
        self.kill()

    def kill(self) -> None:
        """Ends the store without a sync."""
        self._failure = Closed()
        self._syncing = False
        self._wake()
        run(self._live.close())
        self._disk.released()


def _copy(batch: Batch) -> Batch:
    """Returns a copy of a batch, whose lists the caller may change."""
    return Batch(
        batch.part,
        list(batch.checks),
        list(batch.puts),
        list(batch.deletes),
        list(batch.log),
        batch.items_delta,
        batch.bytes_delta,
    )
