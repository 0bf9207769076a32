"""All resources of one account in one region, with their metrics and the account's quota.

The owner of the clock calls `advance(now)` when `now >= due` and gets the events that happened since.
Requests use the limiters of their resources directly.

Invariant: `due` is never later than the earliest `due` of any resource. After a change of a resource
`changed` must be called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HOUR_NS, MINUTE_NS, SECOND_NS, CapacityConfig, Chance
from faradisc.capacity.events import Event
from faradisc.capacity.resource import STEP_NS, Resource
from faradisc.capacity.usage import MinuteUsage
from faradisc.metrics.contributor_insights import Insights
from faradisc.metrics.metric_store import RETENTION_MINUTES, Dimensions, MetricStore, dimensions
from faradisc.metrics.request_metrics import RequestMetrics

GAUGE_PERIOD_NS = 5 * MINUTE_NS


class ResourceRegistry:
    """The tables and global indexes of one account in one region."""

    def __init__(
        self,
        config: CapacityConfig,
        now: int,
        *,
        chance: Chance | None = None,
        metrics: MetricStore | None = None,
    ) -> None:
        self.config = config
        self.chance = chance
        self.metrics = metrics if metrics is not None else MetricStore()
        self.requests = RequestMetrics()
        self.resources: dict[tuple[str, str | None], Resource] = {}
        """By table name and global index name (None: the table itself)."""
        self.insights: dict[tuple[str, str | None], Insights] = {}
        self.due = now - now % STEP_NS + STEP_NS
        self._next_minute = now - now % MINUTE_NS + MINUTE_NS
        self._quotas: tuple[Bucket, Bucket] | None = None
        if config.account_quota:
            self._quotas = (
                Bucket(config.account_read_units, now=now, burst_ns=SECOND_NS, debt_ns=None),
                Bucket(config.account_write_units, now=now, burst_ns=SECOND_NS, debt_ns=None),
            )

    def add(
        self,
        table: str,
        index: str | None,
        arn: str,
        now: int,
        *,
        config: CapacityConfig | None = None,
        **settings: Any,
    ) -> Resource:
        """Adds a new table or global index, or a stored one (`stored=`).

        `config` overrides the account's for this resource; `settings` are those of Resource.
        """
        resource = Resource(
            arn,
            "Table" if index is None else "Index",
            config or self.config,
            now,
            chance=self.chance,
            account_quotas=self._quotas,
            on_minute=self._recorder(table, index),
            **settings,
        )
        self.resources[(table, index)] = resource
        self.changed(resource)
        return resource

    def _recorder(self, table: str, index: str | None) -> Callable[[MinuteUsage], None]:
        def record(usage: MinuteUsage) -> None:
            record_usage(self.metrics, table, index, usage)

        return record

    def remove(self, table: str, index: str | None = None) -> None:
        """Removes a resource; a table with all its indexes. Its metrics stay, as in the service."""
        minute_ns = self._next_minute - MINUTE_NS
        for key in [key for key in self.resources if key[0] == table and (index is None or key[1] == index)]:
            for usage in self.resources.pop(key).unpublished(minute_ns):
                record_usage(self.metrics, table, key[1], usage)
            self.insights.pop(key, None)
        if index is None:
            self.requests.forget(table, self.metrics, minute_ns)

    def changed(self, resource: Resource) -> None:
        """Must be called after a change of a resource (rates, splits), because its `due` may be earlier."""
        self.due = min(self.due, resource.due)

    def advance(self, now: int) -> list[Event]:
        """Lets time pass until `now`. Returns the events of all resources, each resource's in order of
        time."""
        events: list[Event] = []
        for resource in self.resources.values():
            if resource.due <= now:
                events += resource.advance(now)
        if self._next_minute <= now:
            self._end_minute(now - now % MINUTE_NS)
            self._next_minute = now - now % MINUTE_NS + MINUTE_NS
        self.due = now - now % STEP_NS + STEP_NS
        for resource in self.resources.values():
            self.changed(resource)
        return events

    def _end_minute(self, at: int) -> None:
        """Publishes requests since the last call in the minute in which they were first counted."""
        began = self._next_minute - MINUTE_NS
        self.requests.flush(self.metrics, began)
        if at // HOUR_NS > began // HOUR_NS:
            self.metrics.expire(at, self.resources)
        for insights in self.insights.values():
            insights.end_minute(began)
        # A moved clock ends many minutes at once; the settings were the same in all of them.
        first = max(began, at - RETENTION_MINUTES * MINUTE_NS) // GAUGE_PERIOD_NS + 1
        for period in range(first, at // GAUGE_PERIOD_NS + 1):
            self._publish_gauges(period * GAUGE_PERIOD_NS)

    def _publish_gauges(self, at: int) -> None:
        """Publishes the settings as metrics, every five minutes (metrics.md)."""
        add = partial(self.metrics.add, own=False)
        for (table, index), resource in self.resources.items():
            which = dimensions(TableName=table, GlobalSecondaryIndexName=index)
            if resource.on_demand:
                if resource.state.max_read is not None:
                    add("OnDemandMaxReadRequestUnits", which, at, resource.state.max_read)
                if resource.state.max_write is not None:
                    add("OnDemandMaxWriteRequestUnits", which, at, resource.state.max_write)
            else:
                add("ProvisionedReadCapacityUnits", which, at, resource.read_units)
                add("ProvisionedWriteCapacityUnits", which, at, resource.write_units)
        self._publish_account(at)

    def _publish_account(self, at: int) -> None:
        config, add = self.config, partial(self.metrics.add, own=False)
        provisioned = [resource for resource in self.resources.values() if not resource.on_demand]
        reads = [each.read_units for each in provisioned]
        writes = [each.write_units for each in provisioned]
        for word, units, account_most, table_most in (
            ("Read", reads, config.account_read_units, config.table_read_units),
            ("Write", writes, config.account_write_units, config.table_write_units),
        ):
            add(f"AccountMax{word}s", (), at, account_most)
            add(f"AccountMaxTableLevel{word}s", (), at, table_most)
            add(f"AccountProvisioned{word}CapacityUtilization", (), at, 100 * sum(units) / account_most)
            busiest = 100 * max(units, default=0) / table_most
            add(f"MaxProvisionedTable{word}CapacityUtilization", (), at, busiest)


def record_usage(store: MetricStore, table: str, index: str | None, usage: MinuteUsage) -> None:
    """Publishes one minute of reads or writes. Consumption is published even when it is zero; throttle events
    are not. Writes that an index throttles while it is being filled have a metric of their own.

    Global indexes have series of their own; local ones are part of their table's.
    """
    which = dimensions(TableName=table, GlobalSecondaryIndexName=index)
    direction = "Read" if usage.direction == "R" else "Write"
    consumed = f"Consumed{direction}CapacityUnits"
    series: dict[Dimensions, Mapping[int, int]] = {which: usage.tally}
    if direction == "Write":
        replicated = Counter(usage.replicated)
        by_source = {"Customer": Counter(usage.tally) - replicated}
        if replicated:
            by_source["GlobalTable"] = replicated
        for source, costs in by_source.items():
            series[dimensions(TableName=table, GlobalSecondaryIndexName=index, Source=source)] = costs
    for each, tally in series.items():
        store.add_tally(consumed, each, usage.minute_ns, tally, scale=0.5)
        store.report(consumed, each, usage.minute_ns)
    for cause, count in usage.events.items():
        store.add(direction + cause.metric, which, usage.minute_ns, 1, count)
        store.add(f"{direction}ThrottleEvents", which, usage.minute_ns, 1, count)
    if usage.build_events and direction == "Write":
        store.add("OnlineIndexThrottleEvents", which, usage.minute_ns, 1, usage.build_events)
