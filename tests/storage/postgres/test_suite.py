"""The engine over PostgreSQL passes the shipped suite, two stores over one place included; and long keys."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from faradisc.storage.api import Batch, Conflict, Stale, Store
from faradisc.storage.postgres.keys import HEAD_BYTES
from faradisc.storage.postgres.store import open_postgres
from faradisc.storage.testing.contract import OTHER, PART, applied, contents, scenario, version_of
from faradisc.storage.testing.suite import Capabilities, SharedStoreSuite


def _payload(key: bytes) -> bytes:
    """Returns 27 bytes."""
    return (key[-9:] * 6)[:27]


class TestPostgres(SharedStoreSuite):
    capabilities = Capabilities(reopens=True, suspends=True)

    @pytest.fixture(autouse=True)
    def _address(self, postgres_dsn: str) -> None:
        self.dsn = postgres_dsn

    async def open_store(self, place: Path) -> Store:
        return await open_postgres(self.dsn, size=4)

    @scenario
    async def test_keys_longer_than_an_index_entry_are_in_order_in_every_range(self, store: Store) -> None:
        drawn = random.Random(7)
        heads = [drawn.randbytes(HEAD_BYTES) for _ in range(3)]
        rests = [drawn.randbytes(size) for size in (1, 1, 2, 900, 3_700) for _ in range(3)]
        keys = sorted(
            {head[:cut] for head in heads for cut in (5, HEAD_BYTES - 1, HEAD_BYTES)}
            | {head + rest for head in heads for rest in rests}
            | {heads[0] + number.to_bytes(2, "big") for number in range(420)}
        )
        shuffled = drawn.sample(keys, len(keys))
        for start in range(0, len(keys), 100):
            await applied(
                store, Batch(PART, puts=[(key, _payload(key)) for key in shuffled[start : start + 100]])
            )
        assert list((await contents(store)).items()) == [(key, _payload(key)) for key in keys]
        for _ in range(8):
            low, high = sorted(drawn.choice(keys) + drawn.choice([b"", b"\x00"]) for _ in range(2))
            for reverse in (False, True):
                wanted = [key for key in keys if low <= key < high]
                wanted = wanted[::-1] if reverse else wanted
                limit = drawn.choice([1, 7, 1_000])
                rows = await store.range(PART, low, high, limit=limit, reverse=reverse)
                assert [key for key, _ in rows] == wanted[:limit]
                rows = await store.range(PART, low, high, limit=1_000, reverse=reverse, max_bytes=100)
                assert [key for key, _ in rows] == wanted[:4]
                assert all(row[1] == _payload(key) for key, row in rows)

    @scenario
    async def test_long_keys_are_read_checked_and_deleted_like_short_ones(self, store: Store) -> None:
        key, other = b"k" * 6_000, b"k" * 5_999 + b"l"
        await applied(store, Batch(PART, checks=[(key, 0)], puts=[(key, b"1")]))
        assert isinstance(await store.commit([Batch(PART, checks=[(key, 0)], puts=[(key, b"2")])]), Conflict)
        version = await version_of(store, key)
        conflict = await store.commit(
            [Batch(PART, checks=[(other, version)], puts=[(key, b"3"), (b"k", b"")])]
        )
        assert conflict == Conflict(PART, other, 0)
        await applied(store, Batch(PART, checks=[(key, version)], puts=[(key, b"4"), (other, b"5")]))
        rows = await store.read_many([(PART, other), (PART, key), (PART, b"k")])
        assert [row and row[1] for row in rows] == [b"5", b"4", None]
        snapshot = await store.snapshot()
        await applied(store, Batch(PART, deletes=[key]))
        assert list(await contents(snapshot)) == [key, other]
        assert list(await contents(store)) == [other]

    def test_two_stores_that_open_an_empty_schema_at_once_create_it_once(self) -> None:
        async def play() -> None:
            stores = await asyncio.gather(*(open_postgres(self.dsn, size=1) for _ in range(5)))
            for number, store in enumerate(stores):
                await applied(store, Batch(PART, log=[b"%d" % number]))
            assert [number for number, _ in await stores[0].log(PART, 0, 10)] == [1, 2, 3, 4, 5]
            for store in stores:
                await store.close()

        asyncio.run(play())

    @scenario
    async def test_single_reads_at_once_get_their_own_rows_and_errors(self, store: Store) -> None:
        rows = {
            (part, b"%d" % number): b"%s%d" % (part, number) for part in (PART, OTHER) for number in range(99)
        }
        for part in (PART, OTHER):
            puts = [(key, payload) for (place, key), payload in rows.items() if place == part]
            await applied(store, Batch(part, puts=puts, fence=7))
        asked = [*rows, (PART, b"absent"), (b"never written", b"0")] * 2
        found = await asyncio.gather(*(store.get(part, [key]) for part, key in asked))
        assert [row and row[1] for (row,) in found] == [rows.get(each) for each in asked]
        epochs = [7, 6, None] * 20
        reads = [store.get(PART, [b"5"], epoch=epoch) for epoch in epochs]
        for epoch, answer in zip(epochs, await asyncio.gather(*reads, return_exceptions=True), strict=True):
            assert isinstance(answer, Stale if epoch == 6 else list)
