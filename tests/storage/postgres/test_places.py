"""A store whose parts are at several PostgreSQLs: the shipped suite, lost and late second messages of commits
over several places, the recovery, a place that is away, moves under writes, and what cannot be opened.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import pytest

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, IOFailed, Row, Stale
from faradisc.storage.postgres import joining
from faradisc.storage.postgres.connecting import connector
from faradisc.storage.postgres.joining import Named, named, open_places
from faradisc.storage.postgres.moving import Mover, ask
from faradisc.storage.postgres.pool import Connection
from faradisc.storage.postgres.routed import RoutedStore
from faradisc.storage.postgres.share import Share
from faradisc.storage.postgres.store import open_postgres
from faradisc.storage.testing.contract import applied
from faradisc.storage.testing.suite import Capabilities, SharedStoreSuite
from fixtures.local_nodes import EMPTY
from fixtures.places import LATE, LOST, Faults, Hooked, hooked, new_places, opened

PARTS = [b"tbl1\x00", b"tbl2\x00"]
"""Of two tables; `placed` puts them at different places."""
KEYS = [(part, b"k") for part in PARTS]


class TestPlaces(SharedStoreSuite):
    """The parts of the suite are tables of their own, at different places."""

    capabilities = Capabilities(reopens=True, suspends=True)

    dsns: ClassVar[list[str]] = []

    @pytest.fixture(autouse=True)
    def _addresses(self, postgres: str) -> None:
        """Two places for all tests: to make them takes longer than most of the tests."""
        self.is_empty = not self.dsns
        if not self.dsns:
            self.dsns.extend(new_places(postgres))

    async def open_store(self, place: Path) -> RoutedStore:
        store = await opened(self.dsns)
        if not self.is_empty:
            for each in store.places.values():
                await each._fetch(EMPTY)
            await store.refresh()
            self.is_empty = True
        return store


async def placed(store: RoutedStore) -> None:
    """Creates the two tables."""
    for part in PARTS:
        await store.refresh()
        await applied(store, Batch(part, puts=[(b"k", b"0")]))
    assert {store.map.find(part) for part in PARTS} == {0, 1}


def both(payload: bytes) -> list[Batch]:
    return [Batch(part, puts=[(b"k", payload)], log=[payload]) for part in PARTS]


async def payloads(store: RoutedStore) -> list[bytes | None]:
    return [row and row[1] for row in await store.read_many(KEYS)]


def torn(rows: list[Row | None]) -> bool:
    return len({row and row[1] for row in rows}) > 1


def test_reads_see_every_answered_commit_whole(postgres: str, faults: Faults) -> None:
    """Whatever becomes of second messages. A read that does not look for them shows that they are missed."""
    dsns = new_places(postgres)

    async def play() -> tuple[int, int]:
        store, reader = await opened(dsns), await opened(dsns)
        await placed(store)
        faults.shares = {LOST: 0.1, LATE: 0.3}
        numbers = itertools.count(1)
        last, busy, missed, torn_reads = 0, True, 0, 0

        async def write() -> None:
            nonlocal last, busy
            for number in itertools.islice(numbers, 60):
                await applied(store, *both(b"%d" % number))
                last = number
            busy = False

        async def read() -> None:
            nonlocal torn_reads
            while busy:
                before = last
                rows = await reader.read_many(KEYS)
                torn_reads += torn(rows)
                assert rows[0] is not None
                assert int(rows[0][1]) >= before
                for part in PARTS:
                    before = last
                    [row] = await reader.get(part, [b"k"])
                    [(_, again)] = await reader.range(part, None, None, limit=2)
                    assert row is not None
                    assert before <= int(row[1]) <= int(again[1])
                    assert len(await reader.log(part, 0, 1000)) >= before

        async def look() -> None:
            nonlocal missed
            plain = [reader.places[n].unsettled() for n in range(2)]
            while busy:
                before = last
                for part in PARTS:
                    [row] = await plain[await reader.number_of(part) or 0].get(part, [b"k"])
                    missed += row is not None and int(row[1]) < before

        await asyncio.gather(write(), read(), read(), look())
        faults.shares = {}
        snapshot = await reader.snapshot()
        assert not torn(await snapshot.read_many(KEYS))
        await snapshot.close()
        await store.close()
        await reader.close()
        return missed, torn_reads

    missed, torn_reads = asyncio.run(play())
    assert faults.counts[LOST]
    assert faults.counts[LATE]
    assert missed > 0, "nothing was missed, so this proves nothing"
    assert torn_reads == 0


def test_a_conflict_or_another_epoch_at_one_place_leaves_all_as_they_are(postgres: str) -> None:
    async def play() -> None:
        store = await opened(new_places(postgres))
        await placed(store)
        rows = await store.read_many(KEYS)
        for part in PARTS:
            assert rows[0] is not None
            batches = both(b"1")
            for batch in batches:
                if batch.part == part:
                    batch.checks = [(b"absent", 7)]
            assert await store.commit(batches) == Conflict(part, b"absent", 0)
            batches = both(b"1")
            for batch in batches:
                if batch.part == part:
                    batch.epoch = 5
            with pytest.raises(Stale):
                await store.commit(batches)
        assert await store.read_many(KEYS) == rows
        assert await applied(store, *both(b"1"), Batch(PARTS[0], log=[b"more"])) == [1, 1, 2]
        assert await store.recovery.callers() == {0: [], 1: []}
        await store.close()

    asyncio.run(play())


@pytest.mark.parametrize("decided", [True, False])
def test_any_server_ends_what_a_dead_one_has_left(postgres: str, faults: Faults, *, decided: bool) -> None:
    dsns = new_places(postgres)

    async def play() -> None:
        store = await opened(dsns)
        other_place = store.places[1]
        await placed(store)
        faults.shares = {LOST: 1}
        if decided:
            await applied(store, *both(b"1"))
        else:
            [(caller,)] = await store.home._fetch(
                "INSERT INTO kv_caller VALUES ('caller', 0, NULL, 0, now()) RETURNING id"
            )
            batch = next(batch for batch in both(b"1") if store.map.find(batch.part) == 1)
            connection = await other_place.take()
            name = store.recovery.name(1, 0, caller, 1)
            await other_place.prepare(connection, name, Share([batch]).arguments)
            other_place.give(connection, broken=False)
        assert [len(callers) for callers in (await store.recovery.callers()).values()] == [1, 0]
        await store.home._fetch("UPDATE kv_caller SET at = now() - interval '2 days'")
        await store.sweep()
        await store.close()
        faults.shares = {}
        other = await opened(dsns)
        assert await payloads(other) == [b"1" if decided else b"0"] * 2  # waits for the recovery
        assert await applied(other, *both(b"2"))
        assert await payloads(other) == [b"2", b"2"]
        assert other.recovery.problems() == []
        await other.close()

    asyncio.run(play())


def test_a_connection_that_lost_a_second_message_decides_nothing_more(postgres: str, faults: Faults) -> None:
    """Its row of the caller says what was decided, until the recovery has read it."""

    async def play() -> None:
        store = await opened(new_places(postgres), size=1)
        await placed(store)
        faults.shares = {LOST: 1}
        await applied(store, *both(b"1"))
        deciding = next(part for part in PARTS if store.map.find(part) == 0)
        for _ in range(3):
            await applied(store, Batch(deciding, puts=[(b"other", b"")]))
        faults.shares = {}
        assert await payloads(store) == [b"1", b"1"]
        await store.close()

    asyncio.run(play())


class Away:
    """A PostgreSQL that can be away."""

    def __init__(self, dsn: str) -> None:
        self._connect = connector(dsn)
        self.is_away = False
        self.connections: list[Connection] = []
        self.named = Named(dsn, self.connect)

    async def connect(self) -> Connection:
        if self.is_away:
            raise IOFailed("PostgreSQL does not answer: it is away.")
        connection = await self._connect()
        self.connections.append(connection)
        return connection

    def leave(self) -> None:
        self.is_away = True
        for connection in self.connections:
            connection.terminate()


def test_a_place_that_is_away_takes_away_its_tables_only(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faradisc.storage.postgres.pool.PATIENCE_S", 0.05)
    dsns = new_places(postgres)

    async def play() -> None:
        places = [Away(dsn) for dsn in dsns]
        store = await open_places([each.named for each in places], size=4)
        await placed(store)
        [there] = [part for part in PARTS if store.map.find(part) == 1]
        [here] = [part for part in PARTS if part != there]
        places[1].leave()
        for _ in range(2):
            with pytest.raises(IOFailed, match="it is away"):
                await store.get(there, [b"k"])
            with pytest.raises(IOFailed, match="it is away"):
                await store.commit(both(b"1"))
        assert await applied(store, Batch(here, puts=[(b"k", b"2")])) == [0]
        assert [row and row[1] for row in await store.get(here, [b"k"])] == [b"2"]
        assert store.failure is None
        [sentence] = store.recovery.problems()
        assert sentence.startswith("place 1, ")
        await applied(store, Batch(b"tbl3\x00", puts=[(b"k", b"3")]))
        snapshot = await store.snapshot()
        assert [row and row[1] for row in await snapshot.get(here, [b"k"])] == [b"2"]
        with pytest.raises(IOFailed, match="it is away"):
            await snapshot.get(there, [b"k"])
        await snapshot.close()
        # A server can start without it, and uses it when it is back.
        other = await open_places([each.named for each in places], size=4)
        places[1].is_away = False
        for each in (store, other):
            while each.places[1].failure is not None:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
            assert [row and row[1] for row in await each.get(there, [b"k"])] == [b"0"]
            await each.close()

    asyncio.run(play())


def test_a_place_that_stalls_leaves_connections_of_the_others(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many transactions wait for it. At home they lock nothing either."""
    monkeypatch.setattr("faradisc.storage.postgres.routed.EVERY_S", 1_000.0)
    dsns = new_places(postgres, 3)
    tables = [b"tbl0\x00", b"tbl1\x00", b"tbl2\x00"]
    size = 4

    async def play() -> None:
        answers, waiting = asyncio.Event(), list[str]()
        answers.set()

        async def do(
            connection: Hooked, statement: str, _: object, call: Callable[[], Awaitable[Any]]
        ) -> Any:
            if not answers.is_set():
                waiting.append(statement)
                either = {asyncio.ensure_future(each.wait()) for each in (answers, connection.ended)}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return await call()

        store = await open_places([named(dsns[0]), hooked(dsns[1], do), named(dsns[2])], size=size)
        for number, part in enumerate(tables):
            store.map.candidates = [number]
            beside = part[:4] + b"beside"
            await applied(store, Batch(part, puts=[(b"k", b"0")]), Batch(beside, puts=[(b"k", b"0")]))
        assert [store.map.find(part) for part in tables] == [0, 1, 2]
        await applied(store, *(Batch(part, log=[b""]) for part in tables))
        await asyncio.gather(*(store.get(tables[1], [b"k"]) for _ in range(size)))  # connects
        answers.clear()
        stuck = [
            asyncio.ensure_future(
                store.commit([Batch(part, puts=[(b"k", b"1")]) for part in (other, tables[1])])
            )
            for other in (tables[0], tables[2])
            for _ in range(size)
        ]
        while len(waiting) < size:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
        for number in (0, 2):
            beside = tables[number][:4] + b"beside"
            assert await applied(store, Batch(beside, puts=[(b"k", b"1")]))
            [row] = await store.get(beside, [b"k"])
            assert row is not None
            assert row[1] == b"1"
        assert await applied(store, Batch(tables[0], puts=[(b"k", b"2")]))
        assert not any(each.done() for each in stuck)
        answers.set()
        for each in await asyncio.gather(*stuck):
            assert isinstance(each, list)
        await store.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    "target",
    [b"\x01\x00", *(pytest.param(target, marks=pytest.mark.slow) for target in (b"\x00", b"\x01"))],
)
def test_tables_move_while_they_are_written(postgres: str, faults: Faults, target: bytes) -> None:
    """Rows, log, usage and epoch are there afterwards, with every write that was answered."""
    dsns = new_places(postgres)
    chance = random.Random(1)

    async def play() -> None:
        store, other = await opened(dsns), await opened(dsns)
        parts = [b"tbl1" + bytes([slot]) for slot in range(3)] + [b"tbl2\x00day"]
        puts = [(b"%05d" % number, b"v" * 50) for number in range(1100)]
        await applied(store, *(Batch(part, puts=puts, bytes_delta=9, fence=7, log=[b"e"]) for part in parts))
        await applied(store, Batch(b"tbl9\x00", puts=[(b"k", b"")]))
        faults.shares = {LOST: 0.05}
        written: dict[tuple[bytes, bytes], bytes] = {}
        clearing = asyncio.Lock()
        busy = True

        async def write(number: int) -> None:
            while busy:
                part, key, by = (
                    chance.choice(parts),
                    b"%05d" % (2 * chance.randrange(500) + number),
                    chance.choice([store, other]),
                )
                payload = chance.randbytes(4)
                beside = [Batch(b"tbl9\x00", puts=[(b"k", payload)])] if chance.random() < 0.1 else []
                if chance.random() < 0.01:
                    async with clearing:
                        await by.clear(parts[0])
                        for known in [each for each in written if each[0] == parts[0]]:
                            del written[known]
                    return
                async with clearing if part == parts[0] else nullcontext():
                    if chance.random() < 0.3:
                        await applied(by, Batch(part, deletes=[key], epoch=7, log=[b"d" + key]), *beside)
                        written.pop((part, key), None)
                    else:
                        batch = Batch(part, puts=[(key, payload)], epoch=7, log=[b"p" + key])
                        await applied(by, batch, *beside)
                        written[part, key] = payload
                    [row] = await by.get(part, [key], epoch=7)
                    assert (row and row[1]) == written.get((part, key))

        writers = [asyncio.ensure_future(write(number)) for number in range(2)]
        before = store.map.places[b"tbl1"]
        for places in (target, bytes([1 - before[0]]), before):
            await ask(store, [b"tbl1", b"tbl2", b"tbl3"], places)
            mover = Mover(store)
            while await mover.step():
                if chance.random() < 0.05:
                    mover = Mover(store)  # as after the death of a server
            assert store.map.places[b"tbl1"] == places
        busy = False
        await asyncio.gather(*writers)
        for part in parts:
            rows = dict(await other.range(part, None, None, limit=5000, epoch=7))
            changed = {key: payload for (where, key), payload in written.items() if where == part}
            assert {key: row[1] for key, row in rows.items() if len(row[1]) == 4} == changed
            entries = await other.log(part, 0, 100_000)
            assert [number for number, _ in entries] == list(range(1, len(entries) + 1))
        assert await other.usage(parts[3]) == (0, 9)
        assert {part for part, _ in await store.parts()} >= {*parts[1:], b"tbl9\x00"}
        await store.close()
        await other.close()

    asyncio.run(play())


def test_what_is_no_place_of_the_store_is_a_sentence(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, other, third = new_places(postgres, 4)

    async def rejected(*dsns: str, create: bool = True) -> str:
        with pytest.raises(StorageError) as raised:
            await (await opened(list(dsns), create=create)).close()
        return str(raised.value)

    async def play() -> None:
        store = await opened([first, second])
        await placed(store)
        await store.close()
        assert "name place 0 first" in await rejected(second, first)
        assert "does not name place 1" in await rejected(first)
        assert "are one place" in await rejected(first, second, second)
        alone = await open_postgres(other, size=1)
        await applied(alone, Batch(b"part", puts=[(b"k", b"")]))
        await alone.close()
        assert "has data" in await rejected(first, second, other)
        await (await opened([other, third])).close()
        assert "another store" in await rejected(first, second, third)
        assert "no tables of Faradisc" in await rejected(*new_places(postgres), create=False)
        for dsn in (first, second):
            with pytest.raises(StorageError, match="one of several places"):
                await open_postgres(dsn, size=1)
        monkeypatch.setattr(joining, "PREPARED_MIN", 10_000)
        assert "max_prepared_transactions" in await rejected(first, second)
        monkeypatch.setattr(joining, "PREPARED_MIN", 1)
        monkeypatch.setattr(joining, "SKEW_US_MAX", -1)
        assert "The clocks of" in await rejected(first, second)

    asyncio.run(play())


def test_a_place_that_is_added_gets_no_table_before_it_is_asked_to(postgres: str, faults: Faults) -> None:
    dsns = new_places(postgres, 3)
    names = dsns[:1]

    async def play() -> None:
        store = await open_places([named(dsns[0])], size=2, more=lambda: names)
        await applied(store, Batch(b"old1\x00", puts=[(b"k", b"")]))
        names.extend(dsns[1:])
        while len(store.places) < 3:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
        for number in range(3):
            await applied(store, Batch(b"new%d\x00" % number, puts=[(b"k", b"")]))
        assert set(store.map.places.values()) == {b"\x00"}
        await store.home._fetch("UPDATE kv_place SET drained = 0 WHERE number = 2")
        await store.refresh()
        await applied(store, Batch(b"new3\x00", puts=[(b"k", b"")]))
        assert store.map.places[b"new3"] == b"\x02"
        await store.close()

    asyncio.run(play())
