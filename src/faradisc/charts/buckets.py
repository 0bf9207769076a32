"""Reduces many points to few without losing a peak: the largest value of each bucket stands for it.

A mean would hide what these charts are for: the one second that throttled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise


def peaks(values: Sequence[float], buckets: int) -> list[float]:
    """Returns at most `buckets` values, the largest of each bucket. O(n)."""
    return _reduced(values, buckets, max)


def lows(values: Sequence[float], buckets: int) -> list[float]:
    """Returns at most `buckets` values, the smallest of each bucket: for balances."""
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
    """Returns how many points one bucket covers."""
    return max(1.0, count / buckets) if buckets else 1.0
