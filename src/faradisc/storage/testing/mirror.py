"""MirrorStore: runs every call on two engines and compares their results.

Each engine has its own version numbers. The first time that two rows are compared, their versions become a
pair; from then on one corresponds to the other, and pairs must rise together. Callers see the left engine's
numbers.

Calls run one after the other under a lock, because the engines can order overlapping commits differently, and
both orders are correct.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, Part, ReadOnlyStore, Row, Store

T = TypeVar("T")

UNSEEN = (1 << 63) - 1
"""In checks, in place of a version that no read has returned: no row has it."""


class Difference(AssertionError):
    """The results of the two engines differ."""


class _Versions:
    """Pairs of corresponding versions."""

    def __init__(self) -> None:
        self._right_of: dict[int, int] = {0: 0}
        self._left_of: dict[int, int] = {0: 0}

    def pair(self, left: int, right: int) -> None:
        known_right = self._right_of.setdefault(left, right)
        known_left = self._left_of.setdefault(right, left)
        if known_right != right or known_left != left:
            raise Difference(
                f"version {left} with {right}, earlier {left}/{known_right}, {known_left}/{right}"
            )

    def right_of(self, left: int) -> int:
        return self._right_of.get(left, UNSEEN)

    def check_order(self) -> None:
        rights = [right for _, right in sorted(self._right_of.items())]
        if rights != sorted(rights):
            raise Difference("the engines' versions do not rise together")


class _MirrorReader:
    def __init__(
        self, left: ReadOnlyStore, right: ReadOnlyStore, versions: _Versions, lock: asyncio.Lock
    ) -> None:
        self._left = left
        self._right = right
        self._versions = versions
        self._lock = lock

    async def _both(
        self, name: str, left: Callable[[], Awaitable[T]], right: Callable[[], Awaitable[T]]
    ) -> tuple[T, T]:
        """Returns both results. Raises the error that both raise; Difference if only one raises."""
        async with self._lock:
            answers: list[T] = []
            errors: list[Exception] = []
            for call in (left, right):
                try:
                    answers.append(await call())
                except (StorageError, TypeError, ValueError) as error:
                    errors.append(error)
            if len(errors) == 1 or (errors and isinstance(errors[0], StorageError) and _kinds_differ(errors)):
                raise Difference(f"{name}: {errors!r} beside {answers!r}") from errors[0]
            if errors:
                raise errors[0]
            return answers[0], answers[1]

    def _same(self, name: str, left: T, right: T) -> T:
        if left != right:
            raise Difference(f"{name}: {left!r} beside {right!r}")
        return left

    def _same_row(self, name: str, left: Row | None, right: Row | None) -> None:
        if left is None or right is None:
            self._same(name, left, right)
            return
        self._same(name, left[1], right[1])
        self._versions.pair(left[0], right[0])

    async def get(
        self, part: Part, keys: Sequence[bytes], *, for_update: bool = False, stale_ok: bool = False
    ) -> list[Row | None]:
        left, right = await self._both(
            "get",
            lambda: self._left.get(part, keys, for_update=for_update, stale_ok=stale_ok),
            lambda: self._right.get(part, keys, for_update=for_update, stale_ok=stale_ok),
        )
        self._same_rows("get", left, right)
        return left

    def _same_rows(self, name: str, left: list[Row | None], right: list[Row | None]) -> None:
        self._same(f"length of {name}", len(left), len(right))
        for one, other in zip(left, right, strict=True):
            self._same_row(name, one, other)

    async def range(
        self,
        part: Part,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool = False,
        max_bytes: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        left, right = await self._both(
            "range",
            lambda: self._left.range(part, lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes),
            lambda: self._right.range(part, lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes),
        )
        self._same("keys of range", [key for key, _ in left], [key for key, _ in right])
        self._same_rows("range", [row for _, row in left], [row for _, row in right])
        return left

    async def read_many(self, keys: Sequence[tuple[Part, bytes]]) -> list[Row | None]:
        left, right = await self._both(
            "read_many", lambda: self._left.read_many(keys), lambda: self._right.read_many(keys)
        )
        self._same_rows("read_many", left, right)
        return left

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        left, right = await self._both(
            "log", lambda: self._left.log(part, after, limit), lambda: self._right.log(part, after, limit)
        )
        return self._same("log", left, right)

    async def usage(self, part: Part) -> tuple[int, int]:
        left, right = await self._both(
            "usage", lambda: self._left.usage(part), lambda: self._right.usage(part)
        )
        return self._same("usage", left, right)

    async def parts(self) -> list[tuple[Part, int]]:
        left, right = await self._both("parts", self._left.parts, self._right.parts)
        return self._same("parts", left, right)

    async def close(self) -> None:
        self._versions.check_order()
        await self._both("close", self._left.close, self._right.close)


def _kinds_differ(errors: list[Exception]) -> bool:
    return type(errors[0]) is not type(errors[1])


class MirrorStore(_MirrorReader):
    def __init__(self, left: Store, right: Store) -> None:
        super().__init__(left, right, _Versions(), asyncio.Lock())
        self._stores = left, right

    @property
    def failure(self) -> StorageError | None:
        left, right = self._stores
        return left.failure or right.failure

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        left_store, right_store = self._stores
        translated = [
            replace(batch, checks=[(key, self._versions.right_of(version)) for key, version in batch.checks])
            for batch in batches
        ]
        left, right = await self._both(
            "commit",
            lambda: left_store.commit(batches, durable=durable),
            lambda: right_store.commit(translated, durable=durable),
        )
        if isinstance(left, Conflict) and isinstance(right, Conflict):
            self._same("conflict", (left.part, left.key), (right.part, right.key))
            self._versions.pair(left.found, right.found)
            return left
        return self._same("commit", left, right)

    async def flush(self) -> None:
        left_store, right_store = self._stores
        await self._both("flush", left_store.flush, right_store.flush)

    async def wait_durable(self, version: int) -> None:
        left_store, right_store = self._stores
        right_version = self._versions.right_of(version)
        await self._both(
            "wait_durable",
            lambda: left_store.wait_durable(version),
            lambda: right_store.wait_durable(right_version),
        )

    async def trim(self, part: Part, before: int) -> None:
        left_store, right_store = self._stores
        await self._both(
            "trim", lambda: left_store.trim(part, before), lambda: right_store.trim(part, before)
        )

    async def clear(self, part: Part) -> None:
        left_store, right_store = self._stores
        await self._both("clear", lambda: left_store.clear(part), lambda: right_store.clear(part))

    async def snapshot(self) -> ReadOnlyStore:
        left_store, right_store = self._stores
        left, right = await self._both("snapshot", left_store.snapshot, right_store.snapshot)
        return _MirrorReader(left, right, self._versions, self._lock)
