"""MirrorStore: runs every call on two engines and compares their results.

Each engine has its own version numbers. The first time that two rows of a part are compared, their versions
become a pair; from then on one corresponds to the other in that part, and pairs must rise together. Callers
see the left engine's numbers.

Calls run one after the other under a lock, because the engines can order overlapping commits differently, and
both orders are correct.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, Part, ReadOnlyStore, Row, Store

UNSEEN = (1 << 63) - 1
"""In checks, in place of a version that no read has returned: no row has it."""


class Difference(AssertionError):
    """The results of the two engines differ."""


class _Versions:
    """Pairs of corresponding versions, by part."""

    def __init__(self) -> None:
        self._right_of: dict[Part, dict[int, int]] = defaultdict(lambda: {0: 0})
        self._left_of: dict[Part, dict[int, int]] = defaultdict(lambda: {0: 0})

    def pair(self, part: Part, left: int, right: int) -> None:
        known_right = self._right_of[part].setdefault(left, right)
        known_left = self._left_of[part].setdefault(right, left)
        if known_right != right or known_left != left:
            raise Difference(
                f"version {left} with {right}, earlier {left}/{known_right}, {known_left}/{right}"
            )

    def right_of(self, part: Part, left: int) -> int:
        return self._right_of[part].get(left, UNSEEN)

    def right_of_any(self, left: int) -> int:
        return max((pairs[left] for pairs in self._right_of.values() if left in pairs), default=UNSEEN)

    def check_order(self) -> None:
        for part, pairs in self._right_of.items():
            rights = [right for _, right in sorted(pairs.items())]
            if rights != sorted(rights):
                raise Difference(f"the engines' versions of part {part.hex()} do not rise together")


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

    def _same_rows(
        self, name: str, parts: Sequence[Part], left: list[Row | None], right: list[Row | None]
    ) -> list[Row | None]:
        self._same(f"length of {name}", len(left), len(right))
        for part, one, other in zip(parts, left, right, strict=True):
            self._same(name, one and one[1], other and other[1])
            if one is not None and other is not None:
                self._versions.pair(part, one[0], other[0])
        return left

    async def get(self, part: Part, keys: Sequence[bytes], **options: Any) -> list[Row | None]:
        arguments = (part, keys)
        answers = await self._both("get", arguments, arguments, **options)
        return self._same_rows("get", [part] * len(keys), *answers)

    async def range(self, part: Part, *bounds: Any, **options: Any) -> list[tuple[bytes, Row]]:
        arguments = (part, *bounds)
        pages: list[list[tuple[bytes, Row]]] = await self._both("range", arguments, arguments, **options)
        left, right = pages
        self._same("keys of range", [key for key, _ in left], [key for key, _ in right])
        self._same_rows("range", [part] * len(left), [row for _, row in left], [row for _, row in right])
        return left

    async def read_many(
        self, keys: Sequence[tuple[Part, bytes]], *, epochs: Mapping[Part, int] | None = None
    ) -> list[Row | None]:
        answers = await self._both("read_many", [keys], [keys], epochs=epochs)
        return self._same_rows("read_many", [part for part, _ in keys], *answers)

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

    shared = False

    @property
    def slots(self) -> int:
        slots: int = self._stores[0].slots
        return slots

    async def sweep(self) -> bool:
        return any([await store.sweep() for store in self._stores])

    async def now_ns(self) -> int | None:
        now_ns: int | None = await self._stores[0].now_ns()
        return now_ns

    @property
    def failure(self) -> StorageError | None:
        left, right = self._stores
        failure: StorageError | None = left.failure or right.failure
        return failure

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        translated = [
            replace(
                batch,
                checks=[(key, self._versions.right_of(batch.part, version)) for key, version in batch.checks],
            )
            for batch in batches
        ]
        answers: list[list[int] | Conflict] = await self._both(
            "commit", [batches], [translated], durable=durable
        )
        left, right = answers
        if isinstance(left, Conflict) and isinstance(right, Conflict):
            self._same("conflict", (left.part, left.key), (right.part, right.key))
            self._versions.pair(left.part, left.found, right.found)
        else:
            self._same("commit", left, right)
        return left

    async def flush(self) -> None:
        await self._alike("flush")

    async def wait_durable(self, version: int) -> None:
        await self._both("wait_durable", [version], [self._versions.right_of_any(version)])

    async def trim(self, part: Part, before: int) -> None:
        await self._alike("trim", part, before)

    async def clear(self, part: Part) -> None:
        await self._alike("clear", part)

    async def snapshot(self) -> ReadOnlyStore:
        left, right = await self._both("snapshot", [], [])
        return _MirrorReader(left, right, self._versions, self._lock)
