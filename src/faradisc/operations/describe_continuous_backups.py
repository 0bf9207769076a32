"""DescribeContinuousBackups: whether a table can be restored to a point in time, and its range of times."""

from __future__ import annotations

from typing import Any

from faradisc.operations.call import Backend, Call


async def describe_continuous_backups(backend: Backend, call: Call) -> dict[str, Any]:
    table = backend.table_for_backup(call, call.request["TableName"])
    return {"ContinuousBackupsDescription": backend.periods.description(table)}
