"""The double of an object store: it outlives every crash, is slow at times, and at times refuses."""

from __future__ import annotations

import random
from hashlib import md5
from io import BytesIO
from typing import BinaryIO

from faradisc.exchange.buckets import Access, BucketFailed, Buckets, Draft, NoSuchKey, Object
from simulation.actors import pause

BUCKET = "bucket"


class MemoryBuckets:
    """One bucket. An object is there whole or not at all; drafts are gone with the process."""

    encrypts = False

    def __init__(self, chance: random.Random, trouble: float) -> None:
        """trouble: share of calls that fail, half of them after they have done what they were asked."""
        self._chance = chance
        self.trouble = trouble
        self.objects_by_key: dict[str, bytes] = {}

    def opened(self, access: Access) -> Buckets:
        return self

    async def objects(self, bucket: str, prefix: str) -> list[Object]:
        await self._travel()
        return [
            Object(key, len(content))
            for key, content in sorted(self.objects_by_key.items())
            if key.startswith(prefix)
        ]

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        await self._travel()
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
        await self._travel()
        self.objects_by_key[key] = content
        self._fail_at_times()
        return md5(content, usedforsecurity=False).hexdigest()

    async def remove(self, bucket: str, key: str) -> None:
        await self._travel()
        self.objects_by_key.pop(key, None)

    async def _travel(self) -> None:
        await pause(self._chance, 2)
        self._fail_at_times()

    def _fail_at_times(self) -> None:
        if self._chance.random() < self.trouble / 2:
            raise BucketFailed("the bucket does not answer")
