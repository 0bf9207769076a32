"""One table's throughput as requests meet it: lanes to ask and to charge.

Where nothing is enforced a request costs one dictionary update: its units are counted for the metrics, and
nobody asks whether there are any left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from faradisc.capacity.admission import Limiter
from faradisc.capacity.config import CapacityConfig
from faradisc.capacity.resource import Resource
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.capacity.throttle import Throttle
from faradisc.engine.metrics.contributor_insights import Insights, Mode
from faradisc.engine.throughput.survey import Walk
from faradisc.engine.throughput.trace_recorder import TraceRecorder


@dataclass(frozen=True, slots=True)
class Provision:
    """What a table or a global index is set to."""

    arn: str
    on_demand: bool
    read_units: int = 0
    write_units: int = 0
    max_read: int | None = None
    max_write: int | None = None
    composite: bool = True
    """Whether there is a sort key."""
    warm: tuple[int, int] | None = None
    """Warm throughput it was created with."""
    parts: tuple[bytes, ...] = ()
    """Where its rows are."""
    local_parts: tuple[bytes, ...] = ()
    """Where the entries of a table's local indexes are."""


@dataclass(frozen=True, slots=True)
class InsightsSetting:
    """Contributor Insights of a table or index, since it was first switched on."""

    mode: Mode
    changed_ns: int
    enabled: bool

    def status(self, *, settled: bool) -> str:
        """ENABLING or DISABLING until the change has settled."""
        return ("ENABL" if self.enabled else "DISABL") + ("ED" if settled else "ING")


class Moment:
    """When the request that is being carried out began, by a clock that may step backwards: a request reads
    it when it begins, and charges on credit need not read it again."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class Ticking(Protocol):
    """Where a meter gets the time: reading it lets the capacity model catch up."""

    @property
    def moment(self) -> Moment: ...

    def now(self) -> int: ...


class TableMeter:
    """The resources of one table and its global indexes."""

    __slots__ = (
        "config",
        "enforced",
        "indexes",
        "insights",
        "insights_settings",
        "latencies",
        "measure_again",
        "moment",
        "name",
        "now",
        "only_asks",
        "only_counts",
        "override",
        "provisions",
        "read_counts",
        "reads",
        "recorder",
        "registry",
        "resource",
        "saved",
        "table_id",
        "ticking",
        "walk",
        "write_counts",
        "writes",
    )

    def __init__(self, table_id: str, name: str, ticking: Ticking, config: CapacityConfig) -> None:
        self.table_id = table_id
        self.name = name
        self.ticking = ticking
        self.now = ticking.now
        self.moment = ticking.moment
        self.config = config
        self.override: str | None = None
        """A profile given to this table alone while the server runs; it outlives a restart."""
        self.enforced = config.enforce
        self.provisions: dict[str | None, Provision] = {}
        self.indexes: dict[str, Resource] = {}
        self.insights: dict[str | None, Insights] = {}
        """Contributor Insights of the table (None) and of global indexes, where they are on."""
        self.insights_settings: dict[str | None, InsightsSetting] = {}
        self.latencies: dict[str, list[int]] = {}
        """Of requests, by operation that was seen: the latest ones (OperationMetrics.recent)."""
        self.recorder: TraceRecorder | None = None
        """Told of every charge, where traffic is recorded."""
        self.only_counts = not config.enforce
        """Whether a charge is one number to add: nothing is enforced, and nobody is told of it. Every request
        asks, so it is kept; `refresh_flags` brings it up to date."""
        self.only_asks = config.enforce
        """Whether throughput is enforced and nobody is told of charges; kept likewise."""
        self.saved = b""
        self.measure_again: Callable[[], None]
        """To be called when it is not known what the table holds: its partitions are brought to it."""
        self.walk: Walk | None = None
        """The measuring of one of its partitions, or of a global index's, while that goes on: it is told of
        what is written."""
        self.registry: ResourceRegistry
        self.resource: Resource
        self.reads: Limiter
        self.writes: Limiter
        self.read_counts: dict[int, int]
        self.write_counts: dict[int, int]
        """Where costs are counted while nothing is enforced (Limiter.counts)."""

    def succeeded(self, operation: str, latency_ns: int) -> None:
        """A request was answered."""
        self.registry.requests.operation(self.name, operation).succeeded(latency_ns)

    def meet(self, operation: str) -> list[int]:
        """Where the latencies of an operation go that is seen for the first time."""
        recent = self.latencies[operation] = self.registry.requests.operation(self.name, operation).recent
        return recent

    def count_latencies(self, operation: str) -> None:
        """To be called when there are RECENT_MAX of an operation."""
        self.registry.requests.operation(self.name, operation).count()

    def refresh_flags(self) -> None:
        """To be called after `enforced`, `recorder` or `insights` has changed."""
        untold = self.recorder is None and not self.insights
        self.only_counts = untold and not self.enforced
        self.only_asks = untold and self.enforced

    def charge(
        self, limiter: Limiter, key: bytes, half_units: int, eventual: bool = False
    ) -> Throttle | None:
        """Admit and take the cost of a single read or write that found no credit (`Limiter.spend`): why it
        was refused, or None."""
        now = self.now()
        if limiter.charge(key, half_units, now, self.registry.due, eventual):
            return None
        return limiter.refuse(key, now)

    def adopt(self, index: str | None, resource: Resource) -> None:
        """Take a resource as the table's own (None) or that of a global index."""
        if index is not None:
            self.indexes[index] = resource
            return
        self.resource = resource
        self.reads, self.writes = resource.reads, resource.writes
        self.read_counts, self.write_counts = resource.reads.counts, resource.writes.counts

    def resource_of(self, index: str | None) -> Resource:
        """That of a global index, or the table's. Raises KeyError."""
        return self.resource if index is None else self.indexes[index]

    def partitions(self, index: str | None) -> int:
        """How many partitions the table or global index has."""
        return len(self.resource_of(index).partitions)

    def describe_warm(self, index: str | None) -> dict[str, Any]:
        """The WarmThroughput member of a description."""
        return self.resource_of(index).warm.describe()
