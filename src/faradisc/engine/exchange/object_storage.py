"""Where objects live. A bucket is a directory under one root, unless an S3 endpoint is configured (s3.py).

Objects are read and written as local files: a reader gets a file to read from its start, a writer fills a
draft and stores it, and only then is there an object, whole and on disk. So formats and compression know
nothing of storage, and an object whose transfer was cut off is never half seen.
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
"""Begins the names of files that are no objects yet."""
SYNC_BYTES = 4 * 1024 * 1024
"""Of a draft, after which they are brought to the disk: some ten milliseconds, whatever a file grows to."""
LISTED_NAMES = 1000
"""Of a directory, looked at in one step: some ten milliseconds. S3 tells as many in one answer."""
_sync_content = getattr(os, "fdatasync", os.fsync)


class BucketError(Exception):
    """A bucket or an object cannot be used. Code and text are what FailureCode and FailureMessage say.

    Source of the codes: those of Amazon S3, with the `S3` that the service puts before them.
    """

    code: ClassVar[str] = "S3Error"


class NoSuchBucket(BucketError):
    code = "S3NoSuchBucket"


class NoSuchKey(BucketError):
    code = "S3NoSuchKey"


class InvalidKey(BucketError):
    """A key that no directory can hold: a segment that is empty or climbs, or a name that is too long."""

    code = "S3InvalidKey"


class AccessDenied(BucketError):
    code = "S3AccessDenied"


class BucketFailed(BucketError):
    """Anything else: a full disk, an endpoint that does not answer."""

    code = "S3Error"


@dataclass(frozen=True, slots=True)
class Object:
    key: str
    size: int
    """Bytes as stored, compressed or not."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a request says of a bucket beside its name."""

    owner: str | None = None
    """Account that the bucket must belong to."""
    sse_algorithm: str | None = None
    """AES256 or KMS, of objects that are written."""
    sse_key: str | None = None


def access_of(asked: Mapping[str, str]) -> Access:
    return Access(asked.get("S3BucketOwner"), asked.get("S3SseAlgorithm"), asked.get("S3SseKmsKeyId"))


class Draft:
    """A local file that becomes an object. It is hashed while it is written, and where that matters brought
    to the disk bit by bit: done when it is stored, either would keep everybody waiting."""

    def __init__(self, file: BinaryIO, *, durable: bool) -> None:
        self.file = file
        self._durable = durable
        self._digest = md5(usedforsecurity=False)
        self._unsynced = 0

    def write(self, content: bytes) -> None:
        """Raises: OSError."""
        self.file.write(content)
        self._digest.update(content)
        self._unsynced += len(content)
        if self._durable and self._unsynced >= SYNC_BYTES:
            self.file.flush()
            _sync_content(self.file.fileno())
            self._unsynced = 0

    def finish(self) -> None:
        """All of it is in the file, and if it is durable on disk. Raises: OSError."""
        self.file.flush()
        if self._durable:
            os.fsync(self.file.fileno())

    @property
    def etag(self) -> str:
        """MD5 of what was written, in hex digits."""
        return self._digest.hexdigest()

    @property
    def md5(self) -> str:
        """The same in base64."""
        return b64encode(self._digest.digest()).decode()


class Listing(Protocol):
    """What a prefix holds, told bit by bit, since nobody knows beforehand how much it is."""

    async def page(self) -> list[Object] | None:
        """Some more objects, perhaps none, in no order; None when all were told. Raises: BucketError."""
        ...


class ObjectStorage(Protocol):
    """All methods raise BucketError."""

    encrypts: bool
    """Whether objects can be encrypted under a key that is named."""

    def opened(self, access: Access) -> ObjectStorage:
        """The same storage, used as a request says."""
        ...

    def objects(self, bucket: str, prefix: str) -> Listing:
        """The objects whose keys begin with `prefix`."""
        ...

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        """The object as a local file, read from its start and closed by the caller."""
        ...

    def draft(self, bucket: str, name: str) -> Draft:
        """An empty local file for `store` or `discard`; one of that name, left by a crash, is emptied."""
        ...

    def discard(self, draft: Draft) -> None:
        """Throw a draft away."""
        ...

    async def store(self, bucket: str, key: str, draft: Draft) -> str:
        """Make an object of a draft, in place of one that has the key, and close it; its ETag."""
        ...

    async def put(self, bucket: str, key: str, content: bytes) -> str:
        """Store a small object; its ETag."""
        ...

    async def remove(self, bucket: str, key: str) -> None:
        """Delete an object, if there is one."""
        ...


class DirectoryStorage:
    """ObjectStorage that are directories: <root>/<bucket>/<key>. They belong to whoever owns the disk."""

    encrypts = False

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).absolute()

    def opened(self, access: Access) -> ObjectStorage:
        return self

    def objects(self, bucket: str, prefix: str) -> Listing:
        directory = self._bucket(bucket)
        # Only the deepest directory that the prefix names can hold anything.
        start = directory
        for segment in prefix.split("/")[:-1]:
            start = start / _checked(segment, prefix)
        return _DirectoryListing(_walk(directory, start, prefix), prefix)

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        path = self._path(bucket, key)
        with _translated(key):
            try:
                return path.open("rb")
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise NoSuchKey(f"The specified key does not exist: {key}") from None

    def draft(self, bucket: str, name: str) -> Draft:
        """In the bucket's own directory, so that it only has to be renamed."""
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
        if not directory.is_dir():
            raise NoSuchBucket(f"The specified bucket does not exist: {bucket}")
        return directory

    def _path(self, bucket: str, key: str) -> Path:
        path = self._bucket(bucket)
        for segment in key.split("/"):
            path = path / _checked(segment, key)
        return path


def _checked(segment: str, key: str) -> str:
    """One step of a path below the root. Raises InvalidKey."""
    if segment in ("", ".", "..") or "\\" in segment or "\x00" in segment or len(segment.encode()) > 255:
        raise InvalidKey(f"A directory cannot hold the key {key!r}")
    if segment.startswith(DRAFT_PREFIX):
        raise InvalidKey(f"Names that begin with {DRAFT_PREFIX} are drafts: {key!r}")
    return segment


class _DirectoryListing:
    def __init__(self, visited: Iterator[Object | None], prefix: str) -> None:
        self._visited = visited
        self._prefix = prefix

    async def page(self) -> list[Object] | None:
        with _translated(self._prefix):
            names = list(islice(self._visited, LISTED_NAMES))
        return [found for found in names if found is not None] if names else None


def _walk(bucket: Path, directory: Path, prefix: str) -> Iterator[Object | None]:
    """What each name in a directory and in those below it stands for; None: for no object that is meant."""
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
                elif not entry.name.startswith(DRAFT_PREFIX):
                    key = Path(entry).relative_to(bucket).as_posix()
                    found = Object(key, entry.stat().st_size) if key.startswith(prefix) else None
                yield found


def _make_directory(directory: Path) -> None:
    """With those above it that are missing. A name is on disk when the directory that holds it is."""
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
    """The operating system's refusals as those of a bucket."""
    try:
        yield
    except PermissionError as error:
        raise AccessDenied(f"Access Denied: {key}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        raise BucketFailed(f"{key}: {error}") from error
