"""Two stores over one place: what one has done, the other sees; and epochs, which stop the one that does not
know the newest state. For engines that several processes may use at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from faradisc.storage.api import Batch, Conflict, Stale, Store
from faradisc.storage.testing.contract import (
    OTHER,
    PART,
    StoreContract,
    applied,
    contents,
    payload_of,
    put,
    row_of,
    scenario,
    version_of,
)


async def _assert_stale(call: Awaitable[Any]) -> None:
    with pytest.raises(Stale):
        await call


class SharingContract(StoreContract):
    """Of a shared engine: `open_store` of one place twice gives two stores of the same rows."""

    @scenario
    async def test_a_shared_engine_says_so(self, store: Store) -> None:
        assert store.shared

    @scenario
    async def test_the_epoch_of_a_new_part_is_zero(self, store: Store) -> None:
        await applied(store, Batch(PART, epoch=0, puts=[(b"a", b"1")]))
        await _assert_stale(store.commit([Batch(PART, epoch=1, puts=[(b"a", b"2")])]))
        assert await store.get(PART, [b"a"], epoch=0) == await store.get(PART, [b"a"])
        await _assert_stale(store.get(PART, [b"a"], epoch=1))
        await _assert_stale(store.get(b"never written", [b"a"], epoch=1))

    @scenario
    async def test_a_fence_stops_commits_and_reads_of_the_epoch_before(self, store: Store) -> None:
        await put(store, b"a", b"1")
        version = await version_of(store, b"a")
        await applied(store, Batch(PART, fence=7))
        for epoch in (0, 6, 8):
            batch = Batch(PART, epoch=epoch, puts=[(b"b", b"2")], log=[b"l"], items_delta=1, bytes_delta=1)
            await _assert_stale(store.commit([Batch(OTHER, puts=[(b"o", b"o")]), batch]))
            await _assert_stale(store.commit([Batch(PART, epoch=epoch)]))
            await _assert_stale(store.get(PART, [b"a"], epoch=epoch))
            await _assert_stale(store.get(PART, [b"a", b"b"], epoch=epoch))
            await _assert_stale(store.get(PART, [b"none"], for_update=True, epoch=epoch))
            await _assert_stale(store.range(PART, None, None, limit=1, epoch=epoch))
            await _assert_stale(store.range(PART, b"x", None, limit=9, reverse=True, epoch=epoch))
            await _assert_stale(store.range(PART, None, None, limit=9, max_bytes=9, epoch=epoch))
            await _assert_stale(store.read_many([(OTHER, b"a"), (PART, b"a")], epochs={PART: epoch}))
        assert await contents(store) == {b"a": b"1"}
        assert await contents(store, OTHER) == {}
        assert await store.log(PART, 0, 9) == []
        assert await store.usage(PART) == (0, 0)
        row = (version, b"1")
        assert await store.get(PART, [b"a"], epoch=7) == [row]
        assert await store.range(PART, None, None, limit=9, epoch=7) == [(b"a", row)]
        assert await store.range(PART, None, None, limit=9, max_bytes=9, epoch=7) == [(b"a", row)]
        assert await store.read_many([(OTHER, b"a"), (PART, b"a")], epochs={PART: 7}) == [None, row]
        assert await applied(store, Batch(PART, epoch=7, log=[b"l"], puts=[(b"a", b"2")])) == [1]
        assert await payload_of(store, b"a") == b"2"

    @scenario
    async def test_an_epoch_is_checked_before_versions(self, store: Store) -> None:
        await applied(store, Batch(PART, fence=1))
        await _assert_stale(store.commit([Batch(OTHER, checks=[(b"a", 9)]), Batch(PART, epoch=0)]))

    @scenario
    async def test_a_commit_that_conflicts_sets_no_epoch(self, store: Store) -> None:
        answer = await store.commit([Batch(PART, fence=3), Batch(OTHER, checks=[(b"a", 9)])])
        assert answer == Conflict(OTHER, b"a", 0)
        await applied(store, Batch(PART, epoch=0, fence=4))
        await _assert_stale(store.commit([Batch(PART, epoch=0, fence=5)]))
        await applied(store, Batch(PART, epoch=4))

    @scenario
    async def test_the_epoch_of_a_part_outlives_its_rows(self, store: Store) -> None:
        await applied(store, Batch(PART, fence=2, puts=[(b"a", b"1")]))
        await store.clear(PART)
        await _assert_stale(store.commit([Batch(PART, epoch=0, puts=[(b"a", b"2")])]))
        await applied(store, Batch(PART, epoch=2, puts=[(b"a", b"2")]))

    @scenario
    async def test_a_commit_has_the_epoch_of_each_part(self, store: Store) -> None:
        await applied(store, Batch(PART, fence=1), Batch(OTHER, fence=2))
        await _assert_stale(store.commit([Batch(PART, epoch=1), Batch(OTHER, epoch=1)]))
        await applied(
            store,
            Batch(PART, epoch=1, puts=[(b"a", b"1")]),
            Batch(OTHER, epoch=2, puts=[(b"b", b"1")]),
            Batch(b"third", puts=[(b"c", b"1")]),
        )
        assert await row_of(store, b"c", b"third") is not None

    def test_what_one_store_has_committed_the_other_reads(self, tmp_path: Path) -> None:
        async def play() -> None:
            one, other = await self.open_store(tmp_path), await self.open_store(tmp_path)
            try:
                await applied(one, Batch(PART, puts=[(b"a", b"1")], log=[b"e"], items_delta=1))
                assert await payload_of(other, b"a") == b"1"
                assert await version_of(other, b"a") == await version_of(one, b"a")
                assert await other.log(PART, 0, 9) == [(1, b"e")]
                assert await other.usage(PART) == (1, 0)
                version = await version_of(one, b"a")
                await applied(other, Batch(PART, checks=[(b"a", version)], puts=[(b"a", b"2")], log=[b"f"]))
                answer = await one.commit([Batch(PART, checks=[(b"a", version)], deletes=[b"a"])])
                assert isinstance(answer, Conflict)
                assert await applied(one, Batch(PART, log=[b"g"])) == [3]
                await applied(one, Batch(PART, fence=1))
                await _assert_stale(other.get(PART, [b"a"], epoch=0))
                await other.clear(PART)
                assert await contents(one) == {}
                await other.close()
                await put(one, b"b", b"1")
            finally:
                await one.close()
                await other.close()

        asyncio.run(play())

    def test_increments_of_one_counter_by_two_stores_add_up(self, tmp_path: Path) -> None:
        async def play() -> None:
            stores = [await self.open_store(tmp_path) for _ in range(2)]

            async def add(store: Store) -> None:
                for _ in range(25):
                    while True:
                        [row] = await store.get(PART, [b"n"], for_update=True)
                        version, count = (0, 0) if row is None else (row[0], int(row[1]))
                        await asyncio.sleep(0)
                        put = (b"n", b"%d" % (count + 1))
                        batch = Batch(PART, checks=[(b"n", version)], puts=[put], log=[put[1]])
                        if not isinstance(await store.commit([batch]), Conflict):
                            break

            await asyncio.gather(*(add(store) for store in stores for _ in range(4)))
            assert await payload_of(stores[0], b"n") == b"200"
            assert await stores[1].log(PART, 0, 1000) == [(n, b"%d" % n) for n in range(1, 201)]
            for store in stores:
                await store.close()

        asyncio.run(play())

    def test_no_commit_of_the_epoch_before_follows_a_fence(self, tmp_path: Path) -> None:
        """The fence of one store takes part in the order of the other's commits."""

        async def play() -> None:
            one, other = await self.open_store(tmp_path), await self.open_store(tmp_path)
            fenced = False

            async def write(name: bytes) -> int:
                done = 0
                while True:
                    late = fenced
                    try:
                        await applied(other, Batch(PART, epoch=0, puts=[(name, b"")], log=[name]))
                    except Stale:
                        return done
                    assert not late
                    done += 1
                    await asyncio.sleep(0)

            writers = [asyncio.ensure_future(write(b"%d" % number)) for number in range(4)]
            for _ in range(20):
                await asyncio.sleep(0.001)
            (last,) = await applied(one, Batch(PART, fence=1))
            fenced = True
            assert sum(await asyncio.gather(*writers)) == last
            assert len(await one.log(PART, 0, 1_000_000)) == last
            await one.close()
            await other.close()

        asyncio.run(play())
