"""DeleteBackup: delete a backup and its files.

Checks: ARN -> backup exists -> it is not being made or restored. Assumed: a system backup can be deleted too.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.backup import description
from faradisc.operations.call import Backend, Call


async def delete_backup(backend: Backend, call: Call) -> dict[str, Any]:
    backup = backend.backups.find(call.request["BackupArn"])
    await backend.backups.delete(backup)
    return {"BackupDescription": description(backup, "DELETED")}
