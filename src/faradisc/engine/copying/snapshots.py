"""Snapshots of a copy: the whole store, now and then, so that segments before the last but one can go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from faradisc.engine.copying.format import MANIFEST, SNAPSHOTS, CopyPiece, CopySnapshot, piece_bytes
from faradisc.engine.copying.place import CopyPlace

if TYPE_CHECKING:
    from rocksdict import RdictIter

PIECE_BYTES = 4 << 20
PIECE_ROWS = 20_000


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
