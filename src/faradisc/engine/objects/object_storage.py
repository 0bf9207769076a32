"""Objects in S3 buckets. A bucket is a directory under one root, unless an S3 endpoint is configured (s3.py).

Objects are read and written as local files: a reader gets a file opened at its start, a writer fills a draft
and stores it, and only then the object exists, complete and on disk. So formats and compression do not depend
on buckets, and an incomplete object is never visible.
"""

from __future__ import annotations

import contextlib
import os
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import md5
from itertools import islice
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol

DRAFT_PREFIX = ".draft-"
"""Prefix of the names of files that are not objects yet."""
SYNC_BYTES = 4 * 1024 * 1024
"""Bytes of a draft between two syncs, which take about ten milliseconds each."""
LISTED_NAMES = 1000
"""Names of a directory read in one step of about ten milliseconds. An answer of S3 lists as many."""
sync_content = getattr(os, "fdatasync", os.fsync)


class BucketError(Exception):
    """A bucket or an object cannot be used. Code and text become FailureCode and FailureMessage.

    Source of the codes: those of Amazon S3 with the service's prefix `S3`.
    """

    code: ClassVar[str] = "S3Error"


class NoSuchBucket(BucketError):
    code = "S3NoSuchBucket"


class NoSuchKey(BucketError):
    code = "S3NoSuchKey"


class InvalidKey(BucketError):
    """A key that is no path below a directory: a segment is empty, `.` or `..`, or a name is too long."""

    code = "S3InvalidKey"


class BucketDenied(BucketError):
    code = "S3AccessDenied"


class BucketFailed(BucketError):
    """Any other error: a full disk, an endpoint that does not answer."""

    code = "S3Error"


@dataclass(frozen=True, slots=True)
class Object:
    key: str
    size: int
    """Bytes as stored, compressed or not."""


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """The parameters of a request for access to a bucket."""

    owner: str | None = None
    """Account that the bucket must belong to."""
    sse_algorithm: str | None = None
    """AES256 or KMS, for objects that are written."""
    sse_key: str | None = None


def access_of(asked: Mapping[str, str]) -> BucketAccess:
    return BucketAccess(asked.get("S3BucketOwner"), asked.get("S3SseAlgorithm"), asked.get("S3SseKmsKeyId"))


class Draft:
    """A local file that becomes an object. It is hashed and, if durable, synced while it is written: at the
    end of a large file either would block the server."""

    def __init__(self, file: BinaryIO, *, durable: bool) -> None:
        self.file = file
        self._durable = durable
        self._digest = md5(usedforsecurity=False)
        self._unsynced = 0

    def write(self, content: bytes) -> None:
        """Raises OSError."""
        self.file.write(content)
        self._digest.update(content)
        self._unsynced += len(content)
        if self._durable and self._unsynced >= SYNC_BYTES:
            self.file.flush()
            sync_content(self.file.fileno())
            self._unsynced = 0

    def finish(self) -> None:
        """Flushes the file, and syncs it if it is durable. Raises OSError."""
        self.file.flush()
        if self._durable:
            os.fsync(self.file.fileno())

    @property
    def etag(self) -> str:
        """MD5 of the content in hex digits."""
        return self._digest.hexdigest()

    @property
    def md5(self) -> str:
        """MD5 of the content in base64."""
        return b64encode(self._digest.digest()).decode()


class Listing(Protocol):
    """The objects of a prefix, page by page."""

    async def page(self) -> list[Object] | None:
        """Returns more objects, perhaps none, unordered; None at the end. Raises BucketError."""
        ...


class ObjectStorage(Protocol):
    """All methods raise BucketError."""

    encrypts: bool
    """Whether objects can be encrypted with a given key."""

    def opened(self, access: BucketAccess) -> ObjectStorage:
        """Returns the same buckets with the access parameters of a request."""
        ...

    def objects(self, bucket: str, prefix: str) -> Listing:
        """Returns the objects whose keys begin with `prefix`."""
        ...

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        """Returns the object as a local file opened at its start; the caller closes it."""
        ...

    def draft(self, bucket: str, name: str) -> Draft:
        """Returns an empty local file for `store` or `discard`. Truncates one of that name left by a
        crash."""
        ...

    def discard(self, draft: Draft) -> None:
        """Deletes a draft."""
        ...

    async def store(self, bucket: str, key: str, draft: Draft) -> str:
        """Makes a draft an object, replacing one with the same key, and closes it. Returns its ETag."""
        ...

    async def put(self, bucket: str, key: str, content: bytes) -> str:
        """Stores a small object. Returns its ETag."""
        ...

    async def remove(self, bucket: str, key: str) -> None:
        """Deletes an object if it exists."""
        ...


class DirectoryStorage:
    """Buckets that are directories: <root>/<bucket>/<key>. Owners of buckets are not checked."""

    encrypts = False

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).absolute()

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

    def draft(self, bucket: str, name: str) -> Draft:
        """Creates the draft in the bucket's directory, so that `store` only renames it."""
        with _translated(bucket):
            return Draft((self._bucket(bucket) / (DRAFT_PREFIX + name)).open("wb"), durable=True)

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
            _make_directory(path.parent)
            os.replace(draft.file.name, path)
            _sync_directory(path.parent)
        return draft.etag

    async def put(self, bucket: str, key: str, content: bytes) -> str:
        draft = self.draft(bucket, md5(key.encode(), usedforsecurity=False).hexdigest())
        try:
            with _translated(key):
                draft.write(content)
            return await self.store(bucket, key, draft)
        except BaseException:
            self.discard(draft)
            raise

    async def remove(self, bucket: str, key: str) -> None:
        with _translated(key):
            self._path(bucket, key).unlink(missing_ok=True)

    def _bucket(self, bucket: str) -> Path:
        directory = self.root / _checked(bucket, bucket)
        if not directory.is_dir() or not self._is_inside(directory):
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
        return path.resolve().is_relative_to(self.root.resolve())


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


def _make_directory(directory: Path) -> None:
    """Makes a directory and its missing parents, and syncs the directory of each: only then its name is on
    disk."""
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        _sync_directory(each.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _translated(key: str) -> Iterator[None]:
    """Raises errors of the operating system as BucketError."""
    try:
        yield
    except PermissionError as error:
        raise BucketDenied(f"Access Denied: {key}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        raise BucketFailed(f"{key}: {error}") from error
