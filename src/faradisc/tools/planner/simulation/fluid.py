"""The fluid engine: steps of one second over expected numbers of requests, with arrays over partitions.

In each second, for each direction (the reads or writes of a table or index):

1. supply    each bucket has its balance and one second of its rate
2. fractions each partition admits the fraction min(supply / load, w) of its requests, where w is the fraction
             that the direction's own limits (the table's bucket, a maximum, a quota) admit
3. serve     a request is admitted when all its directions admit it; these are taken to be independent
4. retry     throttled requests return in later seconds, by the retry policy of their clients

A request of a table with indexes loads a direction only as far as the other directions admit it, so the
directions of a table are solved in turns until their fractions rest. Numbers of requests are real numbers
here; the records and the core get whole ones, and remainders are carried into the next second.

Every request is admitted, waits or is lost. The engine does not know the order of the requests within a
second. Throttled attempts are therefore estimates, rough ones where clients retry after fixed times.

Source: capacity.md section 3.2.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.partitions import PartitionBucket
from faradisc.capacity.throttle import Cause
from faradisc.tools.planner.simulation.partition_keys import PartitionKeys
from faradisc.tools.planner.simulation.recorder import DirectionRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.key_distributions import ONE, KeyModel, KeyShape
from faradisc.tools.planner.workload.streams import Arrivals, Flow, IndexCharge, StreamWorkload

Array = NDArray[np.float64]
ROUNDS_MAX = 60
"""Directions are solved in no more rounds than this."""
PRECISION = 5e-4
"""Fractions rest when none changes by more than this."""


class DirectionState:
    """The supply and the load of one direction, in nano-units, by partition."""

    def __init__(self, record: DirectionRecord) -> None:
        self.record, self.limiter = record, record.limiter
        self.demands: list[Demand] = []
        self.buckets: list[PartitionBucket] = []
        self.bounds: list[tuple[bytes, bytes | None]] = []
        self.admits = np.ones(0)
        """The fraction of its requests that each partition admits, as far as this direction decides."""
        self.whole_admits = 1.0
        """The fraction that the limits of the whole direction admit."""
        self._throttled = np.zeros(0)
        self._throttled_whole = self._offered_half = self._busiest_half = 0.0
        self._busiest: list[tuple[KeyShape | None, float]] = []
        self.follow_splits()

    def follow_splits(self) -> None:
        """Adopts the present partitions. Children of a split take over what their parent had, in equal
        parts."""
        old, buckets = self.buckets, list(self.limiter.buckets)
        if buckets == old:
            return
        for demand in self.demands:
            demand.record_keys()
        self.buckets = buckets
        self.bounds = [(bucket.partition.low, bucket.partition.high) for bucket in buckets]
        self.admits = np.ones(len(buckets))
        parts = np.zeros((len(old), len(buckets)))
        for number, bucket in enumerate(old):
            children = [n for n, (low, _) in enumerate(self.bounds) if bucket.partition.holds(low)]
            mine = [buckets.index(bucket)] if bucket in buckets else children
            parts[number, mine] = 1 / len(mine)
        self._throttled = self._throttled @ parts if old else np.zeros(len(buckets))
        for demand in self.demands:
            demand.follow_split(parts)

    def weights(self, shape: KeyShape) -> Array:
        """Returns the fraction of a shape's requests that each partition gets."""
        weights: Array = np.array([shape.weight_between(*bounds) for bounds in self.bounds], dtype=float)
        weights /= weights.sum()
        return weights

    def measure(self, now: int) -> bool:
        """Adds up the supply and the load of this second. Returns whether the supply falls short."""
        self._supply, self._cause, self.debt = inf, Cause.PROVISIONED, inf
        for cause, bucket in self.limits():
            supply = _supply(bucket, now)
            if supply < self._supply:
                self._supply, self._cause = supply, cause
            # A bucket forgives what a request costs beyond its debt limit.
            self.debt = min(self.debt, bucket.debt / bucket.scale + max(bucket.balance(now), 0))
        self._supplies = np.array([_supply(bucket, now) for bucket in self.buckets])
        load, whole = np.zeros(len(self.buckets)), 0.0
        for demand in self.demands:
            requests = demand.present.sum(0)
            load += requests * demand.partition_cost
            whole += float(requests.sum()) * min(demand.cost, self.debt)
        short = whole > self._supply or bool((load > self._supplies).any())
        if not short:
            self.admits, self.whole_admits = np.ones(len(self.buckets)), 1.0
        return short

    def limits(self) -> list[tuple[Cause, Bucket]]:
        """Returns the limits of the whole direction, in the order in which they are checked."""
        limiter = self.limiter
        limits = [(Cause.ACCOUNT, quota) for quota in limiter.quotas]
        others = ((Cause.MAX_ON_DEMAND, limiter.maximum), (Cause.PROVISIONED, limiter.table_bucket))
        return limits + [(cause, bucket) for cause, bucket in others if bucket is not None]

    def solve(self) -> float:
        """Sets the fractions that this direction admits of the requests that the other directions admit.
        Returns the greatest change."""
        load, whole = np.zeros(len(self.buckets)), np.zeros(len(self.buckets))
        for demand in self.demands:
            load += demand.reaching * demand.partition_cost
            whole += demand.reaching * min(demand.cost, self.debt)
        fractions = (self._supplies > 0).astype(float)
        np.divide(self._supplies, load, out=fractions, where=load > 0)
        fractions = np.minimum(np.maximum(fractions, 0), 1)
        self.whole_admits = 1.0
        if whole @ fractions > self._supply:
            self.whole_admits = _common_limit(fractions, whole, self._supply)
        admits = np.minimum(fractions, self.whole_admits)
        change = float(np.abs(admits - self.admits).max())
        self.admits = admits
        return change

    def record_demand(self) -> None:
        """Counts the half units of this second that were asked for, and remembers the busiest second."""
        half = sum(float(demand.present.sum()) * demand.half_units for demand in self.demands)
        self._offered_half += half
        whole, self._offered_half = divmod(self._offered_half, 1)
        self.record.second_offered += int(whole)
        first_attempts = sum(demand.arrived * demand.half_units for demand in self.demands)
        if first_attempts > self._busiest_half:
            self._busiest_half = first_attempts
            self._busiest = [(demand.shape, demand.arrived * demand.half_units) for demand in self.demands]

    def record_throttles(self) -> None:
        """Counts the throttle events of this second: first those of the whole direction, then those of
        partitions."""
        record, limiter = self.record, self.limiter
        asked = np.zeros(len(self.buckets))
        for demand in self.demands:
            requests = demand.present.sum(0)
            asked += requests
            demand.throttled += requests * (1 - self.admits)
        self._throttled_whole += float(asked.sum()) * (1 - self.whole_admits)
        whole, self._throttled_whole = divmod(self._throttled_whole, 1)
        if whole:
            record.throttle(self._cause, int(whole))
            limiter.events[self._cause] += int(whole)
        self._throttled += asked * (self.whole_admits - self.admits)
        for number in np.nonzero(self._throttled >= 1)[0].tolist():
            count = int(self._throttled[number])
            self._throttled[number] -= count
            bucket = self.buckets[number]
            record.throttle(Cause.KEY_RANGE, count, bucket)
            limiter.events[Cause.KEY_RANGE] += count
            bucket.throttled += count
            bucket.throttled_total += count

    def record_peaks(self) -> None:
        """Records what each key was asked for in the busiest second of the present shapes."""
        peaks: dict[str, float] = {}
        for shape, half_units in self._busiest:
            for key in shape.keys if shape is not None else ():
                peaks[key.name] = peaks.get(key.name, 0) + half_units * key.weight / ONE
        for name, peak in peaks.items():
            self.record.keys.add_peak(name, round(peak))
        self._busiest, self._busiest_half = [], 0.0


def _supply(bucket: Bucket | PartitionBucket, now: int) -> float:
    """Returns what a bucket has in this second, in nano-units: its balance and one second of its rate. In the
    classic profile a partition has no more than its share of the table's."""
    supply = bucket.balance(now) + bucket.rate / bucket.scale * SECOND_NS
    share = bucket.share if isinstance(bucket, PartitionBucket) else None
    return supply if share is None else min(supply, _supply(share, now))


def _common_limit(fractions: Array, load: Array, supply: float) -> float:
    """Returns the number w with which the sum of load * min(fractions, w) is the supply, or 0."""
    order = np.argsort(fractions)
    fractions, load = fractions[order], load[order]
    below = np.concatenate(([0.0], np.cumsum(load * fractions)[:-1]))
    above = np.cumsum(load[::-1])[::-1]
    first = min(int(np.searchsorted(below + above * fractions, supply)), len(load) - 1)
    return max((supply - float(below[first])) / float(above[first]), 0.0) if above[first] > 0 else 1.0


class Demand:
    """The requests of one stream that one direction is asked for, by attempt and partition."""

    def __init__(
        self,
        charged: StreamWorkload | IndexCharge,
        keys: KeyModel,
        direction: DirectionState,
        ring: tuple[int, int],
    ) -> None:
        """`ring`: seconds of the ring of retries, and attempts."""
        self.direction, self.keys, self._charged = direction, keys, charged
        self.half_units = charged.half_units
        self.cost = self.partition_cost = charged.half_units * HALF_UNIT
        if charged.eventual:
            self.partition_cost = charged.half_units * direction.limiter.eventual_half
        partitions = len(direction.buckets)
        self.returning = np.zeros((*ring, partitions))
        """A ring by second: retries that are due then."""
        self.arriving = np.zeros((ring[1], partitions))
        """Requests of this second: first attempts, and retries of those throttled earlier."""
        self.present = self.arriving
        """These, and retries of requests that this second throttled."""
        self.reaching = np.zeros(partitions)
        """Those of them that the other directions of the stream admit."""
        self.throttled = np.zeros(partitions)
        """Throttled attempts that the keys were not charged with yet."""
        self.shape: KeyShape | None = None
        self.arrived = 0.0
        """First attempts of this second."""
        self._weights = np.zeros(partitions)
        self._asked = self._half_left = 0.0
        self._uncounted = np.zeros(partitions)
        self._keys: dict[int, PartitionKeys] = {}
        direction.demands.append(self)

    def follow_split(self, parts: Array) -> None:
        """`parts`: the part of each old partition that goes to each new one."""
        self.returning = self.returning @ parts
        self.present = self.arriving = self.arriving @ parts
        self._uncounted = self._uncounted @ parts
        self.throttled, self.reaching, self._weights = np.zeros((3, parts.shape[1]))
        if self.shape is not None:
            self._weights = self.direction.weights(self.shape)

    def begin_second(self, second: int, count: float, shape: KeyShape) -> None:
        """Collects the requests of a second: first attempts and retries."""
        if shape is not self.shape:
            self.record_keys()
            self.shape, self._weights, self._keys = shape, self.direction.weights(shape), {}
        slot = second % len(self.returning)
        self.present = self.arriving = self.returning[slot].copy()
        self.returning[slot] = 0
        self.arriving[0] += count * self._weights
        self.reaching = np.zeros(len(self._weights))
        self.arrived = count
        self._asked += count
        keys = self.direction.record.keys
        half, self._half_left = divmod(self._half_left + count * self.half_units, 1)
        keys.half_units += int(half)
        keys.load += int(count * self.partition_cost)

    def charge(self, admitted: Array, now: int, second: int) -> None:
        """Charges admitted requests, by partition."""
        direction, charged, half_units = self.direction, self._charged, self.half_units
        self._uncounted += admitted
        # Sums over partitions are rounded, so that the whole direction is exact within one request.
        sums = np.floor(np.maximum.accumulate(np.cumsum(self._uncounted)) + 1e-6)
        counts = np.diff(sums, prepend=0)
        self._uncounted -= counts
        total = int(counts.sum())
        if half_units:
            whole = int(float(admitted.sum()) * min(self.cost, direction.debt))
            for _, limit in direction.limits():
                limit.take(now, whole)
            direction.limiter.counts[half_units] += total
            direction.record.second_consumed += half_units * total
        for number in np.nonzero(admitted)[0].tolist():
            bucket, count = direction.buckets[number], int(counts[number])
            nano = int(admitted[number] * self.partition_cost)
            if half_units:
                bucket.take(now, nano)
                if bucket.share is not None:
                    bucket.share.take(now, int(admitted[number] * self.cost))
                bucket.spent += half_units * count
                bucket.charged += count
                direction.record.partition(bucket).half_units += half_units * count
                if bucket.watch is not None and self._weights[number]:
                    for location, fraction in self._keys_of(number).locations(second):
                        bucket.watch.add(location, int(nano * fraction))
            if charged.grows or charged.items:
                partition = bucket.partition
                partition.bytes = max(partition.bytes + charged.grows * count, 0)
                partition.items = max(partition.items + charged.items * count, 0)

    def _keys_of(self, number: int) -> PartitionKeys:
        if number not in self._keys:
            assert self.shape is not None
            self._keys[number] = PartitionKeys(self.shape, *self.direction.bounds[number])
        return self._keys[number]

    def record_keys(self) -> None:
        """Records the requests so far by key."""
        self.direction.record_peaks()
        keys = self.direction.record.keys
        for key in self.shape.keys if self.shape is not None and self.half_units else ():
            if count := round(self._asked * key.weight / ONE):
                keys.add(key.name, count, self.half_units)
        for number in np.nonzero((self.throttled >= 0.5) & (self._weights > 0))[0].tolist():
            for key, part in self._keys_of(number).heaviest:
                keys.throttle(key.name, round(self.throttled[number] * part))
        self._asked, self._keys = 0.0, {}
        self.throttled = np.zeros(len(self._weights))


class FlowState:
    """The requests of one stream: its demands, the table's first, and how throttled ones return."""

    def __init__(
        self, flow: Flow, stream: StreamWorkload, directions: dict[DirectionRecord, DirectionState]
    ) -> None:
        retries = flow.plan.retries
        self.attempts = attempts = retries.attempts
        later: dict[int, Array] = {}
        for attempt, returns in enumerate(retries.returns):
            for seconds, probability in returns:
                later.setdefault(seconds, np.zeros((attempts, 1)))[attempt] = probability
        self._at_once = later.pop(0, np.zeros((attempts, 1)))
        """By attempt: the fraction of throttled requests that returns within the second."""
        self._later = sorted(later.items())
        self._horizon_s = max(later, default=1)
        self._returns_at_once = bool(self._at_once.any())
        self._waits_until = -1
        """No retry is due in a later second than this."""
        ring = (self._horizon_s + 1, attempts)
        self.demands = [Demand(stream, flow.keys, directions[stream.record], ring)]
        self.demands += [
            Demand(index, index.keys, directions[index.record], ring) for index in stream.indexes
        ]
        self.tried, self.admitted = np.zeros(attempts), np.zeros(attempts)
        self.active = False
        """Whether there are requests in this second."""

    def begin_second(self, second: int, count: float, arrivals: Arrivals) -> None:
        """Collects the requests of a second."""
        was_active, self.active = self.active, count > 0 or second <= self._waits_until
        if not (was_active or self.active):
            return
        for number, demand in enumerate(self.demands):
            shape = demand.keys.shape(second, arrivals.first, arrivals.count) if number else arrivals.shape
            demand.begin_second(second, count, shape)

    def _admitted_elsewhere(self, attempts: slice) -> list[Array]:
        """Returns, by demand and attempt, the fraction of the requests that all other directions admit."""
        fractions = []
        for demand in self.demands:
            requests = demand.present[attempts]
            total = requests.sum(1)
            admitted = requests @ demand.direction.admits
            fractions.append(np.divide(admitted, total, out=np.ones(len(total)), where=total > 0))
        if len(fractions) == 1:
            return [np.ones_like(fractions[0])]
        numbers = range(len(fractions))
        return [np.prod([fractions[other] for other in numbers if other != own], axis=0) for own in numbers]

    def estimate(self) -> None:
        """Computes what reaches each direction. Retries within the second follow from the estimate before."""
        elsewhere = self._admitted_elsewhere(slice(None))
        for demand, fractions in zip(self.demands, elsewhere, strict=True):
            demand.reaching = fractions @ demand.present
            if self._returns_at_once:
                throttled = demand.present * (1 - fractions[:, None] * demand.direction.admits)
                demand.present = demand.arriving.copy()
                demand.present[1:] += (throttled * self._at_once)[:-1]

    def serve(self, now: int, second: int, *, short: bool) -> None:
        """Charges admitted requests, and schedules retries of the others. `short`: a direction throttles."""
        admitted = self._admit() if short else [demand.present for demand in self.demands]
        first = self.demands[0]
        self.tried += first.present.sum(1)
        self.admitted += admitted[0].sum(1)
        for demand, requests in zip(self.demands, admitted, strict=True):
            demand.charge(requests.sum(0), now, second)
        if not short:
            return
        self._waits_until = second + self._horizon_s
        for demand, requests in zip(self.demands, admitted, strict=True):
            throttled = (demand.present - requests)[:-1]
            for seconds, fractions in self._later:
                demand.returning[(second + seconds) % len(demand.returning), 1:] += throttled * fractions[:-1]

    def _admit(self) -> list[Array]:
        """Returns the admitted requests of each demand. Attempts come in their order, as one that returns
        within the second is the next attempt."""
        at_a_time = 1 if self._returns_at_once else self.attempts
        for demand in self.demands:
            demand.present = demand.arriving.copy()
        admitted = [np.zeros_like(demand.present) for demand in self.demands]
        for attempt in range(0, self.attempts, at_a_time):
            attempts = slice(attempt, attempt + at_a_time)
            elsewhere = self._admitted_elsewhere(attempts)
            for demand, mine, fractions in zip(self.demands, admitted, elsewhere, strict=True):
                requests = demand.present[attempts]
                mine[attempts] = requests * fractions[:, None] * demand.direction.admits
                if at_a_time == 1 and attempt + 1 < self.attempts:
                    demand.present[attempt + 1] += (requests - mine[attempts])[0] * self._at_once[attempt]
        return admitted


class FlowGroup:
    """Directions that share requests: the writes of a table and its indexes, or the reads of one resource."""

    def __init__(self) -> None:
        self.directions: list[DirectionState] = []
        self.streams: list[FlowState] = []

    def run_second(self, now: int, second: int) -> None:
        streams = [stream for stream in self.streams if stream.active]
        if not streams:
            return
        short = sum(direction.measure(now) for direction in self.directions) > 0
        if short:
            self._solve(streams)
        for stream in streams:
            stream.serve(now, second, short=short)
        for direction in self.directions:
            direction.record_demand()
            if short:
                direction.record_throttles()

    def _solve(self, streams: list[FlowState]) -> None:
        """Solves the directions in turns until their fractions rest."""
        for _ in range(ROUNDS_MAX):
            change = 0.0
            for direction in self.directions:
                for stream in streams:
                    stream.estimate()
                change = max(change, direction.solve())
            if change < PRECISION:
                return


class FluidEngine:
    """Runs the flows of a plan against virtual tables."""

    def __init__(self, tables: VirtualTables, recorder: RunRecorder, flows: list[Flow]) -> None:
        self._tables, self._recorder = tables, recorder
        self.directions: dict[DirectionRecord, DirectionState] = {}
        self.flows: list[tuple[Flow, list[FlowState]]] = []
        groups: dict[object, FlowGroup] = {}
        for flow in flows:
            record = flow.streams[0].record
            group = groups.setdefault(record.virtual.table.name if record.writes else record, FlowGroup())
            for stream in flow.streams:
                for record in (stream.record, *(index.record for index in stream.indexes)):
                    if record not in self.directions:
                        self.directions[record] = DirectionState(record)
                        group.directions.append(self.directions[record])
            streams = [FlowState(flow, stream, self.directions) for stream in flow.streams]
            group.streams += streams
            self.flows.append((flow, streams))
        self._groups = list(groups.values())

    def run(self, duration_s: int, *, drawn: bool = False) -> int:
        """Runs the plan. `drawn`: with random numbers of requests, not their means. Returns the seconds."""
        tables = self._tables
        for second in range(duration_s):
            now = tables.start_ns + second * SECOND_NS
            if now >= tables.due:
                tables.advance(now)
                for direction in self.directions.values():
                    direction.follow_splits()
            for flow, streams in self.flows:
                counts = flow.rates(second)
                if drawn:
                    counts = [float(len(moments)) for moments in flow.draw(counts)]
                arrivals = flow.begin_second(second, counts)
                for stream, count in zip(streams, counts, strict=True):
                    stream.begin_second(second, count, arrivals)
            for group in self._groups:
                group.run_second(now, second)
            self._recorder.end_second(second)
        tables.advance(tables.start_ns + duration_s * SECOND_NS - 1)
        self._finish()
        return duration_s

    def _finish(self) -> None:
        """Fills the records that count requests. Those that wait for a retry are lost."""
        for demand in [each for direction in self.directions.values() for each in direction.demands]:
            demand.record_keys()
        for flow, streams in self.flows:
            record, waits_ms = flow.record, flow.plan.retries.mean_waits_ms
            admitted = np.sum([stream.admitted for stream in streams], axis=0)
            # Sums are rounded, so that the counts of the attempts add up.
            counts = np.diff(np.rint(np.cumsum(admitted)), prepend=0).astype(int).tolist()
            for attempt, count in enumerate(counts):
                if count:
                    record.at_attempt[attempt + 1] += count
                    record.waits[waits_ms[attempt]] += count
            record.admitted = sum(counts)
            record.lost = record.offered - record.admitted
            record.attempts = round(sum(float(stream.tried.sum()) for stream in streams))
            record.throttled = record.attempts - record.admitted
            for stream in streams:
                for demand in stream.demands:
                    half = round(float(stream.admitted.sum()) * demand.half_units)
                    if demand.direction.record.writes:
                        record.write_half += half
                    else:
                        record.read_half += half
