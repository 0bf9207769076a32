"""Chance in whole numbers, and refused requests under way to their next attempt (openings.py)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import sqrt
from operator import add
from random import Random
from typing import Any, Protocol

from faradisc.tools.planner.workload.retries import Retries

_SOME = 32
"""More than this are not looked at one by one,"""
_FEW = 10
"""but as many rare ones, or, if no less than this are meant and no less are not, by a normal distribution;"""
_MANY = 1000
"""and chance is none where so many are meant."""
_SPREAD = 20
"""No more than this per slice are spread one by one."""
_TOLD_MOST = 8
"""So many packets are told at once when to come back."""
_BITS = 32
"""Requests are due in parts of one, of which so many bits are a whole."""


def some_of(count: int, part: float, random: Random) -> int:
    """How many there are if each is one of them with the probability `part` (binomial distribution)."""
    if part >= 1.0 or not count:
        return count
    if part <= 0.0:
        return 0
    mean = count * part
    if mean > _MANY:
        return int(mean + random.random())
    if count <= _SOME:
        return sum([random.random() < part for _ in range(count)])
    if mean < _FEW:
        return min(_chance_count(mean, random), count)
    if count - mean < _FEW:
        return count - min(_chance_count(count - mean, random), count)
    return max(min(round(random.gauss(mean, sqrt(mean * (1.0 - part)))), count), 0)


def _chance_count(mean: float, random: Random) -> int:
    """How many there are of very many, each of them seldom (Poisson distribution)."""
    count = 0
    passed = random.expovariate(1.0)
    while passed < mean:
        count += 1
        passed += random.expovariate(1.0)
    return count


def packets_of(count: int, packet: int, part: float, random: Random) -> int:
    """The same if they come in packets of so many, and one of what is left over."""
    if packet == 1:
        return some_of(count, part, random)
    whole, rest = divmod(count, packet)
    return some_of(whole, part, random) * packet + (rest if random.random() < part else 0)


def spread(count: int, packet: int, slices: int, random: Random) -> list[int]:
    """How many of them come in each slice, packets of so many being together. Requires: whole packets."""
    found = [0] * slices
    left = count // packet
    if left <= _SPREAD * slices:
        point = random.random
        for _ in range(left):
            found[int(point() * slices)] += packet
        return found
    for number in range(slices):
        come = some_of(left, 1 / (slices - number), random)
        found[number] = come * packet
        left -= come
    return found


class Returns(Protocol):
    """Refused requests under way to their next attempt, slice by slice."""

    waiting: int
    packet: int
    """So many come together."""

    def take(self, tick: int, first: int) -> list[int]:
        """Who asks in this slice, by the number of attempts before; `first` have made none. Requires: every
        slice is taken while anybody is waiting."""

    def admit(self, number: int, count: int, tick: int) -> None:
        """So many of those who have been taken in this slice, after so many attempts, are admitted."""

    def refuse(self, pool: Sequence[int], tick: int) -> int:
        """All others of this slice are refused, by the number of attempts before. Returns: how many had no
        attempt left."""

    def take_over(self, other: Any) -> None:
        """The other's requests come back here. Requires: it is of the same kind."""


def returns_of(retries: Retries, slices: int, random: Random) -> Returns:
    """`slices`: per second."""
    if all(wait.least_ms == wait.most_ms for wait in retries.waits):
        return Cohorts(retries, slices)
    return Scattered(retries, slices, random)


class Cohorts:
    """Those who wait for fixed times, if for any: who came in the same slice stay together."""

    __slots__ = ("_cohorts", "_later", "packet", "waiting")

    def __init__(self, retries: Retries, slices: int) -> None:
        waits = [_span(wait.least_ms, wait.most_ms, slices)[0] for wait in retries.waits]
        self._later = list(accumulate(waits, initial=0))
        """In how many slices after the first attempt each one is made."""
        self._cohorts = [0] * (self._later[-1] + 1)
        """How many are under way that came first in each slice, modulo its length."""
        self.waiting = 0
        self.packet = 1

    def take(self, tick: int, first: int) -> list[int]:
        if not self.waiting and not first:
            return []
        cohorts = self._cohorts
        place = tick % len(cohorts)
        cohorts[place] = first
        self.waiting += first
        # Negative ones lie behind its end, where they belong.
        return [cohorts[place - later] for later in self._later]

    def admit(self, number: int, count: int, tick: int) -> None:
        cohorts = self._cohorts
        cohorts[tick % len(cohorts) - self._later[number]] -= count
        self.waiting -= count

    def refuse(self, pool: Sequence[int], tick: int) -> int:
        lost = pool[-1]
        if lost:
            self.admit(-1, lost, tick)
        return lost

    def take_over(self, other: Cohorts) -> None:
        self._cohorts = list(map(add, self._cohorts, other._cohorts))
        self.waiting += other.waiting


class Scattered:
    """Those who wait for a time between two bounds. They come back evenly over it, each at a moment of its
    own: a few are told theirs at once; of many who are still to come each one comes in this slice as likely
    as it is due."""

    __slots__ = ("_begin", "_coming", "_due", "_random", "_spans", "_told", "_untold", "packet", "waiting")

    def __init__(self, retries: Retries, slices: int, random: Random) -> None:
        self._random = random
        self._spans = [_span(wait.least_ms, wait.most_ms, slices) for wait in retries.waits]
        horizon = max(last + 2 for _, last in self._spans)
        self._told = [[0] * horizon for _ in self._spans]
        """Per attempt and slice, modulo the horizon: who comes then."""
        self._begin = [[0] * horizon for _ in self._spans]
        """How many more of the others are due from then on."""
        self._coming = [0] * len(self._spans)
        """How many of them are due in a slice,"""
        self._due = [0] * len(self._spans)
        """and how many from now on."""
        self._untold = [0] * len(self._spans)
        self.waiting = 0
        self.packet = 1

    def take(self, tick: int, first: int) -> list[int]:
        found = [first]
        if not self.waiting:
            return found
        place = tick % len(self._told[0])
        for number, told in enumerate(self._told):
            count = told[place]
            told[place] = 0
            if self._due[number] or self._coming[number]:
                count += self._take_due(number, place)
            found.append(count)
        self.waiting -= sum(found) - first
        if not self.waiting:
            self._forget()
        return found

    def _take_due(self, number: int, place: int) -> int:
        """Who comes of those that have been told nothing."""
        begin = self._begin[number]
        coming = self._coming[number] = self._coming[number] + begin[place]
        begin[place] = 0
        if not coming:
            return 0
        come = packets_of(self._untold[number], self.packet, coming / self._due[number], self._random)
        self._due[number] -= coming
        self._untold[number] -= come
        return come

    def admit(self, number: int, count: int, tick: int) -> None:
        """They are not under way."""

    def refuse(self, pool: Sequence[int], tick: int) -> int:
        for number, count in enumerate(pool[: len(self._spans)]):
            if count:
                self._send(number, count, tick)
        return pool[-1] if len(pool) > len(self._spans) else 0

    def _send(self, number: int, count: int, tick: int) -> None:
        """So many have been refused, for the time `number` (from 0)."""
        self.waiting += count
        first, last = self._spans[number]
        told = self._told[number]
        if count <= _TOLD_MOST * self.packet:
            random, width = self._random.random, last - first + 1
            while count > 0:
                told[(tick + first + int(random() * width)) % len(told)] += min(count, self.packet)
                count -= self.packet
        else:
            begin = self._begin[number]
            each = (count << _BITS) // (last - first + 1)
            begin[(tick + first) % len(begin)] += each
            begin[(tick + last + 1) % len(begin)] -= each
            self._due[number] += each * (last - first + 1)
            self._untold[number] += count

    def _forget(self) -> None:
        """Nobody is under way, whoever was due."""
        for begin in self._begin:
            begin[:] = [0] * len(begin)
        self._coming = [0] * len(self._spans)
        self._due = [0] * len(self._spans)

    def take_over(self, other: Scattered) -> None:
        for rows, theirs in ((self._told, other._told), (self._begin, other._begin)):
            for row, their in zip(rows, theirs, strict=True):
                row[:] = map(add, row, their)
        self._coming = list(map(add, self._coming, other._coming))
        self._due = list(map(add, self._due, other._due))
        self._untold = list(map(add, self._untold, other._untold))
        self.waiting += other.waiting


def _span(least_ms: int, most_ms: int, slices: int) -> tuple[int, int]:
    """In how many slices the first of those who wait come back, and the last."""
    if least_ms == most_ms:
        later = max(round(most_ms * slices / 1000), 1)
        return later, later
    return max(least_ms * slices // 1000, 1), max(most_ms * slices // 1000, 1)
