"""Follows what other nodes of a shared store change in the catalog.

Every node has all tables in memory. A change goes in with its commit; the others learn of it from the catalog
log (engine/catalog_log.py), at the latest when they use a table: a write carries the epoch of its table, and
the store rejects one that is not the newest.

    node A   adds an index to a table: its rows, an entry of the log, and the table's new epoch are one commit
    node B   writes an item with the epoch that it knows: Stale, and nothing is written
             follows the log, has the table with the index, and makes the write again, with the index's entry
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from faradisc.engine.catalog_log import CatalogLog, Followed
from faradisc.engine.tables.catalog_store import LAST_RESOURCE_KEY, CatalogStore
from faradisc.engine.tables.names import row_key
from faradisc.engine.tables.tables import Tables
from faradisc.errors import InternalServerError, ResourceNotFoundException, ValidationException
from faradisc.model.codec.keyspace import CATALOG_PART
from faradisc.storage.api import Row, Stale

T = TypeVar("T")

ATTEMPTS_MAX = 20
"""Attempts of a request whose tables other nodes keep changing."""


class CatalogFollower:
    def __init__(self, log: CatalogLog, tables: Tables, rows: CatalogStore) -> None:
        self._log = log
        self._tables = tables
        self._rows = rows
        self.change_lock = asyncio.Lock()
        """Held during a change of the catalog, and while changes of other nodes are taken over."""
        self._refreshes = 0
        """Number of refreshes that have ended."""
        log.add(Followed(CATALOG_PART, self._row_keys, self._take_over))

    async def refresh(self) -> None:
        """Takes over what other nodes have changed before this call."""
        # Requests that wait together share one: that of the first of them to get the lock.
        sufficient = self._refreshes + (2 if self.change_lock.locked() else 1)
        async with self.change_lock:
            if self._refreshes < sufficient:
                await self._log.follow()
                self._refreshes += 1

    async def with_newest(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Returns what `attempt` returns; again, when it has used tables that another node had changed.

        `attempt` must commit at most once. A repeated one is charged again.
        """
        for _ in range(ATTEMPTS_MAX):
            known = self._log.changes
            try:
                return await attempt()
            except Stale:
                await self.refresh()
            except (ResourceNotFoundException, ValidationException):
                await self.refresh()
                if self._log.changes == known:
                    raise
        raise InternalServerError

    def _row_keys(self) -> Iterator[bytes]:
        """Returns the keys of the catalog's rows that are in memory."""
        yield LAST_RESOURCE_KEY
        yield from map(row_key, [*self._tables.by_name, *self._tables.ended])

    def _take_over(self, rows: Sequence[tuple[bytes, Row | None]]) -> None:
        """Takes over rows of the catalog that another node may have changed. Requires: the change lock."""
        for key, row in rows:
            if key != LAST_RESOURCE_KEY:
                self._tables.take_over(key, row)
            elif row is not None:
                self._rows.note_last_resource(*row)
