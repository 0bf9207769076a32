"""Makes a data directory of a copy, and verifies a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from rocksdict import Rdict, WriteBatch, WriteOptions

from faradisc.engine.copying.format import (
    LEASE,
    CopyDamaged,
    CopyError,
    CopyGroup,
    CopySnapshot,
    read_piece,
    unpacked,
)
from faradisc.engine.copying.lease import lease_of
from faradisc.engine.copying.place import CopyPlace, Span
from faradisc.engine.copying.points import CopyPoint, remember
from faradisc.engine.objects.api import NoSuchKey
from faradisc.files import sync_directory
from faradisc.records import dataclass, field
from faradisc.storage import format as data_format
from faradisc.storage.rocks_files import ROCKS_DIRECTORY, opened, options
from faradisc.storage.rocks_log import replay, write_sequence
from faradisc.storage.sync_record import begin

RESTORING_FILE = "RESTORING"
"""In a directory whose restore was cut short; the next one begins it again."""
BATCH_ROWS = 1000
_UNLOGGED = WriteOptions()
_UNLOGGED.disable_wal = True  # type: ignore[method-assign,assignment]  # a property, unlike its stub

Progress = Callable[[str, float], None]
"""Called with what is restored now, and the share of it that is done."""


@dataclass(frozen=True, slots=True)
class RestoredCopy:
    """What a restore has made."""

    point: CopyPoint
    time_ns: int
    """A moment after all of its commits, and before all others of the copy."""
    is_end: bool
    """Whether the copy has nothing newer."""


@dataclass(slots=True)
class CopyReport:
    """What a verification has found."""

    segments: int = 0
    groups: int = 0
    snapshots: int = 0
    commit_bytes: int = 0
    first_ns: int = 0
    """The earliest moment that can be restored."""
    last_ns: int = 0
    problems: list[str] = field(default_factory=list)


def groups_after(place: CopyPlace, point: CopyPoint) -> Iterator[tuple[CopyGroup, bytes]]:
    """Yields the groups after a point, linked to it. Raises CopyError, BucketError.

    point: with sequence -1, where its group ended is not known, as of a snapshot's.
    """
    for span in place.spans():
        if span.last <= point.number:
            continue
        for group, commits in linked(place, span, point):
            yield group, commits
            point = point.after(group)


def linked(place: CopyPlace, span: Span, point: CopyPoint) -> Iterator[tuple[CopyGroup, bytes]]:
    """Yields the groups of one segment after a point. Raises CopyError, NoSuchKey, BucketError."""
    if span.first > point.number + 1:
        raise CopyDamaged(f"{place.shown} lacks the segment of group {point.number + 1}.")
    segment = place.segment(span)
    if segment.copy != point.copy:
        raise CopyDamaged(f"{place.shown}/{span.name} belongs to another copy.")
    previous = segment.previous
    for group, commits in zip(segment.groups, segment.commits, strict=True):
        if group.number == point.number + 1 and previous != point.chain:
            raise CopyDamaged(f"{place.shown}/{span.name} does not continue the segment before it.")
        if group.number > point.number:
            if not group.restart and point.sequence >= 0 and group.first != point.sequence + 1:
                raise CopyDamaged(f"{place.shown} lacks changes before group {group.number}.")
            yield group, commits
            point = point.after(group)
        previous = group.chain


def _point_of(snapshot: CopySnapshot) -> CopyPoint:
    return CopyPoint(snapshot.copy, snapshot.number, -1, snapshot.chain)


def _copy_at(place: CopyPlace) -> str:
    """Returns the identity of the copy at a place. Raises CopyError when there is none."""
    found = lease_of(place)
    if found is None:
        raise CopyError(f"There is no copy at {place.shown}: it has no {LEASE}.")
    return found[0].copy


def restore(
    place: CopyPlace,
    directory: Path,
    *,
    at_ns: int | None = None,
    progress: Progress = lambda what, share: None,
    complete: Callable[[], object] = lambda: None,
) -> RestoredCopy:
    """Makes a data directory of a copy: its newest state, or that of a moment. Returns what it has.

    complete: adds what is not of the store. Raises CopyError, BucketError, OSError. Nothing that exists is
    overwritten; a restore that was cut short begins again.
    """
    _copy_at(place)
    snapshot = _chosen(place, at_ns)
    if directory.exists() and any(directory.iterdir()) and not (directory / RESTORING_FILE).exists():
        raise CopyError(f"{directory} is not empty: a copy is restored into a new directory.")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    (directory / RESTORING_FILE).write_text(f"{place.shown}\n")
    for each in directory.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
    files = directory / ROCKS_DIRECTORY
    files.mkdir(mode=0o700)
    db = opened(files, options())
    try:
        for index in range(len(snapshot.pieces)):
            _write(db, _piece(place, snapshot, index))
            progress("snapshot", (index + 1) / len(snapshot.pieces))
        db.flush()
    finally:
        db.close()
    write_sequence(files, snapshot.sequence)
    restored = _replay(place, files, snapshot, at_ns, progress)
    begin(directory, restored.point.sequence)
    if restored.is_end:
        remember(directory, restored.point)
    complete()
    data_format.write(directory, data_format.FORMAT_VERSION)
    (directory / RESTORING_FILE).unlink()
    sync_directory(directory)
    return restored


def _chosen(place: CopyPlace, at_ns: int | None) -> CopySnapshot:
    """Returns the snapshot to begin with. Raises CopyError."""
    snapshots = place.snapshots()
    fitting = [each for each in snapshots if at_ns is None or each.time_ns <= at_ns]
    if not fitting:
        if snapshots:
            raise CopyError(f"{place.shown} does not reach back to that moment.")
        raise CopyError(f"{place.shown} has no complete snapshot yet, so nothing can be restored.")
    return fitting[-1]


def _piece(place: CopyPlace, snapshot: CopySnapshot, index: int) -> list[tuple[bytes, bytes]]:
    """Returns the rows of a piece. Raises CopyDamaged, BucketError."""
    where = f"{place.shown}/{snapshot.piece_name(index)}"
    try:
        return read_piece(place.get(snapshot.piece_name(index))[0], snapshot.pieces[index], where)
    except NoSuchKey:
        raise CopyDamaged(f"{where} is missing.") from None


def _write(db: Rdict, rows: list[tuple[bytes, bytes]]) -> None:
    for start in range(0, len(rows), BATCH_ROWS):
        write = WriteBatch(raw_mode=True)
        put = write.put
        for key, value in rows[start : start + BATCH_ROWS]:
            put(key, value)
        db.write(write, _UNLOGGED)


def _replay(
    place: CopyPlace, files: Path, snapshot: CopySnapshot, at_ns: int | None, progress: Progress
) -> RestoredCopy:
    """Applies the groups after a snapshot, with the numbers that their changes had."""
    db = opened(files, options())
    try:
        point, time_ns, is_end = _point_of(snapshot), snapshot.time_ns, True
        groups = max((each.last for each in place.spans()), default=0) - snapshot.number
        for group, commits in groups_after(place, _point_of(snapshot)):
            if at_ns is not None and group.time_ns > at_ns:
                is_end = False
                break
            if group.restart and group.first > max(point.sequence, snapshot.sequence) + 1:
                raise CopyDamaged(
                    f"{place.shown} has a gap before group {group.number}, and no complete snapshot after "
                    "it: give --at an earlier moment."
                )
            for commit in unpacked(commits):
                if commit.last > snapshot.sequence:
                    write = WriteBatch(raw_mode=True)
                    replay(commit, write)
                    db.write(write, _UNLOGGED)
                    if db.latest_sequence_number() != commit.last:
                        raise CopyDamaged(f"{place.shown} does not continue where its snapshot ends.")
            progress("commits", min((group.number - snapshot.number) / groups, 1.0))
            point, time_ns = point.after(group), max(time_ns, group.time_ns)
        db.flush()
        sequence = db.latest_sequence_number()
    finally:
        db.close()
    if is_end and point.number > snapshot.number and point.sequence != sequence:
        raise CopyDamaged(f"{place.shown} lacks the segments after group {point.number}.")
    return RestoredCopy(CopyPoint(point.copy, point.number, sequence, point.chain), time_ns, is_end)


def verify(place: CopyPlace, step: Callable[[], None] = lambda: None) -> CopyReport:
    """Reads a whole copy: every segment, every checksum, no gap. step: called after each object.

    Raises CopyError when there is none, or one of a later release; BucketError.
    """
    report = CopyReport()
    copy = _copy_at(place)
    ends: dict[int, CopyGroup] = {}
    point: CopyPoint | None = None
    for span in place.spans():
        try:
            if point is None:
                segment = place.segment(span)
                group = segment.groups[0]
                point = CopyPoint(copy, group.number - 1, group.first - 1, segment.previous)
            for group, _ in linked(place, span, point):
                point = point.after(group)
                ends[group.number] = group
                report.groups += 1
                report.commit_bytes += group.size
                report.last_ns = group.time_ns
        except NoSuchKey:
            continue  # it has expired, or was merged, since it was listed
        except CopyDamaged as error:
            report.problems.append(str(error))
            point = None
        report.segments += 1
        step()
    _verify_snapshots(place, copy, ends, report, step)
    return report


def _verify_snapshots(
    place: CopyPlace, copy: str, ends: dict[int, CopyGroup], report: CopyReport, step: Callable[[], None]
) -> None:
    snapshots = place.snapshots()
    for snapshot in snapshots:
        where = f"{place.shown}/{snapshot.prefix}"
        known = ends.get(snapshot.number)
        if snapshot.copy != copy or (known is not None and known.chain != snapshot.chain):
            report.problems.append(f"{where} belongs to another copy.")
        for index in range(len(snapshot.pieces)):
            try:
                _piece(place, snapshot, index)
            except CopyDamaged as error:
                report.problems.append(str(error))
            step()
        report.snapshots += 1
    if not snapshots:
        report.problems.append(f"{place.shown} has no complete snapshot yet, so nothing can be restored.")
        return
    report.first_ns, last = snapshots[0].time_ns, snapshots[-1]
    following = [group for number, group in sorted(ends.items()) if number > last.number]
    if any(group.restart and group.first > last.sequence + 1 for group in following):
        report.problems.append(f"{place.shown} has a gap after its newest snapshot; the next one closes it.")
    newest = following[-1].last if following else ends[max(ends)].last if ends else last.sequence
    if newest < last.sequence:
        report.problems.append(f"{place.shown} lacks the segments after its newest snapshot.")
