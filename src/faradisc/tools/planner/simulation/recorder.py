"""Records of a run: counts per second, folded into samples.

The engines write into the records as they charge: a `DirectionRecord` per direction of a resource, a
`FlowRecord` per flow of the plan, and a `KeyTally` (key_totals.py) per direction. `end_second` folds a second
into the present sample, which ends every `step_s` seconds and is appended to the outcome's series. Counts are
half units and requests; series are units per second.

Partitions are followed from birth to split by the events of the capacity core, so that one that lives for
less than a sample is recorded too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from faradisc.capacity.config import GIB, HALF_UNIT, SECOND_NS, UNIT
from faradisc.capacity.events import Event, Split
from faradisc.capacity.partitions import HASH_SPACE, Partition, PartitionBucket, hash_bounds
from faradisc.capacity.throttle import Cause
from faradisc.charts.words import brief
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.records import dataclass, field
from faradisc.tools.planner.results.item_collections import Growth
from faradisc.tools.planner.results.outcome import PARTITIONS_SHOWN
from faradisc.tools.planner.results.series import DirectionSeries, Number, PartitionSeries, number
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
        # Of the run.
        maximum = self.limiter.maximum
        self.series = DirectionSeries(maximum=maximum.rate if maximum is not None else None)
        self.throttled_half = 0
        """Half units that were asked for and not served, in the samples that ended."""
        self.events: Counter[Cause] = Counter()
        self.first_s: int | None = None
        self.worst_s: int | None = None
        self.worst_events = 0
        self.longest_s = 0
        """The most consecutive seconds with throttle events."""
        self._consecutive_s = 0

    @property
    def eventual(self) -> float:
        """How many times the units of a partition's limit it serves: more of eventually consistent reads."""
        return self.keys.half_units * HALF_UNIT / self.keys.load if self.keys.load else 1

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

    def end_sample(self, now: int, length_s: int) -> None:
        resource, limiter, series = self.virtual.resource, self.limiter, self.series
        self.throttled_half += self._offered - self._consumed
        series.offered.append(number(self._offered / 2 / length_s))
        series.consumed.append(number(self._consumed / 2 / length_s))
        series.consumed_peak.append(number(self._peak / 2))
        for cause in Cause:
            series.throttled[cause.value].append(self._causes[cause])
        self._offered = self._consumed = self._peak = 0
        self._causes = Counter()
        if resource.on_demand:
            series.provisioned.append(resource.capacity(now)[1 if self.writes else 0])
        else:
            series.provisioned.append(resource.write_units if self.writes else resource.read_units)
        table = limiter.table_bucket
        buckets = [bucket.share for bucket in limiter.buckets] if table is None else [table]
        saving = [bucket for bucket in buckets if bucket is not None]
        held = sum(bucket.balance(now) for bucket in saving)
        most = sum(bucket.cap // bucket.scale for bucket in saving)
        series.burst.append(number(held / UNIT) if saving else None)
        series.burst_max.append(number(most / UNIT) if saving else None)


class ResourceRecord:
    """A table or global index, its directions and its partitions."""

    def __init__(self, virtual: VirtualResource) -> None:
        self.virtual = virtual
        self.directions = (DirectionRecord(virtual, False), DirectionRecord(virtual, True))
        self.counts: list[int] = []
        self.first_bytes = self.stored_bytes
        self.partitions: dict[str, tuple[Partition, PartitionSeries]] = {}
        self.left_out = 0
        for partition in virtual.resource.partitions.partitions:
            self._follow(partition, 0, 0, None)

    @property
    def stored_bytes(self) -> int:
        """What is billed as stored now."""
        parts = self.virtual.resource.partitions.partitions
        return sum(part.bytes + part.items * STORAGE_OVERHEAD_BYTES for part in parts)

    def _follow(self, partition: Partition, first: int, born_s: Number, parent: str | None) -> None:
        if len(self.partitions) < PARTITIONS_SHOWN:
            low, high = (round(bound / HASH_SPACE, 6) for bound in hash_bounds(partition))
            named = brief(partition.id), brief(parent) if parent else None
            series = PartitionSeries(*named, low, high, born_s, None, first)
            self.partitions[partition.id] = partition, series
        else:
            self.left_out += 1

    def split(self, event: Split, sample: int, at_s: Number) -> None:
        parent = self.partitions.get(event.parent)
        if parent is not None:
            parent[1].retired_s = at_s
        for identity in event.children:
            partition = self.virtual.resource.partitions.by_id(identity)
            if partition is not None:
                self._follow(partition, sample, at_s, event.parent)

    def end_sample(self, now: int, begin_s: int, length_s: int) -> None:
        """Ends the sample that began at `begin_s`."""
        self.counts.append(len(self.virtual.resource.partitions))
        reads, writes = self.directions
        for direction in self.directions:
            direction.end_sample(now, length_s)
        eventual = reads.eventual
        for partition, record in self.partitions.values():
            if record.retired_s is not None and record.retired_s < begin_s:
                continue
            read = reads.partitions.get(partition.reads) or PartitionSample()
            write = writes.partitions.get(partition.writes) or PartitionSample()
            record.read.append(number(read.half_units / 2 / length_s))
            record.write.append(number(write.half_units / 2 / length_s))
            record.throttled.append(read.throttled + write.throttled)
            record.read_limit.append(number(_limit(partition.reads) * eventual))
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
            record.end_sample(now, begin_s, passed_s - begin_s)
        for listener in self.on_sample:
            listener()
