"""A test double of an object store: survives every crash, is sometimes slow and sometimes fails."""

from __future__ import annotations

import random
from typing import BinaryIO

from faradisc.engine.objects.api import BucketFailed, Listing, Object
from faradisc.engine.objects.memory import MemoryStorage
from simulation.actors import pause

BUCKET = "bucket"


class MemoryBuckets(MemoryStorage):
    """An object exists whole or not at all; unfinished uploads end with the process."""

    def __init__(self, chance: random.Random, trouble: float) -> None:
        """trouble: share of calls that fail, half of them after they took effect."""
        super().__init__()
        self._chance = chance
        self.trouble = trouble

    @property
    def objects_by_key(self) -> dict[str, bytes]:
        return self.buckets[BUCKET]

    def objects(self, bucket: str, prefix: str) -> Listing:
        return _Listing(self, prefix)

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        await self.travel()
        return await super().fetch(bucket, key)

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        await self.travel()
        tag = await super().put(bucket, key, content, expected=expected)
        self._fail_at_times()
        return tag

    async def remove(self, bucket: str, key: str) -> None:
        await self.travel()
        await super().remove(bucket, key)

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
