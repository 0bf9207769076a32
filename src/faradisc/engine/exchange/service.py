"""The exports, imports and bulk puts of a database, and the steps of their jobs.

The modules of the jobs are imported with the first task of their kind: a server without tasks starts without
them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol

from faradisc.clock import Clock, Entropy
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.exchange.task_store import BULK, EXPORT, FAILED, IMPORT, Task, TaskFailed, TaskStore
from faradisc.engine.formats.compression import InputDamaged, Unavailable
from faradisc.engine.jobs.runner import Attempts, Work
from faradisc.engine.objects.api import BucketError
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.table import Table
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.engine.exchange.importing import Importing


RECOVER_EVERY_NS = 60_000_000_000
"""How often a server of several looks for tables whose import was not stored."""


class Exchange(Protocol):
    """Exports, imports or bulk puts, one after another."""

    async def step(self, task: Task) -> bool | None:
        """Does one bounded step of a task. Returns False when it has to wait."""
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
        self._recovery_due_ns = 0
        self._jobs: dict[str, Exchange] = {}
        self.attempts = {kind: Attempts(clock, one_at_a_time=True) for kind in (EXPORT, IMPORT, BULK)}

    async def load(self) -> None:
        await self.tasks.load()
        if not self._store.shared:
            await self._recover()

    async def _recover(self) -> None:
        self._recovery_due_ns = self._clock.now_ns() + RECOVER_EVERY_NS
        if self.locations is not None:
            done = any(task.progress.get("done") for task in self.tasks.running(IMPORT))
            if done or self._catalog.tables.owned_by("import"):
                await self._importer(self.locations).recover()

    async def step(self) -> bool:
        """Does one bounded step of every kind of task. Returns False when there was none.

        Raises StorageError.
        """
        busy = False
        for kind, attempts in self.attempts.items() if self.locations is not None else ():
            busy = await attempts.step(self._works(kind)) or busy
        return await self.tasks.forget_old() or busy

    def _works(self, kind: str) -> Iterator[Work]:
        """Yields the running tasks of a kind, oldest first."""
        if kind == IMPORT and self._store.shared and self._clock.now_ns() >= self._recovery_due_ns:
            yield Work("recovery", self._recover)
        yield from map(self._work, list(self.tasks.running(kind)))

    def _work(self, task: Task) -> Work:
        job = self._job(task.kind)

        async def taken() -> None:
            await self.tasks.follow()
            self.tasks.take(task)
            await self.tasks.reload(task)

        async def lost() -> None:
            self.tasks.leave(task)
            if task.running:  # or it has closed its files, and they are another one's
                job.close()

        async def undo() -> None:
            job.close()
            await self.tasks.reload(task)

        async def give_up(error: Exception) -> None:
            if task.running:
                code = error.code if isinstance(error, BucketError | TaskFailed) else FAILED
                await job.fail(task, "InputDamaged" if isinstance(error, InputDamaged) else code, str(error))

        hopeless = (TaskFailed, BucketError, InputDamaged, Unavailable, KeyDenied, OSError)
        step = partial(job.step, task)
        return Work(task.arn, step, give_up, undo, hopeless, taken, lost, stays=True)

    def _job(self, kind: str) -> Exchange:
        if kind not in self._jobs:
            self._jobs[kind] = self._create_job(kind)
        return self._jobs[kind]

    def _create_job(self, kind: str) -> Exchange:
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
        await self.tasks.drop_all()

    def close(self) -> None:
        """Releases the files of running jobs; they continue when the database is opened again."""
        for job in self._jobs.values():
            job.close()
