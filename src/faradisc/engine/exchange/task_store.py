"""The exports, imports and bulk operations there are and were.

A row per task in a part of the system's own, key: its kind's letter and its id, value: JSON. All rows are
held in memory too, for 90 days after their start. A job that moves data commits how far it has come in the
task's row together with the data, so after a crash it goes on where it was.

A task that was begun with a client token is found by it for eight hours after its end.

Source: limits.md section 8 (tokens); the model's ListExports, ListImports, ListBulkOperations (90 days).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from faradisc.clock import Clock, Entropy, epoch_seconds
from faradisc.model.codec.keyspace import EXCHANGE_PART
from faradisc.storage.api import Batch, Store

EXPORT, IMPORT, BULK = "export", "import", "bulk"
FAILED = "InternalServerError"
"""The FailureCode of what neither the request nor a bucket is to blame for. Assumed."""
TOKEN_WINDOW_NS = 8 * 3600 * 1_000_000_000
KEPT_NS = 90 * 86_400 * 1_000_000_000
FORGOTTEN_PER_STEP = 100
LOOK_EVERY_NS = 3600 * 1_000_000_000
_RUNNING = ("IN_PROGRESS", "CANCELLING")


class TokenMismatch(Exception):
    """A client token was used before, with other parameters."""


@dataclass(slots=True)
class Task:
    """One export, import or bulk operation; plain data, JSON in the store."""

    kind: str
    id: str
    arn: str
    table_arn: str
    home: str
    """Account and region that began it."""
    started_ns: int
    shown: dict[str, Any]
    """Members of its description beside status and times; counts are kept up here."""
    token: str | None = None
    fingerprint: str = ""
    status: str = "IN_PROGRESS"
    ended_ns: int | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    """What the job needs to go on; of no interest to clients."""

    @property
    def running(self) -> bool:
        return self.status in _RUNNING

    def times(self) -> dict[str, float]:
        times = {"StartTime": epoch_seconds(self.started_ns)}
        if self.ended_ns is not None:
            times["EndTime"] = epoch_seconds(self.ended_ns)
        return times

    def batch(self) -> Batch:
        """What to commit so that the task is stored as it is now."""
        key = self.kind[:1].encode() + self.id.encode()
        return Batch(EXCHANGE_PART, puts=[(key, orjson.dumps(asdict(self)))])


class TaskStore:
    """All tasks of one database."""

    def __init__(self, store: Store, clock: Clock, entropy: Entropy) -> None:
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._tasks: dict[str, Task] = {}
        """By ARN, oldest first."""
        self._last_id_ms = 0
        self._looked_ns = 0
        """When old tasks were last looked for."""

    async def load(self) -> None:
        low: bytes | None = b""
        found: list[Task] = []
        while low is not None:
            rows = await self._store.range(EXCHANGE_PART, low, None, limit=1000)
            found += [Task(**orjson.loads(payload)) for _, (_, payload) in rows]
            low = rows[-1][0] + b"\x00" if rows else None
        self._tasks = {task.arn: task for task in sorted(found, key=lambda task: (task.id, task.kind))}

    def new_id(self) -> str:
        """An id as the service makes them: milliseconds in 14 digits, 8 hex digits. Rising."""
        now_ms = max(self._clock.now_ns() // 1_000_000, self._last_id_ms + 1)
        self._last_id_ms = now_ms
        return f"{now_ms:014d}-{self._entropy.token_bytes(4).hex()}"

    def begun_with(self, kind: str, home: str, token: str, fingerprint: str) -> Task | None:
        """The task that this token began before, if its window has not ended. Raises TokenMismatch."""
        now = self._clock.now_ns()
        for task in reversed(self._tasks.values()):
            if task.token != token or task.kind != kind or task.home != home:
                continue
            if task.ended_ns is not None and now >= task.ended_ns + TOKEN_WINDOW_NS:
                continue
            if task.fingerprint != fingerprint:
                raise TokenMismatch
            return task
        return None

    def add(self, task: Task) -> None:
        """Hold a new task; whoever adds it commits `task.batch()`."""
        self._tasks[task.arn] = task

    async def save(self, task: Task) -> None:
        await self._store.commit([task.batch()])

    async def reload(self, task: Task) -> None:
        """Put a task back to what was last committed of it, after a step that has counted on and then failed.

        Its status stays: a client may be changing it.
        """
        (put,) = task.batch().puts
        (row,) = await self._store.get(EXCHANGE_PART, (put[0],))
        if row is not None:
            stored = orjson.loads(row[1])
            task.shown, task.progress = stored["shown"], stored["progress"]

    async def end(self, task: Task, status: str, code: str | None = None, message: str | None = None) -> None:
        task.status = status
        task.ended_ns = self._clock.now_ns()
        if code is not None:
            task.shown |= {"FailureCode": code, "FailureMessage": message}
        await self.save(task)

    def find(self, kind: str, arn: str) -> Task | None:
        task = self._tasks.get(arn)
        return task if task is not None and task.kind == kind else None

    def listed(self, kind: str, home: str) -> Iterator[Task]:
        """The tasks of the last 90 days, newest first."""
        since_ns = self._clock.now_ns() - KEPT_NS
        for task in sorted(self._tasks.values(), key=lambda each: each.id, reverse=True):
            if task.kind == kind and task.home == home and task.started_ns >= since_ns:
                yield task

    def running(self, kind: str) -> Iterator[Task]:
        """Those that have not ended, oldest first."""
        return (task for task in self._tasks.values() if task.kind == kind and task.running)

    async def forget_old(self) -> bool:
        """Remove some tasks that are listed no more. False when there is none."""
        now = self._clock.now_ns()
        if now < self._looked_ns + LOOK_EVERY_NS:
            return False
        since_ns = now - KEPT_NS
        old = [task for task in self._tasks.values() if task.started_ns < since_ns and not task.running]
        if not old:
            self._looked_ns = now
            return False
        batch = Batch(EXCHANGE_PART)
        for task in old[:FORGOTTEN_PER_STEP]:
            batch.deletes.append(task.batch().puts[0][0])
            self._tasks.pop(task.arn)
        await self._store.commit([batch])
        return True

    async def drop_all(self) -> None:
        """Forget everything, running or not."""
        batch = Batch(EXCHANGE_PART, deletes=[task.batch().puts[0][0] for task in self._tasks.values()])
        self._tasks.clear()
        if batch.deletes:
            await self._store.commit([batch])


def fingerprint(request: dict[str, Any]) -> str:
    """Of the parameters that must be the same when a token is used again."""
    rest = {name: value for name, value in request.items() if name != "ClientToken"}
    return sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()
