"""Three servers over two places, which lose every tenth second message of a commit over both.

Histories, while servers and PostgreSQLs are killed and tables are moved.

What it proves: what test_histories_of_nodes.py proves over one PostgreSQL; that a move loses nothing; and
that no prepared transaction outlives its servers. tests/storage/postgres/test_stopped_commits.py stops all
servers at every step of one commit.
"""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress

import pytest

from fixtures.clients import http_client
from fixtures.cluster import wait_for
from fixtures.cluster_of_places import PAUSE_S, Doing, Moves, PrivatePlaces, prepared_now
from fixtures.writers import Load
from history import clients as lists
from linearizability import clients as registers
from nodes.test_histories_of_nodes import CLIENTS, NODES, Nodes, run_and_kill, start_with_tables

pytestmark = pytest.mark.slow
SETTLED_S = 5.0
"""After the start of one server nothing is locked any more."""
OPERATIONS, KILLS = 20_000, 20
ROUNDS = 100
"""Of kills under writers."""
MOVES, KILLED_EACH = 50, 2
"""Moves of one table under writers; so often something is killed, in moves."""
STOPPED_ROUNDS = 20


@pytest.mark.parametrize("seed", [1])
def test_items_are_linearizable_while_their_table_moves(places: PrivatePlaces, seed: int) -> None:
    start_with_tables(places, registers.TABLE)
    site, shared = Nodes(places, OPERATIONS, seed), registers.Registers()
    clients = [registers.Client(number, seed, site, shared) for number in range(CLIENTS)]
    moves = Moves(places, registers.TABLE)
    with Doing(moves.step, PAUSE_S):
        run_and_kill(site, KILLS, seed, [client.run for client in clients])
    print(f"{moves.ended} moves")
    history = registers.verify(clients, f"places-{seed}")
    assert len(history) == OPERATIONS
    assert moves.ended > 2
    assert asyncio.run(places.sentences()) == []


@pytest.mark.parametrize("seed", [1])
def test_transactions_over_both_places_are_strictly_serialisable(places: PrivatePlaces, seed: int) -> None:
    start_with_tables(places, *lists.TABLES)
    site, keys = Nodes(places, OPERATIONS, seed), lists.Keys()
    clients = [lists.Client(number, seed, site, keys) for number in range(CLIENTS + 1)]
    run_and_kill(site, KILLS, seed, [client.run for client in clients[:CLIENTS]])
    final = clients[CLIENTS].read_all()
    counts = lists.verify(clients, final, f"places-{seed}")
    assert counts["ok"] > OPERATIONS / 4
    assert asyncio.run(places.sentences()) == []


def kill_something(places: PrivatePlaces, chance: random.Random, number: int) -> None:
    if number % 2:
        places.kill_postgres(chance)
    else:
        places.kill_one(chance)
        places.start()


def test_killed_servers_and_places_lose_no_acknowledged_write(places: PrivatePlaces) -> None:
    """The table is at both places, so its pairs, index and counters are in commits over both."""
    chance = random.Random(1)
    for _ in range(NODES):
        places.start()
    with Load(places) as load:
        places.move("table", spread=True)
        for number in range(ROUNDS):
            load.wait_for(100)
            kill_something(places, chance, number)
        load.wait_for(100)
    load.check()
    print(f"{ROUNDS} kills, {load.answers} answers")


def test_a_table_that_moves_under_kills_loses_no_acknowledged_write(places: PrivatePlaces) -> None:
    chance = random.Random(1)
    for _ in range(NODES):
        places.start()
    killed = 0
    with Load(places) as load:
        moves = Moves(places, "table")
        with Doing(moves.step, PAUSE_S):
            while moves.ended < MOVES:
                load.wait_for(20)
                if moves.ended >= (killed + 1) * KILLED_EACH:
                    kill_something(places, chance, killed)
                    killed += 1
        load.wait_for(100)
    wait_for(lambda: not places.is_moving())
    load.check()
    print(f"{moves.ended} moves, {killed} kills, {load.answers} answers")


def run_until_the_end(client: lists.Client) -> None:
    """Runs a client until no server is left."""
    with suppress(OSError, IndexError):
        client.run()


def test_no_prepared_transaction_outlives_its_servers(places: PrivatePlaces) -> None:
    """All servers are killed at some moment of many transactions; one that starts ends what they left."""
    start_with_tables(places, *lists.TABLES)
    left = 0
    for seed in range(STOPPED_ROUNDS):
        site, keys = Nodes(places, 400, seed), lists.Keys()
        clients = [lists.Client(number, seed, site, keys) for number in range(CLIENTS)]
        threads = [threading.Thread(target=run_until_the_end, args=(client,)) for client in clients]
        for each in threads:
            each.start()
        site.wait_until_left(random.Random(seed).randrange(100, 300))
        while places.servers:
            places.kill_one(random.Random(seed))
        left += len(prepared_now(places))
        places.start()
        wait_for(lambda: not prepared_now(places), SETTLED_S)
        for _ in range(2):
            places.start()
        for each in threads:
            each.join()
    print(f"{left} prepared transactions left in {STOPPED_ROUNDS} rounds")
    assert left
    assert http_client(places.servers[0].url).list_tables()["TableNames"]
