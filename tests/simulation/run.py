"""One run of one seed: lives of a database, each ended by a crash, the last one by a regular stop.

All random choices come from one `random.Random(seed)`: the shape of the run, the order of coroutines,
injected faults, moments of crashes, requests. Nothing else may differ between two runs of a seed, so both
write the same trace.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from faradisc.capacity.config import PROFILES
from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.engine.backups.storage import memory_backups
from faradisc.engine.check import Check
from faradisc.engine.exchange import intake
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.jobs import runner
from faradisc.errors import StorageError
from faradisc.protocol import failures, front
from faradisc.protocol.http import HttpRequest
from fixtures.faulty_store import Faults, FaultyDisk, FaultyStore
from fixtures.in_process import headers_of
from fixtures.seeded_loop import SeededLoop, Strand, running
from simulation.actors import Client, Worker, pause, take_snapshots
from simulation.archivist import Archivist
from simulation.auditor import Auditor
from simulation.buckets import MemoryBuckets
from simulation.consumers import KinesisSink, StreamReader
from simulation.courier import Courier
from simulation.drawing import GROUPS, TABLES, Drawing, sources
from simulation.governor import SCALING_OPERATIONS, Governor
from simulation.meters import HASTY, MeterReader
from simulation.requests import THROTTLED, Listing, Request, Window
from simulation.searches import Nearest, near_indexes
from simulation.switches import Operator
from simulation.throughput import GOVERNOR, SERVICE

DAY_S = 86_400
REST_S = 65.0
"""Longer than any transition that waits for no partitions, and long enough for a minute of metrics to end."""
IDLE_STEPS = 5
STEPS_MAX = 2_000_000
DiskOf = Callable[[random.Random], FaultyDisk]
_PROFILES = ("hasty", "hasty", "aws", "documented", "pessimistic", "classic-2017")
_CAPS = ("2/1", "5/3", "5/3/3KB", "40/20/4KB", "40/20")
"""Of partitions: read and write units per second, and size."""
_STREAM_OPERATIONS = {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of a run, drawn from its seed."""

    clients: int
    requests: int
    lives: int
    steps: int
    """Of the loop, before a life ends, at most."""
    faults: Faults
    jumps_s: tuple[float, ...]
    """How far the clock may go at once; most of its steps are milliseconds."""
    kinesis_trouble: float
    bucket_trouble: float
    throughput: str
    """Capacity profile of the throttled table, with caps of its partitions."""
    throttled: float
    """Share of accesses that go to it."""
    throttled_index: bool
    errands: tuple[str, ...] = ("export", "export", "import", "bulk", "bulk")
    """What the courier goes on."""
    switched_on: float = 0.45
    """Share of the switches that are put on at the beginning."""

    @classmethod
    def draw(cls, chance: random.Random) -> Shape:
        failing = chance.random() < 0.5
        jumps_s: tuple[float, ...] = (1, 1, 5, 5, 30, 30, 700)
        if chance.random() < 0.2:
            jumps_s += (4 * 3600 + 1, DAY_S + 60)
        return cls(
            clients=chance.randint(1, 5),
            requests=chance.randint(12, 45),
            lives=chance.randint(1, 5),
            steps=chance.choice((150, 600, 1500)),
            faults=Faults(
                sync_turns=chance.choice((1, 4, 20)),
                slow_sync=chance.choice((0.0, 0.1)),
                fail_before_write=0.01 if failing else 0.0,
                fail_after_write=0.01 if failing else 0.0,
                fail_sync=0.01 if failing else 0.0,
            ),
            jumps_s=jumps_s,
            kinesis_trouble=chance.choice((0.0, 0.3)),
            bucket_trouble=chance.choice((0.0, 0.0, 0.1)),
            throughput=f"{chance.choice(_PROFILES)}:{chance.choice(_CAPS)}",
            throttled=chance.choice((0.05, 0.3, 0.9)),
            throttled_index=chance.random() < 0.4,
        )


@dataclass(slots=True)
class Outcome:
    seed: int
    failures: list[str]
    seen: Counter[str]
    trace: list[str]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


class Failed(AssertionError):
    """A run has found an error."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        found = "\n  ".join(outcome.failures[:8])
        super().__init__(
            f"seed {outcome.seed} has found:\n  {found}\n"
            f"again: PYTHONPATH=tests python -m simulation --seed {outcome.seed} --trace"
        )


def play(seed: int, disk_of: DiskOf = FaultyDisk, **shape: Any) -> Outcome:
    """Runs a seed to its end. Raises Failed.

    shape: members of Shape that are not to be drawn.
    """
    run = Run(seed, disk_of, shape)
    with _a_smaller_world():
        try:
            run.play()
        except AssertionError as error:
            run.auditor.fail(f"an assertion failed: {error}")
        except Exception as error:
            run.auditor.fail(f"raised {type(error).__name__}: {error}")
            raise Failed(run.outcome()) from error
        finally:
            shutil.rmtree(run.logs, ignore_errors=True)
    outcome = run.outcome()
    if outcome.failures:
        raise Failed(outcome)
    return outcome


@contextmanager
def _a_smaller_world() -> Iterator[None]:
    """Raises unexpected errors, adds the simulation's profile, and stores imported records in small steps,
    so that crashes occur between them."""
    before = failures.RAISE_UNEXPECTED, runner.RAISE_UNEXPECTED, intake.STEP_RECORDS
    failures.RAISE_UNEXPECTED, runner.RAISE_UNEXPECTED, intake.STEP_RECORDS = True, True, 2
    PROFILES[HASTY.profile] = HASTY
    try:
        yield
    finally:
        failures.RAISE_UNEXPECTED, runner.RAISE_UNEXPECTED, intake.STEP_RECORDS = before
        del PROFILES[HASTY.profile]


class Run:
    def __init__(self, seed: int, disk_of: DiskOf, shape: dict[str, Any]) -> None:
        self.seed = seed
        self.chance = chance = random.Random(seed)
        self.shape = replace(Shape.draw(chance), **shape)
        self.trace: list[str] = [str(self.shape)]
        self.clock = ManualClock()
        self.entropy = SeededEntropy(seed)
        self.disk = disk_of(chance)
        self.auditor = Auditor(self.disk, self.clock)
        indexed = self.shape.throttled_index
        self.drawing = Drawing(chance, self.shape.throttled, indexed=indexed)
        self.meters = MeterReader(self.auditor, self.clock)
        self.governor = Governor(self.auditor, chance, indexed=indexed)
        self.left = self.shape.requests
        self.clients = [
            Client(
                f"client {number}",
                self.auditor,
                self.meters,
                clock=self.clock,
                chance=chance,
                next_request=self._next_request,
            )
            for number in range(self.shape.clients)
        ]
        self.operator = Operator(self.auditor, chance, self.shape.switched_on)
        self.archivist = Archivist(self.auditor, self.clock, chance)
        self.buckets = MemoryBuckets(chance, self.shape.bucket_trouble)
        self.courier = Courier(
            self.auditor,
            self.drawing,
            self.buckets,
            clock=self.clock,
            chance=chance,
            errands=self.shape.errands,
        )
        self.logs = Path(tempfile.gettempdir(), f"simulation-{os.getpid()}-{seed}")
        """Of imports and bulk puts: the only files of a run that the machine's own disk has."""
        self.has_orphans = False
        self.storage = memory_backups()
        """Files outlive a crash."""
        self.reader = StreamReader(self.auditor, chance)
        self.sink = KinesisSink(self.auditor, chance, self.shape.kinesis_trouble)

    def outcome(self) -> Outcome:
        return Outcome(self.seed, self.auditor.failures, self.auditor.seen, self.trace)

    def _next_request(self) -> Request | None:
        self.left -= 1
        return self.drawing.request(self.clock.now_ns() // 1_000_000_000) if self.left >= 0 else None

    def play(self) -> None:
        for life in range(self.shape.lives):
            self._live(life, last=life == self.shape.lives - 1)
            self.meters.ended()
            if self.auditor.failures:
                return
            self.sink.close()
            self.has_orphans |= self.operator.leaves_history_behind
            kept = self.disk.crash()
            self.trace.append(f"crash, {kept} kept")
            self.auditor.crashed(kept)
            self.reader.crashed()

    # --- One life --------------------------------------------------------------------------------

    def _live(self, life: int, *, last: bool) -> None:
        faults = Faults(sync_turns=self.shape.faults.sync_turns) if last else self.shape.faults
        store = self.disk.open(faults, self.auditor.watch)
        with SeededLoop(self.chance) as loop:
            life_of = Life(self, loop, store)
            opening = loop.start("open", life_of.open())
            steps = self.chance.randint(1, self.shape.steps) if not last else 1_000_000
            for _ in range(steps):
                if self.auditor.failures or not self._step(loop) or (last and self._is_done(life_of)):
                    break
            if not last:
                self._reach_a_good_moment(loop)
            if self.auditor.failures or not last:
                return
            assert opening.done
            life_of.settle()

    def _reach_a_good_moment(self, loop: SeededLoop) -> None:
        """Runs on until some writes are not yet on disk, the moment at which crashes matter."""
        wanted = self.chance.randint(0, 3)
        for _ in range(200):
            if self.disk.unsynced >= wanted or self.auditor.failures or not self._step(loop):
                return

    def _is_done(self, life: Life) -> bool:
        return life.is_open and all(strand.done for strand in life.working)

    def _step(self, loop: SeededLoop) -> bool:
        draw = self.chance.random()
        if draw < 0.03:
            self._move_clock()
        elif draw < 0.08:
            self.sink.tick()
        return loop.step()

    def _move_clock(self) -> None:
        seconds = self.chance.random() * 0.02
        if self.chance.random() < 0.1:
            seconds = self.chance.choice(self.shape.jumps_s)
        self.clock.advance(seconds)


class Life:
    """A database between its opening and its crash, with all its clients."""

    def __init__(self, run: Run, loop: SeededLoop, store: FaultyStore) -> None:
        self._run = run
        self._loop = loop
        self._store = store
        self._database: Database | None = None
        self.is_open = False
        self._is_resting = False
        self._worker: Worker
        self._working: Strand
        self._following: Strand
        self._carrying: Strand
        self.working: list[Strand] = []
        """The strands whose end is the end of the run."""

    async def open(self) -> None:
        run, loop, store = self._run, self._loop, self._store
        settings = Settings(
            transition_ms=run.chance.choice((0, 5)),
            ttl_change_interval_s=0,
            throughput_tables=f"{THROTTLED}={run.shape.throughput}",
        )
        try:
            database = self._database = await Database.open(
                store,
                settings=settings,
                clock=run.clock,
                entropy=run.entropy,
                kinesis=run.sink,
                backup_storage=run.storage,
                locations=Locations(run.buckets, run.logs),
            )
            run.meters.opened(database)
            await run.operator.prepare(self.call)
            await run.governor.prepare(self.call)
            await run.operator.look(self.call)
            await run.governor.look(self.call)
        except StorageError:
            return
        self._worker = Worker(database, run.chance)
        self._working = loop.start(SERVICE, self._worker.run())
        loop.start("snapshots", take_snapshots(store, run.auditor, run.chance))
        loop.start("archivist", self._archive())
        self._carrying = loop.start("courier", self._carry())
        self._following = loop.start("streams", self._follow())
        self.working = [loop.start(client.name, client.run(self.call, store)) for client in run.clients]
        self.working.append(loop.start("operator", self._switch()))
        self.working.append(loop.start(GOVERNOR, self._govern()))
        self.is_open = True

    async def call(self, operation: str, request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Sends one request in its wire form. Raises StorageError."""
        assert self._database is not None
        body = orjson.dumps(request)
        headers = headers_of(operation)
        if operation in _STREAM_OPERATIONS:
            headers[b"x-amz-target"] = b"DynamoDBStreams_20120810." + operation.encode()
        elif operation in SCALING_OPERATIONS:
            headers[b"x-amz-target"] = b"AnyScaleFrontendService." + operation.encode()
            headers[b"content-type"] = b"application/x-amz-json-1.1"
        name = running()
        self._run.trace.append(f"{name} > {operation} {body.decode()}")
        answer = await front.answer(self._database, HttpRequest("POST", b"/", headers, body))
        self._run.trace.append(f"{name} < {answer.status} {answer.body.decode()}")
        document: dict[str, Any] = orjson.loads(answer.body)
        if answer.status == 500:
            if not self._store.failed:
                self._run.auditor.fail(f"{operation} was answered {document}, with nothing wrong")
            raise StorageError("the store has failed")
        return ("" if answer.status == 200 else document["__type"].rpartition("#")[2]), document

    async def _switch(self) -> None:
        run = self._run
        try:
            await run.operator.begin(self.call)
            while run.left > 0:
                await pause(run.chance, 120)
                await run.operator.change(self.call)
        except StorageError:
            return

    async def _govern(self) -> None:
        run = self._run
        with suppress(StorageError):
            while run.left > 0:
                await pause(run.chance, 80)
                await run.governor.act(self.call)

    async def _archive(self) -> None:
        with suppress(StorageError):
            await self._run.archivist.run(self.call, self._store)

    async def _carry(self) -> None:
        with suppress(StorageError):
            await self._run.courier.run(self.call, self._store)

    async def _follow(self) -> None:
        run = self._run
        try:
            while not self._is_resting:
                await pause(run.chance, 400)
                await run.reader.catch_up(self.call)
        except StorageError:
            return

    # --- The last life ---------------------------------------------------------------------------

    def settle(self) -> None:
        """Finishes the background work after all clients are done, and checks everything."""
        run = self._run
        run.sink.trouble = 0.0
        self._is_resting = run.courier.is_resting = run.archivist.is_resting = True
        run.clock.advance(REST_S)
        while not self._working.done:
            run.clock.advance(0.05)
            run.sink.tick()
            is_idle = self._worker.idle_steps > IDLE_STEPS and run.sink.is_idle
            if is_idle and self._is_updating():
                run.clock.advance(REST_S)
                is_idle, self._worker.idle_steps = False, 0
            self._worker.is_stopped = is_idle and self._following.done and self._carrying.done
            assert self._loop.step()
            if run.auditor.failures:
                return
            if self._loop.steps > STEPS_MAX:
                run.auditor.fail("the background work does not come to an end")
                return
        self._loop.run("judge", self._judge())

    def _is_updating(self) -> bool:
        """Returns whether a table waits for partitions, and auto scaling perhaps for the table."""
        now, tables = self._run.clock.now_ns(), self._run.auditor.model.tables.values()
        return any(state["status"] == "UPDATING" and now < state["status_until_ns"] for state in tables)

    async def _judge(self) -> None:
        run, version = self._run, self._store.synced_version
        auditor = run.auditor
        await run.operator.look(self.call)
        await run.governor.look(self.call)
        await run.governor.judge(self.call)
        await self._store.flush()  # what is judged on the disk may stand behind commits that are not durable
        run.meters.judge()
        window = Window(version, version, run.clock.now_ns())
        for table in TABLES:
            for source in sources(table):
                await self._ask(Listing(source, None, None, backwards=False), window)
            for near in near_indexes(table):
                await self._ask(
                    Nearest(near, (1, -2), 100, GROUPS[0] if near.always_chooses else None), window
                )
        await run.reader.catch_up(self.call)
        run.reader.judge(version)
        run.sink.judge(complete=not run.reader.may_be_too_late)
        auditor.judge_expired()
        report = await Check(self._store, run.clock).finish()
        for sentence in report.sentences():
            if sentence.startswith("orphans") and run.has_orphans:
                continue
            auditor.fail(f"faradisc check: {sentence}")

    async def _ask(self, request: Request, window: Window) -> None:
        """Reads data that no longer changes, and checks the answer."""
        code, answer = await self.call(request.operation, request.body())
        if not code:
            request.follow(answer)
        wrong = request.judge(self._run.auditor.model, window, code, answer)
        if wrong is not None:
            self._run.auditor.fail(f"at the end: {wrong}")
