"""Snapshots, close, reopen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.storage.api import Batch, Closed, Conflict, ReadOnlyStore, Store
from faradisc.storage.immediate import run
from faradisc.storage.testing.contract import (
    OTHER,
    PART,
    StoreContract,
    applied,
    contents,
    delete,
    put,
    scenario,
    version_of,
)

READS: list[Callable[[ReadOnlyStore], Awaitable[Any]]] = [
    lambda store: store.get(PART, [b"a"]),
    lambda store: store.get(OTHER, [b"a"], for_update=True),
    lambda store: store.range(PART, None, None, limit=1),
    lambda store: store.range(PART, None, None, limit=1, reverse=True),
    lambda store: store.read_many([(PART, b"a")]),
    lambda store: store.log(PART, 0, 1),
    lambda store: store.usage(PART),
    lambda store: store.usage(b"never read"),
]
WRITES: list[Callable[[Store], Awaitable[Any]]] = [
    lambda store: store.commit([Batch(PART, puts=[(b"a", b"")])]),
    lambda store: store.commit([]),
    lambda store: store.commit([Batch(PART, puts=[(b"a", b"")])], durable=False),
    lambda store: store.flush(),
    lambda store: store.wait_durable(0),
    lambda store: store.trim(PART, 1),
    lambda store: store.clear(PART),
    lambda store: store.snapshot(),
]


class LifetimeContract(StoreContract):
    @scenario
    async def test_snapshot_does_not_see_later_commits(self, store: Store) -> None:
        await applied(store, Batch(PART, puts=[(b"a", b"1"), (b"b", b"2")], log=[b"x"], items_delta=2))
        snapshot = await store.snapshot()
        before = await snapshot.range(PART, None, None, limit=10)
        await applied(store, Batch(PART, puts=[(b"a", b"9"), (b"c", b"3")], deletes=[b"b"], log=[b"y"]))
        await applied(store, Batch(PART, items_delta=5), Batch(OTHER, puts=[(b"a", b"new")]))
        await store.trim(PART, 2)
        assert await snapshot.range(PART, None, None, limit=10) == before
        assert await snapshot.range(PART, b"a", b"b", limit=10, reverse=True) == before[:1]
        assert [row and row[1] for row in await snapshot.get(PART, [b"a", b"b", b"c"])] == [b"1", b"2", None]
        assert await snapshot.read_many([(OTHER, b"a"), (PART, b"a")]) == [None, before[0][1]]
        assert await snapshot.log(PART, 0, 10) == [(1, b"x")]
        assert await snapshot.usage(PART) == (2, 0)
        assert await contents(snapshot, OTHER) == {}
        await snapshot.close()
        assert await contents(store) == {b"a": b"9", b"c": b"3"}
        assert await store.usage(PART) == (7, 0)

    @scenario
    async def test_snapshot_is_independent_of_clear_and_other_snapshots(self, store: Store) -> None:
        await put(store, b"a", b"1")
        first = await store.snapshot()
        await put(store, b"a", b"2")
        second = await store.snapshot()
        await store.clear(PART)
        third = await store.snapshot()
        await first.close()
        assert await contents(second) == {b"a": b"2"}
        assert await contents(third) == {}
        await put(store, b"a", b"4")
        assert await contents(second) == {b"a": b"2"}
        await second.close()
        await third.close()
        assert await contents(store) == {b"a": b"4"}

    @scenario
    async def test_closed_snapshot_raises(self, store: Store) -> None:
        await put(store, b"a", b"1")
        snapshot = await store.snapshot()
        await snapshot.close()
        await snapshot.close()
        for read in READS:
            with pytest.raises(Closed):
                await read(snapshot)
        assert await contents(store) == {b"a": b"1"}

    @scenario
    async def test_closed_store_raises(self, store: Store) -> None:
        await put(store, b"a", b"1")
        snapshot = await store.snapshot()
        await store.close()
        await store.close()
        for read in READS:
            with pytest.raises(Closed):
                await read(store)
            with pytest.raises(Closed):
                await read(snapshot)
        for write in WRITES:
            with pytest.raises(Closed):
                await write(store)
        await snapshot.close()

    @scenario
    async def test_wait_durable_returns_for_any_version(self, store: Store) -> None:
        await store.wait_durable(0)
        await put(store, b"a", b"1")
        version = await version_of(store, b"a")
        await store.wait_durable(version)
        await store.wait_durable(1)
        await store.wait_durable(0)

    def test_close_completes_running_commits(self, tmp_path: Path) -> None:
        async def play() -> None:
            store = await self.open_store(tmp_path)
            tasks = [asyncio.ensure_future(put(store, b"%d" % number, b"")) for number in range(5)]
            await asyncio.sleep(0)
            await store.close()
            await asyncio.gather(*tasks)
            if self.capabilities.reopens:
                store = await self.open_store(tmp_path)
                assert len(await contents(store)) == 5
                await store.close()

        asyncio.run(play())

    def test_reopened_store_has_all_data(self, tmp_path: Path) -> None:
        if not self.capabilities.reopens:
            pytest.skip("this engine keeps nothing")

        async def play() -> None:
            store = await self.open_store(tmp_path)
            rows = [(b"%d" % number, b"v" * 100) for number in range(100)]
            await applied(store, Batch(PART, puts=rows, log=[b"a", b"b"], items_delta=100, bytes_delta=7))
            await delete(store, b"50")
            await store.trim(PART, 2)
            await applied(store, Batch(OTHER, puts=[(b"k", b"v")], log=[b"x"]))
            await store.clear(OTHER)
            await store.commit([Batch(PART, puts=[(b"unlogged", b"v")], items_delta=1)], durable=False)
            await store.snapshot()  # left open: the store closes it
            await store.commit([Batch(PART, puts=[(b"softer", b"v")], items_delta=1)], durable=False)
            before = await store.range(PART, None, None, limit=1000)
            await store.close()

            store = await self.open_store(tmp_path)
            assert len(before) == 101
            assert await store.range(PART, None, None, limit=1000) == before
            assert await store.log(PART, 0, 10) == [(2, b"b")]
            assert await store.usage(PART) == (102, 7)
            assert await contents(store, OTHER) == {}
            assert await applied(store, Batch(PART, log=[b"c"]), Batch(OTHER, log=[b"y"])) == [3, 1]
            await store.close()

        asyncio.run(play())

    def test_versions_are_not_reused_after_a_reopen(self, tmp_path: Path) -> None:
        if not self.capabilities.reopens:
            pytest.skip("this engine keeps nothing")

        async def play() -> None:
            versions: list[int] = []
            for _ in range(4):
                store = await self.open_store(tmp_path)
                for _ in range(3):
                    await put(store, b"a", b"same")
                    versions.append(await version_of(store, b"a"))
                    await delete(store, b"a")
                await store.commit([Batch(PART, checks=[(b"a", 0)])])
                await store.clear(PART)
                await store.close()
            store = await self.open_store(tmp_path)
            await put(store, b"a", b"same")
            versions.append(await version_of(store, b"a"))
            assert versions == sorted(set(versions))
            stale = Batch(PART, checks=[(b"a", versions[-2])], puts=[(b"a", b"lost")])
            assert isinstance(await store.commit([stale]), Conflict)
            await store.close()

        asyncio.run(play())

    def test_every_call_runs_without_an_event_loop(self, tmp_path: Path) -> None:
        if self.capabilities.suspends:
            pytest.skip("this engine waits in an event loop")
        store = run(self.open_store(tmp_path))
        run(put(store, b"a", b"1"))
        run(applied(store, Batch(PART, checks=[(b"b", 0)], puts=[(b"b", b"2")], log=[b"e"], items_delta=2)))
        for read in READS:
            run(_awaited(read, store))
        snapshot = run(store.snapshot())
        for write in WRITES:
            run(_awaited(write, store))
        for read in READS:
            run(_awaited(read, snapshot))
        run(snapshot.close())
        run(store.close())


async def _awaited(call: Callable[[Any], Awaitable[Any]], store: ReadOnlyStore) -> Any:
    return await call(store)
