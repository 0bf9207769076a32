"""DescribeImport: progress or result of an import."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import IMPORT
from faradisc.errors import ImportNotFoundException
from faradisc.operations.call import Backend, Call
from faradisc.operations.import_table import describe


async def describe_import(backend: Backend, call: Call) -> dict[str, Any]:
    arn = call.request["ImportArn"]
    task = backend.exchange.tasks.find(IMPORT, arn)
    if task is None:
        raise ImportNotFoundException(f"Import not found: {arn}")
    return {"ImportTableDescription": describe(task)}
