"""Grouped and inline syncs, with a sync that a test holds back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from sync_latch import SyncLatch

from faradisc.storage.api import Batch
from faradisc.storage.durability import GroupedSync, InlineSync
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore
from faradisc.storage.rocks_files import open_files


def _unexpected(error: Exception) -> None:
    pytest.fail(f"no failure expected: {error!r}")


def _grouped(latch: SyncLatch) -> GroupedSync:
    return GroupedSync(lambda: latch.sync, _unexpected, 0)


def test_one_sync_answers_all_commits_written_before_it() -> None:
    async def play() -> None:
        latch = SyncLatch()
        grouped = _grouped(latch)
        first = grouped.wrote(1)
        assert grouped.wrote(2) is first
        await latch.under_way()
        later = grouped.wrote(3)
        assert later is not first
        assert grouped.wrote(4) is later
        assert grouped.synced == 0
        latch.open()
        await first
        assert grouped.synced == 2  # not 4: those were written after the sync had begun
        await latch.under_way()
        assert not later.done()
        latch.open()
        await later
        assert grouped.synced == 4
        assert latch.count == 2
        grouped.stop()

    asyncio.run(play())


def test_waiting_joins_the_sync_that_covers_the_version() -> None:
    async def play() -> None:
        latch = SyncLatch()
        grouped = _grouped(latch)
        grouped.wrote(1)
        await latch.under_way()
        early = asyncio.ensure_future(grouped.wait(1))
        grouped.wrote(2)
        late = asyncio.ensure_future(grouped.wait(2))
        latch.open()
        await early
        assert not late.done()
        latch.open()
        await late
        assert latch.count == 2
        await grouped.wait(2)
        assert latch.count == 2
        grouped.stop()

    asyncio.run(play())


def test_a_failed_sync_ends_all_waiting_and_no_other_follows() -> None:
    async def play() -> None:
        latch = SyncLatch()
        latch.error = OSError("the disk is gone")
        failures: list[Exception] = []
        grouped = GroupedSync(lambda: latch.sync, failures.append, 7)
        first = grouped.wrote(8)
        await latch.under_way()
        second = grouped.wrote(9)
        waiting = asyncio.ensure_future(grouped.wait(9))
        latch.open(5)
        await asyncio.gather(first, second, waiting)
        assert grouped.synced == 7
        assert failures == [latch.error]
        assert latch.count == 1
        await grouped.wait(9)
        grouped.stop()
        assert latch.count == 1

    asyncio.run(play())


def test_cancelling_one_commit_does_not_cancel_its_group() -> None:
    async def play() -> None:
        latch = SyncLatch()
        grouped = _grouped(latch)

        async def await_it(future: Awaitable[None]) -> str:
            await future
            return "durable"

        group = grouped.wrote(1)
        kept = asyncio.ensure_future(await_it(group))
        dropped = asyncio.ensure_future(await_it(group))
        await latch.under_way()
        dropped.cancel()
        latch.open()
        assert await kept == "durable"
        with pytest.raises(asyncio.CancelledError):
            await dropped
        grouped.stop()

    asyncio.run(play())


def test_stop_syncs_what_is_left_and_answers() -> None:
    async def play() -> None:
        latch = SyncLatch()
        grouped = _grouped(latch)
        running = grouped.wrote(1)
        await latch.under_way()
        queued = grouped.wrote(2)
        latch.open(2)
        grouped.stop()
        await asyncio.gather(running, queued)
        assert grouped.synced == 2

    asyncio.run(play())


def test_another_event_loop_may_take_over() -> None:
    """A store is opened once and driven by several `asyncio.run`, as notebooks and test suites do."""
    latch = SyncLatch()
    latch.open(100)
    grouped = _grouped(latch)

    async def commit(version: int) -> None:
        await grouped.wrote(version)

    async def abandon(version: int) -> None:
        grouped.wrote(version)

    asyncio.run(commit(1))
    asyncio.run(abandon(2))
    asyncio.run(commit(3))
    assert grouped.synced == 3
    asyncio.run(abandon(4))
    grouped.stop()
    assert grouped.synced == 4


def test_what_a_signals_handler_raises_does_not_break_a_store(tmp_path: Path) -> None:
    """Timeouts by SIGALRM raise anywhere. It was taken for the disk's, and every later write was refused."""

    class OutOfTime(Exception):
        pass

    interrupted = [False]
    db = open_files(tmp_path)

    def sync() -> None:
        db.flush_wal()
        if interrupted[0]:
            interrupted[0] = False
            raise OutOfTime

    store = RocksStore(db, "inline", sync=sync)
    part = b"part"

    async def put(key: bytes) -> None:
        batch = Batch(part)
        batch.puts.append((key, b"x"))
        await store.commit([batch])

    run(put(b"a"))
    interrupted[0] = True
    with pytest.raises(OutOfTime):
        run(put(b"b"))
    run(put(b"c"))
    assert store.failure is None
    rows = run(store.get(part, [b"a", b"b", b"c"]))
    versions = [row[0] for row in rows if row is not None]
    assert len(versions) == 3 and versions == sorted(set(versions))
    run(store.close())


def test_inline_syncs_at_once_and_stops_after_a_failure() -> None:
    latch = SyncLatch()
    latch.open(2)
    failures: list[Exception] = []
    inline = InlineSync(lambda: latch.sync, failures.append, 0)
    inline.wrote(1)
    assert inline.synced == 1
    latch.error = OSError("the disk is gone")
    inline.wrote(2)
    inline.wrote(3)
    inline.stop()
    assert inline.synced == 1
    assert failures == [latch.error]
    assert latch.count == 2
