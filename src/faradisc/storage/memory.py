"""The memory engine: the smallest correct store, and the model that the others are compared with.

A part has a dict of rows and its keys in order. Data ends with the process, so a commit is durable at once,
no call ever suspends, and `immediate.run` can run all of them.

A snapshot pins the parts without a copy; the first later write to a pinned part replaces it by a copy. So
does a fork, whose parts stay pinned.

Stores of one MemoryPlace share its rows, as processes share a database: for tests of several nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from faradisc.errors import StorageError
from faradisc.storage.api import (
    EMBEDDED_SLOTS,
    NETWORKED_SLOTS,
    Batch,
    Closed,
    Conflict,
    Epochs,
    Keys,
    Part,
    ReadOnlyStore,
    Row,
    Stale,
)
from faradisc.storage.ordered import OrderedKeys


class _Part:
    __slots__ = ("bytes", "entries", "items", "keys", "last", "pins", "rows")

    def __init__(self) -> None:
        self.rows: dict[bytes, Row] = {}
        self.keys = OrderedKeys()
        self.entries: list[bytes] = []
        """The log's tail; the last one has the number `last`."""
        self.last = 0
        self.items = 0
        self.bytes = 0
        self.pins = 0
        """Number of open snapshots, and of other stores made by `fork`, that read this object."""

    def copy(self) -> _Part:
        twin = _Part()
        twin.rows = self.rows.copy()
        twin.keys = self.keys.copy()
        twin.entries = self.entries.copy()
        twin.last, twin.items, twin.bytes = self.last, self.items, self.bytes
        return twin

    def put(self, key: bytes, row: Row) -> None:
        if key not in self.rows:
            self.keys.add(key)
        self.rows[key] = row

    def delete(self, key: bytes) -> None:
        if self.rows.pop(key, None) is not None:
            self.keys.remove(key)


_EMPTY = _Part()
"""In place of parts that were never written; never changed."""


class MemoryPlace:
    """What the stores of one place share."""

    def __init__(self) -> None:
        self.parts: dict[Part, _Part] = {}
        self.epochs: dict[Part, int] = {}
        self.version = 0


class _View:
    """The reads of the store and its snapshots."""

    def __init__(self, parts: dict[Part, _Part], epochs: dict[Part, int]) -> None:
        self._parts = parts
        self._epochs = epochs
        self._closed = False

    def _part(self, part: Part, epoch: int | None = None) -> _Part:
        if self._closed:
            raise Closed
        if epoch is not None and epoch != self._epochs.get(part, 0):
            raise Stale
        return self._parts.get(part, _EMPTY)

    async def get(
        self,
        part: Part,
        keys: Sequence[bytes],
        *,
        for_update: bool = False,
        stale_ok: bool = False,
        epoch: int | None = None,
    ) -> list[Row | None]:
        rows = self._part(part, epoch).rows
        return [rows.get(key) for key in keys]

    async def range(
        self,
        part: Part,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool = False,
        max_bytes: int | None = None,
        epoch: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        data = self._part(part, epoch)
        rows = data.rows
        keys = data.keys.descending(lo, hi) if reverse else data.keys.ascending(lo, hi)
        if max_bytes is None:
            return [(key, rows[key]) for key in islice(keys, limit)]
        page: list[tuple[bytes, Row]] = []
        left = max_bytes
        for key in islice(keys, limit):
            row = rows[key]
            page.append((key, row))
            left -= len(row[1])
            if left < 0:
                break
        return page

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        epochs = epochs or {}
        return [self._part(part, epochs.get(part)).rows.get(key) for part, key in keys]

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        data = self._part(part)
        trimmed = data.last - len(data.entries)
        start = max(after - trimmed, 0)
        return list(enumerate(data.entries[start : start + limit], start=trimmed + start + 1))

    async def usage(self, part: Part) -> tuple[int, int]:
        data = self._part(part)
        return data.items, data.bytes

    async def parts(self) -> list[tuple[Part, int]]:
        if self._closed:
            raise Closed
        return [
            (name, data.last)
            for name, data in sorted(self._parts.items())
            if data.rows or data.last or data.items or data.bytes
        ]


class _Snapshot(_View):
    def __init__(self, place: MemoryPlace) -> None:
        super().__init__(place.parts.copy(), place.epochs.copy())
        for data in self._parts.values():
            data.pins += 1

    async def close(self) -> None:
        self._closed = True
        for data in self._parts.values():
            data.pins -= 1
        self._parts.clear()


class MemoryStore(_View):
    """A store without a disk. Never suspends."""

    is_loose = False

    def __init__(self, place: MemoryPlace | None = None) -> None:
        """place: to be shared with other stores."""
        self._place = place or MemoryPlace()
        super().__init__(self._place.parts, self._place.epochs)
        self.shared = place is not None
        self.slots = NETWORKED_SLOTS if self.shared else EMBEDDED_SLOTS
        self._snapshots: list[_Snapshot] = []

    def fork(self) -> MemoryStore:
        """Returns a store with the same rows and log. Neither sees later changes of the other.

        Raises Closed. Requires: no other store shares the place.
        """
        if self._closed:
            raise Closed
        place = MemoryPlace()
        place.parts.update(self._parts)
        place.epochs.update(self._epochs)
        place.version = self._place.version
        for data in place.parts.values():
            data.pins += 1
        twin = MemoryStore(place)
        twin.shared, twin.slots = self.shared, self.slots
        return twin

    async def now_ns(self) -> None:
        return None

    @property
    def failure(self) -> StorageError | None:
        return None

    def _writable(self, part: Part) -> _Part:
        data = self._parts.get(part)
        if data is None:
            data = self._parts[part] = _Part()
        elif data.pins:
            data = self._parts[part] = data.copy()
        return data

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        if self._closed:
            raise Closed
        for batch in batches:
            self._part(batch.part, batch.epoch)
        for batch in batches:
            rows = self._part(batch.part).rows
            for key, version in batch.checks:
                row = rows.get(key)
                found = 0 if row is None else row[0]
                if found != version:
                    return Conflict(batch.part, key, found)
            batch.check_bytes()
        self._place.version += 1
        version = self._place.version
        answer: list[int] = []
        for batch in batches:
            data = self._writable(batch.part)
            for key, payload in batch.puts:
                data.put(key, (version, payload))
            for key in batch.deletes:
                data.delete(key)
            data.entries += batch.log
            data.last += len(batch.log)
            data.items += batch.items_delta
            data.bytes += batch.bytes_delta
            if batch.fence is not None:
                self._epochs[batch.part] = batch.fence
            answer.append(data.last)
        return answer

    async def flush(self) -> None:
        if self._closed:
            raise Closed

    async def wait_durable(self, version: int) -> None:
        if self._closed:
            raise Closed

    async def trim(self, part: Part, before: int) -> None:
        if self._part(part).entries:
            data = self._writable(part)
            trimmed = data.last - len(data.entries)
            del data.entries[: max(before - trimmed - 1, 0)]

    async def clear(self, part: Part) -> None:
        self._part(part)
        self._parts.pop(part, None)

    async def sweep(self) -> bool:
        return False

    async def snapshot(self) -> ReadOnlyStore:
        if self._closed:
            raise Closed
        self._snapshots = [each for each in self._snapshots if not each._closed]
        snapshot = _Snapshot(self._place)
        self._snapshots.append(snapshot)
        return snapshot

    async def close(self) -> None:
        self._closed = True
        for snapshot in self._snapshots:
            await snapshot.close()
        self._snapshots.clear()
        if not self.shared:
            self._parts.clear()
