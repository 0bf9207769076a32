"""When the changes of items happen: no two commits have one moment, and none goes back."""

from __future__ import annotations

from faradisc.clock import Clock


class Moments:
    """Gives every change its time: that of the clock, or a nanosecond after the last change.

    No change gets a moment whose state has been read, so a restore reads what can no longer change.
    Each node of a shared store has its own moments. There a change of an item is after the one before it,
    whichever node made that (engine/tables/commit.py), so that no moment divides a commit.
    """

    __slots__ = ("_clock", "_last_ns")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_ns = 0

    def now_ns(self) -> int:
        """Returns the present, which is not before any change."""
        return max(self._clock.now_ns(), self._last_ns)

    def next_ns(self, after_ns: int = 0) -> int:
        """Returns the moment of a new change, after all others, and after `after_ns`."""
        now_ns, last_ns = self._clock.now_ns(), max(self._last_ns, after_ns)
        self._last_ns = now_ns if now_ns > last_ns else last_ns + 1
        return self._last_ns

    def begin_after(self, at_ns: int) -> None:
        """Makes changes happen after `at_ns` from now on."""
        self._last_ns = max(self._last_ns, at_ns)
