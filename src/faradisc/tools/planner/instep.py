"""Two buckets in series that open at the same moments: how often both are open (fluid engine).

A bucket in short supply that is asked for the same cost again and again earns it in the same time, its
*period*, and so opens once a period, at moments of a grid. What it has earned is taken by the next request
that comes, or stays. These are a queue with regular arrivals (the earnings), and memoryless departures (the
requests): at a time t after a grid point it is open with the probability exp(-d t / period), where the
*decay* d follows from the part of all time p in which it is open:

    p = (1 - exp(-d)) / d

Two such buckets whose periods have a common multiple are not open independently of each other: where grids
have points in common, both are open just after those, and both are closed before. How often both are is the
product of the two curves, integrated. For equal grids and little time open that is 1 / (1/p + 1/x), where
independent buckets would have p x.

What this leaves out, that a request which takes from both closes both, changes it by a percent or two of
itself (test_in_step.py measures it).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import exp, expm1

_PERIODS_MAX = 8
"""Grids that meet less often are as good as independent."""
_OPEN = 0.9999
_CLOSE = 1e-6
"""Grids that lie closer together than this part of the distance of their points are one."""
_EXACT = 1e-9


def meets(periods: Fraction) -> bool:
    """Whether two grids whose periods have this ratio meet often enough to matter."""
    return periods.numerator <= _PERIODS_MAX and periods.denominator <= _PERIODS_MAX


@lru_cache(maxsize=1024)
def decay(part: float) -> float:
    """Of a bucket that is open for this part of the time, 0 < `part` < 1."""
    found = 1 / part if part < 0.5 else 2 * (1 - part)
    for _ in range(50):
        left = -expm1(-found)
        error = left / found - part
        if abs(error) < _EXACT:
            break
        # Newton's step; the slope is that of (1 - exp(-d)) / d.
        found -= error * found / (1 - left - left / found)
    return found


def open_too(part: float, other: float, periods: Fraction, offset: float) -> float:
    """What part of the time in which the first is open the second is as well. Each is open for its part of
    all time; `periods` is the first one's period, divided by the second one's, and `offset` how far behind
    the first grid's points the second one's lie, as a part of the distance at which there may be points of
    either. Requires: `meets`."""
    if part <= 0 or other <= 0 or part >= _OPEN or other >= _OPEN:
        return min(max(other, 0.0), 1.0)
    mine, theirs = periods.numerator, periods.denominator
    one, two = decay(part) / mine, decay(other) / theirs
    whole = mine * theirs
    if offset < _CLOSE or offset > 1 - _CLOSE:
        offset = 0.0
    if whole == 1 and not offset:
        return _rounded(-expm1(-(one + two)) / ((one + two) * part))
    points = sorted({*range(0, whole, mine), *(point + offset for point in range(0, whole, theirs)), whole})
    both = 0.0
    for begin, end in pairwise(points):
        # By its middle, for which no rounding decides in what period it lies.
        middle, half = (begin + end) / 2, (end - begin) / 2
        since, before = middle % mine - half, (middle - offset) % theirs - half
        both -= exp(-one * since - two * before) * expm1(-(one + two) * 2 * half)
    return _rounded(both / ((one + two) * whole * part))


def _rounded(part: float) -> float:
    """Without the last digits, which are not the same on every machine where exponentials are involved."""
    return min(round(part, 9), 1.0)
