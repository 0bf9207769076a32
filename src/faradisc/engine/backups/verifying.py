"""Holding the files of a backup against what its manifest promises, a bounded piece at a time.

What costs nothing is looked at first: that the manifest matches its own checksum and belongs to this backup,
and that `rows` is there and as long as it should be. Reading `rows` takes about a second per gigabyte, so
whoever may not wait asks for one `step` after the other.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from faradisc.engine.backups.files import Damaged, read_manifest
from faradisc.engine.backups.storage import BackupStorage

STEP_BYTES = 4 * 1024 * 1024
"""Read and summed in one step: some ten milliseconds."""
AT_ONCE_BYTES = 4 * STEP_BYTES
"""Of a backup that a request may wait for."""


class Verifying:
    """One verification of one backup."""

    def __init__(self, storage: BackupStorage, name: str) -> None:
        """Raises Damaged for what shows without reading `rows`, BackupStorageError."""
        self.name = name
        self.manifest: dict[str, Any] = read_manifest(storage.manifest(name))
        if self.manifest["backup"]["id"] != name:
            raise Damaged(f"manifest.json belongs to {self.manifest['backup']['id']}")
        self.size_bytes: int = self.manifest["rows"]["bytes"]
        self._storage = storage
        self._digest = sha256()
        self._at = 0
        self._check_size(storage.size(name))

    def step(self) -> bool:
        """Reads on; True when all is read and as promised. Raises Damaged, BackupStorageError."""
        piece = self._storage.read(self.name, self._at, STEP_BYTES)
        self._digest.update(piece)
        self._at += len(piece)
        if len(piece) == STEP_BYTES:
            return False
        self._check_size(self._at)
        if self._digest.hexdigest() != self.manifest["rows"]["sha256"]:
            raise Damaged("rows does not match its checksum")
        return True

    def _check_size(self, size: int) -> None:
        if size != self.size_bytes:
            raise Damaged(f"rows has {size} bytes instead of {self.size_bytes}")


def verify(storage: BackupStorage, name: str) -> dict[str, Any]:
    """Verify all of a backup, however long that takes; its manifest. Raises Damaged, BackupStorageError."""
    verifying = Verifying(storage, name)
    while not verifying.step():
        pass
    return verifying.manifest


def look_at(storage: BackupStorage, name: str) -> None:
    """Verifies what takes a moment; all of a small backup. Raises Damaged, BackupStorageError."""
    verifying = Verifying(storage, name)
    if verifying.size_bytes <= AT_ONCE_BYTES:
        while not verifying.step():
            pass
