"""StartBulkPutItems, DescribeBulkOperation, ListBulkOperations and CancelBulkOperation."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import BULK, Task
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.errors import (
    IdempotentParameterMismatchException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.limits import BULK_OPERATIONS_RUNNING_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.echo import BULK_INPUT, BULK_OUTPUT, echoed
from faradisc.operations.exchanges import (
    begin,
    begun_before,
    check_encryption,
    check_libraries,
    check_running,
    describe,
    locations_of,
    names_of,
    page_of,
)

_PAGE = 10


async def start_bulk_put_items(backend: Backend, call: Call) -> dict[str, Any]:
    """Starts to put every record of the objects of a bucket into an existing table.

    Checks: object storage exists -> client token -> output bucket, libraries, encryption -> table -> no
    other bulk operation of the table. The job does the rest (engine/exchange/bulk_putting.py).

    Source: new-features.md section 14. Assumed: the allowed states of the table, and the texts.
    """
    request = call.request
    locations = locations_of(backend)
    before = begun_before(backend, call, BULK, IdempotentParameterMismatchException)
    if before is not None:
        return {"BulkOperationDescription": describe(before)}
    given = echoed(request["InputS3Configuration"], BULK_INPUT)
    output = echoed(request["OutputS3Configuration"], BULK_OUTPUT)
    if "S3Bucket" not in output:
        raise ValidationException("OutputS3Configuration.S3Bucket is required")
    if len(set(output["OutputType"])) != len(output["OutputType"]) or not output["OutputType"]:
        raise ValidationException("OutputS3Configuration.OutputType must name each type at most once")
    check_libraries(given["InputFormat"], given.get("InputCompressionType", "NONE"))
    check_encryption(locations, output)
    table = backend.table_for_data(call, request["TableName"])
    if ReplicaGroup.of(table.state) is not None:
        raise ValidationException(f"Bulk operations are not supported for Global Tables: {table.name}")
    if table.changing_index is not None:
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being updated: {table.name}"
        )
    if any(task.table_arn == table.arn for task in backend.exchange.tasks.running(BULK)):
        raise ResourceInUseException(f"A bulk operation of the table is in progress: {table.name}")
    check_running(backend, BULK, BULK_OPERATIONS_RUNNING_MAX)
    shown: dict[str, Any] = {
        "TableDetails": [{"TableName": table.arn, "TableId": table.state.table_id}],
        "InputS3Configuration": given,
        "OutputS3Configuration": output,
        "PerformanceTier": request.get("PerformanceTier", "STANDARD"),
        "ProcessedItemCount": 0,
        "ProcessedInputBytes": 0,
        "FailedItemCount": 0,
        "BulkOperationUsage": [
            {"TableName": table.arn, "BulkPutBytes": 0, "Table": {"BulkPutBytes": 0}},
        ],
    }
    if "MaxWriteRequestUnits" in request:
        shown["MaxWriteRequestUnits"] = request["MaxWriteRequestUnits"]
    task = await begin(backend, call, BULK, table.arn, shown)
    return {"BulkOperationDescription": describe(task)}


async def describe_bulk_operation(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the progress or result of a bulk operation."""
    return {"BulkOperationDescription": describe(_task_of(backend, call))}


def _task_of(backend: Backend, call: Call) -> Task:
    """Raises ResourceNotFoundException."""
    arn = call.request["BulkOperationArn"]
    task = backend.exchange.tasks.find(BULK, arn)
    if task is None:
        raise ResourceNotFoundException(f"Requested resource not found: Bulk operation: {arn} not found")
    return task


async def list_bulk_operations(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the bulk operations of the last 90 days, newest first."""
    page, more = page_of(backend, call, BULK, call.request.get("MaxResults", _PAGE))
    return {"BulkOperationsSummaryList": [{**names_of(task), **task.times()} for task in page], **more}


async def cancel_bulk_operation(backend: Backend, call: Call) -> dict[str, Any]:
    """Stops a bulk operation; what it has written stays.

    Assumed: an operation that has ended is rejected.
    """
    task = _task_of(backend, call)
    if not task.running:
        raise ValidationException(f"The bulk operation is not in progress, its status is {task.status}")
    await backend.exchange.tasks.cancel(task)
    return names_of(task)
