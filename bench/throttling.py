"""`python -m bench throughput`: what counting and enforcing throughput cost a GetItem and a PutItem.

One server process, one table, three states in turns: `bare` counts nothing and enforces nothing
(bench/bare.py), `off` counts, which is how a server comes, and `enforced` has a profile that enforces and
refuses nothing. Two processes differ by more than what is measured (the layout of their memory), one process
at two moments of a busy machine does too: so the same process is asked in turns of all three, whose order
goes through all six there are, and what counts is its own CPU time per request, from the scheduler's
nanoseconds.

Each change gives the table its profile anew, in `bare` too, and lets the collector go first; then a batch
goes by unmeasured, in which the interpreter specialises what it meets. The connections stay open.

Costs are given twice: of the quicker quarter of each state's batches, because interference only ever adds;
and as the median over the turns of a turn's own ratio, with the interval in which 95 % of the medians of
turns drawn again lie. The interval decides: below the target is met, above it missed, and around it open.
"""

import contextlib
import itertools
import json
import os
import random
import socket
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path

from bench import answers, bare_server, client, machine
from bench.report import ABSENT, Table, verdict
from bench.requests import sign
from bench.servers import FARADISC, Program, Server
from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition

COST_MAX = {"off": 0.01, "enforced": 0.05}
"""Over `bare`. Of `off` nothing is to be measurable: a hundredth is as much as this can tell from nothing."""
CONNECTIONS = 16
BATCH = 40 * CONNECTIONS
ITEMS = 2_000
STATES = ("bare", "off", "enforced")
ORDERS = tuple(itertools.permutations(STATES))
ENFORCED = "aws:1000000/1000000"
"""Partitions that are never exhausted: it is asking that is measured, not being refused."""
UNITS = {"ReadCapacityUnits": 40_000, "WriteCapacityUnits": 40_000}
DRAWS = 1_000
"""How often turns are drawn again for the interval."""


def _program(*where: str) -> Program:
    command = (sys.executable, "-m", "bench.bare_server", "serve")
    return replace(
        FARADISC,
        command=lambda port, directory: [
            *(*command, "--port", str(port)),
            *(each.format(directory=directory) for each in where),
        ],
    )


PLACES = {
    "in memory": _program("--memory"),
    "on disk": _program("--data-dir", "{directory}/data"),
}
"""Without a disk, whose waiting only blurs the CPU time of a put; and with one, where a put pays for that."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the requests of one batch cost the server, in microseconds of CPU time each."""

    cpu_us: float
    system_us: float
    """Of it in the kernel. By clock ticks: right in the sum of many batches."""


@dataclass(frozen=True, slots=True)
class Measured:
    batches: dict[tuple[str, str], list[Batch]]
    """By request and state; one a turn."""
    others: float
    """How much of the machine other processes used meanwhile, 0 to 1."""


def run(turns: int, directory: Path, say: Callable[[str], None]) -> list[Table]:
    """The costs in memory and on disk, over so many turns each."""
    tables = []
    for place, program in PLACES.items():
        measured = _measure(program, turns, directory / place.replace(" ", "-"))
        say(f"{place}: {turns} turns, others used {measured.others:.0%} of the machine")
        tables.append(_table(place, measured))
    return tables


def _measure(program: Program, turns: int, directory: Path) -> Measured:
    measured: dict[tuple[str, str], list[Batch]] = {}
    with contextlib.ExitStack() as open_things:
        server = open_things.enter_context(Server(program, directory, core=None))
        population = Population(ITEMS)
        with answers.Asker(server.port) as ask:
            ask("CreateTable", {**provisioned(table_definition(PLAIN_TABLE))})
        client.load((sign(*operation) for operation in population.load(PLAIN_TABLE)), server.port)
        connections = [
            open_things.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            for _ in range(CONNECTIONS)
        ]
        batches = {
            name: [sign(*operation) for operation in WORKLOADS[name].operations(population)[:BATCH]]
            for name in ("getitem", "putitem")
        }
        began, others = time.perf_counter(), -_others_s(server.pid)
        for turn in range(turns):
            for state in ORDERS[turn % len(ORDERS)]:
                _change_over(server.port, state)
                for name, requests in batches.items():
                    _ask_all(connections, requests)  # what was changed is met for the first time here
                    batch = _ask_measured(server.pid, connections, requests)
                    measured.setdefault((name, state), []).append(batch)
        others += _others_s(server.pid)
        lasted = time.perf_counter() - began
    return Measured(measured, max(others, 0) / lasted / (os.cpu_count() or 1))


def provisioned(definition: dict[str, object]) -> dict[str, object]:
    """The definition of a table that has units for every request."""
    return {**definition, "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}


def _change_over(port: int, state: str) -> None:
    """Raises BadAnswer."""
    profile = ENFORCED if state == "enforced" else "off"
    shown = _post(port, f"/_faradisc/capacity/{PLAIN_TABLE}", {"profile": profile})
    if shown["profile"] != profile:
        raise client.BadAnswer(f"the profile was not changed: {shown}")
    counting = state != "bare"
    if _post(port, bare_server.PATH, {"counting": counting}) != {"counting": counting}:
        raise client.BadAnswer("the server did not change over")


def _post(port: int, path: str, body: dict[str, object]) -> dict[str, object]:
    """Ask a page of the administrator's. Raises BadAnswer."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    shown = answer.read()
    connection.close()
    if answer.status != 200:
        raise client.BadAnswer(f"{path}: {answer.status} {shown[:200]!r}")
    decoded: dict[str, object] = json.loads(shown)
    return decoded


def _ask_measured(pid: int, connections: list[socket.socket], requests: list[bytes]) -> Batch:
    cpu_ns, system_s = _cpu_ns(pid), machine.system_seconds(pid)
    _ask_all(connections, requests)
    cpu_ns, system_s = _cpu_ns(pid) - cpu_ns, machine.system_seconds(pid) - system_s
    return Batch(cpu_ns / 1e3 / len(requests), system_s * 1e6 / len(requests))


def _ask_all(connections: list[socket.socket], requests: list[bytes]) -> None:
    """All requests, as many at a time as there are connections. Raises BadAnswer."""
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
    """Time on a CPU of all threads of a process; the first figure of the scheduler's statistics."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def _others_s(pid: int) -> float:
    """CPU time that was used by neither the server nor this process, in seconds."""
    own = time.process_time() + _cpu_ns(pid) / 1e9
    return machine.busy_seconds() - own


def _table(place: str, measured: Measured) -> Table:
    rows = [
        (
            *("request, state", "verdict", "CPU us", "user", "system"),
            *("over bare", "median of turns", "95 % of that"),
        )
    ]
    for name in ("getitem", "putitem"):
        title = WORKLOADS[name].title.split(",")[0]
        for state in STATES:
            batches = measured.batches[name, state]
            cpu_us = _quicker([batch.cpu_us for batch in batches])
            system = sum(batch.system_us for batch in batches) / sum(batch.cpu_us for batch in batches)
            figures = (f"{cpu_us:.1f}", f"{cpu_us * (1 - system):.1f}", f"{cpu_us * system:.1f}")
            cost = ("", ABSENT, ABSENT, ABSENT)
            if state != "bare":
                cost = _cost(state, batches, measured.batches[name, "bare"])
            rows.append((f"{title}, {state}", cost[0], *figures, *cost[1:]))
    return Table(
        f"What counting and enforcing cost {place} (targets over bare: off less than {COST_MAX['off']:.0%}, "
        f"enforced less than {COST_MAX['enforced']:.0%}); others used {measured.others:.0%} of the machine",
        rows,
    )


def _cost(state: str, batches: Sequence[Batch], bare: Sequence[Batch]) -> tuple[str, str, str, str]:
    """The verdict, and three figures."""
    cpu_us, bare_us = [batch.cpu_us for batch in batches], [batch.cpu_us for batch in bare]
    ratios = [counted / uncounted for counted, uncounted in zip(cpu_us, bare_us, strict=True)]
    low, high = _interval(ratios)
    return (
        _judge(low - 1, high - 1, COST_MAX[state]),
        f"{_quicker(cpu_us) / _quicker(bare_us) - 1:+.1%}",
        f"{statistics.median(ratios) - 1:+.1%}",
        f"{low - 1:+.1%} to {high - 1:+.1%}",
    )


def _judge(low: float, high: float, target: float) -> str:
    """Whether a cost between these bounds is below the target; "open" where they have it between them."""
    return "open" if low < target <= high else verdict(high < target)


def _quicker(figures: Sequence[float]) -> float:
    """The mean of the quicker quarter."""
    return statistics.mean(sorted(figures)[: max(len(figures) // 4, 1)])


def _interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Where 95 % of the medians are, if the turns had been others of their kind (bootstrap)."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[-1 - DRAWS // 40]
