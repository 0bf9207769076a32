"""Chance in whole numbers, and refused requests under way to their next attempt (planner/openings.py)."""

from __future__ import annotations

from math import sqrt
from operator import add
from random import Random

from faradisc.planner.retries import Retries

_SOME = 32
"""More than this are not looked at one by one,"""
_FEW = 10
"""but as many rare ones, or, if no less than this are meant and no less are not, by a normal distribution;"""
_MANY = 1000
"""and chance is none where so many are meant."""
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


class Returns:
    """Refused requests, slice by slice.

    Those who wait for a fixed time come back together. Those who wait for a time between two bounds come back
    evenly over it, each at a moment of its own: a few are told theirs at once; of many who are still to come
    each one comes in this slice as likely as it is due."""

    __slots__ = ("_begin", "_coming", "_due", "_random", "_spans", "_told", "_untold", "packet", "waiting")

    def __init__(self, retries: Retries, slices: int, random: Random) -> None:
        """`slices`: per second."""
        self._random = random
        self._spans = [_span(wait.least_ms, wait.most_ms, slices) for wait in retries.waits]
        horizon = max((last + 2 for _, last in self._spans), default=1)
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
        """So many come together."""

    def send(self, number: int, count: int, tick: int) -> None:
        """So many have been refused in slice `tick`, for the time `number` (from 0)."""
        self.waiting += count
        first, last = self._spans[number]
        told = self._told[number]
        if first == last:
            told[(tick + first) % len(told)] += count
        elif count <= _TOLD_MOST * self.packet:
            while count:
                come = min(count, self.packet)
                told[(tick + self._random.randint(first, last)) % len(told)] += come
                count -= come
        else:
            begin = self._begin[number]
            each = (count << _BITS) // (last - first + 1)
            begin[(tick + first) % len(begin)] += each
            begin[(tick + last + 1) % len(begin)] -= each
            self._due[number] += each * (last - first + 1)
            self._untold[number] += count

    def take(self, tick: int) -> list[int]:
        """Who comes back in this slice, by the number of attempts before. Requires: every slice is taken
        while anybody is waiting."""
        if not self.waiting:
            return []
        found = []
        for number, begin in enumerate(self._begin):
            place = tick % len(begin)
            count, self._told[number][place] = self._told[number][place], 0
            coming = self._coming[number] = self._coming[number] + begin[place]
            begin[place] = 0
            if coming:
                part = coming / self._due[number]
                come = packets_of(self._untold[number], self.packet, part, self._random)
                self._due[number] -= coming
                self._untold[number] -= come
                count += come
            found.append(count)
        self.waiting -= sum(found)
        if not self.waiting:
            self._forget()
        return found

    def _forget(self) -> None:
        """Nobody is under way, whoever was due."""
        for begin in self._begin:
            begin[:] = [0] * len(begin)
        self._coming = [0] * len(self._spans)
        self._due = [0] * len(self._spans)

    def take_over(self, other: Returns) -> None:
        """The other's requests come back here."""
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
