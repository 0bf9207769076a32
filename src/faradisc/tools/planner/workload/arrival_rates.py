"""Rates over time: how many requests a stream makes in each second.

A rate is a function of the second; what it promises is integers that add up: over any stretch the number of
requests is the integral of the rate, rounded down once (`Counter`).

Rates are kept in micro-requests per second, integers, so that a slow stream is as exact as a fast one.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from math import cos, pi
from typing import Protocol

MICRO = 1_000_000
DAY_S = 86_400


class Rate(Protocol):
    def micro(self, second: int) -> int:
        """Micro-requests in the second that begins `second` seconds after the run did."""

    @property
    def most(self) -> int:
        """No second has more micro-requests than this."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: int

    def micro(self, second: int) -> int:
        return self.value

    @property
    def most(self) -> int:
        return self.value


@dataclass(frozen=True, slots=True)
class Steps:
    """A rate from each moment on, until the next one; 0 before the first."""

    times: tuple[int, ...]
    values: tuple[int, ...]

    def micro(self, second: int) -> int:
        position = bisect_right(self.times, second)
        return self.values[position - 1] if position else 0

    @property
    def most(self) -> int:
        return max(self.values)


@dataclass(frozen=True, slots=True)
class Points:
    """Straight lines between points; constant before the first and after the last."""

    times: tuple[int, ...]
    values: tuple[int, ...]

    def micro(self, second: int) -> int:
        position = bisect_right(self.times, second)
        if position == 0:
            return self.values[0]
        if position == len(self.times):
            return self.values[-1]
        begin, end = self.times[position - 1], self.times[position]
        low, high = self.values[position - 1], self.values[position]
        # The middle of the second stands for it.
        return low + (high - low) * (2 * (second - begin) + 1) // (2 * (end - begin))

    @property
    def most(self) -> int:
        return max(self.values)


@dataclass(frozen=True, slots=True)
class Daily:
    """A smooth day: `high` at the peak's time of day, `low` twelve hours away from it."""

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
class Spikes:
    """A base rate, and every so often a higher one for a while."""

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
    """Another rate, within a stretch of time only. Its own time begins with the stretch."""

    inner: Rate
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
    """Requests per second as micro-requests."""
    return round(rate * MICRO)


class Counter:
    """Whole requests per second out of a rate: what is left over waits for the next second.

    `share` is a part of the rate in billionths (a kind of operation, a miss of the cache).
    """

    __slots__ = ("_left", "_rate")

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._left = 0

    def take(self, second: int, share: int = 1_000_000_000) -> int:
        """The requests of the next second. Call once per second, in order."""
        self._left += self._rate.micro(second) * share
        count, self._left = divmod(self._left, MICRO * 1_000_000_000)
        return count
