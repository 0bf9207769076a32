"""What counting and enforcing throughput cost in instructions, whatever else the machine does meanwhile.

A process of its own for each state of bench/throttling.py, so that the interpreter has specialised its code
for that state and no other: requests are given to a connection of a server in memory, without a socket, and
callgrind (valgrind) counts the instructions between two marks. The kernel's are not among them; it takes a
fifth to a third of a request's CPU time, in every state.

Time runs some fifty times slower there, so what depends on it (how long a tick is, how finely latencies are
told apart) is stretched by as much.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench import bare
from bench.report import Table
from bench.requests import sign
from bench.throttling import ENFORCED, STATES, provisioned
from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition
from faradisc import database as execution
from faradisc.capacity import admission
from faradisc.clock import SystemClock
from faradisc.server import lifecycle
from faradisc.server.connection import Connection, Shared
from faradisc.server.health import Site
from faradisc.server.settings import ServerSettings

ITEMS = 200
WARM_UP, COUNTED = 1_500, 400
SLOWER_BITS = 6
"""Time is stretched by two to the power of this."""


def run(directory: Path, say: Callable[[str], None]) -> list[Table]:
    """A table, or none where valgrind is not installed. `directory` is for callgrind's files."""
    if shutil.which("valgrind") is None:
        say("instructions are not counted: valgrind is not installed")
        return []
    counted = {}
    for state in STATES:
        counted[state] = _counted(state, directory)
        say(f"instructions, {state}: {counted[state]}")
    rows = [("request", "", "bare", "off", "over bare", "enforced", "over bare")]
    for place, name in enumerate(("getitem", "putitem")):
        own = {state: counted[state][place] for state in STATES}
        over = {state: f"{own[state] / own['bare'] - 1:+.1%}" for state in STATES}
        figures = (f"{own['bare']:,}", *(x for state in STATES[1:] for x in (f"{own[state]:,}", over[state])))
        rows.append((WORKLOADS[name].title.split(",")[0], "", *figures))
    return [Table("Instructions per request, in memory and without the kernel", rows)]


def _counted(state: str, directory: Path) -> list[int]:
    """Instructions of a GetItem and a PutItem. Raises subprocess.CalledProcessError."""
    output = directory / f"callgrind-{state}"
    command = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--dump-before=os_getloadavg")
    subprocess.run(
        [*command, f"--callgrind-out-file={output}", sys.executable, "-m", __name__, state],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    # Every mark ends a part: the first, third, ... end what is not counted.
    totals = [_total(Path(f"{output}.{part}")) for part in (2, 4)]
    return [total // COUNTED for total in totals]


def _total(part: Path) -> int:
    found = re.search(r"^(?:summary|totals): (\d+)", part.read_text(), re.MULTILINE)
    assert found is not None, part
    return int(found[1])


def _mark() -> None:
    """Callgrind is told to end a part here; nothing else asks for this."""
    os.getloadavg()


def _callgrind(switch: str) -> None:
    command = ("callgrind_control", "-i", switch, str(os.getpid()))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class _Answers(asyncio.Transport):
    """Where answers go to: only whether they are good is looked at."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert bytes(data[:15]) == b"HTTP/1.1 200 OK", bytes(data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False


async def _requests(state: str) -> None:
    """What callgrind watches."""
    admission.TICK_NS <<= SLOWER_BITS
    execution.FINE_BITS += SLOWER_BITS
    database = await lifecycle.open_database(ServerSettings(memory=True), SystemClock())
    site = Site()
    site.executor = database
    shared = Shared(site.handle)
    connection = Connection(shared)
    connection.connection_made(_Answers())

    async def ask(requests: list[bytes]) -> None:
        for request in requests:
            connection.data_received(request)
            while shared.waiting:  # noqa: ASYNC110 - a loop of its own, that has nothing else to do
                await asyncio.sleep(0)

    population = Population(ITEMS)
    await ask([sign("CreateTable", provisioned(table_definition(PLAIN_TABLE)))])
    await asyncio.sleep(0.1)
    await database.work()
    await ask([sign(*operation) for operation in population.load(PLAIN_TABLE)])
    (meter,) = database._backend.catalog.meter.tables()
    await database._backend.catalog.meter.configure(meter, ENFORCED if state == "enforced" else "off")
    await database.work()
    bare.count(state != "bare")
    for name in ("getitem", "putitem"):
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
