"""Gates of one request that open in step, in one second of the fluid engine (its theory: instep.py).

A *flock* is a few gates that open at the same moments and about equally often: partitions that have equal
shares of a rate and have begun together. Where there are few gates each is a flock of its own. Of many
partitions that meet many of an index, single pairs would be too many to look at.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import frexp, ldexp

from faradisc.tools.planner.gates import Gate, Grid
from faradisc.tools.planner.instep import meets, open_too

_CLOSE = 1e-5
_STEPS = 4
"""Steps between a ratio and twice of it: gates of a flock have the same."""
_PHASES = 32
"""Gates of a flock open within such a part of the period."""
_FINE_STEPS = 16
"""The same of what flocks let through together, which is worked out once for every step."""


class Flock:
    """Gates of the same grid, or any single one."""

    __slots__ = ("gates", "grid", "near", "ratio", "rough")

    def __init__(self, gates: list[Gate], grid: Grid | None, *, rough: bool = False) -> None:
        self.gates = gates
        self.rough = rough
        """Whether it is one of many."""
        self.grid = grid
        self.ratio = 1.0
        """Their mean one, when it was last looked at."""
        self.near = 1.0
        """About that: of many flocks, few different ones."""

    def look(self) -> None:
        gates = self.gates
        ratio = gates[0].ratio if len(gates) == 1 else sum([gate.ratio for gate in gates]) / len(gates)
        self.ratio = self.near = ratio
        if self.rough:
            mantissa, exponent = frexp(ratio)
            self.near = ldexp(round(mantissa * 2 * _FINE_STEPS), exponent) / (2 * _FINE_STEPS)


class Meeting:
    """Two flocks that open in step, and so let a request through more or less often than by chance."""

    __slots__ = ("_seen", "_times", "more", "offset", "one", "other", "periods", "weight")

    def __init__(self, one: Flock, other: Flock, periods: Fraction, offset: float, weight: float) -> None:
        self.one = one
        self.other = other
        self.periods = periods
        """The ratio of their periods."""
        self.offset = offset
        """How far the second one's grid lies behind the first one's, as a part of the distance at which there
        may be points of either."""
        self.weight = weight
        """What part of the requests that meet the one meet the other."""
        self._seen = (-1.0, -1.0)
        self._times = 1.0
        """How many times as often as by chance the other lets those through who pass the one."""
        self.more = 0.0
        """The part of those who pass the one that passes the other, beyond those who would by chance."""

    def look(self) -> float:
        """Set `more` by the ratios of both, and return it."""
        one, other = self.one.near, self.other.near
        before = self._seen
        if abs(one - before[0]) > _CLOSE * one or abs(other - before[1]) > _CLOSE * other:
            self._seen = (one, other)
            periods = self.periods
            if self.one.rough:
                both = _open_too(one, other, periods.numerator, periods.denominator, self.offset)
            else:
                both = open_too(one, other, periods, self.offset)
            self._times = both / other if other else 1.0
        self.more = self.other.ratio * (self._times - 1.0)
        return self.more


@lru_cache(maxsize=1 << 14)
def _open_too(part: float, other: float, numerator: int, denominator: int, offset: float) -> float:
    return open_too(part, other, Fraction(numerator, denominator), offset)


def flocks(gates: Iterable[Gate], many: bool) -> list[Flock]:
    """Those that have a grid. `many`: in flocks, else one by one."""
    if not many:
        return [Flock([gate], gate.grid) for gate in gates if gate.grid is not None]
    groups: dict[tuple[Grid, int, int], list[Gate]] = {}
    for gate in gates:
        if gate.grid is not None:
            cost, rate, earned = gate.grid
            mantissa, exponent = frexp(gate.ratio)
            about = cost, rate, earned * _PHASES // cost * cost // _PHASES
            groups.setdefault((about, exponent, int(mantissa * 2 * _STEPS)), []).append(gate)
    return [Flock(group, key[0], rough=True) for key, group in groups.items()]


def meet(one: Flock, other: Flock, weight: float) -> Meeting | None:
    """Two flocks open at the points of grids that meet again and again. None: what they do has no period, or
    none in common. Requires: `learn_grid`."""
    if one.grid is None or other.grid is None:
        return None
    cost, rate, earned = one.grid
    price, pace, gained = other.grid
    ratio = _periods(cost, rate, price, pace)
    if ratio is None:
        return None
    # Since when each has been earning what its next request costs, in periods.
    since, before = earned / cost, gained / price
    # It stays the same for as long as both refuse, but for the last digits.
    offset = round((since * ratio.numerator - before * ratio.denominator) % 1, 6)
    return Meeting(one, other, ratio, offset, weight)


@lru_cache(maxsize=1024)
def _periods(cost: int, rate: int, price: int, pace: int) -> Fraction | None:
    ratio = Fraction(cost * pace, price * rate)
    return ratio if meets(ratio) else None
