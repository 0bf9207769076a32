"""DescribeBackup: a backup and its source table."""

from __future__ import annotations

from typing import Any

from faradisc.engine.backups.backup import description
from faradisc.operations.call import Backend, Call


async def describe_backup(backend: Backend, call: Call) -> dict[str, Any]:
    backups = backend.backups
    backup = backups.find(call.request["BackupArn"])
    return {
        "BackupDescription": description(
            backup, backups.status(backup), done_bytes=backups.done_bytes(backup)
        )
    }
