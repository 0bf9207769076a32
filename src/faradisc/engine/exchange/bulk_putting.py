"""StartBulkPutItems's job: puts the records of objects into a table that is in use.

Each record is a PutItem on the common write path (engine/tables/writes.py): its condition is tested against
the existing item, and streams, history and indexes are updated. It consumes no throughput: a bulk operation
is measured in bytes and limited by its own MaxWriteRequestUnits. The records of a step with different keys
are one commit together with the progress, so each record is put once, also after a crash.

Results of single records are written to two files, which are moved to the output bucket at the end:

    <prefix>/<id>/errors.jsonl                     records that are not items
    <prefix>/<id>/condition_check_failures.jsonl   items whose condition was false, and the existing items

Assumed: the names and lines of these files, and that records before the damage of an object are written; the
model says that a failed operation may have written items.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from faradisc.clock import Clock
from faradisc.engine.exchange.bulk_outputs import Outputs, output_directory
from faradisc.engine.exchange.checking import checked_item
from faradisc.engine.exchange.intake import Intake, Step
from faradisc.engine.exchange.object_reader import InputFormat
from faradisc.engine.exchange.task_store import FAILED, Task, TaskStore
from faradisc.engine.formats.json_lines import Malformed
from faradisc.engine.objects.api import BucketError, ObjectStorage, access_of
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.change import Change, ConditionFailed, Outcome, evaluate
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.images import read_images
from faradisc.engine.tables.table import Table
from faradisc.errors import (
    ItemCollectionSizeLimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.language.expressions import Condition, bind_condition
from faradisc.language.expressions.clauses import placeholders_of
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.values.checks import Wording, check_value
from faradisc.model.values.parameters import Parameters
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.engine.exchange")

_SECOND_NS = 1_000_000_000
_JSON_TYPES: dict[str, type] = {
    "ConditionExpression": str,
    "ExpressionAttributeNames": dict,
    "ExpressionAttributeValues": dict,
}
Numbered = tuple[int, Change]
"""Position among the records of a step, and the put."""
Rejection = tuple[int, Exception]
"""Position among the records of a step, and the reason why there is no put."""


def change_of(record: dict[str, Any], table: Table) -> Change:
    """Returns the put of a record. Raises ValidationException."""
    item = record.get("Item")
    if item is None:
        raise ValidationException("The record has no Item")
    checked_item(item, table)
    return Change(table, item, item, _condition(record))


def _condition(record: dict[str, Any]) -> Condition | None:
    for member, kind in _JSON_TYPES.items():
        if member in record and type(record[member]) is not kind:
            raise ValidationException(f"{member} has the wrong JSON type")
    names, values = record.get("ExpressionAttributeNames"), record.get("ExpressionAttributeValues")
    if not all(type(name) is str for name in (names or {}).values()):
        raise ValidationException("ExpressionAttributeNames has the wrong JSON type")
    for value in (values or {}).values():
        if type(value) is not dict:
            raise ValidationException("ExpressionAttributeValues has the wrong JSON type")
        try:
            check_value(value, Wording.NEW)
        except (TypeError, ValueError, AttributeError):
            raise ValidationException("ExpressionAttributeValues has the wrong JSON type") from None
    parameters = Parameters("StartBulkPutItems", record, values_ok=True)
    placeholders = placeholders_of(parameters, record, ("ConditionExpression",))
    if "ConditionExpression" not in record:
        return None
    condition = bind_condition(record["ConditionExpression"], "ConditionExpression", placeholders)
    placeholders.check_all_used()
    return condition


class _Run:
    """One bulk operation in this process."""

    def __init__(
        self,
        task: Task,
        tasks: TaskStore,
        table: Table,
        storage: ObjectStorage,
        outputs: Outputs,
        *,
        sealers: Sealers,
    ) -> None:
        self.task = task
        self._tasks = tasks
        self.table = table
        self.outputs = outputs
        given = task.shown["InputS3Configuration"]
        self._bucket: str = given["S3Bucket"]
        source = InputFormat(given["InputFormat"], given.get("InputCompressionType", "NONE"))
        location = (self._bucket, given.get("S3KeyPrefix", ""))
        self.intake = Intake(
            storage.opened(access_of(given)), location, source, table, task.progress, sealers=sealers
        )
        self.units = 0
        """Write units of the last step."""

    async def put(self, store: Store, step: Step) -> None:
        """Writes the records of a step, in one commit for each run of records with different keys."""
        self.units = 0
        progress, shown = self.task.progress, self.task.shown
        changes, rejections = self._changes(step)
        before, ended = progress.get("processed", 0), progress["ended"]
        shown["ProcessedInputBytes"] = self.intake.bytes_read
        if self.intake.total_bytes is not None:
            shown["TotalInputBytes"] = self.intake.total_bytes
        groups = deque(_groups(changes) or [[]])
        while groups:
            group = groups.popleft()
            until = groups[0][0][0] if groups else step.count
            progress["records"] = step.first + until
            progress["ended"] = ended and not groups
            progress["processed"] = shown["ProcessedItemCount"] = before + until
            rejected = [(position, error) for position, error in rejections if position < until]
            try:
                await self._commit(store, step, group, rejected)
            except ItemCollectionSizeLimitExceededException as error:
                if len(group) > 1:  # one by one, to find those that do not fit
                    groups.extendleft([each] for each in reversed(group))
                    continue
                await self._commit(store, step, [], [*rejected, (group[0][0], error)])
            del rejections[: len(rejected)]

    def _changes(self, step: Step) -> tuple[list[Numbered], list[Rejection]]:
        changes: list[Numbered] = []
        rejections: list[Rejection] = []
        for position, record in enumerate(step.records):
            try:
                if type(record) is Malformed:
                    raise ValidationException(record.reason)
                changes.append((position, change_of(record, self.table)))
            except ValidationException as error:
                rejections.append((position, error))
        return changes, rejections

    async def _commit(
        self, store: Store, step: Step, group: list[Numbered], rejections: list[Rejection]
    ) -> None:
        """Commits the puts of a group with the progress, and logs and counts failed records.

        After a failed commit the logs and counts are restored.
        Raises ItemCollectionSizeLimitExceededException.
        """
        shown, lengths = self.task.shown, self.outputs.lengths()
        used, units, count = shown["BulkOperationUsage"], self.units, shown["FailedItemCount"]

        def restore() -> None:
            shown["BulkOperationUsage"], self.units, shown["FailedItemCount"] = used, units, count
            self.outputs.truncate(lengths)

        committed = False
        while not committed:
            for position, error in rejections:
                self._reject(step, position, error)
            images = await read_images(store, [change for _, change in group])
            outcomes = []
            for (position, change), image in zip(group, images, strict=True):
                try:
                    outcomes.append(evaluate(change, image))
                except ConditionFailed as failed:
                    self._report_failure(step, position, failed)
            self._add_usage(outcomes)
            self.outputs.write()
            try:
                committed = await commit_outcomes(store, outcomes, also=self._tasks.batch(self.task))
            except ItemCollectionSizeLimitExceededException:
                restore()
                raise
            if not committed:
                restore()

    def _pointer(self, step: Step, position: int) -> dict[str, Any]:
        pointer = {"bucket": self._bucket, "key": step.key, "itemIndex": step.first + position}
        return {"itemS3Pointer": pointer, "bulkOperationArn": self.task.arn}

    def _reject(self, step: Step, position: int, error: Exception) -> None:
        self.task.shown["FailedItemCount"] += 1
        output = self.outputs.of("ERROR")
        if output is not None:
            output.add({**self._pointer(step, position), "errorMessages": [str(error)]})

    def _report_failure(self, step: Step, position: int, failed: ConditionFailed) -> None:
        output = self.outputs.of("CONDITION_CHECK_FAILURE")
        if output is not None:
            existing = {"ExistingItem": failed.image.item} if failed.image.exists else {}
            output.add({**self._pointer(step, position), "Item": failed.change.key, **existing})

    def _add_usage(self, outcomes: list[Outcome]) -> None:
        """Adds the bytes of some puts to the usage."""
        (usage,) = self.task.shown["BulkOperationUsage"]
        of: dict[str, dict[str, dict[str, int]]] = {
            kind: {name: dict(each) for name, each in usage.get(kind, {}).items()}
            for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes")
        }
        table = usage["Table"]["BulkPutBytes"]
        for outcome in outcomes:
            table += outcome.new_size
            self.units += outcome.write_units
            for entry in outcome.entries:
                schema = entry.index.schema
                if entry.index.vectors is not None:
                    vectors = of["VectorIndexes"].setdefault(schema.name, {"BulkPutVectorBytes": 0})
                    vectors["BulkPutVectorBytes"] += entry.write_units
                    continue
                self.units += entry.write_units
                kind = "GlobalSecondaryIndexes" if schema.is_global else "LocalSecondaryIndexes"
                entries = of[kind].setdefault(schema.name, {"BulkPutBytes": 0})
                entries["BulkPutBytes"] += max(entry.new_bytes - STORAGE_OVERHEAD_BYTES, 0)
        indexed = [of["LocalSecondaryIndexes"], of["GlobalSecondaryIndexes"]]
        total = table + sum(
            each["BulkPutBytes"] for sums_by_name in indexed for each in sums_by_name.values()
        )
        named = {"TableName": usage["TableName"], "BulkPutBytes": total, "Table": {"BulkPutBytes": table}}
        self.task.shown["BulkOperationUsage"] = [
            {**named, **{kind: sums for kind, sums in of.items() if sums}}
        ]


def _groups(changes: Iterable[Numbered]) -> list[list[Numbered]]:
    """Returns runs of consecutive changes of different items."""
    groups: list[list[Numbered]] = []
    keys: set[bytes] = set()
    for each in changes:
        row_key = each[1].row_key
        if not groups or row_key in keys:
            groups.append([])
            keys.clear()
        groups[-1].append(each)
        keys.add(row_key)
    return groups


class BulkPutting:
    """The bulk operations of one database, one after another."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        tasks: TaskStore,
        storage: ObjectStorage,
        logs: Path,
        *,
        clock: Clock,
        yield_control: Callable[[], Awaitable[None]],
    ) -> None:
        """yield_control: lets others run in the middle of a long step."""
        self._store = store
        self._catalog = catalog
        self._tasks = tasks
        self._storage = storage
        self._logs = logs
        self._clock = clock
        self._yield_control = yield_control
        self._run: _Run | None = None
        self._next_ns = 0
        """Time of the next step by MaxWriteRequestUnits."""

    async def step(self, task: Task) -> bool:
        """Does one bounded step of an operation. Returns False when it has to wait."""
        if task.status == "IN_PROGRESS" and self._clock.now_ns() < self._next_ns:
            return False
        table = self._table_of(task)
        if table is None:
            await self._end(
                task, "FAILED", "TableNotFound", "The table was deleted during the bulk operation"
            )
            return True
        run = self._run
        if run is None or run.task is not task:
            self.close()
            run = self._run = _Run(
                task,
                self._tasks,
                table,
                self._storage,
                self._outputs_of(task),
                sealers=self._catalog.sealers,
            )
        if task.status == "CANCELLING":
            await self._end(task, "CANCELLED", "Cancelled", "The bulk operation was cancelled")
            return True
        step = await run.intake.step()
        table = self._table_of(task)
        if table is None:
            return True  # deleted during a wait for a bucket; the next step ends the task
        run.table = table
        if step is not None:
            await run.put(self._store, step)
            self._delay(task, run.units)
        elif run.intake.done:
            await self._end(task, "COMPLETED_WITH_ERRORS" if task.shown["FailedItemCount"] else "COMPLETED")
        return True

    def _delay(self, task: Task, units: int) -> None:
        """Delays the next step by the time in which MaxWriteRequestUnits allow the units just written."""
        most = task.shown.get("MaxWriteRequestUnits")
        if most is not None:
            now = self._clock.now_ns()
            self._next_ns = max(self._next_ns, now) + units * _SECOND_NS // most

    async def _end(
        self, task: Task, status: str, code: str | None = None, message: str | None = None
    ) -> None:
        run = self._run
        outputs = run.outputs if run is not None and run.task is task else self._outputs_of(task)
        try:
            await outputs.deliver()
        except (BucketError, OSError) as error:
            self._log_undelivered(task, error)
            if code is None:
                code = error.code if isinstance(error, BucketError) else FAILED
                status, message = "FAILED", str(error)
        await self._close(task, status, code, message)

    async def fail(self, task: Task, code: str, message: str) -> None:
        """Ends an operation as failed, even when its outputs cannot be delivered. Committed puts stay."""
        try:
            await self._outputs_of(task).deliver()
        except Exception as error:  # delivering may be what failed before
            self._log_undelivered(task, error)
        await self._close(task, "FAILED", code, message)

    def _outputs_of(self, task: Task) -> Outputs:
        return Outputs(task, self._storage, self._logs, self._yield_control)

    def _log_undelivered(self, task: Task, error: Exception) -> None:
        directory = output_directory(self._logs, task)
        log.error("%s: its output files stay in %s: %s", task.arn, directory, error)

    async def _close(self, task: Task, status: str, code: str | None, message: str | None) -> None:
        self.close()
        task.progress.clear()
        self._next_ns = 0
        await self._tasks.end(task, status, code, message)
        log.info("bulk operation %s: %s", task.arn, status)

    def _table_of(self, task: Task) -> Table | None:
        try:
            table = self._catalog.tables.for_data(task.table_arn, "", "")
        except ResourceNotFoundException:
            return None
        return table if table.state.table_id == task.shown["TableDetails"][0]["TableId"] else None

    def close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.intake.close()
