"""The names of statistics, and their values at a point.

The five plain ones, and percentiles (`p0` to `p100`, ten decimals at most). The other extended statistics
(trimmed means and counts, winsorised means, ranks: tm, tc, ts, wm, pr, iqr) are rejected.
"""

from __future__ import annotations

import re
from typing import Final

from faradisc.metrics.metric_store import Statistic

PLAIN: Final = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")

_PERCENTILE: Final = re.compile(r"p(\d{1,3}(?:\.\d{1,10})?)", re.ASCII)


def is_percentile(name: str) -> bool:
    match = _PERCENTILE.fullmatch(name)
    return match is not None and float(match[1]) <= 100


def is_statistic(name: str) -> bool:
    return name in PLAIN or is_percentile(name)


def value_of(statistic: Statistic, name: str) -> float | None:
    """Returns a statistic of a point; None for a percentile if single values are not known."""
    if name not in PLAIN and statistic.values is None:
        return None
    return float(statistic.get(name))
