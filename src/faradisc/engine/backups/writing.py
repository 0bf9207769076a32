"""Writes one backup, a block at a time: the rows of a fixed state, then the manifest.

The state is a snapshot, or the rows of a deleted table, which do not change. A step reads one block of rows,
which takes a fraction of a millisecond; compressing and writing run in a thread where an event loop has to go
on. A block limits the memory.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from faradisc.engine.backups.backup import Backup
from faradisc.engine.backups.files import MAGIC, block_location, block_of, manifest_bytes
from faradisc.engine.backups.storage import BackupStorage, run_blocking
from faradisc.engine.sealing.sealer import Sealer
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec.item_record import Record, size_of
from faradisc.storage.api import ReadOnlyStore

BLOCK_RECORDS = 512
BLOCK_BYTES = 64 * 1024
"""Of the records in a block; the record that reaches it is the last."""


class BackupWriter:
    def __init__(
        self,
        storage: BackupStorage,
        source: ReadOnlyStore,
        backup: Backup,
        taken_ns: int,
        sealer: Sealer | None,
    ) -> None:
        """taken_ns: the time whose state `source` holds. sealer: of an encrypted table; it is ready."""
        self.backup = backup
        self.items = 0
        self.size_bytes = 0
        """Of the items so far, like TableSizeBytes."""
        self._storage = storage
        self._source = source
        self._taken_ns = taken_ns
        self._sealer = sealer
        self._parts = list(backup.parts)
        self._low: bytes | None = None
        self._blocks = 0
        self._file_bytes = 0
        self._digest = sha256()

    async def step(self) -> Backup | None:
        """Writes one block, or at the end the manifest. Returns the backup when it is complete.

        Raises BackupStorageError.
        """
        if not self._file_bytes:
            await run_blocking(self._storage, self._write, MAGIC)
        records: list[Record] = []
        size = 0
        while self._parts and len(records) < BLOCK_RECORDS and size < BLOCK_BYTES:
            wanted = BLOCK_RECORDS - len(records)
            rows = await self._source.range(
                self._parts[0], self._low, None, limit=wanted, max_bytes=BLOCK_BYTES - size
            )
            for _, (_, payload) in rows:
                records.append(payload)
                size += len(payload)
            if rows:
                self._low = rows[-1][0] + b"\x00"
            else:
                self._low = None
                del self._parts[0]
        if not records:
            return await self._finish()
        await run_blocking(self._storage, self._write_block, records)
        self.items += len(records)
        self.size_bytes += sum(size_of(each) + STORAGE_OVERHEAD_BYTES for each in records)
        self._blocks += 1
        return None

    def _write_block(self, records: list[Record]) -> None:
        self._write(block_of(records, self._sealer, block_location(self.backup.id, self._file_bytes)))

    def _write(self, data: bytes) -> None:
        self._storage.append(self.backup.id, data)
        self._digest.update(data)
        self._file_bytes += len(data)

    async def _finish(self) -> Backup:
        complete = replace(
            self.backup,
            status="AVAILABLE",
            items=self.items,
            size_bytes=self.size_bytes,
            file_bytes=self._file_bytes,
            taken_ns=self._taken_ns,
        )
        manifest = manifest_bytes(
            {
                "backup": complete.to_json() | {"holds_rows": False},
                "rows": {
                    "bytes": self._file_bytes,
                    "blocks": self._blocks,
                    "records": self.items,
                    "sha256": self._digest.hexdigest(),
                },
            }
        )
        await run_blocking(self._storage, self._storage.finish, self.backup.id, manifest)
        return complete
