"""CreateBackup: start a backup of a table as it is at this moment.

Checks: table exists -> it is not CREATING or DELETING -> no other backup of it is running -> free space.
Assumed: the texts.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.backup import details
from faradisc.errors import TableInUseException
from faradisc.operations.call import Backend, Call


async def create_backup(backend: Backend, call: Call) -> dict[str, Any]:
    name = call.request["TableName"]
    table = backend.table_for_backup(call, name)
    if table.state.status in ("CREATING", "DELETING"):
        raise TableInUseException(f"Table is being created or deleted: {table.name}")
    backup = await backend.backups.begin(table, call.request["BackupName"])
    return {"BackupDetails": details(backup, backup.status, done_bytes=0)}
