"""Reads a RocksDB keyspace as parts: the layout, the reads of the store and its snapshots, the snapshot.

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
from typing import Any, Unpack

from rocksdict import Rdict, RdictIter, ReadOptions

from faradisc.storage.api import (
    PART_BYTES_MAX,
    Closed,
    Corruption,
    Epochs,
    GetOptions,
    IOFailed,
    Keys,
    Part,
    Row,
)
from faradisc.storage.rocks_files import translated

ROW, LOG, STATE = b"r", b"l", b"s"

unpack_version = struct.Struct(">Q").unpack_from
pack_state = struct.Struct(">Qqq").pack
_unpack_state = struct.Struct(">Qqq").unpack


def _end_of(prefix: bytes) -> bytes:
    """Returns the first key after all keys that begin with `prefix`."""
    return (int.from_bytes(prefix, "big") + 1).to_bytes(len(prefix), "big")


def _part_in(physical: bytes) -> Part:
    """Returns the part of a physical key. Raises Corruption."""
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
        """Version of the last commit that deleted rows here: an absence can be as new as this."""


class RocksReader(ABC):
    """Reads rows and logs from one RocksDB view; base of the store and its snapshots."""

    def __init__(self, find: Callable[[bytes], Any]) -> None:
        self._find = find
        """Returns the stored value of a physical key, or None."""
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
        """Yields physical pairs with lo <= key < hi. Requires: dropped before its caller returns.

        The caller keeps a reference to `hi` while it iterates: rocksdict 0.3.29 does not copy the bytes of an
        upper bound, and a temporary one ends the scan early.
        """

    @abstractmethod
    def _check_ended(self, lo: bytes, hi: bytes, reverse: bool) -> None:
        """Raises IOFailed when a scan that ended before its limit left a key in this range."""

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
        """Returns (version, sequence, entry) of the next entries after `after`."""
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
        """Returns every part's name and last log sequence.

        Reads all part states, and of rows and logs one key per part.
        """
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


def _down_to(lo: bytes, pairs: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yields descending pairs down to `lo`.

    RocksDB's own lower bound is not usable: in rocksdict 0.3.29 `set_iterate_lower_bound` moves the upper
    one.
    """
    for pair in pairs:
        if pair[0] < lo:
            return
        yield pair


class LiveReader(RocksReader):
    """Reads of the open database."""

    def __init__(self, db: Rdict) -> None:
        super().__init__(db.get)
        self._db = db

    def _scan(self, lo: bytes, hi: bytes, reverse: bool = False) -> Iterator[tuple[Any, Any]]:
        bounds = ReadOptions()
        bounds.set_iterate_upper_bound(hi)
        if reverse:
            return _down_to(lo, self._db.items(backwards=True, read_opt=bounds))
        return self._db.items(from_key=lo, read_opt=bounds)

    def _check_ended(self, lo: bytes, hi: bytes, reverse: bool) -> None:
        # `items` is the binding's fastest iterator, but it ends at a damaged block as it does at the end. An
        # iterator that reports errors checks the end.
        if self._holds(lo, hi, reverse):
            raise IOFailed("a range read stopped before its end")

    def _holds(self, lo: bytes, hi: bytes, reverse: bool = False) -> bool:
        """Returns whether a physical key with lo <= key < hi exists, searched from either end."""
        bounds = ReadOptions()
        bounds.set_iterate_upper_bound(hi)
        try:
            probe = self._db.iter(bounds)
            if reverse:
                probe.seek_to_last()
            else:
                probe.seek(lo)
            if probe.valid():
                return bool(probe.key() >= lo)
            probe.status()
            return False
        except Exception as error:
            raise translated(error) from error


class RocksSnapshot(RocksReader):
    """One fixed state of the store, all of it on disk.

    It is one RocksDB iterator, which never sees later writes; each read moves it. The iterators of rocksdict
    0.3.29's own snapshots do show later rows.
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
        iterator.status()  # raises when an error ended the iteration

    def _check_ended(self, lo: bytes, hi: bytes, reverse: bool) -> None:
        """Does nothing: `_scan` raises errors itself."""

    async def get(self, part: Part, keys: Sequence[bytes], **_: Unpack[GetOptions]) -> list[Row | None]:
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
        epoch: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        return self._read_page(self._part(part), lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes)

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
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
        """Releases the iterator; as long as one exists, the directory stays locked."""
        self._iterator = None
        self._parts.clear()
