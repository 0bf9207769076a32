"""How much every gate lets through when something is short, in one second of the fluid engine.

A request passes when its table's bucket, its partition and all its global indexes admit it. A gate that is
short admits a fraction of those who ask, and only what passes *all* gates is charged. So the fractions
depend on each other: a partition that stops half of the traffic relieves the bucket of its table. They are
found by taking the gates by turns and setting each so that what is charged to it is what it has, until
nothing changes. Every turn solves its own gates exactly, and fractions only need to be as good as counts.
Only the *tight* gates take part: those that could not serve all that is asked of them.

Fractions are floats of plain arithmetic (the same on every machine); balances and counts stay integers.

Source: capacity.md section 3.2 ("Fluid step order"), with its scaling by turns in place of one pass, since
one pass would blame the table for requests that a partition stops.
"""

from __future__ import annotations

from itertools import repeat
from operator import add
from typing import TYPE_CHECKING

from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.partitions import Cell
from faradisc.capacity.throttle import Cause
from faradisc.capacity.topology import hash_bounds
from faradisc.planner.keys import BITS

if TYPE_CHECKING:
    from faradisc.planner.lots import Lot, StreamState
    from faradisc.planner.observe import LaneNote
    from faradisc.planner.shares import Crowd, Share
    from faradisc.planner.streams import IndexCharge

_TURNS_MAX = 60
_CLOSE = 1e-5
_BINDING = 0.999
_REFUSES_BELOW = 0.99
"""A partition that refuses less is left in its crowd for now: what it serves too much is its debt."""


class LaneGate:
    """The bucket of a table or index: provisioned rate or configured on-demand maximum."""

    __slots__ = ("asked_ns", "available", "load", "note", "ratio", "tight")

    def __init__(self, note: LaneNote) -> None:
        self.note = note
        self.tight = False
        """Whether it is one of those that `balance` has to set: all the others let everything through."""
        self.available: int | None = None
        """Nano-units in this second; None: no such gate."""
        self.load = 0.0
        self.ratio = 1.0
        self.asked_ns = -1

    @property
    def binds(self) -> bool:
        """Whether it is charged all it has: then it is what stops requests, perhaps with others that are."""
        return self.tight and self.available is not None and self.load >= self.available * _BINDING

    @property
    def short(self) -> bool:
        """Whether it has less than is asked of it, or nothing."""
        return self.available is not None and (self.load > self.available or not self.available)

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
        else:
            self.available = max(bucket.balance(now) + bucket.rate * 1_000_000_000, 0)


class CellGate:
    """One direction of one partition."""

    __slots__ = (
        "asked_ns",
        "at_ns",
        "available",
        "bounds",
        "calm_below",
        "cell",
        "load",
        "ratio",
        "refused_ns",
        "refuses",
        "tight",
    )

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.bounds = hash_bounds(cell.partition)
        self.tight = False
        self.refuses = False
        """Whether it has refused anything lately."""
        self.refused_ns = 0
        self.calm_below = -1
        """A load up to this leaves the partition as it is: its bucket is full, and what is taken flows in
        again before the next second. Such charges can wait."""
        self.available = 0
        self.load = 0.0
        self.ratio = 1.0
        self.asked_ns = -1
        self.at_ns = -1
        """When this second's requests are charged: at its beginning, or at that of their stretch of it."""

    def ask(self, now: int) -> None:
        if self.asked_ns == now:
            return
        self.asked_ns = self.at_ns = now
        self.load = 0.0
        cell = self.cell
        income = cell.rate * 1_000_000_000
        held = cell.balance(now)
        available = held + income
        share = cell.share
        self.calm_below = income if held == cell.cap and share is None else -1
        if share is not None:
            income = share.rate * 1_000_000_000 // share.scale
            available = min(available, share.balance(now) + income)
        self.available = max(available, 0)

    def narrow(self, begin: int, end: int, overdraft: int) -> None:
        """All requests of this second come from `begin` to `end`, parts of `ONE`: before that a full bucket
        gains nothing, and what flows in afterwards is too late for them. Between two such stretches it fills
        up again, so that what the last request takes beyond its balance, `overdraft` nano-units on the
        average, is served as well."""
        self.at_ns = at_ns = self.asked_ns + (begin * SECOND_NS >> BITS)
        lasting_ns = (end - begin) * SECOND_NS >> BITS
        cell, share = self.cell, self.cell.share
        available = cell.balance(at_ns) + cell.rate * lasting_ns
        if share is not None:
            available = min(available, share.balance(at_ns) + share.rate * lasting_ns // share.scale)
        self.available = available + overdraft if available > 0 else 0
        self.calm_below = -1

    @property
    def short(self) -> bool:
        """Whether it has less than is asked of it, or nothing."""
        return self.load > self.available or not self.available


Gate = LaneGate | CellGate


class IndexDemand:
    """What the writes of one stream ask of one global index."""

    __slots__ = ("bound", "charge", "gate", "nano", "parts")

    def __init__(self, charge: IndexCharge, parts: list[tuple[Share, float]], gate: LaneGate) -> None:
        self.charge = charge
        self.nano = charge.half_units * HALF_UNIT
        self.parts = parts
        """Partitions, and what part of the requests of this second is for each."""
        self.gate = gate
        self.bound: list[tuple[CellGate, float]] = []
        """Those that are tight."""

    def cells_ratio(self) -> float:
        return 1.0 - sum([weight * (1.0 - gate.ratio) for gate, weight in self.bound])


Polynomial = list[float]
"""How many attempts a portion makes in a second, as a polynomial of the part that is refused each time:
coefficients from the highest power down. The constant is those who come anyway, the rest comes back."""


class Demand:
    """What one lot of a stream asks for in one second."""

    __slots__ = (
        "back", "bound", "crowd", "crowd_back", "free", "gate", "half_units", "indexes", "lot", "nano",
        "partition_nano", "portions", "state",
    )  # fmt: skip

    def __init__(
        self,
        state: StreamState,
        lot: Lot,
        portions: list[tuple[Share, int]],
        half_units: int,
        gate: LaneGate,
    ) -> None:
        self.state = state
        self.lot = lot
        self.portions = portions
        """Partitions and the first attempts there."""
        self.back: dict[int, list[int]] = {}
        """Retries by portion and attempt."""
        self.crowd: Crowd | None = None
        self.crowd_back: list[int] | None = None
        """Retries of the portions in the crowd, by attempt."""
        self.half_units = half_units
        self.nano = half_units * HALF_UNIT
        eventual = state.stream.eventual
        lane = state.stream.note.lane
        self.partition_nano = half_units * (lane.eventual_half if eventual else HALF_UNIT)
        self.gate = gate
        self.indexes: list[IndexDemand] = []
        self.bound: list[tuple[Gate, Polynomial]] = []
        """The attempts of the portions whose partition is tight."""
        self.free: Polynomial = []
        """Those of all the others."""

    @property
    def returning(self) -> bool:
        """Whether there are retries."""
        return bool(self.back) or self.crowd_back is not None

    def load_gates(self, now: int) -> None:
        """Tell the gates what is asked of them if all of it passes: the most that can be."""
        self.gate.ask(now)
        total = 0
        if self.crowd is not None and self.crowd_back is not None:
            total = sum(self.crowd_back)
            each = total * self.partition_nano / self.crowd.weight
            for share in self.crowd.shares:
                share.gate.ask(now)
                share.gate.load += share.weight * each
        for position, (share, count) in enumerate(self.portions):
            gate = share.gate
            gate.ask(now)
            if self.back:
                count += sum(self.back.get(position, ()))
            gate.load += count * self.partition_nano
            total += count
        self.gate.load += total * self.nano
        for index in self.indexes:
            index.gate.ask(now)
            nano = index.nano
            index.gate.load += total * nano
            for share, weight in index.parts:
                gate = share.gate
                gate.ask(now)
                gate.load += total * weight * nano

    def short(self) -> bool:
        """Whether some gate of this demand has less than is asked of it."""
        if self.gate.short:
            return True
        for share, _ in self.portions:
            gate = share.gate
            # As `short`, written out: every second of an ordinary day asks every partition.
            if gate.load > gate.available or not gate.available:
                return True
        for index in self.indexes:
            if index.gate.short:
                return True
            for share, _ in index.parts:
                if share.gate.load > share.gate.available or not share.gate.available:
                    return True
        return False

    def divide(self) -> None:
        """Tell what depends on a tight partition from what does not. Requires: gates know if they are."""
        self.bound.clear()
        chains = self.state.retries.chains
        rest = [0.0] * len(chains)
        together = self.crowd.weight if self.crowd is not None else 0
        for position, (share, count) in enumerate(self.portions):
            gate = share.gate
            if gate.tight:
                counts = [0.0] * len(chains)
                if self.crowd is not None and not gate.refuses:
                    together -= share.weight
                    counts = self._crowd_part(share.weight)
                counts = list(map(add, counts, self.back.get(position) or repeat(0)))
                counts[0] += count
                self.bound.append((gate, _attempts(counts, chains)))
            else:
                rest[0] += count
                if position in self.back:
                    rest = list(map(add, rest, self.back[position]))
        rest = list(map(add, rest, self._crowd_part(together)))
        self.free = _attempts(rest, chains)
        for index in self.indexes:
            index.bound = [(share.gate, weight) for share, weight in index.parts if share.gate.tight]

    def _crowd_part(self, weight: int) -> list[float]:
        """The retries of so much of the crowd."""
        if self.crowd is None or self.crowd_back is None:
            return [0.0] * self.state.retries.attempts
        part = weight / self.crowd.weight
        return [held * part for held in self.crowd_back]

    def index_ratio(self) -> float:
        """The part of the writes that all global indexes admit."""
        ratio = 1.0
        for index in self.indexes:
            ratio *= index.gate.ratio * index.cells_ratio()
        return ratio


_ALL = 0.999


def narrow(demands: list[Demand]) -> None:
    """Tell partitions of which keys are taken in order, and which nobody else asks, in what part of the
    second they are asked. Requires: `load_gates` of all demands."""
    asked: dict[CellGate, tuple[int, int, float, int]] = {}

    def extend(share: Share, load: float, nano: int) -> None:
        if share.stretch is not None and load:
            begin, end, loaded, most = asked.get(share.gate, (*share.stretch, 0.0, 0))
            begin, end = min(begin, share.stretch[0]), max(end, share.stretch[1])
            asked[share.gate] = (begin, end, loaded + load, max(most, nano))

    for demand in demands:
        for share, count in demand.portions:
            extend(share, count * demand.partition_nano, demand.partition_nano)
        total = sum(count for _, count in demand.portions)
        for index in demand.indexes:
            for share, weight in index.parts:
                extend(share, total * weight * index.nano, index.nano)
    for gate, (begin, end, load, nano) in asked.items():
        if load >= gate.load * _ALL:
            gate.narrow(begin, end, nano // 2)


def _attempts(counts: list[float], chains: tuple[tuple[float, ...], ...]) -> Polynomial:
    """The attempts of so many requests, by how often they have been tried before."""
    found = [0.0] * len(chains[0])
    last = len(found) - 1
    for count, chain in zip(counts, chains, strict=True):
        if count:
            for power, part in enumerate(chain):
                found[last - power] += count * part
    return found


def _value(polynomial: Polynomial, refused: float) -> float:
    value = 0.0
    for coefficient in polynomial:
        value = value * refused + coefficient
    return value


def balance(demands: list[Demand]) -> bool:
    """Set the ratio of every gate these demands meet. Requires: `load_gates`.

    Returns: whether a partition has begun to refuse.
    """
    groups = _groups(demands)
    gates = [gate for group in groups for gate in group]
    for gate in gates:
        # The ratios of the second before are a good guess, but for those that let nothing through.
        gate.ratio = gate.ratio or 1.0
    while True:
        for demand in demands:
            demand.divide()
        _solve(demands, groups, gates)
        more = _overlooked(demands)
        if not more:
            break
        for gate in more:
            gate.tight = True
        gates += more
        groups.insert(0, more)
    new = False
    for gate in gates:
        if isinstance(gate, CellGate) and gate.ratio < _REFUSES_BELOW:
            gate.refused_ns = gate.asked_ns
            if not gate.refuses:
                gate.refuses = new = True
    return new


def _solve(demands: list[Demand], groups: list[list[Gate]], gates: list[Gate]) -> None:
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


def _overlooked(demands: list[Demand]) -> list[Gate]:
    """Partitions of crowds that are asked for more than they have, even as it is."""
    loads: dict[int, float] = {}
    found: dict[int, Gate] = {}
    for demand in demands:
        if demand.crowd is None:
            continue
        base = demand.gate.ratio * demand.index_ratio()
        quiet = [share for share, _ in demand.portions if not share.gate.tight]
        weight = sum([share.weight for share in quiet])
        if not weight:
            continue
        each = base * _value(demand.free, 1.0 - base) * demand.partition_nano / weight
        for share in quiet:
            gate = share.gate
            load = loads[id(gate)] = loads.get(id(gate), 0.0) + share.weight * each
            if load > gate.available:
                found[id(gate)] = gate
    return list(found.values())


def _groups(demands: list[Demand]) -> list[list[Gate]]:
    """The tight gates in groups of which a request meets one at most: only those may be set at the same time.

    A gate that could serve all that is asked of it is not tight, whatever the others do: it lets everything
    through, and takes no part. Partitions of a crowd seldom are, and are looked at afterwards.
    """
    cells: dict[int, Gate] = {}
    lanes: dict[int, Gate] = {}
    indexes: dict[int, tuple[dict[int, Gate], dict[int, Gate]]] = {}
    for demand in demands:
        _sort_out(demand.gate, lanes)
        for share, _ in demand.portions:
            gate = share.gate
            if demand.crowd is None or gate.refuses or not gate.available:
                _sort_out(gate, cells)
            elif id(gate) not in cells:
                gate.tight = False
                gate.ratio = 1.0
        for index in demand.indexes:
            whole, parts = indexes.setdefault(id(index.gate), ({}, {}))
            _sort_out(index.gate, whole)
            for share, _ in index.parts:
                _sort_out(share.gate, parts)
    groups = [cells, lanes]
    for whole, parts in indexes.values():
        groups += [parts, whole]
    return [list(group.values()) for group in groups if group]


def _sort_out(gate: Gate, into: dict[int, Gate]) -> None:
    gate.tight = gate.short
    if gate.tight:
        into[id(gate)] = gate
    else:
        gate.ratio = 1.0


def _fitting(gate: Gate) -> float:
    """The ratio at which a tight gate is charged what it has, everything else being as it is."""
    if not gate.available:
        return 0.0
    if not gate.load:
        return gate.ratio
    return min(1.0, gate.ratio * gate.available / gate.load)


def _load(demands: list[Demand], gates: list[Gate]) -> None:
    """What is charged to every tight gate at the present ratios."""
    for gate in gates:
        gate.load = 0.0
    for demand in demands:
        base = demand.gate.ratio
        passing = [index.cells_ratio() for index in demand.indexes]
        for index, ratio in zip(demand.indexes, passing, strict=True):
            base *= index.gate.ratio * ratio
        total = base * _value(demand.free, 1.0 - base)
        for gate, attempts in demand.bound:
            ratio = base * gate.ratio
            admitted = ratio * _value(attempts, 1.0 - ratio)
            gate.load += admitted * demand.partition_nano
            total += admitted
        demand.gate.load += total * demand.nano
        for index, ratio in zip(demand.indexes, passing, strict=True):
            charged = total * index.nano
            index.gate.load += charged
            if ratio:
                for gate, weight in index.bound:
                    gate.load += charged * weight * gate.ratio / ratio
