"""How much every gate lets through when something is short, in one second of the fluid engine.

A request passes when its table's bucket, its partition and all its global indexes admit it. A gate that is
short admits a fraction of those who ask, and only what passes *all* gates is charged. So the fractions
depend on each other: a partition that stops half of the traffic relieves the bucket of its table. They are
found by taking the gates by turns and setting each so that what is charged to it is what it has, as far as
its load tells how it answers (Newton's method, gate by gate), until nothing changes. Fractions only need to
be as good as counts. Where no index takes part they are found directly (tools/planner/levels.py).
Only the *tight* gates take part: those that could not serve all that is asked of them.

Gates admit independently of each other, but for those that open in step (tools/planner/instep.py). What those
let through together is worked out from the fractions before; if new fractions change it, all is done again.

Fractions are floats of plain arithmetic (the same on every machine); balances and counts stay integers.

Source: capacity.md section 3.2 ("Fluid step order"), with its scaling by turns in place of one pass, since
one pass would blame the table for requests that a partition stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.gates import CellGate, Gate, count_takers, count_whole, forgive, learn_grid
from faradisc.tools.planner.levels import set_ratios
from faradisc.tools.planner.loads import Loads
from faradisc.tools.planner.portions import value_of
from faradisc.tools.planner.turnstile import ANY

if TYPE_CHECKING:
    from faradisc.tools.planner.demands import Demand
    from faradisc.tools.planner.shares import Crowd

_TURNS_MAX = 5
_LEARNED = 2
"""In so many of them it is looked how loads answer to ratios."""
_CLOSE = 1e-3
_LOAD_CLOSE = 0.01
"""A ratio is good enough within the first part of itself, or if a better one changes what passes by less
than half a request, or if what passes is what there is within the second, or after so many turns: what passes
too much is debt, what passes too little is there in the next second, and ratios begin where they were.
(Partitions of a table and an index that are asked by the same requests have no ratio each, but a product.)"""
_LOOKS_MAX = 4
_PAIRS_MAX = 100
"""Where more partitions than this meet those of indexes, what they do in step is worked out for flocks."""
_REFUSES_BELOW = 0.99
"""A partition that refuses less is left in its crowd for now: what it serves too much is its debt."""


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
    keep_time = any(gate.grid is not None for gate in gates)
    if lasting_ns == SECOND_NS:
        for demand in demands:
            for gate in (demand.gate, *demand.beyond, *[share.gate for share, _ in demand.portions]):
                if gate.tight:
                    count_whole(gate)
        for crowd in crowds:
            for share in crowd.tight:
                count_whole(share.gate)
    while True:
        for demand in demands:
            demand.divide()
        if keep_time:
            _meet(demands)
        if any(demand.indexes or demand.tries for demand in demands):
            _solve_in_step(demands, groups, gates)
        else:
            set_ratios(demands)
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


def _meet(demands: list[Demand]) -> None:
    many = sum([demand.pairs for demand in demands]) > _PAIRS_MAX
    for demand in demands:
        demand.meet(many)


def _solve_in_step(demands: list[Demand], groups: list[list[Gate]], gates: list[Gate]) -> None:
    in_step = [demand for demand in demands if demand.in_step]
    for demand in in_step:
        demand.look()
    loads = Loads(demands, gates)
    for _ in range(_LOOKS_MAX):
        _solve(loads, groups)
        changed = [demand.look() for demand in in_step]
        if not any(changed):
            break


def _solve(loads: Loads, groups: list[list[Gate]]) -> None:
    loads.set()
    for turn in range(_TURNS_MAX):
        if turn < _LEARNED:
            loads.learn()
        settled = True
        stale = False
        for group in groups:
            moved = False
            for gate in group:
                before = gate.ratio
                gate.ratio = ratio = _fitting(gate)
                change = abs(ratio - before)
                stale = stale or change > 0
                if not _is_near_what_there_is(gate):
                    # Half a request may be much to the next group.
                    moved = moved or change > ratio * _CLOSE
                    settled = settled and change <= _near(gate)
            if moved:
                loads.set()
                stale = False
        if settled:
            break
    if stale:
        loads.set()


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
    cells: dict[Gate, None] = {}
    lanes: dict[Gate, None] = {}
    indexes: dict[Gate, dict[Gate, None]] = {}
    for demand in demands:
        lanes[demand.gate] = None
        for share, _ in demand.portions:
            cells[share.gate] = None
        for index in demand.indexes:
            parts = indexes.setdefault(index.gate, {})
            for share, _ in index.parts:
                parts[share.gate] = None
    for crowd in crowds:
        for share in crowd.shares:
            gate = share.gate
            if gate not in cells:
                if gate.available:
                    gate.tight = False
                    gate.ratio = 1.0
                else:
                    cells[gate] = None
    groups = [_tight_of(cells), _tight_of(lanes)]
    for whole, parts in indexes.items():
        groups += [_tight_of(parts), _tight_of((whole,))]
    _see_tight(crowds)
    return [group for group in groups if group]


def _tight_of(gates: Iterable[Gate]) -> list[Gate]:
    found: list[Gate] = []
    for gate in gates:
        gate.tight = gate.short
        if gate.tight:
            gate.cost = 0
            found.append(gate)
        else:
            gate.ratio = 1.0
    return found


def _near(gate: Gate) -> float:
    """How far from its present ratio a gate's ratio may be."""
    half = gate.cost / (2 * gate.available) if gate.available and gate.cost > 0 else 0.0
    return gate.ratio * max(_CLOSE, half)


def _is_near_what_there_is(gate: Gate) -> bool:
    return abs(gate.load - gate.available) <= gate.available * _LOAD_CLOSE


def _fitting(gate: Gate) -> float:
    """The ratio at which a tight gate is charged what it has, everything else being as it is, as far as its
    load tells how it answers."""
    if not gate.available:
        return 0.0
    if not gate.load:
        return gate.ratio
    load, available = gate.load, gate.available
    if load < available:
        return min(1.0, gate.ratio * (1.0 + (available / load - 1.0) / gate.answer))
    return gate.ratio / (1.0 + (load / available - 1.0) / gate.answer)
