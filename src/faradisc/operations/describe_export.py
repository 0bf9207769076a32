"""DescribeExport: progress or result of an export."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import EXPORT
from faradisc.errors import ExportNotFoundException
from faradisc.operations.call import Backend, Call
from faradisc.operations.export_table_to_point_in_time import describe


async def describe_export(backend: Backend, call: Call) -> dict[str, Any]:
    arn = call.request["ExportArn"]
    task = backend.exchange.tasks.find(EXPORT, arn)
    if task is None:
        raise ExportNotFoundException(f"Export not found: {arn}")
    return {"ExportDescription": describe(task)}
