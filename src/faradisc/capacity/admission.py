"""Whether a request may run, and what it is charged.

A *limiter* admits the reads or the writes of one resource (a table or a global index). A request is a few
*charges*, each with a limiter and a key. The checks, in order; the first that fails is the cause of a
throttle:

    account and on-demand table quota -> configured on-demand maximum -> table bucket -> partition bucket

All charges are checked before any is taken. A check needs a positive balance, not enough for the cost: the
request runs, its true cost is then known, and `take` takes it, into debt if necessary (section 2.5.1).

A single item's read or write, with a known cost and one limiter, does both at once: on credit
(`Limiter.spend`) or else by balances (`Limiter.charge`). Requests with several charges use the functions
`admit` and `take_all`.

Credit. A balance only grows until something is taken. So at the beginning of a *tick* of a limiter, 100 ms at
most, a partition bucket gets credit out of its own balance and the table's: half units that can be charged
without looking at a balance again. When the tick ends, charges on credit are *booked* together, as if they
had been made when it began. Reading or changing a limiter from outside ends the tick, so its state is always
booked. What is admitted, and every balance and count after booking, is to the nano-unit what charging each
request at that time gives (tests/property/test_charging_on_credit.py; docs/decisions/0014).

    0 ms                a tick begins; the partition gets credit out of balances that are positive
    10, 40 and 90 ms    three requests of 2 half units: each is one subtraction from the credit
    100 ms              booked: 6 half units are taken at 0 ms, then the time flows into the buckets

Sources: capacity.md sections 2.5, 2.9, 2.14; vectors V90 to V114.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HALF_UNIT, Direction
from faradisc.capacity.partitions import PartitionBucket, divide
from faradisc.capacity.throttle import Cause, ResourceKind, Throttle
from faradisc.records import dataclass

TICK_NS = 100_000_000
"""How long charges on credit may count as made at the same time."""
CREDIT_MAX = 512
"""Half units of credit at a time, so that the table's balance is enough for all partitions."""
_PLENTY = 1 << 62
"""Half units of credit where no table bucket limits it."""


class Limiter:
    """Admits the reads or the writes of one resource, which keeps the fields in step (resource.py).

    Invariants while a tick lasts: the balance of a bucket, after booking all charges on credit, is at least
    its remaining credit. A guarded limiter and a watched partition have no credit.
    """

    __slots__ = (
        "_buckets",
        "_by_first_byte",
        "_left",
        "_only",
        "_table_bucket",
        "_tick_began",
        "_tick_ends",
        "_with_credit",
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
        "replicated",
    )

    def __init__(self, arn: str, kind: ResourceKind, direction: Direction, eventual_half: int) -> None:
        self.arn = arn
        self.kind: ResourceKind = kind
        self.direction: Direction = direction
        self.eventual_half = eventual_half
        """Nano-units that half a unit of an eventually consistent read costs a partition; at most
        HALF_UNIT."""
        self.on_demand = False
        self._table_bucket: Bucket | None = None
        self.maximum: Bucket | None = None
        """The configured maximum of an on-demand resource."""
        self.quotas: tuple[Bucket, ...] = ()
        self.guarded = False
        """Whether there are quotas, a maximum, or shares of the table's rate."""
        self.lows: list[bytes] = []
        self._buckets: list[PartitionBucket] = []
        self.counts: defaultdict[int, int] = defaultdict(int)
        """`tally`, as far as it is booked. Always the same object: callers that do not enforce add to it."""
        self.replicated: defaultdict[int, int] = defaultdict(int)
        """What in `tally` writes of other replicas cost."""
        self.events: defaultdict[Cause, int] = defaultdict(int)
        """Throttle events since the last step of the resource."""
        self._tick_began = 0
        self._tick_ends = 0
        """0: no tick is running."""
        self._by_first_byte: list[PartitionBucket | None] = []
        """By first byte of a key: the bucket of all keys that begin with it; None where there are several.
        Empty: unknown, and no tick is running."""
        self._only: PartitionBucket | None = None
        """The only bucket while a tick lasts; None where there are several."""
        self._left = 0
        """Half units of the table's balance that are not given as credit yet."""
        self._with_credit: dict[PartitionBucket, None] = {}
        """Buckets with credit in this tick, used as an ordered set."""

    # --- The hot path: one read or write of one item ---

    def spend(self, key: bytes, half_units: int, now: int, eventual: bool = False) -> bool:
        """Charges a cost on credit. Returns False if there is none; then call `charge`. O(log partitions)."""
        if now >= self._tick_ends:
            return False
        bucket = self._only or self._by_first_byte[key[0]] or self._buckets[bisect_right(self.lows, key) - 1]
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
        """Admits and takes a cost by balances. Returns False if it is throttled; then nothing was taken.

        due: when the resource must advance next; no tick is longer. O(log partitions).
        """
        if now < self._tick_ends:
            bucket = self.bucket_of(key)
            if bucket not in self._with_credit and self._give(bucket) >= half_units:
                return self.spend(key, half_units, now, eventual)
        admitted = self.admit(key, now)
        if admitted is None:
            return False
        self.take(admitted, key, half_units, now, eventual)
        if not self.guarded:
            self._tick_began = now
            self._tick_ends = min(now + TICK_NS, due)
            self._by_first_byte = self._by_first_byte or _by_first_byte(self.lows, self._buckets)
            self._only = self._buckets[0] if len(self._buckets) == 1 else None
            self._left = _PLENTY if self._table_bucket is None else _whole(self._table_bucket, now)
            self._give(admitted)
        return True

    def _give(self, bucket: PartitionBucket) -> int:
        """Gives a bucket credit for the rest of the tick. Returns how much there was."""
        if bucket.watch is not None:
            return 0
        given = max(0, min(_whole(bucket, self._tick_began), self._left, CREDIT_MAX))
        bucket.credit = given
        self._left -= given
        self._with_credit[bucket] = None
        return given

    def book(self) -> None:
        """Ends the tick, if one is running: takes what was charged on credit, at the time when it began."""
        if not self._tick_ends:
            return
        self._tick_ends = 0
        spent = 0
        for bucket in self._with_credit:
            before = bucket.spent
            nano = self._book(bucket, bucket.owed) * HALF_UNIT
            nano += self._book(bucket, bucket.owed_eventually) * self.eventual_half
            bucket.credit = 0
            if nano:
                bucket.take(self._tick_began, nano)
                spent += bucket.spent - before
        self._with_credit.clear()
        if spent and self._table_bucket is not None:
            self._table_bucket.take(self._tick_began, spent * HALF_UNIT)

    def _book(self, bucket: PartitionBucket, owed: list[int]) -> int:
        """Counts and clears costs. Returns their sum."""
        total = 0
        for half_units, times in Counter(owed).items() if owed else ():
            self.counts[half_units] += times
            total += half_units * times
        bucket.charged += len(owed)
        bucket.spent += total
        owed.clear()
        return total

    # --- Outside view: everything is booked ---

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
        """In order of keys; `lows` has the key at which each begins. The list may be changed."""
        self.book()
        self._by_first_byte = []
        return self._buckets

    @property
    def tally(self) -> defaultdict[int, int]:
        """How often each cost, in half units, was charged since the last step."""
        self.book()
        return self.counts

    # --- One of several charges: all are admitted before any is taken ---

    def admit(self, key: bytes, now: int) -> PartitionBucket | None:
        """Returns the bucket to charge, or None: throttled, see `refuse`. O(log partitions)."""
        self.book()
        bucket = self._buckets[bisect_right(self.lows, key) - 1]
        if self.guarded:
            return bucket if self.cause(bucket, now) is None else None
        if self._table_bucket is not None and not self._table_bucket.ok(now):
            return None
        return bucket if bucket.rate * now > bucket.used else None

    def take(
        self, bucket: PartitionBucket, key: bytes, half_units: int, now: int, eventual: bool = False
    ) -> None:
        """Takes a cost after the request has run. `eventual`: the read was eventually consistent."""
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
            self._take_guarded(bucket, nano, now)

    # --- The rest ---

    def bucket_of(self, key: bytes) -> PartitionBucket:
        """Returns the bucket of the partition that holds a key, without booking."""
        return self._buckets[bisect_right(self.lows, key) - 1]

    def _take_guarded(self, bucket: PartitionBucket, nano: int, now: int) -> None:
        for quota in self.quotas:
            quota.take(now, nano)
        if self.maximum is not None:
            self.maximum.take(now, nano)
        if bucket.share is not None:
            bucket.share.take(now, nano)

    def cause(self, bucket: PartitionBucket, now: int) -> Cause | None:
        """Returns the first check that fails, or None."""
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
        """Describes and counts a throttled request. Requires: `admit` has just returned None."""
        bucket = self.bucket_of(key)
        cause = self.cause(bucket, now)
        assert cause is not None
        return self.blame(bucket, cause)

    def blame(self, bucket: PartitionBucket, cause: Cause) -> Throttle:
        """Counts and describes one throttle event."""
        self.events[cause] += 1
        identity = None
        if cause is Cause.KEY_RANGE:
            bucket.throttled += 1
            bucket.throttled_total += 1
            identity = bucket.partition.id
        return Throttle(self.arn, self.kind, self.direction, cause, self.on_demand, identity)


def _by_first_byte(lows: Sequence[bytes], buckets: Sequence[PartitionBucket]) -> list[PartitionBucket | None]:
    """Returns by first byte the bucket of all keys that begin with it, or None."""
    firsts = [bisect_right(lows, bytes((byte,))) - 1 for byte in range(256)]
    lasts = [bisect_left(lows, bytes((byte,))) - 1 for byte in range(1, 256)] + [len(buckets) - 1]
    return [buckets[first] if first == last else None for first, last in zip(firsts, lasts, strict=True)]


def _whole(bucket: Bucket, now: int) -> int:
    """Returns the whole half units of a balance."""
    return bucket.balance(now) // HALF_UNIT


@dataclass(slots=True)
class Charge:
    """A cost at one key. `half_units` may be set after admission and before it is taken."""

    limiter: Limiter
    key: bytes
    half_units: int = 0
    eventual: bool = False
    bucket: PartitionBucket | None = None
    """Set by `admit`."""


def admit(charges: Iterable[Charge], now: int) -> Throttle | None:
    """Returns None if all charges are admitted, else the first throttle. Takes nothing.

    Charges after the first throttle only count events, one per limiter: a put on a table with three indexes,
    all out of units, is four events (V130).
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


def take_all(charges: Iterable[Charge], now: int) -> None:
    """Takes the costs of admitted charges. A charge of 0 (a check of an index) costs nothing."""
    for charge in charges:
        if charge.half_units:
            bucket = charge.bucket or charge.limiter.bucket_of(charge.key)
            charge.limiter.take(bucket, charge.key, charge.half_units, now, charge.eventual)


def asks_index(
    rule: Literal["member", "affected", "all"], *, before: bool, after: bool, changed: bool
) -> bool:
    """Returns whether a global index must admit a write, given whether the item is in it before and after,
    and whether its entry changes.

    Measured: an index that holds the item throttles even changes that it does not project (section 2.9,
    V111).
    """
    if rule == "member":
        return before or after
    return changed if rule == "affected" else True


def spread(half_units: int, sizes: Sequence[int]) -> list[int]:
    """Divides the cost of one page among its partitions, in proportion to the bytes read there.

    A page is rounded up once, so its cost is not the sum of its parts' costs. The parts add up exactly.
    """
    return divide(half_units, sizes) if any(sizes) else [half_units] + [0] * (len(sizes) - 1)
