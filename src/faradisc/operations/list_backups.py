"""ListBackups: backups by creation time, at most 100 a page.

The time range includes its lower bound and excludes its upper bound. Without a type only the backups of users
are listed. Source: the documentation in the service model. Assumed: the order.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.backup import Backup, id_of_arn, summary
from faradisc.limits import LIST_BACKUPS_PAGE_MAX
from faradisc.operations.call import Backend, Call


async def list_backups(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    backups = backend.backups
    if "TableName" in request:
        namespace, table_name = backend.catalog.resolve(request["TableName"], call.region, call.account)
    else:
        namespace, table_name = backend.catalog.namespace(call.region, call.account), None
    found = [each for each in backups.listed(namespace, table_name) if _is_wanted(each, request)]
    if "ExclusiveStartBackupArn" in request:
        start = id_of_arn(request["ExclusiveStartBackupArn"])
        found = [each for each in found if each.id > start]
    page = found[: request.get("Limit", LIST_BACKUPS_PAGE_MAX)]
    result: dict[str, Any] = {
        "BackupSummaries": [
            summary(each, backups.status(each), done_bytes=backups.done_bytes(each)) for each in page
        ]
    }
    if len(page) < len(found):
        result["LastEvaluatedBackupArn"] = page[-1].arn
    return result


def _is_wanted(backup: Backup, request: dict[str, Any]) -> bool:
    created_s = backup.created_ns / 1e9
    return (
        request.get("BackupType", "USER") in ("ALL", backup.kind)
        and created_s >= request.get("TimeRangeLowerBound", 0)
        and created_s < request.get("TimeRangeUpperBound", float("inf"))
    )
