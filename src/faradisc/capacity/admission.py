"""Admission: whether a request may run, and what it is charged for.

A *lane* is one direction (reads or writes) of one resource (a table or a global index). A request is a few
*charges*, each naming a lane and a place in its key space. In order, the first failure being the cause:

    account and on-demand table quota -> configured on-demand maximum -> table bucket -> partition bucket

All charges are tested before any is taken. A test needs a positive balance, not enough for the cost: the
request runs, its true cost is then known, and `settle` takes it, into debt if it must be (section 2.5.1).

A single item's read or write, whose cost is known and which asks one lane, does both at once: on credit
(`Limiter.spend`) or else by balances (`Lane.charge`). Whatever has several charges uses the functions `admit`
and `settle` of this module.

Credit. Balances only grow until something is taken. So at the beginning of a *tick* of a lane, 100 ms at
most, a cell is given credit out of what it and the table have: half units that can be charged without
looking at a balance again. Such charges are counted by their cost, and *booked* together when the tick ends:
as if they had been made when it began. Whatever looks at a lane or changes it from outside ends the tick, and
finds everything booked. So what is admitted, and every balance and count after booking, is to the nano-unit
what charging each at that time gives (tests/property/test_charging_on_credit.py; docs/decisions/0014).

Sources: capacity.md sections 2.5, 2.9, 2.14; vectors V90 to V114.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HALF_UNIT, Direction
from faradisc.capacity.partitions import PartitionBucket
from faradisc.capacity.throttle import Cause, ResourceKind, Throttle

TICK_NS = 100_000_000
"""How long charges on credit may count as having been made at the same time."""
CREDIT_MAX = 512
"""Half units that a cell is given at a time, so that a table's bank lasts for all of them."""
_PLENTY = 1 << 62
"""Half units, where no bank of the table limits them."""


class Limiter:
    """One direction of one resource. Its owner (capacity/resource.py) keeps the fields in step.

    Invariants, while a tick lasts: what is left in a bucket when all charges on credit are booked is at least
    the credit that is left of it. A guarded lane and a watched cell have no credit.
    """

    __slots__ = (
        "_buckets",
        "_creditors",
        "_homes",
        "_left",
        "_only",
        "_table_bucket",
        "_tick_began",
        "_tick_ends",
        "arn",
        "counts",
        "direction",
        "events",
        "eventual_half",
        "guarded",
        "kind",
        "lows",
        "maximum",
        "on_demand",
        "quotas",
    )

    def __init__(self, arn: str, kind: ResourceKind, direction: Direction, eventual_half: int) -> None:
        self.arn = arn
        self.kind: ResourceKind = kind
        self.direction: Direction = direction
        self.eventual_half = eventual_half
        """What half a unit of an eventually consistent read costs a partition, in nano-units; HALF_UNIT at
        most."""
        self.on_demand = False
        self._table_bucket: Bucket | None = None
        self.maximum: Bucket | None = None
        """The configured maximum of an on-demand resource."""
        self.quotas: tuple[Bucket, ...] = ()
        self.guarded = False
        """Whether the rarer gates exist: quotas, a maximum, shares of the table's rate."""
        self.lows: list[bytes] = []
        self._buckets: list[PartitionBucket] = []
        self.counts: defaultdict[int, int] = defaultdict(int)
        """`tally`, as far as it is booked. The same object for life: who only counts adds to it."""
        self.events: defaultdict[Cause, int] = defaultdict(int)
        """Throttle events since the last fold."""
        self._tick_began = 0
        self._tick_ends = 0
        """0: there is no tick."""
        self._homes: list[PartitionBucket | None] = []
        """By the first byte of a place, the cell of all places that begin with it; None where there are
        several. Empty: not known, and there is no tick."""
        self._only: PartitionBucket | None = None
        """The only cell, as long as the tick lasts; None where there are several."""
        self._left = 0
        """Half units of the table's balance that no cell was given yet."""
        self._creditors: dict[PartitionBucket, None] = {}
        """The cells that were given credit in this tick."""

    # --- The hot path: one read or write of one item ---

    def spend(self, key: bytes, half_units: int, now: int, eventual: bool = False) -> bool:
        """Charge a cost on credit; False: there is none, ask `charge`. O(log partitions)."""
        if now >= self._tick_ends:
            return False
        bucket = self._only or self._homes[key[0]] or self._buckets[bisect_right(self.lows, key) - 1]
        left = bucket.credit - half_units
        if left < 0:
            return False
        bucket.credit = left
        if eventual:
            bucket.owed_eventually.append(half_units)
        else:
            bucket.owed.append(half_units)
        return True

    def charge(self, key: bytes, half_units: int, now: int, due: int, eventual: bool = False) -> bool:
        """Admit and take a cost, by balances; False: refused, and nothing was taken. O(log partitions).

        due: when the owner of the lane must be told the time; no tick goes beyond it.
        """
        if now < self._tick_ends:
            bucket = self.bucket_of(key)
            if bucket not in self._creditors and self._give(bucket) >= half_units:
                return self.spend(key, half_units, now, eventual)
        admitted = self.admit(key, now)
        if admitted is None:
            return False
        self.settle(admitted, key, half_units, now, eventual)
        if not self.guarded:
            self._tick_began = now
            self._tick_ends = min(now + TICK_NS, due)
            self._homes = self._homes or _homes(self.lows, self._buckets)
            self._only = self._buckets[0] if len(self._buckets) == 1 else None
            self._left = _PLENTY if self._table_bucket is None else _whole(self._table_bucket, now)
            self._give(admitted)
        return True

    def _give(self, bucket: PartitionBucket) -> int:
        """Give a cell credit for the rest of the tick, as far as there is any; how much."""
        if bucket.watch is not None:
            return 0
        given = max(0, min(_whole(bucket, self._tick_began), self._left, CREDIT_MAX))
        bucket.credit = given
        self._left -= given
        self._creditors[bucket] = None
        return given

    def book(self) -> None:
        """End the tick, if there is one: take what was charged on credit, at the time when it began. For
        whoever looks at balances and counts or changes them."""
        if not self._tick_ends:
            return
        self._tick_ends = 0
        spent = 0
        for bucket in self._creditors:
            before = bucket.spent
            nano = self._book(bucket, bucket.owed) * HALF_UNIT
            nano += self._book(bucket, bucket.owed_eventually) * self.eventual_half
            bucket.credit = 0
            if nano:
                bucket.take(self._tick_began, nano)
                spent += bucket.spent - before
        self._creditors.clear()
        if spent and self._table_bucket is not None:
            self._table_bucket.take(self._tick_began, spent * HALF_UNIT)

    def _book(self, bucket: PartitionBucket, owed: list[int]) -> int:
        """Count costs and forget them; their sum."""
        total = 0
        for half_units, times in Counter(owed).items() if owed else ():
            self.counts[half_units] += times
            total += half_units * times
        bucket.charged += len(owed)
        bucket.spent += total
        owed.clear()
        return total

    # --- What others see, and set: everything is booked ---

    @property
    def table_bucket(self) -> Bucket | None:
        """The table bucket of a provisioned resource."""
        self.book()
        return self._table_bucket

    @table_bucket.setter
    def table_bucket(self, bucket: Bucket | None) -> None:
        self.book()
        self._table_bucket = bucket

    @property
    def buckets(self) -> list[PartitionBucket]:
        """In order of place; `lows` has the places they begin at. The list may be changed."""
        self.book()
        self._homes = []
        return self._buckets

    @property
    def tally(self) -> defaultdict[int, int]:
        """How often each cost (in half units) was charged since the last fold."""
        self.book()
        return self.counts

    # --- One of several charges: asked first, taken when all were admitted ---

    def admit(self, key: bytes, now: int) -> PartitionBucket | None:
        """The cell to charge, or None: refused, see `refuse`. O(log partitions)."""
        self.book()
        bucket = self._buckets[bisect_right(self.lows, key) - 1]
        if self.guarded:
            return bucket if self.cause(bucket, now) is None else None
        if self._table_bucket is not None and not self._table_bucket.ok(now):
            return None
        return bucket if bucket.rate * now > bucket.used else None

    def settle(
        self, bucket: PartitionBucket, key: bytes, half_units: int, now: int, eventual: bool = False
    ) -> None:
        """Take a cost after the request has run. `eventual`: the read was eventually consistent."""
        self.book()
        self.counts[half_units] += 1
        bucket.spent += half_units
        bucket.charged += 1
        nano = half_units * HALF_UNIT
        if self._table_bucket is not None:
            self._table_bucket.take(now, nano)
        own = half_units * self.eventual_half if eventual else nano
        bucket.take(now, own)
        if bucket.watch is not None:
            bucket.watch.add(key, own)
        if self.guarded:
            self._settle_guarded(bucket, nano, now)

    # For callers that count in seconds (planner), and tell the watch of a hot cell its keys themselves: the
    # cost of many equal requests at once.

    def settle_whole(self, half_units: int, count: int, now: int) -> None:
        """Take what so many requests cost the resource as a whole. `settle_cells` takes the rest of it."""
        if not count:
            return
        self.book()
        self.counts[half_units] += count
        for bucket in (*self.quotas, self.maximum, self._table_bucket):
            if bucket is not None:
                bucket.take(now, half_units * HALF_UNIT * count)

    def settle_partitions(
        self,
        portions: Iterable[tuple[PartitionBucket, int]],
        half_units: int,
        now: int,
        *,
        eventual: bool = False,
    ) -> None:
        """Take what requests cost the partitions, so many in each."""
        self.book()
        each = half_units * (self.eventual_half if eventual else HALF_UNIT)
        for bucket, count in portions:
            bucket.spent += half_units * count
            bucket.charged += count
            bucket.take(now, each * count)
            if bucket.share is not None:
                bucket.share.take(now, half_units * HALF_UNIT * count)

    # --- The rest ---

    def bucket_of(self, key: bytes) -> PartitionBucket:
        """The cell of a place, to be named: it is not booked for this."""
        return self._buckets[bisect_right(self.lows, key) - 1]

    def _settle_guarded(self, bucket: PartitionBucket, nano: int, now: int) -> None:
        for quota in self.quotas:
            quota.take(now, nano)
        if self.maximum is not None:
            self.maximum.take(now, nano)
        if bucket.share is not None:
            bucket.share.take(now, nano)

    def cause(self, bucket: PartitionBucket, now: int) -> Cause | None:
        """The first gate that refuses, in the order of the checks."""
        for quota in self.quotas:
            if not quota.ok(now):
                return Cause.ACCOUNT
        if self.maximum is not None and not self.maximum.ok(now):
            return Cause.MAX_ON_DEMAND
        if self._table_bucket is not None and not self._table_bucket.ok(now):
            return Cause.PROVISIONED
        if not bucket.ok(now) or (bucket.share is not None and not bucket.share.ok(now)):
            return Cause.KEY_RANGE
        return None

    def refuse(self, key: bytes, now: int) -> Throttle:
        """Say why a request is refused, and count the event.

        Requires: `admit` has just refused it.
        """
        bucket = self.bucket_of(key)
        cause = self.cause(bucket, now)
        assert cause is not None
        return self.blame(bucket, cause)

    def blame(self, bucket: PartitionBucket, cause: Cause) -> Throttle:
        """Count one throttle event and describe it."""
        self.events[cause] += 1
        identity = None
        if cause is Cause.KEY_RANGE:
            bucket.throttled += 1
            bucket.throttled_total += 1
            identity = bucket.partition.id
        return Throttle(self.arn, self.kind, self.direction, cause, self.on_demand, identity)


def _homes(lows: Sequence[bytes], buckets: Sequence[PartitionBucket]) -> list[PartitionBucket | None]:
    """By the first byte of places, the cell in which all of them are, or None."""
    firsts = [bisect_right(lows, bytes((byte,))) - 1 for byte in range(256)]
    lasts = [bisect_left(lows, bytes((byte,))) - 1 for byte in range(1, 256)] + [len(buckets) - 1]
    return [buckets[first] if first == last else None for first, last in zip(firsts, lasts, strict=True)]


def _whole(bucket: Bucket, now: int) -> int:
    """The whole half units that a bucket has."""
    return bucket.balance(now) // HALF_UNIT


@dataclass(slots=True)
class Charge:
    """A cost in one place. `half_units` is set before settling; admission does not look at it."""

    limiter: Limiter
    key: bytes
    half_units: int = 0
    eventual: bool = False
    bucket: PartitionBucket | None = None
    """Set by `admit`."""


def admit(charges: Iterable[Charge], now: int) -> Throttle | None:
    """Whether all charges are admitted: None, or the first refusal.

    The rest is looked at only to count events, one per lane: a put on a table with three indexes, all out
    of units, is four events (V130). Takes nothing.
    """
    first: Throttle | None = None
    counted: list[Limiter] = []
    for charge in charges:
        limiter = charge.limiter
        charge.bucket = bucket = limiter.admit(charge.key, now)
        if bucket is None and limiter not in counted:
            counted.append(limiter)
            refused = limiter.refuse(charge.key, now)
            first = first or refused
    return first


def settle(charges: Iterable[Charge], now: int) -> None:
    """Take the costs of charges that were admitted. One of 0 (an index merely asked) costs nothing."""
    for charge in charges:
        if charge.half_units:
            bucket = charge.bucket or charge.limiter.bucket_of(charge.key)
            charge.limiter.settle(bucket, charge.key, charge.half_units, now, charge.eventual)


def asks_index(
    rule: Literal["member", "affected", "all"], *, before: bool, after: bool, changed: bool
) -> bool:
    """Whether a write must be admitted by a global index, given whether the item is in it before and
    after and whether its entry changes.

    Measured: an index that holds the item refuses even what it does not project (section 2.9, V111).
    """
    if rule == "member":
        return before or after
    return changed if rule == "affected" else True


def spread(half_units: int, sizes: Sequence[int]) -> list[int]:
    """Divide the cost of one page over the partitions it crossed, in proportion to the bytes read there.

    A page is rounded up once, so its cost is not the sum of its parts' costs. The parts add up exactly.
    """
    total = sum(sizes)
    if not total:
        return [half_units] + [0] * (len(sizes) - 1)
    shares: list[int] = []
    passed = given = 0
    for size in sizes:
        passed += size
        upto = half_units * passed // total
        shares.append(upto - given)
        given = upto
    return shares
