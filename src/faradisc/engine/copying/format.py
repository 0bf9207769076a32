"""Segments, manifests of snapshots and the lease of a copy, as bytes. docs/formats/copy.md has the layout."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import orjson

from faradisc.records import asdict, dataclass, field, replace
from faradisc.storage.rocks_log import Commit, commit_of

COPY_FORMAT = 1
LEASE = "lease.json"
LOG = "log/"
SNAPSHOTS = "snapshots/"
MANIFEST = "manifest.json"
_MAGIC = b"FDCOPY\x00"
_LENGTH = struct.Struct(">I")
_DIGEST_BYTES = 32
_CHAIN_DIGITS = 32
try:
    from isal.isal_zlib import compress as _compress  # an extra; three times as fast
except ImportError:
    from zlib import compress as _compress


class CopyError(Exception):
    """A copy that cannot be used as asked. The text is a sentence that says why; nothing was overwritten."""


class CopyDamaged(CopyError):
    """Something of a copy is missing or differs from what was written."""


@dataclass(frozen=True, slots=True)
class CopyGroup:
    """The commits that one server has added to a copy at once: what is restored whole or not at all."""

    number: int
    """1, 2, 3 ... without a gap."""
    term: int
    """Counts the servers that have had the copy's lease. It never falls from a group to the next."""
    first: int
    last: int
    """Sequence numbers of the first and the last change; without commits, `last` is `first` - 1."""
    time_ns: int
    """A moment after all of its commits were made. It never falls either."""
    restart: bool = False
    """Changes before `first` are missing: the copy continues with a snapshot."""
    size: int = 0
    """Of the commits, in bytes."""
    chain: str = ""
    """Digest of this group and all before it."""

    def linked(self, previous: str, commits: bytes) -> CopyGroup:
        """Returns the group with its digest. previous: that of the group before; "" for the first one."""
        words = [self.number, self.term, self.first, self.last, self.time_ns, int(self.restart)]
        digest = sha256(" ".join([previous, *map(str, words)]).encode() + b"\n")
        digest.update(commits)
        return replace(self, size=len(commits), chain=digest.hexdigest()[:_CHAIN_DIGITS])


@dataclass(frozen=True, slots=True)
class CopySegment:
    """Groups that follow one another, in one object."""

    copy: str
    """Identity of the copy."""
    previous: str
    """Digest of the group before the first one."""
    groups: tuple[CopyGroup, ...]
    commits: tuple[bytes, ...] = field(repr=False)
    """Of each group, as `packed` makes them."""


def packed(commits: Iterable[Commit]) -> bytes:
    parts: list[bytes] = []
    for commit in commits:
        parts += (_LENGTH.pack(len(commit.batch)), commit.batch)
    return b"".join(parts)


def unpacked(content: bytes) -> list[Commit]:
    """Returns the commits of a group. Raises Corruption."""
    found, at = [], 0
    while at < len(content):
        (size,) = _LENGTH.unpack_from(content, at)
        found.append(commit_of(content[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


def segment_bytes(segment: CopySegment) -> bytes:
    header = orjson.dumps(
        {
            "copy": segment.copy,
            "previous": segment.previous,
            "groups": [asdict(each) for each in segment.groups],
        }
    )
    body = compress(b"".join(segment.commits))
    content = b"".join((_MAGIC, bytes([COPY_FORMAT]), _LENGTH.pack(len(header)), header, body))
    return content + sha256(content).digest()


def read_segment(content: bytes, name: str) -> CopySegment:
    """Returns a segment, whose digests are verified. name: for the error. Raises CopyDamaged, CopyError."""
    head = len(_MAGIC) + 1
    if len(content) < head + 4 + _DIGEST_BYTES or not content.startswith(_MAGIC):
        raise CopyDamaged(f"{name} is damaged: it is no segment of a copy.")
    _check_format(content[head - 1], name)
    if sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
        raise CopyDamaged(f"{name} is damaged: its checksum differs.")
    (size,) = _LENGTH.unpack_from(content, head)
    header = orjson.loads(content[head + 4 : head + 4 + size])
    raw = zlib.decompress(content[head + 4 + size : -_DIGEST_BYTES])
    groups = tuple(CopyGroup(**each) for each in header["groups"])
    commits, at = [], 0
    previous = header["previous"]
    for group in groups:
        own = raw[at : at + group.size]
        at += group.size
        if group.linked(previous, own) != group:
            raise CopyDamaged(f"{name} is damaged: the digest of group {group.number} differs.")
        previous = group.chain
        commits.append(own)
    return CopySegment(header["copy"], header["previous"], groups, tuple(commits))


def _check_format(found: int, name: str) -> None:
    if found > COPY_FORMAT:
        raise CopyError(
            f"{name} was written by a later release, in format {found} of copies; this one reads formats up "
            f"to {COPY_FORMAT}."
        )


def compress(content: bytes) -> bytes:
    return bytes(_compress(content, 1))


@dataclass(frozen=True, slots=True)
class CopyLease:
    """Which server writes a copy."""

    copy: str
    holder: str
    """Identity of the server, anew at each start; "": it has stopped and given the lease back."""
    term: int
    lease_s: float
    """Time of the lease, in seconds; 0: it never ends by itself, and its holder takes no notes."""
    beat: int
    """Counts the renewals, so that no two contents are equal."""
    server: str = ""
    """Where the holder is, for people."""
    ends: bool = False
    """Whether the holder answers nothing later than `lease_s` after a renewal."""
    waiting: str = ""
    """Note of another server that waits for its end: the holder lets it end, and renews it; "": none."""
    wanted: str = ""
    """Note of a server that an operator wants to take over: the holder gives the lease back; "": none."""
    format: int = COPY_FORMAT

    def to_bytes(self) -> bytes:
        return orjson.dumps(asdict(self)) + b"\n"


def read_lease(content: bytes, name: str) -> CopyLease:
    """Raises CopyError."""
    found = _document(content, name)
    try:
        return CopyLease(**found)
    except TypeError:
        raise CopyDamaged(f"{name} is damaged: it is no lease of a copy.") from None


@dataclass(frozen=True, slots=True)
class CopyPiece:
    """A part of a snapshot in one object."""

    rows: int
    size: int
    """Before compression, in bytes."""
    digest: str
    """SHA-256 of the object."""


@dataclass(frozen=True, slots=True)
class CopySnapshot:
    """The whole store after one change."""

    copy: str
    sequence: int
    """Of this change."""
    number: int
    """The newest group when it was begun: a restore reads on after it."""
    chain: str
    """That group's digest."""
    time_ns: int
    pieces: tuple[CopyPiece, ...] = ()
    format: int = COPY_FORMAT

    @property
    def prefix(self) -> str:
        return f"{SNAPSHOTS}{self.sequence:020d}-{self.number:016d}/"

    def piece_name(self, index: int) -> str:
        return f"{self.prefix}{index:06d}"

    def to_bytes(self) -> bytes:
        """The document, and the SHA-256 of that line in a line of its own."""
        line = orjson.dumps(asdict(self)) + b"\n"
        return line + sha256(line).hexdigest().encode() + b"\n"


def read_snapshot(content: bytes, name: str) -> CopySnapshot:
    """Raises CopyError."""
    line, _, digest = content.rstrip(b"\n").rpartition(b"\n")
    if sha256(line + b"\n").hexdigest().encode() != digest:
        raise CopyDamaged(f"{name} is damaged: its checksum differs.")
    found = _document(line, name)
    return CopySnapshot(**{**found, "pieces": tuple(CopyPiece(**each) for each in found["pieces"])})


def piece_bytes(rows: Sequence[tuple[bytes, bytes]]) -> tuple[bytes, CopyPiece]:
    """Returns the object of some pairs of a store, and its entry in the manifest."""
    parts: list[bytes] = []
    for key, value in rows:
        parts += (_LENGTH.pack(len(key)), key, _LENGTH.pack(len(value)), value)
    raw = b"".join(parts)
    content = compress(raw)
    return content, CopyPiece(len(rows), len(raw), sha256(content).hexdigest())


def read_piece(content: bytes, piece: CopyPiece, name: str) -> list[tuple[bytes, bytes]]:
    """Raises CopyDamaged."""
    if sha256(content).hexdigest() != piece.digest:
        raise CopyDamaged(f"{name} is damaged: its checksum differs.")
    raw, at, rows = zlib.decompress(content), 0, []
    length = _LENGTH.unpack_from
    while at < len(raw):
        middle = at + 4 + length(raw, at)[0]
        end = middle + 4 + length(raw, middle)[0]
        rows.append((raw[at + 4 : middle], raw[middle + 4 : end]))
        at = end
    if len(rows) != piece.rows or len(raw) != piece.size:
        raise CopyDamaged(f"{name} is damaged: it has another number of rows than its manifest says.")
    return rows


def _document(content: bytes, name: str) -> dict[str, Any]:
    try:
        found = orjson.loads(content)
        number = int(found["format"])
    except (ValueError, KeyError, TypeError):
        raise CopyDamaged(f"{name} is damaged: it cannot be read.") from None
    _check_format(number, name)
    return dict(found)
