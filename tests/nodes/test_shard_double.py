"""Faradisc over parts in several PostgreSQLs, by a double of Citus (fixtures/shards.py).

What it proves: the double shows what Citus shows, and the checkers see it, when reads take no locks. With
locks a transaction is read whole or not at all, items are linearizable, transactions strictly serialisable,
nothing acknowledged is lost, and items, index and stream agree, while second messages of two-phase commits
come late or never, and connections break around the decision.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Epochs, Keys, Part, Row
from faradisc.storage.postgres.sharded import ShardedStore
from faradisc.storage.testing.contract import applied
from faradisc.storage.testing.suite import Capabilities, SharedStoreSuite
from fixtures.clients import http_client
from fixtures.schemas import schema
from fixtures.sharded_nodes import QuietStore, ShardedNodes, StartNodes
from fixtures.shards import HARSH, LOST, MILD, PLACES, Shards, place_of
from fixtures.writers import Load
from history import clients as lists
from history.checker import anomalies
from history.clients import Connection, Site
from linearizability import clients as registers

pytestmark = pytest.mark.slow
CLIENTS = 8
PARTS = [b"part %d" % number for number in range(6)]
PLAIN_READS, LOCKED_READS = 3_000, 1_000


class UnlockedStore(ShardedStore):
    """The control: it reads as an engine over one PostgreSQL does, without locks."""

    async def get(
        self,
        part: Part,
        keys: Sequence[bytes],
        *,
        for_update: bool = False,
        stale_ok: bool = False,
        epoch: int | None = None,
    ) -> list[Row | None]:
        rows: list[Row | None] = []
        for key in keys:
            rows += await super().get(part, [key], stale_ok=True, epoch=epoch)
        return rows

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        reads = [self.get(part, [key], epoch=(epochs or {}).get(part)) for part, key in keys]
        return [row for (row,) in await asyncio.gather(*reads)]


async def read_during_commits(shards: Shards) -> tuple[int, int, list[list[Row]]]:
    """Returns how many plain and how many locked reads were torn, and what the locked ones returned."""
    await shards.start()
    store, unlocked = await shards.store(), UnlockedStore(shards.connect, 4)
    numbers = itertools.count(1)
    keys = [(part, b"k") for part in PARTS]
    busy = True

    async def write() -> None:
        payload = b"%d" % next(numbers)
        await applied(store, *(Batch(part, puts=[(b"k", payload)]) for part in PARTS))

    async def keep_writing() -> None:
        while busy:
            await write()

    async def read(reader: ShardedStore, count: int) -> list[list[Row]]:
        return [[row for row in await reader.read_many(keys) if row] for _ in range(count)]

    await write()
    writing = [asyncio.ensure_future(keep_writing()) for _ in range(2)]
    plain, *locked = await asyncio.gather(
        read(unlocked, PLAIN_READS), *(read(store, LOCKED_READS // 4) for _ in range(4))
    )
    busy = False
    await asyncio.gather(*writing)
    for each in (store, unlocked, shards):
        await each.close()
    torn = [sum(len({payload for _, payload in rows}) > 1 for rows in reads) for reads in (plain, *locked)]
    print(f"torn: {torn[0]} of {len(plain)} plain reads, {sum(torn[1:])} of {LOCKED_READS} locked ones")
    print(f"{next(numbers) - 1} commits: {dict(shards.counts)}")
    return torn[0], sum(torn[1:]), locked[0]


@pytest.mark.parametrize("failures", [MILD, HARSH], ids=["late", "lost"])
def test_plain_reads_of_several_places_are_torn_and_locked_ones_are_not(
    shards: Shards, failures: dict[str, float]
) -> None:
    assert {place_of(part) for part in PARTS} == set(range(PLACES))
    shards.failures = failures
    plain, locked, _ = asyncio.run(read_during_commits(shards))
    assert plain > 0, "the double shows no anomaly, so it proves nothing"
    assert locked == 0


def test_versions_rise_in_each_part_and_are_not_of_the_whole_store(shards: Shards) -> None:
    """Numbers of different parts may be equal, as on Citus: each place has its own."""
    shards.failures = HARSH

    async def play() -> list[list[tuple[int, bytes]]]:
        await shards.start()
        store = await shards.store()
        seen: list[list[tuple[int, bytes]]] = [[] for _ in PARTS]

        async def write(number: int) -> None:
            chance = random.Random(number)
            for step in range(60):
                chosen = chance.sample(PARTS, chance.randint(1, 3))
                payload = b"%d %d" % (number, step)
                await applied(store, *(Batch(part, puts=[(b"k", payload)]) for part in chosen))
                if step == 30:
                    await store.clear(chosen[0])

        async def read() -> None:
            while not all(each.done() for each in writing):
                for rows, row in zip(seen, await store.read_many([(p, b"k") for p in PARTS]), strict=True):
                    if row and rows[-1:] != [row]:
                        rows.append(row)

        writing = [asyncio.ensure_future(write(number)) for number in range(4)]
        await asyncio.gather(read(), *writing)
        await store.close()
        await shards.close()
        return seen

    seen = asyncio.run(play())
    numbers = [[version for version, _ in rows] for rows in seen]
    for each in numbers:
        assert each == sorted(set(each))
        assert len(each) > 20
    assert max(Counter(itertools.chain(*numbers)).values()) > 1


class Nodes(Site):
    lost = (500, 503)

    def __init__(self, nodes: ShardedNodes, operations: int) -> None:
        super().__init__(operations)
        self._nodes = nodes
        self._chance = random.Random(operations)

    def find(self, after_life: int) -> tuple[str, int]:
        return self._nodes.any_url(self._chance), 1

    def connection(self) -> Connection:
        return Roaming(self)


class Roaming(Connection):
    """A way to the nodes, for each request to any of them."""

    def open(self) -> None:
        self.close()
        super().open()


def run_all(nodes: ShardedNodes, clients: Sequence[lists.Client | registers.Client]) -> None:
    with ThreadPoolExecutor(len(clients)) as threads:
        for each in [threads.submit(client.run) for client in clients]:
            each.result()
    print(dict(nodes.shards.counts))


def list_history(
    nodes: ShardedNodes, operations: int, seed: int
) -> tuple[list[lists.Client], dict[str, list[int]]]:
    """Returns clients with their history, and the lists at the end."""
    for name in lists.TABLES:
        http_client(nodes.servers[0].url).create_table(TableName=name, **schema("p:S"))
    site, keys = Nodes(nodes, operations), lists.Keys()
    clients = [lists.Client(number, seed, site, keys) for number in range(CLIENTS + 1)]
    run_all(nodes, clients[:CLIENTS])
    return clients, clients[CLIENTS].read_all()


def test_transactions_over_several_places_are_strictly_serialisable(start_nodes: StartNodes) -> None:
    operations = 6_000
    nodes = start_nodes(HARSH)
    clients, final = list_history(nodes, operations, seed=1)
    counts = lists.verify(clients, final, "shards-1")
    assert counts["ok"] > operations / 4
    assert nodes.shards.counts[LOST] > 10
    assert asyncio.run(nodes.sentences()) == []


def test_the_checker_finds_the_anomalies_of_reads_without_locks(start_nodes: StartNodes) -> None:
    nodes = start_nodes({**HARSH, LOST: 0.1}, UnlockedStore)
    clients, final = list_history(nodes, 2_000, seed=2)
    history = [each for client in clients for each in client.history]
    found = anomalies(history, final)
    print(f"{len(found)} anomalies without locks, the first: {found[:1]}")
    assert found != []


def test_items_in_several_places_are_linearizable(start_nodes: StartNodes) -> None:
    operations = 6_000
    nodes = start_nodes({**HARSH, LOST: 0.1})
    http_client(nodes.servers[0].url).create_table(TableName=registers.TABLE, **schema("p:S"))
    site, shared = Nodes(nodes, operations), registers.Registers()
    clients = [registers.Client(number, 3, site, shared) for number in range(CLIENTS)]
    run_all(nodes, clients)
    assert len(registers.verify(clients, "shards-3")) == operations
    assert nodes.shards.counts[LOST] > 10
    assert asyncio.run(nodes.sentences()) == []


def test_lost_second_messages_lose_no_acknowledged_write(start_nodes: StartNodes) -> None:
    """Items, pairs of a transaction, the index and the replayed stream agree at the end."""
    nodes = start_nodes({**HARSH, LOST: 0.1})
    with Load(nodes) as load:  # type: ignore[arg-type]
        for _ in range(12):
            load.wait_for(100)
    load.check()
    print(f"{load.answers} answers, {dict(nodes.shards.counts)}")
    assert nodes.shards.counts[LOST] > 50


class TestSharded(SharedStoreSuite):
    """The suite of engines over the double, without what only one PostgreSQL has: a snapshot that stays as it
    is, and the first of several failing checks; here it is one of them."""

    capabilities = Capabilities(reopens=True, suspends=True)
    test_snapshot_does_not_see_later_commits = None
    test_snapshot_is_independent_of_clear_and_other_snapshots = None
    test_closed_store_raises = None
    test_parts_lists_parts_that_are_not_empty = None
    test_conflict_names_the_first_failing_check = None

    @pytest.fixture(autouse=True)
    def _places(self, shards: Shards) -> None:
        self.shards = shards

    async def open_store(self, place: Path) -> ShardedStore:
        await self.shards.create()
        return QuietStore(self.shards.connect, 4)

    def test_a_snapshot_is_a_sentence(self) -> None:
        with pytest.raises(StorageError, match="no common state"):
            asyncio.run(ShardedStore(self.shards.connect, 1).snapshot())
