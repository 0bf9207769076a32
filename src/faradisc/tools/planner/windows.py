"""Keys that follow one another within a second, in one step of the fluid engine.

A partition whose key has its turn from the middle of a second on fills up until then, and what flows in
beyond its cap is lost; what flows in when the turn is over is of use to those who come back, as far as there
are so many. So each such partition has less in this second than what it holds and earns.

Where nobody comes back and keys are few, or those do who wait for fixed times (waves.py), the second
is divided into steps instead (fluid.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faradisc.tools.planner.gates import Turn
from faradisc.tools.planner.workload.key_distributions import ONE

if TYPE_CHECKING:
    from faradisc.tools.planner.demands import Demand
    from faradisc.tools.planner.gates import CellGate
    from faradisc.tools.planner.shares import Share
    from faradisc.tools.planner.steps import Step


def heed_order(demands: list[Demand], step: Step) -> None:
    """Count out what the gates lose. Requires: they know what is asked of them."""
    turns: dict[CellGate, Turn] = {}
    for demand in demands:
        first = demand.crowd_first + sum([count for _, count in demand.portions])
        if not first:
            continue
        chain = demand.chains[0]
        at_once = chain[1] if len(chain) > 1 else 0.0
        for share, count in demand.portions:
            _note(turns, share, count * demand.partition_nano, at_once)
        for index in demand.indexes:
            for share, weight in index.parts:
                _note(turns, share, int(index.nano * first * weight), at_once)
    for gate, turn in turns.items():
        gate.wait_for_turn(step.now, step.lasting_ns, turn)


def _note(turns: dict[CellGate, Turn], share: Share, nano: int, at_once: float) -> None:
    window = share.window if nano else None
    if window is None:
        return
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
