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
from typing import TYPE_CHECKING, NamedTuple

from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.planner.gates import (
    CellGate,
    Gate,
    LaneGate,
    count_takers,
    count_whole,
    forgive,
    learn_cost,
    learn_grid,
)
from faradisc.planner.meetings import Flock, Meeting, flocks, meet
from faradisc.planner.portions import (
    Bound,
    BoundInStep,
    Polynomial,
    admitted_at_last,
    admitted_at_once,
    attempts_of,
    value_of,
)
from faradisc.planner.turnstile import ANY

if TYPE_CHECKING:
    from faradisc.planner.filling import Passage
    from faradisc.planner.lots import Lot, StreamState
    from faradisc.planner.shares import Crowd, Share
    from faradisc.planner.streams import IndexCharge

_TURNS_MAX = 60
_CLOSE = 1e-5
_GATES_MANY = 40
_TURNS_OF_MANY = 8
_CLOSE_OF_MANY = 1e-3
"""Of many gates each ratio is good enough within this part of itself, or if a better one changes what passes
by less than half a request, or after so many turns: what passes too much is debt, what passes too little is
there in the next second, and ratios begin where they were."""
_LOOKS_MAX = 4
_SAME = 0.1
"""Gates in step are looked at again if what they let through together has changed by more."""
_ALL = 0.999
_PAIRS_MAX = 100
"""Where more partitions than this meet those of indexes, what they do in step is worked out for flocks."""
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

    def flocks(self, many: bool) -> list[tuple[Flock, float]]:
        """Its tight partitions that have a grid, and what part of the requests is for each flock of them."""
        weights: dict[Gate, float] = dict(self.bound)
        found = flocks(list(weights), many)
        return [(flock, sum([weights[gate] for gate in flock.gates])) for flock in found]

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
        beyond: dict[Flock, float] = {}
        for admitted, meetings in met:
            whole = passing + sum([meeting.weight * meeting.more for meeting in meetings])
            plain = admitted * passing / whole if whole else 0.0
            others += plain - admitted
            for meeting in meetings:
                flock, ratio = meeting.other, meeting.other.ratio
                if ratio:
                    beyond[flock] = beyond.get(flock, 0.0) + plain * meeting.more / ratio
        self.tilts = {gate: (others + more) / total for flock, more in beyond.items() for gate in flock.gates}
        self.tilts[None] = others / total


class Demand:
    """What one lot of a stream asks for in one second."""

    __slots__ = (
        "admitted", "back", "bound", "chains", "crowd", "crowd_back", "crowd_first", "flocks", "free", "gate",
        "in_flocks", "indexes", "lift", "lot", "met", "nano", "partition_nano", "passages", "portions",
        "powers", "quiet_weight", "state", "tries",
    )  # fmt: skip

    def __init__(self, state: StreamState, lot: Lot, portions: list[tuple[Share, int]]) -> None:
        self.state = state
        self.chains = state.retries.chains
        """How requests are tried again within the step (planner/retries.py)."""
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
        self.powers: list[tuple[float, ...]] = []
        """The coefficients of their polynomials, power by power; if all of them are the same, once."""
        self.admitted: list[float] = []
        """How many of each come through, when that was last worked out (`admit`)."""
        self.tries = 0
        """If they are, since each request is tried until it is through or gives up: how often at most."""
        self.in_flocks: list[BoundInStep] = []
        """Those that open in step with partitions of indexes."""
        self.flocks: list[Flock] = []
        """All that are met."""
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
    def places(self) -> int:
        """How many partitions its requests are divided over, the crowd being one."""
        return 1 + len(self.portions) + sum([len(index.parts) for index in self.indexes])

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
        chains = self.chains
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
                self.bound.append(Bound(share.gate, self._attempts_of(counts)))
        for position, (share, count) in enumerate(self.portions):
            back = self.back.get(position)
            if share.gate.tight:
                counts = [float(count), *repeat(0.0, len(chains) - 1)]
                if back is not None:
                    counts = list(map(add, counts, back))
                self.bound.append(Bound(share.gate, self._attempts_of(counts)))
            else:
                rest[0] += count
                if back is not None:
                    rest = list(map(add, rest, back))
                weight += share.weight
        self.powers = list(zip(*[bound.attempts for bound in self.bound], strict=True))
        self.quiet_weight = weight
        self.free = attempts_of(rest, chains)
        for index in self.indexes:
            index.bound = [(share.gate, weight) for share, weight in index.parts if share.gate.tight]

    def _attempts_of(self, counts: list[float]) -> Polynomial:
        return counts[:1] if self.tries else attempts_of(counts, self.chains)

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

    def meet(self, many: bool) -> None:
        """Find the gates that open in step, if there are `many`, flocks of them. Requires: `divide`, and
        gates know when they open."""
        wholes: list[Gate] = [
            gate for gate in (self.gate, *(index.gate for index in self.indexes)) if gate.tight
        ]
        # With lots of their own, requests meet one partition of an index.
        wholes += [gate for index in self.indexes for gate, weight in index.bound if weight > _ALL]
        alone = flocks(wholes, False)
        self.met = [both for one, other in combinations(alone, 2) if (both := meet(one, other, 1.0))]
        self.in_flocks = []
        if not self.indexes or not self.bound:
            self.flocks = alone
            return
        bounds: dict[Gate, Bound] = {bound.gate: bound for bound in self.bound}
        mine = flocks(bounds, many)
        of_indexes = [(index, index.flocks(many)) for index in self.indexes]
        self.flocks = [*alone, *mine, *(flock for _, theirs in of_indexes for flock, _ in theirs)]
        for flock in mine:
            met: list[tuple[IndexDemand, list[Meeting]]] = []
            for index, others in of_indexes:
                meetings = [found for other, weight in others if (found := meet(flock, other, weight))]
                if meetings:
                    met.append((index, meetings))
            if met:
                self.in_flocks.append(BoundInStep([bounds[gate] for gate in flock.gates], met))

    @property
    def pairs(self) -> int:
        """How many tight partitions of indexes those of the table meet."""
        return len(self.bound) * sum([len(index.bound) for index in self.indexes])

    @property
    def in_step(self) -> bool:
        """Whether any of its gates are."""
        return bool(self.met or self.in_flocks)

    def look(self) -> bool:
        """See how gates in step let through together, at their present ratios. Returns: whether that differs
        from when this was last looked at."""
        before = [self.lift, *(each.bounds[0].lift for each in self.in_flocks)]
        for flock in self.flocks:
            flock.look()
        self.lift = 1.0
        for meeting in self.met:
            if meeting.other.ratio:
                self.lift *= 1.0 + meeting.look() / meeting.other.ratio
        for each in self.in_flocks:
            each.look()
        if self.in_flocks:
            total = self.admit(self.gate.ratio * self.index_ratio())
            through = dict(zip(self.bound, self.admitted, strict=True))
            met: dict[IndexDemand, list[tuple[float, list[Meeting]]]] = {}
            for each in self.in_flocks:
                admitted = sum([through[bound] for bound in each.bounds])
                for index, meetings in each.met:
                    met.setdefault(index, []).append((admitted, meetings))
            for index, pairs in met.items():
                index.learn_tilts(total, pairs)
        after = [self.lift, *(each.bounds[0].lift for each in self.in_flocks)]
        return any(abs(new - old) > _SAME * old for new, old in zip(after, before, strict=True))

    def index_ratio(self) -> float:
        """The part of the writes that all global indexes admit, of those whom the table's bucket does."""
        ratio = self.lift
        for index in self.indexes:
            ratio *= index.lane_ratio * index.cells_ratio()
        return ratio

    def admit(self, base: float) -> float:
        """How many requests come through at the present ratios, `base` being that of the gates that all of
        them meet."""
        bounds = self.bound
        ratios = [base * bound.gate.ratio * bound.lift for bound in bounds]
        if not bounds:
            self.admitted = []
        elif self.tries:
            self.admitted = admitted_at_last(self.powers[0], ratios, self.tries)
        else:
            self.admitted = admitted_at_once(self.powers, ratios)
        return sum(self.admitted, base * value_of(self.free, 1.0 - base))

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
        return {bound.gate: bound.lift for each in self.in_flocks for bound in each.bounds}


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


class Balanced(NamedTuple):
    begins: bool
    """Whether a partition has begun to refuse."""
    forgives: bool
    """Whether a bucket may be forgiven debt."""


def balance(demands: list[Demand], lasting_ns: int) -> Balanced:
    """Set the ratio of every gate these demands meet, in a step of so many nanoseconds. Requires:
    `load_gates`."""
    crowds = crowds_of(demands)
    groups = _groups(demands, crowds)
    gates = [gate for group in groups for gate in group]
    for gate in gates:
        # The ratios of the second before are a good guess, but for those that let nothing through.
        gate.ratio = gate.ratio or 1.0
    for demand in demands:
        demand.tell_costs()
    for gate in gates:
        learn_grid(gate)
        count_takers(gate, lasting_ns)
        forgive(gate, lasting_ns)
    forgives = any(gate.most < ANY for gate in gates)
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
        many = sum([demand.pairs for demand in demands]) > _PAIRS_MAX
        for demand in demands:
            demand.meet(many)
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
            gate.grid = None
        gates += more
        groups.insert(0, more)
        _see_tight(crowds)
    new = False
    for gate in gates:
        if isinstance(gate, CellGate) and gate.ratio < _REFUSES_BELOW:
            gate.refused_ns = gate.asked_ns
            if not gate.refuses:
                gate.refuses = new = True
    return Balanced(new, forgives)


def _solve(demands: list[Demand], groups: list[list[Gate]], gates: list[Gate]) -> None:
    many = len(gates) > _GATES_MANY
    for _ in range(_TURNS_OF_MANY if many else _TURNS_MAX):
        settled = True
        for group in groups:
            _load(demands, gates)
            for gate in group:
                before = gate.ratio
                gate.ratio = ratio = _fitting(gate)
                settled = settled and abs(ratio - before) <= (_near(gate) if many else _CLOSE)
        if settled:
            break


def _overlooked(demands: list[Demand]) -> list[Gate]:
    """Partitions of crowds that are asked for more than they have, even as it is."""
    asked: dict[Crowd, float] = {}
    for demand in demands:
        if demand.crowd is not None and demand.quiet_weight:
            base = demand.gate.ratio * demand.index_ratio()
            passing = base * value_of(demand.free, 1.0 - base)
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


def _near(gate: Gate) -> float:
    """How far from its present ratio a gate's ratio may be, if it is one of many."""
    half = gate.cost / (2 * gate.available) if gate.available and gate.cost > 0 else 0.0
    return gate.ratio * max(_CLOSE_OF_MANY, half)


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
        total = demand.admit(base)
        nano = demand.partition_nano
        for bound, admitted in zip(demand.bound, demand.admitted, strict=True):
            bound.gate.load += admitted * nano
        demand.gate.load += total * demand.nano
        for index, part in zip(demand.indexes, passing, strict=True):
            charged = total * index.nano
            index.gate.load += charged
            if part:
                tilts = index.tilts
                others = tilts.get(None, 1.0)
                for gate, weight in index.bound:
                    gate.load += charged * weight * gate.ratio / part * tilts.get(gate, others)
