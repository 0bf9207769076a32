"""DescribeTable: a table, its settings and its state."""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.description import describe_table as describe
from faradisc.operations.call import Backend, Call


async def describe_table(backend: Backend, call: Call) -> dict[str, Any]:
    table = backend.catalog.for_control(call.request["TableName"], call.region, call.account, describing=True)
    return {"Table": await describe(backend.store, table, backend.clock.now_ns())}
