"""Arrival rates: the mean number of requests that a flow makes in each second, times `MICRO`."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import cos, pi
from typing import Protocol

from faradisc.records import dataclass
from faradisc.tools.traces.rate_file import MICRO

DAY_S = 86_400


class ArrivalRate(Protocol):
    def micro(self, second: int) -> int:
        """Returns the micro-requests of a second, counted from the start of the run."""

    @property
    def most(self) -> int:
        """The highest rate of any second, or a bound above it."""


@dataclass(frozen=True, slots=True)
class ConstantRate:
    """The same rate in every second."""

    value: int

    def micro(self, second: int) -> int:
        return self.value

    @property
    def most(self) -> int:
        return self.value


@dataclass(frozen=True, slots=True)
class Steps:
    """A rate from each moment until the next one; 0 before the first."""

    times: tuple[int, ...]
    values: tuple[int, ...]

    def micro(self, second: int) -> int:
        position = bisect_right(self.times, second)
        return self.values[position - 1] if position else 0

    @property
    def most(self) -> int:
        return max(self.values)


@dataclass(frozen=True, slots=True)
class Points(Steps):
    """Straight lines between points; constant before the first and after the last."""

    def micro(self, second: int) -> int:
        position = bisect_right(self.times, second)
        if position == 0:
            return self.values[0]
        if position == len(self.times):
            return self.values[-1]
        begin, end = self.times[position - 1], self.times[position]
        low, high = self.values[position - 1], self.values[position]
        # The rate in the middle of the second.
        return low + (high - low) * (2 * (second - begin) + 1) // (2 * (end - begin))


@dataclass(frozen=True, slots=True)
class DailyRate:
    """A cosine over the day: `high` at the time of the peak, `low` twelve hours away from it."""

    low: int
    high: int
    peak_s: int
    """Seconds after midnight UTC."""
    offset_s: int
    """Seconds after midnight at which the run begins."""

    def micro(self, second: int) -> int:
        angle = 2 * pi * ((self.offset_s + second - self.peak_s) % DAY_S) / DAY_S
        return self.low + round((self.high - self.low) * (1 + cos(angle)) / 2)

    @property
    def most(self) -> int:
        return self.high


@dataclass(frozen=True, slots=True)
class SpikeRate:
    """A base rate, and every `every_s` seconds a higher one for `lasting_s` seconds."""

    base: int
    high: int
    every_s: int
    lasting_s: int

    def micro(self, second: int) -> int:
        return self.high if second % self.every_s < self.lasting_s else self.base

    @property
    def most(self) -> int:
        return max(self.base, self.high)


@dataclass(frozen=True, slots=True)
class Window:
    """Another rate, limited to a period of time. Its own time begins with the period."""

    inner: ArrivalRate
    from_s: int
    until_s: int | None

    def micro(self, second: int) -> int:
        if second < self.from_s or (self.until_s is not None and second >= self.until_s):
            return 0
        return self.inner.micro(second - self.from_s)

    @property
    def most(self) -> int:
        return self.inner.most


def micro(rate: Fraction) -> int:
    """Converts requests per second to micro-requests."""
    return round(rate * MICRO)
