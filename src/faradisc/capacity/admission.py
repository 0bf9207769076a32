"""Admission: whether a request may run, and what it is charged for.

A *lane* is one direction (reads or writes) of one resource (a table or a global index). A request is a few
*charges*, each naming a lane and a place in its key space. In order, the first failure being the cause:

    account and on-demand table quota -> configured on-demand maximum -> table bucket -> partition bucket

All charges are tested before any is taken. A test needs a positive balance, not enough for the cost: the
request runs, its true cost is then known, and `settle` takes it, into debt if it must be (section 2.5.1).

A single item's read or write, whose cost is known and which asks one lane, does both at once: on credit
(`Lane.spend`) or else by balances (`Lane.charge`). Whatever has several charges uses the functions `admit`
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
from faradisc.capacity.partitions import Cell
from faradisc.capacity.throttle import Cause, ResourceKind, Throttle

TICK_NS = 100_000_000
"""How long charges on credit may count as having been made at the same time."""
CREDIT_MAX = 512
"""Half units that a cell is given at a time, so that a table's bank lasts for all of them."""
_PLENTY = 1 << 62
"""Half units, where no bank of the table limits them."""


class Lane:
    """One direction of one resource. Its owner (capacity/resource.py) keeps the fields in step.

    Invariants, while a tick lasts: what is left in a bucket when all charges on credit are booked is at least
    the credit that is left of it. A guarded lane and a watched cell have no credit.
    """

    __slots__ = (
        "_bucket",
        "_cells",
        "_creditors",
        "_homes",
        "_left",
        "_only",
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
        self._bucket: Bucket | None = None
        self.maximum: Bucket | None = None
        """The configured maximum of an on-demand resource."""
        self.quotas: tuple[Bucket, ...] = ()
        self.guarded = False
        """Whether the rarer gates exist: quotas, a maximum, shares of the table's rate."""
        self.lows: list[bytes] = []
        self._cells: list[Cell] = []
        self.counts: defaultdict[int, int] = defaultdict(int)
        """`tally`, as far as it is booked. The same object for life: who only counts adds to it."""
        self.events: defaultdict[Cause, int] = defaultdict(int)
        """Throttle events since the last fold."""
        self._tick_began = 0
        self._tick_ends = 0
        """0: there is no tick."""
        self._homes: list[Cell | None] = []
        """By the first byte of a place, the cell of all places that begin with it; None where there are
        several. Empty: not known, and there is no tick."""
        self._only: Cell | None = None
        """The only cell, as long as the tick lasts; None where there are several."""
        self._left = 0
        """Half units of the table's balance that no cell was given yet."""
        self._creditors: dict[Cell, None] = {}
        """The cells that were given credit in this tick."""

    # --- The hot path: one read or write of one item ---

    def spend(self, place: bytes, half_units: int, now: int, eventual: bool = False) -> bool:
        """Charge a cost on credit; False: there is none, ask `charge`. O(log partitions)."""
        if now >= self._tick_ends:
            return False
        cell = self._only or self._homes[place[0]] or self._cells[bisect_right(self.lows, place) - 1]
        left = cell.credit - half_units
        if left < 0:
            return False
        cell.credit = left
        if eventual:
            cell.owed_eventually.append(half_units)
        else:
            cell.owed.append(half_units)
        return True

    def charge(self, place: bytes, half_units: int, now: int, due: int, eventual: bool = False) -> bool:
        """Admit and take a cost, by balances; False: refused, and nothing was taken. O(log partitions).

        due: when the owner of the lane must be told the time; no tick goes beyond it.
        """
        if now < self._tick_ends:
            cell = self.cell_of(place)
            if cell not in self._creditors and self._give(cell) >= half_units:
                return self.spend(place, half_units, now, eventual)
        admitted = self.admit(place, now)
        if admitted is None:
            return False
        self.settle(admitted, place, half_units, now, eventual)
        if not self.guarded:
            self._tick_began = now
            self._tick_ends = min(now + TICK_NS, due)
            self._homes = self._homes or _homes(self.lows, self._cells)
            self._only = self._cells[0] if len(self._cells) == 1 else None
            self._left = _PLENTY if self._bucket is None else _whole(self._bucket, now)
            self._give(admitted)
        return True

    def _give(self, cell: Cell) -> int:
        """Give a cell credit for the rest of the tick, as far as there is any; how much."""
        if cell.watch is not None:
            return 0
        given = max(0, min(_whole(cell, self._tick_began), self._left, CREDIT_MAX))
        cell.credit = given
        self._left -= given
        self._creditors[cell] = None
        return given

    def book(self) -> None:
        """End the tick, if there is one: take what was charged on credit, at the time when it began. For
        whoever looks at balances and counts or changes them."""
        if not self._tick_ends:
            return
        self._tick_ends = 0
        spent = 0
        for cell in self._creditors:
            before = cell.spent
            nano = self._book(cell, cell.owed) * HALF_UNIT
            nano += self._book(cell, cell.owed_eventually) * self.eventual_half
            cell.credit = 0
            if nano:
                cell.take(self._tick_began, nano)
                spent += cell.spent - before
        self._creditors.clear()
        if spent and self._bucket is not None:
            self._bucket.take(self._tick_began, spent * HALF_UNIT)

    def _book(self, cell: Cell, owed: list[int]) -> int:
        """Count costs and forget them; their sum."""
        total = 0
        for half_units, times in Counter(owed).items() if owed else ():
            self.counts[half_units] += times
            total += half_units * times
        cell.charged += len(owed)
        cell.spent += total
        owed.clear()
        return total

    # --- What others see, and set: everything is booked ---

    @property
    def bucket(self) -> Bucket | None:
        """The table bucket of a provisioned resource."""
        self.book()
        return self._bucket

    @bucket.setter
    def bucket(self, bucket: Bucket | None) -> None:
        self.book()
        self._bucket = bucket

    @property
    def cells(self) -> list[Cell]:
        """In order of place; `lows` has the places they begin at. The list may be changed."""
        self.book()
        self._homes = []
        return self._cells

    @property
    def tally(self) -> defaultdict[int, int]:
        """How often each cost (in half units) was charged since the last fold."""
        self.book()
        return self.counts

    # --- One of several charges: asked first, taken when all were admitted ---

    def admit(self, place: bytes, now: int) -> Cell | None:
        """The cell to charge, or None: refused, see `refuse`. O(log partitions)."""
        self.book()
        cell = self._cells[bisect_right(self.lows, place) - 1]
        if self.guarded:
            return cell if self.cause(cell, now) is None else None
        if self._bucket is not None and not self._bucket.ok(now):
            return None
        return cell if cell.rate * now > cell.used else None

    def settle(self, cell: Cell, place: bytes, half_units: int, now: int, eventual: bool = False) -> None:
        """Take a cost after the request has run. `eventual`: the read was eventually consistent."""
        self.book()
        self.counts[half_units] += 1
        cell.spent += half_units
        cell.charged += 1
        nano = half_units * HALF_UNIT
        if self._bucket is not None:
            self._bucket.take(now, nano)
        own = half_units * self.eventual_half if eventual else nano
        cell.take(now, own)
        if cell.watch is not None:
            cell.watch.add(place, own)
        if self.guarded:
            self._settle_guarded(cell, nano, now)

    # For callers that count in seconds (planner), and tell the watch of a hot cell its keys themselves: the
    # cost of many equal requests at once.

    def settle_whole(self, half_units: int, count: int, now: int) -> None:
        """Take what so many requests cost the resource as a whole. `settle_cells` takes the rest of it."""
        if not count:
            return
        self.book()
        self.counts[half_units] += count
        for bucket in (*self.quotas, self.maximum, self._bucket):
            if bucket is not None:
                bucket.take(now, half_units * HALF_UNIT * count)

    def settle_cells(
        self, portions: Iterable[tuple[Cell, int]], half_units: int, now: int, *, eventual: bool = False
    ) -> None:
        """Take what requests cost the partitions, so many in each."""
        self.book()
        each = half_units * (self.eventual_half if eventual else HALF_UNIT)
        for cell, count in portions:
            cell.spent += half_units * count
            cell.charged += count
            cell.take(now, each * count)
            if cell.share is not None:
                cell.share.take(now, half_units * HALF_UNIT * count)

    # --- The rest ---

    def cell_of(self, place: bytes) -> Cell:
        """The cell of a place, to be named: it is not booked for this."""
        return self._cells[bisect_right(self.lows, place) - 1]

    def _settle_guarded(self, cell: Cell, nano: int, now: int) -> None:
        for quota in self.quotas:
            quota.take(now, nano)
        if self.maximum is not None:
            self.maximum.take(now, nano)
        if cell.share is not None:
            cell.share.take(now, nano)

    def cause(self, cell: Cell, now: int) -> Cause | None:
        """The first gate that refuses, in the order of the checks."""
        for quota in self.quotas:
            if not quota.ok(now):
                return Cause.ACCOUNT
        if self.maximum is not None and not self.maximum.ok(now):
            return Cause.MAX_ON_DEMAND
        if self._bucket is not None and not self._bucket.ok(now):
            return Cause.PROVISIONED
        if not cell.ok(now) or (cell.share is not None and not cell.share.ok(now)):
            return Cause.KEY_RANGE
        return None

    def refuse(self, place: bytes, now: int) -> Throttle:
        """Say why a request is refused, and count the event.

        Requires: `admit` has just refused it.
        """
        cell = self.cell_of(place)
        cause = self.cause(cell, now)
        assert cause is not None
        return self.blame(cell, cause)

    def blame(self, cell: Cell, cause: Cause) -> Throttle:
        """Count one throttle event and describe it."""
        self.events[cause] += 1
        identity = None
        if cause is Cause.KEY_RANGE:
            cell.throttled += 1
            cell.throttled_total += 1
            identity = cell.partition.id
        return Throttle(self.arn, self.kind, self.direction, cause, self.on_demand, identity)


def _homes(lows: Sequence[bytes], cells: Sequence[Cell]) -> list[Cell | None]:
    """By the first byte of places, the cell in which all of them are, or None."""
    firsts = [bisect_right(lows, bytes((byte,))) - 1 for byte in range(256)]
    lasts = [bisect_left(lows, bytes((byte,))) - 1 for byte in range(1, 256)] + [len(cells) - 1]
    return [cells[first] if first == last else None for first, last in zip(firsts, lasts, strict=True)]


def _whole(bucket: Bucket, now: int) -> int:
    """The whole half units that a bucket has."""
    return bucket.balance(now) // HALF_UNIT


@dataclass(slots=True)
class Charge:
    """A cost in one place. `half_units` is set before settling; admission does not look at it."""

    lane: Lane
    place: bytes
    half_units: int = 0
    eventual: bool = False
    cell: Cell | None = None
    """Set by `admit`."""


def admit(charges: Iterable[Charge], now: int) -> Throttle | None:
    """Whether all charges are admitted: None, or the first refusal.

    The rest is looked at only to count events, one per lane: a put on a table with three indexes, all out
    of units, is four events (V130). Takes nothing.
    """
    first: Throttle | None = None
    counted: list[Lane] = []
    for charge in charges:
        lane = charge.lane
        charge.cell = cell = lane.admit(charge.place, now)
        if cell is None and lane not in counted:
            counted.append(lane)
            refused = lane.refuse(charge.place, now)
            first = first or refused
    return first


def settle(charges: Iterable[Charge], now: int) -> None:
    """Take the costs of charges that were admitted. One of 0 (an index merely asked) costs nothing."""
    for charge in charges:
        if charge.half_units:
            cell = charge.cell or charge.lane.cell_of(charge.place)
            charge.lane.settle(cell, charge.place, charge.half_units, now, charge.eventual)


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
