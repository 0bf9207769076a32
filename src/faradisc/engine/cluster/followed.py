"""Rows of one part of the system that every node keeps in memory, and that any node may change.

On a shared store each commit of such rows appends their keys to the part's log, and a node that follows the
log reads these rows again. On an embedded store no other process changes them, so nothing is logged, checked
or read.

An example, the row k of the backups, whose log has 41 entries:

    node A   commits k=AVAILABLE; the log's entry 42 is k
    node B   has seen 41, so `changed` reads entry 42, then k, and returns (k, AVAILABLE)
    node C   has the old k, and deletes it with `unchanged` k: Changed, since it knows another version
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, Part, Store, all_rows

ENTRIES_MAX = 10_000
"""Log entries that stay; a node that is further behind reads all rows again."""

_ABSENT = (0, b"")

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
        rows = await all_rows(self._store, self._part)
        if self._store.shared:
            self._known.update(rows)
        return [(key, value) for key, (_, value) in rows]

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
        return changed + [each for each in rows.items() if before.get(each[0], _ABSENT)[1] != each[1]]

    def batch(
        self,
        puts: Iterable[tuple[bytes, bytes]],
        deletes: Iterable[bytes] = (),
        *,
        unchanged: Iterable[bytes] = (),
    ) -> Batch:
        """Returns a batch that changes rows; other nodes learn of it.

        unchanged: keys of rows that must be as this node knows them.
        """
        batch = Batch(self._part, puts=list(puts), deletes=list(deletes))
        if self._store.shared:
            batch.log = [*(key for key, _ in batch.puts), *batch.deletes]
            batch.checks = [(key, self._known.get(key, _ABSENT)[0]) for key in unchanged]
        return batch

    async def commit(self, batch: Batch, *others: Batch) -> None:
        """Commits a batch of these rows with others. Raises Changed, StorageError."""
        if isinstance(await self._store.commit([batch, *others]), Conflict):
            raise Changed("another node has changed the same rows at the same time")
        if not self._store.shared:
            return
        # What this node has written itself is no news to it; a check needs the new versions.
        written: dict[bytes, bytes | None] = {**dict.fromkeys(batch.deletes), **dict(batch.puts)}
        rows = await self._store.get(self._part, list(written))
        for (key, value), row in zip(written.items(), rows, strict=True):
            if value is None:
                self._known.pop(key, None)
            elif row is not None and row[1] == value:
                self._known[key] = row
            else:  # changed again meanwhile, which the log says
                self._known[key] = (self._known.get(key, _ABSENT)[0], value)
