"""What gates let through where no index takes part (fluid engine): found directly.

A request then meets two gates, its partition and its table's bucket. What comes through to a partition
depends on the product of both ratios alone, its *level*. So each partition has a level at which it is charged
what it has, whatever the table does. The table lets through some part; partitions of a higher level than that
follow the table, the others keep theirs. What all of them let through rises with the table's part, ever more
slowly, and Newton's method finds the part at which it is what the table has, never going too far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faradisc.tools.planner.demands import Demand
    from faradisc.tools.planner.gates import CellGate, Gate
    from faradisc.tools.planner.portions import Polynomial

_CLOSE = 1e-9
_STEPS_MAX = 50


def set_ratios(demands: list[Demand]) -> None:
    """Set the ratios of all tight gates. Requires: `Demand.divide`; no indexes."""
    lanes: dict[Gate, list[Demand]] = {}
    for demand in demands:
        lanes.setdefault(demand.gate, []).append(demand)
    for lane, mine in lanes.items():
        _set_ratios_of(lane, mine)


def _set_ratios_of(lane: Gate, demands: list[Demand]) -> None:
    charged: dict[CellGate, Polynomial] = {}
    of_lane: dict[CellGate, Polynomial] = {}
    free: Polynomial = []
    for demand in demands:
        nano, whole = demand.partition_nano, demand.nano
        for bound in demand.bound:
            gate, attempts = bound.gate, bound.attempts
            charged[gate] = _plus(charged.get(gate), attempts, nano)
            of_lane[gate] = _plus(of_lane.get(gate), attempts, whole)
        free = _plus(free, demand.free, whole)
    levels = {gate: _level(polynomial, gate.available) for gate, polynomial in charged.items()}
    part = 1.0
    if lane.tight:
        cells = [(level, _passing(of_lane[gate], level)[0], of_lane[gate]) for gate, level in levels.items()]
        part, lane.load = _part_of_lane(lane.available, cells, free)
        lane.ratio = part
    for gate, level in levels.items():
        if level <= part:
            gate.load = float(gate.available)
            gate.ratio = level / part if part else 1.0
        else:
            gate.load = _passing(charged[gate], part)[0]
            gate.ratio = 1.0


def _plus(one: Polynomial | None, other: Polynomial, times: int) -> Polynomial:
    """Polynomials from the highest power down, so that it is the ends that meet."""
    scaled = [coefficient * times for coefficient in other]
    if not one:
        return scaled
    if len(one) < len(scaled):
        one, scaled = scaled, one
    apart = len(one) - len(scaled)
    return [*one[:apart], *(mine + theirs for mine, theirs in zip(one[apart:], scaled, strict=True))]


def _passing(attempts: Polynomial, ratio: float) -> tuple[float, float]:
    """What comes through at a ratio, and by how much more it is if the ratio is larger."""
    refused = 1.0 - ratio
    value = slope = 0.0
    for coefficient in attempts:
        slope = slope * refused + value
        value = value * refused + coefficient
    return ratio * value, value - ratio * slope


def _level(attempts: Polynomial, available: int) -> float:
    """The ratio at which as much comes through as there is; 1 if all may."""
    most = sum(attempts)
    if attempts[-1] <= available:
        return 1.0
    ratio = available / most
    for _ in range(_STEPS_MAX):
        value, slope = _passing(attempts, ratio)
        more = (available - value) / slope
        ratio += more
        if abs(more) <= _CLOSE:
            break
    return min(max(ratio, 0.0), 1.0)


def _part_of_lane(
    available: int, cells: list[tuple[float, float, Polynomial]], free: Polynomial
) -> tuple[float, float]:
    """What part a table's bucket lets through, and how much that is. Of partitions: their level, what comes
    through at it, and the attempts."""
    if not available:
        return 0.0, 0.0
    # Nobody lets through more than a ratio of all attempts that could ever be made.
    part = min(available / (sum(free) + sum([sum(attempts) for _, _, attempts in cells])), 1.0)
    for _ in range(_STEPS_MAX):
        total, slope = _passing(free, part)
        for level, most, attempts in cells:
            if level <= part:
                total += most
            else:
                value, rises = _passing(attempts, part)
                total += value
                slope += rises
        if total >= available or slope <= 0.0 or part >= 1.0:
            break
        more = (available - total) / slope
        part = min(part + more, 1.0)
        if more <= _CLOSE:
            break
    return part, total
