"""The cost of counting and enforcing throughput in instructions, which does not depend on the load of the
machine.

Each state of bench/throttling.py has its own process, so that the interpreter specialises its code for that
state: requests go to a connection of a server in memory, without a socket, and callgrind (valgrind) counts
between two marks. Instructions of the kernel are not counted; it takes a fifth to a third of a request's CPU
time.

Callgrind also simulates caches and branch prediction. Data of throughput is used once in a request and is
rarely in the nearest cache, so it takes more time than its instructions suggest.

Requests run some fifty times slower there. So the clock is simulated: each reading advances it by what
requests take without callgrind.
"""

import asyncio
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from bench import bare
from bench.report import ABSENT, Table
from bench.requests import sign
from bench.side_by_side import STATES
from bench.throttling import REQUESTS, provisioned
from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition
from faradisc import clock as clocks
from faradisc.clock import SystemClock
from faradisc.server import lifecycle
from faradisc.server.connection import HttpConnection, Shared
from faradisc.server.settings import ServerSettings
from faradisc.server.site import Site

ITEMS = 200
WARM_UP, COUNTED = 1_536, 512
STEP_NS_MIN, DOUBLINGS = 10_000, 2.5
"""Time between two readings of the clock; each request has two."""
LOOKS_MAX = 50_000


def run(directory: Path, say: Callable[[str], None]) -> list[Table]:
    """Returns a table, or None without valgrind. `directory` is for callgrind's files."""
    if shutil.which("valgrind") is None:
        say("instructions are not counted: valgrind is not installed")
        return []
    counted = {}
    for state in STATES:
        counted[state] = _counted(state, directory)
        say(f"instructions, {state}: {[round(each['Ir']) for each in counted[state]]}")
    rows = [("request, state", "", *(column for name in _EVENTS for column in (name, "over bare")))]
    for place, name in enumerate(REQUESTS):
        title = WORKLOADS[name].title.split(",")[0]
        bare_ones = counted["bare"][place]
        for state in STATES:
            figures: list[str] = []
            for events in _EVENTS.values():
                own, least = (
                    sum(each[event] for event in events) for each in (counted[state][place], bare_ones)
                )
                figures += (f"{own:,.0f}", ABSENT if state == "bare" else f"{own / least - 1:+.1%}")
            rows.append((f"{title}, {state}", "", *figures))
    return [Table("Instructions per request, in memory and without the kernel", rows)]


_EVENTS = {
    "instructions": ("Ir",),
    "misses of the first cache": ("I1mr", "D1mr", "D1mw"),
    "branches not foreseen": ("Bcm", "Bim"),
}
"""The events that callgrind counts, by their names."""


def _counted(state: str, directory: Path) -> list[dict[str, float]]:
    """Returns events per GetItem and per PutItem. Raises subprocess.CalledProcessError."""
    output = directory / f"callgrind-{state}"
    command = ("valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--instr-atstart=no")
    files = ("--dump-before=os_getloadavg", f"--callgrind-out-file={output}")
    subprocess.run(
        [*command, *files, sys.executable, "-m", __name__, state],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    # Every mark ends a part; the first, third, ... end parts that are not counted.
    return [_events(Path(f"{output}.{part}")) for part in (2, 4)]


def _events(part: Path) -> dict[str, float]:
    text = part.read_text()
    names, totals = (
        re.findall(pattern, text, re.MULTILINE)[0].split() for pattern in (r"^events: (.*)", r"^totals: (.*)")
    )
    return {name: int(total) / COUNTED for name, total in zip(names, totals, strict=True)}


def _mark() -> None:
    """Callgrind ends a part when this function is called."""
    os.getloadavg()


def _callgrind(switch: str) -> None:
    command = ("callgrind_control", "-i", switch, str(os.getpid()))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class _Answers(asyncio.Transport):
    """Receives answers and checks only their status."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert bytes(data[:15]) == b"HTTP/1.1 200 OK", bytes(data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False


async def _requests(state: str) -> None:
    """Runs the measured requests."""
    chance = random.Random(1)
    steps = (int(STEP_NS_MIN * 2 ** chance.uniform(0, DOUBLINGS)) for _ in range(LOOKS_MAX))
    times = list(itertools.accumulate(steps, initial=time.time_ns()))[::-1]
    setattr(clocks, "time", SimpleNamespace(time_ns=times.pop))  # noqa: B010 - not a name of this module
    code, throughput = STATES[state]
    settings = ServerSettings(memory=True, throughput=throughput)
    database = await lifecycle.open_database(settings, SystemClock())
    site = Site()
    site.executor = database
    shared = Shared(site.handle)
    connection = HttpConnection(shared)
    connection.connection_made(_Answers())

    async def ask(requests: list[bytes]) -> None:
        for request in requests:
            connection.data_received(request)
            while shared.waiting:  # noqa: ASYNC110 - the loop has no other work
                await asyncio.sleep(0)

    population = Population(ITEMS)
    await ask([sign("CreateTable", provisioned(table_definition(PLAIN_TABLE)))])
    await asyncio.sleep(0.1)
    await database.work()
    await ask([sign(*operation) for operation in population.load(PLAIN_TABLE)])
    bare.become(code)
    for name in REQUESTS:
        operations = WORKLOADS[name].operations(population)
        requests = [sign(*operation) for operation in operations[: WARM_UP + COUNTED]]
        await ask(requests[:WARM_UP])
        _callgrind("on")
        _mark()
        await ask(requests[WARM_UP:])
        _mark()
        _callgrind("off")


if __name__ == "__main__":
    asyncio.run(_requests(sys.argv[1]))
