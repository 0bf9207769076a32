"""One direction of the fluid engine (fluid.py): what its buckets have in a second, and which fraction of its
requests each partition admits. Source: capacity.md section 3.2.
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
from faradisc.tools.planner.simulation.recorder import DirectionRecord
from faradisc.tools.planner.workload.key_distributions import ONE, KeyModel, KeyShape
from faradisc.tools.planner.workload.streams import IndexCharge, StreamWorkload

Array = NDArray[np.float64]


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
