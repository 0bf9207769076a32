"""ImportTable's job: loads objects into a new table, which becomes visible when it is complete.

Until the last record is stored the import owns the table (`owner_job`): requests neither read nor write it. A
page of records with index entries and counters is one commit (engine/tables/loading.py). The last commit of
each step contains the progress, so after a crash the import continues after a stored step. These commits are
not durable: that may be some steps back, and the steps after it are stored again. Everything is on disk
before the import is COMPLETED.

An import fails, and its table is deleted, when an object is truncated or altered, or an object or bucket
cannot be read. Records that are not items are counted, listed in the error log and skipped; after one that
cannot be parsed the import goes on with the next object.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from faradisc.engine.exchange.checking import checked_item
from faradisc.engine.exchange.error_log import ErrorLog
from faradisc.engine.exchange.intake import Intake, Step
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.exchange.object_reader import InputFormat, Record
from faradisc.engine.exchange.task_store import IMPORT, Task, TaskStore
from faradisc.engine.formats.json_lines import Malformed
from faradisc.engine.objects.api import access_of
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.loading import LoadedRow, Novelty, load_rows, row_of
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException, ValidationException
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.engine.exchange")

OWNER_JOB = "import"
DURABLE_AFTER = 4
"""Steps of a process until it first flushes what it has loaded; each further interval is longer by this
factor. So an import advances despite frequent crashes, and a long one flushes rarely. See
docs/decisions/0013-commits-without-the-log.md."""
STARTING_NS = 60_000_000_000
"""Longest time between the commits of an import's table and of its task."""
PAGE_ROWS = 200
"""Rows in one commit: few enough to be made and stored while they are in the processor's cache."""
DAMAGED, GONE, INVALID_ITEMS = "InputDamaged", "TableNotFound", "ItemValidationError"


def pages_of(
    records: Iterable[Record],
    table: Table,
    rejected: Callable[[int, str], None],
    transform: Callable[[Item], Item] | None = None,
) -> Iterator[list[LoadedRow]]:
    """Yields the items among records as stored rows, PAGE_ROWS at a time; the last page may be empty.

    rejected: called with the position and the reason of each record that is not an item.
    """
    page: list[LoadedRow] = []
    for position, each in enumerate(records):
        try:
            page.append(_row(each, table, transform))
        except ValidationException as error:
            rejected(position, str(error.message))
        if len(page) == PAGE_ROWS:
            yield page
            page = []
    yield page


def _row(record: Record, table: Table, transform: Callable[[Item], Item] | None) -> LoadedRow:
    """Returns the stored row of one record. Raises ValidationException with the reason why it is no item."""
    if type(record) is Malformed:
        raise ValidationException(record.reason)
    item = record.get("Item")
    if item is None:
        raise ValidationException("The record has no Item")
    size = checked_item(item, table)
    if transform is not None:
        item = transform(item)
        size = checked_item(item, table)
    return row_of(table, item, size)


class _Run:
    """One import in this process."""

    def __init__(
        self,
        task: Task,
        tasks: TaskStore,
        table: Table,
        locations: Locations,
        *,
        is_first: bool,
        sealers: Sealers,
    ) -> None:
        """is_first: the table is still empty."""
        shown, progress = task.shown, task.progress
        self.task = task
        self._tasks = tasks
        self.table = table
        self._novelty = Novelty() if is_first else None
        self._steps = 0
        self._durable_at = DURABLE_AFTER
        self._transform = locations.transform
        place = shown["S3BucketSource"]
        storage = locations.storage.opened(access_of(place))
        self.bucket: str = place["S3Bucket"]
        self.intake = Intake(
            storage,
            (self.bucket, place.get("S3KeyPrefix", "")),
            source_of(shown),
            table,
            progress,
            sealers=sealers,
            skips_unparsed=True,  # errors.md section 6.10
        )
        self.errors = ErrorLog(
            locations.logs / "aws-dynamodb" / "imports" / task.id / "error",
            progress.get("log_bytes", 0),
            progress.get("log_lines", 0),
        )

    async def load(self, store: Store, step: Step) -> None:
        """Stores the items of a step; the last commit contains the progress."""
        task = self.task

        def rejected(position: int, reason: str) -> None:
            pointer = {"bucket": self.bucket, "key": step.key, "itemIndex": step.first + position}
            self.errors.add({"itemS3Pointer": pointer, "importArn": task.arn, "errorMessages": [reason]})

        imported = 0
        page: list[LoadedRow] = []
        for following in pages_of(step.records, self.table, rejected, self._transform):
            if page:
                await load_rows(store, self.table, page, novelty=self._novelty)
            page = following
            imported += len(page)
        task.progress["log_bytes"], task.progress["log_lines"] = self.errors.write()
        shown = task.shown
        shown["ProcessedSizeBytes"] = self.intake.bytes_read
        shown["ProcessedItemCount"] += step.count
        shown["ImportedItemCount"] += imported
        shown["ErrorCount"] += step.count - imported
        await load_rows(store, self.table, page, also=self._tasks.batch(task), novelty=self._novelty)
        self._steps += 1
        if self._steps == self._durable_at:
            self._durable_at *= DURABLE_AFTER
            await store.flush()


def source_of(shown: dict[str, Any]) -> InputFormat:
    """Returns how the objects of an ImportTable request are read."""
    options = shown.get("InputFormatOptions", {}).get("Csv", {})
    headers = options.get("HeaderList")
    return InputFormat(
        shown["InputFormat"],
        shown.get("InputCompressionType", "NONE"),
        options.get("Delimiter", ","),
        tuple(headers) if headers is not None else None,
    )


class Importing:
    """The imports of one database, one after another."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        tasks: TaskStore,
        locations: Locations,
        *,
        background_throttle: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._tasks = tasks
        self._locations = locations
        self._background_throttle = background_throttle
        self._run: _Run | None = None

    async def recover(self) -> None:
        """Deletes tables whose import was not stored, and ends imports whose tables are complete.

        Called before the first request, or now and then where nodes share a store; repairs a crash between
        two commits.
        """
        started = {task.shown["TableId"] for task in self._tasks.running(IMPORT)}
        # On another node a request may be between the two.
        before_ns = self._catalog.moments.now_ns() - (STARTING_NS if self._store.shared else 0)
        for table in self._catalog.tables.owned_by(OWNER_JOB):
            if table.state.table_id not in started and table.state.created_ns <= before_ns:
                await self._catalog.delete(table, while_in_use=True)
        if self._store.shared:
            return  # who has the lease of an import ends it
        for task in [each for each in self._tasks.running(IMPORT) if each.progress.get("done")]:
            if self._table_of(task) is None and "failed" not in task.progress:
                await self._end(task)

    async def step(self, task: Task) -> None:
        """Does one bounded step of an import."""
        if "failed" in task.progress:  # a crash came while the table was being deleted
            await self.fail(task, *task.progress["failed"])
            return
        table = self._table_of(task)
        if table is None:
            if task.progress.get("done"):  # a crash came between the table's commit and the task's
                await self._end(task)
            else:
                await self.fail(task, GONE, "The table was deleted while it was being imported")
            return
        run = self._run
        if run is None or run.task is not task:
            self.close()
            parts = table.placement.parts
            is_first = not any([any(await self._store.usage(part)) for part in parts])
            run = self._run = _Run(
                task,
                self._tasks,
                table,
                self._locations,
                is_first=is_first,
                sealers=self._catalog.sealers,
            )
        run.table = table
        step = await run.intake.step()
        if self._table_of(task) is not table:
            return  # deleted during a wait for a bucket; the next step ends the task
        if step is not None:
            await run.load(self._store, step)
            await self._background_throttle()
        elif run.intake.done:
            await self._complete(task, table)

    async def _complete(self, task: Task, table: Table) -> None:
        await self._store.flush()  # all of its items; from here on a crash must not take any
        await self._tasks.save(task)  # stores `done` before the table becomes visible and can be deleted
        await self._catalog.filled(table)
        await self._end(task)
        log.info("import %s: %d items", task.arn, task.shown["ImportedItemCount"])
        self.close()

    async def _end(self, task: Task) -> None:
        """Ends an import whose table is complete: as failed if some of its records were no items.

        Assumed: the message.
        """
        if task.shown["ErrorCount"]:
            message = (
                "Some of the items failed validation checks and were not imported. "
                "Please check CloudWatch error logs for more details."
            )
            await self._tasks.end(task, "FAILED", INVALID_ITEMS, message)
        else:
            await self._tasks.end(task, "COMPLETED")

    async def fail(self, task: Task, code: str, message: str) -> None:
        """Ends an import as failed and deletes its table."""
        self.close()
        table = self._table_of(task)
        if table is not None:
            task.progress["failed"] = [code, message]
            await self._tasks.save(task)  # stores the reason before the table is deleted
            try:
                await self._catalog.delete(table, while_in_use=True)
            except ResourceNotFoundException:
                log.info("the table of import %s was deleted", task.arn)
        await self._tasks.end(task, "FAILED", code, message)
        log.warning("import %s has failed: %s: %s", task.arn, code, message)

    def _table_of(self, task: Task) -> Table | None:
        for table in self._catalog.tables.owned_by(OWNER_JOB):
            if table.state.table_id == task.shown["TableId"]:
                return table
        return None

    def close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.intake.close()
