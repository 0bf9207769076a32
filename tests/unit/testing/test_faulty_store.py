"""The faulty store fulfils the contract of storage/api.py, with and without injected errors.

What it proves: the shipped suite passes; a crash loses no synced commit, and of the others only a suffix; a
failed commit is applied or not as its error says; no read returns what a crash can lose.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from faradisc.storage.api import Batch, Closed, IOFailed, Store
from faradisc.storage.testing.contract import OTHER, PART, contents, put, row_of, version_of
from faradisc.storage.testing.suite import Capabilities, StoreSuite
from fixtures.faulty_store import Faults, FaultyDisk, FaultyStore
from fixtures.seeded_loop import SeededLoop

_disks: dict[Path, FaultyDisk] = {}


class TestFaultyStore(StoreSuite):
    capabilities = Capabilities(reopens=True, suspends=True)

    async def open_store(self, place: Path) -> Store:
        return _disks.setdefault(place, FaultyDisk(random.Random(1))).open()


def in_loop(seed: int) -> tuple[SeededLoop, FaultyDisk]:
    chance = random.Random(seed)
    return SeededLoop(chance), FaultyDisk(chance)


def kept(disk: FaultyDisk) -> dict[bytes, bytes]:
    """Returns what the next open store holds."""
    loop = SeededLoop(random.Random(0))
    with loop:
        return loop.run("read", contents(disk.open()))


@pytest.mark.parametrize("seed", range(40))
def test_crash_loses_a_suffix_of_unacknowledged_commits(seed: int) -> None:
    loop, disk = in_loop(seed)
    store = disk.open(Faults(sync_turns=5))
    written: list[int] = []
    acknowledged: set[int] = set()

    async def write(number: int) -> None:
        for again in range(3):
            written.append(number * 10 + again)
            await put(store, b"%d" % written[-1], b"")
            acknowledged.add(number * 10 + again)

    with loop:
        for number in range(4):
            loop.start(f"writer {number}", write(number))
        for _ in range(seed):
            loop.step()
        order = list(written)
    disk.crash()
    found = {int(key) for key in kept(disk)}
    assert acknowledged <= found
    assert found == set(order[: len(found)]), "a beginning of what was written, nothing from behind a gap"


def test_crashes_lose_all_or_nothing_or_something_in_between() -> None:
    left = set()
    for seed in range(60):
        loop, disk = in_loop(seed)
        store = disk.open(Faults(sync_turns=10**9))
        with loop:
            for number in range(4):
                loop.start("writer", put(store, b"%d" % number, b""))
            while disk.unsynced < 4:
                assert loop.step()
        disk.crash()
        left.add(len(kept(disk)))
    assert {0, 4} < left


def test_read_waits_for_durability_except_for_update() -> None:
    for seed in range(20):
        loop, disk = in_loop(seed)
        store = disk.open(Faults(sync_turns=200))
        seen: list[int] = []

        async def read(store: FaultyStore = store, disk: FaultyDisk = disk, seen: list[int] = seen) -> None:
            (row,) = await store.get(PART, [b"a"], for_update=True)
            assert row is not None
            assert disk.unsynced == 1
            shown = await row_of(store, b"a")
            assert shown == row
            seen.append(disk.unsynced)

        with loop:
            loop.start("writer", put(store, b"a", b"1"))
            loop.step()
            loop.run("reader", read())
        assert seen == [0]


def test_read_waits_for_the_durability_of_a_deletion() -> None:
    loop, disk = in_loop(3)
    store = disk.open(Faults(sync_turns=200))

    async def read() -> None:
        assert await row_of(store, b"a") is None
        assert disk.unsynced == 0

    with loop:
        loop.run("writer", put(store, b"a", b"1"))
        loop.start("deleter", store.commit([Batch(PART, deletes=[b"a"])]))
        loop.step()
        assert disk.unsynced == 1
        loop.run("reader", read())


@pytest.mark.parametrize("flushed", [False, True])
def test_crash_leaves_a_prefix_of_unlogged_commits(flushed: bool) -> None:
    left: set[int] = set()
    for seed in range(40):
        loop, disk = in_loop(seed)
        store = disk.open()

        async def write(store: FaultyStore = store) -> None:
            for number in range(8):
                await store.commit([Batch(PART, puts=[(b"%d" % number, b"")], items_delta=1)], durable=False)
                await put(store, b"%d" % number, b"", OTHER)
                if flushed and number == 5:
                    await store.flush()

        with loop:
            loop.run("writer", write())
        last = store.version
        disk.crash()
        store = disk.open()
        with SeededLoop(random.Random(seed)) as loop:
            unlogged = loop.run("read", contents(store))
            assert loop.run("usage", store.usage(PART)) == (len(unlogged), 0)
            assert [*unlogged] == [b"%d" % number for number in range(len(unlogged))]
            assert len(loop.run("read", contents(store, OTHER))) == 8
            loop.run("next", put(store, b"next", b""))
            assert (loop.run("look", version_of(store, b"next"))) == last + 1
        left.add(len(unlogged))
    assert left <= {6, 7, 8} if flushed else {1, 7} < left


def test_read_of_an_unlogged_row_flushes_it() -> None:
    loop, disk = in_loop(5)
    store = disk.open()
    with loop:
        loop.run("write", store.commit([Batch(PART, puts=[(b"a", b"")])], durable=False))
        loop.run("elsewhere", put(store, b"b", b"", OTHER))
        assert loop.run("read", row_of(store, b"a")) is not None
    disk.crash(lose=1.0)
    assert kept(disk) == {b"a": b""}


@pytest.mark.parametrize(
    ("faults", "visible"),
    [(Faults(fail_before_write=1), False), (Faults(fail_after_write=1), True), (Faults(fail_sync=1), True)],
)
def test_store_rejects_writes_after_an_error_and_reads_stay_right(faults: Faults, visible: bool) -> None:
    found = set()
    for seed in range(10):
        loop, disk = in_loop(seed)
        store = disk.open(faults)

        async def play(store: FaultyStore = store) -> None:
            with pytest.raises(IOFailed):
                await put(store, b"a", b"1")
            assert store.failed
            for write in (put(store, b"b", b""), store.trim(PART, 1), store.clear(PART)):
                with pytest.raises(IOFailed, match="opened again"):
                    await write
            (row,) = await store.get(PART, [b"a"], for_update=True)
            assert (row is not None) == visible
            if visible:
                with pytest.raises(IOFailed):
                    await row_of(store, b"a")  # it may be lost, so it may not be reported

        with loop:
            loop.run("play", play())
        disk.crash()
        found.add(len(kept(disk)))
    assert found == ({0, 1} if visible else {0})


def test_waiters_of_a_crashed_store_get_no_result() -> None:
    loop, disk = in_loop(1)
    store = disk.open(Faults(sync_turns=200))
    answered: list[str] = []

    async def write() -> None:
        await put(store, b"a", b"1")
        answered.append("acknowledged")

    with loop:
        loop.start("writer", write())
        loop.step()
        loop.abandon()
        disk.crash(lose=1.0)
    assert answered == []
    assert kept(disk) == {}
    with pytest.raises(Closed):
        asyncio.run(put(store, b"a", b"1"))


def test_disk_has_one_open_store_at_a_time() -> None:
    disk = FaultyDisk(random.Random(1))
    store = disk.open()
    with pytest.raises(RuntimeError, match="in use"):
        disk.open()
    asyncio.run(store.close())
    asyncio.run(disk.open().close())
