"""Objects that another server hands out, read only: those of its continuous copy."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import md5
from io import BytesIO
from typing import BinaryIO

import orjson

from faradisc.engine.objects.api import (
    BucketAccess,
    BucketDenied,
    BucketFailed,
    Draft,
    Listing,
    NoSuchKey,
    Object,
    ObjectStorage,
)
from faradisc.engine.objects.memory import MemoryListing

Ask = Callable[[str], tuple[int, bytes]]
"""Returns status and body of a page of the server. Raises BucketFailed without an answer."""
OBJECTS, NAMES = "copy-objects", "copy-names"


class ServedStorage:
    """The one bucket of a server (server/admin.py). Keys are listed by whole folders."""

    encrypts = False

    def __init__(self, ask: Ask, close: Callable[[], None]) -> None:
        self._ask = ask
        self._close = close

    def opened(self, access: BucketAccess) -> ObjectStorage:
        return self

    def objects(self, bucket: str, prefix: str) -> Listing:
        names = orjson.loads(self._answer(f"{NAMES}/{prefix.strip('/')}"))
        return MemoryListing([Object(each, 0) for each in names])

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        return BytesIO(self._answer(f"{OBJECTS}/{key}"))

    async def get(self, bucket: str, key: str) -> tuple[bytes, str]:
        content = self._answer(f"{OBJECTS}/{key}")
        return content, md5(content, usedforsecurity=False).hexdigest()

    async def read(self, bucket: str, key: str, at: int, size: int) -> bytes:
        return self._answer(f"{OBJECTS}/{key}")[at : at + size]

    async def size(self, bucket: str, key: str) -> int:
        return len(self._answer(f"{OBJECTS}/{key}"))

    def draft(self, bucket: str, name: str) -> Draft:
        raise self._denied()

    def discard(self, draft: Draft) -> None:
        raise self._denied()

    async def store(self, bucket: str, key: str, draft: Draft) -> str:
        raise self._denied()

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        raise self._denied()

    async def remove(self, bucket: str, key: str) -> None:
        raise self._denied()

    def free_bytes(self, bucket: str) -> int | None:
        return None

    def close(self) -> None:
        self._close()

    def _answer(self, page: str) -> bytes:
        status, body = self._ask(page)
        if status == 200:
            return body
        try:
            answer = orjson.loads(body)
            code, text = answer.get("code"), str(answer["error"])
        except (ValueError, KeyError, AttributeError):
            raise BucketFailed(f"the server answered {status}") from None
        if code == NoSuchKey.code:
            raise NoSuchKey(text)
        raise BucketFailed(text.rstrip("."))

    @staticmethod
    def _denied() -> BucketDenied:
        return BucketDenied("the copy of another server is only read")
