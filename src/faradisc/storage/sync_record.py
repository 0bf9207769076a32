"""The sync record: how far the write-ahead log was on disk after each sync.

RocksDB stops at the first damaged byte of its log and opens with what is before it, and it does not detect a
truncated or missing log file. So the store has its own record next to the log. After each sync, and before
any commit of that sync returns, it writes the log's position in place into `<directory>/SYNCED`. That file is
never synced itself: after a killed process it is exact, and after a power loss it can be older than the log,
never newer. A start that recovers less than the record has lost acknowledged commits, and fails.

The file has `SLOTS` slots of 28 bytes, used in turn, all numbers big-endian:

    sequence    8 bytes   RocksDB's sequence number of the last change in the log that was synced
    version     8 bytes   number of the last commit that was synced
    turn        8 bytes   counts the records; turn modulo `SLOTS` is the slot
    checksum    4 bytes   CRC-32 of the 24 bytes before it

A torn slot does not count. The older slots bound the commits that a damaged log can have lost. The file
exists before the store does, and FORMAT says so; then a start without a whole slot fails too.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from faradisc.records import dataclass

SYNC_RECORD_FILE = "SYNCED"
SLOTS = 128
_SLOT = struct.Struct(">QQQ")
_SLOT_BYTES = _SLOT.size + 4


class Position(NamedTuple):
    """A point of the write-ahead log."""

    sequence: int
    """RocksDB's sequence number of the last change."""
    version: int
    """Number of the last commit."""


@dataclass(frozen=True, slots=True)
class LostCommits:
    """Acknowledged commits that the log did not give back."""

    recovered: Position
    """The newest recorded position that was recovered; its version is 0 where no slot is old enough."""
    acknowledged: Position
    """The newest recorded position."""
    changes: int
    """Changes of rows, entries and counters between what was recovered and what was acknowledged."""

    def __str__(self) -> str:
        first, last = self.recovered.version + 1, self.acknowledged.version
        commits = f"commits {first} to {last}" if self.recovered.version else f"commits up to {last}"
        return f"of the acknowledged {commits} some or all are lost, {self.changes} changes of rows together"


class SyncRecord:
    """The open record of one data directory. `write` may be called from any one thread at a time."""

    def __init__(self, directory: Path) -> None:
        """Opens the file, creating it where it is missing. Raises OSError."""
        found = _read(directory)
        self._turn = found[-1][0] + 1 if found else 0
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._file = os.open(directory / SYNC_RECORD_FILE, flags, 0o600)

    def write(self, position: Position) -> None:
        """Records that the log is on disk up to `position`. Raises OSError."""
        slot = _SLOT.pack(position.sequence, position.version, self._turn)
        slot += zlib.crc32(slot).to_bytes(4, "big")
        _write_at(self._file, slot, self._turn % SLOTS * _SLOT_BYTES)
        self._turn += 1

    def fileno(self) -> int:
        return self._file

    def close(self) -> None:
        os.close(self._file)


def lost_commits(directory: Path, recovered: int) -> LostCommits | None:
    """Returns what was acknowledged and is not in a log that was recovered up to the sequence number
    `recovered`, or None if nothing is missing. Raises OSError."""
    found = [position for _, position in _read(directory)]
    if not found or found[-1].sequence <= recovered:
        return None
    older = [position for position in found if position.sequence <= recovered]
    known = older[-1] if older else Position(recovered, 0)
    return LostCommits(known, found[-1], found[-1].sequence - recovered)


def begin(directory: Path, sequence: int = 0) -> None:
    """Begins a new record, on disk, so that a start accepts what is there. Raises OSError."""
    (directory / SYNC_RECORD_FILE).unlink(missing_ok=True)
    record = SyncRecord(directory)
    try:
        record.write(Position(sequence, 0))
        os.fsync(record.fileno())
    finally:
        record.close()


def is_recorded(directory: Path) -> bool:
    """Whether the record has a whole slot. Raises OSError."""
    return bool(_read(directory))


def _read(directory: Path) -> list[tuple[int, Position]]:
    """Returns the whole slots with their turns, oldest first. Raises OSError."""
    try:
        content = (directory / SYNC_RECORD_FILE).read_bytes()
    except FileNotFoundError:
        return []
    found = []
    for start in range(0, len(content) - _SLOT_BYTES + 1, _SLOT_BYTES):
        slot = content[start : start + _SLOT_BYTES]
        if zlib.crc32(slot[:-4]) == int.from_bytes(slot[-4:], "big"):
            sequence, version, turn = _SLOT.unpack(slot[:-4])
            found.append((turn, Position(sequence, version)))
    return sorted(found)


def _write_at(file: int, content: bytes, offset: int) -> None:
    if hasattr(os, "pwrite"):
        os.pwrite(file, content, offset)
    else:  # Windows
        os.lseek(file, offset, os.SEEK_SET)
        os.write(file, content)
