"""Writes a copy: reads the store's log as far as it is synced, and stores it as segments, in order.

One thread calls `step` again and again; with `sync` the thread of the store's syncs calls `ship` too, before
it answers. A segment is kept until it is known to be stored, and a put that fails is repeated with the same
bytes: so an answer that is lost changes nothing. While the bucket is away the log waits on the disk.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from faradisc.clock import Clock, Entropy, monotonic_s
from faradisc.engine.copying.format import (
    CopyDamaged,
    CopyError,
    CopyGroup,
    CopySegment,
    CopySnapshot,
    packed,
    segment_bytes,
    segment_name,
)
from faradisc.engine.copying.lease import LapseWatch, TakenOver, Tenure, lease_of
from faradisc.engine.copying.place import CopyPlace, Span
from faradisc.engine.copying.points import CopyPoint, CopyStatus, known_point, remember
from faradisc.engine.copying.snapshots import SnapshotWriter, expire
from faradisc.engine.objects.api import ABSENT, BucketError, PutRefused
from faradisc.storage.api import Fenced, IOFailed
from faradisc.storage.rocks_files import ROCKS_DIRECTORY
from faradisc.storage.rocks_log import LogGone, LogReader

if TYPE_CHECKING:
    from rocksdict import RdictIter

SEGMENT_BYTES = 4 << 20
SEGMENTS_PER_STEP = 16
RETRY_S = 0.5
KNOWN_EVERY_S = 10.0
TIDY_EVERY_S = 60.0
MERGED_SPANS = 64
"""Segments that become one."""
SNAPSHOT_BYTES_MIN = 64 << 20
"""Of commits since the last snapshot, or as much as that had, before the next."""
SNAPSHOT_EVERY_S = 86_400.0

_log = logging.getLogger(__name__)


class CopySource(Protocol):
    """What of a store is copied (storage/rocks.py)."""

    @property
    def synced_sequence(self) -> int: ...

    def numbered_iterator(self) -> tuple[int, RdictIter]: ...


class Copier:
    def __init__(
        self,
        place: CopyPlace,
        directory: Path,
        source: CopySource,
        clock: Clock,
        entropy: Entropy,
        *,
        server: str = "",
        lag_s: float = 1.0,
        lease_s: float = 0.0,
        keep_s: float = 7 * 86_400.0,
        sync: bool = False,
        apply: Callable[[CopyGroup, bytes], object] | None = None,
        monotonic: Callable[[], float] = monotonic_s,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """directory: of the data. source: its store, opened with `keep_log`. sync: a commit is answered when
        it is in the copy. apply: of a store that follows the copy and takes it over; it gets all groups.
        wait: lets seconds pass."""
        self.lag_s = lag_s
        self.place = place
        self._directory = directory
        self.source = source
        self._clock = clock
        self._entropy = entropy
        self._keep_s = keep_s
        self._sync = sync
        self._apply = apply
        self._monotonic = monotonic
        self.tenure = Tenure(place, entropy.token_bytes(8).hex(), server, lease_s, monotonic)
        self.is_begun = False
        self._watch = LapseWatch(monotonic)
        self._lock = threading.Lock()
        """Held while a segment is made and stored."""
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._end = CopyPoint("", 0, 0, "")
        self._known: CopyPoint | None = None
        self._reader = LogReader(directory / ROCKS_DIRECTORY, 0)
        self._pending: tuple[CopyGroup, bytes] | None = None
        """The group that is being stored, and its segment."""
        self._began = False
        """Whether a group of this term is stored."""
        self._time_ns = 0
        self._caught_up_ns = clock.now_ns()
        self._writer: SnapshotWriter | None = None
        self._snapshot: CopySnapshot | None = None
        """The newest complete one."""
        self._wants_snapshot = False
        self._bytes_since = 0
        self._remembered_s = self._tidied_s = monotonic()
        self._stored_ns = self._stored_bytes = 0
        self._fault = ""

    # --- Start -----------------------------------------------------------------------------------

    def begin(self, *, confirmed: bool = False) -> float:
        """Takes the lease, and finds where to continue. Returns 0, or the seconds after which the lease that
        somebody else has may have ended: then it is called again, as after a BucketError.

        confirmed: the holder is known to have stopped.

        Raises CopyError when the place cannot be this directory's copy; BucketError. Nothing is overwritten.
        """
        known, self._pending = known_point(self._directory), None
        found = lease_of(self.place)
        if found is None:
            if self._apply is not None:
                raise CopyError(f"There is no copy at {self.place.shown} any more.")
            if names := self.place.names(""):
                raise CopyError(
                    f"{self.place.shown} has other objects ({names[0]}) and no copy: choose an empty prefix."
                )
            if known is None or known.number:
                known = CopyPoint(self._entropy.token_bytes(16).hex(), 0, -1, "")
                remember(self._directory, known)  # first: a crash after the lease leaves a copy that is known
            self._end = known
            self.tenure.begin(known.copy)
        else:
            lease, tag = found
            if known is None or known.copy != lease.copy:
                raise CopyError(
                    f"{self.place.shown} has the copy of another data directory: `faradisc restore-copy "
                    f"{self.place.shown} DIRECTORY` restores it, and other data need another prefix."
                )
            if not confirmed and lease.holder != self.tenure.holder and (lease.lease_s or self._apply):
                left_s = self._watch.left_s(lease, tag)
                if left_s > 0:
                    return left_s
            self._end = known
            self._find_end()
            self.tenure.take(lease, tag)
            remember(self._directory, self._end)
            self._find_end()
            snapshots = self.place.snapshots()
            self._snapshot = snapshots[-1] if snapshots else None
        self._wants_snapshot = self._snapshot is None
        self.ship(1)
        self.is_begun = True
        return 0.0

    def _find_end(self) -> None:
        """Follows the copy from where it is known to its end, and compares it with the log. Raises
        CopyError."""
        shown, known = self.place.shown, self._end
        self._reader = LogReader(self._directory / ROCKS_DIRECTORY, known.sequence)
        spans = self.place.spans()
        if known.number and (not spans or spans[-1].last < known.number):
            raise CopyDamaged(f"{shown} lacks segments that were stored: choose another prefix.")
        for span in spans:
            if span.last < max(known.number, 1):
                continue
            segment = self.place.segment(span)
            for group, commits in zip(segment.groups, segment.commits, strict=True):
                if group.number == known.number and group.chain != known.chain:
                    raise self._other_history()
                if group.number > self._end.number:
                    self._agree(segment, group, commits)

    def _agree(self, segment: CopySegment, group: CopyGroup, commits: bytes) -> None:
        """Takes a group of the copy as its next one, if it is of this directory's log. Raises CopyError."""
        if group.number != self._end.number + 1:
            raise CopyDamaged(f"{self.place.shown} lacks the segment of group {self._end.number + 1}.")
        if segment.copy != self._end.copy:
            raise self._other_history()
        if self._apply is not None:
            self._apply(group, commits)
            self._accept(group)
            return
        if group.last > self.source.synced_sequence:
            raise self._other_history()
        if group.restart:
            self._reader = LogReader(self._directory / ROCKS_DIRECTORY, group.first - 1)
        try:
            own = []
            while self._reader.after < group.last:
                own += self._reader.read(group.last, SEGMENT_BYTES)
        except LogGone:
            raise self._other_history() from None
        if packed(own) != commits:
            raise self._other_history()
        self._accept(group)

    def _accept(self, group: CopyGroup) -> None:
        self._time_ns = max(self._time_ns, group.time_ns)
        self._end = self._end.after(group)
        if self._apply is not None:
            self._reader = LogReader(self._directory / ROCKS_DIRECTORY, self._end.sequence)

    def _other_history(self) -> CopyError:
        return CopyError(
            f"{self.place.shown} has commits that {self._directory} does not have: another server has "
            "continued it. Restore it with `faradisc restore-copy`, or choose another prefix."
        )

    # --- Segments --------------------------------------------------------------------------------

    def ship(self, segments: int = 1 << 30) -> bool:
        """Stores what is synced, in up to so many segments. Returns whether all of it is stored.

        Raises TakenOver, CopyError, BucketError, OSError.
        """
        with self._lock:
            for _ in range(segments):
                if self.tenure.lost:
                    raise TakenOver(self.tenure.lost)
                if self._pending is None:
                    read_ns, upto = self._clock.now_ns(), self.source.synced_sequence
                    if self._end.sequence >= upto and self._began:
                        self._caught_up_ns = read_ns
                        return True
                    self._pending = self._next(upto)
                self._store(*self._pending)
        return False

    def _next(self, upto: int) -> tuple[CopyGroup, bytes]:
        commits, restart, first = b"", self._end.number == 0, self._end.sequence + 1
        last = first - 1
        if not restart and last < upto:
            try:
                read = self._reader.read(upto, SEGMENT_BYTES)
                commits, last = packed(read), self._reader.after
            except LogGone:
                restart = True
                _log.warning("the log does not reach back to the end of the copy: a new snapshot follows")
        if restart:
            first, last = upto + 1, upto
            self._reader = LogReader(self._directory / ROCKS_DIRECTORY, upto)
            self.release()
            self._wants_snapshot = True
        self._time_ns = max(self._time_ns, self._clock.now_ns())
        group = CopyGroup(self._end.number + 1, self.tenure.term, first, last, self._time_ns, restart)
        group = group.linked(self._end.chain, commits)
        return group, segment_bytes(CopySegment(self._end.copy, self._end.chain, (group,), (commits,)))

    def _store(self, group: CopyGroup, content: bytes) -> None:
        name = segment_name(group.number, group.number)
        try:
            self.place.put(name, content, expected=ABSENT)
        except PutRefused:
            if self.place.get(name)[0] != content:
                self._pending = None
                if self._began:
                    self.tenure.lose(f"Another server writes the copy at {self.place.shown} now.")
                    raise TakenOver(self.tenure.lost) from None
                segment = self.place.segment(Span(group.number, group.number, name))
                if segment.groups[0].term >= self.tenure.term:
                    raise self._other_history() from None
                # Of this directory's process before, which had sent it when it was killed.
                self._reader = LogReader(self._directory / ROCKS_DIRECTORY, self._end.sequence)
                self._agree(segment, segment.groups[0], segment.commits[0])
                return
        self._pending = None
        self._began = True
        self._end = self._end.after(group)
        self._stored_ns = self._clock.now_ns()
        self._stored_bytes += len(content)
        self._bytes_since += group.size

    def after_sync(self, sequence: int) -> None:
        """The store's `after_sync`: raises Fenced when nothing may be acknowledged; with `sync` waits until
        the copy has it."""
        while self._sync and self._end.sequence < sequence:
            try:
                self.ship()
            except (BucketError, OSError) as error:
                self._fault = f"{self.place.shown} cannot be written: {error}."
                if not self.tenure.holds():
                    break
                self._wait(RETRY_S)
                if self._stopping.is_set():
                    raise IOFailed("The server stops before the copy has the commit.") from error
            except CopyError as error:
                raise Fenced(str(error)) from error
        if not self.tenure.holds():
            ended = f"The lease of {self.place.shown} has ended, as it could not be renewed."
            raise Fenced(self.tenure.lost or ended)

    # --- The thread ------------------------------------------------------------------------------

    def run(self) -> None:
        """Copies until `stop`, or until this server may not acknowledge any more, in a thread of its own."""
        while not self._stopping.is_set() and (not self.is_begun or self.tenure.holds()):
            self._wait(self.step())

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ends `run`."""
        self._stopping.set()

    def release(self) -> None:
        """Ends the snapshot, so that the store can be closed. `run` has ended, or calls this."""
        if self._writer is not None:
            self._writer.release()
        self._writer = None

    def step(self) -> float:
        """Does what is due. Returns the seconds to the next step. Raises nothing of the bucket's."""
        try:
            if not self.is_begun and self.begin() > 0:
                return RETRY_S
            self.tenure.keep()
            everything = self.ship(SEGMENTS_PER_STEP)
            busy = not everything or self._snapshot_step()
            self._tidy()
        except (BucketError, OSError) as error:
            if not self._fault:
                _log.warning("the copy waits: %s cannot be written: %s", self.place.shown, error)
            self._fault = f"{self.place.shown} cannot be written: {error}."
            return RETRY_S
        except CopyError as error:
            if not self._fault:
                _log.error("the copy has ended: %s", error)
            self._fault = str(error)
            self.tenure.lose(str(error))
            return RETRY_S
        self._fault = ""
        return 0.0 if busy else self.lag_s / 2

    def finish(self) -> None:
        """Stores the rest and gives the lease back, after the store was closed.

        Raises CopyError, BucketError, OSError."""
        if self.is_begun and not self.tenure.lost:
            self.ship()
            self._remember()
            self.tenure.release()

    def status(self) -> CopyStatus:
        behind = self._end.sequence < self.source.synced_sequence
        return CopyStatus(
            self.place.shown,
            max(self._clock.now_ns() - self._caught_up_ns, 0) / 1e9 if behind else 0.0,
            self._end.number,
            self._stored_ns,
            self._stored_bytes,
            0 if self._snapshot is None else self._snapshot.time_ns,
            self._fault,
        )

    # --- Snapshots, and what can go --------------------------------------------------------------

    def _snapshot_step(self) -> bool:
        """Returns whether there is more to do at once."""
        if self._writer is None:
            if not self._wants_snapshot and not self._is_snapshot_due():
                return False
            self._writer = self._begun_snapshot()
            self._bytes_since = 0
        writer = self._writer
        if self._end.sequence < writer.snapshot.sequence:
            return True  # its last commits are not synced, or not stored yet
        complete = writer.step()
        if complete is not None and self._writer is writer:
            self.release()
            self._snapshot, self._wants_snapshot = complete, False
        return True

    def _begun_snapshot(self) -> SnapshotWriter:
        sequence, iterator = self.source.numbered_iterator()
        end, now_ns = self._end, self._clock.now_ns()
        wanted = CopySnapshot(end.copy, sequence, end.number, end.chain, max(now_ns, self._time_ns))
        return SnapshotWriter(self.place, wanted, iterator)

    def _is_snapshot_due(self) -> bool:
        last = self._snapshot
        if last is None or not self._bytes_since:
            return last is None
        if self._bytes_since > max(SNAPSHOT_BYTES_MIN, sum(each.size for each in last.pieces)):
            return True
        return self._clock.now_ns() - last.time_ns > min(SNAPSHOT_EVERY_S, self._keep_s / 2) * 1e9

    def _tidy(self) -> None:
        now_s = self._monotonic()
        if now_s >= self._remembered_s + KNOWN_EVERY_S:
            self._remember()
        if now_s >= self._tidied_s + TIDY_EVERY_S:
            self._tidied_s = now_s
            self.tidy()

    def tidy(self) -> None:
        """Merges segments and removes what has expired. Raises CopyError, BucketError."""
        self._merge()
        writing = self._writer
        before_ns = self._clock.now_ns() - int(self._keep_s * 1e9)
        expire(self.place, before_ns, "" if writing is None else writing.snapshot.prefix)

    def _merge(self) -> None:
        """Makes one segment of many small ones, never of the newest. It is stored before they go."""
        found = self.place.spans()
        for name in {each.name for each in self.place.spans(every=True)} - {each.name for each in found}:
            self.place.remove(name)  # a larger one has its groups
        spans = [each for each in found[:-1] if each.first == each.last]
        while len(spans) > MERGED_SPANS:
            merged, spans = spans[:MERGED_SPANS], spans[MERGED_SPANS:]
            segments = [self.place.segment(each) for each in merged]
            first, last = merged[0].first, merged[-1].last
            if last - first + 1 != len(merged):
                continue  # others are between them
            segment = CopySegment(
                segments[0].copy,
                segments[0].previous,
                tuple(group for each in segments for group in each.groups),
                tuple(commits for each in segments for commits in each.commits),
            )
            self.place.put(segment_name(first, last), segment_bytes(segment))
            for each in merged:
                self.place.remove(each.name)

    def _remember(self) -> None:
        """Records how far the copy is, after which earlier files of the log can go. Raises OSError."""
        end = self._end
        self._remembered_s = self._monotonic()
        if end != self._known:
            remember(self._directory, end)
            self._known = end
            self._reader.forget()
