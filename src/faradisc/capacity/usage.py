"""What was charged and throttled since the last whole minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from faradisc.capacity.admission import Limiter
from faradisc.capacity.throttle import Cause


@dataclass(frozen=True, slots=True)
class MinuteUsage:
    """Reads or writes of one resource in one minute."""

    minute_ns: int
    direction: str
    tally: Mapping[int, int]
    """How often each cost, in half units, was charged."""
    events: Mapping[Cause, int]
    """Throttle events by cause."""

    @property
    def half_units(self) -> int:
        return sum(cost * count for cost, count in self.tally.items())


class UsageCounter:
    """Collects the tallies of a resource's limiters until a minute ends."""

    __slots__ = ("_events", "_folded", "_limiters", "_tallies")

    def __init__(self, limiters: tuple[Limiter, Limiter]) -> None:
        self._limiters = limiters
        self._folded = [(0, 0), (0, 0)]
        """Half units and throttle events that `fold` has taken over so far, reads first."""
        self._tallies: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self._events: tuple[Counter[Cause], Counter[Cause]] = (Counter(), Counter())

    @property
    def empty(self) -> bool:
        return not any(self._tallies) and not any(self._events)

    def fold(self) -> None:
        """Takes over and clears the counts of the limiters."""
        self._folded = self.totals()
        for limiter, tally, events in zip(self._limiters, self._tallies, self._events, strict=True):
            tally.update(limiter.tally)
            events.update(limiter.events)
            limiter.tally.clear()
            limiter.events.clear()

    def totals(self) -> list[tuple[int, int]]:
        """Returns half units charged and throttle events since the beginning, reads first."""
        return [
            (
                charged + sum(cost * count for cost, count in limiter.tally.items()),
                throttled + sum(limiter.events.values()),
            )
            for limiter, (charged, throttled) in zip(self._limiters, self._folded, strict=True)
        ]

    def end_minute(self, minute_ns: int) -> list[MinuteUsage]:
        """Returns what was counted in the minute, reads first, and starts the next one."""
        usages = [
            MinuteUsage(minute_ns, limiter.direction, dict(tally), dict(events))
            for limiter, tally, events in zip(self._limiters, self._tallies, self._events, strict=True)
        ]
        for counts in (*self._tallies, *self._events):
            counts.clear()
        return usages

    def unpublished(self, minute_ns: int) -> list[MinuteUsage]:
        """Returns what was counted since the last whole minute, without clearing it."""
        usages = []
        for limiter, tally, events in zip(self._limiters, self._tallies, self._events, strict=True):
            tallied, happened = tally.copy(), events.copy()
            tallied.update(limiter.tally)
            happened.update(limiter.events)
            usages.append(MinuteUsage(minute_ns, limiter.direction, tallied, happened))
        return usages

    def take_over(self, usages: Iterable[MinuteUsage]) -> None:
        """Adds what a predecessor has counted and not published."""
        for usage, tally, events in zip(usages, self._tallies, self._events, strict=True):
            tally.update(usage.tally)
            events.update(usage.events)
