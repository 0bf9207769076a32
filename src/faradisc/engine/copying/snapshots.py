"""What keeps a copy short: the whole store now and then, many segments made one, and what expires."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from faradisc.clock import Clock
from faradisc.engine.copying.ends import CopyEnd
from faradisc.engine.copying.format import (
    MANIFEST,
    SNAPSHOTS,
    CopyPiece,
    CopySegment,
    CopySnapshot,
    piece_bytes,
    segment_bytes,
)
from faradisc.engine.copying.place import CopyPlace, Span

if TYPE_CHECKING:
    from rocksdict import RdictIter

PIECE_BYTES = 4 << 20
PIECE_ROWS = 20_000
MERGED_SPANS = 64
"""Segments that become one."""
SNAPSHOT_BYTES_MIN = 64 << 20
"""Of commits since the last snapshot, or as much as that had, before the next."""
SNAPSHOT_EVERY_S = 86_400.0


class CopySource(Protocol):
    """What of a store is copied (storage/rocks.py)."""

    @property
    def synced_sequence(self) -> int: ...

    def numbered_iterator(self) -> tuple[int, RdictIter]: ...


class SnapshotWriter:
    """Writes one snapshot, a piece at a time."""

    def __init__(self, place: CopyPlace, snapshot: CopySnapshot, iterator: RdictIter) -> None:
        """iterator: over the store after the change `snapshot.sequence`."""
        self.snapshot = snapshot
        self._place = place
        self._iterator: RdictIter | None = iterator
        self._pieces: list[CopyPiece] = []
        self._waiting: tuple[bytes, CopyPiece] | None = None
        iterator.seek_to_first()

    def release(self) -> None:
        """Lets the store be closed."""
        self._iterator = None

    def step(self) -> CopySnapshot | None:
        """Stores the next piece, or the manifest. Returns the snapshot when it is complete. Raises
        BucketError, after which the step can be repeated."""
        if self._waiting is None:
            rows = self._read()
            if rows:
                self._waiting = piece_bytes(rows)
        if self._waiting is not None:
            content, piece = self._waiting
            self._place.put(self.snapshot.piece_name(len(self._pieces)), content)
            self._pieces.append(piece)
            self._waiting = None
            return None
        complete = replace(self.snapshot, pieces=tuple(self._pieces))
        self._place.put(complete.prefix + MANIFEST, complete.to_bytes())
        return complete

    def _read(self) -> list[tuple[bytes, bytes]]:
        iterator, size = self._iterator, 0
        rows: list[tuple[bytes, bytes]] = []
        assert iterator is not None
        while iterator.valid() and size < PIECE_BYTES and len(rows) < PIECE_ROWS:
            key, value = iterator.key(), iterator.value()
            rows.append((key, value))
            size += len(key) + len(value)
            iterator.next()
        if not rows:
            iterator.status()  # raises when an error ended the iteration
        return rows


class Snapshots:
    """Decides when a snapshot is due, and writes it."""

    def __init__(self, place: CopyPlace, clock: Clock, keep_s: float) -> None:
        self.newest: CopySnapshot | None = None
        """The newest complete one."""
        self._place = place
        self._clock = clock
        self._keep_s = keep_s
        self._writer: SnapshotWriter | None = None
        self._is_wanted = True
        self._bytes_since = 0

    def begin(self) -> None:
        """Finds the newest one. Raises CopyError, BucketError."""
        found = self._place.snapshots()
        self.newest = found[-1] if found else None
        self._is_wanted = self.newest is None

    def want(self) -> None:
        """Begins a new one, as changes before it are missing."""
        self.release()
        self._is_wanted = True

    def release(self) -> None:
        """Gives up the one that is written, so that the store can be closed."""
        if self._writer is not None:
            self._writer.release()
        self._writer = None

    def added(self, size: int) -> None:
        """Counts the bytes of commits that were added to the copy."""
        self._bytes_since += size

    def step(self, source: CopySource, end: CopyEnd) -> bool:
        """Returns whether there is more to do at once. Raises BucketError."""
        if self._writer is None:
            if not self._is_wanted and not self._is_due():
                return False
            sequence, iterator = source.numbered_iterator()
            point, time_ns = end.point, max(self._clock.now_ns(), end.time_ns)
            begun = CopySnapshot(point.copy, sequence, point.number, point.chain, time_ns)
            self._writer = SnapshotWriter(self._place, begun, iterator)
            self._bytes_since = 0
        writer = self._writer
        if end.point.sequence < writer.snapshot.sequence:
            return True  # its last commits are not synced, or not stored yet
        complete = writer.step()
        if complete is not None and self._writer is writer:
            self.release()
            self.newest, self._is_wanted = complete, False
        return True

    def _is_due(self) -> bool:
        last = self.newest
        if last is None or not self._bytes_since:
            return last is None
        if self._bytes_since > max(SNAPSHOT_BYTES_MIN, sum(each.size for each in last.pieces)):
            return True
        return self._clock.now_ns() - last.time_ns > min(SNAPSHOT_EVERY_S, self._keep_s / 2) * 1e9

    def tidy(self) -> None:
        """Merges segments and removes what has expired. Raises CopyError, BucketError."""
        merge(self._place)
        busy = "" if self._writer is None else self._writer.snapshot.prefix
        expire(self._place, self._clock.now_ns() - int(self._keep_s * 1e9), busy)


def merge(place: CopyPlace) -> None:
    """Makes one segment of many small ones, never of the newest. It is stored before they go. Raises
    CopyError, BucketError."""
    found = place.spans()
    for name in {each.name for each in place.spans(every=True)} - {each.name for each in found}:
        place.remove(name)  # a larger one has its groups
    spans = [each for each in found[:-1] if each.first == each.last]
    while len(spans) > MERGED_SPANS:
        merged, spans = spans[:MERGED_SPANS], spans[MERGED_SPANS:]
        first, last = merged[0].first, merged[-1].last
        if last - first + 1 != len(merged):
            continue  # others are between them
        segments = [place.segment(each) for each in merged]
        segment = CopySegment(
            segments[0].copy,
            segments[0].previous,
            tuple(group for each in segments for group in each.groups),
            tuple(commits for each in segments for commits in each.commits),
        )
        place.put(Span(first, last).name, segment_bytes(segment))
        for each in merged:
            place.remove(each.name)


def expire(place: CopyPlace, before_ns: int, busy: str = "") -> None:
    """Removes what no restore to a moment from `before_ns` on needs. Raises BucketError, CopyError.

    busy: prefix of the snapshot that is written. Manifests go before their pieces.
    """
    snapshots = place.snapshots()
    base = max((each for each in snapshots if each.time_ns <= before_ns), key=_by_time, default=None)
    kept = {busy} | {each.prefix for each in snapshots if base is None or each.time_ns >= base.time_ns}
    for each in snapshots:
        if each.prefix not in kept:
            place.remove(each.prefix + MANIFEST)
    for name in place.names(SNAPSHOTS):
        if name[: name.rindex("/") + 1] not in kept:
            place.remove(name)
    if base is not None:
        for span in place.spans()[:-1]:
            if span.last <= base.number:
                place.remove(span.name)


def _by_time(snapshot: CopySnapshot) -> tuple[int, int]:
    return snapshot.time_ns, snapshot.sequence
