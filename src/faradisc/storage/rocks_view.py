"""Reading a RocksDB keyspace as parts: the layout, what the store and its snapshots share, the snapshot.

Layout (docs/formats/storage.md): one keyspace; P is the part's length in one byte, then its name.

    "r" P key                     -> version (8 bytes, big-endian) payload      a row
    "l" P sequence (8 bytes BE)   -> version (8 bytes, big-endian) entry        a log entry
    "s" P                         -> last sequence, items, bytes (3 x 8 bytes)  the state of a part
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from rocksdict import RdictIter

from faradisc.storage.api import PART_BYTES_MAX, Closed, Corruption, Part, Row
from faradisc.storage.rocks_files import translated

ROW, LOG, STATE = b"r", b"l", b"s"

unpack_version = struct.Struct(">Q").unpack_from
pack_state = struct.Struct(">Qqq").pack
_unpack_state = struct.Struct(">Qqq").unpack


def _end_of(prefix: bytes) -> bytes:
    """The first key after all keys that begin with `prefix`."""
    return (int.from_bytes(prefix, "big") + 1).to_bytes(len(prefix), "big")


def _part_in(physical: bytes) -> Part:
    """The part that a physical key belongs to."""
    part = physical[2 : 2 + physical[1]] if len(physical) > 1 else b""
    if not part or len(part) < physical[1]:
        raise Corruption(f"The stored data is damaged: {physical.hex()} is no key of a part.")
    return part


class PartState:
    """A part's prefixes and its state."""

    __slots__ = ("bytes", "deleted", "items", "last", "log", "log_end", "rows", "rows_end", "state")

    def __init__(self, part: Part, find: Callable[[bytes], Any]) -> None:
        if not 1 <= len(part) <= PART_BYTES_MAX:
            raise ValueError(f"a part's name has 1 to {PART_BYTES_MAX} bytes, not {len(part)}")
        name = bytes([len(part)]) + part
        self.rows = ROW + name
        self.rows_end = _end_of(self.rows)
        self.log = LOG + name
        self.log_end = _end_of(self.log)
        self.state = STATE + name
        stored = find(self.state)
        state: tuple[int, int, int] = (0, 0, 0) if stored is None else _unpack_state(stored)
        self.last, self.items, self.bytes = state
        self.deleted = 0
        """Version of the last commit that deleted rows here: an absence may be as new as this."""


class Reader(ABC):
    """What the store and its snapshots share: reading rows and logs out of one RocksDB view."""

    def __init__(self, find: Callable[[bytes], Any]) -> None:
        self._find = find
        """The stored value of a physical key, or None."""
        self._parts: dict[Part, PartState] = {}

    def _part(self, part: Part) -> PartState:
        known = self._parts.get(part)
        if known is None:
            known = self._parts[part] = self._load(part)
        return known

    def _load(self, part: Part) -> PartState:
        try:
            return PartState(part, self._find)
        except Exception as error:
            raise translated(error) from error

    @abstractmethod
    def _scan(self, lo: bytes, hi: bytes, reverse: bool = False) -> Iterator[tuple[Any, Any]]:
        """Physical pairs with lo <= key < hi. Drop the iterator before the call that made it returns.

        Requires: the caller keeps `hi` while it iterates. rocksdict 0.3.29 remembers where the bytes of an
        upper bound lie instead of copying them; a temporary one ends the scan early.
        """

    @abstractmethod
    def _check_ended(self, lo: bytes, hi: bytes, reverse: bool) -> None:
        """A scan stopped short of its limit: insist that nothing lies in what is left of it."""

    def _read_page(
        self,
        part: PartState,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool,
        max_bytes: int | None,
    ) -> list[tuple[bytes, Row]]:
        first = part.rows if lo is None else part.rows + lo
        end = part.rows_end if hi is None else part.rows + hi
        if first >= end:
            return []
        cut = len(part.rows)
        page: list[tuple[bytes, Row]]
        try:
            pairs = islice(self._scan(first, end, reverse), limit)
            if max_bytes is None:
                page = [(key[cut:], (unpack_version(value)[0], value[8:])) for key, value in pairs]
            else:
                page = []
                left = max_bytes
                for key, value in pairs:
                    page.append((key[cut:], (unpack_version(value)[0], value[8:])))
                    left -= len(value) - 8
                    if left < 0:
                        return page
            if len(page) < limit:
                if page and reverse:
                    end = part.rows + page[-1][0]
                elif page:
                    first = part.rows + page[-1][0] + b"\0"
                self._check_ended(first, end, reverse)
            return page
        except Exception as error:
            raise translated(error) from error

    def _read_log(self, part: PartState, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """(version, sequence, entry) of the next entries after `after`."""
        after = max(after, 0)
        first = part.log + (after + 1).to_bytes(8, "big")
        try:
            entries = [
                (unpack_version(value)[0], int.from_bytes(key[-8:], "big"), value[8:])
                for key, value in islice(self._scan(first, part.log_end), limit)
            ]
            if len(entries) < limit:
                last = entries[-1][1] if entries else after
                self._check_ended(part.log + (last + 1).to_bytes(8, "big"), part.log_end, False)
            return entries
        except Exception as error:
            raise translated(error) from error

    def _read_parts(self) -> list[tuple[Part, int]]:
        """Every part's name and last log sequence: the states in one walk, rows and logs by leaps."""
        found: dict[Part, int] = {}
        try:
            at, end = STATE, _end_of(STATE)
            for key, value in self._scan(at, end):
                state = _unpack_state(value)
                if any(state):
                    found[_part_in(key)] = state[0]
                at = key + b"\0"
            self._check_ended(at, end, False)
            for kind in (ROW, LOG):
                at, end = kind, _end_of(kind)
                while (pair := next(self._scan(at, end), None)) is not None:
                    part = _part_in(pair[0])
                    found.setdefault(part, 0)
                    at = _end_of(pair[0][: 2 + len(part)])
                self._check_ended(at, end, False)
        except Exception as error:
            raise translated(error) from error
        return sorted(found.items())

    def _read_row(self, physical: bytes) -> Row | None:
        try:
            value = self._find(physical)
        except Exception as error:
            raise translated(error) from error
        return None if value is None else (unpack_version(value)[0], value[8:])


class RocksSnapshot(Reader):
    """One state of the store; all of it was on disk before it was handed out.

    It is one RocksDB iterator, which never sees anything newer than itself, moved about by every read:
    the iterators of rocksdict 0.3.29's own snapshots show later rows.
    """

    def __init__(self, iterator: RdictIter) -> None:
        super().__init__(self._look_up)
        self._iterator: RdictIter | None = iterator

    def _at(self) -> RdictIter:
        if self._iterator is None:
            raise Closed
        return self._iterator

    def _look_up(self, physical: bytes) -> Any:
        iterator = self._at()
        iterator.seek(physical)
        if not iterator.valid():
            iterator.status()
            return None
        return iterator.value() if iterator.key() == physical else None

    def _scan(self, lo: bytes, hi: bytes, reverse: bool = False) -> Iterator[tuple[Any, Any]]:
        iterator = self._at()
        if reverse:
            iterator.seek_for_prev(hi)
            if iterator.valid() and iterator.key() == hi:
                iterator.prev()
        else:
            iterator.seek(lo)
        while iterator.valid():
            key = iterator.key()
            if not lo <= key < hi:
                return
            yield key, iterator.value()
            if reverse:
                iterator.prev()
            else:
                iterator.next()
        iterator.status()  # raises when it was not the end but an error that stopped it

    def _check_ended(self, lo: bytes, hi: bytes, reverse: bool) -> None:
        """`_scan` has seen to it."""

    async def get(
        self, part: Part, keys: Sequence[bytes], *, for_update: bool = False, stale_ok: bool = False
    ) -> list[Row | None]:
        prefix = self._part(part).rows
        return [self._read_row(prefix + key) for key in keys]

    async def range(
        self,
        part: Part,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool = False,
        max_bytes: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        return self._read_page(self._part(part), lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes)

    async def read_many(self, keys: Sequence[tuple[Part, bytes]]) -> list[Row | None]:
        return [self._read_row(self._part(part).rows + key) for part, key in keys]

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        return [(sequence, entry) for _, sequence, entry in self._read_log(self._part(part), after, limit)]

    async def usage(self, part: Part) -> tuple[int, int]:
        known = self._part(part)
        return known.items, known.bytes

    async def parts(self) -> list[tuple[Part, int]]:
        return self._read_parts()

    async def close(self) -> None:
        self.release()

    def release(self) -> None:
        """Let go of the iterator; while one lives, the directory stays locked."""
        self._iterator = None
        self._parts.clear()
