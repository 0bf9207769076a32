"""Portions of the requests of one second whose partitions are tight (tools/planner/balance.py)."""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING

from faradisc.tools.planner.gates import CellGate

if TYPE_CHECKING:
    from faradisc.tools.planner.demands import IndexDemand
    from faradisc.tools.planner.meetings import Meeting

Polynomial = list[float]
"""How many attempts a portion makes in a second, as a polynomial of the part that is refused each time:
coefficients from the highest power down. The constant is those who come anyway, the rest comes back."""


class Bound:
    """A portion whose partition is tight."""

    __slots__ = ("attempts", "gate", "lift")

    def __init__(self, gate: CellGate, attempts: Polynomial) -> None:
        self.gate = gate
        self.attempts = attempts
        self.lift = 1.0
        """How many times as many requests come through as if nothing were in step."""


class BoundInStep:
    """Portions whose partitions open in step with some of indexes, all of them alike."""

    __slots__ = ("bounds", "met")

    def __init__(self, bounds: list[Bound], met: list[tuple[IndexDemand, list[Meeting]]]) -> None:
        self.bounds = bounds
        self.met = met
        """By index, its partitions that open in step with these."""

    def look(self) -> None:
        """Set their `lift` by the present ratios."""
        lift = 1.0
        for index, meetings in self.met:
            passing = index.passing
            if passing:
                lift *= 1.0 + sum([meeting.weight * meeting.look() for meeting in meetings]) / passing
        for bound in self.bounds:
            bound.lift = lift


def attempts_of(counts: list[float], chains: tuple[tuple[float, ...], ...]) -> Polynomial:
    """The attempts of so many requests, by how often they have been tried before."""
    found = [0.0] * len(chains[0])
    for count, chain in zip(counts, chains, strict=True):
        if count:
            power = 0
            for part in chain:
                power -= 1
                found[power] += count * part
    return found


# Of all portions at once, for this is where the time goes.


def admitted_at_once(polynomials: list[Polynomial], ratios: list[float]) -> list[float]:
    """How many of each portion come through; ratios above 1 are 1."""
    found: list[float] = []
    for polynomial, ratio in zip(polynomials, ratios, strict=True):
        part = ratio if ratio < 1.0 else 1.0
        refused = 1.0 - part
        value = 0.0
        for coefficient in polynomial:
            value = value * refused + coefficient
        found.append(part * value)
    return found


def held_at_once(polynomials: list[Polynomial], ratios: list[float]) -> list[float]:
    """How many fewer come back of each portion, per part that its ratio rises by: those who do not, having
    come through."""
    found: list[float] = []
    for polynomial, ratio in zip(polynomials, ratios, strict=True):
        part = ratio if ratio < 1.0 else 1.0
        refused = 1.0 - part
        value = slope = 0.0
        for coefficient in polynomial:
            slope = slope * refused + value
            value = value * refused + coefficient
        found.append(part * part * slope)
    return found


def admitted_at_last(counts: list[float], ratios: list[float], tries: int) -> list[float]:
    """The same where all `tries` are made."""
    values = [1.0 - ratio if ratio < 1.0 else 0.0 for ratio in ratios]
    left = [1.0] * len(ratios)
    # A power by multiplication alone, so that it is the same on every machine.
    while tries:
        if tries & 1:
            left = list(map(mul, left, values))
        tries >>= 1
        if tries:
            values = [value * value for value in values]
    return [count * (1.0 - part) for count, part in zip(counts, left, strict=True)]


def value_of(polynomial: Polynomial, refused: float) -> float:
    value = 0.0
    for coefficient in polynomial:
        value = value * refused + coefficient
    return value
