"""CancelBulkOperation: stop a bulk operation; what it has written stays.

Assumed: an operation that has ended is rejected.
"""

from __future__ import annotations

from typing import Any

from faradisc.errors import ValidationException
from faradisc.operations.call import Backend, Call
from faradisc.operations.describe_bulk_operation import task_of


async def cancel_bulk_operation(backend: Backend, call: Call) -> dict[str, Any]:
    task = task_of(backend, call)
    if not task.running:
        raise ValidationException(f"The bulk operation is not in progress, its status is {task.status}")
    task.status = "CANCELLING"
    await backend.exchange.tasks.save(task)
    return {"BulkOperationArn": task.arn, "BulkOperationStatus": "CANCELLING"}
