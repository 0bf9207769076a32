"""Writes a copy: reads the store's log as far as it is synced, and stores it as segments, in order.

One thread calls `step` again and again, another one keeps the lease; with `sync` the thread of the store's
syncs calls `ship` too, before it answers. A segment is kept until it is known to be stored, and a put that
fails is repeated with the same bytes: so an answer that is lost changes nothing. While the bucket is away the
log waits on the disk.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from faradisc.clock import Clock, Entropy, monotonic_s
from faradisc.engine.copying.ends import CopyEnd
from faradisc.engine.copying.format import (
    CopyError,
    CopyGroup,
    CopyLease,
    CopySegment,
    segment_bytes,
)
from faradisc.engine.copying.lease import (
    BEATS,
    NOTE_EVERY_S,
    LapseWatch,
    TakenOver,
    Tenure,
    change,
    lease_of,
    require_conditions,
)
from faradisc.engine.copying.place import CopyPlace, Span
from faradisc.engine.copying.points import (
    CopyKeys,
    CopyPoint,
    CopyRecord,
    CopyStatus,
    known_lease,
    known_point,
    remember,
)
from faradisc.engine.copying.snapshots import CopySource, Snapshots
from faradisc.engine.objects.api import ABSENT, BucketError, PutRefused
from faradisc.storage.api import Fenced, IOFailed

SEGMENTS_PER_STEP = 16
RETRY_S = 0.5
KNOWN_EVERY_S = 10.0
TIDY_EVERY_S = 60.0
FOREVER_S = float("inf")
_log = logging.getLogger(__name__)


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
        keys: CopyKeys | None = None,
        monotonic: Callable[[], float] = monotonic_s,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """directory: of the data. source: its store, opened with `keep_log`. sync: a commit is answered when
        it is in the copy. apply: of a store that follows the copy and takes it over; it gets all groups.
        keys: of encrypted tables. wait: lets seconds pass."""
        self.lag_s = lag_s
        self.place = place
        self._directory = directory
        self.source = source
        self._clock = clock
        self._entropy = entropy
        self._sync = sync
        self._keys = keys
        self._is_standby = apply is not None
        self._monotonic = monotonic
        holder = entropy.token_bytes(8).hex()
        self.tenure = Tenure(place, holder, lease_s, monotonic, self._remember_lease, server=server)
        self.is_begun = False
        self._watch = LapseWatch(monotonic)
        self._noted_s, self._notes = -NOTE_EVERY_S, 0
        self._lock = threading.Lock()
        """Held while a segment is made and stored."""
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._end = CopyEnd(place, directory, apply)
        self._record = CopyRecord(directory, holder)
        self._pending: tuple[CopyGroup, bytes] | None = None
        """The group that is being stored, and its segment."""
        self._began = False
        """Whether a group of this term is stored."""
        self._caught_up_ns = clock.now_ns()
        self._snapshots = Snapshots(place, clock, keep_s)
        self._remembered_s = self._tidied_s = monotonic()
        self._stored_ns = self._stored_bytes = 0
        self._fault = self._lease_fault = ""

    # --- Start -----------------------------------------------------------------------------------

    def needs_bucket(self) -> bool:
        """Whether this directory's server may answer nothing before it has the lease: another server may
        have taken it. Raises CopyError."""
        lease = known_lease(self._directory)
        return self._sync or lease.ends or (known_point(self._directory) is not None and not lease.holder)

    def begin(self, *, confirmed: bool = False, patient: bool = False) -> float:
        """Takes the lease, and finds where to continue. Returns 0, or the seconds after which the lease that
        another server has may have ended: then it is called again, as after a BucketError.

        confirmed, patient: as of `left_s`.

        Raises CopyError when the place cannot be this directory's copy; BucketError. Nothing is overwritten.
        """
        known, self._pending = known_point(self._directory), None
        self._caught_up_ns = known_lease(self._directory).caught_up_ns or self._caught_up_ns
        found = lease_of(self.place)
        if found is None:
            if self._is_standby:
                raise self._is_gone()
            if names := self.place.names(""):
                raise CopyError(
                    f"{self.place.shown} has other objects ({names[0]}) and no copy: choose an empty prefix."
                )
            if known is None or known.number:
                known = CopyPoint(self._entropy.token_bytes(16).hex(), 0, -1, "")
                remember(self._directory, known)  # first: a crash after the lease leaves a copy that is known
            self._end.begin(known)
            self.tenure.begin(known.copy)
            self._require_conditions()
        else:
            lease, tag = found
            if known is None or known.copy != lease.copy:
                raise CopyError(
                    f"{self.place.shown} has the copy of another data directory: `faradisc restore-copy "
                    f"{self.place.shown} DIRECTORY` restores it, and other data need another prefix."
                )
            left_s = self.left_s(found, confirmed=confirmed, patient=patient)
            if left_s > 0:
                return left_s
            self._require_conditions()
            self._end.begin(known)
            self._end.find(self.source.synced_sequence)
            if not self.tenure.take(lease, tag):  # perhaps by a note only
                return self.begin(confirmed=confirmed, patient=patient)
            self._remember_lease(ends=False)
            self._end.find(self.source.synced_sequence)
        self._snapshots.begin()
        self._remember_lease(ends=False)
        self.ship(1)
        self.is_begun = True
        return 0.0

    def _require_conditions(self) -> None:
        if self.tenure.lease_s or self._sync:
            require_conditions(self.place)

    def _is_gone(self) -> CopyError:
        return CopyError(f"There is no copy at {self.place.shown} any more.")

    def left_s(
        self,
        found: tuple[CopyLease, str] | None = None,
        *,
        confirmed: bool = False,
        patient: bool = False,
        wanted: bool = False,
    ) -> float:
        """Returns the seconds after which the lease may be taken, if its holder does not renew it: 0 now,
        infinity if it does not end by itself. Leaves a note for the holder. Raises CopyError, BucketError.

        found: the lease, if it was read just now. confirmed: the holder is known to have stopped. patient:
        one that has stopped gets the time of the lease to start again. wanted: the holder is asked to hand
        over.
        """
        found = found or lease_of(self.place)
        if found is None:
            raise self._is_gone()
        lease, tag = found
        left_s = self._watch.left_s(lease)
        own = "" if self._is_standby else known_lease(self._directory).holder
        if lease.holder in ("", self.tenure.holder, own):  # no process of this directory's runs but this
            return left_s if patient else 0.0
        # To serve a restored directory says that the server that it was copied from has gone.
        may_take = confirmed or not self._is_standby
        if not lease.lease_s:
            return 0.0 if may_take else FOREVER_S
        if self._watch.is_renewed and not self._is_standby:
            where = f" at {lease.server}" if lease.server else ""
            self.leave()
            raise CopyError(
                f"Another server{where} writes the copy at {self.place.shown}, and renews its lease: stop it "
                "first, or choose another prefix."
            )
        if left_s == 0 and (lease.ends or may_take):
            return 0.0
        self._note(lease, tag, wanted)
        return left_s or FOREVER_S

    def _note(self, lease: CopyLease, tag: str, wanted: bool) -> None:
        now_s, holder = self._monotonic(), self.tenure.holder
        if wanted and lease.wanted != holder:
            change(self.place, lease, tag, wanted=holder)
        elif not lease.waiting or now_s >= self._noted_s + NOTE_EVERY_S:
            self._noted_s, self._notes = now_s, self._notes + 1
            change(self.place, lease, tag, waiting=f"{holder} {self._notes}")

    def leave(self) -> None:
        """Takes back the note that this server waits. Raises CopyError, BucketError."""
        found = lease_of(self.place)
        if found is not None and found[0].waiting.startswith(self.tenure.holder):
            change(self.place, *found, waiting="")

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
                    if self._end.point.sequence >= upto and self._began:
                        self._caught_up_ns = read_ns
                        return True
                    self._pending = self._next(upto)
                if self._keys is not None:
                    self._keys.store(self.place)
                self._store(*self._pending)
        return False

    def _next(self, upto: int) -> tuple[CopyGroup, bytes]:
        point = self._end.point
        group, commits = self._end.next_group(upto, self.tenure.term, self._clock.now_ns())
        if group.restart:
            self._snapshots.want()
        return group, segment_bytes(CopySegment(point.copy, point.chain, (group,), (commits,)))

    def _store(self, group: CopyGroup, content: bytes) -> None:
        span = Span(group.number, group.number)
        try:
            self.place.put(span.name, content, expected=ABSENT)
        except PutRefused:
            if self.place.get(span.name)[0] != content:
                self._pending = None
                if self._began:
                    self.tenure.lose(f"Another server writes the copy at {self.place.shown} now.")
                    raise TakenOver(self.tenure.lost) from None
                segment = self.place.segment(span)
                if segment.groups[0].term >= self.tenure.term:
                    raise self._end.other_history() from None
                # Of this directory's process before, which had sent it when it was killed.
                self._end.read_again()
                synced = self.source.synced_sequence
                self._end.agree(segment, segment.groups[0], segment.commits[0], synced)
                return
        self._pending = None
        self._began = True
        self._end.accept(group)
        self._stored_ns = self._clock.now_ns()
        self._stored_bytes += len(content)
        self._snapshots.added(group.size)

    def after_sync(self, sequence: int) -> None:
        """The store's `after_sync`: returns when what is synced may be answered: with `sync` the copy has it,
        and this server holds the lease. Raises Fenced when nothing may be answered any more."""
        while True:
            try:
                if self._sync and self._end.point.sequence < sequence:
                    self.ship()
                if self.tenure.lost:
                    raise Fenced(self.tenure.lost)
                if self.tenure.holds():
                    return
            except (BucketError, OSError) as error:
                self._fault = f"{self.place.shown} cannot be written: {error}."
            except CopyError as error:
                raise Fenced(str(error)) from error
            if self._stopping.is_set():
                raise IOFailed("The server stops before it may answer the commit.")
            self._wait(RETRY_S)

    def require_lease(self) -> None:
        """Called with an answer that was made, before it is sent: a newer primary may have written what a
        read should show. Raises Fenced."""
        if not self.tenure.holds():
            raise Fenced(self.tenure.lost or self._lapsed)

    @property
    def _lapsed(self) -> str:
        return (
            f"The lease of {self.place.shown} has ended: another server may take over, so nothing is "
            "answered until it is renewed."
        )

    # --- The threads -----------------------------------------------------------------------------

    def run(self) -> None:
        """Copies until `stop`, or until this server may not answer any more, in a thread of its own."""
        while not self._stopping.is_set() and not self.tenure.lost:
            self._wait(self.step())

    def run_lease(self) -> None:
        """Keeps the lease as long, in another thread, so that no large object delays a renewal."""
        while not self._stopping.is_set() and not self.tenure.lost:
            self.keep()
            self._wait(min(RETRY_S, self.tenure.lease_s / BEATS / 2))

    def keep(self) -> None:
        """Renews the lease, or looks at it, if that is due. Raises nothing of the bucket's."""
        try:
            self.tenure.keep()
            self._lease_fault = ""
        except (BucketError, OSError) as error:
            self._lease_fault = f"The lease of {self.place.shown} cannot be read or renewed: {error}."
        except CopyError as error:
            self.tenure.lose(str(error))

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ends `run`."""
        self._stopping.set()

    def release(self) -> None:
        """Ends the snapshot, so that the store can be closed. `run` has ended, or calls this."""
        self._snapshots.release()

    def step(self) -> float:
        """Does what is due. Returns the seconds to the next step. Raises nothing of the bucket's."""
        try:
            if not self.is_begun and self.begin() > 0:
                raise TakenOver(f"Another server has taken over the copy at {self.place.shown}.")
            if self.tenure.wanted:
                return self._hand_over()
            everything = self.ship(SEGMENTS_PER_STEP)
            busy = not everything or self._snapshots.step(self.source, self._end)
            self._tidy()
        except (BucketError, OSError) as error:
            if not self._fault:
                # As text: what keeps the error keeps the snapshot's iterator, and the store stays open.
                _log.warning("the copy waits: %s cannot be written: %s", self.place.shown, str(error))
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

    def _hand_over(self) -> float:
        """Answers nothing more, stores the rest, and gives the lease to who wants it."""
        self.tenure.hand_over()
        if self.ship(SEGMENTS_PER_STEP):
            self._remember()
            self.tenure.release()
            self.lose_to_another()
        return 0.0

    def lose_to_another(self) -> None:
        self.tenure.lose(f"The copy at {self.place.shown} was handed over to another server.")

    def hand_over(self) -> int:
        """Hands the data over to a standby that reads the copy from this server: answers nothing more, stores
        the rest, and never serves them again. Returns the newest group. Raises CopyError, BucketError,
        OSError; then it goes on answering."""
        if self.tenure.lease is not None and self.tenure.lease.waiting:
            raise CopyError(f"Another standby follows {self.place.shown} itself: promote that one.")
        self.tenure.hand_over()
        try:
            while not self.ship():
                pass
            self._record.handed_over = True
            self._record.write(self._end.point, self._caught_up_ns)
        except BaseException:
            self.tenure.hand_over(self._record.handed_over)
            raise
        return self._end.point.number

    def finish(self) -> None:
        """Stores the rest and gives the lease back, after the store was closed.

        Raises CopyError, BucketError, OSError."""
        if self.is_begun and not self.tenure.lost:
            self.ship()
            self._remember()
            self.tenure.release()

    def status(self) -> CopyStatus:
        newest, lease = self._snapshots.newest, self.tenure.lease
        behind = self._end.point.sequence < self.source.synced_sequence
        lapsed = "" if self.tenure.holds() else self.tenure.lost or self._lapsed
        return CopyStatus(
            self.place.shown,
            max(self._clock.now_ns() - self._caught_up_ns, 0) / 1e9 if behind else 0.0,
            self._end.point.number,
            self._stored_ns,
            self._stored_bytes,
            0 if newest is None else newest.time_ns,
            lapsed or self._fault or self._lease_fault,
            lease.waiting if lease is not None and lease.ends else "",
            "" if self._keys is None else self._keys.lacking,
        )

    # --- What is known ---------------------------------------------------------------------------

    def _tidy(self) -> None:
        now_s = self._monotonic()
        if now_s >= self._remembered_s + KNOWN_EVERY_S:
            self._remember()
        if now_s >= self._tidied_s + TIDY_EVERY_S:
            self._tidied_s = now_s
            self.tidy()

    def tidy(self) -> None:
        """Merges segments and removes what has expired. Raises CopyError, BucketError."""
        self._snapshots.tidy()

    def _remember(self) -> None:
        """Records how far the copy is, after which earlier files of the log can go. Raises OSError."""
        self._remembered_s = self._monotonic()
        if self._record.write(self._end.point, self._caught_up_ns):
            self._end.forget()

    def _remember_lease(self, ends: bool) -> None:
        """Raises OSError."""
        self._record.ends = ends
        self._record.write(self._end.point, self._caught_up_ns)
