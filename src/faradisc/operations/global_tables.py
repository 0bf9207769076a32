"""ListGlobalTables, DescribeGlobalTable and DescribeGlobalTableSettings.

Global tables are not supported. These requests are answered as by the service for an account without any;
operations that create or change global tables do not exist.
"""

from __future__ import annotations

from typing import Any

from faradisc.errors import GlobalTableNotFoundException
from faradisc.operations.call import Backend, Call


async def list_global_tables(backend: Backend, call: Call) -> dict[str, Any]:
    return {"GlobalTables": []}


async def describe_global_table(backend: Backend, call: Call) -> dict[str, Any]:
    raise GlobalTableNotFoundException(f"Global table not found: {_missing(call)}")


async def describe_global_table_settings(backend: Backend, call: Call) -> dict[str, Any]:
    raise GlobalTableNotFoundException(_missing(call))


def _missing(call: Call) -> str:
    return f"Global table with name: '{call.request['GlobalTableName']}' does not exist."
