"""The catalog log: how the nodes of a shared store learn what another node has changed.

Every node has the tables and streams in memory. The commit that changes a row of them appends an entry to
the log of the catalog's part. A node follows that log: it reads again the rows that new entries name. On the
store of one process nothing is written and nothing is read.

    entry     length of the part's name (1 byte), the name, the key of the row
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from faradisc.model.codec.keyspace import CATALOG_PART
from faradisc.records import dataclass
from faradisc.storage.api import Batch, Conflict, Part, Row, Store, all_rows

ENTRIES_PER_READ = 1000
ENTRIES_KEPT = 10_000
"""Older entries are deleted. A node that has missed some of them reads all rows again."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A part whose rows are in memory."""

    part: Part
    known: Callable[[], Iterable[bytes]]
    """Returns the keys of the rows in memory."""
    take_over: Callable[[Sequence[tuple[bytes, Row | None]]], None]
    """Takes over rows as they are stored now; None: the row was deleted."""


class CatalogLog:
    """Belongs to one catalog."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last = 0
        """Number of the last entry whose row is in memory."""
        self._followed: list[Followed] = []
        self.changes = 0
        """Number of times that something was taken over."""

    def add(self, followed: Followed) -> None:
        """Follows a part; its rows are taken over after those of parts that were added before."""
        self._followed.append(followed)

    async def start(self) -> None:
        """Must be called before the rows are read for the first time."""
        if self._store.shared:
            last = await self._store.commit([Batch(CATALOG_PART)])
            assert not isinstance(last, Conflict), "nothing was checked"
            (self._last,) = last

    def entries(self, part: Part, keys: Iterable[bytes]) -> list[bytes]:
        """Returns the entries for rows that change, to be appended in the commit of the rows."""
        return [bytes([len(part)]) + part + key for key in keys] if self._store.shared else []

    def batches(self, part: Part, *keys: bytes) -> list[Batch]:
        """Returns the entries for rows that change as batches: one, or none."""
        entries = self.entries(part, keys)
        return [Batch(CATALOG_PART, log=entries)] if entries else []

    async def follow(self) -> bool:
        """Takes over what has changed; returns False when nothing has. Requires: one call at a time."""
        if not self._store.shared:
            return False
        last = self._last
        wanted: dict[tuple[Part, bytes], None] = {}
        found: list[Row | None] = []
        # Until nothing is added during the read of the rows: a row can need another one that changes with it.
        while entries := await self._store.log(CATALOG_PART, last, ENTRIES_PER_READ):
            if entries[0][0] == last + 1:
                wanted.update(dict.fromkeys(_row_of(entry) for _, entry in entries))
            else:
                wanted.update(await self._all_rows())
            last = entries[-1][0]
            found = await self._store.read_many(list(wanted))
        if not wanted:
            return False
        # From here on nothing suspends, so requests see all of it or nothing.
        before, self._last = self._last, last
        self.changes += 1
        rows = list(zip(wanted, found, strict=True))
        for followed in self._followed:
            own = [(key, row) for (part, key), row in rows if part == followed.part]
            if own:
                followed.take_over(own)
        if before // ENTRIES_PER_READ != last // ENTRIES_PER_READ:
            await self._store.trim(CATALOG_PART, last - ENTRIES_KEPT)
        return True

    async def _all_rows(self) -> dict[tuple[Part, bytes], None]:
        """Returns part and key of every row that is stored or in memory."""
        wanted: dict[tuple[Part, bytes], None] = {}
        for followed in self._followed:
            wanted.update(dict.fromkeys((followed.part, key) for key in followed.known()))
            rows = await all_rows(self._store, followed.part)
            wanted.update(dict.fromkeys((followed.part, key) for key, _ in rows))
        return wanted


def _row_of(entry: bytes) -> tuple[Part, bytes]:
    end = 1 + entry[0]
    return entry[1:end], entry[end:]
