"""Many clients, transactions and single operations, kills and restarts: the history is strictly serialisable.

What it proves: over HTTP, on disk, with kills at any time, all answers fit one order of whole transactions
that real time allows; nothing acknowledged is lost, and nothing is executed twice or in part. A run cannot be
repeated, but its history is stored: a failing one is left in `found/` and is a test of the checker from then
on.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from faradisc.local import LocalDatabase
from fixtures.clients import http_client
from fixtures.integrity import problems
from fixtures.schemas import schema
from fixtures.served import Server
from history.clients import TABLES, Client, Keys, Site, verify

CLIENTS = 8


def _record(
    data_dir: Path, seed: int, operations: int, kills: int
) -> tuple[list[Client], dict[str, list[int]]]:
    """Run the clients while the server is killed and started again; their histories, and the end."""
    chance = random.Random(seed)
    moments = sorted((chance.randrange(operations) for _ in range(kills)), reverse=True)
    site, keys = Site(operations), Keys()
    clients = [Client(number, seed, site, keys) for number in range(CLIENTS + 1)]
    with ExitStack() as servers, ThreadPoolExecutor(CLIENTS) as threads:
        server = servers.enter_context(Server("--data-dir", str(data_dir)))
        for name in TABLES:
            http_client(server.url).create_table(TableName=name, **schema("p:S"))
        site.moved(server.url)
        running = [threads.submit(client.run) for client in clients[:CLIENTS]]
        for left in [*moments, 0]:
            site.wait_until_left(left)
            server.kill()
            server = servers.enter_context(Server("--data-dir", str(data_dir)))
            site.moved(server.url)
        for each in running:
            each.result()
        final = clients[CLIENTS].read_all()
        server.kill()
    return clients, final


def _check(data_dir: Path, seed: int, operations: int, kills: int) -> dict[str, int]:
    print(f"seed {seed}, {operations} operations, {kills} kills")
    clients, final = _record(data_dir, seed, operations, kills)
    counts = verify(clients, final, f"seed-{seed}")
    with LocalDatabase(data_dir) as database:
        assert problems(database.database.store) == []
    return counts


def test_histories_with_kills_are_strictly_serialisable(data_dir: Path) -> None:
    counts = _check(data_dir, seed=1, operations=3_000, kills=3)
    assert counts["ok"] > 1_000
    assert counts["refused"] > 200


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_long_histories_with_kills_are_strictly_serialisable(data_dir: Path, seed: int) -> None:
    counts = _check(data_dir, seed, operations=60_000, kills=30)
    assert sum(counts.values()) >= 60_000
