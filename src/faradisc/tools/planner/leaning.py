"""Who comes early in a second and who late, where clients wait for random times (fluid engine).

Those whose key has gone come back in fewer and fewer numbers: within a second, more of them at its beginning
than at its end. As soon as fewer come than a partition earns, what it earns is of no use to them, though it
would have been to those whom it refused before. And a key that finds a full bucket is refused late in its
first second; whoever is refused late hardly comes back within the same one.

Turnstiles remember how far those lean who come back (`LEAN`, retries.py). Here the partitions learn
it. Where keys change every few seconds, plans were up to 1.6 % off without.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING

from faradisc.tools.planner.turnstile import Firsts
from faradisc.tools.planner.workload.retries import LEAN

if TYPE_CHECKING:
    from faradisc.capacity.partitions import PartitionBucket as Cell
    from faradisc.tools.planner.demands import Demand
    from faradisc.tools.planner.gates import CellGate
    from faradisc.tools.planner.shares import Share
    from faradisc.tools.planner.steps import Step


_ROUNDS = 3
"""In so many of them it is found out how many are refused, who depend on how many of those come back."""


class Ebb:
    """What a partition is asked for by those who come back, nobody coming for the first time."""

    __slots__ = ("again", "lean", "nano")

    def __init__(self, nano: float = 0, lean: float = 0.0, again: float = 0.0) -> None:
        self.nano = nano
        """Nano-units."""
        self.lean = lean
        """Nano-units times -1..1."""
        self.again = again
        """Of them what comes back once more within the second, if it is refused."""

    def add(self, other: Ebb, times: int = 1) -> None:
        self.nano += other.nano * times
        self.lean += other.lean * times
        self.again += other.again * times


def heed_leaning(demands: list[Demand], step: Step) -> None:
    """Count out what is of no use to those who come back, and see how far those lean who are refused at once.
    Requires: gates know what is asked of them, and `heed_order`."""
    scattered = [demand for demand in demands if demand.state.retries.scattered]
    if not scattered:
        return
    ebbs: dict[CellGate, Ebb] = {}
    flowing: set[CellGate] = set()
    for demand in demands:
        _see_flowing(demand, flowing)
    for demand in scattered:
        if demand.portions:
            _see_firsts(demand, step)
        if demand.returning:
            _see_ebbs(demand, flowing, ebbs)
    for gate, ebb in ebbs.items():
        if ebb.nano and ebb.lean < 0.0:
            income = gate.cell.rate * step.lasting_ns
            held = gate.cell.balance(step.now)
            passing = int(passing_of(ebb, held if held > 0 else 0, income, gate.available))
            if passing < gate.available:
                gate.available = max(passing, 0)


def _see_firsts(demand: Demand, step: Step) -> None:
    """Learn what those are up against who come for the first time, from the gate that refuses most of
    them."""
    wholes = [index.parts[0][0] for index in demand.indexes if len(index.parts) == 1]
    for position, (share, count) in enumerate(demand.portions):
        if not count:
            continue
        shares = [share, *wholes]
        for each in shares:
            each.gate.run_dry(step.now, step.lasting_ns)
        tightest = min(shares, key=_part)
        gate = tightest.gate
        # Where others have their turn, these come all the time.
        if gate.lean and (not gate.has_turn or tightest.window is not None):
            demand.firsts[position] = Firsts(gate.lean, int(count * gate.sure))


def _see_ebbs(demand: Demand, flowing: set[CellGate], ebbs: dict[CellGate, Ebb]) -> None:
    """Learn what the partitions are asked for by those who come back, where nobody else asks; of indexes
    those that all of them are for."""
    wholes: list[tuple[CellGate, int]] = []
    for index in demand.indexes:
        if index.nano and len(index.parts) == 1:
            gate = index.parts[0][0].gate
            if gate not in flowing:
                wholes.append((gate, index.nano))
    waiting = Ebb()
    for position, back in demand.back.items():
        share = demand.portions[position][0]
        alone = share.gate not in flowing
        if alone or wholes:
            mine = _ebb(demand, share.cell, back)
            waiting.add(mine)
            if alone:
                ebbs.setdefault(share.gate, Ebb()).add(mine, demand.partition_nano)
    if wholes:
        if demand.crowd_back is not None:
            waiting.add(_ebb(demand, None, demand.crowd_back))
        for gate, nano in wholes:
            ebbs.setdefault(gate, Ebb()).add(waiting, nano)


def _ebb(demand: Demand, cell: Cell | None, back: list[int]) -> Ebb:
    """Those who come back to a partition or to the crowd; a request for a nano-unit."""
    leans = demand.lot.turnstile(cell).leans
    lean = 0.0 if leans is None else sum(leans)
    return Ebb(sum(back), lean, sum(map(mul, back, demand.state.retries.again)))


def _see_flowing(demand: Demand, flowing: set[CellGate]) -> None:
    """See for which partitions requests come for the first time, or together."""
    first = demand.crowd_first
    scattered = demand.state.retries.scattered
    for share, count in demand.portions:
        first += count
        if count or not scattered:
            flowing.add(share.gate)
    if first or not scattered:
        for index in demand.indexes:
            for share, _ in index.parts:
                flowing.add(share.gate)


def passing_of(ebb: Ebb, held: int, income: int, available: int) -> float:
    """How much of what is asked for passes a bucket that holds so much and earns so much in the step, if no
    more than `available` does."""
    asked, at_once = ebb.nano, ebb.again / ebb.nano
    refused = asked - available if asked > available else 0.0
    for _ in range(_ROUNDS):
        again = refused * at_once
        whole = asked + again
        # So many come at the beginning and at the end, by the second, were it as many all the time.
        slope = 3 * (ebb.lean + again * LEAN)
        if not -whole <= slope <= whole:
            slope = whole if slope > 0.0 else -whole
        begin, end = whole - slope, whole + slope
        if not begin > income > end:
            return available
        early = (begin - income) ** 2 / (2 * (begin - end))
        refused = early - held if early > held else 0.0
    return asked - refused * (1.0 - at_once)


def _part(share: Share) -> float:
    """What a partition has of what is asked of it."""
    gate = share.gate
    return gate.available / gate.load if gate.load else 1.0
