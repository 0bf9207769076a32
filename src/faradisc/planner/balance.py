"""How much every gate lets through when something is short, in one second of the fluid engine.

A request passes when its table's bucket, its partition and all its global indexes admit it. A gate that is
short admits a fraction of those who ask, and only what passes *all* gates is charged. So the fractions
depend on each other: a partition that stops half of the traffic relieves the bucket of its table. They are
found by taking the gates by turns and setting each so that what is charged to it is what it has, until
nothing changes. Every turn solves its own gates exactly, and fractions only need to be as good as counts.

Fractions are floats of plain arithmetic (the same on every machine); balances and counts stay integers.

Source: capacity.md section 3.2 ("Fluid step order"), with its scaling by turns in place of one pass, since
one pass would blame the table for requests that a partition stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faradisc.capacity.config import HALF_UNIT
from faradisc.capacity.partitions import Cell
from faradisc.capacity.throttle import Cause
from faradisc.capacity.topology import hash_bounds
from faradisc.planner.keys import ONE

if TYPE_CHECKING:
    from faradisc.planner.fluid import StreamState
    from faradisc.planner.observe import LaneNote
    from faradisc.planner.retries import Retries
    from faradisc.planner.shares import Share
    from faradisc.planner.streams import IndexCharge

_TURNS_MAX = 60
_CLOSE = 1e-5
_BINDING = 0.999


class LaneGate:
    """The bucket of a table or index: provisioned rate or configured on-demand maximum."""

    __slots__ = ("asked_ns", "available", "load", "note", "ratio")

    def __init__(self, note: LaneNote) -> None:
        self.note = note
        self.available: int | None = None
        """Nano-units in this second; None: no such gate."""
        self.load = 0.0
        self.ratio = 1.0
        self.asked_ns = -1

    @property
    def binds(self) -> bool:
        """Whether it is charged all it has: then it is what stops requests, perhaps with others that are."""
        return self.available is not None and self.load >= self.available * _BINDING

    @property
    def cause(self) -> Cause:
        return Cause.PROVISIONED if self.note.lane.bucket is not None else Cause.MAX_ON_DEMAND

    def ask(self, now: int) -> None:
        """See what there is in the second that begins now."""
        if self.asked_ns == now:
            return
        self.asked_ns = now
        self.load = 0.0
        bucket = self.note.lane.bucket or self.note.lane.maximum
        if bucket is None:
            self.available = None
            self.ratio = 1.0
        else:
            self.available = max(bucket.balance(now) + bucket.rate * 1_000_000_000, 0)


class CellGate:
    """One direction of one partition."""

    __slots__ = ("asked_ns", "available", "bounds", "cell", "load", "ratio")

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.bounds = hash_bounds(cell.partition)
        self.available = 0
        self.load = 0.0
        self.ratio = 1.0
        self.asked_ns = -1

    def ask(self, now: int) -> None:
        if self.asked_ns == now:
            return
        self.asked_ns = now
        self.load = 0.0
        cell = self.cell
        available = cell.balance(now) + cell.rate * 1_000_000_000
        share = cell.share
        if share is not None:
            income = share.rate * 1_000_000_000 // share.scale
            available = min(available, share.balance(now) + income)
        self.available = max(available, 0)


Gate = LaneGate | CellGate


class IndexDemand:
    """What the writes of one stream ask of one global index."""

    __slots__ = ("charge", "gate", "shares")

    def __init__(self, charge: IndexCharge, shares: list[Share], gate: LaneGate) -> None:
        self.charge = charge
        self.shares = shares
        self.gate = gate

    def cells_ratio(self) -> float:
        return sum(share.weight * share.gate.ratio for share in self.shares) / ONE


class Demand:
    """What one stream asks for in one second."""

    __slots__ = ("back", "gate", "half_units", "indexes", "nano", "partition_nano", "portions", "state")

    def __init__(
        self, state: StreamState, portions: list[tuple[Share, int]], half_units: int, gate: LaneGate
    ) -> None:
        self.state = state
        self.portions = portions
        """Partitions and the first attempts there."""
        self.back: dict[int, list[int]] = {}
        """Retries by portion and attempt."""
        self.half_units = half_units
        self.nano = half_units * HALF_UNIT
        eventual = state.stream.eventual
        lane = state.stream.note.lane
        self.partition_nano = half_units * (lane.eventual_half if eventual else HALF_UNIT)
        self.gate = gate
        self.indexes: list[IndexDemand] = []

    def load_gates(self, now: int) -> bool:
        """Tell the gates what is asked of them if all of it passes. Returns whether there are retries."""
        self.gate.ask(now)
        total = 0
        for position, (share, count) in enumerate(self.portions):
            share.gate.ask(now)
            if self.back:
                count += sum(self.back.get(position, ()))
            share.gate.load += count * self.partition_nano
            total += count
        self.gate.load += total * self.nano
        for index in self.indexes:
            index.gate.ask(now)
            nano = index.charge.half_units * HALF_UNIT
            index.gate.load += total * nano
            for share in index.shares:
                share.gate.ask(now)
                share.gate.load += total * share.weight / ONE * nano
        return bool(self.back)

    def short(self) -> bool:
        """Whether some gate of this demand has less than is asked of it."""
        if _is_short(self.gate):
            return True
        for share, _ in self.portions:
            gate = share.gate
            if gate.load > gate.available or not gate.available:
                return True
        for index in self.indexes:
            if _is_short(index.gate):
                return True
            for share in index.shares:
                if share.gate.load > share.gate.available or not share.gate.available:
                    return True
        return False

    def index_ratio(self) -> float:
        """The part of the writes that all global indexes admit."""
        ratio = 1.0
        for index in self.indexes:
            ratio *= index.gate.ratio * index.cells_ratio()
        return ratio


def _is_short(gate: LaneGate) -> bool:
    return gate.available is not None and (gate.load > gate.available or not gate.available)


def balance(demands: list[Demand]) -> None:
    """Set the ratio of every gate these demands meet."""
    groups = _groups(demands)
    gates = [gate for group in groups for gate in group]
    for gate in gates:
        # The ratios of the second before are a good guess, but for those that let nothing through.
        gate.ratio = gate.ratio or 1.0
    for _ in range(_TURNS_MAX):
        moved = 0.0
        for group in groups:
            _load(demands, gates)
            for gate in group:
                ratio = _fitting(gate)
                moved = max(moved, abs(ratio - gate.ratio))
                gate.ratio = ratio
        if moved < _CLOSE:
            break


def _groups(demands: list[Demand]) -> list[list[Gate]]:
    """The gates in groups of which a request meets one at most: only those may be set at the same time."""
    cells: dict[int, Gate] = {}
    lanes: dict[int, Gate] = {}
    indexes: dict[int, tuple[list[Gate], dict[int, Gate]]] = {}
    for demand in demands:
        lanes[id(demand.gate)] = demand.gate
        for share, _ in demand.portions:
            cells[id(share.gate)] = share.gate
        for index in demand.indexes:
            _, mine = indexes.setdefault(id(index.gate), ([index.gate], {}))
            for share in index.shares:
                mine[id(share.gate)] = share.gate
    groups = [list(cells.values()), list(lanes.values())]
    for gate, mine in indexes.values():
        groups += [list(mine.values()), gate]
    return groups


def _fitting(gate: Gate) -> float:
    """The ratio at which a gate is charged what it has, everything else being as it is."""
    if gate.available is None:
        return 1.0
    if not gate.available:
        return 0.0
    if not gate.load:
        return gate.ratio
    return min(1.0, gate.ratio * gate.available / gate.load)


def _load(demands: list[Demand], gates: list[Gate]) -> None:
    """What is charged to every gate at the present ratios."""
    for gate in gates:
        gate.load = 0.0
    for demand in demands:
        through = demand.index_ratio()
        retries = demand.state.retries
        total = 0.0
        for position, (share, count) in enumerate(demand.portions):
            ratio = demand.gate.ratio * share.gate.ratio * through
            attempts: float = count
            if retries.waits:
                attempts = _attempts(count, demand.back.get(position), retries, ratio)
            admitted = attempts * ratio
            share.gate.load += admitted * demand.partition_nano
            total += admitted
        demand.gate.load += total * demand.nano
        for index in demand.indexes:
            nano = index.charge.half_units * HALF_UNIT
            index.gate.load += total * nano
            passing = index.cells_ratio()
            if passing:
                for share in index.shares:
                    part = share.weight / ONE * share.gate.ratio / passing
                    share.gate.load += total * part * nano


def _attempts(first: int, back: list[int] | None, retries: Retries, ratio: float) -> float:
    """Attempts of one portion in this second, with those that come back within it."""
    total = again = 0.0
    for number in range(retries.attempts):
        count = (first if number == 0 else 0) + again + (back[number] if back else 0)
        total += count
        again = count * (1 - ratio) * retries.at_once[number]
    return total
