"""Stores the files of backups: in a directory beside the store, or in memory.

A backup storage knows names and bytes, nothing of tables. It holds a backup once `finish` has written the
manifest; until then the backup is unfinished and can only be appended to or removed. Calls block on the
disk; `run_blocking` runs them in a thread where an event loop has to go on meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from faradisc.engine.backups.files import Damaged

BACKUPS_DIRECTORY = "backups"
"""Name of the directory of backups in a data directory."""
ROWS_FILE = "rows"
MANIFEST_FILE = "manifest.json"
_UNFINISHED = ".unfinished"

T = TypeVar("T")


class BackupStorageError(Exception):
    """Raised when the operating system fails, for example on a full disk. The text says what and where."""


class BackupStorage(Protocol):
    blocking: bool
    """Whether calls may wait for a disk."""
    kind: str
    """What all servers over one store have in common: a bucket, but not the name of a directory."""

    def names(self) -> list[str]:
        """Returns the names of the finished backups."""

    def append(self, name: str, data: bytes) -> None:
        """Appends to the rows of an unfinished backup; begins it if necessary."""

    def finish(self, name: str, manifest: bytes) -> None:
        """Makes all rows and the manifest durable; the backup then becomes visible atomically."""

    def remove(self, name: str) -> None:
        """Removes a backup, finished or not, if it exists."""

    def remove_unfinished(self) -> None:
        """Removes the unfinished backups that a crash has left."""

    def manifest(self, name: str) -> bytes:
        """Returns the manifest of a finished backup. Raises Damaged if it is missing."""

    def size(self, name: str) -> int:
        """Returns the size of the rows of a finished backup. Raises Damaged if they are missing."""

    def read(self, name: str, at: int, size: int) -> bytes:
        """Returns up to `size` bytes of the rows of a finished backup. Raises Damaged if they are missing."""

    def free_bytes(self) -> int | None:
        """Returns the free space; None where only memory limits it."""

    def close(self) -> None:
        """Closes unfinished backups; the next start removes them."""


async def run_blocking(storage: BackupStorage, call: Callable[..., T], *arguments: object) -> T:
    """Runs a call that blocks or computes for long, in a thread where an event loop has to go on."""
    if storage.blocking:
        return await asyncio.to_thread(call, *arguments)
    return call(*arguments)


class MemoryBackupStorage:
    """Backups in memory, lost when the process ends."""

    blocking = False
    kind = "memory"

    def __init__(self) -> None:
        self._rows: dict[str, bytearray] = {}
        self._manifests: dict[str, bytes] = {}

    def copy(self) -> MemoryBackupStorage:
        """Returns a storage with the same finished backups, which never change."""
        twin = MemoryBackupStorage()
        twin._manifests = self._manifests.copy()
        twin._rows = {name: self._rows[name] for name in self._manifests}
        return twin

    def names(self) -> list[str]:
        return sorted(self._manifests)

    def append(self, name: str, data: bytes) -> None:
        self._rows.setdefault(name, bytearray()).extend(data)

    def finish(self, name: str, manifest: bytes) -> None:
        self._manifests[name] = manifest

    def remove(self, name: str) -> None:
        self._manifests.pop(name, None)
        self._rows.pop(name, None)

    def remove_unfinished(self) -> None:
        for name in self._rows.keys() - self._manifests.keys():
            del self._rows[name]

    def manifest(self, name: str) -> bytes:
        if name not in self._manifests:
            raise Damaged("its files are gone")
        return self._manifests[name]

    def _rows_of(self, name: str) -> memoryview:
        self.manifest(name)
        return memoryview(self._rows[name])

    def size(self, name: str) -> int:
        return len(self._rows_of(name))

    def read(self, name: str, at: int, size: int) -> bytes:
        return bytes(self._rows_of(name)[at : at + size])

    def free_bytes(self) -> int | None:
        return None

    def close(self) -> None:
        """Does nothing."""


class NoBackupStorage(MemoryBackupStorage):
    """No place for backups: none can be made, and there are none."""

    kind = "none"

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason

    def append(self, name: str, data: bytes) -> None:
        raise BackupStorageError(self.reason)

    def finish(self, name: str, manifest: bytes) -> None:
        raise BackupStorageError(self.reason)


class DirectoryBackupStorage:
    """One directory per backup, `<directory>/<name>/`, with `rows` and `manifest.json`.

    The name of an unfinished one ends in `.unfinished`; `finish` renames it, which makes it visible. The
    directory is created when it is first needed.
    """

    kind = "directory"

    def __init__(self, directory: Path, *, blocking: bool) -> None:
        """blocking: an event loop must not wait for the disk."""
        self.blocking = blocking
        self._directory = directory
        self._open: dict[str, BinaryIO] = {}
        """The rows of unfinished backups."""

    def names(self) -> list[str]:
        if not self._directory.is_dir():
            return []
        found = [each.name for each in self._directory.iterdir() if (each / MANIFEST_FILE).is_file()]
        return sorted(name for name in found if not name.endswith(_UNFINISHED))

    def append(self, name: str, data: bytes) -> None:
        try:
            file = self._open.get(name)
            if file is None:
                unfinished = self._unfinished(name)
                _remove_tree(unfinished)
                unfinished.mkdir(parents=True)
                file = self._open[name] = (unfinished / ROWS_FILE).open("wb")
            file.write(data)
        except OSError as error:
            raise self._failed(name, error) from error

    def finish(self, name: str, manifest: bytes) -> None:
        unfinished = self._unfinished(name)
        try:
            with self._open.pop(name) as rows:
                rows.flush()
                os.fsync(rows.fileno())
            with (unfinished / MANIFEST_FILE).open("wb") as file:
                file.write(manifest)
                file.flush()
                os.fsync(file.fileno())
            _sync(unfinished)
            unfinished.rename(self._directory / name)
            _sync(self._directory)
            _sync(self._directory.parent)
        except OSError as error:
            raise self._failed(name, error) from error

    def remove(self, name: str) -> None:
        file = self._open.pop(name, None)
        if file is not None:
            _close_quietly(file)
        finished, unfinished = self._directory / name, self._unfinished(name)
        try:
            if finished.exists():
                finished.rename(unfinished)  # invisible from here on; the rest may take long
                _sync(self._directory)
            _remove_tree(unfinished)
        except OSError as error:
            raise self._failed(name, error) from error

    def remove_unfinished(self) -> None:
        if self._directory.is_dir():
            for each in self._directory.iterdir():
                if each.name.endswith(_UNFINISHED):
                    _remove_tree(each)

    def manifest(self, name: str) -> bytes:
        try:
            return (self._directory / name / MANIFEST_FILE).read_bytes()
        except FileNotFoundError as error:
            raise Damaged(f"{MANIFEST_FILE} is gone from {self._directory / name}") from error
        except OSError as error:
            raise self._failed(name, error) from error

    def size(self, name: str) -> int:
        with self._rows_of(name) as file:
            return file.seek(0, os.SEEK_END)

    def read(self, name: str, at: int, size: int) -> bytes:
        with self._rows_of(name) as file:
            file.seek(at)
            return file.read(size)

    @contextlib.contextmanager
    def _rows_of(self, name: str) -> Iterator[BinaryIO]:
        try:
            with (self._directory / name / ROWS_FILE).open("rb") as file:
                yield file
        except FileNotFoundError as error:
            raise Damaged(f"{ROWS_FILE} is gone from {self._directory / name}") from error
        except OSError as error:
            raise self._failed(name, error) from error

    def free_bytes(self) -> int | None:
        there = self._directory if self._directory.exists() else self._directory.parent
        return _free_bytes(there)

    def close(self) -> None:
        for file in self._open.values():
            _close_quietly(file)
        self._open.clear()

    def _unfinished(self, name: str) -> Path:
        return self._directory / (name + _UNFINISHED)

    def _failed(self, name: str, error: OSError) -> BackupStorageError:
        return BackupStorageError(f"backup {name} in {self._directory}: {error.strerror or error}")


def _close_quietly(file: BinaryIO) -> None:
    """Closes a file that is not needed; writing its buffer fails on a full disk."""
    with contextlib.suppress(OSError):
        file.close()


def _sync(directory: Path) -> None:
    """Makes names durable; Windows has no such call and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_tree(directory: Path) -> None:
    """Removes a directory and its contents, if it exists."""
    import shutil  # noqa: PLC0415 - it imports bz2 and lzma, and few starts need it

    shutil.rmtree(directory, ignore_errors=True)


def _free_bytes(directory: Path) -> int:
    import shutil  # noqa: PLC0415

    return shutil.disk_usage(directory).free
