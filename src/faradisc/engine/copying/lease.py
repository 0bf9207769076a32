"""The lease of a copy: at most one server writes it, and at most one acknowledges writes.

Two guards, each sufficient where it applies:

1. Groups are numbered, and a segment is stored only where its number is free. A server that takes over stores
   a group of its own term first. From then on the one before can store nothing more, however late it comes,
   and learns that it has lost. With `--copy-sync` nothing is acknowledged that is not stored.
2. With `--copy-lease` a server renews the lease before it ends, and acknowledges nothing after its end, even
   if the bucket is away. Another one takes the lease when it has not changed for that long by its own clock,
   so the clocks need not agree: the holder's time begins before its renewal, the other's after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from faradisc.engine.copying.format import LEASE, CopyError, CopyLease, read_lease
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.objects.api import ABSENT, NoSuchKey, PutRefused

BEATS = 3
"""Renewals in the time of a lease."""
DRIFT = 1.05
"""Of two clocks: how much longer a lease is waited for."""


class TakenOver(CopyError):
    """Another server writes the copy now."""


def lease_of(place: CopyPlace) -> tuple[CopyLease, str] | None:
    """Returns the lease of a copy and its ETag; None if there is no copy. Raises CopyError, BucketError."""
    try:
        content, tag = place.get(LEASE)
    except NoSuchKey:
        return None
    return read_lease(content, f"{place.shown}/{LEASE}"), tag


class LapseWatch:
    """Tells when a lease that somebody else has has ended."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._tag: str | None = None
        self._since = 0.0

    def left_s(self, lease: CopyLease, tag: str) -> float:
        """Returns the seconds until the lease has ended, if its holder does not renew it; 0: it has;
        infinity: it does not end by itself. Called with what was read just now."""
        now = self._monotonic()
        if tag != self._tag:
            self._tag, self._since = tag, now
        if not lease.holder:
            return 0.0
        if not lease.lease_s:
            return float("inf")
        return max(self._since + lease.lease_s * DRIFT - now, 0.0)


class Tenure:
    """The lease while this server has it, or wants to."""

    def __init__(
        self, place: CopyPlace, holder: str, server: str, lease_s: float, monotonic: Callable[[], float]
    ):
        """holder: an identity that no other start of a server has."""
        self._place = place
        self.holder = holder
        self._server = server
        self._lease_s = lease_s
        self._monotonic = monotonic
        self._tag = ""
        self._until = 0.0
        self._renewed = 0.0
        self._tried: set[bytes] = set()
        """Contents that were put since the last answer."""
        self.lease: CopyLease | None = None
        self.lost = ""
        """Why this server may not write the copy any more, in a sentence."""

    @property
    def term(self) -> int:
        assert self.lease is not None
        return self.lease.term

    def begin(self, copy: str) -> None:
        """Makes a new copy. Raises CopyError if there is one now; BucketError."""
        self._put(CopyLease(copy, self.holder, 1, self._lease_s, 0, self._server), ABSENT)
        if self.lost:
            raise CopyError(self.lost)

    def take(self, seen: CopyLease, tag: str) -> None:
        """Takes the lease that was seen. Raises CopyError if it has changed since; BucketError.

        Requires: it has ended, or nobody acknowledges by it.
        """
        wanted = CopyLease(seen.copy, self.holder, seen.term + 1, self._lease_s, seen.beat + 1, self._server)
        self._put(wanted, tag)
        if self.lost:
            raise CopyError(self.lost)

    def keep(self) -> None:
        """Renews the lease if it is time. Raises BucketError; afterwards `lost` says whether it is lost."""
        if self.lost or not self._lease_s or self._monotonic() < self._renewed + self._lease_s / BEATS:
            return
        assert self.lease is not None
        self._put(replace(self.lease, beat=self.lease.beat + 1), self._tag)

    def release(self) -> None:
        """Gives the lease back at the end. Raises BucketError."""
        if not self.lost and self.lease is not None:
            self._put(replace(self.lease, holder="", beat=self.lease.beat + 1), self._tag)

    def holds(self) -> bool:
        """Whether this server may acknowledge a write now."""
        return not self.lost and (not self._lease_s or self._monotonic() < self._until)

    def lose(self, why: str) -> None:
        self.lost = self.lost or why

    def _put(self, lease: CopyLease, expected: str) -> None:
        content = lease.to_bytes()
        began = self._monotonic()
        self._tried.add(content)
        try:
            tag = self._place.put(LEASE, content, expected=expected)
        except PutRefused:
            found, tag = self._place.get(LEASE)
            if found not in self._tried:
                other = read_lease(found, LEASE)
                where = f" ({other.server})" if other.server else ""
                self.lose(f"Another server{where} writes the copy at {self._place.shown} now.")
                return
            # An earlier attempt was stored, and its answer was lost: its time began then, not now.
            lease, began = read_lease(found, LEASE), self._renewed
        self._tried.clear()
        self._tag, self.lease = tag, lease
        self._renewed, self._until = began, began + self._lease_s
