"""`python -m bench throughput`: the cost of counting and enforcing throughput for GetItem and PutItem.

Four copies of Faradisc in one process (bench/side_by_side.py) have a state each: `bare` neither counts nor
enforces, `counting` counts and has no code of enforcement (bench/bare.py), `off` is the default of a server,
and `enforced` has a profile that enforces and rejects nothing. They get requests in turns of changing order.
Measured is the CPU time of the process per request, from the scheduler's nanoseconds. An unmeasured batch
before each one brings the copy's memory back into the caches.

The position of a copy in memory makes a per cent or two, and depends on the order of creation. So there are
several processes, whose copies are created in every order.

Of a state's batches in a process the faster half counts, because interference only adds. The cost of a state
is the median over the processes, with the interval of 95 % of such medians when processes are resampled. An
interval below the target is met, above it missed, and around it open.
"""

import contextlib
import itertools
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import answers, client, machine
from bench.report import ABSENT, Table, verdict
from bench.requests import sign
from bench.servers import Unavailable
from bench.side_by_side import STATES
from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition

TARGETS = {"off": ("counting", 0.01), "enforced": ("bare", 0.05)}
"""The largest cost of a state over another one. Enforcement that is off should cost nothing; one per cent
is the resolution of this measurement."""
CONNECTIONS = 16
BATCH = 40 * CONNECTIONS
ITEMS = 2_000
ORDERS = list(itertools.permutations(STATES))
random.Random(1).shuffle(ORDERS)
REQUESTS = ("getitem", "putitem")
UNITS = {"ReadCapacityUnits": 40_000, "WriteCapacityUnits": 40_000}
TURNS_PER_PROCESS = 10
DRAWS = 1_000
"""The number of resamplings for the interval."""
IN_MEMORY, ON_DISK = "in memory", "on disk"
"""In memory, where no waiting blurs the CPU time of a put, and on disk."""


@dataclass(frozen=True, slots=True)
class Batch:
    """CPU time of the server per request of a batch, in microseconds."""

    cpu_us: float
    system_us: float
    """Its part in the kernel. In clock ticks: accurate over many batches."""


Batches = dict[tuple[str, str], list[Batch]]
"""The figures of one process, by request and state; one per turn."""


@dataclass(frozen=True, slots=True)
class Measured:
    processes: list[Batches]
    others: float
    """The share of the machine that other processes used, 0 to 1."""


def run(turns: int, directory: Path, say: Callable[[str], None]) -> list[Table]:
    """Measures the costs in memory and on disk. `turns` is a multiple of TURNS_PER_PROCESS."""
    tables = []
    for place in (IN_MEMORY, ON_DISK):
        measured = _measure(place, turns // TURNS_PER_PROCESS, directory)
        say(f"{place}: {turns} turns, others used {measured.others:.0%} of the machine")
        tables.append(_table(place, measured))
    return tables


def _measure(place: str, processes: int, directory: Path) -> Measured:
    population = Population(ITEMS)
    requests = {
        name: [sign(*operation) for operation in WORKLOADS[name].operations(population)[:BATCH]]
        for name in REQUESTS
    }
    found = []
    lasted = others = 0.0
    for number in range(processes):
        own = directory / f"{place.replace(' ', '-')}-{number}"
        own.mkdir()
        states = ORDERS[number % len(ORDERS)]
        with serving("-" if place == IN_MEMORY else str(own), states) as (pid, ports):
            connections = {}
            with contextlib.ExitStack() as open_ones:
                for state, port in zip(states, ports, strict=True):
                    fill(port, population)
                    connections[state] = [
                        open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
                        for _ in range(CONNECTIONS)
                    ]
                began, others = time.perf_counter(), others - _others_s(pid)
                found.append(take_turns(pid, connections, requests, ORDERS))
                others += _others_s(pid)
                lasted += time.perf_counter() - began
    return Measured(found, max(others, 0) / lasted / (os.cpu_count() or 1))


@contextlib.contextmanager
def serving(directory: str, states: Sequence[str]) -> Iterator[tuple[int, list[int]]]:
    """Yields the id of a process with a copy for each state, and the copies' ports. Raises Unavailable."""
    command = (sys.executable, "-m", "bench.side_by_side", directory, *states)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        ports = process.stdout.readline()
        if not ports:
            raise Unavailable("the copies did not start")
        yield process.pid, json.loads(ports)


def fill(port: int, population: Population) -> None:
    with answers.Asker(port) as ask:
        ask("CreateTable", provisioned(table_definition(PLAIN_TABLE)))
    client.load((sign(*operation) for operation in population.load(PLAIN_TABLE)), port)


def take_turns(
    pid: int,
    connections: dict[str, list[socket.socket]],
    requests: dict[str, list[bytes]],
    orders: Sequence[Sequence[str]],
) -> Batches:
    """Returns what one process takes for the requests of all states, in turns. orders: of the states."""
    found: Batches = {}
    for turn in range(-1, TURNS_PER_PROCESS):
        for state in orders[turn % len(orders)]:
            for name, batch in requests.items():
                ask_all(connections[state], batch)
                measured = ask_measured(pid, connections[state], batch)
                if turn >= 0:
                    found.setdefault((name, state), []).append(measured)
    return found


def provisioned(definition: dict[str, object]) -> dict[str, object]:
    """Returns the definition of a table with units for every request."""
    return {**definition, "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}


def ask_measured(pid: int, connections: list[socket.socket], requests: list[bytes]) -> Batch:
    cpu_ns, system_s = _cpu_ns(pid), machine.system_seconds(pid)
    ask_all(connections, requests)
    cpu_ns, system_s = _cpu_ns(pid) - cpu_ns, machine.system_seconds(pid) - system_s
    return Batch(cpu_ns / 1e3 / len(requests), system_s * 1e6 / len(requests))


def ask_all(connections: list[socket.socket], requests: list[bytes]) -> None:
    """Sends all requests over all connections. Raises BadAnswer."""
    for first in range(0, len(requests), len(connections)):
        for connection, request in zip(connections, requests[first:], strict=False):
            connection.sendall(request)
        for connection, _ in zip(connections, requests[first:], strict=False):
            answer = connection.recv(1 << 16)
            while not _is_whole(answer):
                more = connection.recv(1 << 16)
                if not more:
                    break
                answer += more
            if not answer.startswith(b"HTTP/1.1 200"):
                raise client.BadAnswer(repr(answer[:300]))


def _is_whole(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    _, found, length = head.lower().partition(b"content-length:")
    return bool(found) and len(body) >= int(length.split(b"\r\n")[0])


def _cpu_ns(pid: int) -> int:
    """Returns the CPU time of all threads of a process, from the scheduler's statistics."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def _others_s(pid: int) -> float:
    """Returns the CPU time of other processes, in seconds."""
    own = time.process_time() + _cpu_ns(pid) / 1e9
    return machine.busy_seconds() - own


def _table(place: str, measured: Measured) -> Table:
    rows = [
        (
            *("request, state", "verdict", "CPU us", "user", "system"),
            *("over", "by", "95 % of that"),
        )
    ]
    for name in REQUESTS:
        title = WORKLOADS[name].title.split(",")[0]
        for state in STATES:
            batches = [batch for process in measured.processes for batch in process[name, state]]
            cpu_us = statistics.median(quicker(process[name, state]) for process in measured.processes)
            system = sum(batch.system_us for batch in batches) / sum(batch.cpu_us for batch in batches)
            figures = (f"{cpu_us:.1f}", f"{cpu_us * (1 - system):.1f}", f"{cpu_us * system:.1f}")
            first = (f"{title}, {state}", *figures)
            costs = [_cost(measured, name, state, over) for over in _OVER[state]] or [("", *[ABSENT] * 3)]
            for cost in costs:
                rows.append((first[0], cost[0], *first[1:], *cost[1:]))
                first = ("", "", "", "")
    targets = ", ".join(
        f"{state} less than {most:.0%} over {over}" for state, (over, most) in TARGETS.items()
    )
    others = f"others used {measured.others:.0%} of the machine"
    return Table(f"What counting and enforcing cost {place} (targets: {targets}); {others}", rows)


_OVER = {"bare": (), "counting": ("bare",), "off": ("counting", "bare"), "enforced": ("off", "bare")}
"""The states that each state is compared with."""


def _cost(measured: Measured, name: str, state: str, over: str) -> tuple[str, str, str, str]:
    """Returns the verdict, the state compared with, and two figures."""
    costs = [
        quicker(process[name, state]) / quicker(process[name, over]) - 1 for process in measured.processes
    ]
    low, high = interval(costs)
    target = TARGETS.get(state)
    return (
        judge(low, high, target[1]) if target is not None and target[0] == over else "",
        over,
        f"{statistics.median(costs):+.1%}",
        f"{low:+.1%} to {high:+.1%}",
    )


def judge(low: float, high: float, target: float) -> str:
    """Returns "met", "missed" or, if the target is between the bounds, "open"."""
    return "open" if low < target <= high else verdict(high < target)


def quicker(batches: Sequence[Batch]) -> float:
    """Returns the mean of the faster half."""
    figures = sorted(batch.cpu_us for batch in batches)
    return statistics.mean(figures[: (len(figures) + 1) // 2])


def interval(costs: Sequence[float]) -> tuple[float, float]:
    """Returns the interval of 95 % of the medians of resampled processes (bootstrap)."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(costs, k=len(costs))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[-1 - DRAWS // 40]
