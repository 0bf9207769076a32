"""Reads the write-ahead log of a RocksDB store that is open, commit by commit; it is what a copy is made of.

A commit is one record of the log: RocksDB's write batch, which begins with the sequence number of its first
change (8 bytes) and their count (4 bytes), little-endian. The log is a row of files `<number>.log`, in blocks
of 32 KB; RocksDB moves a file that it needs no more into `archive/`, where `LOG_KEPT_BYTES` are kept for
whoever has not read them. Source: RocksDB's documents "Write Ahead Log File Format" and "WriteBatch"; the
tests read logs that the library has written.

Only what a sync covers may be read, so no record is torn, and checksums are RocksDB's own affair.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rocksdict import WriteBatch

from faradisc.files import sync_file
from faradisc.storage.api import Corruption
from faradisc.storage.rocks_files import ARCHIVE_DIRECTORY

READ_BYTES = 1 << 20
_BLOCK = 32 * 1024
_RECORD = struct.Struct("<IHB")
_HEAD = struct.Struct("<QI")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_DELETE, _PUT, _DELETE_RANGE = 0x00, 0x01, 0x0F


class LogGone(Exception):
    """The log does not reach back to the commit that is read next."""


class Commit(NamedTuple):
    first: int
    last: int
    """Sequence numbers of its first and its last change."""
    batch: bytes
    """RocksDB's write batch."""


def commit_of(batch: bytes) -> Commit:
    """Raises Corruption."""
    if len(batch) < _HEAD.size:
        raise Corruption("a commit of the log is cut off")
    first, count = _HEAD.unpack_from(batch)
    return Commit(first, first + count - 1, batch)


class LogReader:
    """Reads the commits after one, in order. Used by one thread."""

    def __init__(self, files: Path, after: int) -> None:
        """files: RocksDB's directory. after: the sequence number after which commits are returned."""
        self._files = files
        self.after = after
        self._number = 0
        """Of the file that is read; 0: not found yet."""
        self._at = 0
        """Position of the next record in it."""

    def read(self, upto: int, max_bytes: int) -> list[Commit]:
        """Returns commits up to the sequence number `upto`, which a sync covers: until they have `max_bytes`,
        at least one if there is one. Raises LogGone, OSError."""
        found: list[Commit] = []
        size = 0
        while self.after < upto and size < max_bytes:
            if not self._number:
                self._seek()
            commit = None
            for commit, end in self._records():
                if commit.last > self.after:
                    if commit.first != self.after + 1:
                        raise LogGone
                    if commit.last > upto:
                        return found
                    found.append(commit)
                    self.after = commit.last
                    size += len(commit.batch)
                self._at = end
                if self.after >= upto or size >= max_bytes:
                    return found
            if commit is None and not self._next_file():
                raise LogGone  # what a sync covers is in a file, unless the file was removed
        return found

    def forget(self) -> None:
        """Removes archived files before the one that is read."""
        for number, path in self._logs():
            if number < self._number and path.parent.name == ARCHIVE_DIRECTORY:
                path.unlink(missing_ok=True)

    def _logs(self) -> list[tuple[int, Path]]:
        found: dict[int, Path] = {}
        for directory in (self._files / ARCHIVE_DIRECTORY, self._files, self._files / ARCHIVE_DIRECTORY):
            with suppress(FileNotFoundError):  # listed twice, as a file may move meanwhile
                for name in os.listdir(directory):
                    if name.endswith(".log") and name[:-4].isdecimal():
                        found[int(name[:-4])] = directory / name
        return sorted(found.items())

    def _seek(self) -> None:
        """Chooses the last file that begins at or before the next commit. Raises LogGone."""
        chosen = None
        for number, path in self._logs():
            first = next((commit for commit, _ in _records_of(path, 0)), None)
            if first is not None and first.first <= self.after + 1:
                chosen = number
        if chosen is None:
            raise LogGone
        self._number, self._at = chosen, 0

    def _next_file(self) -> bool:
        later = [number for number, _ in self._logs() if number > self._number]
        if not later:
            return False
        self._number, self._at = later[0], 0
        return True

    def _records(self) -> Iterator[tuple[Commit, int]]:
        path = dict(self._logs()).get(self._number)
        if path is None:
            raise LogGone
        try:
            yield from _records_of(path, self._at)
        except FileNotFoundError:  # it was moved, or removed, just now
            path = dict(self._logs()).get(self._number)
            if path is None:
                raise LogGone from None
            yield from _records_of(path, self._at)


def _records_of(path: Path, at: int) -> Iterator[tuple[Commit, int]]:
    """Yields the commits of a file from position `at` on, each with the position after it, up to where it is
    written."""
    with path.open("rb") as file:
        content, begin = b"", at
        file.seek(at)
        parts: list[bytes] = []

        def have(size: int) -> bool:
            nonlocal content, begin
            while at + size > begin + len(content):
                more = file.read(READ_BYTES)
                if not more:
                    return False
                content, begin = content[at - begin :] + more, at
            return True

        while True:
            left = _BLOCK - at % _BLOCK
            if left < _RECORD.size:
                at += left
                continue
            if not have(_RECORD.size):
                return
            _, size, kind = _RECORD.unpack_from(content, at - begin)
            if not _FULL <= kind <= _LAST or not have(_RECORD.size + size):
                return
            start = at - begin + _RECORD.size
            parts.append(content[start : start + size])
            at += _RECORD.size + size
            if kind in (_FULL, _LAST):
                batch = b"".join(parts) if len(parts) > 1 else parts[0]
                parts.clear()
                yield commit_of(batch), at


def replay(commit: Commit, write: WriteBatch) -> None:
    """Adds the changes of a commit to a write, as they were made. Raises Corruption."""
    batch, at = commit.batch, _HEAD.size
    count = commit.last - commit.first + 1
    try:
        while at < len(batch):
            kind = batch[at]
            key, at = _text(batch, at + 1)
            count -= 1
            if kind == _PUT:
                value, at = _text(batch, at)
                write.put(key, value)
            elif kind == _DELETE:
                write.delete(key)
            elif kind == _DELETE_RANGE:
                end, at = _text(batch, at)
                write.delete_range(key, end)
            else:
                raise Corruption(f"a commit of the log has a change of the unknown kind {kind}")
    except IndexError:
        raise Corruption("a commit of the log is cut off") from None
    if count:
        raise Corruption("a commit of the log has another number of changes than it says")


def keys_of(commit: Commit) -> Iterator[bytes]:
    """Yields the key of each change, or its first. Raises Corruption."""
    batch, at = commit.batch, _HEAD.size
    while at < len(batch):
        kind = batch[at]
        key, at = _text(batch, at + 1)
        if kind != _DELETE:
            _, at = _text(batch, at)
        yield key


def _text(batch: bytes, at: int) -> tuple[bytes, int]:
    size = batch[at]
    at += 1
    if size > 127:
        size &= 127
        shift = 7
        while True:
            byte = batch[at]
            at += 1
            size |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
    end = at + size
    if end > len(batch):
        raise IndexError
    return batch[at:end], end


def write_sequence(files: Path, sequence: int) -> None:
    """Makes a store that is closed continue after a sequence number: with a log that deletes a key which
    nobody has, as the change of that number. Raises OSError.

    So a copy of a store numbers its commits as the store does.
    """
    numbers = [int(each.name.split(".")[0].split("-")[-1]) for each in files.iterdir() if _is_numbered(each)]
    batch = _HEAD.pack(sequence, 1) + bytes([_DELETE, 2, 0, 0])
    record = bytes([_FULL]) + batch
    checksum = _crc32c(record)
    masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
    with (files / f"{max(numbers) + 1:06d}.log").open("xb") as file:
        file.write(_RECORD.pack(masked, len(batch), _FULL) + batch)
        sync_file(file)


def _is_numbered(path: Path) -> bool:
    return path.name.split(".")[0].split("-")[-1].isdecimal()


def _crc32c(content: Iterable[int]) -> int:
    checksum = 0xFFFFFFFF
    for byte in content:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (0x82F63B78 if checksum & 1 else 0)
    return checksum ^ 0xFFFFFFFF
