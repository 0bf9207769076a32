"""Stores the files of backups as objects: `<name>/rows`, and then `<name>/manifest.json`.

A backup storage knows names and bytes, nothing of tables. It holds a backup once its manifest is an object,
which is complete and on disk as every object is (engine/objects); until then the backup is unfinished and can
only be appended to or removed. Calls block on a disk or a network; `run_blocking` runs them in a thread where
an event loop has to go on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from faradisc.engine.backups.files import Damaged
from faradisc.engine.objects.api import BucketError, Draft, NoSuchKey, Object, ObjectStorage
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.engine.objects.memory import MemoryStorage
from faradisc.storage.immediate import run

BACKUPS_DIRECTORY = "backups"
"""Name of the directory of backups in a data directory."""
ROWS_FILE = "rows"
MANIFEST_FILE = "manifest.json"
_UNFINISHED = ".unfinished"
"""End of the names of unfinished backups that earlier releases have left."""
PIECE_BYTES = 4 * 1024 * 1024
"""Read at least at once from an endpoint, which takes some ten milliseconds for any size below."""
PIECES_MAX = 8
"""Kept in memory: one of each backup that is read."""

T = TypeVar("T")


class BackupStorageError(Exception):
    """Raised when a disk or an endpoint fails, for example a full disk. The text says what and where."""


class BackupStorage:
    def __init__(
        self, objects: ObjectStorage, bucket: str, prefix: str = "", *, kind: str, where: str, blocking: bool
    ) -> None:
        """kind: what all servers over one store have in common: a bucket, but not the name of a directory.
        where: the place, for errors. blocking: an event loop must not wait for a call."""
        self.objects = objects
        self.kind = kind
        self.blocking = blocking
        self._where = where
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._ahead = PIECE_BYTES if kind.startswith("s3://") else 0
        self._drafts: dict[str, Draft] = {}
        """The rows of unfinished backups."""
        self._pieces: dict[str, tuple[int, bytes]] = {}
        """The rows of a backup that were read last, and where they begin."""

    def names(self) -> list[str]:
        """Returns the names of the finished backups."""
        found = self._files().items()
        return sorted(name for name, files in found if MANIFEST_FILE in files and not _is_of_old(name))

    def append(self, name: str, data: bytes) -> None:
        """Appends to the rows of an unfinished backup; begins it if necessary."""
        try:
            if name not in self._drafts:
                self._drafts[name] = self.objects.draft(self._bucket, name)
            self._drafts[name].write(data)
        except (BucketError, OSError) as error:
            raise self._failed(name, error) from error

    def finish(self, name: str, manifest: bytes) -> None:
        """Makes all rows and the manifest durable; the backup then becomes visible atomically."""
        draft = self._drafts.pop(name)
        try:
            self._call(name, self.objects.store(self._bucket, self._key(name, ROWS_FILE), draft))
        except BaseException:
            self.objects.discard(draft)
            raise
        self._call(name, self.objects.put(self._bucket, self._key(name, MANIFEST_FILE), manifest))

    def remove(self, name: str) -> None:
        """Removes a backup, finished or not, if it exists."""
        self._discard(name)
        for file in (MANIFEST_FILE, ROWS_FILE):  # invisible after the first
            self._remove(name, file)

    def remove_unfinished(self) -> None:
        """Removes the unfinished backups that a crash has left."""
        for name in list(self._drafts):
            self._discard(name)
        for name, files in self._files().items():
            if MANIFEST_FILE not in files or _is_of_old(name):
                for file in files:
                    self._remove(name, file)
        if isinstance(self.objects, DirectoryStorage):
            self.objects.remove_drafts(self._bucket)

    def manifest(self, name: str) -> bytes:
        """Returns the manifest of a finished backup. Raises Damaged if it is missing."""
        return self._call(name, self.objects.get(self._bucket, self._key(name, MANIFEST_FILE)))[0]

    def size(self, name: str) -> int:
        """Returns the size of the rows of a finished backup. Raises Damaged if they are missing."""
        self._pieces.pop(name, None)  # a verification begins, perhaps of files that were put back
        return self._call(name, self.objects.size(self._bucket, self._key(name, ROWS_FILE)))

    def read(self, name: str, at: int, size: int) -> bytes:
        """Returns up to `size` bytes of the rows of a finished backup. Raises Damaged if they are missing."""
        start, piece = self._pieces.get(name, (0, b""))
        if not start <= at <= at + size <= start + len(piece):
            wanted = max(size, self._ahead)
            reading = self.objects.read(self._bucket, self._key(name, ROWS_FILE), at, wanted)
            start, piece = at, self._call(name, reading)
            if self._ahead:
                self._pieces[name] = start, piece
                for other in list(self._pieces)[:-PIECES_MAX]:
                    self._pieces.pop(other, None)
        return piece[at - start : at - start + size]

    def free_bytes(self) -> int | None:
        """Returns the free space; None where no disk of this machine limits it."""
        return self.objects.free_bytes(self._bucket)

    def copy(self) -> BackupStorage | None:
        """Returns a storage with the same finished backups, if they are in memory."""
        if not isinstance(self.objects, MemoryStorage):
            return None
        return memory_backups(self.objects.copy())

    def close(self) -> None:
        """Closes unfinished backups; the next start removes them."""
        for name in list(self._drafts):
            self._discard(name)
        self._pieces.clear()

    def _key(self, name: str, file: str) -> str:
        return f"{self._prefix}{name}/{file}"

    def _files(self) -> dict[str, set[str]]:
        """Returns the names of the files of each backup, finished or not."""

        async def listed() -> list[Object]:
            found: list[Object] = []
            listing = self.objects.objects(self._bucket, self._prefix)
            while (page := await listing.page()) is not None:
                found += page
            return found

        files: dict[str, set[str]] = {}
        for each in self._call("list", listed()):
            name, _, file = each.key.removeprefix(self._prefix).partition("/")
            if file in (MANIFEST_FILE, ROWS_FILE):
                files.setdefault(name, set()).add(file)
        return files

    def _remove(self, name: str, file: str) -> None:
        self._call(name, self.objects.remove(self._bucket, self._key(name, file)))

    def _discard(self, name: str) -> None:
        self._pieces.pop(name, None)
        draft = self._drafts.pop(name, None)
        if draft is not None:
            self.objects.discard(draft)

    def _call(self, name: str, call: Coroutine[Any, Any, T]) -> T:
        """Raises Damaged when an object is missing, BackupStorageError."""
        try:
            return run(call)
        except NoSuchKey as error:
            raise Damaged(f"its files are gone from {self._where}/{name}") from error
        except BucketError as error:
            raise self._failed(name, error) from error

    def _failed(self, name: str, error: BucketError | OSError) -> BackupStorageError:
        text = getattr(error, "strerror", None) or error
        return BackupStorageError(f"backup {name} in {self._where}: {text}")


class NoBackupStorage(BackupStorage):
    """No place for backups: none can be made, and there are none."""

    def __init__(self, reason: str) -> None:
        super().__init__(MemoryStorage(), "none", kind="none", where="none", blocking=False)
        self.reason = reason


def _is_of_old(name: str) -> bool:
    return name.endswith(_UNFINISHED)


def memory_backups(objects: MemoryStorage | None = None) -> BackupStorage:
    return BackupStorage(objects or MemoryStorage(), "backups", kind="memory", where="memory", blocking=False)


def directory_backups(directory: Path, *, blocking: bool) -> BackupStorage:
    """Returns the backups in a directory, which is created when it is first needed."""
    directory = directory.absolute()
    objects = DirectoryStorage(directory.parent, owned=True)
    return BackupStorage(objects, directory.name, kind="directory", where=str(directory), blocking=blocking)


def s3_backups(url: str, place: str, *, options: dict[str, Any] | None = None) -> BackupStorage:
    """url: of the endpoint, or `aws`. place: a bucket, or bucket/prefix. options: of boto3's client."""
    from faradisc.engine.objects.s3 import S3Storage  # noqa: PLC0415 - few servers

    place = place.strip("/")
    bucket, _, prefix = place.partition("/")
    where = f"s3://{place}"
    return BackupStorage(
        S3Storage(url, options=options), bucket, prefix, kind=where, where=where, blocking=True
    )


async def run_blocking(storage: BackupStorage, call: Callable[..., T], *arguments: object) -> T:
    """Runs a call that blocks or computes for long, in a thread where an event loop has to go on."""
    if storage.blocking:
        return await asyncio.to_thread(call, *arguments)
    return call(*arguments)
