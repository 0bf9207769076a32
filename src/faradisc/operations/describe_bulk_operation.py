"""DescribeBulkOperation: progress or result of a bulk operation."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import BULK, Task
from faradisc.errors import ResourceNotFoundException
from faradisc.operations.call import Backend, Call
from faradisc.operations.start_bulk_put_items import describe


async def describe_bulk_operation(backend: Backend, call: Call) -> dict[str, Any]:
    return {"BulkOperationDescription": describe(task_of(backend, call))}


def task_of(backend: Backend, call: Call) -> Task:
    """Raises ResourceNotFoundException."""
    arn = call.request["BulkOperationArn"]
    task = backend.exchange.tasks.find(BULK, arn)
    if task is None:
        raise ResourceNotFoundException(f"Requested resource not found: Bulk operation: {arn} not found")
    return task
