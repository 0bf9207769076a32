"""Commits: checks and conflicts, all or nothing, versions, usage, contention."""

from __future__ import annotations

import asyncio

import pytest

from faradisc.storage.api import Batch, Conflict, Store
from faradisc.storage.testing.contract import (
    OTHER,
    PART,
    StoreContract,
    applied,
    contents,
    delete,
    payload_of,
    put,
    row_of,
    scenario,
    version_of,
)


class CommitContract(StoreContract):
    @scenario
    async def test_commit_is_readable_at_once(self, store: Store) -> None:
        await applied(store, Batch(PART, puts=[(b"a", b"1"), (b"b", b"2")]))
        assert await contents(store) == {b"a": b"1", b"b": b"2"}
        await applied(store, Batch(PART, puts=[(b"a", b"3")], deletes=[b"b", b"never there"]))
        assert await contents(store) == {b"a": b"3"}

    @scenario
    async def test_empty_commit_succeeds(self, store: Store) -> None:
        assert await store.commit([]) == []
        assert await store.commit([Batch(PART)]) == [0]
        await put(store, b"a", b"1")
        version = await version_of(store, b"a")
        assert await store.commit([Batch(PART, checks=[(b"a", version), (b"b", 0)])]) == [0]
        assert await version_of(store, b"a") == version

    @scenario
    async def test_checks_compare_versions_and_zero_means_absent(self, store: Store) -> None:
        await put(store, b"a", b"1")
        version = await version_of(store, b"a")
        for wrong in (0, version + 1, 1 << 62):
            answer = await store.commit([Batch(PART, checks=[(b"a", wrong)], puts=[(b"a", b"2")])])
            assert answer == Conflict(PART, b"a", version)
        answer = await store.commit([Batch(PART, checks=[(b"b", version)], puts=[(b"b", b"2")])])
        assert answer == Conflict(PART, b"b", 0)
        assert await contents(store) == {b"a": b"1"}
        await applied(store, Batch(PART, checks=[(b"a", version), (b"b", 0)], puts=[(b"b", b"2")]))
        assert await contents(store) == {b"a": b"1", b"b": b"2"}

    @scenario
    async def test_conflict_names_the_first_failing_check(self, store: Store) -> None:
        await put(store, b"a", b"1")
        answer = await store.commit(
            [
                Batch(PART, checks=[(b"z", 0)]),
                Batch(OTHER, checks=[(b"y", 0), (b"x", 5), (b"w", 6)]),
                Batch(PART, checks=[(b"a", 0)]),
            ]
        )
        assert answer == Conflict(OTHER, b"x", 0)

    @scenario
    async def test_checks_after_a_read_for_update_see_later_commits(self, store: Store) -> None:
        """An engine can cache what was read; later commits must still be seen."""
        await put(store, b"a", b"1")
        [row] = await store.get(PART, [b"a"], for_update=True)
        assert row is not None
        await put(store, b"a", b"2")
        assert isinstance(await store.commit([Batch(PART, checks=[(b"a", row[0])])]), Conflict)
        [row] = await store.get(PART, [b"a"], for_update=True)
        assert row is not None
        await delete(store, b"a")
        assert await store.commit([Batch(PART, checks=[(b"a", row[0])])]) == Conflict(PART, b"a", 0)
        [gone] = await store.get(PART, [b"a"], for_update=True)
        assert gone is None
        await put(store, b"a", b"3")
        assert isinstance(await store.commit([Batch(PART, checks=[(b"a", 0)])]), Conflict)
        [row] = await store.get(PART, [b"a"], for_update=True)
        assert row is not None
        await store.clear(PART)
        assert isinstance(await store.commit([Batch(PART, checks=[(b"a", row[0])])]), Conflict)

    @scenario
    async def test_one_failing_check_rejects_every_batch(self, store: Store) -> None:
        """Rows, log and usage of all parts are one unit."""
        await applied(store, Batch(PART, puts=[(b"a", b"1")], log=[b"one"], items_delta=1, bytes_delta=5))
        answer = await store.commit(
            [
                Batch(PART, puts=[(b"b", b"2")], deletes=[b"a"], log=[b"two"], items_delta=7, bytes_delta=7),
                Batch(OTHER, checks=[(b"c", 9)], puts=[(b"c", b"3")], log=[b"three"]),
            ]
        )
        assert answer == Conflict(OTHER, b"c", 0)
        assert await contents(store) == {b"a": b"1"}
        assert await contents(store, OTHER) == {}
        assert await store.log(PART, 0, 10) == [(1, b"one")]
        assert await store.log(OTHER, 0, 10) == []
        assert await store.usage(PART) == (1, 5)
        assert await applied(store, Batch(PART, log=[b"next"]), Batch(OTHER)) == [2, 0]

    @scenario
    async def test_commit_that_raises_has_no_effect(self, store: Store) -> None:
        """An error in the arguments must not consume log numbers or usage."""
        await applied(store, Batch(PART, log=[b"one"], items_delta=1))
        wrong = Batch(PART, log=[b"two", "not bytes"], items_delta=1)  # type: ignore[list-item]
        with pytest.raises(TypeError):
            await store.commit([Batch(PART, log=[b"x"], items_delta=5), wrong])
        with pytest.raises(TypeError):
            await store.commit([Batch(PART, puts=[(b"a", b""), (b"b", None)])])  # type: ignore[list-item]
        assert await contents(store) == {}
        assert await store.log(PART, 0, 10) == [(1, b"one")]
        assert await store.usage(PART) == (1, 0)
        assert await applied(store, Batch(PART, log=[b"three"])) == [2]

    @scenario
    async def test_checks_compare_with_the_state_before_the_commit(self, store: Store) -> None:
        await applied(
            store,
            Batch(PART, checks=[(b"a", 0)], puts=[(b"a", b"1")]),
            Batch(PART, checks=[(b"a", 0)], puts=[(b"b", b"2")]),
        )
        assert await contents(store) == {b"a": b"1", b"b": b"2"}

    @scenario
    async def test_versions_rise_in_a_part_and_rows_of_a_commit_share_one(self, store: Store) -> None:
        await applied(store, Batch(PART, puts=[(b"a", b""), (b"b", b"")]), Batch(OTHER, puts=[(b"a", b"")]))
        first, other = await version_of(store, b"a"), await version_of(store, b"a", OTHER)
        assert first >= 1 and other >= 1
        assert await version_of(store, b"b") == first
        await put(store, b"c", b"", OTHER)
        await put(store, b"a", b"")
        assert other < await version_of(store, b"c", OTHER)
        assert first < await version_of(store, b"a")

    @scenario
    async def test_versions_are_not_reused_after_a_delete(self, store: Store) -> None:
        """A check on a row that was deleted and put again must fail, even with equal bytes."""
        versions: list[int] = []
        for _ in range(5):
            await put(store, b"a", b"same")
            versions.append(await version_of(store, b"a"))
            await delete(store, b"a")
        await put(store, b"a", b"same")
        await store.clear(PART)
        await put(store, b"a", b"same")
        versions.append(await version_of(store, b"a"))
        assert versions == sorted(set(versions))
        assert isinstance(await store.commit([Batch(PART, checks=[(b"a", versions[0])])]), Conflict)

    @scenario
    async def test_usage_adds_up_per_part(self, store: Store) -> None:
        await applied(store, Batch(PART, items_delta=3, bytes_delta=300), Batch(OTHER, items_delta=1))
        await applied(store, Batch(PART, puts=[(b"a", b"")], items_delta=-1, bytes_delta=-50))
        await applied(store, Batch(PART, bytes_delta=1), Batch(PART, bytes_delta=2))
        assert await store.usage(PART) == (2, 253)
        assert await store.usage(OTHER) == (1, 0)

    @scenario
    async def test_clear_deletes_one_part_only(self, store: Store) -> None:
        """A part that is written again starts empty."""
        following = PART + b"x"
        for part in (PART, following, OTHER):
            rows = [(b"%04d" % number, b"row") for number in range(300)]
            await applied(store, Batch(part, puts=rows, log=[b"e"], items_delta=300, bytes_delta=900))
        await store.clear(PART)
        assert await contents(store) == {}
        assert await store.range(PART, None, None, limit=10, reverse=True) == []
        assert await row_of(store, b"0000") is None
        assert await store.log(PART, 0, 10) == []
        assert await store.usage(PART) == (0, 0)
        for part in (following, OTHER):
            assert len(await contents(store, part)) == 300
            assert await store.log(part, 0, 10) == [(1, b"e")]
            assert await store.usage(part) == (300, 900)
        assert await applied(
            store, Batch(PART, checks=[(b"0000", 0)], puts=[(b"0000", b"new")], log=[b"n"])
        ) == [1]
        assert await contents(store) == {b"0000": b"new"}
        await store.clear(b"never written")

    @scenario
    async def test_concurrent_increments_of_one_counter_add_up(self, store: Store) -> None:
        """Overlapping coroutines check and retry."""
        writers, rounds = 16, 20

        async def add_one() -> None:
            for _ in range(rounds):
                while True:
                    [row] = await store.get(PART, [b"counter"], for_update=True)
                    version, count = (0, 0) if row is None else (row[0], int(row[1]))
                    await asyncio.sleep(0)  # other coroutines run between the read and the commit
                    batch = Batch(
                        PART,
                        checks=[(b"counter", version)],
                        puts=[(b"counter", b"%d" % (count + 1))],
                        log=[b"%d" % (count + 1)],
                    )
                    if not isinstance(await store.commit([batch]), Conflict):
                        break

        await asyncio.gather(*(add_one() for _ in range(writers)))
        assert await payload_of(store, b"counter") == b"%d" % (writers * rounds)
        entries = await store.log(PART, 0, 1000)
        assert entries == [(number, b"%d" % number) for number in range(1, writers * rounds + 1)]

    @scenario
    async def test_concurrent_puts_without_checks_succeed(self, store: Store) -> None:
        async def write(number: int) -> None:
            await put(store, b"shared", b"%d" % number)
            await put(store, b"own %d" % number, b"")

        await asyncio.gather(*(write(number) for number in range(50)))
        assert len(await contents(store)) == 51

    @scenario
    async def test_readers_see_commits_across_parts_whole(self, store: Store) -> None:
        """A reader of both parts never sees one half of a commit."""
        done = asyncio.Event()

        async def write() -> None:
            for number in range(100):
                value = b"%d" % number
                await applied(store, Batch(PART, puts=[(b"x", value)]), Batch(OTHER, puts=[(b"y", value)]))
                await asyncio.sleep(0)
            done.set()

        async def read() -> None:
            while not done.is_set():
                left, right = await store.read_many([(PART, b"x"), (OTHER, b"y")])
                assert (left and left[1]) == (right and right[1])
                await asyncio.sleep(0)

        await asyncio.gather(write(), read(), read())

    @scenario
    async def test_cancelling_a_writer_does_not_affect_others(self, store: Store) -> None:
        tasks = [asyncio.ensure_future(put(store, b"%d" % number, b"")) for number in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [outcomes[index] for index in (0, 2, 3)] == [None, None, None]
        assert set(await contents(store)) >= {b"0", b"2", b"3"}

    @scenario
    async def test_commit_that_is_not_durable_behaves_like_others(self, store: Store) -> None:
        unlogged = Batch(
            PART, checks=[(b"a", 0)], puts=[(b"a", b"1"), (b"b", b"2")], log=[b"one"], items_delta=2
        )
        assert await store.commit([unlogged, Batch(OTHER, puts=[(b"c", b"3")])], durable=False) == [1, 0]
        assert await version_of(store, b"a") == await version_of(store, b"b")
        assert await store.commit([unlogged], durable=False) == Conflict(
            PART, b"a", await version_of(store, b"a")
        )
        assert await store.commit([Batch(PART, deletes=[b"b"])], durable=False) == [1]
        assert await contents(store) == {b"a": b"1"}
        assert await store.log(PART, 0, 10) == [(1, b"one")]
        assert await store.commit([Batch(PART)], durable=False) == [1]
        await store.flush()
        await store.flush()
        assert await contents(store, OTHER) == {b"c": b"3"}

    @scenario
    async def test_usage_and_log_continue_over_durable_and_other_commits(self, store: Store) -> None:
        for number in range(1, 7):
            batch = Batch(PART, log=[b"%d" % number], items_delta=1, bytes_delta=number)
            assert await store.commit([batch], durable=number % 3 == 0) == [number]
            await put(store, b"%d" % number, b"")
        assert await store.usage(PART) == (6, 21)
        assert [sequence for sequence, _ in await store.log(PART, 0, 10)] == [1, 2, 3, 4, 5, 6]

    @scenario
    async def test_clear_of_a_part_with_commits_that_are_not_durable(self, store: Store) -> None:
        await store.commit([Batch(PART, puts=[(b"a", b"1")], items_delta=1)], durable=False)
        await store.clear(PART)
        assert await contents(store) == {}
        await store.commit([Batch(PART, puts=[(b"b", b"2")], items_delta=1)], durable=False)
        await store.flush()
        assert await contents(store) == {b"b": b"2"}
        assert await store.usage(PART) == (1, 0)
