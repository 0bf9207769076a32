"""Commits that are not durable: who waits for the disk, and what a crash leaves of them.

What it proves: a crash keeps them up to some moment, each whole, and keeps every durable commit, whether it
came before or after; nothing that was flushed or shown is lost. Why a process: RocksDB has threads that
make tables, and nothing of it runs after SIGKILL. The power is cut as in test_rocks_waiting.py: by taking the
files as they are, without the memory.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from sync_latch import SyncLatch
from unlogged_writer import MARK, NOTES, ROW_BYTES, ROWS

from faradisc.storage.api import Batch, IOFailed
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_files import open_files
from faradisc.storage.testing.contract import OTHER, PART, applied, contents, payload_of, put, version_of

WRITER = Path(__file__).with_name("unlogged_writer.py")


async def _waits(call: Awaitable[Any]) -> asyncio.Future[Any]:
    """Insist that `call` does not finish by itself; turns of the loop are all it could need."""
    task = asyncio.ensure_future(call)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    return task


def test_only_reads_of_unlogged_commits_wait_for_a_flush(tmp_path: Path) -> None:
    async def play() -> None:
        latch = SyncLatch()
        db = open_files(tmp_path)

        def flush() -> None:
            latch.sync()
            db.flush()

        store = RocksStore(db, "grouped", flush=flush)
        await applied(store, Batch(OTHER, puts=[(b"a", b"")]))
        unlogged = Batch(PART, puts=[(b"a", b"1")], log=[b"x"])
        await store.commit([unlogged], durable=False)
        await put(store, b"b", b"2")  # a row of its own in the same part: it is in the log
        await put(store, b"c", b"3", OTHER)
        assert await contents(store, OTHER) == {b"a": b"", b"c": b"3"}
        assert (await store.get(PART, [b"a"], for_update=True))[0] is not None
        await store.wait_durable(0)
        assert latch.count == 0

        tasks = [
            await _waits(store.get(PART, [b"a"])),
            await _waits(store.range(PART, None, None, limit=10)),
            await _waits(store.read_many([(OTHER, b"a"), (PART, b"b")])),
            await _waits(store.log(PART, 0, 10)),
            await _waits(store.parts()),
            await _waits(store.snapshot()),
            await _waits(store.flush()),
            await _waits(store.commit([Batch(PART, log=[b"y"])])),
        ]
        assert await contents(store, OTHER) == {b"a": b"", b"c": b"3"}
        latch.open(3)
        await asyncio.gather(*tasks)
        assert latch.count == 2  # the second one for the entry `y`, which came behind the first
        assert [row[1] for _, row in tasks[1].result()] == [b"1", b"2"]
        assert await contents(store) == {b"a": b"1", b"b": b"2"}
        assert latch.count == 2
        await store.close()

    asyncio.run(play())


@pytest.mark.parametrize("flushed", [False, True])
def test_a_power_cut_takes_what_no_table_holds_and_nothing_else(tmp_path: Path, flushed: bool) -> None:
    place, disk = tmp_path / "data", tmp_path / "disk"
    store = open_rocks(place, durability="inline")
    run(applied(store, Batch(PART, puts=[(b"first", b"")], items_delta=1, bytes_delta=5)))
    unlogged = Batch(PART, puts=[(b"unlogged", b"")], log=[b"x"], items_delta=1, bytes_delta=4)
    run(store.commit([unlogged, Batch(b"third", puts=[(b"t", b"")])], durable=False))
    if flushed:
        run(store.flush())
    run(applied(store, Batch(OTHER, puts=[(b"k", b"")], log=[b"y"], items_delta=1)))
    last = run(version_of(store, b"k", OTHER))
    shutil.copytree(place, disk)
    run(store.close())

    store = open_rocks(disk, durability="inline")
    assert run(contents(store)) == ({b"first": b"", b"unlogged": b""} if flushed else {b"first": b""})
    assert run(store.usage(PART)) == ((2, 9) if flushed else (1, 5))
    assert run(store.log(PART, 0, 10)) == ([(1, b"x")] if flushed else [])
    assert (run(payload_of(store, b"t", b"third")) is not None) == flushed
    assert run(contents(store, OTHER)) == {b"k": b""}
    assert run(store.log(OTHER, 0, 10)) == [(1, b"y")]
    run(put(store, b"after", b""))
    assert run(version_of(store, b"after")) > last
    run(store.close())


@pytest.mark.parametrize("again", ["usage", "log"])
def test_what_counts_on_them_takes_them_to_the_disk(tmp_path: Path, again: str) -> None:
    """Otherwise the part's usage would say more than is there, or its log would have a gap."""
    place, disk = tmp_path / "data", tmp_path / "disk"
    store = open_rocks(place, durability="inline")
    run(store.commit([Batch(PART, puts=[(b"unlogged", b"")], log=[b"x"], items_delta=1)], durable=False))
    batch = Batch(PART, items_delta=1) if again == "usage" else Batch(PART, log=[b"y"])
    run(applied(store, Batch(OTHER, puts=[(b"k", b"")]), batch))
    shutil.copytree(place, disk)
    run(store.close())
    store = open_rocks(disk, durability="inline")
    assert run(contents(store)) == {b"unlogged": b""}
    assert run(contents(store, OTHER)) == {b"k": b""}
    assert run(store.usage(PART)) == ((2, 0) if again == "usage" else (1, 0))
    assert run(store.log(PART, 0, 10)) == ([(1, b"x")] if again == "usage" else [(1, b"x"), (2, b"y")])
    run(store.close())


def test_after_a_flush_that_failed_nothing_is_written_or_shown(tmp_path: Path) -> None:
    async def play() -> None:
        def flush() -> None:
            raise Exception("IO error: While fsync: /data/rocks/000004.sst: Input/output error")

        store = RocksStore(open_files(tmp_path), "grouped", flush=flush)
        await put(store, b"k", b"", OTHER)
        await store.commit([Batch(PART, puts=[(b"a", b"")])], durable=False)
        with pytest.raises(IOFailed):
            await store.get(PART, [b"a"])
        for call in (
            store.flush(),
            store.commit([Batch(PART, puts=[(b"b", b"")])], durable=False),
            put(store, b"b", b""),
        ):
            with pytest.raises(IOFailed, match="opened again"):
                await call
        assert await contents(store, OTHER) == {b"k": b""}
        await store.close()

    asyncio.run(play())


# --- kill -9 -------------------------------------------------------------------------------------


def _killed(directory: Path, first: int, count: int) -> tuple[set[int], int]:
    """Runs a writer, kills it after `count` lines. Returns its durable commits and the last flushed one."""
    durable: set[int] = set()
    flushed = -1
    lines = 0
    with subprocess.Popen(
        [sys.executable, str(WRITER), str(directory), str(first)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            kind, number = line.split()
            if kind == b"durable":
                durable.add(int(number))
            else:
                flushed = int(number)
            lines += 1
            if lines == count:
                writer.kill()
    assert lines >= count, "the writer ended by itself"
    return durable, flushed


def _check(directory: Path, durable: set[int], flushed: int) -> int:
    """What a crash has left; the first number that is free."""
    store = open_rocks(directory, durability="inline")
    names: list[bytes] = []
    low: bytes | None = None
    while page := run(store.range(ROWS, low, None, limit=20)):
        assert all(len(row[1]) == ROW_BYTES for _, row in page)
        names += [key for key, _ in page]
        low = names[-1] + b"\x00"
    numbers = [int(name) for name in names]
    assert numbers == [*range(len(numbers))], "a beginning, nothing from behind a gap"
    assert run(store.usage(ROWS)) == (len(numbers), len(numbers) * ROW_BYTES)
    assert run(payload_of(store, b"", MARK)) == (names[-1] if names else None)
    assert len(numbers) > flushed
    notes = run(contents(store, NOTES))
    assert durable <= {int(name) for name in notes}
    log = run(store.log(NOTES, 0, 1_000_000))
    assert [sequence for sequence, _ in log] == [*range(1, len(log) + 1)]
    assert {entry for _, entry in log} == notes.keys()
    run(store.close())
    return len(numbers)


def _rounds(directory: Path, counts: list[int]) -> None:
    """Runs writers in one directory, each after the rows of the one before."""
    durable: set[int] = set()
    flushed = -1
    first = 0
    for lines in counts:
        found, last = _killed(directory, first, lines)
        durable |= found
        flushed = max(flushed, last)
        first = _check(directory, durable, flushed)


def test_a_killed_process_leaves_a_beginning(tmp_path: Path) -> None:
    _rounds(tmp_path, [3, 1, 24])


@pytest.mark.slow
def test_many_killed_processes_leave_beginnings(tmp_path: Path) -> None:
    _rounds(tmp_path, [1 + (index * 7919) % 40 for index in range(25)])
