"""MirrorStore: runs every call on two engines and compares their results.

Each engine has its own version numbers. The first time that two rows are compared, their versions become a
pair; from then on one corresponds to the other, and pairs must rise together. Callers see the left engine's
numbers.

Calls run one after the other under a lock, because the engines can order overlapping commits differently, and
both orders are correct.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, Part, ReadOnlyStore, Row, Store

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
        self._stores: tuple[Any, Any] = left, right
        self._versions = versions
        self._lock = lock

    async def _both(self, name: str, left: Sequence[Any], right: Sequence[Any], **options: Any) -> Any:
        """Calls a method with each engine's arguments. Returns both results.

        Raises the error that both raise; Difference if only one raises.
        """
        async with self._lock:
            answers: list[Any] = []
            errors: list[Exception] = []
            for store, arguments in zip(self._stores, (left, right), strict=True):
                try:
                    answers.append(await getattr(store, name)(*arguments, **options))
                except (StorageError, TypeError, ValueError) as error:
                    errors.append(error)
            kinds = {type(error) for error in errors}
            if len(errors) == 1 or (errors and isinstance(errors[0], StorageError) and len(kinds) > 1):
                raise Difference(f"{name}: {errors!r} beside {answers!r}") from errors[0]
            if errors:
                raise errors[0]
            return answers

    async def _alike(self, name: str, *arguments: Any) -> Any:
        """Calls a method of both engines, whose results must be equal."""
        left, right = await self._both(name, arguments, arguments)
        return self._same(name, left, right)

    def _same(self, name: str, left: Any, right: Any) -> Any:
        if left != right:
            raise Difference(f"{name}: {left!r} beside {right!r}")
        return left

    def _same_rows(self, name: str, left: list[Row | None], right: list[Row | None]) -> list[Row | None]:
        self._same(f"length of {name}", len(left), len(right))
        for one, other in zip(left, right, strict=True):
            self._same(name, one and one[1], other and other[1])
            if one is not None and other is not None:
                self._versions.pair(one[0], other[0])
        return left

    async def get(self, *arguments: Any, **options: Any) -> list[Row | None]:
        return self._same_rows("get", *await self._both("get", arguments, arguments, **options))

    async def range(self, *arguments: Any, **options: Any) -> list[tuple[bytes, Row]]:
        pages: list[list[tuple[bytes, Row]]] = await self._both("range", arguments, arguments, **options)
        left, right = pages
        self._same("keys of range", [key for key, _ in left], [key for key, _ in right])
        self._same_rows("range", [row for _, row in left], [row for _, row in right])
        return left

    async def read_many(self, keys: Sequence[tuple[Part, bytes]]) -> list[Row | None]:
        return self._same_rows("read_many", *await self._both("read_many", [keys], [keys]))

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        entries: list[tuple[int, bytes]] = await self._alike("log", part, after, limit)
        return entries

    async def usage(self, part: Part) -> tuple[int, int]:
        usage: tuple[int, int] = await self._alike("usage", part)
        return usage

    async def parts(self) -> list[tuple[Part, int]]:
        found: list[tuple[Part, int]] = await self._alike("parts")
        return found

    async def close(self) -> None:
        self._versions.check_order()
        await self._alike("close")


class MirrorStore(_MirrorReader):
    def __init__(self, left: Store, right: Store) -> None:
        super().__init__(left, right, _Versions(), asyncio.Lock())

    @property
    def failure(self) -> StorageError | None:
        left, right = self._stores
        failure: StorageError | None = left.failure or right.failure
        return failure

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        translated = [
            replace(batch, checks=[(key, self._versions.right_of(version)) for key, version in batch.checks])
            for batch in batches
        ]
        answers: list[list[int] | Conflict] = await self._both(
            "commit", [batches], [translated], durable=durable
        )
        left, right = answers
        if isinstance(left, Conflict) and isinstance(right, Conflict):
            self._same("conflict", (left.part, left.key), (right.part, right.key))
            self._versions.pair(left.found, right.found)
        else:
            self._same("commit", left, right)
        return left

    async def flush(self) -> None:
        await self._alike("flush")

    async def wait_durable(self, version: int) -> None:
        await self._both("wait_durable", [version], [self._versions.right_of(version)])

    async def trim(self, part: Part, before: int) -> None:
        await self._alike("trim", part, before)

    async def clear(self, part: Part) -> None:
        await self._alike("clear", part)

    async def snapshot(self) -> ReadOnlyStore:
        left, right = await self._both("snapshot", [], [])
        return _MirrorReader(left, right, self._versions, self._lock)
