"""What is counted of requests: latencies, throttled requests, errors, returned items.

Throttle events and throttled requests differ: a put on a table with three indexes can be four throttle events
and is one throttled request (metrics.md; V130, V131).

Sources: metrics.md; capacity.md section 2.14; vectors V130 to V133.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from faradisc.metrics.metric_store import Dimensions, MetricStore, dimensions
from faradisc.records import dataclass, field

_EXACT_BITS = 6
"""Leading bits of a latency that are counted: a precision of about 3 %."""
_FINE_BITS = 9
"""Trailing bits that are cut off before that: steps of half a microsecond."""
RECENT_MAX = 256
"""Latencies of one operation that are collected before they are counted together."""


@dataclass(slots=True)
class OperationMetrics:
    """Counts of one operation on one table. Counting a request appends its latency to a list."""

    table: str
    operation: str
    extra: Dimensions = ()
    """Verb or OperationType for PartiQL; StreamLabel for GetRecords."""
    recent: list[int] = field(default_factory=list)
    """Latencies in nanoseconds that are not counted yet. Always the same list, which callers may keep; a
    caller that fills it to RECENT_MAX calls `count`."""
    _fine: Counter[int] = field(default_factory=Counter)
    """Latencies of this minute that are not in `latency` yet: nanoseconds without the last _FINE_BITS
    bits."""
    latency: Counter[int] = field(default_factory=Counter)
    """Latencies of this minute: nanoseconds, rounded to about 3 %."""
    returned: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Numbers of items returned (Query, Scan, ExecuteStatement)."""
    records: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Numbers of stream records returned (GetRecords)."""
    record_bytes: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    throttled: int = 0
    system_errors: int = 0
    _ended: dict[int, int] = field(default_factory=dict)
    """Latencies of ended minutes: how many were at most this many microseconds (a power of two) and more than
    half of it."""
    _ended_micros: int = 0

    def succeeded(self, latency_ns: int) -> None:
        """Counts a request. A latency below zero, after a clock was set back, counts as zero."""
        self.recent.append(latency_ns)
        if len(self.recent) == RECENT_MAX:
            self.count()

    def count(self) -> None:
        """Counts the recent latencies."""
        self._fine.update([ns >> _FINE_BITS for ns in self.recent])
        self.recent.clear()

    def fold(self) -> None:
        """Rounds all latencies of the minute and adds them to `latency`."""
        self.count()
        least = (1 << _EXACT_BITS) - 1
        for fine, count in self._fine.items():
            ns = max(fine, 0) << _FINE_BITS
            cut = (ns | least).bit_length() - _EXACT_BITS
            self.latency[ns >> cut << cut] += count
        self._fine.clear()

    def flush(self, store: MetricStore, minute_ns: int) -> None:
        """Publishes the counts of a minute and starts the next one."""
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
        """Returns the sum of all latencies in microseconds, and their counts by power of two."""
        self.fold()
        micros, counts = self._ended_micros, dict(self._ended)
        for latency, count in self.latency.items():
            micros += latency * count // 1000
            bound = 1 << max(latency // 1000 - 1, 0).bit_length()
            counts[bound] = counts.get(bound, 0) + count
        return micros, counts


class RequestMetrics:
    """Everything that is counted per request and not per capacity unit."""

    def __init__(self) -> None:
        self._operations: dict[tuple[str, str, Dimensions], OperationMetrics] = {}
        self.conditions_failed: defaultdict[str, int] = defaultdict(int)
        """By table. A failed condition is not a user error."""
        self.expired: defaultdict[str, int] = defaultdict(int)
        """Items deleted by time to live, by table."""
        self.conflicts: defaultdict[str, list[int]] = defaultdict(list)
        """Items in conflict of each rejected transaction or request, by table."""
        self.user_errors = 0
        """HTTP 400 answers of the account, without throttling and failed conditions."""

    def operation(self, table: str, operation: str, extra: Dimensions = ()) -> OperationMetrics:
        """Returns the counts of an operation on a table."""
        key = (table, operation, extra)
        found = self._operations.get(key)
        if found is None:
            found = self._operations[key] = OperationMetrics(table, operation, extra)
        return found

    def operations(self) -> list[OperationMetrics]:
        return list(self._operations.values())

    def flush(self, store: MetricStore, minute_ns: int) -> None:
        """Publishes the counts of a minute and starts the next one."""
        for operation in self._operations.values():
            operation.flush(store, minute_ns)
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
        """Publishes and drops the counts of a deleted table."""
        for key, operation in self._operations.items():
            if key[0] == table:
                operation.flush(store, minute_ns)
        self._operations = {key: each for key, each in self._operations.items() if key[0] != table}
