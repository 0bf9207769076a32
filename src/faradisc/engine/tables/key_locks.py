"""Locks of single items, for writes of this node to a shared store.

There another write can come between the read of an item and its commit, which then conflicts and is tried
again. Writes of one node to one item take turns instead, so that only other nodes cause conflicts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

Location = tuple[bytes, bytes]
"""Part and row key of an item."""


class KeyLocks:
    """Belongs to one catalog."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Location, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def held(self, locations: Iterable[Location]) -> AsyncIterator[None]:
        """Holds the locks of some items. One order for all, so that no two writes wait for each other."""
        async with AsyncExitStack() as stack:
            for location in sorted(set(locations)):
                lock = self._locks.get(location)
                if lock is None:
                    lock = self._locks[location] = asyncio.Lock()
                await stack.enter_async_context(lock)
            yield
