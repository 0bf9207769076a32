"""The exports, imports and bulk puts of a database, and the steps of their jobs.

The modules of the jobs are imported with the first task of their kind: a server without tasks starts without
them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from faradisc.clock import Clock, Entropy
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.exchange.task_store import BULK, EXPORT, FAILED, IMPORT, Task, TaskStore
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.table import Table
from faradisc.errors import StorageError
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.engine.exchange.importing import Importing

log = logging.getLogger("faradisc.engine.exchange")

TRIES = 3
"""Unexpected errors of one task, in steps that follow each other without success, after which it fails."""


class Job(Protocol):
    async def step(self) -> bool:
        """Does one bounded step of the oldest task. Returns False when there is none."""
        ...

    async def fail(self, task: Task, code: str, message: str) -> None:
        """Ends a task as failed and removes its incomplete results."""
        ...

    def close(self) -> None:
        """Releases the resources of the current task; it continues later."""
        ...


class ExchangeService:
    """The tasks of one database. Without locations no task can be started."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        clock: Clock,
        entropy: Entropy,
        locations: Locations | None,
        *,
        yield_control: Callable[[], Awaitable[None]],
        background_throttle: Callable[[], Awaitable[None]],
    ) -> None:
        """yield_control: lets requests run in the middle of a long step; background_throttle: leaves requests
        a share of the time after a step that has not waited for the disk."""
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self.yield_control = yield_control
        self._background_throttle = background_throttle
        self.locations = locations
        self.tasks = TaskStore(store, clock, entropy)
        self._jobs: dict[str, Job] = {}
        self.failures: dict[str, int] = {}
        """Unexpected errors by the ARN of a running task."""
        self.stale: set[str] = set()
        """ARNs of tasks to be reloaded: a step has failed, perhaps between counting and committing."""

    async def load(self) -> None:
        await self.tasks.load()
        if not self._store.shared:
            await self._recover()

    async def taken(self) -> None:
        """Begins to run the tasks on this node, from their last commits."""
        await self.tasks.follow()
        self.tasks.working = True
        for kind in (EXPORT, IMPORT, BULK):
            for task in list(self.tasks.running(kind)):
                await self.tasks.reload(task)
        await self._recover()

    async def lost(self) -> None:
        """Leaves the tasks to another node."""
        self.tasks.working = False
        self.close()

    async def _recover(self) -> None:
        if self.locations is not None:
            done = any(task.progress.get("done") for task in self.tasks.running(IMPORT))
            if done or self._catalog.owned_by("import"):
                await self._importer(self.locations).recover()

    async def step(self) -> bool:
        """Does one bounded step of every kind of task. Returns False when there was none.

        Raises StorageError.
        """
        busy = False
        for task in self._due():
            busy = await self._advance(self._job(task.kind), task) or busy
        return await self.tasks.forget_old() or busy

    def _due(self) -> Iterator[Task]:
        """Yields the oldest task of every kind, which is the one that its job works on."""
        if self.locations is not None:
            for kind in (EXPORT, IMPORT, BULK):
                yield from islice(self.tasks.running(kind), 1)

    async def _advance(self, job: Job, task: Task) -> bool:
        """Does one step of a job; after an error the next step starts at the last commit.

        Raises StorageError: a store that has failed accepts no writes until it is opened again. Any other
        unexpected error counts against the task, so that it cannot block the tasks after it forever.
        """
        try:
            if task.arn in self.stale:
                await self.tasks.reload(task)
                self.stale.remove(task.arn)
            busy = await job.step()
        except StorageError:
            self._release(job, task)
            raise
        except KeyDenied as denied:
            self._release(job, task)
            log.error("%s has ended: %s", task.arn, denied)
            await self._end(job, task, str(denied))
            return True
        except Exception as error:
            self._release(job, task)
            await self._count_failure(job, task, error)
            return True
        if not task.running:
            self.failures.pop(task.arn, None)
        return busy

    def _release(self, job: Job, task: Task) -> None:
        job.close()
        self.stale.add(task.arn)

    async def _count_failure(self, job: Job, task: Task, error: Exception) -> None:
        failures = self.failures.pop(task.arn, 0) + 1
        log.error("%s: failure %d of %d: %s", task.arn, failures, TRIES, error, exc_info=error)
        if failures < TRIES:
            self.failures[task.arn] = failures
            return
        await self._end(job, task, f"An internal error ended it: {type(error).__name__}: {error}")

    async def _end(self, job: Job, task: Task, message: str) -> None:
        await self.tasks.reload(task)
        self.stale.discard(task.arn)
        if task.running:
            await job.fail(task, FAILED, message)

    def _job(self, kind: str) -> Job:
        if kind not in self._jobs:
            self._jobs[kind] = self._create_job(kind)
        return self._jobs[kind]

    def _create_job(self, kind: str) -> Job:
        locations = self.locations
        assert locations is not None
        if kind == EXPORT:
            from faradisc.engine.exchange.exporting import Exporting  # noqa: PLC0415 - with the first export

            return Exporting(self._store, self._catalog, self.tasks, locations.storage)
        if kind == BULK:
            from faradisc.engine.exchange.bulk_putting import BulkPutting  # noqa: PLC0415 - with the first one

            return BulkPutting(
                self._store,
                self._catalog,
                self.tasks,
                locations.storage,
                locations.logs,
                clock=self._clock,
                yield_control=self.yield_control,
            )
        return self._importer(locations)

    def _importer(self, locations: Locations) -> Importing:
        from faradisc.engine.exchange.importing import Importing  # noqa: PLC0415 - with the first import

        return Importing(
            self._store, self._catalog, self.tasks, locations, background_throttle=self._background_throttle
        )

    def oldest_needed_ns(self, table: Table) -> int | None:
        """Returns the oldest moment of this table that a running export reads; None without one.

        Exports do not run without locations, and then retain no history.
        """
        if self.locations is None:
            return None
        moments = [
            task.progress.get("from_ns", task.progress["to_ns"])
            for task in self.tasks.running(EXPORT)
            if task.shown["TableId"] == table.state.table_id
        ]
        return min(moments, default=None)

    async def drop_all(self) -> None:
        """Deletes all tasks. Objects in buckets stay."""
        self.close()
        self.failures.clear()
        self.stale.clear()
        await self.tasks.drop_all()

    def close(self) -> None:
        """Releases the files of running jobs; they continue when the database is opened again."""
        for job in self._jobs.values():
            job.close()
