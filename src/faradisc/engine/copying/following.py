"""Keeps a second store up to date with a copy: a warm standby."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from faradisc.clock import Clock, monotonic_s
from faradisc.engine.copying.format import CopyDamaged, CopyError, CopyGroup, unpacked
from faradisc.engine.copying.place import CopyPlace, Span
from faradisc.engine.copying.points import known_point, remember
from faradisc.engine.copying.restoring import groups_after, linked
from faradisc.engine.objects.api import NoSuchKey
from faradisc.storage.rocks_following import FollowingStore

FETCH_BYTES = 8 << 20
"""Of commits that are fetched at once."""
LIST_EVERY_S = 10.0
"""A segment that is not there can have been merged into a larger one."""
REMEMBER_EVERY_S = 10.0

Fetched = list[tuple[CopyGroup, bytes]]


class Follower:
    def __init__(
        self,
        place: CopyPlace,
        directory: Path,
        store: FollowingStore,
        clock: Clock,
        monotonic: Callable[[], float] = monotonic_s,
    ) -> None:
        """directory: that a restore has made. store: is open in it. Raises CopyError."""
        known = known_point(directory)
        if known is None:
            raise CopyError(f"{directory} is no restored copy: follow into a new directory.")
        self.place = place
        self.directory = directory
        self.store = store
        self.point = known
        self.time_ns = 0
        """Of the newest group that was applied; 0: none since the start."""
        self._clock = clock
        self.monotonic = monotonic
        self._complete_ns = clock.now_ns()
        """When the copy had nothing newer."""
        self._listed_s = -LIST_EVERY_S
        self._remembered_s = monotonic()

    @property
    def late_s(self) -> float:
        """Seconds since the store had everything that the copy has."""
        return max(self._clock.now_ns() - self._complete_ns, 0) / 1e9

    def fetch(self) -> Fetched:
        """Returns the next groups of the copy, linked to what is applied. Waits for the network.

        Raises CopyError, BucketError.
        """
        began_ns = self._clock.now_ns()
        found: Fetched = []
        size = 0
        for group, commits in self._following():
            found.append((group, commits))
            size += len(commits)
            if size >= FETCH_BYTES:
                break
        if not found:
            self._complete_ns = began_ns
        return found

    def _following(self) -> Iterator[tuple[CopyGroup, bytes]]:
        """Yields the groups after those that are applied, from segments of one group; where the next one is
        not there, from all that are, now and then."""
        point = self.point
        try:
            while True:
                for group, commits in linked(self.place, Span(point.number + 1, point.number + 1), point):
                    yield group, commits
                    point = point.after(group)
        except NoSuchKey:
            if point is self.point and self.monotonic() >= self._listed_s + LIST_EVERY_S:
                self._listed_s = self.monotonic()
                yield from groups_after(self.place, point)

    def apply(self, fetched: Fetched) -> bool:
        """Applies groups in order. Returns whether rows of the system changed. Raises CopyError,
        StorageError."""
        system = False
        for group, commits in fetched:
            system = self.apply_group(group, commits) or system
        if fetched and self.monotonic() >= self._remembered_s + REMEMBER_EVERY_S:
            self.remember()
        return system

    def apply_group(self, group: CopyGroup, commits: bytes) -> bool:
        have = self.store.synced_sequence
        if group.restart and group.first > have + 1:
            raise CopyDamaged(
                f"{self.place.shown} has a gap before group {group.number}: follow it into a new directory, "
                "from its next snapshot."
            )
        system = self.store.apply([each for each in unpacked(commits) if each.last > have])
        self.point = self.point.after(group)
        self.time_ns = group.time_ns
        return system

    def remember(self) -> None:
        """Raises OSError."""
        remember(self.directory, self.point)
        self._remembered_s = self.monotonic()
