"""The effect of many items that expire at once on other writes and on memory.

One server, one table with time to live on. It is loaded with items that all expire in the same second;
before that, writes of other items are timed (`idle`), and after it until the last expired item is deleted
(`sweep`). All rounds replay the same requests, so the phases differ only by the background work.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench import answers, client, report, requests, rounds
from bench.machine import on_core
from bench.servers import FARADISC, Server
from bench.workloads import BATCH_ITEMS, PLAIN_TABLE, WORKLOADS, Population, table_definition

ATTRIBUTE = "until"
LASTING_ITEMS = 20_000
"""The items that the timed requests write; they do not expire."""
P99_TIMES_MAX = 2.0
MEMORY_TIMES_MAX = 1.1
"""Largest ratio of the highest memory in the second half of the sweep to that in the first."""
MARGIN_S = 2.0


class _Lasting(Population):
    """Items that do not expire."""

    def partition(self, number: int) -> dict[str, str]:
        return {"S": f"last#{number:08d}"}


@dataclass(slots=True)
class Phase:
    """The rounds of one phase, and what was measured at the end of each."""

    name: str
    timings: list[client.Timing] = field(default_factory=list)
    memory_bytes: list[int] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def p99_ms(self) -> float:
        return statistics.median(timing.p99_ms for timing in self.timings)

    def row(self) -> tuple[str, ...]:
        rate = statistics.median(timing.operations / timing.seconds for timing in self.timings)
        p50 = statistics.median(timing.p50_ms for timing in self.timings)
        return (
            self.name,
            f"{len(self.timings)} rounds",
            f"{rate:,.0f}",
            f"{p50:.2f}",
            f"{self.p99_ms:.2f}",
            f"{min(self.memory_bytes) / 2**20:.0f} MB",
            f"{max(self.memory_bytes) / 2**20:.0f} MB",
            str(sum(timing.errors for timing in self.timings)),
        )


def run(count: int, expire_in_s: int, plan: rounds.Plan, say: Callable[[str], None]) -> list[report.Table]:
    """Loads `count` items that expire some seconds from now, and times writes before and after.

    Raises BadAnswer, also if no round fits between loading and expiry.
    """
    due_s = int(time.time()) + expire_in_s
    path = plan.directory / "expiring.requests"
    lasting = WORKLOADS["putitem"].operations(_Lasting(LASTING_ITEMS))
    with Server(FARADISC, plan.directory / "expiring", core=plan.server_core) as server:
        with answers.Asker(server.port) as ask:
            ask("CreateTable", table_definition(PLAIN_TABLE))
            rounds.wait_active(PLAIN_TABLE, ask)
            specification = {"Enabled": True, "AttributeName": ATTRIBUTE}
            ask("UpdateTimeToLive", {"TableName": PLAIN_TABLE, "TimeToLiveSpecification": specification})
        requests.write_file(path, (requests.sign(*operation) for operation in lasting))
        others = _Lasting(LASTING_ITEMS).load(PLAIN_TABLE)
        client.load((requests.sign(*operation) for operation in others), server.port)
        say(f"{count:,} items loaded in {client.load(loading(count, due_s), server.port):.0f} s")
        _round(Phase("warm-up"), path, server, plan)
        idle, sweep = Phase("idle"), Phase("sweep")
        while due_s - time.time() > plan.seconds + MARGIN_S:
            _round(idle, path, server, plan)
        if not idle.timings:
            raise client.BadAnswer("the items expire before they are loaded: give --expire-in more seconds")
        time.sleep(max(0.0, due_s - time.time()))
        began = time.perf_counter()
        while left := _items(server) - LASTING_ITEMS:
            _round(sweep, path, server, plan)
            sweep.seconds = time.perf_counter() - began
            say(f"sweep: {left:,} items left, p99 {sweep.timings[-1].p99_ms:.2f} ms")
    return _tables(count, idle, sweep)


def loading(count: int, due_s: int) -> Iterator[bytes]:
    population, until = Population(count), {"N": str(due_s)}
    for first in range(0, count, BATCH_ITEMS):
        items = [
            {**population.item(number), ATTRIBUTE: until} for number in range(first, first + BATCH_ITEMS)
        ]
        puts = [{"PutRequest": {"Item": item}} for item in items]
        yield requests.sign("BatchWriteItem", {"RequestItems": {PLAIN_TABLE: puts}})


def _round(phase: Phase, path: Path, server: Server, plan: rounds.Plan) -> None:
    with on_core(plan.client_core):
        timing = client.replay(
            path,
            server.port,
            connections=plan.connections,
            seconds=plan.seconds,
            with_wrk=plan.with_wrk,
        )
    phase.timings.append(timing)
    phase.memory_bytes.append(server.memory_bytes())


def _items(server: Server) -> int:
    with answers.Asker(server.port) as ask:
        return int(ask("DescribeTable", {"TableName": PLAIN_TABLE})["Table"]["ItemCount"])


def _tables(count: int, idle: Phase, sweep: Phase) -> list[report.Table]:
    head = ("phase", "rounds", "PutItem/s", "p50 ms", "p99 ms", "memory, least", "memory, most", "errors")
    title = f"{count:,} items expire at once: writes of others before and meanwhile"
    figures = report.Table(title, [head, idle.row(), sweep.row()])
    times = sweep.p99_ms / idle.p99_ms
    half = (len(sweep.memory_bytes) + 1) // 2
    first, second = sweep.memory_bytes[:half], sweep.memory_bytes[half:] or sweep.memory_bytes[-1:]
    growth = max(second) / max(first)
    verdicts = [
        ("what", "verdict", "measured", "target"),
        (
            "p99 of writes, times its idle value",
            report.verdict(times <= P99_TIMES_MAX),
            f"{times:.2f}",
            f"{P99_TIMES_MAX:g}",
        ),
        (
            "memory of the sweep's second half, times the first's",
            report.verdict(growth <= MEMORY_TIMES_MAX),
            f"{growth:.2f}",
            f"{MEMORY_TIMES_MAX:g}",
        ),
        ("expired items deleted per second", report.ABSENT, f"{count / sweep.seconds:,.0f}", report.ABSENT),
    ]
    return [figures, report.Table("Verdicts", verdicts)]
