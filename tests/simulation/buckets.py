"""A test double of an object store: survives every crash, is sometimes slow and sometimes fails."""

from __future__ import annotations

import random
from hashlib import md5
from io import BytesIO
from typing import BinaryIO

from faradisc.engine.objects.object_storage import (
    BucketAccess,
    BucketFailed,
    Draft,
    Listing,
    NoSuchKey,
    Object,
    ObjectStorage,
)
from simulation.actors import pause

BUCKET = "bucket"


class MemoryBuckets:
    """One bucket. An object exists whole or not at all; unfinished uploads end with the process."""

    encrypts = False

    def __init__(self, chance: random.Random, trouble: float) -> None:
        """trouble: share of calls that fail, half of them after they took effect."""
        self._chance = chance
        self.trouble = trouble
        self.objects_by_key: dict[str, bytes] = {}

    def opened(self, access: BucketAccess) -> ObjectStorage:
        return self

    def objects(self, bucket: str, prefix: str) -> Listing:
        return _Listing(self, prefix)

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        await self.travel()
        if key not in self.objects_by_key:
            raise NoSuchKey(f"there is no {key}")
        return BytesIO(self.objects_by_key[key])

    def draft(self, bucket: str, name: str) -> Draft:
        return Draft(BytesIO(), durable=False)

    def discard(self, draft: Draft) -> None:
        draft.file.close()

    async def store(self, bucket: str, key: str, draft: Draft) -> str:
        draft.file.seek(0)
        return await self.put(bucket, key, draft.file.read())

    async def put(self, bucket: str, key: str, content: bytes) -> str:
        await self.travel()
        self.objects_by_key[key] = content
        self._fail_at_times()
        return md5(content, usedforsecurity=False).hexdigest()

    async def remove(self, bucket: str, key: str) -> None:
        await self.travel()
        self.objects_by_key.pop(key, None)

    async def travel(self) -> None:
        await pause(self._chance, 2)
        self._fail_at_times()

    def _fail_at_times(self) -> None:
        if self._chance.random() < self.trouble / 2:
            raise BucketFailed("the bucket does not answer")


class _Listing:
    """Lists few objects per page, so that crashes and failures occur between pages."""

    def __init__(self, buckets: MemoryBuckets, prefix: str) -> None:
        self._buckets = buckets
        self._left = sorted((key for key in buckets.objects_by_key if key.startswith(prefix)), reverse=True)

    async def page(self) -> list[Object] | None:
        await self._buckets.travel()
        if not self._left:
            return None
        keys = [self._left.pop() for _ in range(min(2, len(self._left)))]
        contents = ((key, self._buckets.objects_by_key.get(key)) for key in keys)
        return [Object(key, len(content)) for key, content in contents if content is not None]
