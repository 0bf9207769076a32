"""A resource: a table or a global index as capacity sees it. It owns rates, partitions and buckets.

A local index is not a resource: it lives in its table's partitions and spends the table's units.

Time enters in two ways. Requests pass `now` to the lanes (capacity/admission.py). Everything slow (heat,
splits, growth, minutes) happens in `advance(now)`, in steps of ten seconds at round times, and is
returned as events. Whoever owns a resource calls `advance` when `now >= due`; what was consumed before the
call counts for the step that ends then. An idle resource advances over any stretch of time in O(1).

Sources: capacity.md sections 2.3 to 2.8; what survives a restart: section 2.16.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from faradisc.capacity import estimates, heat, topology
from faradisc.capacity.adaptive import Adaptive
from faradisc.capacity.admission import Limiter
from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HALF_UNIT, MINUTE_NS, SECOND_NS, UNIT, CapacityConfig, Chance
from faradisc.capacity.events import CapacityGrown, Event, SplitDue, SplitReason, SplitRefused
from faradisc.capacity.gates import divide_share, set_gates
from faradisc.capacity.ondemand import Growth, Warm, initial_on_demand
from faradisc.capacity.partitions import (
    Contents,
    Partition,
    PartitionBucket,
    PartitionMap,
    initial_partitions,
)
from faradisc.capacity.splitting import Splitting
from faradisc.capacity.throttle import Cause, ResourceKind

STEP_NS = heat.HEAT_STEP_S * SECOND_NS
Counted = TypeVar("Counted")
Units = tuple[int, int]
"""Read and write units per second."""
UNSEEN_NS = 5 * MINUTE_NS
"""A longer stretch in which an idle resource was not advanced is passed over, up to its last whole minute."""


@dataclass(frozen=True, slots=True)
class MinuteUsage:
    """What one lane has seen in one minute."""

    minute_ns: int
    direction: str
    tally: Mapping[int, int]
    """How often each cost, in half units, was charged."""
    events: Mapping[Cause, int]
    """Throttle events by cause."""

    @property
    def half_units(self) -> int:
        return sum(cost * count for cost, count in self.tally.items())


class Resource:
    def __init__(
        self,
        arn: str,
        kind: ResourceKind,
        config: CapacityConfig,
        now: int,
        *,
        read_units: int = 0,
        write_units: int = 0,
        on_demand: bool = False,
        max_read: int | None = None,
        max_write: int | None = None,
        composite: bool = True,
        local_indexes: bool = False,
        partitions: int | None = None,
        chance: Chance | None = None,
        account_quotas: tuple[Bucket, Bucket] | None = None,
        on_minute: Callable[[MinuteUsage], None] | None = None,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        """`partitions` overrides the count at birth; `stored` is what `to_json` gave before a restart."""
        self.arn = arn
        self.config = config
        self.composite = composite
        self.local_indexes = local_indexes
        self.on_demand = on_demand
        self.read_units = read_units
        self.write_units = write_units
        self.max_read = max_read
        self.max_write = max_write
        self.chance = chance
        self.account_quotas = account_quotas
        self.on_minute = on_minute
        eventual = HALF_UNIT * config.eventual_read_factor[1] // config.eventual_read_factor[0]
        self.reads = Limiter(arn, kind, "R", eventual)
        self.writes = Limiter(arn, kind, "W", HALF_UNIT)
        self.growth = (
            Growth(0, config.table_read_units, config.growth_s * SECOND_NS),
            Growth(0, config.table_write_units, config.growth_s * SECOND_NS),
        )
        self.warm = Warm.of_on_demand() if on_demand else Warm.of_provisioned(read_units, write_units)
        self.highest = (read_units, write_units)
        """The most that was ever provisioned."""
        self.prepared = self.highest
        """The most that splits were begun for; what was ever provisioned, and what soon will be."""
        self._wanted: dict[SplitReason, Units] = {}
        """What partitions are to be made for as soon as the running splits are done; in this order."""
        self._minutes: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._events: tuple[dict[Cause, int], dict[Cause, int]] = ({}, {})
        self._next_step = now - now % STEP_NS + STEP_NS
        self.adaptive = Adaptive(self, chance) if config.adaptive_delay_s is not None else None
        if stored is None:
            self._start_growth()
            self._partitions = PartitionMap(config, partitions or self._count_at_birth(), now)
            self.splitting = Splitting(arn, config, self._partitions)
        else:
            self._restore(stored, now)
        self._attach()
        set_gates(self, now, initial=True)

    # --- Settings -----------------------------------------------------------------------------

    @property
    def partitions(self) -> PartitionMap:
        """The partitions, with everything booked that was charged to them."""
        self._book()
        return self._partitions

    def _book(self) -> None:
        self.reads.book()
        self.writes.book()

    @property
    def limiters(self) -> tuple[Limiter, Limiter]:
        return self.reads, self.writes

    def _count_at_birth(self) -> int:
        if self.on_demand:
            return topology.on_demand_partitions(self.growth[0].initial, self.growth[1].initial)
        return initial_partitions(self.read_units, self.write_units, self.config)

    def _start_growth(self) -> None:
        initial = initial_on_demand(*self.highest) if self.on_demand else self.highest
        for growth, units in zip(self.growth, initial, strict=True):
            growth.initial = max(growth.initial, units)

    def ready_for(self, read_units: int, write_units: int, now: int) -> int:
        """When there would be the partitions that these provisioned units need, were they prepared for now.
        `now` if they are there, or nothing is enforced."""
        if not self.config.enforce:
            return now
        return self._ready(
            "raise", (read_units, write_units), now, asks=self._is_raise((read_units, write_units))
        )

    def prepare(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """Begin the splits that a raise to these units needs, ahead of it. Where nothing is enforced they
        begin with the raise."""
        return self._raise_to((read_units, write_units), now) if self.config.enforce else []

    def set_provisioned(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """New provisioned rates take effect (UpdateTable has settled), also after a change of mode."""
        self.on_demand = False
        self.read_units, self.write_units = read_units, write_units
        self.max_read = self.max_write = None
        self.highest = (max(read_units, self.highest[0]), max(write_units, self.highest[1]))
        self.warm.reach(*self.highest)
        set_gates(self, now)
        return self._raise_to((read_units, write_units), now)

    def _is_raise(self, units: Units) -> bool:
        return units[0] > self.prepared[0] or units[1] > self.prepared[1]

    def _raise_to(self, units: Units, now: int) -> list[Event]:
        if not self._is_raise(units):
            return []
        self.prepared = (max(units[0], self.prepared[0]), max(units[1], self.prepared[1]))
        return self._grow("raise", units, now)

    def set_on_demand(self, now: int) -> list[Event]:
        """The resource has become an on-demand one (V106)."""
        self.on_demand = True
        self.read_units = self.write_units = 0
        self._start_growth()
        self.warm.reach(*(growth.initial for growth in self.growth))
        set_gates(self, now)
        return self._grow("on-demand", self.capacity(now), now)

    def set_maximum(self, max_read: int | None, max_write: int | None, now: int) -> None:
        """Configured maximum of an on-demand resource; None: no maximum."""
        self.max_read, self.max_write = max_read, max_write
        set_gates(self, now)

    def raise_warm(self, read_units: int, write_units: int, now: int, takes_ns: int) -> list[Event]:
        """Begin to raise warm throughput. It is there `takes_ns` after the partitions it needs, which begin
        to split now; where nothing is enforced, `takes_ns` from now, and they split then.

        Raises: ValueError for less than there is, or is being raised to.
        """
        units, enforced = (read_units, write_units), self.config.enforce
        self.warm.begin(*units, (self._ready("warm", units, now) if enforced else now) + takes_ns)
        return self._grow("warm", units, now) if enforced else []

    def reach_warm(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """Warm throughput has been raised to at least this."""
        self.warm.reach(read_units, write_units)
        for growth, units in zip(self.growth, (read_units, write_units), strict=True):
            growth.initial = max(growth.initial, units)
        reached = self.capacity(now) if self.on_demand else (self.warm.read_units, self.warm.write_units)
        return self._grow("warm", reached, now)

    # --- Topology -----------------------------------------------------------------------------

    def _attach(self) -> None:
        self.reads.lows = self.writes.lows = self.partitions.lows
        self.reads.buckets[:] = [part.reads for part in self.partitions.partitions]
        self.writes.buckets[:] = [part.writes for part in self.partitions.partitions]

    def capacity(self, now: int) -> tuple[int, int]:
        """What an on-demand resource serves per second, reads and writes."""
        return self.growth[0].capacity(now), self.growth[1].capacity(now)

    def _grow(self, reason: SplitReason, units: Units, now: int) -> list[Event]:
        """Split for throughput, as far as it is needed; after the running splits if there are any."""
        self._wanted[reason] = units
        return self._begin_wanted(now)

    def _begin_wanted(self, now: int) -> list[Event]:
        events: list[Event] = []
        while self._wanted and not self.splitting.pending:
            reason = next(iter(self._wanted))
            plan = topology.plan_for(reason, self.partitions, self._wanted.pop(reason), self.config)
            events += [self.splitting.start(part, cuts, reason, now) for part, cuts in plan]
        return events

    def _ready(self, reason: SplitReason, units: Units, now: int, *, asks: bool = True) -> int:
        """When partitions for these units would be there; `asks`: if `_grow` were asked for them now."""
        moments = self._coming(now, {**self._wanted, **({reason: units} if asks else {})})
        for moment, count in moments:
            if topology.count_for(reason, count, units, self.config) == count:
                return moment
        return moment

    def _coming(self, now: int, wanted: Mapping[SplitReason, Units]) -> Iterator[tuple[int, int]]:
        """How many partitions there will be, and from when on: now, as splits end, and as those that wait
        for these end."""
        count = len(self.partitions)
        yield now, count
        for pending in self.splitting.pending:
            now, count = max(now, pending.ready_ns), count + len(pending.cuts)
            yield now, count
        for reason, units in wanted.items():
            needed = topology.count_for(reason, count, units, self.config)
            if needed > count:
                now, count = now + self.splitting.duration_ns(reason), needed
                yield now, count

    @property
    def _promised(self) -> bool:
        """Whether splits are waited for that are to be done at a time which was told: no other begins."""
        return "raise" in self._wanted or "warm" in self._wanted

    def split_by_size(self, identity: str, sizes: topology.SizeMeasurement, now: int) -> list[Event]:
        """Answer a SplitDue: cut the partition at its byte median, or say why that cannot be. Nothing, if the
        sizes finds that it is not full."""
        part = self.partitions.by_id(identity)
        if part is None or part.state != "active" or self._promised:
            return []
        plan = topology.plan_size_split(
            part,
            sizes,
            full_bytes=self.config.partition_bytes_max,
            inside_collections=not self.local_indexes,
        )
        if plan is None:
            part.cooldown_until_ns = now
            return []
        part.cooldown_until_ns = now + self.config.heat_cooldown_s * SECOND_NS
        if isinstance(plan, str):
            return [self.splitting.refuse(SplitRefused(now, self.arn, part.id, "size", plan))]
        return [self.splitting.start(part, [plan.cut], "size", now, contents=plan.contents)]

    def _finish_splits(self, now: int) -> list[Event]:
        self._book()
        events: list[Event] = []
        for event, parent, children in self.splitting.finish(now):
            events.append(event)
            for limiter, pick in ((self.reads, _reads_of), (self.writes, _writes_of)):
                divide_share(pick(parent), [pick(child) for child in children], event.at_ns)
                limiter.buckets[:] = [pick(part) for part in self.partitions.partitions]
        return events + self._begin_wanted(events[-1].at_ns) if events else []

    def set_partitions(self, count: int, now: int) -> list[Event]:
        """Split until there are so many partitions, at once (admin, planner, tests). Splits under way that
        are in the way end now."""
        events: list[Event] = []
        while self.splitting.pending and count > len(self.partitions):
            self.splitting.hurry(now)
            events += self._finish_splits(now)
        plan = topology.plan_widest_first(self.partitions, count)
        events += [
            self.splitting.start(part, cuts, "admin", now) for part, cuts in plan if part.state == "active"
        ]
        return events + self._finish_splits(now)

    def grow(self, place: bytes, size_bytes: int, items: int) -> None:
        """The data at a place has grown, or shrunk, by this much (item bytes without overhead)."""
        part = self._partitions.find(place)
        part.bytes += size_bytes
        part.items += items

    def reconcile(self, size_bytes: int, items: int) -> bool:
        """The partitions hold this much in sum: item bytes without overhead, items. Whether they were said to
        hold something else."""
        return estimates.reconcile(self._partitions, size_bytes, items)

    def next_estimated(self) -> Partition | None:
        """A partition that is to be measured, for its contents were divided without looking; or None."""
        return estimates.next_estimated(self._partitions)

    def measured(self, identity: str, held: Contents) -> None:
        """The rows of a partition were measured: that is what it holds. Its neighbours, whose contents were
        divided with its own, hold the rest. Nothing, if it was split meanwhile."""
        part = self._partitions.by_id(identity)
        if part is not None:
            estimates.correct(self._partitions, part, held)

    def set_previous_peak(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """Pretend that so much was once consumed (admin, planner, tests)."""
        for growth, units in zip(self.growth, (read_units, write_units), strict=True):
            growth.previous = units * UNIT
        self.warm.reach(*self.capacity(now))
        return self._grow("on-demand", self.capacity(now), now) if self.on_demand else []

    # --- Time ---------------------------------------------------------------------------------

    @property
    def due(self) -> int:
        """When `advance` has something to do."""
        due = self._next_step
        if self.splitting.pending:
            due = min(due, self.splitting.pending[0].ready_ns)
        return due if self.warm.target is None else min(due, self.warm.ready_ns)

    def next_full(self, but: Container[str]) -> tuple[int, list[str]] | None:
        """When there is next something to measure if nothing is written: the moment at which partitions that
        have outgrown their size are looked at, those left out that are named, and which; or the next end of a
        split, whose children may turn out to be full, and none. None if neither is to come."""
        looks: dict[int, list[str]] = {}
        if self.config.enforce and self.splitting.pending:
            looks[self.splitting.pending[0].ready_ns] = []
        for part in self.partitions.partitions if self.config.enforce else ():
            if part.bytes <= self.config.partition_bytes_max:
                continue
            if part.state == "active" and not self._promised and part.id not in but:
                cool = -(-part.cooldown_until_ns // STEP_NS) * STEP_NS
                looks.setdefault(max(self._next_step, cool), []).append(part.id)
        return min(looks.items(), default=None)

    @property
    def same_until(self) -> int:
        """Until when `advance` only counts: before that it neither changes rates nor finishes splits. What it
        may begin meanwhile takes a minute at least."""
        if self.config.heat_split:
            return self.due
        minute = -(-self._next_step // MINUTE_NS) * MINUTE_NS
        moments = [minute, *(pending.ready_ns for pending in self.splitting.pending[:1])]
        return min(moments) if self.warm.target is None else min(*moments, self.warm.ready_ns)

    def advance(self, now: int) -> list[Event]:
        """Let time pass until `now`: finish splits, take heat, end minutes. In order of time."""
        events: list[Event] = []
        while self.due <= now:
            events += self._finish_splits(min(self._next_step, now))
            if self.warm.target is not None and self.warm.finish(min(self._next_step, now)):
                events += self.reach_warm(self.warm.read_units, self.warm.write_units, self.warm.ready_ns)
            if self._next_step <= now:
                events += self._step(self._next_step)
                self._next_step += STEP_NS
                if now - self._next_step > UNSEEN_NS and self._quiet():
                    self._next_step = now - now % MINUTE_NS
        return events

    def _quiet(self) -> bool:
        """Whether steps without requests would change nothing."""
        return (
            not self.splitting.pending
            and self.warm.target is None
            and not any(self._minutes)
            and not any(self._events)
            and not (self.on_demand and any(growth.waiting for growth in self.growth))
            and (self.adaptive is None or self.adaptive.quiet)
            and not any(
                bucket.heat or bucket.minute_nano for limiter in self.limiters for bucket in limiter.buckets
            )
            and not any(part.hot_s for part in self.partitions.partitions)
        )

    def _step(self, at: int) -> list[Event]:
        """One step of ten seconds ends at `at`."""
        for position, limiter in enumerate(self.limiters):
            _add(limiter.tally, self._minutes[position])
            _add(limiter.events, self._events[position])
            limiter.tally.clear()
            limiter.events.clear()
        events: list[Event] = []
        config, promised = self.config, self._promised
        for part in list(self.partitions.partitions):
            reads, writes = part.reads, part.writes
            used = (_fold(reads) if reads.charged else 0, _fold(writes) if writes.charged else 0)
            if config.enforce:
                hot = heat.step(part, used, config)
                if not (hot or part.bytes > config.partition_bytes_max) or promised:
                    continue
                if part.state == "active" and at >= part.cooldown_until_ns:
                    events += self._look_at(part, at)
        if at % MINUTE_NS == 0:
            events += self._end_minute(at)
        return events

    def _look_at(self, part: Partition, at: int) -> list[Event]:
        """Split an active partition that is hot or full, if it can be."""
        config = self.config
        part.cooldown_until_ns = at + config.heat_cooldown_s * SECOND_NS
        if part.bytes > config.partition_bytes_max:
            return [SplitDue(at, self.arn, part.id, part.bytes)]
        cut = heat.choose_cut(part, config, composite=self.composite, local_indexes=self.local_indexes)
        if isinstance(cut, heat.Cut):
            return [self.splitting.start(part, cut.places, "heat", at, key=cut.key)]
        part.refused = cut.refusal.value
        key = cut.key.hex() if cut.key else None
        return [self.splitting.refuse(SplitRefused(at, self.arn, part.id, "heat", cut.refusal.value, key))]

    def _end_minute(self, at: int) -> list[Event]:
        events: list[Event] = []
        for position, limiter in enumerate(self.limiters):
            tally, causes = self._minutes[position], self._events[position]
            usage = MinuteUsage(at - MINUTE_NS, limiter.direction, dict(tally), dict(causes))
            tally.clear()
            causes.clear()
            if self.on_minute is not None:
                self.on_minute(usage)
            if self.on_demand:
                events += self._observe(position, limiter, usage, at)
            self._take_background(limiter, at)
        if self.on_demand and any(isinstance(event, CapacityGrown) for event in events):
            events += self._grow("on-demand", self.capacity(at), at)
        if self.adaptive is not None:
            events += map(self.splitting.note, self.adaptive.end_minute(at))
        for part in self.partitions.partitions:
            for bucket in (part.reads, part.writes):
                bucket.minute_nano = bucket.minute_count = bucket.minute_throttled = 0
        return events

    def _observe(self, position: int, limiter: Limiter, usage: MinuteUsage, at: int) -> list[Event]:
        growth = self.growth[position]
        growth.observe(usage.minute_ns, usage.half_units * HALF_UNIT // 60)
        units = growth.capacity(at)
        if units <= (self.warm.read_units, self.warm.write_units)[position]:
            return []
        self.warm.reach(*((units, 0) if position == 0 else (0, units)))
        return [self.splitting.note(CapacityGrown(at, self.arn, limiter.direction, units))]

    def _take_background(self, limiter: Limiter, at: int) -> None:
        """The service may spend banked units itself, unseen (section 2.5.5)."""
        percent = self.config.background_burst_percent
        if percent and self.chance is not None and limiter.table_bucket is not None:
            held = max(limiter.table_bucket.balance(at), 0)
            limiter.table_bucket.take(at, held * self.chance.randint(0, percent) // 100)

    # --- Looking in, and surviving ------------------------------------------------------------

    def take_over_counts(self, before: Resource) -> None:
        """Publish what another resource, whose place this one takes, has counted since its last minute."""
        for position, usage in enumerate(before.unpublished(0)):
            _add(usage.tally, self._minutes[position])
            _add(usage.events, self._events[position])

    def unpublished(self, minute_ns: int) -> list[MinuteUsage]:
        """What was counted since the last whole minute. It stays counted: for a resource that ends."""
        usages = []
        for position, limiter in enumerate(self.limiters):
            tally, causes = dict(self._minutes[position]), dict(self._events[position])
            _add(limiter.tally, tally)
            _add(limiter.events, causes)
            usages.append(MinuteUsage(minute_ns, limiter.direction, tally, causes))
        return usages

    def to_json(self) -> dict[str, Any]:
        """What a restart must not lose. Buckets are not in it: they begin anew (section 2.16)."""
        return {
            "highest": list(self.highest),
            "growth": [growth.to_json() for growth in self.growth],
            "warm": self.warm.to_json(),
            "map": self.partitions.to_json(),
            "splitting": self.splitting.to_json(),
            "prepared": list(self.prepared),
            "wanted": {reason: list(units) for reason, units in self._wanted.items()},
        }

    def _restore(self, stored: Mapping[str, Any], now: int) -> None:
        highest = stored["highest"]
        self.highest = (max(highest[0], self.read_units), max(highest[1], self.write_units))
        for growth, kept in zip(self.growth, stored["growth"], strict=True):
            growth.restore(kept)
        self.warm = Warm.from_json(stored["warm"])
        self.warm.reach(*self.highest)
        self._partitions = PartitionMap.from_json(stored["map"], self.config, now)
        self.splitting = Splitting(self.arn, self.config, self._partitions)
        self.splitting.restore(stored["splitting"])
        prepared = stored.get("prepared", self.highest)
        self.prepared = (max(prepared[0], self.highest[0]), max(prepared[1], self.highest[1]))
        if "wanted" in stored:
            self._wanted = {reason: (units[0], units[1]) for reason, units in stored["wanted"].items()}
        elif self.splitting.pending:  # a row of an earlier version, which did not say
            self._wanted = (
                {"on-demand": self.capacity(now)}
                if self.on_demand
                else {"raise": (self.read_units, self.write_units)}
            )


def _reads_of(part: Partition) -> PartitionBucket:
    return part.reads


def _writes_of(part: Partition) -> PartitionBucket:
    return part.writes


def _add(counts: Mapping[Counted, int], into: dict[Counted, int]) -> None:
    for counted, count in counts.items():
        into[counted] = into.get(counted, 0) + count


def _fold(bucket: PartitionBucket) -> int:
    """Take a cell's counts since the last step; returns nano-units."""
    bucket.minute_count += bucket.charged
    nano = bucket.spent * HALF_UNIT
    bucket.minute_nano += nano
    bucket.spent = bucket.charged = 0
    return nano
