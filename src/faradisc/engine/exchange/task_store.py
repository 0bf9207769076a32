"""The exports, imports and bulk operations of a database, running and ended.

Each task is a row in a part of its own; key: first letter of its kind and its id, value: JSON. All rows are
also in memory, until 90 days after their start. A job that moves data commits its progress in the task's row
together with the data, so it continues there after a crash.

The client token of a task is valid until eight hours after its end.

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
"""The FailureCode when neither the request nor a bucket is the cause. Assumed."""
TOKEN_WINDOW_NS = 8 * 3600 * 1_000_000_000
RETAINED_NS = 90 * 86_400 * 1_000_000_000
DELETED_PER_STEP = 100
CLEAN_EVERY_NS = 3600 * 1_000_000_000
_RUNNING = ("IN_PROGRESS", "CANCELLING")


class TokenMismatch(Exception):
    """Raised when a client token was used before with other parameters."""


@dataclass(slots=True)
class Task:
    """One export, import or bulk operation, stored as JSON."""

    kind: str
    id: str
    arn: str
    table_arn: str
    home: str
    """Account and region that started it."""
    started_ns: int
    shown: dict[str, Any]
    """Members of its description except status and times; includes the counts."""
    token: str | None = None
    fingerprint: str = ""
    status: str = "IN_PROGRESS"
    ended_ns: int | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    """State of the job that clients do not see."""

    @property
    def running(self) -> bool:
        return self.status in _RUNNING

    def times(self) -> dict[str, float]:
        times = {"StartTime": epoch_seconds(self.started_ns)}
        if self.ended_ns is not None:
            times["EndTime"] = epoch_seconds(self.ended_ns)
        return times

    def batch(self) -> Batch:
        """Returns the write that stores the task as it is now."""
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
        self._cleaned_ns = 0
        """When a search for old tasks last found none."""

    async def load(self) -> None:
        low: bytes | None = b""
        found: list[Task] = []
        while low is not None:
            rows = await self._store.range(EXCHANGE_PART, low, None, limit=1000)
            found += [Task(**orjson.loads(payload)) for _, (_, payload) in rows]
            low = rows[-1][0] + b"\x00" if rows else None
        self._tasks = {task.arn: task for task in sorted(found, key=lambda task: (task.id, task.kind))}

    def new_id(self) -> str:
        """Returns an id in the service's form: milliseconds in 14 digits, 8 hex digits. Ids increase."""
        now_ms = max(self._clock.now_ns() // 1_000_000, self._last_id_ms + 1)
        self._last_id_ms = now_ms
        return f"{now_ms:014d}-{self._entropy.token_bytes(4).hex()}"

    def begun_with(self, kind: str, home: str, token: str, fingerprint: str) -> Task | None:
        """Returns the task that was started with this token if the token is still valid, otherwise None.

        Raises TokenMismatch.
        """
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
        """Adds a new task in memory; the caller commits `task.batch()`."""
        self._tasks[task.arn] = task

    async def save(self, task: Task) -> None:
        await self._store.commit([task.batch()])

    async def reload(self, task: Task) -> None:
        """Resets a task to its last commit, after a failed step that may have changed its counts.

        Its status stays, because a client may be changing it.
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
        """Yields the tasks of the last 90 days, newest first."""
        since_ns = self._clock.now_ns() - RETAINED_NS
        for task in sorted(self._tasks.values(), key=lambda each: each.id, reverse=True):
            if task.kind == kind and task.home == home and task.started_ns >= since_ns:
                yield task

    def running(self, kind: str) -> Iterator[Task]:
        """Returns the tasks that have not ended, oldest first."""
        return (task for task in self._tasks.values() if task.kind == kind and task.running)

    async def forget_old(self) -> bool:
        """Deletes some tasks older than 90 days. Returns False when there is none."""
        now = self._clock.now_ns()
        if now < self._cleaned_ns + CLEAN_EVERY_NS:
            return False
        since_ns = now - RETAINED_NS
        old = [task for task in self._tasks.values() if task.started_ns < since_ns and not task.running]
        if not old:
            self._cleaned_ns = now
            return False
        batch = Batch(EXCHANGE_PART)
        for task in old[:DELETED_PER_STEP]:
            batch.deletes.append(task.batch().puts[0][0])
            self._tasks.pop(task.arn)
        await self._store.commit([batch])
        return True

    async def drop_all(self) -> None:
        """Deletes all tasks, running or not."""
        batch = Batch(EXCHANGE_PART, deletes=[task.batch().puts[0][0] for task in self._tasks.values()])
        self._tasks.clear()
        if batch.deletes:
            await self._store.commit([batch])


def fingerprint(request: dict[str, Any]) -> str:
    """Returns a hash of the parameters that must be the same when a token is used again."""
    rest = {name: value for name, value in request.items() if name != "ClientToken"}
    return sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()
