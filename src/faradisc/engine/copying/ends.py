"""Where a copy ends, and the store's log after it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from faradisc.engine.copying.format import CopyDamaged, CopyError, CopyGroup, CopySegment, packed
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.copying.points import CopyPoint
from faradisc.storage.rocks_files import ROCKS_DIRECTORY
from faradisc.storage.rocks_log import LogGone, LogReader

SEGMENT_BYTES = 4 << 20
_log = logging.getLogger(__name__)


class CopyEnd:
    """The newest group of a copy, and a reader of the log that continues after it."""

    def __init__(
        self, place: CopyPlace, directory: Path, apply: Callable[[CopyGroup, bytes], object] | None
    ) -> None:
        """directory: of the data. apply: of a store that follows the copy: it gets all groups."""
        self.point = CopyPoint("", 0, 0, "")
        self._place = place
        self._directory = directory
        self._apply = apply
        self._reader = LogReader(directory / ROCKS_DIRECTORY, 0)
        self.time_ns = 0
        """Of the newest group, which no later one goes below."""

    def begin(self, point: CopyPoint) -> None:
        self.point = point
        self.read_again()

    def read_again(self) -> None:
        """Reads the log on from the end of the copy."""
        self._reader = LogReader(self._directory / ROCKS_DIRECTORY, self.point.sequence)

    def find(self, synced: int) -> None:
        """Follows the copy from where it is known to its end, and compares it with the log, which is synced
        up to `synced`. Raises CopyError, BucketError."""
        shown, known = self._place.shown, self.point
        self.read_again()
        spans = self._place.spans()
        if known.number and (not spans or spans[-1].last < known.number):
            raise CopyDamaged(f"{shown} lacks segments that were stored: choose another prefix.")
        for span in spans:
            if span.last < max(known.number, 1):
                continue
            segment = self._place.segment(span)
            for group, commits in zip(segment.groups, segment.commits, strict=True):
                if group.number == known.number and group.chain != known.chain:
                    raise self.other_history()
                if group.number > self.point.number:
                    self.agree(segment, group, commits, synced)

    def agree(self, segment: CopySegment, group: CopyGroup, commits: bytes, synced: int) -> None:
        """Takes a group of the copy as its next one, if it is of this directory's log. Raises CopyError."""
        if group.number != self.point.number + 1:
            raise CopyDamaged(f"{self._place.shown} lacks the segment of group {self.point.number + 1}.")
        if segment.copy != self.point.copy:
            raise self.other_history()
        if self._apply is not None:
            self._apply(group, commits)
            self.accept(group)
            self.read_again()
            return
        if group.last > synced:
            raise self.other_history()
        if group.restart:
            self._reader = LogReader(self._directory / ROCKS_DIRECTORY, group.first - 1)
        try:
            own = []
            while self._reader.after < group.last:
                own += self._reader.read(group.last, SEGMENT_BYTES)
        except LogGone:
            raise self.other_history() from None
        if packed(own) != commits:
            raise self.other_history()
        self.accept(group)

    def accept(self, group: CopyGroup) -> None:
        """Takes a group that is stored as the newest one."""
        self.time_ns = max(self.time_ns, group.time_ns)
        self.point = self.point.after(group)

    def next_group(self, upto: int, term: int, now_ns: int) -> tuple[CopyGroup, bytes]:
        """Returns the next group of the log, of commits up to a sequence number, and them. Raises OSError."""
        commits, restart, first = b"", self.point.number == 0, self.point.sequence + 1
        last = first - 1
        if not restart and last < upto:
            try:
                commits = packed(self._reader.read(upto, SEGMENT_BYTES))
                last = self._reader.after
            except LogGone:
                restart = True
                _log.warning("the log does not reach back to the end of the copy: a new snapshot follows")
        if restart:
            first, last = upto + 1, upto
            self._reader = LogReader(self._directory / ROCKS_DIRECTORY, upto)
        group = CopyGroup(self.point.number + 1, term, first, last, max(self.time_ns, now_ns), restart)
        return group.linked(self.point.chain, commits), commits

    def forget(self) -> None:
        """Removes files of the log that the copy needs no more."""
        self._reader.forget()

    def other_history(self) -> CopyError:
        return CopyError(
            f"{self._place.shown} has commits that {self._directory} does not have: another server has "
            "continued it. Restore it with `faradisc restore-copy`, or choose another prefix."
        )
