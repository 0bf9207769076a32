"""What was charged and throttled since the last whole minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from faradisc.capacity.admission import Limiter
from faradisc.capacity.throttle import Cause
from faradisc.records import dataclass, field


@dataclass(frozen=True, slots=True)
class MinuteUsage:
    """Reads or writes of one resource in one minute."""

    minute_ns: int
    direction: str
    tally: Mapping[int, int]
    """How often each cost, in half units, was charged."""
    events: Mapping[Cause, int]
    """Throttle events by cause."""
    build_events: int = 0
    """Throttle events while the resource, a global index, was being filled; they are not in `events`."""
    replicated: Mapping[int, int] = field(default_factory=dict)
    """The part of `tally` that writes of other replicas cost."""

    @property
    def half_units(self) -> int:
        return sum(cost * count for cost, count in self.tally.items())


class UsageCounter:
    """Collects the tallies of a resource's limiters until a minute ends."""

    __slots__ = ("_build_events", "_events", "_folded", "_is_filled", "_limiters", "_replicated", "_tallies")

    def __init__(self, limiters: tuple[Limiter, Limiter]) -> None:
        self._limiters = limiters
        self._folded = [(0, 0), (0, 0)]
        """Half units and throttle events that `fold` has taken over so far, reads first."""
        self._tallies: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self._replicated: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self._events: tuple[Counter[Cause], Counter[Cause]] = (Counter(), Counter())
        self._build_events = [0, 0]
        self._is_filled = True

    @property
    def empty(self) -> bool:
        return not any((*self._tallies, *self._events, *self._build_events))

    def set_filled(self, is_filled: bool) -> None:
        """Says whether throttle events from now on are those of a resource in use, or of an index that is
        being filled."""
        self.fold()
        self._is_filled = is_filled

    def fold(self) -> None:
        """Takes over and clears the counts of the limiters."""
        self._folded = self.totals()
        for at, limiter in enumerate(self._limiters):
            self._tallies[at].update(limiter.tally)
            if self._is_filled:
                self._events[at].update(limiter.events)
            else:
                self._build_events[at] += sum(limiter.events.values())
            self._replicated[at].update(limiter.replicated)
            limiter.replicated.clear()
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
            MinuteUsage(minute_ns, limiter.direction, dict(tally), dict(events), built, dict(replicated))
            for limiter, tally, events, built, replicated in zip(
                *(self._limiters, self._tallies, self._events, self._build_events, self._replicated),
                strict=True,
            )
        ]
        for counts in (*self._tallies, *self._events, *self._replicated):
            counts.clear()
        self._build_events = [0, 0]
        return usages

    def unpublished(self, minute_ns: int) -> list[MinuteUsage]:
        """Returns what was counted since the last whole minute, without starting the next one."""
        self.fold()
        usages = self.end_minute(minute_ns)
        self.take_over(usages)
        return usages

    def take_over(self, usages: Iterable[MinuteUsage]) -> None:
        """Adds what was counted and not published."""
        for at, usage in enumerate(usages):
            self._tallies[at].update(usage.tally)
            self._replicated[at].update(usage.replicated)
            self._events[at].update(usage.events)
            self._build_events[at] += usage.build_events
