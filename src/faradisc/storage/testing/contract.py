"""The base of the suite: what an engine declares, and how its tests run.

    class TestMyEngine(StoreSuite):
        capabilities = Capabilities(reopens=True, suspends=True)

        async def open_store(self, place: Path) -> Store:
            return await MyStore.open(place)

`place` is an empty directory of the test's own; opening it again must find the data again when the
engine `reopens`. Each test runs in an event loop of its own, whether the engine needs one or not.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from faradisc.storage.api import Batch, Conflict, Part, ReadOnlyStore, Row, Store

PART = b"\x01part"
OTHER = b"\x02part"


@dataclass(frozen=True, slots=True)
class Capabilities:
    reopens: bool
    """Data outlives `close`."""
    suspends: bool
    """Calls may wait in the event loop; otherwise `immediate.run` must be able to drive all of them."""


class StoreContract(ABC):
    capabilities: ClassVar[Capabilities]

    @abstractmethod
    async def open_store(self, place: Path) -> Store:
        """Open the engine on `place`, creating it when empty."""


C = TypeVar("C", bound=StoreContract)


def scenario(body: Callable[[C, Store], Coroutine[Any, Any, None]]) -> Callable[[C, Path], None]:
    """Make a test of a coroutine that gets an open, empty store, closed after it."""

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


# --- Short words for scenarios -------------------------------------------------------------------


async def applied(store: Store, *batches: Batch) -> list[int]:
    """Commit and insist that nothing conflicts."""
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
    """All of a part, in ascending order."""
    return {key: row[1] for key, row in await store.range(part, None, None, limit=1_000_000)}
