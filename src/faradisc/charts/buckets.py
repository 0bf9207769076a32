"""Many points made few without losing a peak: the largest value of each bucket stands for it.

A mean would hide exactly what these charts are for, the one second in which something was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise


def peaks(values: Sequence[float], buckets: int) -> list[float]:
    """At most `buckets` values, each the largest of its equal stretch. O(n)."""
    return _reduced(values, buckets, max)


def lows(values: Sequence[float], buckets: int) -> list[float]:
    """At most `buckets` values, each the smallest of its stretch: for balances, where little counts."""
    return _reduced(values, buckets, min)


def _reduced(
    values: Sequence[float], buckets: int, reduce: Callable[[Iterable[float]], float]
) -> list[float]:
    count = len(values)
    if count <= buckets:
        return list(values)
    bounds = [i * count // buckets for i in range(buckets + 1)]
    return [reduce(values[low:high]) for low, high in pairwise(bounds)]


def width(count: int, buckets: int) -> float:
    """How many points one bucket stands for."""
    return max(1.0, count / buckets) if buckets else 1.0
