"""The base of the suite: the capabilities of an engine, and how its tests run.

    class TestMyEngine(StoreSuite):
        capabilities = Capabilities(reopens=True, suspends=True)

        async def open_store(self, place: Path) -> Store:
            return await MyStore.open(place)

`place` is an empty directory per test; opening it again must find the data if the engine `reopens`. Each test
runs in its own event loop, even if the engine needs none.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from faradisc.records import dataclass
from faradisc.storage.api import Batch, Conflict, Part, ReadOnlyStore, Row, Store

PART = b"\x01part"
OTHER = b"\x02part"


@dataclass(frozen=True, slots=True)
class Capabilities:
    reopens: bool
    """Whether data is still there after `close`."""
    suspends: bool
    """Whether calls can wait in the event loop; otherwise `immediate.run` must be able to run all of them."""


class StoreContract(ABC):
    capabilities: ClassVar[Capabilities]

    @abstractmethod
    async def open_store(self, place: Path) -> Store:
        """Opens the engine in `place`, and creates it when empty."""


C = TypeVar("C", bound=StoreContract)


def scenario(body: Callable[[C, Store], Coroutine[Any, Any, None]]) -> Callable[[C, Path], None]:
    """Makes a test from a coroutine that takes an open, empty store, which is closed after it."""

    def test(self: C, tmp_path: Path) -> None:
        async def play() -> None:
            store = await self.open_store(tmp_path)
            try:
                await body(self, store)
            finally:
                await store.close()

        asyncio.run(play())

    test.__name__ = body.__name__
    test.__qualname__ = body.__qualname__
    test.__doc__ = body.__doc__
    return test


# --- Helpers -------------------------------------------------------------------------------------


async def applied(store: Store, *batches: Batch) -> list[int]:
    """Commits. Returns the log numbers; fails on a conflict."""
    answer = await store.commit(batches)
    assert not isinstance(answer, Conflict), f"unexpected {answer}"
    return answer


async def put(store: Store, key: bytes, payload: bytes, part: Part = PART) -> None:
    await applied(store, Batch(part, puts=[(key, payload)]))


async def delete(store: Store, key: bytes, part: Part = PART) -> None:
    await applied(store, Batch(part, deletes=[key]))


async def row_of(store: ReadOnlyStore, key: bytes, part: Part = PART) -> Row | None:
    [row] = await store.get(part, [key])
    return row


async def payload_of(store: ReadOnlyStore, key: bytes, part: Part = PART) -> bytes | None:
    row = await row_of(store, key, part)
    return None if row is None else row[1]


async def version_of(store: ReadOnlyStore, key: bytes, part: Part = PART) -> int:
    row = await row_of(store, key, part)
    return 0 if row is None else row[0]


async def contents(store: ReadOnlyStore, part: Part = PART) -> dict[bytes, bytes]:
    """Returns the payloads of a part by key, in ascending order."""
    return {key: row[1] for key, row in await store.range(part, None, None, limit=1_000_000)}
