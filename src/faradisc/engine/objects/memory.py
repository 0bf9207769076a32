"""Objects in memory, lost when the process ends."""

from __future__ import annotations

from collections import defaultdict
from hashlib import md5
from io import BytesIO
from typing import BinaryIO

from faradisc.engine.objects.api import (
    ABSENT,
    BucketAccess,
    Draft,
    Listing,
    NoSuchKey,
    Object,
    ObjectStorage,
    PutRefused,
)


class MemoryStorage:
    """Every bucket exists."""

    encrypts = False

    def __init__(self) -> None:
        self.buckets: dict[str, dict[str, bytes]] = defaultdict(dict)

    def copy(self) -> MemoryStorage:
        """Returns a storage with the same objects, which never change."""
        twin = MemoryStorage()
        twin.buckets.update({name: objects.copy() for name, objects in self.buckets.items()})
        return twin

    def opened(self, access: BucketAccess) -> ObjectStorage:
        return self

    def objects(self, bucket: str, prefix: str) -> Listing:
        return MemoryListing(
            [Object(key, len(each)) for key, each in self.buckets[bucket].items() if key.startswith(prefix)]
        )

    def _found(self, bucket: str, key: str) -> bytes:
        try:
            return self.buckets[bucket][key]
        except KeyError:
            raise NoSuchKey(f"The specified key does not exist: {key}") from None

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        return BytesIO(self._found(bucket, key))

    async def get(self, bucket: str, key: str) -> tuple[bytes, str]:
        content = self._found(bucket, key)
        return content, _etag(content)

    async def read(self, bucket: str, key: str, at: int, size: int) -> bytes:
        return self._found(bucket, key)[at : at + size]

    async def size(self, bucket: str, key: str) -> int:
        return len(self._found(bucket, key))

    def draft(self, bucket: str, name: str) -> Draft:
        return Draft(BytesIO(), durable=False)

    def discard(self, draft: Draft) -> None:
        draft.file.close()

    async def store(self, bucket: str, key: str, draft: Draft) -> str:
        with draft.file as file:
            file.seek(0)
            return await self.put(bucket, key, file.read())

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        if expected is not None:
            found = self.buckets[bucket].get(key)
            if expected != (ABSENT if found is None else _etag(found)):
                raise PutRefused(f"The object has changed: {key}")
        self.buckets[bucket][key] = content
        return _etag(content)

    async def remove(self, bucket: str, key: str) -> None:
        self.buckets[bucket].pop(key, None)

    def free_bytes(self, bucket: str) -> int | None:
        return None

    def close(self) -> None:
        """Does nothing."""


class MemoryListing:
    """Objects that are known, as one page."""

    def __init__(self, found: list[Object]) -> None:
        self._found: list[Object] | None = found

    async def page(self) -> list[Object] | None:
        found, self._found = self._found, None
        return found


def _etag(content: bytes) -> str:
    return md5(content, usedforsecurity=False).hexdigest()
