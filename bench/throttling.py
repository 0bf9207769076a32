"""`python -m bench throughput`: what enforced throughput costs a GetItem and a PutItem.

One server process, one table; between batches of requests its profile is switched from `off` to one that
enforces and refuses nothing, and back, through the server's admin API. Two processes differ by more than what
is measured (the layout of their memory), one process at two moments of a busy machine does too: so the same
process is asked in turns, and what counts is its own CPU time per request, from the scheduler's nanoseconds.
Interference only ever adds, so the cost is taken from the quicker quarter of the batches.
"""

import contextlib
import json
import socket
import statistics
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

from bench import answers, client
from bench.report import Table, verdict
from bench.requests import sign
from bench.servers import FARADISC, Server
from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition

COST_MAX = 0.05
CONNECTIONS = 16
BATCH = 40 * CONNECTIONS
ITEMS = 2_000
ENFORCED = "aws:1000000/1000000"
"""Partitions that are never exhausted: it is asking that is measured, not being refused."""
UNITS = {"ReadCapacityUnits": 40_000, "WriteCapacityUnits": 40_000}
MEMORY = replace(
    FARADISC,
    command=lambda port, directory: [str(FARADISC.executable), "serve", "--port", str(port), "--memory"],
)
"""Without a disk, whose waiting would only blur the CPU time of a put."""


def run(turns: int, directory: Path, say: Callable[[str], None]) -> list[Table]:
    """The costs of both, over so many turns."""
    cpu: dict[tuple[str, bool], list[float]] = {}
    with contextlib.ExitStack() as open_things:
        server = open_things.enter_context(Server(MEMORY, directory, core=None))
        population = Population(ITEMS)
        with answers.Asker(server.port) as ask:
            ask("CreateTable", {**_provisioned(table_definition(PLAIN_TABLE))})
        client.load((sign(*operation) for operation in population.load(PLAIN_TABLE)), server.port)
        connections = [
            open_things.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            for _ in range(CONNECTIONS)
        ]
        batches = {
            name: [sign(*operation) for operation in WORKLOADS[name].operations(population)[:BATCH]]
            for name in ("getitem", "putitem")
        }
        for turn in range(turns):
            for enforced in (turn % 2 == 0, turn % 2 == 1):
                _set_profile(server.port, ENFORCED if enforced else "off")
                for name, requests in batches.items():
                    _ask_all(connections, requests)  # what was rebuilt is met for the first time here
                    before = _cpu_ns(server.pid)
                    _ask_all(connections, requests)
                    spent = (_cpu_ns(server.pid) - before) / len(requests) / 1000
                    cpu.setdefault((name, enforced), []).append(spent)
    say(f"{turns} turns of {BATCH} requests")
    return [_table(cpu)]


def _provisioned(definition: dict[str, object]) -> dict[str, object]:
    return {**definition, "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}


def _set_profile(port: int, profile: str) -> None:
    connection = HTTPConnection("127.0.0.1", port)
    body = json.dumps({"profile": profile})
    connection.request(
        "POST", f"/_faradisc/capacity/{PLAIN_TABLE}", body, {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    shown = answer.read()
    connection.close()
    if answer.status != 200 or json.loads(shown)["profile"] != profile:
        raise answers.BadAnswer(f"the profile was not changed: {answer.status} {shown[:200]!r}")


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
                raise answers.BadAnswer(repr(answer[:300]))


def _is_whole(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    _, found, length = head.lower().partition(b"content-length:")
    return bool(found) and len(body) >= int(length.split(b"\r\n")[0])


def _cpu_ns(pid: int) -> int:
    """Time on a CPU of all threads of a process; the first figure of the scheduler's statistics."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def _table(cpu: dict[tuple[str, bool], list[float]]) -> Table:
    def quick(name: str, enforced: bool) -> float:
        spent = sorted(cpu[name, enforced])
        return statistics.mean(spent[: max(len(spent) // 4, 1)])

    rows = [("request", "verdict", "CPU us, off", "CPU us, enforced", "cost", "cost, median of turns")]
    for name in ("getitem", "putitem"):
        cost = quick(name, True) / quick(name, False) - 1
        pairs = zip(cpu[name, True], cpu[name, False], strict=True)
        median = statistics.median(on / off for on, off in pairs) - 1
        title = WORKLOADS[name].title.split(",")[0]
        figures = (f"{quick(name, False):.1f}", f"{quick(name, True):.1f}", f"{cost:.1%}", f"{median:.1%}")
        rows.append((title, verdict(cost < COST_MAX), *figures))
    return Table(f"What enforced throughput costs (target: less than {COST_MAX:.0%} of the CPU time)", rows)
