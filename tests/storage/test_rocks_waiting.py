"""Nothing shown can vanish: what reads of a grouped RocksDB store wait for, and what they do not.

The sync is held back by the test, so each read either finishes without it or provably does not. The last
test cuts the power: it takes the files as the disk has them after the last finished sync.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from sync_latch import SyncLatch

from faradisc.storage.api import Batch, Closed, Full, IOFailed, Store
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_files import open_files
from faradisc.storage.testing.contract import OTHER, PART, applied, contents, delete, put, version_of


class World:
    """A store whose syncs wait for the latch, holding row `old` on disk and one more commit that is not."""

    def __init__(self, place: Path) -> None:
        self.latch = SyncLatch()
        self.db = open_files(place)
        self.store = RocksStore(self.db, "grouped", sync=self._sync)
        self.place = place
        self.log_sizes: dict[str, int] = {}
        """Bytes of each write-ahead log that the last finished sync covers."""

    def _sync(self) -> None:
        sizes = {path.name: path.stat().st_size for path in (self.place / "rocks").glob("*.log")}
        self.latch.sync()
        self.db.flush_wal(True)
        self.log_sizes = sizes

    async def completed(self, call: Awaitable[Any]) -> None:
        self.latch.open()
        await call
        await self.latch.under_way()

    async def pending(self, call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a commit and return once its sync has begun; it stays unfinished."""
        task = asyncio.ensure_future(call)
        await self.latch.under_way()
        return task

    async def finish(self, *tasks: asyncio.Task[Any]) -> None:
        self.latch.open(10)
        await asyncio.gather(*tasks)
        await self.store.close()


async def _waits(call: Awaitable[Any]) -> asyncio.Task[Any]:
    """Insist that `call` does not finish by itself; turns of the loop are all it could need."""
    task = asyncio.ensure_future(_awaited(call))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    return task


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call


def _at_once(call: Coroutine[Any, Any, Any]) -> Any:
    """Insist that `call` finishes without waiting."""
    return run(call)


def test_reads_wait_for_what_is_newer_than_the_disk(tmp_path: Path) -> None:
    async def play() -> None:
        world = World(tmp_path)
        store = world.store
        await world.completed(applied(store, Batch(PART, puts=[(b"old", b"1")]), Batch(OTHER, log=[b"e"])))
        pending = await world.pending(applied(store, Batch(PART, puts=[(b"new", b"2")], log=[b"x"])))

        # Reads of older rows and other parts, and reads for update, do not wait.
        assert _at_once(store.get(PART, [b"old"]))[0][1] == b"1"
        assert _at_once(store.log(OTHER, 0, 10)) == [(1, b"e")]
        assert _at_once(store.range(PART, b"o", None, limit=10))[0][0] == b"old"
        assert _at_once(store.get(PART, [b"new"], for_update=True))[0][1] == b"2"
        assert _at_once(store.wait_durable(_at_once(store.get(PART, [b"old"]))[0][0])) is None

        tasks = [
            await _waits(store.get(PART, [b"old", b"new"])),
            await _waits(store.range(PART, None, None, limit=10)),
            await _waits(store.range(PART, None, None, limit=10, reverse=True)),
            await _waits(store.read_many([(PART, b"old"), (PART, b"new")])),
            await _waits(store.log(PART, 0, 10)),
            await _waits(store.snapshot()),
            await _waits(store.wait_durable(0)),
            await _waits(store.commit([Batch(PART, checks=[(b"old", 1)])])),
        ]
        world.latch.open()
        await asyncio.gather(pending, *tasks)
        assert world.latch.count == 2  # the sync under way covered them all
        assert tasks[0].result()[1][1] == b"2"
        assert tasks[4].result() == [(1, b"x")]
        await world.finish()

    asyncio.run(play())


def test_an_absence_waits_for_the_delete_behind_it(tmp_path: Path) -> None:
    async def play() -> None:
        world = World(tmp_path)
        store = world.store
        await world.completed(
            applied(store, Batch(PART, puts=[(b"k", b"")]), Batch(OTHER, puts=[(b"k", b"")]))
        )
        pending = await world.pending(delete(store, b"k"))
        assert _at_once(store.get(PART, [b"k"], for_update=True)) == [None]
        assert _at_once(store.get(OTHER, [b"none", b"k"]))[0] is None
        reads = [
            await _waits(store.get(PART, [b"k"])),
            await _waits(store.range(PART, None, None, limit=10)),
            await _waits(store.read_many([(PART, b"k")])),
        ]
        await world.finish(pending, *reads)

    asyncio.run(play())


def test_clear_is_waited_for(tmp_path: Path) -> None:
    async def play() -> None:
        world = World(tmp_path)
        await world.completed(put(world.store, b"k", b""))
        pending = await world.pending(world.store.clear(PART))
        read = await _waits(world.store.get(PART, [b"k"]))
        await world.finish(pending, read)
        assert read.result() == [None]

    asyncio.run(play())


READS: dict[str, Callable[[Store], Awaitable[Any]]] = {
    "get": lambda store: store.get(PART, [b"new"]),
    "range": lambda store: store.range(PART, None, None, limit=10),
    "snapshot": lambda store: store.snapshot(),
    "wait_durable": lambda store: store.wait_durable(0),
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("IO error: While fsync: /data/rocks/000004.log: Input/output error", IOFailed),
        ("IO error: No space left on device: While appending to file: /data/rocks/000004.log", Full),
    ],
)
def test_after_a_failed_sync_nothing_is_written_or_shown(
    tmp_path: Path, text: str, kind: type[Exception]
) -> None:
    async def play() -> None:
        world = World(tmp_path)
        store = world.store
        await world.completed(put(store, b"old", b"1"))
        world.latch.error = Exception(text)
        first = await world.pending(put(store, b"new", b"2"))
        second = asyncio.ensure_future(put(store, b"more", b"3"))
        read = await _waits(store.get(PART, [b"new"]))
        world.latch.open(10)
        outcomes = await asyncio.gather(first, second, read, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [kind] * 3
        for call in (put(store, b"again", b""), store.clear(PART), store.trim(PART, 1)):
            with pytest.raises(kind, match="until it is opened again"):
                await call
        for name, late_read in READS.items():
            with pytest.raises(kind):
                await late_read(store)
            assert name
        assert (await store.get(PART, [b"old"]))[0] is not None
        await store.close()
        with pytest.raises(Closed):
            await store.get(PART, [b"old"])

        store = open_rocks(tmp_path)
        await put(store, b"after", b"4")
        assert b"old" in await contents(store)
        await store.close()

    asyncio.run(play())


def test_after_a_power_cut_all_that_was_answered_is_there(tmp_path: Path) -> None:
    async def play() -> None:
        world = World(tmp_path / "data")
        store = world.store
        batch = Batch(PART, puts=[(b"a", b"1")], log=[b"x"], items_delta=1)
        await world.completed(applied(store, batch, Batch(OTHER, puts=[(b"a", b"1")])))
        lost = await world.pending(applied(store, Batch(PART, puts=[(b"b", b"2")], log=[b"y"])))
        lost_version = (await store.get(PART, [b"b"], for_update=True))[0][0]

        shutil.copytree(tmp_path / "data", tmp_path / "disk")
        for path in (tmp_path / "disk" / "rocks").glob("*.log"):
            size = world.log_sizes.get(path.name, 0)
            assert size < path.stat().st_size  # the commit not yet synced is in the file, and is cut off
            os.truncate(path, size)
        await world.finish(lost)

        survivor = open_rocks(tmp_path / "disk")
        assert await contents(survivor) == {b"a": b"1"}
        assert await contents(survivor, OTHER) == {b"a": b"1"}
        assert await survivor.log(PART, 0, 10) == [(1, b"x")]
        assert await survivor.usage(PART) == (1, 0)
        assert await applied(survivor, Batch(PART, log=[b"z"], puts=[(b"c", b"")])) == [2]
        assert await version_of(survivor, b"a") < await version_of(survivor, b"c")
        assert await version_of(survivor, b"a") < lost_version
        await survivor.close()

    asyncio.run(play())
