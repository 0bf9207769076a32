"""Admission: whether a request may run, and what it is charged for.

A *lane* is one direction (reads or writes) of one resource (a table or a global index). A request is a few
*charges*, each naming a lane and a place in its key space. In order, the first failure being the cause:

    account and on-demand table quota -> configured on-demand maximum -> table bucket -> partition bucket

All charges are tested before any is taken. A test needs a positive balance, not enough for the cost: the
request runs, its true cost is then known, and `settle` takes it, into debt if it must be (section 2.5.1).

A single item's read or write, whose cost is known and which asks one lane, does both at once
(`Lane.charge`): a few hundred nanoseconds. Whatever has several charges uses the functions `admit` and
`settle` of this module.

Sources: capacity.md sections 2.5, 2.9, 2.14; vectors V90 to V114.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HALF_UNIT, Direction
from faradisc.capacity.partitions import Cell
from faradisc.capacity.throttle import Cause, ResourceKind, Throttle


class Lane:
    """One direction of one resource. Its owner (capacity/resource.py) keeps the fields in step."""

    __slots__ = (
        "arn",
        "bucket",
        "cells",
        "direction",
        "events",
        "eventual_half",
        "guarded",
        "kind",
        "lows",
        "maximum",
        "on_demand",
        "quotas",
        "tally",
    )

    def __init__(self, arn: str, kind: ResourceKind, direction: Direction, eventual_half: int) -> None:
        self.arn = arn
        self.kind: ResourceKind = kind
        self.direction: Direction = direction
        self.eventual_half = eventual_half
        """What half a unit of an eventually consistent read costs a partition, in nano-units."""
        self.on_demand = False
        self.bucket: Bucket | None = None
        """The table bucket of a provisioned resource."""
        self.maximum: Bucket | None = None
        """The configured maximum of an on-demand resource."""
        self.quotas: tuple[Bucket, ...] = ()
        self.guarded = False
        """Whether the rarer gates exist: quotas, a maximum, shares of the table's rate."""
        self.lows: list[bytes] = []
        self.cells: list[Cell] = []
        """In order of place; `lows` has the places they begin at."""
        self.tally: defaultdict[int, int] = defaultdict(int)
        """How often each cost (in half units) was charged since the last fold."""
        self.events: defaultdict[Cause, int] = defaultdict(int)
        """Throttle events since the last fold."""

    # --- The hot path: one read or write of one item ---

    def admit(self, place: bytes, now: int) -> Cell | None:
        """The cell to charge, or None: refused, see `refuse`. O(log partitions)."""
        if self.guarded:
            return self._admit_guarded(place, now)
        bucket = self.bucket
        if bucket is not None and bucket.rate * now <= bucket.used:
            return None
        cell = self.cells[bisect_right(self.lows, place) - 1]
        return cell if cell.rate * now > cell.used else None

    def settle(self, cell: Cell, place: bytes, half_units: int, now: int, eventual: bool = False) -> None:
        """Take a cost after the request has run. `eventual`: the read was eventually consistent."""
        self.tally[half_units] += 1
        cell.spent += half_units
        cell.charged += 1
        nano = half_units * HALF_UNIT
        bucket = self.bucket
        # Bucket.take, written out twice and without max(), for speed.
        if bucket is not None:
            level = bucket.rate * now
            used = bucket.used
            if used < level - bucket.cap:  # noqa: PLR1730
                used = level - bucket.cap
            used += nano
            bucket.used = used if used <= level else min(used, level + bucket.debt)
        if eventual:
            nano = half_units * self.eventual_half
        level = cell.rate * now
        used = cell.used
        if used < level - cell.cap:  # noqa: PLR1730
            used = level - cell.cap
        used += nano
        cell.used = used if used <= level else min(used, level + cell.debt)
        if cell.watch is not None:
            cell.watch.add(place, nano)
        if self.guarded:
            self._settle_guarded(cell, half_units * HALF_UNIT, now)

    def charge(self, place: bytes, half_units: int, now: int, eventual: bool = False) -> bool:
        """`admit` and `settle` at once; False: refused, and nothing was taken. As `settle`, without max()."""
        if self.guarded:
            guarded = self._admit_guarded(place, now)
            if guarded is not None:
                self.settle(guarded, place, half_units, now, eventual)
            return guarded is not None
        cell = self.cells[bisect_right(self.lows, place) - 1]
        cell_level = cell.rate * now
        cell_used = cell.used
        if cell_level <= cell_used:
            return False
        nano = half_units * HALF_UNIT
        bucket = self.bucket
        if bucket is not None:
            level = bucket.rate * now
            used = bucket.used
            if level <= used:
                return False
            full = level - bucket.cap
            if used < full:  # noqa: PLR1730
                used = full
            used += nano
            bucket.used = used if used <= level else min(used, level + bucket.debt)
        self.tally[half_units] += 1
        cell.spent += half_units
        cell.charged += 1
        if eventual:
            nano = half_units * self.eventual_half
        full = cell_level - cell.cap
        if cell_used < full:  # noqa: PLR1730
            cell_used = full
        cell_used += nano
        cell.used = cell_used if cell_used <= cell_level else min(cell_used, cell_level + cell.debt)
        if cell.watch is not None:
            cell.watch.add(place, nano)
        return True

    # For callers that count in seconds (planner), and tell the watch of a hot cell its keys themselves: the
    # cost of many equal requests at once.

    def settle_whole(self, half_units: int, count: int, now: int) -> None:
        """Take what so many requests cost the resource as a whole. `settle_cells` takes the rest of it."""
        if not count:
            return
        self.tally[half_units] += count
        for bucket in (*self.quotas, self.maximum, self.bucket):
            if bucket is not None:
                bucket.take(now, half_units * HALF_UNIT * count)

    def settle_cells(
        self, portions: Iterable[tuple[Cell, int]], half_units: int, now: int, *, eventual: bool = False
    ) -> None:
        """Take what requests cost the partitions, so many in each."""
        each = half_units * (self.eventual_half if eventual else HALF_UNIT)
        for cell, count in portions:
            cell.spent += half_units * count
            cell.charged += count
            cell.take(now, each * count)
            if cell.share is not None:
                cell.share.take(now, half_units * HALF_UNIT * count)

    # --- The rest ---

    def cell_of(self, place: bytes) -> Cell:
        return self.cells[bisect_right(self.lows, place) - 1]

    def _admit_guarded(self, place: bytes, now: int) -> Cell | None:
        cell = self.cell_of(place)
        return cell if self.cause(cell, now) is None else None

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
        if self.bucket is not None and not self.bucket.ok(now):
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
