"""Single items over HTTP, many clients, kills and restarts: every item's history is linearizable.

What it proves: each read, write, conditional write and deletion of an item takes effect at one moment between
its call and its return, with kills at any time; one without an answer takes effect once or never.
tests/history checks transactions by the lists that they append to; this test checks operations that overwrite
and delete, whose values do not contain an order.
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
from history.clients import Site
from linearizability.clients import TABLE, Client, Registers, verify
from linearizability.register import Operation

CLIENTS = 8


def _record(data_dir: Path, seed: int, operations: int, ends: int) -> list[Client]:
    """Run the clients while the server ends, most often by a kill, and is started again."""
    chance = random.Random(seed)
    moments = sorted((chance.randrange(operations) for _ in range(ends)), reverse=True)
    site, registers = Site(operations), Registers()
    clients = [Client(number, seed, site, registers) for number in range(CLIENTS)]
    with ExitStack() as servers, ThreadPoolExecutor(CLIENTS) as threads:
        server = servers.enter_context(Server("--data-dir", str(data_dir)))
        http_client(server.url).create_table(TableName=TABLE, **schema("p:S"))
        site.moved(server.url)
        running = [threads.submit(client.run) for client in clients]
        for left in moments:
            site.wait_until_left(left)
            if chance.random() < 0.8:
                server.kill()
            else:
                assert server.stop() == 0
            server = servers.enter_context(Server("--data-dir", str(data_dir)))
            site.moved(server.url)
        for each in running:
            each.result()
        server.kill()
    return clients


def _check(data_dir: Path, seed: int, operations: int, ends: int) -> list[Operation]:
    print(f"seed {seed}, {operations} operations, {ends} ends of the server")
    clients = _record(data_dir, seed, operations, ends)
    history = verify(clients, f"seed-{seed}")
    with LocalDatabase(data_dir) as database:
        assert problems(database.database.store) == []
    return history


def test_items_are_linearizable_over_two_ends(data_dir: Path) -> None:
    history = _check(data_dir, seed=1, operations=2_500, ends=2)
    assert len(history) == 2_500
    assert {each.kind for each in history} == {"get", "put", "put if", "delete"}
    assert sum(each.refused for each in history) > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_items_are_linearizable_over_many_ends(data_dir: Path, seed: int) -> None:
    history = _check(data_dir, seed, operations=60_000, ends=25)
    assert len(history) == 60_000
    assert sum(each.end_ns is None for each in history) > 25
