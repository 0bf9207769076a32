"""Verifies the files of a backup against its manifest, in bounded steps.

Quick checks come first: the manifest matches its own checksum and belongs to this backup, and `rows` exists
with the right size. Reading `rows` takes about a second per gigabyte, so a caller that must not block runs
one `step` after the other.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from faradisc.engine.backups.files import Damaged, read_manifest
from faradisc.engine.backups.storage import BackupStorage

STEP_BYTES = 4 * 1024 * 1024
"""Read and hashed in one step: some ten milliseconds."""
AT_ONCE_BYTES = 4 * STEP_BYTES
"""Largest backup that a request waits for."""


class Verification:
    """One verification of one backup."""

    def __init__(self, storage: BackupStorage, name: str) -> None:
        """Runs the quick checks. Raises Damaged, BackupStorageError."""
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
        """Reads on. Returns whether all is read and right. Raises Damaged, BackupStorageError."""
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
    """Verifies all of a backup. Returns its manifest. Raises Damaged, BackupStorageError."""
    verification = Verification(storage, name)
    while not verification.step():
        pass
    return verification.manifest


def verify_quickly(storage: BackupStorage, name: str) -> None:
    """Runs the quick checks; verifies all of a small backup. Raises Damaged, BackupStorageError."""
    verification = Verification(storage, name)
    if verification.size_bytes <= AT_ONCE_BYTES:
        while not verification.step():
            pass
