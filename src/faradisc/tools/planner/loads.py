"""What is charged to every tight gate at the present ratios (balance.py): of all demands at once, for
this is where the time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faradisc.tools.planner.gates import Gate, LaneGate
from faradisc.tools.planner.portions import Bound, Polynomial, admitted_at_once, held_at_once

if TYPE_CHECKING:
    from faradisc.tools.planner.demands import Demand, IndexDemand

_ANSWER_LEAST = 0.1
"""Loads that hardly answer say little about how far a ratio is off."""


class Loads:
    """Of one step's demands. Requires: `Demand.divide`."""

    def __init__(self, demands: list[Demand], gates: list[Gate]) -> None:
        self._demands = demands
        self._gates = gates
        self._whole = any(demand.tries for demand in demands)
        """Whether each request is tried until it is through or gives up."""
        self._owners: list[int] = []
        """By portion, the number of its demand."""
        self._bounds: list[Bound] = []
        self._lanes: list[tuple[int, LaneGate, int]] = []
        """Tight buckets of tables and indexes, by demand, and what a request takes there."""
        self._indexes: list[tuple[int, IndexDemand]] = []
        """Indexes with tight partitions, by demand."""
        self._polynomials: list[Polynomial] = []
        """Of all portions, then of what else each demand asks for."""
        for number, demand in enumerate(demands):
            for bound in demand.bound:
                self._owners.append(number)
                self._bounds.append(bound)
                self._polynomials.append(bound.attempts)
            if demand.gate.tight:
                self._lanes.append((number, demand.gate, demand.nano))
            for index in demand.refusing:
                if index.gate.tight:
                    self._lanes.append((number, index.gate, index.nano))
                if index.bound:
                    self._indexes.append((number, index))
        self._polynomials += [demand.free for demand in demands]
        self._ratios: list[float] = []
        """What `set` has found: what part of each of these comes through."""

    def set(self) -> None:
        for gate in self._gates:
            gate.load = 0.0
        bases = [demand.base() for demand in self._demands]
        totals = self._by_steps(bases) if self._whole else self._at_once(bases)
        for number, lane, nano in self._lanes:
            lane.load += totals[number] * nano
        for number, index in self._indexes:
            part = index.passing
            if part:
                charged = totals[number] * index.nano
                tilts = index.tilts
                others = tilts.get(None, 1.0)
                for gate, weight in index.bound:
                    gate.load += charged * weight * gate.ratio / part * tilts.get(gate, others)

    def learn(self) -> None:
        """See how each gate's load answers to its ratio: where the refused come back, a tenth more of them
        let through is less than a tenth more load. (Where each has all its attempts at once, that is not
        looked at.) Requires: `set`."""
        demands = self._demands
        for gate in self._gates:
            gate.answer = 1.0 if self._whole else 0.0
        if self._whole:
            return
        held = held_at_once(self._polynomials, self._ratios)
        totals = held[len(self._bounds) :]
        for owner, bound, less in zip(self._owners, self._bounds, held, strict=False):
            bound.gate.answer += less * demands[owner].partition_nano
            totals[owner] += less
        for number, lane, nano in self._lanes:
            lane.answer += totals[number] * nano
        for number, index in self._indexes:
            if index.passing:
                less = totals[number] * index.nano
                for gate, weight in index.bound:
                    part = weight * gate.ratio / index.passing
                    gate.answer += less * part * part
        for gate in self._gates:
            gate.answer = max(1.0 - gate.answer / gate.load, _ANSWER_LEAST) if gate.load else 1.0

    def _at_once(self, bases: list[float]) -> list[float]:
        """Load the table's partitions. Returns: how many of each demand come through."""
        demands, owners, bounds = self._demands, self._owners, self._bounds
        ratios = [
            bases[owner] * bound.gate.ratio * bound.lift for owner, bound in zip(owners, bounds, strict=True)
        ]
        ratios += bases
        self._ratios = ratios
        admitted = admitted_at_once(self._polynomials, ratios)
        totals = admitted[len(bounds) :]
        for owner, bound, through in zip(owners, bounds, admitted, strict=False):
            bound.gate.load += through * demands[owner].partition_nano
            totals[owner] += through
        return totals

    def _by_steps(self, bases: list[float]) -> list[float]:
        """The same where each has all its attempts."""
        totals = [demand.admit(base) for demand, base in zip(self._demands, bases, strict=True)]
        for demand in self._demands:
            for bound, through in zip(demand.bound, demand.admitted, strict=True):
                bound.gate.load += through * demand.partition_nano
        return totals
