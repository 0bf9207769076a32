"""The summary of traffic that rules read: by table, index and direction.

Costs are in half units, as everywhere in the capacity model. None means that the source does not know a
value: a trace knows single requests, an endpoint sums of minutes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt

from faradisc.capacity.config import Direction
from faradisc.capacity.partitions import AWS
from faradisc.tools.advisor.definitions import Definition


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
    throttled: int = 0
    keys: tuple[KeyLoad, ...] = ()
    """The heaviest ones, heaviest first."""

    def needed_units(self, times: int) -> int:
        """Returns the least units per second with which burst capacity, full at first, serves `times` this
        demand, minute by minute; of its busiest second where minutes are not known."""
        peak = -(-self.peak_half * times // 2)
        if not self.minutes:
            return peak
        return bisect_left(range(peak), True, key=lambda rate: self._is_served(rate, times))

    def _is_served(self, rate: int, times: int) -> bool:
        gained, most = 2 * 60 * rate, 2 * AWS.burst_s * rate
        saved, last = most, 0
        for minute, half_units in sorted(self.minutes.items()):
            saved = min(saved + (minute - last) * gained, most) + gained - half_units * times
            if saved < 0:
                return False
            saved, last = min(saved, most), minute + 1
        return True


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
