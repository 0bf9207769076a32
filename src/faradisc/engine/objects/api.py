"""The storage of objects: what every one of them does, and its errors.

Large objects are read and written as local files: a reader gets a file opened at its start, a writer fills a
draft and stores it, and only then the object exists, complete and durable. So formats and compression do not
depend on buckets, and an incomplete object is never visible. Small objects, and ranges of large ones, are
bytes.

A put can have a condition, `expected`. Of several that are made at once with the same one, by whatever
processes, one succeeds: leases are built on this. An ETag may follow from the content alone, so contents that
must be told apart differ.

Outside of a running event loop no call suspends, so `faradisc.storage.immediate.run` runs it, in any thread.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from hashlib import md5
from typing import BinaryIO, ClassVar, Final, Protocol

from faradisc.records import dataclass

DRAFT_PREFIX = ".draft-"
"""Prefix of the names of files that are not objects yet."""
SYNC_BYTES = 4 * 1024 * 1024
"""Bytes of a draft between two syncs, which take about ten milliseconds each."""
ABSENT: Final = ""
"""As `expected` of a put: no object has the key. Any other text is the ETag of the object to replace."""
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


class PutRefused(BucketError):
    """A put whose condition does not hold. Nothing was stored."""

    code = "S3PreconditionFailed"


class BucketUnable(BucketError):
    """An endpoint that lacks what was asked for."""

    code = "S3NotImplemented"


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
    """All methods raise BucketError; those that read an object raise NoSuchKey where there is none."""

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

    async def get(self, bucket: str, key: str) -> tuple[bytes, str]:
        """Returns a small object and its ETag."""
        ...

    async def read(self, bucket: str, key: str, at: int, size: int) -> bytes:
        """Returns up to `size` bytes from position `at` on; nothing behind the end."""
        ...

    async def size(self, bucket: str, key: str) -> int: ...

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        """Stores a small object. Returns its ETag.

        expected: ABSENT, or the ETag of the object that it replaces; None: whatever there is.
        Raises PutRefused.
        """
        ...

    async def remove(self, bucket: str, key: str) -> None:
        """Deletes an object if it exists."""
        ...

    def free_bytes(self, bucket: str) -> int | None:
        """Returns the free space; None where no disk of this machine limits it."""
        ...

    def close(self) -> None: ...
