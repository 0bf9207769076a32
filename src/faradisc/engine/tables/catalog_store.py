"""The catalog's rows: reading them at the start, and committing changes of them.

The catalog is one part of the store (resource 0): a row per table, key `namespace 00 name`, value the table's
state as JSON; and one row, key FF, with the last resource number that was assigned. Every commit checks the
versions that this process has read or written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from faradisc.engine.catalog_log import CatalogLog
from faradisc.engine.tables.names import NsName, row_key
from faradisc.engine.tables.state import TableState
from faradisc.model.codec.keyspace import CATALOG_PART
from faradisc.storage.api import Batch, Conflict, Store, all_rows

LAST_RESOURCE_KEY = b"\xff"
UNKNOWN_VERSION = -1
"""No row has it, so a change that checks it conflicts, unless the log brings the row first."""


class CatalogStore:
    """Belongs to one catalog, which makes one change at a time."""

    def __init__(self, store: Store, log: CatalogLog, ended: dict[NsName, int]) -> None:
        """ended: deleted tables with the version of their row, which the next commit deletes."""
        self._store = store
        self._log = log
        self._last_resource = 0
        self._last_resource_version = 0
        self._ended = ended

    async def load(self) -> list[tuple[TableState, int]]:
        """Returns the state of every table with the version of its row."""
        tables: list[tuple[TableState, int]] = []
        for key, (version, payload) in await all_rows(self._store, CATALOG_PART):
            if key == LAST_RESOURCE_KEY:
                self.note_last_resource(version, payload)
            else:
                tables.append((TableState.from_json(orjson.loads(payload)), version))
        return tables

    def note_last_resource(self, version: int, payload: bytes) -> None:
        """Notes the row of the last resource number as it is stored."""
        self._last_resource = int.from_bytes(payload, "big")
        self._last_resource_version = version

    def unused_numbers(self) -> ResourceNumbers:
        """Returns unused resource numbers; those that are taken count as used once they are committed."""
        return ResourceNumbers(self._last_resource)

    async def commit(
        self, state: TableState, version: int, numbers: ResourceNumbers, further: Sequence[Batch]
    ) -> int | None:
        """Stores a table's state together with further batches; returns the version of the table's row.

        Returns None, and changes nothing, when another process has changed the row meanwhile. Raises
        StorageError; then it is not known whether the commit was made.
        version: of the row that is replaced; 0 for a new one.
        """
        name = (state.namespace, state.name)
        key = row_key(name)
        payload = orjson.dumps(state.to_json())
        batch = Batch(CATALOG_PART, checks=[(key, version)], puts=[(key, payload)])
        if numbers.last != self._last_resource:
            batch.checks.append((LAST_RESOURCE_KEY, self._last_resource_version))
            batch.puts.append((LAST_RESOURCE_KEY, numbers.last.to_bytes(4, "big")))
        ended = [(row_key(place), of_row) for place, of_row in self._ended.items() if place != name]
        batch.checks += ended
        batch.deletes += [row for row, _ in ended]
        batch.log += self._log.entries(CATALOG_PART, [*(row for row, _ in batch.puts), *batch.deletes])
        taken = dict(self._ended)
        self._ended.clear()
        before, self._last_resource = self._last_resource, numbers.last
        committed = False
        try:
            committed = not isinstance(await self._store.commit([batch, *further]), Conflict)
        finally:
            if not committed:
                for place, of_row in taken.items():
                    self._ended.setdefault(place, of_row)
                self._last_resource = before
        if not committed:
            return None
        (row,) = await self._store.get(CATALOG_PART, (key,))
        if row is None or row[1] != payload:
            return UNKNOWN_VERSION  # another process has changed the row since
        if numbers.last != before:
            self._last_resource_version = row[0]
        return row[0]

    def batches_to_drop(self, states: Sequence[TableState]) -> tuple[Batch, Batch]:
        """Returns a batch that stores these tables as deleted, and one that deletes their rows and those in
        `ended`, which is empty then."""
        rows = [(row_key((state.namespace, state.name)), orjson.dumps(state.to_json())) for state in states]
        keys = dict.fromkeys([key for key, _ in rows] + [row_key(name) for name in self._ended])
        self._ended.clear()
        entries = self._log.entries(CATALOG_PART, keys)
        return Batch(CATALOG_PART, puts=rows, log=entries), Batch(
            CATALOG_PART, deletes=list(keys), log=entries
        )


class ResourceNumbers(Iterator[int]):
    """Numbers after the last one that was assigned."""

    def __init__(self, last: int) -> None:
        self.last = last

    def __next__(self) -> int:
        self.last += 1
        return self.last
