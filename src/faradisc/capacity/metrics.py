"""Metrics as CloudWatch has them: per series and minute a sum, a count, a smallest and a largest value.

Requests are counted in *tallies* (value -> how often), which cost one dictionary update each; at the end
of a minute a tally becomes one *point* of a series. Events and requests are different things: a put on a
table with three indexes can be four throttle events and is one throttled request (metrics.md; V130, V131).

All values are exact: units are halves at the finest.

Sources: metrics.md; capacity.md section 2.14; vectors V130 to V133.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

from faradisc.capacity.config import MINUTE_NS, SECOND_NS
from faradisc.capacity.metric_catalog import METRICS
from faradisc.capacity.resource import MinuteUsage
from faradisc.capacity.throttle import METRIC_OF_CAUSE

RETENTION_MINUTES = 24 * 60
"""How many points of one series are kept (about 200 bytes each). The service keeps minutes for 15 days."""

Dimensions = tuple[tuple[str, str], ...]
"""(name, value) pairs, sorted."""


def dimensions(**values: str | None) -> Dimensions:
    """`dimensions(TableName="T", Operation="PutItem")`; None leaves one out."""
    return tuple(sorted((name, value) for name, value in values.items() if value is not None))


@dataclass(slots=True)
class Statistic:
    """What is known of the values of one period."""

    sum: float = 0
    count: int = 0
    minimum: float = 0
    maximum: float = 0
    values: dict[float, int] | None = None
    """How often each value was seen; only where percentiles are asked for."""

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
        """The smallest value that so many percent of the values do not exceed; 0 without values."""
        wanted = self.count * percent / 100
        seen = 0
        for value, count in sorted((self.values or {}).items()):
            seen += count
            if seen >= wanted:
                return value
        return 0

    def get(self, name: str) -> float:
        """By CloudWatch's name: Sum, SampleCount, Average, Minimum, Maximum, p50, p99.9 ...

        Raises: ValueError for another name.
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
        """Sum since the series began, for counters that only rise."""
        self.with_values = with_values
        self.reported: tuple[int, int] | None = None
        """First and last minute of a series that is published as zero where nothing was consumed. Zeros
        are not stored: an idle table takes no memory for them."""

    def at(self, minute_ns: int) -> Statistic:
        """The statistic of a minute; a minute older than the last one joins the last one."""
        if self.points and self.points[-1][0] >= minute_ns:
            return self.points[-1][1]
        statistic = Statistic(values={} if self.with_values else None)
        self.points.append((minute_ns, statistic))
        return statistic

    @property
    def last_ns(self) -> int:
        """The beginning of the last minute it tells of."""
        last = self.points[-1][0] if self.points else 0
        return last if self.reported is None else max(last, self.reported[1])

    def zeros(self, start_ns: int, end_ns: int, period_ns: int) -> dict[int, int]:
        """How many minutes of each period are covered and hold nothing, by the period's beginning.

        Costs by the points kept and the periods asked for, however long nothing was consumed. What is older
        than the oldest point of a full series was not nothing: it is no longer known.
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
    """All series. Cost of a point: two dictionary look-ups."""

    def __init__(self, retention_minutes: int = RETENTION_MINUTES) -> None:
        self._retention = retention_minutes
        self.series: dict[tuple[str, Dimensions], Series] = {}

    def _of(self, name: str, which: Dimensions) -> Series:
        found = self.series.get((name, which))
        if found is None:
            metric = METRICS.get(name)
            found = self.series[(name, which)] = Series(
                with_values=metric is not None and "p" in metric.statistics, retention=self._retention
            )
        return found

    def add(self, name: str, which: Dimensions, at_ns: int, value: float, count: int = 1) -> None:
        """Add a value (`count` times) to the minute of a moment."""
        series = self._of(name, which)
        series.at(at_ns - at_ns % MINUTE_NS).add(value, count)
        series.total += value * count

    def add_tally(
        self, name: str, which: Dimensions, at_ns: int, tally: Mapping[int, int], *, scale: float = 1
    ) -> None:
        """Add every value of a tally, each multiplied by `scale`."""
        for value, count in tally.items():
            self.add(name, which, at_ns, value * scale, count)

    def report(self, name: str, which: Dimensions, minute_ns: int) -> None:
        """The series covers this minute; without a value it is a zero in one sample."""
        series = self._of(name, which)
        first = series.reported[0] if series.reported else minute_ns
        series.reported = (first, max(minute_ns, first))

    def get(
        self, name: str, which: Dimensions, start_ns: int, end_ns: int, period_s: int
    ) -> list[tuple[int, Statistic]]:
        """Points from start (inclusive) to end (exclusive), one per period that has data.

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
        """The series there are, by name and by dimensions they have (a value of None: any value)."""
        wanted = list(having)
        return sorted(
            (metric, which)
            for metric, which in self.series
            if (name is None or metric == name)
            and all(_has(which, dimension, value) for dimension, value in wanted)
        )

    def expire(self, now: int, alive: Collection[tuple[str, str | None]]) -> None:
        """Drop the series of tables and indexes that are no more, once all that they tell is too old to keep.

        `alive`: tables (with None) and global indexes. Series without dimensions are those of the account.
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


# --- What a resource has seen ---------------------------------------------------------------------


def record_usage(store: MetricStore, table: str, index: str | None, usage: MinuteUsage) -> None:
    """Publish one minute of one lane. Consumption is published even when it is zero, throttling is not.

    Local indexes are inside their table's figures, global ones are series of their own.
    """
    which = dimensions(TableName=table, GlobalSecondaryIndexName=index)
    direction = "Read" if usage.direction == "R" else "Write"
    consumed = f"Consumed{direction}CapacityUnits"
    series = [which]
    if direction == "Write":
        series.append(dimensions(TableName=table, GlobalSecondaryIndexName=index, Source="Customer"))
    for each in series:
        store.add_tally(consumed, each, usage.minute_ns, usage.tally, scale=0.5)
        store.report(consumed, each, usage.minute_ns)
    for cause, count in usage.events.items():
        store.add(direction + METRIC_OF_CAUSE[cause], which, usage.minute_ns, 1, count)
        store.add(f"{direction}ThrottleEvents", which, usage.minute_ns, 1, count)


# --- What requests have seen ----------------------------------------------------------------------


_EXACT_BITS = 6
"""Latencies are counted by so many leading bits: to about 3 %."""
_FINE_BITS = 9
"""Before that, by what remains without so many bits at the end: in steps of half a microsecond."""
RECENT_MAX = 256
"""How many latencies of one operation are kept before they are counted, together."""


@dataclass(slots=True)
class OperationMeter:
    """Counts of one operation on one table. Keep it at hand: counting is one dictionary update."""

    table: str
    operation: str
    extra: Dimensions = ()
    """Verb or OperationType, for PartiQL; StreamLabel, for GetRecords."""
    recent: list[int] = field(default_factory=list)
    """The latest latencies, in nanoseconds; they are counted nowhere yet. The same list for life. Whoever
    makes it RECENT_MAX long calls `count`."""
    _fine: Counter[int] = field(default_factory=Counter)
    """Latencies of this minute, as far as they are not in the tally yet: nanoseconds without the last
    _FINE_BITS bits. How many differ is a matter of how long requests take, not of how many there are."""
    latency: Counter[int] = field(default_factory=Counter)
    """Nanoseconds, rounded to about 3 %."""
    returned: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Numbers of items returned (Query, Scan, ExecuteStatement)."""
    records: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Numbers of stream records returned (GetRecords)."""
    record_bytes: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    throttled: int = 0
    system_errors: int = 0
    _ended: dict[int, int] = field(default_factory=dict)
    """Latencies of ended minutes: how many were at most so many microseconds, a power of two, and more than
    half of it."""
    _ended_micros: int = 0

    def succeeded(self, latency_ns: int) -> None:
        """Below zero where a clock was set back: counted as nothing."""
        self.recent.append(latency_ns)
        if len(self.recent) == RECENT_MAX:
            self.count()

    def count(self) -> None:
        """Count the recent latencies."""
        self._fine.update([ns >> _FINE_BITS for ns in self.recent])
        self.recent.clear()

    def fold(self) -> None:
        """Enter all latencies in the tally."""
        self.count()
        least = (1 << _EXACT_BITS) - 1
        for fine, count in self._fine.items():
            ns = max(fine, 0) << _FINE_BITS
            cut = (ns | least).bit_length() - _EXACT_BITS
            self.latency[ns >> cut << cut] += count
        self._fine.clear()

    def flush(self, store: MetricStore, minute_ns: int) -> None:
        self.fold()
        which = dimensions(TableName=self.table, Operation=self.operation, **dict(self.extra))
        store.add_tally("SuccessfulRequestLatency", which, minute_ns, self.latency, scale=1e-6)
        store.add_tally("ReturnedItemCount", which, minute_ns, self.returned)
        store.add_tally("ReturnedRecordsCount", which, minute_ns, self.records)
        store.add_tally("ReturnedBytes", which, minute_ns, self.record_bytes)
        if self.throttled:
            store.add("ThrottledRequests", which, minute_ns, 1, self.throttled)
        if self.system_errors:
            store.add("SystemErrors", which, minute_ns, 1, self.system_errors)
        self._ended_micros, self._ended = self.lifetime()
        for tally in (self.latency, self.returned, self.records, self.record_bytes):
            tally.clear()
        self.throttled = self.system_errors = 0

    def lifetime(self) -> tuple[int, dict[int, int]]:
        """Since the beginning: microseconds in sum, and how often by power of two."""
        self.fold()
        micros, counts = self._ended_micros, dict(self._ended)
        for latency, count in self.latency.items():
            micros += latency * count // 1000
            bound = 1 << max(latency // 1000 - 1, 0).bit_length()
            counts[bound] = counts.get(bound, 0) + count
        return micros, counts


class Requests:
    """Everything that is counted by request and not by unit."""

    def __init__(self) -> None:
        self._meters: dict[tuple[str, str, Dimensions], OperationMeter] = {}
        self.conditions_failed: defaultdict[str, int] = defaultdict(int)
        """By table. A failed condition is not a user error."""
        self.expired: defaultdict[str, int] = defaultdict(int)
        """Items deleted by time to live, by table."""
        self.conflicts: defaultdict[str, list[int]] = defaultdict(list)
        """Of each refused transaction or request: how many items were in conflict, by table."""
        self.user_errors = 0
        """HTTP 400 of the account, without throttling and failed conditions."""

    def meter(self, table: str, operation: str, extra: Dimensions = ()) -> OperationMeter:
        """The counts of an operation on a table."""
        key = (table, operation, extra)
        found = self._meters.get(key)
        if found is None:
            found = self._meters[key] = OperationMeter(table, operation, extra)
        return found

    def meters(self) -> list[OperationMeter]:
        return list(self._meters.values())

    def flush(self, store: MetricStore, minute_ns: int) -> None:
        """End a minute: publish what was counted in it and begin anew."""
        for meter in self._meters.values():
            meter.flush(store, minute_ns)
        for table, count in self.conditions_failed.items():
            store.add("ConditionalCheckFailedRequests", dimensions(TableName=table), minute_ns, 1, count)
        for table, count in self.expired.items():
            store.add("TimeToLiveDeletedItemCount", dimensions(TableName=table), minute_ns, count)
        for table, conflicts in self.conflicts.items():
            for items in conflicts:
                store.add("TransactionConflict", dimensions(TableName=table), minute_ns, items)
        if self.user_errors:
            store.add("UserErrors", (), minute_ns, 1, self.user_errors)
        self.conditions_failed.clear()
        self.expired.clear()
        self.conflicts.clear()
        self.user_errors = 0

    def forget(self, table: str, store: MetricStore, minute_ns: int) -> None:
        """Drop the meters of a deleted table, once they have told what they counted."""
        for key, meter in self._meters.items():
            if key[0] == table:
                meter.flush(store, minute_ns)
        self._meters = {key: meter for key, meter in self._meters.items() if key[0] != table}
