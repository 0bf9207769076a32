"""The summary of traffic that rules read: by table, index and direction.

Costs are in half units, as everywhere in the capacity model. None means that the source does not know a
value: a trace knows single requests, an endpoint sums of minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import sqrt

from faradisc.capacity.config import Direction
from faradisc.records import dataclass, field, replace
from faradisc.tools.advisor.definitions import Definition
from faradisc.tools.planner.results.demand import MINUTE_S, DirectionDemand


@dataclass(frozen=True, slots=True)
class KeyLoad:
    """One of the heaviest partition keys of a demand."""

    name: str
    share_percent: float
    peak_units: float
    """In its busiest second."""
    limit_units: float
    """What one partition serves."""
    throttled: int = 0


@dataclass(slots=True)
class ObservedDemand:
    """The reads or the writes of one table or global index. A local index is read from the table's units."""

    requests: int = 0
    """Charges: items written or read singly, pages."""
    half_units: int = 0
    peak_half: int = 0
    """In the busiest second; from sums of minutes, the mean of the busiest one."""
    minutes: dict[int, int] = field(default_factory=dict)
    """Half units by minute, without those that have none."""
    seconds: Counter[int] = field(default_factory=Counter)
    """How many seconds had so many half units, without those that had none; empty where not known."""
    throttled: int = 0
    keys: tuple[KeyLoad, ...] = ()
    """The heaviest ones, heaviest first."""

    def over(self, duration_s: int, times: int) -> DirectionDemand:
        """Returns `times` this demand over the traffic's time, as a plan of it would have it. Seconds that
        are not known have the mean of their minute, except for the busiest one."""
        minutes = [self.minutes.get(minute, 0) * times for minute in range(-(-duration_s // MINUTE_S))]
        seconds = Counter({half * times: count for half, count in self.seconds.items()})
        if not seconds:
            for total in filter(None, minutes):
                mean, rest = divmod(total, MINUTE_S)
                seconds.update({mean: MINUTE_S - rest, mean + 1: rest})
            if self.peak_half:
                seconds[self.peak_half * times] += 1
        seconds[0] += max(duration_s - seconds.total(), 0)
        if duration_s % MINUTE_S and minutes:
            minutes[-1] = minutes[-1] * MINUTE_S // (duration_s % MINUTE_S)
        return DirectionDemand(seconds, minutes if self.minutes or not self.half_units else [])


@dataclass(slots=True)
class Scans:
    pages: int = 0
    half_units: int | None = 0
    runs: int | None = 0
    """How often the same position was scanned: 1 for one run of a whole table, in one segment or more."""


@dataclass(slots=True)
class PagesOfIndex:
    """What pages of one global index were asked for."""

    pages: int = 0
    whole: int = 0
    """Pages without a projection."""
    attributes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Wasted:
    """Requests of one kind among all that could be of it, and their half units."""

    count: int = 0
    half_units: int = 0
    of: int = 0
    """Requests of the wider kind."""


@dataclass(slots=True)
class Filtered:
    """Pages with a filter."""

    pages: int = 0
    given: int = 0
    """Items."""
    left: int = 0
    half_units: int = 0


@dataclass(slots=True)
class Updates:
    """Writes to items that existed, of 4 KB or more."""

    count: int = 0
    half_units: int = 0
    item_bytes: int = 0
    changed_bytes: int = 0


@dataclass(slots=True)
class TrafficSeries:
    """Numbers by their count, mean and standard deviation."""

    count: int = 0
    total: float = 0
    squares: float = 0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.squares += value * value

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0

    @property
    def deviation(self) -> float:
        return sqrt(max(self.squares / self.count - self.mean**2, 0)) if self.count else 0


@dataclass(slots=True)
class Followers:
    """Reads that follow a Query at once, one request each."""

    leader: str
    """Table, or table and index, of the Query."""
    operation: str
    index: str | None
    sizes: TrafficSeries = field(default_factory=TrafficSeries)
    """Requests with different keys after each Query."""
    half_units: int = 0


@dataclass(slots=True)
class TableTraffic:
    definition: Definition
    demands: dict[tuple[str | None, Direction], ObservedDemand] = field(default_factory=dict)
    scans: dict[str | None, Scans] = field(default_factory=dict)
    pages: dict[str, PagesOfIndex] = field(default_factory=dict)
    followers: list[Followers] = field(default_factory=list)
    updates: Updates = field(default_factory=Updates)
    failed: Wasted = field(default_factory=Wasted)
    """Writes whose condition was false, among all writes."""
    consistent: Wasted = field(default_factory=Wasted)
    """Strongly consistent reads outside of transactions, among all reads."""
    single_transactions: Wasted = field(default_factory=Wasted)
    """Transactions that wrote one item, among all writes."""
    filtered: dict[str | None, Filtered] = field(default_factory=dict)
    suffixes: dict[str, Counter[str]] = field(default_factory=dict)
    """Writes by suffix of keys such as `2026-11-02.17`, by the key before it."""
    large_items: dict[str, int] = field(default_factory=dict)
    """Bytes of the largest items that were written, by partition key."""
    added: int | None = None
    """Items."""
    added_bytes: int = 0
    deletes: int = 0
    repeats: list[tuple[str, str, int]] = field(default_factory=list)
    """Unsafe repetitions of writes whose answer was lost: operation, danger, how many."""

    def demand(self, index: str | None, direction: Direction) -> ObservedDemand:
        return self.demands.get((index, direction), ObservedDemand())

    @property
    def requests(self) -> int:
        return sum(demand.requests for (index, _), demand in self.demands.items() if index is None)

    def resource(self, index: str | None) -> str:
        return self.definition.name if index is None else f"{self.definition.name}/{index}"


@dataclass(slots=True)
class Traffic:
    source: str
    duration_s: int
    tables: dict[str, TableTraffic]
    times: int = 1
    """How many times this load rules assume."""
    notes: list[str] = field(default_factory=list)
    """What could not be read, a sentence each."""


def with_definitions(traffic: Traffic, definitions: Mapping[str, Definition]) -> None:
    """Replaces what a trace knows of tables by their definitions, and adds tables without traffic.

    Counts of items and bytes stay those of the trace, where a definition has none.
    """
    for name, known in definitions.items():
        found = traffic.tables.get(name)
        if found is None:
            traffic.tables[name] = TableTraffic(known)
            continue
        held = found.definition
        counts = (known.items or held.items, known.size_bytes or held.size_bytes)
        found.definition = replace(known, items=counts[0], size_bytes=counts[1])
