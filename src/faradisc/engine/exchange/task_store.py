"""The exports, imports and bulk operations of a database, running and ended.

Each task is a row in a part of its own; key: first letter of its kind and its id, value: JSON. All rows are
also in memory, until 90 days after their start. A job that moves data commits its progress in the task's row
together with the data, so it continues there after a crash.

The client token of a task is valid until eight hours after its end.

Source: limits.md section 8 (tokens); the model's ListExports, ListImports, ListBulkOperations (90 days).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import orjson

from faradisc.clock import Clock, Entropy, epoch_seconds
from faradisc.engine.cluster.followed import FollowedRows
from faradisc.model.codec.keyspace import EXCHANGE_PART
from faradisc.records import asdict, dataclass, field, fields
from faradisc.storage.api import Batch, Store

EXPORT, IMPORT, BULK = "export", "import", "bulk"
FAILED = "InternalServerError"
"""The FailureCode when neither the request nor a bucket is the cause. Assumed."""
TOKEN_WINDOW_NS = 8 * 3600 * 1_000_000_000
RETAINED_NS = 90 * 86_400 * 1_000_000_000
DELETED_PER_STEP = 100
CLEAN_EVERY_NS = 3600 * 1_000_000_000
_RUNNING = ("IN_PROGRESS", "CANCELLING")
_CANCELLED = b"x"
"""Before the key of a task: of a row that another node than the one that runs the task has written."""


class TaskFailed(Exception):
    """A task cannot go on. Code and text become FailureCode and FailureMessage."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


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

    @property
    def key(self) -> bytes:
        """Of its row."""
        return self.kind[:1].encode() + self.id.encode()


class TaskStore:
    """All tasks of one database."""

    def __init__(self, store: Store, clock: Clock, entropy: Entropy) -> None:
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._rows = FollowedRows(store, EXCHANGE_PART)
        self._tasks: dict[str, Task] = {}
        """By ARN, oldest first."""
        self._cancelled: set[bytes] = set()
        """Keys of tasks that were cancelled through another node than the one that runs them."""
        self._mine: set[str] | None = set() if store.shared else None
        """ARNs of the tasks that this node works on: no other one changes them while they run. None: all."""
        self._last_id_ms = 0
        self._cleaned_ns = 0
        """When a search for old tasks last found none."""

    async def load(self) -> None:
        self._take_over(await self._rows.load())

    async def follow(self) -> None:
        """Takes over what other nodes have changed."""
        self._take_over(await self._rows.changed())

    def _take_over(self, rows: Sequence[tuple[bytes, bytes | None]]) -> None:
        for key, payload in rows:
            if key[:1] == _CANCELLED:
                (self._cancelled.discard if payload is None else self._cancelled.add)(key[1:])
            elif payload is None:
                self._tasks = {arn: task for arn, task in self._tasks.items() if task.key != key}
            else:
                task = Task(**orjson.loads(payload))
                present = self._tasks.setdefault(task.arn, task)
                if not (self._is_mine(present) and present.running):
                    for each in fields(Task):
                        setattr(present, each.name, getattr(task, each.name))
        if rows:
            ordered = sorted(self._tasks.values(), key=lambda task: (task.id, task.kind))
            self._tasks = {task.arn: task for task in ordered}
            for task in ordered:
                if task.running and task.key in self._cancelled:
                    task.status = "CANCELLING"

    def take(self, task: Task) -> None:
        """Notes that this node works on a task."""
        if self._mine is not None:
            self._mine.add(task.arn)

    def leave(self, task: Task) -> None:
        """Notes that another node works on a task, or that it has ended."""
        if self._mine is not None:
            self._mine.discard(task.arn)

    def _is_mine(self, task: Task) -> bool:
        return self._mine is None or task.arn in self._mine

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
        """Adds a new task in memory; the caller saves it."""
        self._tasks[task.arn] = task

    def batch(self, task: Task) -> Batch:
        """Returns the write that stores a task as it is now."""
        return self._rows.batch([(task.key, orjson.dumps(asdict(task)))])

    async def save(self, task: Task) -> None:
        await self._rows.commit(self.batch(task))

    async def cancel(self, task: Task) -> None:
        """Asks the job of a task to end it."""
        task.status = "CANCELLING"
        if self._is_mine(task):
            await self.save(task)
        else:  # only the node that runs it writes its row
            await self._rows.commit(self._rows.batch([(_CANCELLED + task.key, b"true")]))

    async def reload(self, task: Task) -> None:
        """Resets a task to its last commit, after a failed step that may have changed its counts.

        Its status stays, because a client may be changing it.
        """
        (row,) = await self._store.get(EXCHANGE_PART, (task.key,))
        if row is not None:
            stored = orjson.loads(row[1])
            task.shown, task.progress = stored["shown"], stored["progress"]

    async def end(self, task: Task, status: str, code: str | None = None, message: str | None = None) -> None:
        task.status = status
        task.ended_ns = self._clock.now_ns()
        if code is not None:
            task.shown |= {"FailureCode": code, "FailureMessage": message}
        batch = self.batch(task)
        if task.key in self._cancelled:
            self._cancelled.discard(task.key)
            batch.deletes.append(_CANCELLED + task.key)
        await self._rows.commit(batch)

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
        for task in old[:DELETED_PER_STEP]:
            self._tasks.pop(task.arn)
        await self._rows.commit(self._rows.batch([], [task.key for task in old[:DELETED_PER_STEP]]))
        return True

    async def drop_all(self) -> None:
        """Deletes all tasks, running or not."""
        keys = [task.key for task in self._tasks.values()]
        self._tasks.clear()
        if keys:
            await self._rows.commit(self._rows.batch([], keys))


def fingerprint(request: dict[str, Any]) -> str:
    """Returns a hash of the parameters that must be the same when a token is used again."""
    rest = {name: value for name, value in request.items() if name != "ClientToken"}
    return sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()
