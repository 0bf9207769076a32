"""The lease of a copy: at most one server writes it, and at most one acknowledges writes.

`lease.json` is one register: every change of it is a put on the condition of what was read. Two guards, each
sufficient where it applies:

1. Groups are numbered, and a segment is stored only where its number is free. A server that takes over stores
   a group of its own term first. From then on the one before can store nothing more, however late it comes,
   and learns that it has lost. With `--copy-sync` nothing is acknowledged that is not stored.
2. Who wants the lease of another server writes so into it. The holder then makes it a lease that ends, renews
   it, and answers nothing between its end and the next renewal, even if the bucket is away. Until it has done
   so it answers whatever the bucket does, and no server may take the lease from it but at an operator's word.
   Another server takes the lease when it has not changed for its time by that server's own clock, so the
   clocks need not agree: the holder's time begins before its renewal, the other's after it.

docs/decisions/0029-the-lease-of-a-copy.md has the reasons.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from faradisc.engine.copying.format import LEASE, CopyError, CopyLease, read_lease
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.objects.api import ABSENT, BucketUnable, NoSuchKey, PutRefused

BEATS = 3
"""Renewals in the time of a lease, or looks at it."""
DRIFT = 1.05
"""Of two clocks: how much longer a lease is waited for."""
NOTE_EVERY_S = 60.0
"""Between two notes of a server that waits for the end of a lease."""
WAITING_S = 600.0
"""After the last such note the holder waits for no server any more."""
ATTEMPTS = 4
"""At one renewal: each note of another server takes one."""
_NO_TAG = "0" * 32


class TakenOver(CopyError):
    """Another server writes the copy now."""


def lease_of(place: CopyPlace) -> tuple[CopyLease, str] | None:
    """Returns the lease of a copy and its ETag; None if there is no copy. Raises CopyError, BucketError."""
    try:
        content, tag = place.get(LEASE)
    except NoSuchKey:
        return None
    return read_lease(content, f"{place.shown}/{LEASE}"), tag


def change(place: CopyPlace, lease: CopyLease, tag: str, **members: Any) -> None:
    """Changes some members of the lease that was read, unless it has changed. Raises BucketError."""
    try:
        place.put(LEASE, replace(lease, **members).to_bytes(), expected=tag)
    except PutRefused:
        return  # a caller that needs the change looks again


def require_conditions(place: CopyPlace) -> None:
    """Raises CopyError where puts ignore their conditions, on which all leases rely; BucketError.

    Requires: the lease exists. Should its puts succeed they change nothing.
    """
    content, _ = place.get(LEASE)
    for expected in (ABSENT, _NO_TAG):
        try:
            place.put(LEASE, content, expected=expected)
        except PutRefused:
            continue
        except BucketUnable:
            pass
        raise CopyError(
            f"{place.shown} ignores the conditions of puts (If-None-Match, If-Match), so two servers could "
            "both be the primary: choose another endpoint, or --copy-lease 0 without --copy-sync and without "
            "a standby."
        )


class LapseWatch:
    """Tells how long a lease that somebody else has stands still."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._seen: tuple[str, int, int] | None = None
        self._since = 0.0
        self.is_renewed = False
        """Whether its holder has renewed it while it was watched."""

    def left_s(self, lease: CopyLease) -> float:
        """Returns the seconds for which it must stand still yet until its time is over. Called with what was
        read just now."""
        now, seen = self._monotonic(), (lease.holder, lease.term, lease.beat)
        if seen != self._seen:
            self.is_renewed = self._seen is not None and seen[:2] == self._seen[:2]
            self._seen, self._since = seen, now
        return max(self._since + lease.lease_s * DRIFT - now, 0.0)


class Tenure:
    """The lease while this server has it, or wants to. Used by several threads."""

    def __init__(
        self,
        place: CopyPlace,
        holder: str,
        lease_s: float,
        monotonic: Callable[[], float],
        record: Callable[[bool], object],
        *,
        server: str,
    ) -> None:
        """holder: an identity that no other start of a server has. record: keeps on this server's disk
        whether another server may take it without asking, before it may. server: its address, for people."""
        self._place = place
        self.holder = holder
        self._server = server
        self.lease_s = lease_s
        self._monotonic = monotonic
        self._record = record
        self._lock = threading.Lock()
        """Held while the lease is changed."""
        self._tag = ""
        self._ends = False
        self._until = 0.0
        self._due = 0.0
        self._waiting, self._waiting_since = "", 0.0
        self._hands_over = False
        self.lease: CopyLease | None = None
        self.lost = ""
        """Why this server may not write the copy any more, in a sentence."""

    @property
    def term(self) -> int:
        assert self.lease is not None
        return self.lease.term

    @property
    def wanted(self) -> str:
        """The server that an operator wants to take over; "" if none."""
        return "" if self.lease is None else self.lease.wanted

    def begin(self, copy: str) -> None:
        """Makes a new copy. Raises CopyError if there is one now; BucketError."""
        with self._lock:
            if not self._put(CopyLease(copy, self.holder, 1, self.lease_s, 0, self._server), ABSENT):
                raise CopyError(self.lost)

    def take(self, seen: CopyLease, tag: str) -> bool:
        """Takes the lease that was seen. Returns False if it has changed since. Raises BucketError.

        Requires: its time is over, or no server answers by it.
        """
        wanted = CopyLease(seen.copy, self.holder, seen.term + 1, self.lease_s, seen.beat + 1, self._server)
        with self._lock:
            taken = self._put(wanted, tag)
            self.lost = ""
            return taken

    def keep(self) -> None:
        """Renews the lease if it is time and somebody waits for its end; otherwise looks whether anybody
        does. Raises CopyError, BucketError; afterwards `lost` says whether it is lost."""
        with self._lock:
            now = self._monotonic()
            if self.lost or not self.lease_s or self.lease is None or now < self._due:
                return
            if not self._ends:
                content, tag = self._place.get(LEASE)
                if tag != self._tag and not self._adopt(content, tag):
                    return
                if not self.lease.waiting:
                    self._due = now + self.lease_s / BEATS
                    return
            for _ in range(ATTEMPTS):
                lease = self.lease
                if lease.waiting != self._waiting:
                    self._waiting, self._waiting_since = lease.waiting, now
                ends = bool(lease.waiting) and now < self._waiting_since + WAITING_S
                waiting = lease.waiting if ends else ""
                if self._put(replace(lease, beat=lease.beat + 1, ends=ends, waiting=waiting), self._tag):
                    self._due = now + self.lease_s / BEATS
                if self._due > now or self.lost:
                    return

    def hand_over(self, whether: bool = True) -> None:
        """Answers nothing from now on, so that what is to be copied does not grow."""
        self._hands_over = whether

    def release(self) -> None:
        """Gives the lease back at the end if somebody waits for it or wants it. Otherwise it stays this
        directory's, whose next start then needs no bucket. Raises CopyError, BucketError, OSError."""
        with self._lock:
            if not self.lost and self.lease is not None and self.lease_s:
                self._adopt(*self._place.get(LEASE))
            for _ in range(ATTEMPTS):
                if self.lost or self.lease is None or not (self.lease.waiting or self.lease.wanted):
                    return
                self._record(True)
                given = replace(self.lease, holder="", beat=self.lease.beat + 1, ends=False, wanted="")
                if self._put(given, self._tag):
                    return

    def holds(self) -> bool:
        """Whether this server may answer now."""
        if self.lost or self._hands_over:
            return False
        return not self._ends or self._monotonic() < self._until

    def lose(self, why: str) -> None:
        self.lost = self.lost or why

    def _put(self, lease: CopyLease, expected: str) -> bool:
        """Returns whether the lease is stored; otherwise it is as the bucket has it, or lost."""
        began = self._monotonic()
        if lease.ends and not self._ends:
            self._record(True)
            # Should the answer be lost: the put was not before this moment, so no server waited before it.
            self._until, self._ends = began + self.lease_s, True
        try:
            tag = self._place.put(LEASE, lease.to_bytes(), expected=expected)
        except PutRefused:
            # By a note of another server, a takeover, or an attempt of this one whose answer was lost.
            self._adopt(*self._place.get(LEASE))
            return False
        self._tag, self.lease = tag, lease
        self._until = began + self.lease_s
        if self._ends and not lease.ends and lease.holder:
            self._ends = False
            self._record(False)
        return True

    def _adopt(self, content: bytes, tag: str) -> bool:
        """Takes the lease as the bucket has it. Returns whether it is still this server's."""
        found = read_lease(content, f"{self._place.shown}/{LEASE}")
        if found.holder != self.holder:
            where = f" ({found.server})" if found.server and found.holder else ""
            self.lose(f"Another server{where} writes the copy at {self._place.shown} now.")
            return False
        self._tag, self.lease = tag, found
        return True
