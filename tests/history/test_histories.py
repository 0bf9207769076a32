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
from typing import Any

import pytest

from faradisc.local import LocalDatabase
from fixtures.clients import http_client
from fixtures.integrity import problems
from fixtures.schemas import schema
from fixtures.served import Server
from history.checker import anomalies
from history.clients import TABLES, Client, Keys, Site
from history.record import Transaction, save

CLIENTS = 8
FOUND = Path(__file__).with_name("found")


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


def _check(data_dir: Path, seed: int, operations: int, kills: int) -> dict[str, Any]:
    print(f"seed {seed}, {operations} operations, {kills} kills")
    clients, final = _record(data_dir, seed, operations, kills)
    history: list[Transaction] = [each for client in clients for each in client.history]
    wrong = [error for client in clients for error in client.errors] + anomalies(history, final)
    if wrong:
        path = FOUND / f"seed-{seed}.jsonl"
        save([*history, Transaction(-1, 0, None, "ok", reads=final)], path)
        pytest.fail(f"seed {seed}, history in {path}:\n" + "\n".join(wrong[:20]))
    with LocalDatabase(data_dir) as database:
        assert problems(database.database.store) == []
    counts = {
        outcome: sum(each.outcome == outcome for each in history) for outcome in ("ok", "refused", "unknown")
    }
    print(counts, f"{sum(map(len, final.values()))} appends on {len(final)} keys")
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
