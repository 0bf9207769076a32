"""Reads: one statement each, so each sees one state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from faradisc.storage.api import Epochs, Keys, Part, Row, Stale
from faradisc.storage.postgres.keys import (
    ABOVE_ALL,
    HEAD_BYTES,
    above_head,
    head,
    is_long,
    loaded,
    stored_key,
)

SORTED_ROWS = 200
"""Rows per statement where long keys have to be sorted."""
BIGGEST = (1 << 63) - 1
ONE_ROW = """SELECT p.epoch, kv.ver, kv.v FROM kv_part p
 LEFT JOIN kv ON kv.part = p.part AND kv.gen = abs(p.gen) AND kv.k = $2 WHERE p.part = $1"""
ROWS = """SELECT u.n, p.epoch, kv.ver, kv.v
 FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS u(part, k, n)
 LEFT JOIN kv_part p ON p.part = u.part
 LEFT JOIN kv ON kv.part = p.part AND kv.gen = abs(p.gen) AND kv.k = u.k"""
_PAGE = "SELECT key, version, payload FROM kv_page($1, $2, $3, $4, $5, $6, $7)"
LOG = """SELECT seq, entry FROM kv_log
 WHERE part = $1 AND gen = (SELECT abs(gen) FROM kv_part WHERE part = $1) AND seq > $2
 ORDER BY part, gen, seq LIMIT $3"""
USAGE = "SELECT items, bytes FROM kv_part WHERE part = $1"
_PARTS = """SELECT part, seq FROM kv_part p WHERE seq > 0 OR items <> 0 OR bytes <> 0
 OR EXISTS (SELECT FROM kv WHERE kv.part = p.part AND kv.gen = abs(p.gen)) ORDER BY part"""

Scan = tuple[Part, bool, int | None]
"""The part, whether descending, and the epoch."""


class Reader(ABC):
    """The reads of the store and of its snapshots."""

    @abstractmethod
    async def _fetch(self, statement: str, *arguments: Any) -> list[Any]:
        """Returns the rows of one statement. Raises StorageError."""

    @abstractmethod
    def _one_state(self) -> AbstractAsyncContextManager[Reader]:
        """Returns a reader all of whose calls see one state."""

    async def get(
        self,
        part: Part,
        keys: Sequence[bytes],
        *,
        for_update: bool = False,
        stale_ok: bool = False,
        epoch: int | None = None,
    ) -> list[Row | None]:
        if len(keys) != 1:
            epochs = None if epoch is None else {part: epoch}
            return await self.read_many([(part, key) for key in keys], epochs=epochs)
        key = keys[0]
        found, version, payload = await self._row(part, stored_key(key), stale_ok=stale_ok)
        if epoch is not None and found != epoch:
            raise Stale
        if version is None:
            return [None]
        return [(version, loaded(key, payload)[1])]

    async def _row(self, part: Part, key: bytes, *, stale_ok: bool) -> tuple[int | None, int | None, bytes]:
        """Returns the part's epoch, the version and the payload; a version of None: absent."""
        rows = await self._fetch(ONE_ROW, part, key)
        return rows[0] if rows else (0, None, b"")

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
        low = lo or b""
        room = BIGGEST if max_bytes is None else max_bytes
        scan = (part, reverse, epoch)
        if not is_long(low) and (hi is None or not is_long(hi)):
            page = await self._page(scan, low, ABOVE_ALL if hi is None else hi, limit=limit, room=room)
            if max([len(key) for key, _ in page], default=0) <= HEAD_BYTES:
                return page
        async with self._one_state() as reader:
            return await reader._sorted_range(scan, low, hi, limit=limit, room=room)

    async def _page(
        self, scan: Scan, low: bytes, high: bytes, *, limit: int = BIGGEST, room: int = BIGGEST
    ) -> list[tuple[bytes, Row]]:
        """Returns rows as they are stored, in the order of the stored keys."""
        part, reverse, epoch = scan
        return self._rows_of_page(await self._fetch(_PAGE, part, epoch, low, high, reverse, limit, room))

    def _rows_of_page(self, rows: Sequence[Any]) -> list[tuple[bytes, Row]]:
        if rows and rows[0][0] is None:
            raise Stale
        return [(key, (version, payload)) for key, version, payload in rows]

    async def _sorted_range(
        self, scan: Scan, low: bytes, hi: bytes | None, *, limit: int, room: int
    ) -> list[tuple[bytes, Row]]:
        """Does what `range` does for keys of any length: rows of one head are read together, then sorted."""
        reverse = scan[1]
        found: list[tuple[bytes, Row]] = []
        start = head(low)
        end = ABOVE_ALL if hi is None else above_head(hi) if is_long(hi) else hi
        while True:
            page = await self._page(scan, start, end, limit=SORTED_ROWS)
            complete = len(page) < SORTED_ROWS
            if not complete:
                last = page[-1][0]
                if not is_long(last):
                    start, end = (start, last) if reverse else (last + b"\x00", end)
                elif reverse:
                    end = head(last)
                    page += await self._page(scan, end, last)
                else:
                    start = above_head(last)
                    page += await self._page(scan, last + b"\x00", start)
            rows = [(*loaded(key, payload), version) for key, (version, payload) in page]
            for key, payload, version in sorted(rows, reverse=reverse):
                if low <= key and (hi is None or key < hi):
                    found.append((key, (version, payload)))
                    room -= len(payload)
                    if len(found) == limit or room < 0:
                        return found
            if complete:
                return found

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        answer: list[Row | None] = [None] * len(keys)
        rows = await self._fetch(ROWS, [part for part, _ in keys], [stored_key(key) for _, key in keys])
        for n, found, version, payload in rows:
            part, key = keys[n - 1]
            if epochs and epochs.get(part, found) not in (found, found or 0):
                raise Stale
            if version is not None:
                answer[n - 1] = (version, loaded(key, payload)[1])
        return answer

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        return [(seq, entry) for seq, entry in await self._fetch(LOG, part, after, limit)]

    async def usage(self, part: Part) -> tuple[int, int]:
        rows = await self._fetch(USAGE, part)
        return (rows[0][0], rows[0][1]) if rows else (0, 0)

    async def parts(self) -> list[tuple[Part, int]]:
        return [(part, seq) for part, seq in await self._fetch(_PARTS)]
