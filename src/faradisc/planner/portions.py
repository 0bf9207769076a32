"""Portions of the requests of one second whose partitions are tight (planner/balance.py)."""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING

from faradisc.planner.gates import CellGate

if TYPE_CHECKING:
    from faradisc.planner.demands import IndexDemand
    from faradisc.planner.meetings import Meeting

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
            passing = index.cells_ratio()
            if passing:
                lift *= 1.0 + sum([meeting.weight * meeting.look() for meeting in meetings]) / passing
        for bound in self.bounds:
            bound.lift = lift


def attempts_of(counts: list[float], chains: tuple[tuple[float, ...], ...]) -> Polynomial:
    """The attempts of so many requests, by how often they have been tried before."""
    found = [0.0] * len(chains[0])
    last = len(found) - 1
    for count, chain in zip(counts, chains, strict=True):
        if count:
            for power, part in enumerate(chain):
                found[last - power] += count * part
    return found


# Of all portions at once, for this is where the time goes.


def admitted_at_once(powers: list[tuple[float, ...]], ratios: list[float]) -> list[float]:
    """How many of each portion come through; ratios above 1 are 1. `powers` are the coefficients of their
    polynomials, power by power."""
    ratios = [ratio if ratio < 1.0 else 1.0 for ratio in ratios]
    refused = [1.0 - ratio for ratio in ratios]
    values = [0.0] * len(ratios)
    for coefficients in powers:
        values = [
            value * rest + coefficient
            for value, rest, coefficient in zip(values, refused, coefficients, strict=True)
        ]
    return [ratio * value for ratio, value in zip(ratios, values, strict=True)]


def held_at_once(powers: list[tuple[float, ...]], ratios: list[float]) -> list[float]:
    """How many fewer come back of each portion, per part that its ratio rises by: those who do not, having
    come through."""
    ratios = [ratio if ratio < 1.0 else 1.0 for ratio in ratios]
    values = [0.0] * len(ratios)
    slopes = values
    for coefficients in powers:
        slopes = [
            slope * (1.0 - ratio) + value for slope, ratio, value in zip(slopes, ratios, values, strict=True)
        ]
        values = [
            value * (1.0 - ratio) + coefficient
            for value, ratio, coefficient in zip(values, ratios, coefficients, strict=True)
        ]
    return [ratio * ratio * slope for ratio, slope in zip(ratios, slopes, strict=True)]


def admitted_at_last(counts: tuple[float, ...], ratios: list[float], tries: int) -> list[float]:
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
