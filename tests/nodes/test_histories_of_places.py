"""Three servers over two places, which lose every tenth second message of a commit over both.

Histories, while servers and PostgreSQLs are killed and tables are moved.

What it proves: what test_histories_of_nodes.py proves over one PostgreSQL; that a move loses nothing; and
that no prepared transaction outlives its servers.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress

import orjson
import pytest

from faradisc.clock import SystemClock
from faradisc.engine.check import Check
from faradisc.storage.postgres.private import PrivatePostgres
from fixtures.clients import http_client
from fixtures.cluster import PrivateCluster, wait_for
from fixtures.lossy_server import PROGRAM
from fixtures.places import opened
from fixtures.postgres import needs_programs, temporary_place
from fixtures.served import Server
from fixtures.writers import Load
from history import clients as lists
from linearizability import clients as registers
from nodes.test_histories_of_nodes import CLIENTS, Nodes, run_and_kill, start_with_tables

pytestmark = pytest.mark.slow
SETTLED_S = 5.0
"""After the start of one server nothing is locked any more."""


class PlacesCluster(PrivateCluster):
    """Servers that share two private PostgreSQLs, which they start again when one dies."""

    def __init__(self, directory: str) -> None:
        place = temporary_place(directory)
        super().__init__(place)
        second = PrivatePostgres(place / "place-1")
        self._all = [self._postgres, second]
        self.dsns = [self.dsn, second.join()]
        self._options = (*self._options, "--places", "2")

    def start(self) -> Server:
        server = Server(*self._options, program=PROGRAM)
        self.servers.append(server)
        return server

    def kill_postgres(self, chance: random.Random) -> str:
        self._postgres = chance.choice(self._all)
        return super().kill_postgres(chance)

    async def sentences(self) -> list[str]:
        for each in self._all:
            each.revive()
        store = await opened(self.dsns)
        try:
            return (await Check(store, SystemClock()).finish()).sentences()
        finally:
            await store.close()

    async def prepared(self) -> list[str]:
        store = await opened(self.dsns, size=1)
        found = [name for place in store.places.values() for name, _ in await place.prepared("fd_")]
        await store.close()
        return found

    def end(self) -> None:
        for server in self.servers:
            server.__exit__()
        for each in self._all:
            each.revive()
            assert each.leave()


@pytest.fixture
def places() -> Iterator[PlacesCluster]:
    needs_programs()
    directory = f"places-{uuid.uuid4().hex}"
    cluster = PlacesCluster(directory)
    yield cluster
    cluster.end()
    shutil.rmtree(temporary_place(directory))


class Moves:
    """Moves a table again and again, whichever server answers."""

    def __init__(self, cluster: PlacesCluster, table: str) -> None:
        self.count = 0
        self._cluster = cluster
        self._table = table
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        chance = random.Random(1)
        while not self._ended.is_set():
            wanted = chance.choice([{"to": 0}, {"to": 1}, {"spread": True}])
            try:
                shown = self._page("GET", {})
                if not any(each["moving"] for each in shown["tables"]):
                    self._page("POST", {"table": self._table, **wanted})
                    self.count += 1
            except (OSError, ValueError, KeyError):
                pass
            self._ended.wait(0.3)

    def _page(self, method: str, document: dict[str, object]) -> dict[str, list[dict[str, object]]]:
        from urllib.request import Request, urlopen  # noqa: PLC0415

        url = self._cluster.any_url(random.Random()) + "/_faradisc/places"
        data = orjson.dumps(document) if method == "POST" else None
        request = Request(url, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=20) as answer:
            found: dict[str, list[dict[str, object]]] = orjson.loads(answer.read())
        return found

    def __enter__(self) -> Moves:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        print(f"{self.count} moves asked for")


@pytest.mark.parametrize("seed", [1])
def test_items_are_linearizable_while_their_table_moves(places: PlacesCluster, seed: int) -> None:
    operations, kills = 20_000, 20
    start_with_tables(places, registers.TABLE)
    site, shared = Nodes(places, operations, seed), registers.Registers()
    clients = [registers.Client(number, seed, site, shared) for number in range(CLIENTS)]
    with Moves(places, registers.TABLE) as moves:
        run_and_kill(site, kills, seed, [client.run for client in clients])
    history = registers.verify(clients, f"places-{seed}")
    assert len(history) == operations
    assert moves.count > 2
    assert asyncio.run(places.sentences()) == []


@pytest.mark.parametrize("seed", [1])
def test_transactions_over_both_places_are_strictly_serialisable(places: PlacesCluster, seed: int) -> None:
    operations, kills = 20_000, 20
    start_with_tables(places, *lists.TABLES)
    site, keys = Nodes(places, operations, seed), lists.Keys()
    clients = [lists.Client(number, seed, site, keys) for number in range(CLIENTS + 1)]
    run_and_kill(site, kills, seed, [client.run for client in clients[:CLIENTS]])
    final = clients[CLIENTS].read_all()
    counts = lists.verify(clients, final, f"places-{seed}")
    assert counts["ok"] > operations / 4
    assert asyncio.run(places.sentences()) == []


@pytest.mark.parametrize("rounds", [100])
def test_killed_servers_and_places_lose_no_acknowledged_write(places: PlacesCluster, rounds: int) -> None:
    chance = random.Random(1)
    for _ in range(3):
        places.start()
    with Load(places) as load:
        for number in range(rounds):
            load.wait_for(100)
            if number % 2:
                places.kill_postgres(chance)
            else:
                places.kill_one(chance)
                places.start()
        load.wait_for(100)
    load.check()
    print(f"{rounds} kills, {load.answers} answers")


def run_until_the_end(client: lists.Client) -> None:
    """Runs a client until no server is left."""
    with suppress(OSError, IndexError):
        client.run()


@pytest.mark.parametrize("rounds", [20])
def test_no_prepared_transaction_outlives_its_servers(places: PlacesCluster, rounds: int) -> None:
    """All servers are killed at some moment of many transactions; one that starts ends what they left."""
    start_with_tables(places, *lists.TABLES)
    left = 0
    for seed in range(rounds):
        site, keys = Nodes(places, 400, seed), lists.Keys()
        clients = [lists.Client(number, seed, site, keys) for number in range(CLIENTS)]
        threads = [threading.Thread(target=run_until_the_end, args=(client,)) for client in clients]
        for each in threads:
            each.start()
        site.wait_until_left(random.Random(seed).randrange(100, 300))
        while places.servers:
            places.kill_one(random.Random(seed))
        left += len(asyncio.run(places.prepared()))
        places.start()
        wait_for(lambda: not asyncio.run(places.prepared()), SETTLED_S)
        for _ in range(2):
            places.start()
        for each in threads:
            each.join()
    print(f"{left} prepared transactions left in {rounds} rounds")
    assert left
    assert http_client(places.servers[0].url).list_tables()["TableNames"]
