"""ListImports: the imports of the last 90 days, newest first."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import IMPORT, Task
from faradisc.operations.call import Backend, Call
from faradisc.operations.exchanges import PAGE_MAX, page_of


async def list_imports(backend: Backend, call: Call) -> dict[str, Any]:
    page, token = page_of(backend, call, IMPORT, call.request.get("PageSize", PAGE_MAX))
    more = {"NextToken": token} if token is not None else {}
    return {"ImportSummaryList": [_summary(task) for task in page], **more}


def _summary(task: Task) -> dict[str, Any]:
    return {
        "ImportArn": task.arn,
        "ImportStatus": task.status,
        "TableArn": task.table_arn,
        "S3BucketSource": task.shown["S3BucketSource"],
        "CloudWatchLogGroupArn": task.shown["CloudWatchLogGroupArn"],
        "InputFormat": task.shown["InputFormat"],
        **task.times(),
    }
