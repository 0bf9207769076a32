"""Where exports, imports and bulk puts are asked for, and where their jobs get their turns.

The jobs' modules are imported when the first of their kind has something to do: a server that exchanges
nothing starts without them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from faradisc.clock import Clock, Entropy
from faradisc.engine.exchange.buckets import Buckets, DirectoryBuckets
from faradisc.engine.exchange.ledger import BULK, EXPORT, FAILED, IMPORT, Ledger, Task
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.table import Table
from faradisc.errors import StorageError
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.engine.exchange.importing import Importing

log = logging.getLogger("faradisc.engine.exchange")

TRIES = 3
"""Steps of one task that may end in an error nobody foresaw; with the last of them the task has failed."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where data comes from and goes to."""

    buckets: Buckets
    logs: Path
    """Directory of the error logs; made when there is something to write."""
    transform: Callable[[Item], Item] | None = None
    """What becomes of every item on its way into a new table; `faradisc import` masks with it."""


class Job(Protocol):
    async def step(self) -> bool:
        """A bounded piece of the oldest task. False when there is none."""
        ...

    async def fail(self, task: Task, code: str, message: str) -> None:
        """End a task that cannot go on, and take away what it has left half done."""
        ...

    def close(self) -> None:
        """Release what a task under way holds; it goes on later."""
        ...


def directories(root: Path | str | PathLike[str], logs: Path | None) -> Places:
    """Buckets that are directories under `root`. Without a place for logs they lie there too."""
    root = Path(root).absolute()
    return Places(DirectoryBuckets(root), logs.absolute() if logs is not None else root / ".logs")


class Exchange:
    """Of one database. Without places nothing can be begun."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        clock: Clock,
        entropy: Entropy,
        places: Places | None,
        *,
        yield_control: Callable[[], Awaitable[None]],
        background_throttle: Callable[[], Awaitable[None]],
    ) -> None:
        """yield_control: lets requests run in the middle of a long step. background_throttle: called after a
        step that has not waited for the disk; leaves requests a share of the time."""
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._yield_control = yield_control
        self._background_throttle = background_throttle
        self.places = places
        self.ledger = Ledger(store, clock, entropy)
        self._jobs: dict[str, Job] = {}
        self._failures: dict[str, int] = {}
        """Of steps, in errors nobody foresaw, by the ARN of a running task."""
        self._stale: set[str] = set()
        """ARNs of tasks to be read again: a step has failed, perhaps between counting and committing."""

    async def load(self) -> None:
        await self.ledger.load()
        if self.places is not None:
            done = any(task.progress.get("done") for task in self.ledger.running(IMPORT))
            if done or self._catalog.owned_by("import"):
                await self._importer(self.places).recover()

    async def step(self) -> bool:
        """A bounded piece of every kind of work. False when there is none. Raises: StorageError."""
        busy = False
        for task in self._due():
            busy = await self._advance(self._job(task.kind), task) or busy
        return await self.ledger.forget_old() or busy

    def _due(self) -> Iterator[Task]:
        """The oldest task of every kind: the one that its job goes on with."""
        if self.places is not None:
            for kind in (EXPORT, IMPORT, BULK):
                yield from islice(self.ledger.running(kind), 1)

    async def _advance(self, job: Job, task: Task) -> bool:
        """A step of a job, which may fail: then the next one begins where the last commit was.

        What the store refuses is raised: nobody here is to blame, and a store that has failed takes no writes
        until it is opened again. Anything else is an error of ours, and must not keep other tasks waiting for
        one that never ends.
        """
        try:
            if task.arn in self._stale:
                await self.ledger.reload(task)
                self._stale.remove(task.arn)
            busy = await job.step()
        except StorageError:
            self._let_go(job, task)
            raise
        except Exception as error:
            self._let_go(job, task)
            await self._count_failure(job, task, error)
            return True
        if not task.running:
            self._failures.pop(task.arn, None)
        return busy

    def _let_go(self, job: Job, task: Task) -> None:
        job.close()
        self._stale.add(task.arn)

    async def _count_failure(self, job: Job, task: Task, error: Exception) -> None:
        failures = self._failures.pop(task.arn, 0) + 1
        log.error("%s: failure %d of %d: %s", task.arn, failures, TRIES, error, exc_info=error)
        if failures < TRIES:
            self._failures[task.arn] = failures
            return
        await self.ledger.reload(task)
        self._stale.discard(task.arn)
        if task.running:
            what = f"An internal error ended it: {type(error).__name__}: {error}"
            await job.fail(task, FAILED, what)

    def _job(self, kind: str) -> Job:
        if kind not in self._jobs:
            self._jobs[kind] = self._made(kind)
        return self._jobs[kind]

    def _made(self, kind: str) -> Job:
        places = self.places
        assert places is not None
        if kind == EXPORT:
            from faradisc.engine.exchange.exporting import Exporting  # noqa: PLC0415 - only those that export

            return Exporting(self._store, self._catalog, self.ledger, places.buckets)
        if kind == BULK:
            from faradisc.engine.exchange.bulk_putting import BulkPutting  # noqa: PLC0415 - only those that put

            return BulkPutting(
                self._store,
                self._catalog,
                self.ledger,
                places.buckets,
                places.logs,
                clock=self._clock,
                yield_control=self._yield_control,
            )
        return self._importer(places)

    def _importer(self, places: Places) -> Importing:
        from faradisc.engine.exchange.importing import Importing  # noqa: PLC0415 - only those that import

        return Importing(
            self._store, self._catalog, self.ledger, places, background_throttle=self._background_throttle
        )

    def oldest_needed_ns(self, table: Table) -> int | None:
        """The oldest moment of this table that an export under way reads. An export that nobody goes on with,
        for want of a place to write to, keeps nothing."""
        if self.places is None:
            return None
        moments = [
            task.progress.get("from_ns", task.progress["to_ns"])
            for task in self.ledger.running(EXPORT)
            if task.shown["TableId"] == table.state.table_id
        ]
        return min(moments, default=None)

    async def drop_all(self) -> None:
        """Forget every task. Objects in buckets stay."""
        self.close()
        self._failures.clear()
        self._stale.clear()
        await self.ledger.drop_all()

    def close(self) -> None:
        """Release the files of jobs under way; they go on when the database is opened again."""
        for job in self._jobs.values():
            job.close()
