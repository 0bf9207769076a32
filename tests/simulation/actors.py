"""The coroutines of a run: clients, the background work, the clock, readers of snapshots."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from faradisc.clock import ManualClock
from faradisc.database import Database
from faradisc.errors import StorageError
from fixtures.faulty_store import FaultyStore
from simulation.auditor import Auditor
from simulation.consumers import Call
from simulation.meters import MeterReader
from simulation.requests import TEMPORARY, THROTTLED, Request, Window, throttles_among


async def pause(chance: random.Random, turns: int) -> None:
    """Yields to the event loop up to so many times."""
    for _ in range(chance.randint(0, turns)):
        await asyncio.sleep(0)


class Client:
    """Sends one request after the other. After a crash it repeats requests that have a token."""

    def __init__(
        self,
        name: str,
        auditor: Auditor,
        meters: MeterReader,
        *,
        clock: ManualClock,
        chance: random.Random,
        next_request: Callable[[], Request | None],
    ) -> None:
        self.name = name
        self._auditor = auditor
        self._clock = clock
        self._chance = chance
        self._next = next_request
        self._meters = meters
        self._open: tuple[Request, int] | None = None
        """What has no answer yet, and the version on disk when it was first sent."""
        self._answered: Request | None = None
        """The last transaction with a token: it may be sent again for no reason."""

    async def run(self, call: Call, store: FaultyStore) -> None:
        while True:
            request = self._choose(store)
            if request is None:
                return
            try:
                await self._send(call, store, *request)
            except StorageError:
                return  # nothing is known of it before the next life
            await pause(self._chance, 3)

    def _choose(self, store: FaultyStore) -> tuple[Request, int] | None:
        """Returns the next request, and the version since which it may have had an effect."""
        unanswered, self._open = self._open, None
        if unanswered is not None and unanswered[0].token is not None:
            return unanswered
        if self._answered is not None and self._chance.random() < 0.1:
            return self._answered, store.synced_version
        request = self._next()
        return None if request is None else (request, store.synced_version)

    async def _send(self, call: Call, store: FaultyStore, request: Request, low: int) -> None:
        self._open = (request, low)
        self._auditor.under_way[self.name] = request
        self._auditor.seen[request.operation] += 1
        request.commits = []
        stamp = self._meters.stamp()
        body: dict[str, Any] | None = request.body()
        code, answer = "", {}
        while body is not None:
            if THROTTLED in request.tables():
                body["ReturnConsumedCapacity"] = "INDEXES"
            code, answer = await call(request.operation, body)
            self._meters.paid(stamp, request, answer)
            body = None if code else request.follow(answer)
        del self._auditor.under_way[self.name]
        self._open = None
        if request.token is not None:
            self._answered = request
        self._auditor.acknowledged(request)
        if code == "ResourceNotFoundException" and TEMPORARY in request.tables() and not request.commits:
            return
        self._auditor.seen["refused" if code else "answered"] += 1
        window = Window(low, store.synced_version, stamp.began_ns)
        self._meters.answered(request, window, code, answer)
        if throttles_among(code, answer):
            self._auditor.seen["throttled"] += 1
            wrong = request.judge_rejection()
        else:
            wrong = request.judge(self._auditor.model, window, code, answer)
        if wrong is not None:
            self._auditor.fail(f"{self.name}: {wrong}")


class Worker:
    """Runs the background work as the server's loop does."""

    def __init__(self, database: Database, chance: random.Random) -> None:
        self._database = database
        self._chance = chance
        self.idle_steps = 0
        """How often in a row there was nothing to do."""
        self.is_stopped = False

    async def run(self) -> None:
        while not self.is_stopped:
            try:
                busy = await self._database.work()
            except StorageError:
                return
            self.idle_steps = 0 if busy else self.idle_steps + 1
            await pause(self._chance, 3 if busy else 60)


async def take_snapshots(store: FaultyStore, auditor: Auditor, chance: random.Random) -> None:
    """Takes snapshots and checks that each shows one version, whatever is written after it."""
    while True:
        await pause(chance, 600)
        version = store.version
        try:
            snapshot = await store.snapshot()
        except StorageError:
            return
        if version > store.synced_version:
            auditor.fail(f"a snapshot of version {version} was taken, {store.synced_version} is on disk")
        await pause(chance, 30)
        auditor.seen["snapshots"] += 1
        auditor.judge(snapshot, version, "in a snapshot")
        await snapshot.close()
