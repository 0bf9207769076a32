"""UpdateContinuousBackups, DescribeContinuousBackups and RestoreTableToPointInTime."""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.definitions import restored_definition
from faradisc.engine.backups.restoring import RestoreTarget
from faradisc.engine.derived.history import history_of
from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.names import parse_table_arn, table_not_found
from faradisc.engine.tables.table import Table
from faradisc.errors import (
    ContinuousBackupsUnavailableException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.limits import RECOVERY_PERIOD_DAYS_DEFAULT
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call


async def update_continuous_backups(backend: Backend, call: Call) -> dict[str, Any]:
    """Enables or disables point-in-time recovery, or sets its period in days.

    Checks: table exists -> it is not CREATING -> a period only when enabling -> no restore reads the
    history that is dropped. Disabling drops the history; enabling starts a new one. Assumed: the texts,
    and that a period is rejected when recovery is disabled.
    """
    name = call.request["TableName"]
    table = backend.table_for_backup(call, name)
    try:
        table = await _update(backend, table, call.request["PointInTimeRecoverySpecification"])
    except ResourceNotFoundException:  # deleted while this waited for another change of the table
        raise table_not_found(name) from None
    return {"ContinuousBackupsDescription": backend.periods.description(table)}


async def _update(backend: Backend, table: Table, specification: dict[str, Any]) -> Table:
    """Returns the table as changed."""
    if table.state.status == "CREATING" and table.state.restored is not None:
        raise table_not_found(table.name)
    if table.state.status == "CREATING":
        raise ContinuousBackupsUnavailableException(
            f"Backups are being enabled for the table: {table.name}. Please retry later"
        )
    if table.state.status == "DELETING":
        raise table_not_found(table.name)
    if specification["PointInTimeRecoveryEnabled"]:
        days = specification.get("RecoveryPeriodInDays", RECOVERY_PERIOD_DAYS_DEFAULT)
        return await backend.periods.enable(table, days)
    if "RecoveryPeriodInDays" in specification:
        raise ValidationException(
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."
        )
    if history_of(table) is not None:

        def check() -> None:
            if backend.restores.reads_past_of(table):
                raise ContinuousBackupsUnavailableException(
                    f"Another table is being restored from the table: {table.name}. Please retry later"
                )

        return await backend.periods.disable(table, check)
    return table


async def describe_continuous_backups(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns whether a table can be restored to a point in time, and its range of times."""
    table = backend.table_for_backup(call, call.request["TableName"])
    return {"ContinuousBackupsDescription": backend.periods.description(table)}


async def restore_table_to_point_in_time(backend: Backend, call: Call) -> dict[str, Any]:
    """Creates a table with the items that another table had at a point in time.

    Indexes and throughput are those of the source at present. Checks: source named -> it exists -> it has
    point-in-time recovery -> time -> the name of the target is free -> overrides -> free space. Source:
    the documentation of the service. Assumed: the texts, except that of InvalidRestoreTimeException, which
    is in the model.
    """
    request = call.request
    named = _source(request)
    if named.startswith("arn:") and "SSESpecificationOverride" not in request:
        region = parse_table_arn(named)[0]
        catalog = backend.catalog
        if catalog.tables.namespace(region, call.account) != catalog.tables.namespace(
            call.region, call.account
        ):
            raise ValidationException(
                "Invalid Request: sseSpecificationOverride must be provided for cross-region restores"
            )
    source = backend.table_for_backup(call, named)
    at_ns = _moment(backend, source, request)
    target = RestoreTarget(request["TargetTableName"], call.region, call.account)
    backend.restores.check_target(target)
    definition = restored_definition(source.state, request)
    sealing = await backend.encryption.of_new_table(
        request.get("SSESpecificationOverride"), *target, source=source.state.sealing
    )
    table = await backend.restores.from_past(target, source, at_ns, definition, sealing)
    return {"TableDescription": await describe_table(backend.sizes, table, backend.clock.now_ns())}


def _source(request: dict[str, Any]) -> str:
    given = [request[member] for member in ("SourceTableArn", "SourceTableName") if member in request]
    if len(given) != 1:
        raise ValidationException(
            "Invalid Request: Must provide exactly one of: sourceTableArn, sourceTableName"
        )
    source: str = given[0]
    return source


def _moment(backend: Backend, source: Table, request: dict[str, Any]) -> int:
    latest = request.get("UseLatestRestorableTime", False)
    if latest == ("RestoreDateTime" in request):
        raise ValidationException(
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, "
            "but not both"
        )
    if latest:
        return backend.periods.latest(source)
    return backend.periods.checked(source, request["RestoreDateTime"])
