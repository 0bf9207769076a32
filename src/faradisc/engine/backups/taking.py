"""Making one backup, a block at a time: rows of a fixed state -> blocks -> manifest.

The state is a snapshot, or the rows of a deleted table, which nobody writes. A step reads one block's worth
of rows, which takes a fraction of a millisecond; compressing and writing are done aside. Memory is bounded by
a block.
"""

from __future__ import annotations

from hashlib import sha256

from faradisc.engine.backups.backup import Backup
from faradisc.engine.backups.files import MAGIC, block_of, manifest_bytes
from faradisc.engine.backups.storage import BackupStorage, aside
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec.item_record import Record, size_of
from faradisc.storage.api import ReadOnlyStore

BLOCK_RECORDS = 512
BLOCK_BYTES = 64 * 1024
"""Of records in a block: the one that reaches it is the last."""


class Taking:
    def __init__(self, storage: BackupStorage, source: ReadOnlyStore, backup: Backup, taken_ns: int) -> None:
        """taken_ns: the moment whose state `source` holds."""
        self.backup = backup
        self.items = 0
        self.size_bytes = 0
        """Of the items so far, as TableSizeBytes counts."""
        self._storage = storage
        self._source = source
        self._taken_ns = taken_ns
        self._parts = list(backup.parts)
        self._low: bytes | None = None
        self._blocks = 0
        self._file_bytes = 0
        self._digest = sha256()

    async def step(self) -> Backup | None:
        """Write one block, or the manifest; the complete backup after that. Raises BackupStorageError."""
        if not self._file_bytes:
            await aside(self._storage, self._write, MAGIC)
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
        await aside(self._storage, self._write_block, records)
        self.items += len(records)
        self.size_bytes += sum(size_of(each) + STORAGE_OVERHEAD_BYTES for each in records)
        self._blocks += 1
        return None

    def _write_block(self, records: list[Record]) -> None:
        self._write(block_of(records))

    def _write(self, data: bytes) -> None:
        self._storage.append(self.backup.id, data)
        self._digest.update(data)
        self._file_bytes += len(data)

    async def _finish(self) -> Backup:
        complete = self.backup.completed(
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
        await aside(self._storage, self._storage.finish, self.backup.id, manifest)
        return complete
