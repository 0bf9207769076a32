"""Backups: each that the store knows has its files, and every checksum in them holds.

Files without a row are no problem: a backup brought from another place is taken in at the next start.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson

from faradisc.engine.backups.backup import Backup
from faradisc.engine.backups.files import Damaged
from faradisc.engine.backups.storage import BackupStorage, BackupStorageError, run_blocking
from faradisc.engine.backups.verification import verify
from faradisc.engine.inspection.problems import Report
from faradisc.engine.inspection.reading import pages
from faradisc.model.codec.keyspace import BACKUPS_PART
from faradisc.storage.api import ReadOnlyStore

_WHERE = "backups"
_REMEDY = "nothing: delete the backup, or put its files back from a copy"


async def verify_backups(store: ReadOnlyStore, storage: BackupStorage, report: Report) -> AsyncIterator[None]:
    """Checks one backup per step, all its files."""
    tally = report.tally(_WHERE, "backups")
    async for rows in pages(store, BACKUPS_PART):
        for key, payload in rows:
            try:
                backup = Backup.from_json(orjson.loads(payload))
            except (ValueError, TypeError):
                report.add(_WHERE, "the row of a backup cannot be read", _REMEDY, key.decode("latin-1"))
                continue
            if backup.status != "AVAILABLE":
                continue
            words = f"{backup.name} of table {backup.table_name} ({backup.id})"
            try:
                manifest = await run_blocking(storage, verify, storage, backup.id)
            except (Damaged, BackupStorageError) as error:
                report.add(_WHERE, "the files of a backup are damaged", _REMEDY, f"{words}: {error}")
            else:
                tally.rows += 1
                tally.bytes += manifest["rows"]["bytes"]
            yield
