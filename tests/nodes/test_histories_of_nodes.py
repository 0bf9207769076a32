"""Three nodes over one PostgreSQL: histories, while nodes, PostgreSQL or both are killed.

What it proves: single items are linearizable and transactions strictly serialisable, whichever node is asked,
with clients that change their node all the time. A request that got no answer, or 500, may have been executed
once or not at all. The checkers and clients are those of tests/linearizability and tests/history.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from fixtures.clients import http_client
from fixtures.cluster import Cluster, PrivateCluster
from fixtures.schemas import schema
from history import clients as lists
from history.clients import Connection, Site
from linearizability import clients as registers

NODES, CLIENTS = 3, 8
PAUSE_S = 0.1
"""A client's pause after a lost answer."""


class Nodes(Site):
    lost = (500, 503)

    def __init__(self, cluster: PrivateCluster, operations: int, seed: int) -> None:
        super().__init__(operations)
        self.cluster = cluster
        self.operations = operations
        self._chance = random.Random(f"{seed}/site")
        self._pause = threading.Event()

    def find(self, after_life: int) -> tuple[str, int]:
        if after_life:
            self._pause.wait(PAUSE_S)
        return self.cluster.any_url(self._chance), 1

    def connection(self) -> Connection:
        return Roaming(self, self._chance)


class Roaming(Connection):
    """A way to the nodes, in every tenth request to another one."""

    def __init__(self, site: Site, chance: random.Random) -> None:
        super().__init__(site)
        self._chance = chance

    def open(self) -> None:
        if self._http is not None and self._chance.random() < 0.1:
            self.close()
            self._life = 0
        super().open()


def run_and_kill(site: Nodes, kills: int, seed: int, runs: Sequence[Callable[[], None]]) -> Counter[str]:
    """Runs all, and kills something so many times meanwhile. Returns what was killed how often."""
    chance = random.Random(seed)
    moments = sorted((chance.randrange(site.operations) for _ in range(kills)), reverse=True)
    killed: Counter[str] = Counter()
    with ThreadPoolExecutor(len(runs)) as threads:
        running = [threads.submit(run) for run in runs]
        for left in moments:
            site.wait_until_left(left)
            what = chance.choice(("node", "PostgreSQL", "both"))
            if what != "node":
                killed[site.cluster.kill_postgres(chance)] += 1
            if what != "PostgreSQL":
                site.cluster.kill_one(chance)
                site.cluster.start()
                killed["node"] += 1
            killed[what + " in a round"] += 1
        for each in running:
            each.result()
    print(f"seed {seed}: {dict(killed)}")
    return killed


def start_with_tables(cluster: Cluster, *names: str) -> None:
    for _ in range(NODES):
        cluster.start()
    for name in names:
        http_client(cluster.servers[0].url).create_table(TableName=name, **schema("p:S"))
        http_client(cluster.servers[0].url).get_waiter("table_exists").wait(TableName=name)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_items_are_linearizable_over_nodes_that_are_killed(
    private_cluster: PrivateCluster, seed: int
) -> None:
    operations, kills = 30_000, 30
    start_with_tables(private_cluster, registers.TABLE)
    site, shared = Nodes(private_cluster, operations, seed), registers.Registers()
    clients = [registers.Client(number, seed, site, shared) for number in range(CLIENTS)]
    killed = run_and_kill(site, kills, seed, [client.run for client in clients])
    history = registers.verify(clients, f"nodes-{seed}")
    assert len(history) == operations
    assert len(killed) == 7
    assert asyncio.run(private_cluster.sentences()) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_transactions_are_strictly_serialisable_over_nodes_that_are_killed(
    private_cluster: PrivateCluster, seed: int
) -> None:
    operations, kills = 30_000, 30
    start_with_tables(private_cluster, *lists.TABLES)
    site, keys = Nodes(private_cluster, operations, seed), lists.Keys()
    clients = [lists.Client(number, seed, site, keys) for number in range(CLIENTS + 1)]
    killed = run_and_kill(site, kills, seed, [client.run for client in clients[:CLIENTS]])
    final = clients[CLIENTS].read_all()
    counts = lists.verify(clients, final, f"nodes-{seed}")
    assert counts["ok"] > operations / 4
    assert len(killed) == 7
    assert asyncio.run(private_cluster.sentences()) == []
