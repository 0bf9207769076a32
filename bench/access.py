"""`python -m bench access`: the cost of verified signatures and of policies for GetItem and PutItem.

Copies of Faradisc in one process (bench/side_by_side.py) get the same signed requests in turns of changing
order, as in bench/throttling.py, which explains the figures. `lenient` verifies nothing, `account` the
signature of a key with all rights, `policy` that of a user with two policies, and `leading keys` that of a
user whose policy tests the partition key of each item.
"""

import contextlib
import itertools
import random
import socket
import statistics
from collections.abc import Callable
from pathlib import Path

from bench.report import ABSENT, Table
from bench.requests import sign
from bench.side_by_side import RIGHTS
from bench.throttling import (
    BATCH,
    CONNECTIONS,
    ITEMS,
    REQUESTS,
    TURNS_PER_PROCESS,
    Batches,
    fill,
    interval,
    judge,
    quicker,
    serving,
    take_turns,
)
from bench.workloads import WORKLOADS, Population

TARGET = 0.25
"""The largest cost of a policy over `lenient`, for GetItem."""
ORDERS = list(itertools.permutations(RIGHTS))
random.Random(1).shuffle(ORDERS)


def run(turns: int, directory: Path, say: Callable[[str], None]) -> list[Table]:
    """Measures the costs on disk, as a server keeps its data. `turns` is a multiple of TURNS_PER_PROCESS."""
    population = Population(ITEMS)
    operations = {name: list(WORKLOADS[name].operations(population))[:BATCH] for name in REQUESTS}
    measured = []
    for number in range(turns // TURNS_PER_PROCESS):
        states = ORDERS[number % len(ORDERS)]
        # Signed for each process: a signature is valid for 15 minutes.
        requests = {name: [sign(*each) for each in some] for name, some in operations.items()}
        own = directory / str(number)
        own.mkdir()
        with serving(str(own), states) as (pid, ports), contextlib.ExitStack() as open_ones:
            connections = {}
            for state, port in zip(states, ports, strict=True):
                fill(port, population)
                connections[state] = [
                    open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
                    for _ in range(CONNECTIONS)
                ]
            measured.append(take_turns(pid, connections, requests, ORDERS))
        say(f"{(number + 1) * TURNS_PER_PROCESS} of {turns} turns")
    return [_table(measured)]


def _table(measured: list[Batches]) -> Table:
    rows = [("request, caller", "verdict", "CPU us", "over lenient", "95 % of that")]
    for name in REQUESTS:
        title = WORKLOADS[name].title.split(",")[0]
        for state in RIGHTS:
            cpu_us = statistics.median(quicker(process[name, state]) for process in measured)
            figures: tuple[str, ...] = (ABSENT, ABSENT)
            decided = ""
            if state != "lenient":
                costs = [quicker(each[name, state]) / quicker(each[name, "lenient"]) - 1 for each in measured]
                low, high = interval(costs)
                figures = (f"{statistics.median(costs):+.1%}", f"{low:+.1%} to {high:+.1%}")
                if name == "getitem" and state in ("policy", "leading keys"):
                    decided = judge(low, high, TARGET)
            rows.append((f"{title}, {state}", decided, f"{cpu_us:.1f}", *figures))
    return Table(
        f"What signatures and policies cost on disk (target: GetItem, a policy less than {TARGET:.0%})",
        rows,
    )
