"""Objects in directories: the file of an object is written beside its place, synced, and renamed.

So an object is complete and on disk, or it is not there: backups rely on it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from hashlib import md5
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from faradisc.engine.objects.api import (
    ABSENT,
    DRAFT_PREFIX,
    BucketAccess,
    BucketDenied,
    BucketFailed,
    Draft,
    InvalidKey,
    Listing,
    NoSuchBucket,
    NoSuchKey,
    Object,
    ObjectStorage,
    PutRefused,
)
from faradisc.files import sync_directory

LISTED_NAMES = 1000
"""Names of a directory read in one step of about ten milliseconds. An answer of S3 lists as many."""


class DirectoryStorage:
    """Buckets that are directories: <root>/<bucket>/<key>. Owners of buckets are not checked."""

    encrypts = False

    def __init__(self, root: Path | str, *, owned: bool = False) -> None:
        """owned: only this program decides what is under the root, so a missing bucket is made by the first
        object, and symbolic links are the owner's."""
        self.root = Path(root).absolute()
        self._owned = owned

    def opened(self, access: BucketAccess) -> ObjectStorage:
        return self

    def objects(self, bucket: str, prefix: str) -> Listing:
        directory = self._bucket(bucket)
        # Only the deepest directory that the prefix names can contain such objects.
        start = directory
        for segment in prefix.split("/")[:-1]:
            start = start / _checked(segment, prefix)
        self._require_inside(start, prefix)
        return _DirectoryListing(_walk(directory, start, prefix), prefix)

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        path = self._path(bucket, key)
        with _translated(key):
            try:
                return path.open("rb")
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise NoSuchKey(f"The specified key does not exist: {key}") from None

    async def get(self, bucket: str, key: str) -> tuple[bytes, str]:
        with await self.fetch(bucket, key) as file, _translated(key):
            content = file.read()
        return content, _etag(content)

    async def read(self, bucket: str, key: str, at: int, size: int) -> bytes:
        with await self.fetch(bucket, key) as file, _translated(key):
            file.seek(at)
            return file.read(size)

    async def size(self, bucket: str, key: str) -> int:
        with await self.fetch(bucket, key) as file, _translated(key):
            return file.seek(0, os.SEEK_END)

    def draft(self, bucket: str, name: str) -> Draft:
        """Creates the draft in the bucket's directory, so that `store` only renames it."""
        with _translated(bucket):
            return Draft((self._made(bucket) / (DRAFT_PREFIX + name)).open("wb"), durable=True)

    def discard(self, draft: Draft) -> None:
        name = draft.file.name
        with _translated(name):
            draft.file.close()
            Path(name).unlink(missing_ok=True)

    async def store(self, bucket: str, key: str, draft: Draft) -> str:
        path = self._path(bucket, key)
        with _translated(key):
            draft.finish()
            draft.file.close()
            make_directory(path.parent)
            os.replace(draft.file.name, path)
            sync_directory(path.parent)
        return draft.etag

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        draft = self.draft(bucket, _etag(key.encode())) if expected is None else self._own_draft(bucket)
        try:
            with _translated(key):
                draft.write(content)
            if expected is None:
                return await self.store(bucket, key, draft)
            if expected == ABSENT:
                self._link(bucket, key, draft)
                return draft.etag
            with self._locked(bucket):
                try:
                    _, found = await self.get(bucket, key)
                except NoSuchKey:
                    found = ABSENT
                if found != expected:
                    raise PutRefused(f"The object has changed: {key}")
                return await self.store(bucket, key, draft)
        except BaseException:
            self.discard(draft)
            raise

    def _own_draft(self, bucket: str) -> Draft:
        """Returns a draft that no other process can have, as another may put the same key now."""
        from tempfile import NamedTemporaryFile  # noqa: PLC0415 - slow to import

        with _translated(bucket):
            file = NamedTemporaryFile(dir=self._made(bucket), prefix=DRAFT_PREFIX, delete=False)  # noqa: SIM115
            return Draft(cast(BinaryIO, file), durable=True)

    def remove_drafts(self, bucket: str) -> None:
        """Removes the drafts that a crash has left. Requires: nobody else writes to the bucket."""
        directory = self._bucket(bucket)
        with _translated(bucket):
            for each in directory.glob(f"{DRAFT_PREFIX}*") if directory.is_dir() else ():
                each.unlink(missing_ok=True)

    def _link(self, bucket: str, key: str, draft: Draft) -> None:
        """Makes a draft an object where there is none. Raises PutRefused."""
        path = self._path(bucket, key)
        with _translated(key):
            draft.finish()
            make_directory(path.parent)
            try:
                os.link(draft.file.name, path)
            except FileExistsError:
                raise PutRefused(f"The object exists: {key}") from None
            sync_directory(path.parent)
            self.discard(draft)

    @contextlib.contextmanager
    def _locked(self, bucket: str) -> Iterator[None]:
        """Waits for other processes that replace objects under a condition. A crash releases the lock."""
        with _translated(bucket), (self._made(bucket) / (DRAFT_PREFIX + "lock")).open("a+b") as file:
            _lock(file)
            yield

    async def remove(self, bucket: str, key: str) -> None:
        path = self._path(bucket, key)
        with _translated(key), contextlib.suppress(NotADirectoryError):
            path.unlink(missing_ok=True)
            if self._owned and path.parent != self.root / bucket:
                with contextlib.suppress(OSError):  # not empty
                    path.parent.rmdir()

    def free_bytes(self, bucket: str) -> int | None:
        import shutil  # noqa: PLC0415 - it imports bz2 and lzma, and few starts need it

        directory = self.root / bucket
        with _translated(bucket):
            return shutil.disk_usage(directory if directory.exists() else self.root).free

    def close(self) -> None:
        """Does nothing."""

    def _made(self, bucket: str) -> Path:
        """Returns the directory of a bucket, which is made where only this program makes it."""
        if self._owned:
            make_directory(self.root / _checked(bucket, bucket))
        return self._bucket(bucket)

    def _bucket(self, bucket: str) -> Path:
        directory = self.root / _checked(bucket, bucket)
        if not (self._owned or directory.is_dir()) or not self._is_inside(directory):
            raise NoSuchBucket(f"The specified bucket does not exist: {bucket}")
        return directory

    def _path(self, bucket: str, key: str) -> Path:
        path = self._bucket(bucket)
        for segment in key.split("/"):
            path = path / _checked(segment, key)
        self._require_inside(path, key)
        return path

    def _require_inside(self, path: Path, key: str) -> None:
        """Raises AccessDenied."""
        if not self._is_inside(path):
            raise BucketDenied(f"Access Denied: {key}: a symbolic link leads out of the root")

    def _is_inside(self, path: Path) -> bool:
        """Whether a path is in the root after all symbolic links are followed."""
        return self._owned or path.resolve().is_relative_to(self.root.resolve())


def _etag(content: bytes) -> str:
    return md5(content, usedforsecurity=False).hexdigest()


def _lock(file: BinaryIO) -> None:
    """Waits until no other process has the lock of a file. Raises OSError."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - only there

        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
    else:
        import fcntl  # noqa: PLC0415 - not there

        fcntl.flock(file, fcntl.LOCK_EX)


def _checked(segment: str, key: str) -> str:
    """Returns one segment of a path below the root. Raises InvalidKey."""
    if segment in ("", ".", "..") or "\\" in segment or "\x00" in segment or len(segment.encode()) > 255:
        raise InvalidKey(f"A directory cannot hold the key {key!r}")
    if segment.startswith(DRAFT_PREFIX):
        raise InvalidKey(f"Names that begin with {DRAFT_PREFIX} are drafts: {key!r}")
    return segment


class _DirectoryListing:
    def __init__(self, entries: Iterator[Object | None], prefix: str) -> None:
        self._entries = entries
        self._prefix = prefix

    async def page(self) -> list[Object] | None:
        with _translated(self._prefix):
            names = list(islice(self._entries, LISTED_NAMES))
        return [found for found in names if found is not None] if names else None


def _walk(bucket: Path, directory: Path, prefix: str) -> Iterator[Object | None]:
    """Yields for each name below a directory its object, or None when it is no object of the prefix."""
    if not directory.is_dir():
        return
    waiting = [directory]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                found = None
                if entry.is_dir():
                    if not entry.is_symlink():
                        waiting.append(Path(entry))
                elif not entry.is_symlink() and not entry.name.startswith(DRAFT_PREFIX):
                    key = Path(entry).relative_to(bucket).as_posix()
                    found = Object(key, entry.stat().st_size) if key.startswith(prefix) else None
                yield found


def make_directory(directory: Path) -> None:
    """Makes a directory and its missing parents, and syncs the directory of each: only then its name is on
    disk."""
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        sync_directory(each.parent)


@contextlib.contextmanager
def _translated(key: str) -> Iterator[None]:
    """Raises errors of the operating system as BucketError."""
    try:
        yield
    except PermissionError as error:
        raise BucketDenied(f"Access Denied: {key}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        raise BucketFailed(f"{key}: {error}") from error
