"""Records of a run: counts per second, folded into samples.

The engines write into the records as they charge: a `DirectionRecord` per direction of a resource, a
`FlowRecord` per flow of the plan, and a `KeyTally` (key_totals.py) per direction. `end_second` folds a second
into the present sample, which ends every `step_s` seconds. Units are half units here and requests are counts;
run.py makes an `Outcome` of them.

Partitions are followed from birth to split by the events of the capacity core, so that one that lives for
less than a sample is recorded too.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from faradisc.capacity.admission import Limiter as Lane
from faradisc.capacity.config import GIB, SECOND_NS
from faradisc.capacity.events import Event, Split
from faradisc.capacity.partitions import HASH_SPACE, Partition, hash_bounds
from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.capacity.throttle import Cause
from faradisc.tools.planner.results.item_collections import Growth
from faradisc.tools.planner.results.outcome import PARTITIONS_SHOWN, Number, number
from faradisc.tools.planner.simulation.key_totals import KeyTally
from faradisc.tools.planner.simulation.virtual_tables import VirtualResource, VirtualTables


class FlowRecord:
    """The requests of one stream of traffic."""

    __slots__ = (
        "admitted", "at_attempt", "attempts", "cached", "lost", "name", "offered", "peak", "read_half",
        "throttled", "waits", "write_half",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.offered = 0
        self.cached = 0
        self.attempts = 0
        self.admitted = 0
        self.throttled = 0
        self.lost = 0
        self.read_half = 0
        self.write_half = 0
        self.peak = 0
        """Requests of the busiest second, first attempts."""
        self.waits: Tally[int] = Tally()
        """Waits of admitted requests, milliseconds."""
        self.at_attempt: Tally[int] = Tally()
        """How many were admitted at the first attempt, the second, ..."""


@dataclass(slots=True)
class PartitionSample:
    """What one direction of a partition has seen in this sample."""

    half_units: int = 0
    throttled: int = 0


SecondPart = tuple[int, int, dict[Cause, int]]
"""What a lane has seen in a second: half units offered and consumed, refusals by cause."""


class DirectionRecord:
    """One direction of one resource."""

    __slots__ = (
        "bank",
        "bank_max",
        "causes",
        "cells",
        "consumed",
        "consumed_peak",
        "events",
        "first_s",
        "keys",
        "lane",
        "longest_s",
        "offered",
        "provisioned",
        "refused",
        "sample_causes",
        "sample_consumed",
        "sample_offered",
        "sample_peak",
        "second_consumed",
        "second_offered",
        "series_consumed",
        "series_offered",
        "stretch_s",
        "turn",
        "virtual",
        "worst_events",
        "worst_s",
        "writes",
    )  # fmt: skip

    def __init__(self, member: VirtualResource, writes: bool) -> None:
        self.virtual = member
        self.writes = writes
        self.lane: Lane = member.lane(writes)
        self.keys = KeyTally()
        self.cells: dict[Cell, PartitionSample] = {}
        # Of the present second; engines add to these.
        self.second_offered = 0
        self.second_consumed = 0
        self.refused: dict[Cause, int] = {}
        self.turn = 0
        """Grows whenever a partition is told what has been served: rising sort keys lie behind those of all
        turns before."""
        # Of the present sample.
        self.sample_offered = 0
        self.sample_consumed = 0
        self.sample_peak = 0
        self.sample_causes: dict[Cause, int] = {}
        # Of the run.
        self.series_offered: list[int] = []
        self.series_consumed: list[int] = []
        self.consumed_peak: list[int] = []
        self.provisioned: list[int] = []
        self.causes: list[dict[Cause, int]] = []
        self.bank: list[int | None] = []
        self.bank_max: list[int | None] = []
        self.events: Tally[Cause] = Tally()
        self.first_s: int | None = None
        self.worst_s: int | None = None
        self.worst_events = 0
        self.stretch_s = 0
        self.longest_s = 0

    @property
    def refused_half(self) -> int:
        """Half units asked for and not served."""
        return sum(self.series_offered) - sum(self.series_consumed)

    def cell(self, cell: Cell) -> PartitionSample:
        record = self.cells.get(cell)
        if record is None:
            record = self.cells[cell] = PartitionSample()
        return record

    def refuse(self, cause: Cause, count: int = 1, cell: Cell | None = None) -> None:
        self.refused[cause] = self.refused.get(cause, 0) + count
        if cell is not None:
            self.cell(cell).throttled += count

    def parts(self, seconds: int) -> list[SecondPart]:
        """What has been noted since the last second, divided evenly among so many."""
        refused = [(cause, evenly(count, seconds)) for cause, count in self.refused.items()]
        return [
            (offered, consumed, {cause: counts[passed] for cause, counts in refused if counts[passed]})
            for passed, (offered, consumed) in enumerate(
                zip(
                    evenly(self.second_offered, seconds),
                    evenly(self.second_consumed, seconds),
                    strict=True,
                )
            )
        ]

    def take_over(self, part: SecondPart) -> None:
        """This is what the present second has seen."""
        self.second_offered, self.second_consumed, self.refused = part

    def end_second(self, second: int) -> None:
        consumed = self.second_consumed
        self.sample_offered += self.second_offered
        self.sample_consumed += consumed
        self.sample_peak = max(self.sample_peak, consumed)
        self.second_offered = self.second_consumed = 0
        self.keys.end_second()
        if not self.refused:
            self.stretch_s = 0
            return
        refused = sum(self.refused.values())
        for cause, count in self.refused.items():
            self.sample_causes[cause] = self.sample_causes.get(cause, 0) + count
            self.events[cause] += count
        self.refused.clear()
        if self.first_s is None:
            self.first_s = second
        if refused > self.worst_events:
            self.worst_s, self.worst_events = second, refused
        self.stretch_s += 1
        self.longest_s = max(self.longest_s, self.stretch_s)

    def end_sample(self, now: int) -> None:
        resource, lane = self.virtual.resource, self.lane
        self.series_offered.append(self.sample_offered)
        self.series_consumed.append(self.sample_consumed)
        self.consumed_peak.append(self.sample_peak)
        self.causes.append(self.sample_causes)
        self.sample_offered = self.sample_consumed = self.sample_peak = 0
        self.sample_causes = {}
        if resource.on_demand:
            self.provisioned.append(resource.capacity(now)[1 if self.writes else 0])
        else:
            self.provisioned.append(resource.write_units if self.writes else resource.read_units)
        banks = (
            [lane.table_bucket] if lane.table_bucket is not None else [cell.share for cell in lane.buckets]
        )
        held = [bank for bank in banks if bank is not None]
        self.bank.append(sum(bank.balance(now) for bank in held) if held else None)
        self.bank_max.append(sum(bank.cap // bank.scale for bank in held) if held else None)


def evenly(total: int, count: int) -> list[int]:
    return [total * (number + 1) // count - total * number // count for number in range(count)]


@dataclass(slots=True)
class PartitionRecord:
    """One partition over its life."""

    part: Partition
    first: int
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
        low, high = hash_bounds(self.part)
        return round(low / HASH_SPACE, 6), round(high / HASH_SPACE, 6)


class ResourceRecord:
    """A table or global index, its two lanes and its partitions."""

    def __init__(self, member: VirtualResource) -> None:
        self.virtual = member
        self.lanes = (DirectionRecord(member, False), DirectionRecord(member, True))
        self.counts: list[int] = []
        self.tracks: dict[str, PartitionRecord] = {}
        self.left_out = 0
        for part in member.resource.partitions.partitions:
            self._track(part, 0, 0, None)

    def _track(self, part: Partition, first: int, born_s: Number, parent: str | None) -> None:
        if len(self.tracks) < PARTITIONS_SHOWN:
            self.tracks[part.id] = PartitionRecord(part, first, born_s, parent=parent)
        else:
            self.left_out += 1

    def split(self, event: Split, sample: int, at_s: Number) -> None:
        parent = self.tracks.get(event.parent)
        if parent is not None:
            parent.retired_s = at_s
        for identity in event.children:
            part = self.virtual.resource.partitions.by_id(identity)
            if part is not None:
                self._track(part, sample, at_s, event.parent)

    def end_sample(self, now: int, begin_s: int) -> None:
        """A sample that began at `begin_s` ends."""
        self.counts.append(len(self.virtual.resource.partitions))
        for lane in self.lanes:
            lane.end_sample(now)
        reads, writes = self.lanes
        for track in self.tracks.values():
            if track.retired_s is not None and track.retired_s < begin_s:
                continue
            part = track.part
            read = reads.cells.get(part.reads) or PartitionSample()
            write = writes.cells.get(part.writes) or PartitionSample()
            track.read.append(read.half_units)
            track.write.append(write.half_units)
            track.throttled.append(read.throttled + write.throttled)
            track.read_limit.append(_limit(part.reads))
            track.write_limit.append(_limit(part.writes))
            track.gib.append(number(part.bytes / GIB))
        for lane in self.lanes:
            lane.cells.clear()


def _limit(cell: Cell) -> Number:
    share = cell.share
    own = _exact(cell.rate, cell.scale)
    return own if share is None else min(own, _exact(share.rate, share.scale))


@lru_cache(maxsize=4096)
def _exact(rate: int, scale: int) -> Number:
    return number(rate / scale)


class RunRecorder:
    """All notes of one run."""

    def __init__(self, world: VirtualTables, step_s: int) -> None:
        self.world = world
        self.step_s = step_s
        self.resources = [ResourceRecord(member) for member in world.members]
        self.flows: list[FlowRecord] = []
        self.lanes = [lane for resource in self.resources for lane in resource.lanes]
        self.events: list[tuple[VirtualResource, Event]] = []
        self.changes: list[tuple[VirtualResource, int, str]] = []
        self.growth = {table.name: Growth() for table in world.plan.tables if table.locals}
        """Of item collections, by recorded requests."""
        self.samples = 0
        self.on_sample: list[Callable[[], None]] = []
        self.before_second: list[Callable[[], None]] = []
        """Called at the end of each second, while its numbers are still there."""
        world.on_event = self._note_event
        world.on_change = lambda member, at_ns, words: self.changes.append((member, at_ns, words))
        self._by_name = {
            (
                resource.virtual.table.name,
                resource.virtual.index.name if resource.virtual.index else None,
            ): resource
            for resource in self.resources
        }

    def lane(self, table: str, index: str | None, *, writes: bool) -> DirectionRecord:
        """Raises: KeyError."""
        return self._by_name[(table, index)].lanes[1 if writes else 0]

    def flow(self, name: str) -> FlowRecord:
        record = FlowRecord(name)
        self.flows.append(record)
        return record

    def _note_event(self, member: VirtualResource, event: Event) -> None:
        self.events.append((member, event))
        if isinstance(event, Split):
            at_s = number((event.at_ns - self.world.start_ns) / SECOND_NS)
            resource = next(each for each in self.resources if each.virtual is member)
            resource.split(event, self.samples, at_s)

    def end_second(self, second: int) -> None:
        """A second of the run, counted from 0, has passed."""
        for listener in self.before_second:
            listener()
        for lane in self.lanes:
            lane.end_second(second)
        if (second + 1) % self.step_s == 0:
            self.end_sample(second + 1)

    def end_sample(self, passed_s: int) -> None:
        now = self.world.start_ns + passed_s * SECOND_NS
        begin_s = self.samples * self.step_s
        self.samples += 1
        for resource in self.resources:
            resource.end_sample(now, begin_s)
        for listener in self.on_sample:
            listener()
