"""A resource: a table or a global index with its rates, partitions and buckets.

A local index is not a resource: it lies in its table's partitions and consumes the table's units.

Requests pass `now` to the limiters (admission.py). Everything slow (heat, splits, growth, minutes) happens in
`advance(now)`, in steps of ten seconds at round times, and is returned as events. The owner of a resource
calls `advance` when `now >= due`; what was consumed before the call counts for the step that ends then. An
idle resource advances over any length of time in O(1).

Sources: capacity.md sections 2.3 to 2.8; what survives a restart: section 2.16.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from fractions import Fraction
from typing import Any

from faradisc.capacity import heat, partition_sizes, topology
from faradisc.capacity.adaptive import Adaptive
from faradisc.capacity.admission import Limiter
from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HALF_UNIT, MINUTE_NS, SECOND_NS, CapacityConfig, Chance
from faradisc.capacity.events import CapacityGrown, Event, SplitDue, SplitRefused
from faradisc.capacity.limiter_setup import divide_share, set_buckets
from faradisc.capacity.partitions import (
    Contents,
    Partition,
    PartitionBucket,
    PartitionMap,
    initial_partitions,
)
from faradisc.capacity.provisioning import ProvisioningState, Units, Warm
from faradisc.capacity.splitting import Splitting
from faradisc.capacity.throttle import ResourceKind
from faradisc.capacity.usage import MinuteUsage, UsageCounter

STEP_NS = heat.HEAT_STEP_S * SECOND_NS
_ALL = Fraction(1)
IDLE_SKIP_NS = 5 * MINUTE_NS
"""An idle resource that is further behind skips to the last whole minute."""


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
        is_filled: bool = True,
        chance: Chance | None = None,
        account_quotas: tuple[Bucket, Bucket] | None = None,
        on_minute: Callable[[MinuteUsage], None] | None = None,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        """`partitions` overrides the initial count; `is_filled` is as in `set_filled`;
        `stored` is what `to_json` returned before a restart."""
        self.arn = arn
        self.config = config
        self.composite = composite
        self.local_indexes = local_indexes
        self.chance = chance
        self.on_minute = on_minute
        self._account_quotas = account_quotas
        self.state = ProvisioningState.new(
            config, (read_units, write_units), on_demand=on_demand, maximum=(max_read, max_write)
        )
        eventual = HALF_UNIT * config.eventual_read_factor[1] // config.eventual_read_factor[0]
        self.reads = Limiter(arn, kind, "R", eventual)
        self.writes = Limiter(arn, kind, "W", HALF_UNIT)
        self._usage = UsageCounter(self.limiters)
        self.set_filled = self._usage.set_filled
        self.set_filled(is_filled)
        self._next_step = now - now % STEP_NS + STEP_NS
        delay_s = config.adaptive_delay_s
        self.adaptive = Adaptive(delay_s, chance) if delay_s is not None else None
        self.shares = [_ALL, _ALL]
        """This process's parts of the rates of reads and writes; the others admit the rest."""
        self.leads = True
        """Whether this process splits partitions for what was consumed; else another one does."""
        if stored is None:
            self._partitions = PartitionMap(config, partitions or self._initial_partitions(), now)
            self.splitting = Splitting(arn, config, self._partitions)
        else:
            self._restore(stored, now)
        self.reads.lows = self.writes.lows = self._partitions.lows
        self._attach_buckets()
        self._set_buckets(now, initial=True)

    # --- Settings -----------------------------------------------------------------------------

    @property
    def on_demand(self) -> bool:
        return self.state.on_demand

    @property
    def read_units(self) -> int:
        return self.state.read_units

    @property
    def write_units(self) -> int:
        return self.state.write_units

    @property
    def warm(self) -> Warm:
        return self.state.warm

    @property
    def limiters(self) -> tuple[Limiter, Limiter]:
        return self.reads, self.writes

    @property
    def partitions(self) -> PartitionMap:
        """The partitions, after all charges on credit are booked."""
        self.reads.book()
        self.writes.book()
        return self._partitions

    def _initial_partitions(self) -> int:
        if self.on_demand:
            return topology.on_demand_partitions(*self.warm.units)
        return initial_partitions(*self.state.rates, self.config)

    def _set_buckets(self, now: int, *, initial: bool = False) -> None:
        set_buckets(self.limiters, self.state, self.config, self._account_quotas, now, initial=initial)

    def ready_for(self, read_units: int, write_units: int, now: int) -> int:
        """Returns when there would be enough partitions for these provisioned units, if they were prepared
        now. `now` if there are enough, or nothing is enforced."""
        units = (read_units, write_units)
        if not self.config.enforce:
            return now
        return self.splitting.ready_ns("raise", units, now, requested=self.state.exceeds_highest(units))

    def prepare(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """Begins the splits for a raise to these units ahead of it. Where nothing is enforced they begin with
        the raise."""
        return self._raise_to((read_units, write_units), now) if self.config.enforce else []

    def set_provisioned(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """Sets provisioned rates, also after a change of mode."""
        units = (read_units, write_units)
        self.state.set_provisioned(units)
        self._set_buckets(now)
        return self._raise_to(units, now)

    def _raise_to(self, units: Units, now: int) -> list[Event]:
        return self.splitting.grow("raise", units, now) if self.state.raise_highest(units) else []

    def set_on_demand(self, now: int) -> list[Event]:
        """Switches to on-demand mode (V106)."""
        self.state.set_on_demand()
        self._set_buckets(now)
        return self.splitting.grow("on-demand", self.capacity(now), now)

    def set_maximum(self, max_read: int | None, max_write: int | None, now: int) -> None:
        """Sets the configured maximum of an on-demand resource; None: no maximum."""
        self.state.max_read, self.state.max_write = max_read, max_write
        self._set_buckets(now)

    def raise_warm(self, read_units: int, write_units: int, now: int, takes_ns: int) -> list[Event]:
        """Begins to raise warm throughput. The raise ends `takes_ns` after the partitions it needs are ready;
        they begin to split now. Where nothing is enforced it ends `takes_ns` from now, and they split then.

        Raises ValueError for less than the present warm throughput, or than that of a running raise.
        """
        units, enforced = (read_units, write_units), self.config.enforce
        ready_ns = self.splitting.ready_ns("warm", units, now) if enforced else now
        self.warm.begin(*units, ready_ns + takes_ns)
        return self.splitting.grow("warm", units, now) if enforced else []

    def reach_warm(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """Raises warm throughput to at least these units."""
        self.warm.reach(read_units, write_units)
        return self.splitting.grow("warm", self.capacity(now), now)

    def set_previous_peak(self, read_units: int, write_units: int, now: int) -> list[Event]:
        """Grows as after a peak of these units (admin, planner, tests)."""
        self.state.set_previous_peak((read_units, write_units))
        return self.splitting.grow("on-demand", self.capacity(now), now) if self.on_demand else []

    def capacity(self, now: int) -> Units:
        """Returns what an on-demand resource serves per second, reads and writes; else its warm
        throughput."""
        return self.state.capacity(now) if self.on_demand else self.warm.units

    # --- Partitions ---------------------------------------------------------------------------

    def _attach_buckets(self) -> None:
        self.reads.buckets[:] = [part.reads for part in self._partitions.partitions]
        self.writes.buckets[:] = [part.writes for part in self._partitions.partitions]

    def _finish_splits(self, now: int) -> list[Event]:
        for limiter in self.limiters:
            limiter.book()
        events: list[Event] = []
        for event, parent, children in self.splitting.finish(now):
            events.append(event)
            for position, bucket in enumerate(parent.buckets):
                divide_share(bucket, [child.buckets[position] for child in children], event.at_ns)
            self._attach_buckets()
        return events + self.splitting.begin_waiting(events[-1].at_ns) if events else []

    def set_partitions(self, count: int, now: int) -> list[Event]:
        """Splits at once until there are `count` partitions (admin, planner, tests). Splits under way end now
        if they are in the way."""
        events: list[Event] = []
        while self.splitting.pending and count > len(self.partitions):
            self.splitting.hurry(now)
            events += self._finish_splits(now)
        plan = topology.plan_widest_first(self.partitions, count)
        events += [
            self.splitting.start(part, cuts, "admin", now) for part, cuts in plan if part.state == "active"
        ]
        return events + self._finish_splits(now)

    def grow(self, key: bytes, size_bytes: int, items: int) -> None:
        """Counts item bytes (without overhead) and items that are added at a key, or removed."""
        part = self._partitions.find(key)
        part.bytes += size_bytes
        part.items += items

    def reconcile(self, size_bytes: int, items: int) -> None:
        """Makes the partitions hold this much in sum: item bytes without overhead, items."""
        partition_sizes.reconcile(self._partitions, size_bytes, items)

    def split_by_size(
        self,
        identity: str,
        sizes: topology.SizeMeasurement,
        now: int,
        *,
        written: Contents = Contents(0, 0),  # noqa: B008 - it is frozen
    ) -> list[Event]:
        """Answers a SplitDue with a measurement: sets what the partition holds, and cuts it at its byte
        median if it is full. `written`: what was written since the measurement began."""
        part = self._partitions.by_id(identity)
        if part is None:
            return []
        found = sizes.measure(part.low, part.high)
        held = Contents(found.bytes + written.bytes, found.items + written.items)
        partition_sizes.set_measured(self._partitions, part, held)
        if part.state != "active" or self.splitting.promised:
            return []
        if part.bytes <= self.config.partition_bytes_max:
            part.cooldown_until_ns = now
            return []
        part.cooldown_until_ns = now + self.config.heat_cooldown_s * SECOND_NS
        plan = topology.plan_size_split(part, sizes, inside_collections=not self.local_indexes)
        if isinstance(plan, str):
            return [self.splitting.record(SplitRefused(now, self.arn, part.id, "size", plan))]
        return [self.splitting.start(part, [plan.cut], "size", now, contents=plan.contents)]

    # --- Time ---------------------------------------------------------------------------------

    @property
    def due(self) -> int:
        """When `advance` has something to do."""
        due = self._next_step
        if self.splitting.pending:
            due = min(due, self.splitting.pending[0].ready_ns)
        return due if self.warm.target is None else min(due, self.warm.ready_ns)

    def next_full(self, but: Container[str]) -> tuple[int, list[str]] | None:
        """Returns when the next partitions may turn out to be full if nothing is written, and their ids
        without those in `but`; or the next end of a split with no ids. None if neither will happen."""
        if not self.config.enforce:
            return None
        found: dict[int, list[str]] = {}
        if self.splitting.pending:
            found[self.splitting.pending[0].ready_ns] = []
        for part in self.partitions.partitions:
            if part.most_bytes <= self.config.partition_bytes_max or part.id in but:
                continue
            if part.state == "active" and not self.splitting.promised:
                cooled = -(-part.cooldown_until_ns // STEP_NS) * STEP_NS
                found.setdefault(max(self._next_step, cooled), []).append(part.id)
        return min(found.items(), default=None)

    def advance(self, now: int) -> list[Event]:
        """Lets time pass until `now`. Returns what happened, in order of time."""
        events: list[Event] = []
        while self.due <= now:
            events += self._finish_splits(min(self._next_step, now))
            if self.warm.target is not None and self.warm.finish(min(self._next_step, now)):
                events += self.reach_warm(*self.warm.units, self.warm.ready_ns)
            if self._next_step <= now:
                events += self._step(self._next_step)
                self._next_step += STEP_NS
                if now - self._next_step > IDLE_SKIP_NS and self._idle():
                    self._next_step = now - now % MINUTE_NS
        return events

    def _idle(self) -> bool:
        """Returns whether steps without requests change nothing."""
        return (
            not self.splitting.pending
            and self.warm.target is None
            and self._usage.empty
            and not (self.on_demand and any(peaks.waiting for peaks in self.state.peaks))
            and (self.adaptive is None or self.adaptive.quiet)
            and not any(
                bucket.heat or bucket.minute_nano for limiter in self.limiters for bucket in limiter.buckets
            )
            and not any(part.hot_s for part in self.partitions.partitions)
        )

    def _step(self, at: int) -> list[Event]:
        """Ends a step of ten seconds."""
        self._usage.fold()
        events: list[Event] = []
        config, promised = self.config, self.splitting.promised
        for part in list(self.partitions.partitions):
            reads, writes = part.reads, part.writes
            used = (_fold(reads) if reads.charged else 0, _fold(writes) if writes.charged else 0)
            if config.enforce:
                hot = heat.step(part, used, config)
                if not hot and part.bytes + part.unknown_bytes <= config.partition_bytes_max:
                    continue
                if self.leads and not promised and part.state == "active" and at >= part.cooldown_until_ns:
                    events += self._examine(part, at, hot=hot)
        if at % MINUTE_NS == 0:
            events += self._end_minute(at)
        return events

    def _examine(self, part: Partition, at: int, *, hot: bool) -> list[Event]:
        """Asks for a measurement of a partition that may be full, or splits one that is hot."""
        config = self.config
        events: list[Event] = []
        part.cooldown_until_ns = at + config.heat_cooldown_s * SECOND_NS
        if part.most_bytes > config.partition_bytes_max:
            events.append(SplitDue(at, self.arn, part.id, part.bytes))
        if not hot or part.bytes > config.partition_bytes_max:
            return events
        cut = heat.choose_cut(part, config, composite=self.composite, local_indexes=self.local_indexes)
        if isinstance(cut, heat.Cut):
            return [*events, self.splitting.start(part, cut.keys, "heat", at, key=cut.key)]
        reason = part.not_split_because = cut.reason.value
        key = cut.key.hex() if cut.key else None
        refused = SplitRefused(at, self.arn, part.id, "heat", reason, key)
        return [*events, self.splitting.record(refused)]

    def _end_minute(self, at: int) -> list[Event]:
        events: list[Event] = []
        for position, usage in enumerate(self._usage.end_minute(at - MINUTE_NS)):
            if self.on_minute is not None:
                self.on_minute(usage)
            if self.on_demand and self.leads:
                nano_per_s = int(usage.half_units * HALF_UNIT / self.shares[position] / 60)
                units = self.state.end_minute(position, usage.minute_ns, nano_per_s, at)
                if units is not None:
                    direction = self.limiters[position].direction
                    events.append(self.splitting.record(CapacityGrown(at, self.arn, direction, units)))
            self._take_background(self.limiters[position], at)
        if events:
            events += self.splitting.grow("on-demand", self.capacity(at), at)
        if self.adaptive is not None and not self.on_demand:
            boosts = self.adaptive.end_minute(self.limiters, self.state.rates, at)
            events += map(self.splitting.record, boosts)
        for part in self.partitions.partitions:
            for bucket in part.buckets:
                bucket.minute_nano = bucket.minute_count = bucket.minute_throttled = 0
        return events

    def _take_background(self, limiter: Limiter, at: int) -> None:
        """Takes a random part of the burst balance, as the service may for its own work (section 2.5.5)."""
        percent = self.config.background_burst_percent
        if percent and self.chance is not None and limiter.table_bucket is not None:
            held = max(limiter.table_bucket.balance(at), 0)
            limiter.table_bucket.take(at, held * self.chance.randint(0, percent) // 100)

    # --- Persistence --------------------------------------------------------------------------

    def take_over_counts(self, before: Resource) -> None:
        """Takes over what a resource that this one replaces has counted and not published."""
        self._usage.take_over(before.unpublished(0))

    def unpublished(self, minute_ns: int) -> list[MinuteUsage]:
        """Returns what was counted since the last whole minute, without clearing it."""
        return self._usage.unpublished(minute_ns)

    def to_json(self) -> dict[str, Any]:
        """Returns what a restart must not lose. Buckets are not part of it: they start full (section
        2.16)."""
        return {
            **self.state.to_json(),
            "map": self.partitions.to_json(),
            "splitting": self.splitting.to_json(),
            "wanted": {reason: list(units) for reason, units in self.splitting.waiting.items()},
        }

    def take_over(self, stored: Mapping[str, Any], now: int) -> None:
        """Takes over partitions, peaks and warm throughput that another process has stored. What partitions
        have left stays."""
        before = {part.id: part for part in self.partitions.partitions}
        self._restore(stored, now)
        for part in self._partitions.partitions:
            if part.id in before:
                part.continue_from(before[part.id], now)
        self.reads.lows = self.writes.lows = self._partitions.lows
        self._attach_buckets()
        self._set_buckets(now)

    def totals(self) -> list[tuple[int, int]]:
        """Returns half units charged and throttle events since the beginning, reads first."""
        return self._usage.totals()

    def _restore(self, stored: Mapping[str, Any], now: int) -> None:
        self.state.restore(stored)
        self._partitions = PartitionMap.from_json(stored["map"], self.config, now)
        self.splitting = Splitting(self.arn, self.config, self._partitions)
        self.splitting.restore(stored["splitting"])
        if "wanted" in stored:
            waiting = {reason: (units[0], units[1]) for reason, units in stored["wanted"].items()}
            self.splitting.waiting = waiting
        elif self.splitting.pending:  # a row of an earlier version
            self.splitting.waiting = (
                {"on-demand": self.capacity(now)} if self.on_demand else {"raise": self.state.rates}
            )


def _fold(bucket: PartitionBucket) -> int:
    """Takes over a bucket's counts since the last step. Returns nano-units."""
    bucket.minute_count += bucket.charged
    nano = bucket.spent * HALF_UNIT
    bucket.minute_nano += nano
    bucket.spent = bucket.charged = 0
    return nano
