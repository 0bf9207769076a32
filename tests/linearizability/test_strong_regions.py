"""A strongly consistent global table over HTTP, in three regions; one is cut off, and the server killed.

What it proves: every item's history is linearizable although its requests go to all regions, with regions
that are cut off and join again at any time, kills of a server included; over PostgreSQL with two servers. A
region without a majority answers 500; a request with that answer, or one that met a write of another region,
has no effect or an unknown one.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import orjson
import pytest

from fixtures.clients import http_client
from fixtures.in_process import AUTHORIZATION
from fixtures.schemas import schema
from fixtures.served import Server
from fixtures.strong_regions import EAST, OTHER, REGIONS, WEST
from history.clients import Connection, Lost, Site
from linearizability.clients import TABLE, Client, Registers, verify

CLIENTS = 6


class InRegions(Connection):
    """Sends every request to a region of its own choice."""

    def __init__(self, site: Site, chance: random.Random, regions: tuple[str, ...]) -> None:
        super().__init__(site)
        self._chance = chance
        self._regions = regions
        self.refused = 0

    def call(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        region = self._chance.choice(self._regions)
        self.authorization = AUTHORIZATION.replace("us-east-1", region)
        status, answer = super().call(operation, request)
        if status == 500 or answer.get("__type", "").endswith("#ReplicatedWriteConflictException"):
            self.refused += 1
            raise Lost
        return status, answer


class Regional(Client):
    def __init__(self, number: int, seed: int, site: Site, registers: Registers, regions: Any) -> None:
        super().__init__(number, seed, site, registers)
        self._connection: InRegions = InRegions(site, self._chance, regions)

    @property
    def refused(self) -> int:
        return self._connection.refused


def change_links(url: str, kind: str, region: str) -> None:
    for other in REGIONS:
        if other != region:
            body = orjson.dumps({kind: [region, other]})
            urlopen(
                Request(f"{url}/_faradisc/replication", body, {"Content-Type": "application/json"})
            ).close()


class Servers(Site):
    """Those that run; a client that has lost its connection takes any of them."""

    def __init__(self, operations: int, chance: random.Random) -> None:
        super().__init__(operations)
        self.urls: list[str] = []
        self._chance = chance

    def find(self, after_life: int) -> tuple[str, int]:
        _, life = super().find(after_life)
        return self._chance.choice(self.urls), life


@pytest.mark.parametrize("witness", [False, True])
def test_items_are_linearizable_across_regions(data_dir: Path, witness: bool) -> None:
    run(3 + witness, 2_000, ("--data-dir", str(data_dir)), witness=witness)


@pytest.mark.slow
@pytest.mark.parametrize("witness", [False, True])
def test_items_are_linearizable_across_regions_of_two_servers(postgres_dsn: str, witness: bool) -> None:
    run(5 + witness, 3_000, ("--store", postgres_dsn), witness=witness, count=2)


def run(seed: int, operations: int, store: tuple[str, ...], *, witness: bool, count: int = 1) -> None:
    """Runs the clients at a number of servers, the first of which is killed and started again."""
    chance = random.Random(seed)
    site, registers = Servers(operations, random.Random(seed)), Registers()
    replicas = (EAST, WEST) if witness else REGIONS
    options = (*store, "--regions", ",".join(REGIONS))
    clients = [Regional(number, seed, site, registers, replicas) for number in range(CLIENTS)]
    with ExitStack() as servers, ThreadPoolExecutor(CLIENTS) as threads:
        started = [servers.enter_context(Server(*options)) for _ in range(count)]
        site.urls = [each.url for each in started]
        server = started[0]
        dynamodb = http_client(server.url)
        dynamodb.create_table(TableName=TABLE, **schema("p:S"))
        members: dict[str, Any] = {
            "ReplicaUpdates": [{"Create": {"RegionName": each}} for each in replicas if each != EAST],
            "MultiRegionConsistency": "STRONG",
        }
        if witness:
            members["GlobalTableWitnessUpdates"] = [{"Create": {"RegionName": OTHER}}]
        dynamodb.update_table(TableName=TABLE, **members)
        while True:
            shown = dynamodb.describe_table(TableName=TABLE)["Table"]
            if {each["ReplicaStatus"] for each in shown["Replicas"]} == {"ACTIVE"}:
                break
        site.moved(server.url)
        running = [threads.submit(client.run) for client in clients]
        alone: str | None = None
        for left in range(operations - 200, 200, -200):
            site.wait_until_left(left)
            if left == operations // 2 // 200 * 200:
                server.kill()
                server = servers.enter_context(Server(*options))
                site.urls[0] = server.url
                site.moved(server.url)
            if alone is not None:
                change_links(server.url, "heal", alone)
            alone = chance.choice(REGIONS)
            change_links(server.url, "cut", alone)
        for each in running:
            each.result()
        for each in (server, *started[1:]):
            each.kill()
    verify(clients, f"regions-{seed}")
    assert any(client.refused for client in clients)
