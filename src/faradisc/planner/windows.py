"""Keys that follow one another within a second, in one step of the fluid engine.

A partition whose key has its turn from the middle of a second on fills up until then, and what flows in
beyond its cap is lost; what flows in when the turn is over is of use to those who come back, as far as there
are so many. So each such partition has less in this second than what it holds and earns. Clients that wait
for fixed times come back together, and for as long as they came first.

Where nobody comes back and keys are few, the second is divided into steps instead (fluid.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faradisc.planner.gates import Turn
from faradisc.planner.keys import ONE

if TYPE_CHECKING:
    from faradisc.planner.demands import Demand
    from faradisc.planner.gates import CellGate
    from faradisc.planner.shares import Share
    from faradisc.planner.steps import Step


def heed_order(demands: list[Demand], step: Step) -> None:
    """Count out what the gates lose. Requires: they know what is asked of them."""
    turns: dict[CellGate, Turn] = {}
    waves: dict[CellGate, Turn] = {}
    for demand in demands:
        fixed = demand.state.retries.fixed
        chain = demand.chains[0]
        at_once = chain[1] if len(chain) > 1 else 0.0
        for position, (share, count) in enumerate(demand.portions):
            nano = demand.partition_nano
            if count:
                window = _note(turns, share, count * nano, at_once)
                if window is not None and fixed:
                    turnstile = demand.lot.turnstile(share.cell)
                    turnstile.lasting = demand.state.lasting(_width(window), count)
            elif fixed and position in demand.back:
                lasting = demand.lot.turnstile(share.cell).lasting
                _wave(waves, share.gate, lasting, sum(demand.back[position]) * nano, at_once)
        for number, index in enumerate(demand.indexes):
            first = index.nano * (demand.crowd_first + sum([count for _, count in demand.portions]))
            for share, weight in index.parts:
                window = _note(turns, share, int(first * weight), at_once)
                if not fixed or len(index.parts) > 1:
                    continue
                if window is not None:
                    demand.lot.lasting[number] = _width(window)
                elif not first and demand.returning:
                    back = sum([sum(counts) for counts in (*demand.back.values(), demand.crowd_back or ())])
                    _wave(waves, share.gate, demand.lot.lasting[number], back * index.nano, at_once)
    for gate, turn in {**waves, **turns}.items():
        gate.wait_for_turn(step.now, step.lasting_ns, turn)


def _width(window: tuple[int, int]) -> float:
    return (window[1] - window[0]) / ONE


def _wave(waves: dict[CellGate, Turn], gate: CellGate, lasting: float, nano: int, at_once: float) -> None:
    """Some come back together. When in the second is not known; of several such waves some overlap."""
    if lasting < 1.0:
        before = waves.get(gate)
        calm = 1.0 - lasting
        if before is not None:
            calm *= before.begin
            nano += before.nano
        waves[gate] = Turn(calm, 1.0, nano, at_once)


def _note(turns: dict[CellGate, Turn], share: Share, nano: int, at_once: float) -> tuple[int, int] | None:
    window = share.window
    if window is None or not nano:
        return None
    begin, end = window
    turn = Turn(begin / ONE, end / ONE, nano, at_once)
    before = turns.get(share.gate)
    if before is not None:
        turn = Turn(
            min(turn.begin, before.begin),
            max(turn.end, before.end),
            turn.nano + before.nano,
            max(turn.at_once, before.at_once),
        )
    turns[share.gate] = turn
    return window
