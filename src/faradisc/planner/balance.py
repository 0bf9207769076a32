"""How much every gate lets through when something is short, in one second of the fluid engine.

A request passes when its table's bucket, its partition and all its global indexes admit it. A gate that is
short admits a fraction of those who ask, and only what passes *all* gates is charged. So the fractions
depend on each other: a partition that stops half of the traffic relieves the bucket of its table. They are
found by taking the gates by turns and setting each so that what is charged to it is what it has, until
nothing changes. Every turn solves its own gates exactly, and fractions only need to be as good as counts.
Only the *tight* gates take part: those that could not serve all that is asked of them.

Gates admit independently of each other, but for those that open in step (planner/instep.py). What those
let through together is worked out from the fractions before; if new fractions change it, all is done again.

Fractions are floats of plain arithmetic (the same on every machine); balances and counts stay integers.

Source: capacity.md section 3.2 ("Fluid step order"), with its scaling by turns in place of one pass, since
one pass would blame the table for requests that a partition stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, repeat
from operator import add, sub
from typing import TYPE_CHECKING

from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.planner.gates import (
    CellGate,
    Gate,
    LaneGate,
    Pair,
    count_takers,
    count_whole,
    forgive,
    in_step,
    learn_cost,
)
from faradisc.planner.instep import open_too

if TYPE_CHECKING:
    from faradisc.planner.filling import Passage
    from faradisc.planner.lots import Lot, StreamState
    from faradisc.planner.shares import Crowd, Share
    from faradisc.planner.streams import IndexCharge

_TURNS_MAX = 60
_CLOSE = 1e-5
_LOOKS_MAX = 4
_SAME = 0.1
"""Gates in step are looked at again if what they let through together has changed by more."""
_ALL = 0.999
_REFUSES_BELOW = 0.99
"""A partition that refuses less is left in its crowd for now: what it serves too much is its debt."""


class IndexDemand:
    """What the writes of one stream ask of one global index."""

    __slots__ = ("bound", "charge", "gate", "nano", "parts", "tilts")

    def __init__(self, charge: IndexCharge, parts: list[tuple[Share, float]], gate: LaneGate) -> None:
        self.charge = charge
        self.nano = charge.half_units * HALF_UNIT
        self.parts = parts
        """Partitions, and what part of the requests of this second is for each."""
        self.gate = gate
        self.bound: list[tuple[CellGate, float]] = []
        """Those that are tight."""
        self.tilts: dict[Gate | None, float] = {}
        """By partition, how many times as many requests come through as if nothing were in step; None: all
        that are not here."""

    @property
    def lane_ratio(self) -> float:
        return self.gate.ratio if self.nano else self.gate.open_to_others

    def cells_ratio(self) -> float:
        return 1.0 - sum([weight * (1.0 - gate.ratio) for gate, weight in self.bound])

    def tilt(self, gate: Gate) -> float:
        tilts = self.tilts
        return tilts.get(gate, tilts[None]) if tilts else 1.0

    def learn_tilts(self, total: float, met: list[tuple[float, list[Meeting]]]) -> None:
        """Of `total` requests that come through, those of some of the table's partitions have met some here
        in step: so many, and these."""
        passing = self.cells_ratio()
        if not total or not passing:
            self.tilts = {}
            return
        others = total
        beyond: dict[Gate, float] = {}
        for admitted, meetings in met:
            whole = passing + sum([meeting.weight * meeting.more for meeting in meetings])
            plain = admitted * passing / whole if whole else 0.0
            others += plain - admitted
            for meeting in meetings:
                gate = meeting.other
                if gate.ratio:
                    beyond[gate] = beyond.get(gate, 0.0) + plain * meeting.more / gate.ratio
        self.tilts = {gate: (others + more) / total for gate, more in beyond.items()}
        self.tilts[None] = others / total


class Meeting:
    """Two gates of one request that open in step, and so let it through more or less often than by chance."""

    __slots__ = ("_seen", "more", "offset", "one", "other", "periods", "weight")

    def __init__(self, one: Gate, other: Gate, pair: Pair, weight: float) -> None:
        self.one = one
        self.other = other
        self.periods, self.offset = pair
        self.weight = weight
        """What part of the requests that meet the one meet the other."""
        self._seen = (-1.0, -1.0)
        self.more = 0.0
        """The part of those who pass the one that passes the other, beyond those who would by chance."""

    def look(self) -> float:
        """Set `more` by the present ratios, and return it."""
        one, other = self.one.ratio, self.other.ratio
        before = self._seen
        if abs(one - before[0]) > _CLOSE * one or abs(other - before[1]) > _CLOSE * other:
            self._seen = (one, other)
            self.more = open_too(one, other, self.periods, self.offset) - other
        return self.more


Polynomial = list[float]
"""How many attempts a portion makes in a second, as a polynomial of the part that is refused each time:
coefficients from the highest power down. The constant is those who come anyway, the rest comes back."""


class Bound:
    """A portion whose partition is tight."""

    __slots__ = ("attempts", "gate", "lift", "met")

    def __init__(self, gate: CellGate, attempts: Polynomial) -> None:
        self.gate = gate
        self.attempts = attempts
        self.met: list[tuple[IndexDemand, list[Meeting]]] = []
        """By index, its partitions that open in step with this one."""
        self.lift = 1.0
        """How many times as many requests come through as if nothing were in step."""

    def look(self) -> None:
        """Set `lift` by the present ratios."""
        self.lift = 1.0
        for index, meetings in self.met:
            passing = index.cells_ratio()
            if passing:
                self.lift *= 1.0 + sum([meeting.weight * meeting.look() for meeting in meetings]) / passing


class Demand:
    """What one lot of a stream asks for in one second."""

    __slots__ = (
        "back", "bound", "crowd", "crowd_back", "crowd_first", "free", "gate", "indexes", "lift", "lot",
        "met", "nano", "partition_nano", "passages", "portions", "quiet_weight", "state",
    )  # fmt: skip

    def __init__(self, state: StreamState, lot: Lot, portions: list[tuple[Share, int]]) -> None:
        self.state = state
        self.lot = lot
        self.portions = portions
        """Partitions and the first attempts there, but for those in the crowd."""
        self.back: dict[int, list[int]] = {}
        """Retries by portion and attempt."""
        self.crowd: Crowd | None = None
        self.crowd_first = 0
        """First attempts at its partitions."""
        self.crowd_back: list[int] | None = None
        """Retries there, by attempt."""
        self.nano = state.stream.half_units * HALF_UNIT
        self.partition_nano = state.division.nano
        self.gate = state.gate
        self.indexes: list[IndexDemand] = []
        self.bound: list[Bound] = []
        self.met: list[Meeting] = []
        """Gates that all requests meet, and that open in step."""
        self.lift = 1.0
        """How many times as many requests come through these as if they were not."""
        self.free: Polynomial = []
        """Those of all the others."""
        self.quiet_weight = 0
        """The weight of these."""
        self.passages: list[Passage] = []
        """Once the gates are set: what they have let through."""

    @property
    def returning(self) -> bool:
        """Whether there are retries."""
        return bool(self.back) or self.crowd_back is not None

    def load_gates(self, now: int, lasting_ns: int) -> None:
        """Tell the gates what is asked of them if all of it passes: the most that can be. The crowd tells its
        own."""
        self.gate.ask(now, lasting_ns)
        total = self.crowd_first + sum(self.crowd_back or ())
        if self.crowd is not None:
            self.crowd.asked += total
        for position, (share, count) in enumerate(self.portions):
            gate = share.gate
            gate.ask(now, lasting_ns)
            if self.back:
                count += sum(self.back.get(position, ()))
            gate.load += count * self.partition_nano
            total += count
        self.gate.load += total * self.nano
        for index in self.indexes:
            index.gate.ask(now, lasting_ns)
            nano = index.nano
            index.gate.load += total * nano
            for share, weight in index.parts:
                gate = share.gate
                gate.ask(now, lasting_ns)
                gate.load += total * weight * nano

    def short(self) -> bool:
        """Whether some gate of this demand has less than is asked of it, those of the crowd left out."""
        if self.gate.short or any(share.gate.short for share, _ in self.portions):
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
        rest = [float(self.crowd_first), *repeat(0.0, len(chains) - 1)]
        if self.crowd_back is not None:
            rest = list(map(add, rest, self.crowd_back))
        weight = 0
        if self.crowd is not None:
            weight = self.crowd.weight
            whole = rest
            for share in self.crowd.tight:
                part = share.weight / self.crowd.weight
                counts = [count * part for count in whole]
                rest = list(map(sub, rest, counts))
                weight -= share.weight
                self.bound.append(Bound(share.gate, _attempts(counts, chains)))
        for position, (share, count) in enumerate(self.portions):
            back = self.back.get(position)
            if share.gate.tight:
                counts = [float(count), *repeat(0.0, len(chains) - 1)]
                if back is not None:
                    counts = list(map(add, counts, back))
                self.bound.append(Bound(share.gate, _attempts(counts, chains)))
            else:
                rest[0] += count
                if back is not None:
                    rest = list(map(add, rest, back))
                weight += share.weight
        self.quiet_weight = weight
        self.free = _attempts(rest, chains)
        for index in self.indexes:
            index.bound = [(share.gate, weight) for share, weight in index.parts if share.gate.tight]

    def tell_costs(self) -> None:
        """Tell tight gates what one request takes."""
        learn_cost(self.gate, self.nano)
        for share, _ in self.portions:
            if share.gate.tight:
                learn_cost(share.gate, self.partition_nano)
        if self.crowd is not None:
            for share in self.crowd.tight:
                learn_cost(share.gate, self.partition_nano)
        for index in self.indexes:
            learn_cost(index.gate, index.nano)
            for share, _ in index.parts:
                if share.gate.tight:
                    learn_cost(share.gate, index.nano)

    def meet(self) -> None:
        """Find the gates that open in step. Requires: `divide`, and all demands have told their costs."""
        wholes: list[Gate] = [
            gate for gate in (self.gate, *(index.gate for index in self.indexes)) if gate.tight
        ]
        # With lots of their own, requests meet one partition of an index.
        wholes += [gate for index in self.indexes for gate, weight in index.bound if weight > _ALL]
        self.met = []
        for one, other in combinations(wholes, 2):
            pair = in_step(one, other)
            if pair is not None:
                self.met.append(Meeting(one, other, pair, 1.0))
        for bound in self.bound:
            for index in self.indexes:
                meetings = [
                    Meeting(bound.gate, gate, pair, weight)
                    for gate, weight in index.bound
                    if (pair := in_step(bound.gate, gate)) is not None
                ]
                if meetings:
                    bound.met.append((index, meetings))

    @property
    def in_step(self) -> bool:
        """Whether any of its gates are."""
        return bool(self.met) or any(bound.met for bound in self.bound)

    def look(self) -> bool:
        """See how gates in step let through together, at their present ratios. Returns: whether that differs
        from when this was last looked at."""
        before = [self.lift, *(bound.lift for bound in self.bound if bound.met)]
        self.lift = 1.0
        for meeting in self.met:
            if meeting.other.ratio:
                self.lift *= 1.0 + meeting.look() / meeting.other.ratio
        met: dict[IndexDemand, list[tuple[float, list[Meeting]]]] = {}
        for bound in self.bound:
            if bound.met:
                bound.look()
                for index, meetings in bound.met:
                    met.setdefault(index, []).append((self.admitted(bound), meetings))
        if met:
            total = self.total()
            for index, pairs in met.items():
                index.learn_tilts(total, pairs)
        after = [self.lift, *(bound.lift for bound in self.bound if bound.met)]
        return any(abs(new - old) > _SAME * old for new, old in zip(after, before, strict=True))

    def index_ratio(self) -> float:
        """The part of the writes that all global indexes admit, of those whom the table's bucket does."""
        ratio = self.lift
        for index in self.indexes:
            ratio *= index.lane_ratio * index.cells_ratio()
        return ratio

    def admitted(self, bound: Bound) -> float:
        """How many requests of a portion come through at the present ratios."""
        ratio = min(self.gate.ratio * self.index_ratio() * bound.gate.ratio * bound.lift, 1.0)
        return ratio * _value(bound.attempts, 1.0 - ratio)

    def total(self) -> float:
        """How many requests come through."""
        base = self.gate.ratio * self.index_ratio()
        return base * _value(self.free, 1.0 - base) + sum(map(self.admitted, self.bound))

    @property
    def most(self) -> int:
        """How many more requests the table's bucket and its indexes may let through in this step."""
        return min([self.gate.most, *(gate.most for gate in self.beyond())])

    def count_out(self, admitted: int) -> None:
        """So many have come through."""
        self.gate.most -= admitted
        for gate in self.beyond():
            gate.most -= admitted

    def beyond(self) -> list[Gate]:
        """The gates of indexes that all of these requests meet, and are charged by."""
        found: list[Gate] = []
        for index in self.indexes:
            if index.nano:
                found.append(index.gate)
                if len(index.parts) == 1:
                    found.append(index.parts[0][0].gate)
        return found

    def lifts(self) -> dict[CellGate, float]:
        """By partition of the table, how many times as many requests come through as if nothing were in step;
        those that are not here: 1."""
        return {bound.gate: bound.lift for bound in self.bound if bound.met}


def overdraw(demands: list[Demand]) -> None:
    """Count in what the last request of a part of a second takes beyond its partition's balance, half of its
    cost on the average. From one second to the next that makes no difference, for it is debt then; between
    two stretches in which a partition is asked for anything it is made good. Requires: `load_gates`."""
    costs: dict[CellGate, int] = {}

    def learn(gate: CellGate, nano: int) -> None:
        costs[gate] = max(costs.get(gate, 0), nano)

    for demand in demands:
        for share, count in demand.portions:
            if count:
                learn(share.gate, demand.partition_nano)
        if demand.crowd is not None and demand.crowd_first:
            for share in demand.crowd.shares:
                learn(share.gate, demand.partition_nano)
        for index in demand.indexes:
            for share, _ in index.parts:
                learn(share.gate, index.nano)
    for gate, nano in costs.items():
        if gate.available:
            gate.available += nano // 2


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


def balance(demands: list[Demand], lasting_ns: int) -> bool:
    """Set the ratio of every gate these demands meet, in a step of so many nanoseconds. Requires:
    `load_gates`.

    Returns: whether a partition has begun to refuse.
    """
    crowds = crowds_of(demands)
    groups = _groups(demands, crowds)
    gates = [gate for group in groups for gate in group]
    for gate in gates:
        # The ratios of the second before are a good guess, but for those that let nothing through.
        gate.ratio = gate.ratio or 1.0
    for demand in demands:
        demand.tell_costs()
    for gate in gates:
        count_takers(gate, lasting_ns)
        forgive(gate, lasting_ns)
    if lasting_ns == SECOND_NS:
        for demand in demands:
            for gate in (demand.gate, *demand.beyond(), *(share.gate for share, _ in demand.portions)):
                count_whole(gate)
        for crowd in crowds:
            for share in crowd.tight:
                count_whole(share.gate)
    while True:
        for demand in demands:
            demand.divide()
        for demand in demands:
            demand.meet()
        in_step = [demand for demand in demands if demand.in_step]
        for demand in in_step:
            demand.look()
        for _ in range(_LOOKS_MAX):
            _solve(demands, groups, gates)
            changed = [demand.look() for demand in in_step]
            if not any(changed):
                break
        more = _overlooked(demands)
        if not more:
            break
        for gate in more:
            gate.tight = True
            gate.cost = 0
        gates += more
        groups.insert(0, more)
        _see_tight(crowds)
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
    asked: dict[Crowd, float] = {}
    for demand in demands:
        if demand.crowd is not None and demand.quiet_weight:
            base = demand.gate.ratio * demand.index_ratio()
            passing = base * _value(demand.free, 1.0 - base)
            each = passing * demand.partition_nano / demand.quiet_weight
            asked[demand.crowd] = asked.get(demand.crowd, 0.0) + each
    loads: dict[Gate, float] = {}
    found: dict[Gate, None] = {}
    for crowd, each in asked.items():
        for share in crowd.shares:
            gate = share.gate
            if not gate.tight:
                load = loads[gate] = loads.get(gate, 0.0) + share.weight * each
                if load > gate.available:
                    found[gate] = None
    return list(found)


def crowds_of(demands: list[Demand]) -> dict[Crowd, int]:
    """The crowds of these demands, and what a request takes there."""
    return {demand.crowd: demand.partition_nano for demand in demands if demand.crowd is not None}


def _see_tight(crowds: Iterable[Crowd]) -> None:
    for crowd in crowds:
        crowd.tight = [share for share in crowd.shares if share.gate.tight]


def _groups(demands: list[Demand], crowds: Iterable[Crowd]) -> list[list[Gate]]:
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
            _sort_out(share.gate, cells)
        for index in demand.indexes:
            whole, parts = indexes.setdefault(id(index.gate), ({}, {}))
            _sort_out(index.gate, whole)
            for share, _ in index.parts:
                _sort_out(share.gate, parts)
    for crowd in crowds:
        for share in crowd.shares:
            gate = share.gate
            if not gate.available:
                _sort_out(gate, cells)
            elif id(gate) not in cells:
                gate.tight = False
                gate.ratio = 1.0
    _see_tight(crowds)
    groups = [cells, lanes]
    for whole, parts in indexes.values():
        groups += [parts, whole]
    return [list(group.values()) for group in groups if group]


def _sort_out(gate: Gate, into: dict[int, Gate]) -> None:
    gate.tight = gate.short
    if gate.tight:
        into[id(gate)] = gate
        gate.cost = 0
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
        base = demand.gate.ratio * demand.lift
        passing = [index.cells_ratio() for index in demand.indexes]
        for index, part in zip(demand.indexes, passing, strict=True):
            base *= index.lane_ratio * part
        total = base * _value(demand.free, 1.0 - base)
        for bound in demand.bound:
            gate = bound.gate
            ratio = min(base * gate.ratio * bound.lift, 1.0)
            admitted = ratio * _value(bound.attempts, 1.0 - ratio)
            gate.load += admitted * demand.partition_nano
            total += admitted
        demand.gate.load += total * demand.nano
        for index, part in zip(demand.indexes, passing, strict=True):
            charged = total * index.nano
            index.gate.load += charged
            if part:
                for gate, weight in index.bound:
                    gate.load += charged * weight * gate.ratio / part * index.tilt(gate)
