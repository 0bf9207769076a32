"""The throughput of one table: its resources, and how requests use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from faradisc.capacity.admission import Limiter
from faradisc.capacity.config import CapacityConfig
from faradisc.capacity.events import Event
from faradisc.capacity.resource import Resource
from faradisc.engine.throughput.registry_clock import RegistryClock
from faradisc.engine.throughput.table_usage import CountingUsage, EnforcingUsage, TableUsage
from faradisc.engine.throughput.trace_recorder import TraceRecorder
from faradisc.metrics.contributor_insights import Insights, Mode
from faradisc.records import dataclass


@dataclass(frozen=True, slots=True)
class Provision:
    """Throughput settings of a table or a global index."""

    arn: str
    on_demand: bool
    read_units: int = 0
    write_units: int = 0
    max_read: int | None = None
    max_write: int | None = None
    composite: bool = True
    """Whether there is a sort key."""
    warm: tuple[int, int] | None = None
    """Warm throughput at creation."""
    parts: tuple[bytes, ...] = ()
    """Parts with its rows."""
    local_parts: tuple[bytes, ...] = ()
    """Parts with the entries of local indexes; only of a table."""
    is_filled: bool = True
    """False while an index is being filled."""


@dataclass(frozen=True, slots=True)
class InsightsSetting:
    """Contributor Insights of a table or index, from the first time they are enabled."""

    mode: Mode
    changed_ns: int
    enabled: bool

    def status(self, *, changing: bool) -> str:
        """Returns the status; ENABLING or DISABLING while it is changing."""
        return ("ENABL" if self.enabled else "DISABL") + ("ING" if changing else "ED")


class TableMeter:
    """The resources of one table and its global indexes."""

    __slots__ = (
        "clock",
        "config",
        "enforced",
        "indexes",
        "insights",
        "insights_settings",
        "latencies",
        "name",
        "now",
        "override",
        "provisions",
        "reads",
        "reconcile_later",
        "recorded",
        "recorder",
        "registry",
        "removed",
        "resource",
        "saved",
        "table_id",
        "usage",
        "writes",
    )

    def __init__(self, table_id: str, name: str, clock: RegistryClock, config: CapacityConfig) -> None:
        self.table_id = table_id
        self.name = name
        self.clock = clock
        self.now = clock.now
        self.registry = clock.registry
        self.config = config
        self.override: str | None = None
        """A profile of this table alone, set while the server runs; it is stored."""
        self.enforced = config.enforce
        self.provisions: dict[str | None, Provision] = {}
        self.indexes: dict[str, Resource] = {}
        self.removed: dict[str, Resource] = {}
        """Of global indexes that were removed: requests that began before go on with them."""
        self.insights: dict[str | None, Insights] = {}
        """Enabled Contributor Insights of the table (None) and of global indexes."""
        self.insights_settings: dict[str | None, InsightsSetting] = {}
        self.latencies: dict[str, list[int]] = {}
        """The latest latencies of requests by operation (OperationMetrics.recent)."""
        self.recorder: TraceRecorder | None = None
        """Writes every charge to a trace, if one is recorded."""
        self.recorded = False
        """Whether a trace or Contributor Insights record requests; stored, since every request reads it."""
        self.usage: TableUsage
        """Counts or enforces, as `enforced` says."""
        self.saved = b""
        self.reconcile_later: Callable[[], object]
        """Must be called when the counts of the partitions may be wrong; they are taken from the table's
        usage again."""
        self.resource: Resource
        self.reads: Limiter
        self.writes: Limiter

    def succeeded(self, operation: str, latency_ns: int) -> None:
        """Counts a successful request."""
        self.registry.requests.operation(self.name, operation).succeeded(latency_ns)

    def latency_window(self, operation: str) -> list[int]:
        """Returns a new list for the latencies of an operation."""
        recent = self.latencies[operation] = self.registry.requests.operation(self.name, operation).recent
        return recent

    def count_latencies(self, operation: str) -> None:
        """Must be called when an operation has RECENT_MAX latencies."""
        self.registry.requests.operation(self.name, operation).count()

    def refresh_flags(self) -> None:
        """Must be called after `enforced`, `recorder`, `insights` or the table's resource has changed."""
        self.recorded = self.recorder is not None or bool(self.insights)
        if not self.enforced:
            self.usage = CountingUsage(self.reads, self.writes)
        else:
            registry = self.registry
            self.usage = EnforcingUsage(
                self.reads, self.writes, self.clock.request_time, self.now, lambda: registry.due
            )

    def adopt(self, index: str | None, resource: Resource) -> None:
        """Takes a resource as that of the table (None) or of a global index."""
        if index is not None:
            self.indexes[index] = resource
            return
        self.resource = resource
        self.reads, self.writes = resource.reads, resource.writes
        self.refresh_flags()

    def changed(self, resource: Resource, events: Iterable[Event] = ()) -> None:
        """Must be called after a change of a resource outside of `advance`, with the events of the change."""
        self.clock.events.extend(events)
        self.registry.changed(resource)

    def resource_of(self, index: str | None) -> Resource:
        """Returns the resource of the table (None) or of a global index. Raises KeyError."""
        return self.resource if index is None else self.indexes.get(index) or self.removed[index]

    def partitions(self, index: str | None) -> int:
        """Returns the number of partitions of the table (None) or a global index."""
        return len(self.resource_of(index).partitions)

    def partition_bounds(self) -> list[bytes]:
        """Returns where the table's partitions begin now, ascending; the first one is b""."""
        self.now()
        return self.reads.lows

    def describe_warm(self, index: str | None) -> dict[str, Any]:
        """Returns the WarmThroughput member of a description."""
        return self.resource_of(index).warm.describe()
