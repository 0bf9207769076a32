"""CreateBackup, DescribeBackup, ListBackups, DeleteBackup and RestoreTableFromBackup.

Source: errors.md section 6.10. Assumed: the other texts.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.backup import Backup, description, details, id_of_arn, summary
from faradisc.engine.backups.definitions import restored_definition
from faradisc.engine.backups.restoring import RestoreTarget
from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.names import table_not_found
from faradisc.errors import (
    AccessDeniedException,
    BackupInUseException,
    ValidationException,
)
from faradisc.limits import LIST_BACKUPS_PAGE_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call


async def create_backup(backend: Backend, call: Call) -> dict[str, Any]:
    """Starts a backup of a table as it is at this moment.

    Checks: table exists, and is not CREATING or DELETING -> no other backup of it is running -> free space.
    """
    name = call.request["TableName"]
    table = backend.table_for_backup(call, name)
    if table.state.status in ("CREATING", "DELETING"):
        raise table_not_found(table.name)
    backup = await backend.backups.begin(table, call.request["BackupName"])
    return {"BackupDetails": details(backup, backup.status, done_bytes=0)}


def _named(backend: Backend, call: Call) -> Backup:
    """Returns the backup of BackupArn. Raises BackupNotFoundException, AccessDeniedException,
    ValidationException."""
    arn = call.request["BackupArn"]
    id_of_arn(arn)
    check_account(backend, call, arn)
    return backend.backups.find(arn)


def check_account(backend: Backend, call: Call, arn: str) -> None:
    """Raises AccessDeniedException for the ARN of another account, where accounts are apart."""
    account = arn.split(":")[4]
    if backend.tables.namespace("", account) != backend.tables.namespace("", call.account):
        raise AccessDeniedException("Access is denied")


async def describe_backup(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns a backup and its source table."""
    backups = backend.backups
    backup = _named(backend, call)
    return {
        "BackupDescription": description(
            backup, backups.status(backup), done_bytes=backups.done_bytes(backup)
        )
    }


async def list_backups(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns backups by creation time, at most 100 a page.

    The time range includes its lower bound and excludes its upper bound. Without a type only the backups
    of users are listed. Source: the documentation in the service model. Assumed: the order.
    """
    request = call.request
    backups = backend.backups
    catalog = backend.catalog
    if request.get("TimeRangeLowerBound", 0) > request.get("TimeRangeUpperBound", float("inf")):
        raise ValidationException(
            "One or more parameter values were invalid: Time range lower bound must be less than or equal to "
            "upper bound"
        )
    if "TableName" in request:
        namespace, table_name = backend.tables.resolve(request["TableName"], call.region, call.account)
    else:
        namespace, table_name = backend.tables.namespace(call.region, call.account), None
    found = [each for each in backups.listed(namespace, table_name) if _is_wanted(each, request)]
    if "ExclusiveStartBackupArn" in request:
        arn = request["ExclusiveStartBackupArn"]
        start, region = id_of_arn(arn), arn.split(":")[3]
        if catalog.tables.namespace(region, "") != catalog.tables.namespace(call.region, ""):
            raise ValidationException(
                "Invalid Request: The supplied ExclusiveStartBackupArn does not match the region"
            )
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


async def delete_backup(backend: Backend, call: Call) -> dict[str, Any]:
    """Deletes a backup and its files.

    Checks: ARN -> backup exists -> it is not being made or restored. Assumed: a system backup can be
    deleted too.
    """
    backup = _named(backend, call)
    await backend.backups.delete(backup)
    return {"BackupDescription": description(backup, "DELETED")}


async def restore_table_from_backup(backend: Backend, call: Call) -> dict[str, Any]:
    """Creates a table with the items and indexes of a backup.

    Checks: ARN -> backup exists -> it is complete -> the name of the target is free -> overrides -> free
    space -> the manifest of the backup matches its checksum, and its data has the right length; the data
    of a small backup matches its checksum too. Larger data is read while the table is CREATING
    (engine/backups/restoring.py).
    """
    request = call.request
    backup = _named(backend, call)
    if backend.backups.status(backup) != "AVAILABLE":
        raise BackupInUseException(f"Backup is being created: {backup.arn}")
    if backend.backups.being_restored(backup):
        raise BackupInUseException(f"Backup is being used to restore another table: {backup.arn}")
    target = RestoreTarget(request["TargetTableName"], call.region, call.account)
    backend.restores.check_target(target)
    definition = restored_definition(backup.state, request)
    sealing = await backend.encryption.of_new_table(
        request.get("SSESpecificationOverride"), *target, source=backup.state.sealing
    )
    table = await backend.restores.from_backup(target, backup, definition, sealing)
    return {"TableDescription": await describe_table(backend.sizes, table, backend.clock.now_ns())}
