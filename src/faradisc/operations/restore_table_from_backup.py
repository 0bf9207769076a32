"""RestoreTableFromBackup: create a table with the items and indexes of a backup.

Checks: ARN -> backup exists -> it is complete -> the name of the target is free -> overrides -> free space ->
the manifest of the backup matches its checksum, and its data has the right length; the data of a small backup
matches its checksum too. Larger data is read while the table is CREATING (engine/backups/restoring.py).
Assumed: the texts.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.definitions import restored_definition
from faradisc.engine.backups.restoring import Target
from faradisc.engine.tables.description import describe_table
from faradisc.errors import BackupInUseException
from faradisc.operations.call import Backend, Call


async def restore_table_from_backup(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    backup = backend.backups.find(request["BackupArn"])
    if backend.backups.status(backup) != "AVAILABLE":
        raise BackupInUseException(f"Backup is being created: {backup.arn}")
    target = Target(request["TargetTableName"], call.region, call.account)
    backend.restores.check_target(target)
    definition = restored_definition(backup.state, request)
    table = await backend.restores.from_backup(target, backup, definition)
    return {"TableDescription": await describe_table(backend.store, table, backend.clock.now_ns())}
