"""Metrics as CloudWatch has them: for each series and minute a sum, a count, a minimum and a maximum.

Callers count values in *tallies* (value -> how often), at one dictionary update each. At the end of a minute
a tally becomes one *point* of a series. All values are exact: units are multiples of one half.

Sources: metrics.md; capacity.md section 2.14; vectors V130 to V133.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter

from faradisc.metrics.metric_catalog import METRICS
from faradisc.records import dataclass

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS

RETENTION_MINUTES = 24 * 60
"""Points kept of one series (about 200 bytes each). The service keeps points of a minute for 15 days."""

Dimensions = tuple[tuple[str, str], ...]
"""(name, value) pairs, sorted."""


def dimensions(**values: str | None) -> Dimensions:
    """Returns sorted dimensions, as in `dimensions(TableName="T", Operation="PutItem")`; None omits one."""
    return tuple(sorted((name, value) for name, value in values.items() if value is not None))


@dataclass(slots=True)
class Statistic:
    """The values of one period, summed up."""

    sum: float = 0
    count: int = 0
    minimum: float = 0
    maximum: float = 0
    values: dict[float, int] | None = None
    """How often each value occurred; only for metrics with percentiles."""

    def add(self, value: float, count: int = 1) -> None:
        self.minimum = value if not self.count else min(self.minimum, value)
        self.maximum = value if not self.count else max(self.maximum, value)
        self.sum += value * count
        self.count += count
        if self.values is not None:
            self.values[value] = self.values.get(value, 0) + count

    def merge(self, other: Statistic) -> None:
        if not other.count:
            return
        self.minimum = other.minimum if not self.count else min(self.minimum, other.minimum)
        self.maximum = other.maximum if not self.count else max(self.maximum, other.maximum)
        self.sum += other.sum
        self.count += other.count
        if other.values is not None:
            mine = self.values = {} if self.values is None else self.values
            for value, count in other.values.items():
                mine[value] = mine.get(value, 0) + count

    @property
    def average(self) -> float:
        return self.sum / self.count if self.count else 0

    def percentile(self, percent: float) -> float:
        """Returns the smallest value that `percent` of the values do not exceed; 0 without values."""
        wanted = self.count * percent / 100
        seen = 0
        for value, count in sorted((self.values or {}).items()):
            seen += count
            if seen >= wanted:
                return value
        return 0

    def get(self, name: str) -> float:
        """Returns a statistic by CloudWatch's name: Sum, SampleCount, Average, Minimum, Maximum, p50, p99.9.

        Raises ValueError for another name.
        """
        match name:
            case "Sum":
                return self.sum
            case "SampleCount":
                return self.count
            case "Average":
                return self.average
            case "Minimum":
                return self.minimum
            case "Maximum":
                return self.maximum
        if name.startswith("p") and name[1:].replace(".", "", 1).isdecimal():
            return self.percentile(float(name[1:]))
        raise ValueError(f"no statistic {name}")


class Series:
    """The points of one metric with one set of dimensions, in order of time."""

    __slots__ = ("points", "reported", "total", "with_values")

    def __init__(self, *, with_values: bool, retention: int) -> None:
        self.points: deque[tuple[int, Statistic]] = deque(maxlen=retention)
        """(beginning of the minute, its values)."""
        self.total = 0.0
        """Sum since the series began; the Prometheus endpoint shows it as a counter."""
        self.with_values = with_values
        self.reported: tuple[int, int] | None = None
        """First and last minute in which the series has points. Minutes between them without values count
        as zeros, which are not stored: an idle table takes no memory."""

    def at(self, minute_ns: int) -> Statistic:
        """Returns the statistic of a minute. A minute before the last one counts as the last one."""
        if self.points and self.points[-1][0] >= minute_ns:
            return self.points[-1][1]
        statistic = Statistic(values={} if self.with_values else None)
        self.points.append((minute_ns, statistic))
        return statistic

    @property
    def last_ns(self) -> int:
        """Beginning of the last minute with a point."""
        last = self.points[-1][0] if self.points else 0
        return last if self.reported is None else max(last, self.reported[1])

    def zeros(self, start_ns: int, end_ns: int, period_ns: int) -> dict[int, int]:
        """Returns the number of minutes with zeros by the beginning of each period that has any.

        The cost depends on the stored points and the number of periods, not on how long the table was idle.
        Minutes before the oldest point of a full series are unknown, not zero.
        """
        if self.reported is None:
            return {}
        first, last = self.reported
        if len(self.points) == self.points.maxlen:
            first = max(first, self.points[0][0])
        low, high = max(first, start_ns + -start_ns % MINUTE_NS), min(last + 1, end_ns)
        found = {
            period: -((max(period, low) - min(period + period_ns, high)) // MINUTE_NS)
            for period in range(low - low % period_ns, high, period_ns)
        }
        for at, _ in self.points:
            if low <= at < high:
                found[at - at % period_ns] -= 1
        return {period: minutes for period, minutes in found.items() if minutes > 0}


class MetricStore:
    """All series of a namespace of the catalog. A new value costs two dictionary look-ups."""

    def __init__(self, retention_minutes: int = RETENTION_MINUTES) -> None:
        self._retention = retention_minutes
        self.series: dict[tuple[str, Dimensions], Series] = {}
        self.added: list[tuple[str, Dimensions, int, float, int]] | None = None
        """(name, dimensions, minute, value, count) of what was counted here; None: not recorded."""

    def take_added(self) -> list[tuple[str, Dimensions, int, float, int]]:
        """Returns what was counted here since the last call."""
        added, self.added = self.added or [], []
        return added

    def _of(self, name: str, which: Dimensions) -> Series:
        found = self.series.get((name, which))
        if found is None:
            metric = METRICS.get(name)
            found = self.series[(name, which)] = Series(
                with_values=metric is not None and "p" in metric.statistics, retention=self._retention
            )
        return found

    def add(
        self, name: str, which: Dimensions, at_ns: int, value: float, count: int = 1, *, own: bool = True
    ) -> None:
        """Adds a value `count` times to the minute of `at_ns`.

        own: was counted by this process; not a setting, nor what another process has counted.
        """
        if own and self.added is not None:
            self.added.append((name, which, at_ns - at_ns % MINUTE_NS, value, count))
        series = self._of(name, which)
        series.at(at_ns - at_ns % MINUTE_NS).add(value, count)
        series.total += value * count

    def add_tally(
        self, name: str, which: Dimensions, at_ns: int, tally: Mapping[int, int], *, scale: float = 1
    ) -> None:
        """Adds every value of a tally, multiplied by `scale`."""
        for value, count in tally.items():
            self.add(name, which, at_ns, value * scale, count)

    def report(self, name: str, which: Dimensions, minute_ns: int) -> None:
        """Extends the series to this minute; without a value the minute is one sample of zero."""
        series = self._of(name, which)
        first = series.reported[0] if series.reported else minute_ns
        series.reported = (first, max(minute_ns, first))

    def get(
        self, name: str, which: Dimensions, start_ns: int, end_ns: int, period_s: int
    ) -> list[tuple[int, Statistic]]:
        """Returns (beginning, statistic) of each period with data from start (inclusive) to end (exclusive).

        Periods begin at multiples of their length since the epoch.
        """
        found = self.series.get((name, which))
        if found is None:
            return []
        period_ns = period_s * SECOND_NS
        points: dict[int, Statistic] = {}
        for at, statistic in found.points:
            if start_ns <= at < end_ns:
                points.setdefault(at - at % period_ns, Statistic()).merge(statistic)
        for period, zeros in found.zeros(start_ns, end_ns, period_ns).items():
            points.setdefault(period, Statistic()).merge(Statistic(count=zeros))
        return sorted(points.items(), key=itemgetter(0))

    def list(
        self, name: str | None = None, having: Iterable[tuple[str, str | None]] = ()
    ) -> list[tuple[str, Dimensions]]:
        """Returns the series with this name and these dimensions; a value of None matches any value."""
        wanted = list(having)
        return sorted(
            (metric, which)
            for metric, which in self.series
            if (name is None or metric == name)
            and all(_has(which, dimension, value) for dimension, value in wanted)
        )

    def expire(self, now: int, alive: Collection[tuple[str, str | None]]) -> None:
        """Drops series of deleted tables and indexes whose last point is older than the retention.

        `alive` names the tables (with None) and global indexes that exist. Series without dimensions belong
        to the account and stay.
        """
        oldest = now - self._retention * MINUTE_NS
        self.series = {
            key: series
            for key, series in self.series.items()
            if series.last_ns >= oldest or _resource_of(key[1]) in alive or not key[1]
        }


def _resource_of(which: Dimensions) -> tuple[str, str | None]:
    named = dict(which)
    return named.get("TableName", ""), named.get("GlobalSecondaryIndexName")


def _has(which: Dimensions, dimension: str, value: str | None) -> bool:
    return any(name == dimension and value in (None, held) for name, held in which)
