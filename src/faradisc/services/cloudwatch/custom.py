"""Metrics that clients put (PutMetricData): in memory, by the minute, bounded in number and in time.

Points may arrive in any order of time, unlike those of tables.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from faradisc.capacity.config import MINUTE_NS, SECOND_NS
from faradisc.metrics.metric_store import Dimensions, Statistic
from faradisc.records import asdict, dataclass, field

SERIES_MAX: Final = 10_000
POINTS_MAX: Final = 15 * 24 * 60
"""Per series: the minutes of 15 days, as in the service."""

Name = tuple[str, str, str, Dimensions]
"""Scope, namespace, metric, dimensions."""


class TooManySeries(Exception):
    """The number of metrics is limited."""


@dataclass(slots=True)
class CustomSeries:
    minutes: dict[int, Statistic] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    """The minutes in order of time: points arrive in any order and are read by ranges."""
    unit: str = "None"
    """Of the last point put. Assumed: one metric has one unit."""


class CustomMetrics:
    def __init__(self) -> None:
        self._series: dict[Name, CustomSeries] = {}
        self.send: Callable[[list[Any]], None] | None = None
        """Sends what was put here to other nodes, if there are any."""

    def receive(self, message: list[Any]) -> None:
        """Adds what was put on another node."""
        (scope, namespace, metric, which), at_ns, statistic, unit = message
        name = (scope, namespace, metric, tuple(map(tuple, which)))
        values = statistic.pop("values")
        found = Statistic(**statistic, values=None if values is None else dict(values))
        with suppress(TooManySeries):
            self._add(name, at_ns, found, unit)

    def add(self, name: Name, at_ns: int, statistic: Statistic, unit: str) -> None:
        """Adds values to the minute of a time. Raises TooManySeries."""
        if self.send is not None:
            values = None if statistic.values is None else list(statistic.values.items())
            self.send([name, at_ns, {**asdict(statistic), "values": values}, unit])
        self._add(name, at_ns, statistic, unit)

    def _add(self, name: Name, at_ns: int, statistic: Statistic, unit: str) -> None:
        series = self._series.get(name)
        if series is None:
            if len(self._series) >= SERIES_MAX:
                raise TooManySeries
            series = self._series[name] = CustomSeries()
        series.unit = unit
        minute_ns = at_ns - at_ns % MINUTE_NS
        present = series.minutes.get(minute_ns)
        if present is None:
            series.minutes[minute_ns] = statistic
            insort(series.order, minute_ns)
            if len(series.order) > POINTS_MAX:
                del series.minutes[series.order.pop(0)]
        else:
            # Percentiles need every value; a set of statistics has none.
            with_values = present.values is not None and statistic.values is not None
            present.merge(statistic)
            if not with_values:
                present.values = None

    def get(self, name: Name, start_ns: int, end_ns: int, period_s: int) -> list[tuple[int, Statistic]]:
        """As MetricStore.get."""
        series = self._series.get(name)
        if series is None:
            return []
        period_ns = period_s * SECOND_NS
        points: dict[int, Statistic] = {}
        without_values = set()
        order = series.order
        for at in order[bisect_left(order, start_ns) : bisect_left(order, end_ns)]:
            statistic = series.minutes[at]
            period = at - at % period_ns
            points.setdefault(period, Statistic()).merge(statistic)
            if statistic.values is None:
                without_values.add(period)
        for period in without_values:
            points[period].values = None
        return list(points.items())

    def unit(self, name: Name) -> str | None:
        series = self._series.get(name)
        return None if series is None else series.unit

    def listed(self, scope: str) -> Iterator[tuple[Name, int]]:
        """Yields the series of a scope with the beginning of their last minute."""
        for name, series in self._series.items():
            if name[0] == scope:
                yield name, series.order[-1]

    def clear(self) -> None:
        self._series.clear()
