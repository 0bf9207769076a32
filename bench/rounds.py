"""A run: load, verify, then short rounds that alternate between the servers.

The speed of a machine drifts with other load, clock changes and caches. Rounds of a few seconds in the order
A B C, B C A, C A B give all servers the same drift. A ratio is taken between rounds of one turn, then the
median over the turns, so it may differ a little from the quotient of the two medians.
"""

import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import answers, client, requests
from bench.client import BadAnswer, Timing
from bench.machine import on_core
from bench.requests import Operation
from bench.servers import Program, Server
from bench.workloads import Population, Workload, table_definition

STARTS = 5
IDLE_S = 1.0
WARM_UP_S = 1
ACTIVE_S_MAX = 60.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a run, without its workloads and servers."""

    directory: Path
    connections: int
    seconds: int
    rounds: int
    server_core: int | None
    client_core: int | None
    with_wrk: bool


@dataclass(slots=True)
class Subject:
    """A server with a population, under its label in the report."""

    label: str
    server: Server
    population: Population
    prepare: Sequence[Operation] = ()
    """Sent once the tables are ACTIVE, before they are loaded."""


@dataclass(frozen=True, slots=True)
class Startup:
    """A start on an empty directory, and the memory of the process one second later."""

    label: str
    start_s: float
    start_s_max: float
    idle_bytes: int


@dataclass(slots=True)
class Row:
    """One workload on one server; `problem` is the reason why the figures are invalid."""

    workload: Workload
    label: str
    items_per_operation: float = 1.0
    timings: list[Timing] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    problem: str | None = None

    @property
    def errors(self) -> int:
        return sum(timing.errors for timing in self.timings)

    @property
    def rates(self) -> list[float]:
        """Returns operations per second, round by round."""
        return [timing.operations / timing.seconds for timing in self.timings]

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def spread(self) -> float:
        """Returns the difference of fastest and slowest round over the median: the noise of this row."""
        return (max(self.rates) - min(self.rates)) / self.rate

    @property
    def p50_ms(self) -> float:
        return statistics.median(timing.p50_ms for timing in self.timings)

    @property
    def p99_ms(self) -> float:
        return statistics.median(timing.p99_ms for timing in self.timings)

    @property
    def cpu_us(self) -> float:
        """Returns the server's CPU time per operation."""
        spent = zip(self.cpu_s, self.timings, strict=True)
        return statistics.median(cpu / timing.operations for cpu, timing in spent) * 1e6

    @property
    def client_share(self) -> float:
        """Returns the client's CPU over the time. Near 1 the client is the limit, and the server may be
        faster."""
        return statistics.median(timing.client_cpu_s / timing.seconds for timing in self.timings)

    def ratio_to(self, other: "Row") -> float:
        """Returns this row's items per second as a multiple of the other's, as the median over the turns."""
        scale = self.items_per_operation / other.items_per_operation
        return (
            statistics.median(mine / theirs for mine, theirs in zip(self.rates, other.rates, strict=True))
            * scale
        )


def start_and_idle(program: Program, plan: Plan) -> Startup:
    """Starts a program several times on an empty directory. Raises Unavailable."""
    directory = plan.directory / "startup"
    starts = []
    for number in range(STARTS):
        shutil.rmtree(directory, ignore_errors=True)
        with Server(program, directory, core=plan.server_core) as server:
            starts.append(server.start_s)
            if number == STARTS - 1:
                time.sleep(IDLE_S)
                idle_bytes = server.memory_bytes()
    shutil.rmtree(directory, ignore_errors=True)
    return Startup(program.name, statistics.median(starts), max(starts), idle_bytes)


def load(subject: Subject, tables: Iterable[str], say: Say) -> None:
    """Creates the tables, writes the population into each, and checks it.

    Raises BadAnswer.
    """
    for table in tables:
        with answers.Asker(subject.server.port) as ask:
            ask("CreateTable", table_definition(table))
            wait_active(table, ask)
            for operation, body in subject.prepare:
                ask(operation, {"TableName": table, **body})
                wait_active(table, ask)
        batches = (requests.sign(*operation) for operation in subject.population.load(table))
        seconds = client.load(batches, subject.server.port)
        began = time.perf_counter()
        with answers.Asker(subject.server.port) as ask:
            answers.walk(table, subject.population, ask)
        say(
            f"{subject.label}: {table} loaded, {subject.population.count / seconds:,.0f} items/s; "
            f"read through in {time.perf_counter() - began:.1f} s"
        )


def measure(subjects: Sequence[Subject], workloads: Iterable[Workload], plan: Plan, say: Say) -> list[Row]:
    """Runs all rounds of all workloads. Every server is loaded and paused before, and paused after."""
    rows = []
    for workload in workloads:
        rows += _measure_workload(subjects, workload, plan)
        for row in rows[-len(subjects) :]:
            outcome = row.problem or f"{row.rate:,.1f}/s, p99 {row.p99_ms:.2f} ms"
            say(f"{workload.name}: {row.label}: {outcome}")
    return rows


def _measure_workload(subjects: Sequence[Subject], workload: Workload, plan: Plan) -> list[Row]:
    files: dict[Population, Path] = {}
    rows = [Row(workload, subject.label) for subject in subjects]
    for subject, row in zip(subjects, rows, strict=True):
        population = subject.population
        operations = workload.operations(population)
        if population not in files:
            files[population] = plan.directory / f"{workload.name}-{population.count}.requests"
            requests.write_file(files[population], (requests.sign(*operation) for operation in operations))
        subject.server.resume()
        if not subject.server.running:
            row.problem = f"the server {subject.server.end()}"
            continue
        try:
            row.items_per_operation = answers.verify(workload, operations, population, subject.server.port)
            _replay(subject, files[population], plan, seconds=WARM_UP_S)
        except (BadAnswer, OSError) as error:
            row.problem = f"wrong answer before timing: {error}"
        subject.server.pause()
    pairs = list(zip(subjects, rows, strict=True))
    for turn in range(plan.rounds):
        first = turn % len(pairs)
        for subject, row in pairs[first:] + pairs[:first]:
            if row.problem is None:
                _round(subject, row, files[subject.population], plan)
    for path in files.values():
        path.unlink()
    return rows


def _round(subject: Subject, row: Row, path: Path, plan: Plan) -> None:
    subject.server.resume()
    if not subject.server.running:
        row.problem = f"the server {subject.server.end()}"
        return
    before = subject.server.cpu_seconds()
    timing = _replay(subject, path, plan, seconds=plan.seconds)
    row.cpu_s.append(subject.server.cpu_seconds() - before)
    row.timings.append(timing)
    subject.server.pause()
    if not subject.server.running:
        row.problem = f"the server {subject.server.end()}"
    elif timing.errors:
        row.problem = f"{timing.errors} of {timing.operations} answers were errors or never came"
    elif timing.operations == 0:
        row.problem = f"no answer within a round of {plan.seconds} s"


def _replay(subject: Subject, path: Path, plan: Plan, *, seconds: int) -> Timing:
    with on_core(plan.client_core):
        return client.replay(
            path,
            subject.server.port,
            connections=plan.connections,
            seconds=seconds,
            with_wrk=plan.with_wrk,
        )


def wait_active(table: str, ask: answers.Asker) -> None:
    deadline = time.perf_counter() + ACTIVE_S_MAX
    while ask("DescribeTable", {"TableName": table})["Table"]["TableStatus"] != "ACTIVE":
        if time.perf_counter() > deadline:
            raise BadAnswer(f"{table} is not ACTIVE after {ACTIVE_S_MAX:.0f} s")
        time.sleep(0.02)
