"""RestoreTableFromBackup: a new table with the items and indexes of a backup.

Checks: ARN -> backup exists -> it is complete -> the target's name is free -> overrides -> room -> the
backup's manifest matches its checksum, and its data has the right length; a small backup's data matches its
checksum too. That of a larger one is read while the table is CREATING (engine/backups/restoring.py).
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
