"""ListExports: the exports of the last 90 days, newest first."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import EXPORT
from faradisc.operations.call import Backend, Call
from faradisc.operations.exchanges import PAGE_MAX, page_of


async def list_exports(backend: Backend, call: Call) -> dict[str, Any]:
    page, token = page_of(backend, call, EXPORT, call.request.get("MaxResults", PAGE_MAX))
    summaries = [
        {"ExportArn": task.arn, "ExportStatus": task.status, "ExportType": task.shown["ExportType"]}
        for task in page
    ]
    return {"ExportSummaries": summaries, **({"NextToken": token} if token is not None else {})}
