"""Records of a run: counts per second, folded into samples.

The engines write into the records as they charge: a `DirectionRecord` per direction of a resource, a
`FlowRecord` per flow of the plan, and a `KeyTally` (key_totals.py) per direction. `end_second` folds a second
into the present sample, which ends every `step_s` seconds. Units are half units here and requests are counts;
run.py makes an `Outcome` of them.

Partitions are followed from birth to split by the events of the capacity core, so that one that lives for
less than a sample is recorded too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from faradisc.capacity.config import GIB, SECOND_NS
from faradisc.capacity.events import Event, Split
from faradisc.capacity.partitions import HASH_SPACE, Partition, PartitionBucket, hash_bounds
from faradisc.capacity.throttle import Cause
from faradisc.tools.planner.results.item_collections import Growth
from faradisc.tools.planner.results.outcome import PARTITIONS_SHOWN, Number, number
from faradisc.tools.planner.simulation.key_totals import KeyTally
from faradisc.tools.planner.simulation.virtual_tables import VirtualResource, VirtualTables

_COUNTS = ("offered", "cached", "attempts", "admitted", "throttled", "lost", "read_half", "write_half")


@dataclass
class FlowRecord:
    """The requests of one flow of the plan."""

    name: str
    offered: int = 0
    cached: int = 0
    attempts: int = 0
    admitted: int = 0
    throttled: int = 0
    lost: int = 0
    read_half: int = 0
    write_half: int = 0
    peak: int = 0
    """First attempts in the busiest second."""
    waits: Counter[int] = field(default_factory=Counter)
    """Admitted requests by the time they waited for retries, milliseconds."""
    at_attempt: Counter[int] = field(default_factory=Counter)
    """Admitted requests by the number of the attempt, from 1."""

    @classmethod
    def of_all(cls, flows: list[FlowRecord]) -> FlowRecord:
        total = cls("all", *(sum(getattr(flow, name) for flow in flows) for name in _COUNTS))
        for flow in flows:
            total.waits.update(flow.waits)
            total.at_attempt.update(flow.at_attempt)
        return total


@dataclass(slots=True)
class PartitionSample:
    """One direction of a partition in the present sample."""

    half_units: int = 0
    throttled: int = 0


class DirectionRecord:
    """The reads or the writes of one resource."""

    def __init__(self, virtual: VirtualResource, writes: bool) -> None:
        self.virtual = virtual
        self.writes = writes
        self.limiter = virtual.resource.writes if writes else virtual.resource.reads
        self.keys = KeyTally()
        self.partitions: dict[PartitionBucket, PartitionSample] = {}
        # Of the present second; the engines add to these.
        self.second_offered = 0
        self.second_consumed = 0
        self.throttled: Counter[Cause] = Counter()
        # Of the present sample.
        self._offered = self._consumed = self._peak = 0
        self._causes: Counter[Cause] = Counter()
        # Of each sample.
        self.series_offered: list[int] = []
        self.series_consumed: list[int] = []
        self.consumed_peak: list[int] = []
        self.provisioned: list[int] = []
        self.causes: list[Counter[Cause]] = []
        self.burst: list[int | None] = []
        self.burst_max: list[int | None] = []
        # Of the run.
        self.events: Counter[Cause] = Counter()
        self.first_s: int | None = None
        self.worst_s: int | None = None
        self.worst_events = 0
        self.longest_s = 0
        """The most consecutive seconds with throttle events."""
        self._consecutive_s = 0

    @property
    def throttled_half(self) -> int:
        """Half units that were asked for and not served."""
        return sum(self.series_offered) - sum(self.series_consumed)

    def partition(self, bucket: PartitionBucket) -> PartitionSample:
        found = self.partitions.get(bucket)
        if found is None:
            found = self.partitions[bucket] = PartitionSample()
        return found

    def throttle(self, cause: Cause, count: int = 1, bucket: PartitionBucket | None = None) -> None:
        """Counts throttle events; `bucket` is that of the partition, where one is the cause."""
        self.throttled[cause] += count
        if bucket is not None:
            self.partition(bucket).throttled += count

    def end_second(self, second: int) -> None:
        self._offered += self.second_offered
        self._consumed += self.second_consumed
        self._peak = max(self._peak, self.second_consumed)
        self.second_offered = self.second_consumed = 0
        self.keys.end_second()
        if not self.throttled:
            self._consecutive_s = 0
            return
        events = self.throttled.total()
        self._causes.update(self.throttled)
        self.events.update(self.throttled)
        self.throttled.clear()
        if self.first_s is None:
            self.first_s = second
        if events > self.worst_events:
            self.worst_s, self.worst_events = second, events
        self._consecutive_s += 1
        self.longest_s = max(self.longest_s, self._consecutive_s)

    def end_sample(self, now: int) -> None:
        resource, limiter = self.virtual.resource, self.limiter
        self.series_offered.append(self._offered)
        self.series_consumed.append(self._consumed)
        self.consumed_peak.append(self._peak)
        self.causes.append(self._causes)
        self._offered = self._consumed = self._peak = 0
        self._causes = Counter()
        if resource.on_demand:
            self.provisioned.append(resource.capacity(now)[1 if self.writes else 0])
        else:
            self.provisioned.append(resource.write_units if self.writes else resource.read_units)
        table = limiter.table_bucket
        buckets = [bucket.share for bucket in limiter.buckets] if table is None else [table]
        saving = [bucket for bucket in buckets if bucket is not None]
        self.burst.append(sum(bucket.balance(now) for bucket in saving) if saving else None)
        self.burst_max.append(sum(bucket.cap // bucket.scale for bucket in saving) if saving else None)


@dataclass(slots=True)
class PartitionRecord:
    """One partition over its life."""

    partition: Partition
    first: int
    """The sample in which it was born."""
    born_s: Number
    retired_s: Number | None = None
    parent: str | None = None
    read: list[int] = field(default_factory=list)
    write: list[int] = field(default_factory=list)
    read_limit: list[Number] = field(default_factory=list)
    write_limit: list[Number] = field(default_factory=list)
    throttled: list[int] = field(default_factory=list)
    gib: list[Number] = field(default_factory=list)

    @property
    def bounds(self) -> tuple[float, float]:
        """Its part of the hash space, 0 to 1."""
        low, high = hash_bounds(self.partition)
        return round(low / HASH_SPACE, 6), round(high / HASH_SPACE, 6)


class ResourceRecord:
    """A table or global index, its directions and its partitions."""

    def __init__(self, virtual: VirtualResource) -> None:
        self.virtual = virtual
        self.directions = (DirectionRecord(virtual, False), DirectionRecord(virtual, True))
        self.counts: list[int] = []
        self.partitions: dict[str, PartitionRecord] = {}
        self.left_out = 0
        for partition in virtual.resource.partitions.partitions:
            self._follow(partition, 0, 0, None)

    def _follow(self, partition: Partition, first: int, born_s: Number, parent: str | None) -> None:
        if len(self.partitions) < PARTITIONS_SHOWN:
            self.partitions[partition.id] = PartitionRecord(partition, first, born_s, parent=parent)
        else:
            self.left_out += 1

    def split(self, event: Split, sample: int, at_s: Number) -> None:
        parent = self.partitions.get(event.parent)
        if parent is not None:
            parent.retired_s = at_s
        for identity in event.children:
            partition = self.virtual.resource.partitions.by_id(identity)
            if partition is not None:
                self._follow(partition, sample, at_s, event.parent)

    def end_sample(self, now: int, begin_s: int) -> None:
        """Ends the sample that began at `begin_s`."""
        self.counts.append(len(self.virtual.resource.partitions))
        reads, writes = self.directions
        for direction in self.directions:
            direction.end_sample(now)
        for record in self.partitions.values():
            if record.retired_s is not None and record.retired_s < begin_s:
                continue
            partition = record.partition
            read = reads.partitions.get(partition.reads) or PartitionSample()
            write = writes.partitions.get(partition.writes) or PartitionSample()
            record.read.append(read.half_units)
            record.write.append(write.half_units)
            record.throttled.append(read.throttled + write.throttled)
            record.read_limit.append(_limit(partition.reads))
            record.write_limit.append(_limit(partition.writes))
            record.gib.append(number(partition.bytes / GIB))
        for direction in self.directions:
            direction.partitions.clear()


def _limit(bucket: PartitionBucket) -> Number:
    """Returns the units per second that a partition serves in one direction."""
    own, share = _quotient(bucket.rate, bucket.scale), bucket.share
    return own if share is None else min(own, _quotient(share.rate, share.scale))


@lru_cache(maxsize=4096)
def _quotient(rate: int, scale: int) -> Number:
    return number(rate / scale)


class RunRecorder:
    """All records of one run."""

    def __init__(self, tables: VirtualTables, step_s: int) -> None:
        self.tables = tables
        self.step_s = step_s
        self.resources = [ResourceRecord(virtual) for virtual in tables.resources]
        self.flows: list[FlowRecord] = []
        self.directions = [direction for record in self.resources for direction in record.directions]
        self.events: list[tuple[VirtualResource, Event]] = []
        self.changes: list[tuple[VirtualResource, int, str]] = []
        self.growth = {table.name: Growth() for table in tables.plan.tables if table.locals}
        """Growth of item collections by recorded requests."""
        self.samples = 0
        self.on_sample: list[Callable[[], None]] = []
        self.before_second: list[Callable[[], None]] = []
        """Called at the end of each second, before its counts are folded."""
        self._by_name = {record.virtual.key: record for record in self.resources}
        tables.on_event = self._record_event
        tables.on_change = lambda virtual, at_ns, words: self.changes.append((virtual, at_ns, words))

    def direction(self, table: str, index: str | None, *, writes: bool) -> DirectionRecord:
        """Returns the record of a direction. Raises KeyError for an unknown table or index."""
        return self._by_name[table, index].directions[1 if writes else 0]

    def flow(self, name: str) -> FlowRecord:
        record = FlowRecord(name)
        self.flows.append(record)
        return record

    def _record_event(self, virtual: VirtualResource, event: Event) -> None:
        self.events.append((virtual, event))
        if isinstance(event, Split):
            at_s = number((event.at_ns - self.tables.start_ns) / SECOND_NS)
            self._by_name[virtual.key].split(event, self.samples, at_s)

    def end_second(self, second: int) -> None:
        """Ends a second of the run, counted from 0."""
        for listener in self.before_second:
            listener()
        for direction in self.directions:
            direction.end_second(second)
        if (second + 1) % self.step_s == 0:
            self.end_sample(second + 1)

    def end_sample(self, passed_s: int) -> None:
        now = self.tables.start_ns + passed_s * SECOND_NS
        begin_s = self.samples * self.step_s
        self.samples += 1
        for record in self.resources:
            record.end_sample(now, begin_s)
        for listener in self.on_sample:
            listener()
