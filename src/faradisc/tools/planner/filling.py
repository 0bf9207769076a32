"""Whole requests where a gate decides (fluid engine): one that stops requests of one cost lets through
exactly as many as find it open in the step.

Ratios (balance.py) are right for long stretches, but turnstiles let whole requests through, each in
its own time, so that a gate with many of them would sometimes have a few units left over, and sometimes owe
as many too much. Where each request is run by itself there is nothing left over, for somebody takes it; and
the core can tell: a minute in which a throttled table used less than its rate lets adaptive capacity begin
(`classic-2017`).
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faradisc.tools.planner.demands import Demand
    from faradisc.tools.planner.gates import Gate
    from faradisc.tools.planner.shares import Share
    from faradisc.tools.planner.turnstile import Turnstile

_most = attrgetter("most")
_FILL_MOST = 64
"""More requests than rounding can leave over are no rounding."""


class Passage:
    """What has been let through to one partition, or to the crowd."""

    __slots__ = ("admitted", "attempts", "ratio", "share", "turnstile")

    def __init__(
        self, share: Share | None, turnstile: Turnstile, attempts: int, admitted: int, ratio: float
    ) -> None:
        self.share = share
        """None: the crowd."""
        self.turnstile = turnstile
        self.attempts = attempts
        self.admitted = admitted
        self.ratio = ratio
        """What part of the attempts the table's own gates let through."""


def fill(demands: list[Demand]) -> None:
    """Let some through after all where a gate that stops requests has room left: those who are owed most."""
    waiting: list[tuple[int, int, Passage, list[Gate]]] = []
    for demand in demands:
        common = [demand.gate, *demand.beyond]
        if _room(common) <= 0:
            continue
        stops = any(map(_stops, common))
        for passage in demand.passages:
            own = None if passage.share is None else passage.share.gate
            if stops or (own is not None and _stops(own)):
                owed = passage.turnstile.owes
                if owed is not None:
                    gates = common if own is None else [*common, own]
                    waiting.append((-owed, len(waiting), passage, gates))
    heapify(waiting)
    filled = 0
    while waiting and filled < _FILL_MOST:
        _, position, passage, gates = waiting[0]
        # Gates have less and less: who finds no room finds none later.
        if _room(gates) <= 0:
            heappop(waiting)
            continue
        filled += 1
        passage.turnstile.relent()
        passage.admitted += 1
        for gate in gates:
            gate.most -= 1
        owed = passage.turnstile.owes
        if owed is None:
            heappop(waiting)
        else:
            heapreplace(waiting, (-owed, position, passage, gates))


def _room(gates: list[Gate]) -> int:
    """How many more could pass all of them."""
    most: int = min(map(_most, gates))
    return most


def _stops(gate: Gate) -> bool:
    """Whether it is this gate that stops requests, and exactly as many pass as find it open."""
    return gate.whole and gate.binds
