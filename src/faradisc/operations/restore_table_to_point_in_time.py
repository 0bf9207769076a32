"""RestoreTableToPointInTime: create a table with the items that another table had at a point in time.

Indexes and throughput are those of the source at present. Checks: source named -> it exists -> it has
point-in-time recovery -> time -> the name of the target is free -> overrides -> free space. Source: the
documentation of the service. Assumed: the texts, except that of InvalidRestoreTimeException, which is in the
model.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.definitions import restored_definition
from faradisc.engine.backups.restoring import Target
from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.table import Table
from faradisc.errors import ValidationException
from faradisc.operations.call import Backend, Call


async def restore_table_to_point_in_time(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    source = backend.table_for_backup(call, _source(request))
    at_ns = _moment(backend, source, request)
    target = Target(request["TargetTableName"], call.region, call.account)
    backend.restores.check_target(target)
    definition = restored_definition(source.state, request)
    table = await backend.restores.from_past(target, source, at_ns, definition)
    return {"TableDescription": await describe_table(backend.store, table, backend.clock.now_ns())}


def _source(request: dict[str, Any]) -> str:
    given = [request[member] for member in ("SourceTableArn", "SourceTableName") if member in request]
    if len(given) != 1:
        raise ValidationException("Exactly one of SourceTableName and SourceTableArn must be specified")
    source: str = given[0]
    return source


def _moment(backend: Backend, source: Table, request: dict[str, Any]) -> int:
    latest = request.get("UseLatestRestorableTime", False)
    if latest == ("RestoreDateTime" in request):
        raise ValidationException(
            "Exactly one of RestoreDateTime and UseLatestRestorableTime must be specified"
        )
    if latest:
        return backend.periods.latest(source)
    return backend.periods.checked(source, request["RestoreDateTime"])
