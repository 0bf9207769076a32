"""The log of a part: numbering, order, trimming."""

from __future__ import annotations

import asyncio

from faradisc.storage.api import Batch, Store
from faradisc.storage.testing.contract import OTHER, PART, StoreContract, applied, put, scenario


class LogContract(StoreContract):
    @scenario
    async def test_numbers_start_at_one_and_have_no_gap(self, store: Store) -> None:
        assert await applied(store, Batch(PART, log=[b"a"])) == [1]
        assert await applied(store, Batch(PART, log=[b"b", b"c"])) == [3]
        assert await applied(store, Batch(PART, puts=[(b"k", b"")])) == [3]
        assert await applied(store, Batch(PART, log=[b"d"], deletes=[b"k"])) == [4]
        assert await store.log(PART, 0, 10) == [(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d")]

    @scenario
    async def test_each_part_has_its_own_numbers(self, store: Store) -> None:
        await applied(store, Batch(PART, log=[b"a"]))
        answer = await applied(
            store, Batch(OTHER, log=[b"x", b"y"]), Batch(PART, log=[b"b"]), Batch(OTHER, log=[b"z"])
        )
        assert answer == [2, 2, 3]
        assert await store.log(PART, 0, 10) == [(1, b"a"), (2, b"b")]
        assert await store.log(OTHER, 0, 10) == [(1, b"x"), (2, b"y"), (3, b"z")]

    @scenario
    async def test_log_is_read_after_a_number(self, store: Store) -> None:
        await applied(store, Batch(PART, log=[b"%d" % number for number in range(1, 301)]))
        assert await store.log(PART, 0, 2) == [(1, b"1"), (2, b"2")]
        assert await store.log(PART, 254, 3) == [(255, b"255"), (256, b"256"), (257, b"257")]
        assert await store.log(PART, 299, 10) == [(300, b"300")]
        assert await store.log(PART, 300, 10) == []
        assert await store.log(PART, 5000, 10) == []

    @scenario
    async def test_trim_deletes_entries_and_numbering_continues(self, store: Store) -> None:
        await applied(store, Batch(PART, log=[b"a", b"b", b"c", b"d"]), Batch(OTHER, log=[b"x"]))
        await store.trim(PART, 0)
        await store.trim(PART, 1)
        assert len(await store.log(PART, 0, 10)) == 4
        await store.trim(PART, 3)
        assert await store.log(PART, 0, 10) == [(3, b"c"), (4, b"d")]
        assert await store.log(PART, 3, 10) == [(4, b"d")]
        await store.trim(PART, 2)
        assert await store.log(PART, 0, 1) == [(3, b"c")]
        await store.trim(PART, 1000)
        assert await store.log(PART, 0, 10) == []
        assert await applied(store, Batch(PART, log=[b"e"])) == [5]
        assert await store.log(PART, 0, 10) == [(5, b"e")]
        assert await store.log(OTHER, 0, 10) == [(1, b"x")]
        await store.trim(b"never written", 5)

    @scenario
    async def test_log_does_not_change_rows_and_usage(self, store: Store) -> None:
        await applied(store, Batch(PART, puts=[(b"k", b"v")], log=[b"a"], items_delta=1, bytes_delta=2))
        await store.trim(PART, 10)
        assert len(await store.range(PART, None, None, limit=10)) == 1
        assert await store.usage(PART) == (1, 2)

    @scenario
    async def test_tailing_reader_gets_every_entry_in_order(self, store: Store) -> None:
        """Under load, entry N is never visible later than N+1 for a reader that only moves forward."""
        writers, rounds = 8, 25
        seen: list[int] = []

        async def write() -> None:
            for _ in range(rounds):
                await applied(store, Batch(PART, log=[b"e"], puts=[(b"k", b"")]))

        async def tail() -> None:
            while len(seen) < writers * rounds:
                entries = await store.log(PART, seen[-1] if seen else 0, 10)
                seen.extend(number for number, _ in entries)
                await asyncio.sleep(0)

        await asyncio.gather(tail(), *(write() for _ in range(writers)))
        assert seen == list(range(1, writers * rounds + 1))

    @scenario
    async def test_log_entry_and_row_of_a_commit_appear_together(self, store: Store) -> None:
        for number in range(1, 20):
            await applied(store, Batch(PART, puts=[(b"k", b"%d" % number)], log=[b"%d" % number]))
            await put(store, b"other", b"", OTHER)
            assert await store.log(PART, number - 1, 10) == [(number, b"%d" % number)]
