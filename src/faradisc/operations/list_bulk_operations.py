"""ListBulkOperations: the bulk operations of the last 90 days, newest first."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import BULK
from faradisc.operations.call import Backend, Call
from faradisc.operations.exchanges import page_of

_PAGE = 10


async def list_bulk_operations(backend: Backend, call: Call) -> dict[str, Any]:
    page, token = page_of(backend, call, BULK, call.request.get("MaxResults", _PAGE))
    summaries = [
        {"BulkOperationArn": task.arn, "BulkOperationStatus": task.status, **task.times()} for task in page
    ]
    return {"BulkOperationsSummaryList": summaries, **({"NextToken": token} if token is not None else {})}
