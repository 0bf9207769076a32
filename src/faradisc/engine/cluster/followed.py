"""Rows of one part of the system that every node keeps in memory, and that any node may change.

On a shared store each commit of such rows appends their keys to the part's log, and a node that follows the
log reads these rows again. On an embedded store no other process changes them, so nothing is logged, checked
or read.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, Part, Store

PAGE_ROWS = 1000
ENTRIES_MAX = 10_000
"""Log entries that stay; a node that is further behind reads all rows again."""

Rows = list[tuple[bytes, bytes | None]]
"""(key, value); None: the row was deleted."""


class Changed(StorageError):
    """Another node has changed the rows that were to be changed. Nothing was written; a retry helps."""


class FollowedRows:
    """The rows of one part."""

    def __init__(self, store: Store, part: Part) -> None:
        self._store = store
        self._part = part
        self._seen = 0
        """The last log entry whose rows are known."""
        self._known: dict[bytes, tuple[int, bytes]] = {}
        """(version, value) of all rows, on a shared store."""

    async def load(self) -> list[tuple[bytes, bytes]]:
        """Returns all rows, by key."""
        if self._store.shared:
            committed = await self._store.commit([Batch(self._part)])
            assert not isinstance(committed, Conflict), "nothing was checked"
            self._seen = committed[0]
            self._known.clear()
        found: list[tuple[bytes, bytes]] = []
        low: bytes | None = b""
        while low is not None:
            rows = await self._store.range(self._part, low, None, limit=PAGE_ROWS)
            found += [(key, value) for key, (_, value) in rows]
            if self._store.shared:
                self._known.update(rows)
            low = rows[-1][0] + b"\x00" if rows else None
        return found

    async def changed(self) -> Rows:
        """Returns the rows that other nodes have changed since they were read."""
        if not self._store.shared:
            return []
        entries = await self._store.log(self._part, self._seen, ENTRIES_MAX)
        if not entries:
            return []
        if entries[0][0] > self._seen + 1:
            return await self._all_changed()
        keys = list(dict.fromkeys(key for _, key in entries))
        rows = await self._store.get(self._part, keys)
        changed: Rows = []
        for key, row in zip(keys, rows, strict=True):
            before = self._known.pop(key, None)
            if row is not None:
                self._known[key] = row
            if (before and before[1]) != (row and row[1]):
                changed.append((key, None if row is None else row[1]))
        self._seen = entries[-1][0]
        if self._seen // ENTRIES_MAX > (entries[0][0] - 1) // ENTRIES_MAX:
            await self._store.trim(self._part, self._seen - ENTRIES_MAX)
        return changed

    async def _all_changed(self) -> Rows:
        before = dict(self._known)
        rows = dict(await self.load())
        changed: Rows = [(key, None) for key in before.keys() - rows.keys()]
        return changed + [each for each in rows.items() if before.get(each[0], (0, b""))[1] != each[1]]

    def batch(
        self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes] = (), *, checked: bool = False
    ) -> Batch:
        """Returns a batch that changes rows; other nodes learn of it.

        checked: only if the rows are those that this node knows.
        """
        batch = Batch(self._part, puts=list(puts), deletes=list(deletes))
        if self._store.shared:
            batch.log = [*(key for key, _ in batch.puts), *batch.deletes]
            if checked:
                batch.checks = [(key, self._known.get(key, (0, b""))[0]) for key in batch.log]
        return batch

    async def commit(self, batch: Batch, *others: Batch) -> None:
        """Commits a batch of these rows with others. Raises Changed."""
        if isinstance(await self._store.commit([batch, *others]), Conflict):
            raise Changed("the rows were changed by another node at the same time")
        self.written(batch)

    def written(self, batch: Batch) -> None:
        """Must be called after a commit of a batch, unless `commit` made it: its own changes are no news."""
        if self._store.shared:
            for key, value in batch.puts:
                self._known[key] = (self._known.get(key, (0, b""))[0], value)
            for key in batch.deletes:
                self._known.pop(key, None)
