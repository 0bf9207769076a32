"""What the requests of one second ask of the gates they meet, and what these let through at their present
ratios (tools/planner/balance.py sets them)."""

from __future__ import annotations

from itertools import combinations
from operator import add, sub
from typing import TYPE_CHECKING

from faradisc.capacity.config import HALF_UNIT
from faradisc.tools.planner.gates import CellGate, Gate, LaneGate, learn_cost
from faradisc.tools.planner.meetings import Flock, Meeting, flocks, meet
from faradisc.tools.planner.portions import (
    Bound,
    BoundInStep,
    Polynomial,
    admitted_at_last,
    admitted_at_once,
    attempts_of,
    value_of,
)

if TYPE_CHECKING:
    from faradisc.tools.planner.filling import Passage
    from faradisc.tools.planner.lots import Lot, StreamState
    from faradisc.tools.planner.shares import Crowd, Share
    from faradisc.tools.planner.turnstile import Firsts
    from faradisc.tools.planner.workload.streams import IndexCharge

_SAME = 0.1
"""Gates in step are looked at again if what they let through together has changed by more."""
_ALL = 0.999
_CROWD = 10
"""So many partitions of a crowd are as much work as one that is by itself."""


class IndexDemand:
    """What the writes of one stream ask of one global index."""

    __slots__ = ("bound", "charge", "gate", "nano", "parts", "passing", "tilts")

    def __init__(self, charge: IndexCharge, parts: list[tuple[Share, float]], gate: LaneGate) -> None:
        self.charge = charge
        self.nano = charge.half_units * HALF_UNIT
        self.parts = parts
        """Partitions, and what part of the requests of this second is for each."""
        self.gate = gate
        self.bound: list[tuple[CellGate, float]] = []
        """Those that are tight."""
        self.passing = 1.0
        """What part of the requests its partitions let through, when that was last looked at (`look`)."""
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

    def look(self) -> float:
        """Set `passing` by the present ratios. Returns: what part of the requests passes the whole index."""
        passing = 1.0
        for gate, weight in self.bound:
            passing -= weight * (1.0 - gate.ratio)
        self.passing = passing
        return self.lane_ratio * passing if self.gate.tight else passing

    def tilt(self, gate: Gate) -> float:
        tilts = self.tilts
        return tilts.get(gate, tilts[None]) if tilts else 1.0

    def learn_tilts(self, total: float, met: list[tuple[float, list[Meeting]]]) -> None:
        """Of `total` requests that come through, those of some of the table's partitions have met some here
        in step: so many, and these."""
        passing = self.passing
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
        "_beyond", "admitted", "back", "bound", "chains", "crowd", "crowd_back", "crowd_first",
        "firsts", "flocks", "free", "gate", "in_flocks", "indexes", "lift", "lot", "met", "nano",
        "partition_nano", "passages", "portions", "quiet_weight", "refusing", "state",
        "tries",
    )  # fmt: skip

    def __init__(self, state: StreamState, lot: Lot, portions: list[tuple[Share, int]]) -> None:
        self.state = state
        self.chains = state.retries.chains
        """How requests are tried again within the step (tools/planner/workload/retries.py)."""
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
        self.firsts: dict[int, Firsts] = {}
        """By portion, if it is known (tools/planner/leaning.py)."""
        self.nano = state.stream.half_units * HALF_UNIT
        self.partition_nano = state.division.nano
        self.gate = state.gate
        self.indexes: list[IndexDemand] = []
        self.refusing: list[IndexDemand] = []
        """Those that are tight, or have partitions that are (`divide`): the others let everything through."""
        self._beyond: list[Gate] | None = None
        self.bound: list[Bound] = []
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
        """How many partitions its requests are divided over, those of the crowd being little work."""
        crowd = 0 if self.crowd is None else len(self.crowd.shares) // _CROWD
        return 1 + crowd + len(self.portions) + sum([len(index.parts) for index in self.indexes])

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
        if self.gate.short:
            return True
        for share, _ in self.portions:
            if share.gate.short:
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
        rest = _by_attempt(self.crowd_first, self.crowd_back, len(chains))
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
                counts = _by_attempt(count, back, len(chains))
                self.bound.append(Bound(share.gate, self._attempts_at(position, counts)))
            else:
                rest[0] += count
                if back is not None:
                    rest = list(map(add, rest, back))
                weight += share.weight
        self.quiet_weight = weight
        self.free = attempts_of(rest, chains) if any(rest) else []
        self.refusing.clear()
        for index in self.indexes:
            index.bound = [(share.gate, weight) for share, weight in index.parts if share.gate.tight]
            if index.bound or index.gate.tight:
                self.refusing.append(index)
            else:
                index.passing = 1.0

    def _attempts_of(self, counts: list[float]) -> Polynomial:
        return counts[:1] if self.tries else attempts_of(counts, self.chains)

    def _attempts_at(self, position: int, counts: list[float]) -> Polynomial:
        """The same of a portion: how many come back within the second is another matter if it is known who
        comes early and who late (tools/planner/leaning.py)."""
        share, count = self.portions[position]
        firsts = self.firsts.get(position)
        leans = self.lot.turnstile(share.cell).leans if position in self.back else None
        if self.tries or (firsts is None and leans is None):
            return self._attempts_of(counts)
        on_time = float(sum(leans)) if leans is not None else 0.0
        if leans is not None:
            counts = list(map(sub, counts, leans))
        if firsts is not None:
            lean, refused = firsts
            late = (count - refused) * lean
            counts[0] -= refused + late
            counts[1] += refused * self.chains[0][1] * (1.0 - lean)
            on_time += late
        found = attempts_of(counts, self.chains)
        # Once all of them come, be it late.
        found[-1] += on_time
        return found

    def tell_costs(self) -> None:
        """Tell tight gates what one request takes."""
        if self.gate.tight:
            learn_cost(self.gate, self.nano)
        for share, _ in self.portions:
            if share.gate.tight:
                learn_cost(share.gate, self.partition_nano)
        if self.crowd is not None:
            for share in self.crowd.tight:
                learn_cost(share.gate, self.partition_nano)
        for index in self.indexes:
            if index.gate.tight:
                learn_cost(index.gate, index.nano)
            for share, _ in index.parts:
                if share.gate.tight:
                    learn_cost(share.gate, index.nano)

    def meet(self, many: bool) -> None:
        """Find the gates that open in step, if there are `many`, flocks of them. Requires: `divide`, and
        gates know when they open."""
        self.met, self.in_flocks, self.flocks = [], [], []
        if not self.refusing:
            return
        lanes = (self.gate, *[index.gate for index in self.refusing])
        wholes: list[Gate] = [gate for gate in lanes if gate.tight]
        # With lots of their own, requests meet one partition of an index.
        wholes += [gate for index in self.refusing for gate, weight in index.bound if weight > _ALL]
        bounds: dict[Gate, Bound] = {bound.gate: bound for bound in self.bound}
        if len(wholes) + len(bounds) < 2:
            return
        alone = flocks(wholes, False)
        self.met = [both for one, other in combinations(alone, 2) if (both := meet(one, other, 1.0))]
        mine = flocks(bounds, many)
        of_indexes = [(index, index.flocks(many)) for index in self.refusing] if mine else []
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
        for index in self.refusing:
            index.look()
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
        for index in self.refusing:
            ratio *= index.look()
        return ratio

    def base(self) -> float:
        """The part that passes what all of its requests meet, each at its present ratio."""
        base = self.gate.ratio * self.lift
        for index in self.refusing:
            base *= index.look()
        return base

    def admit(self, base: float) -> float:
        """How many requests come through at the present ratios, `base` being that of the gates that all of
        them meet."""
        bounds = self.bound
        polynomials = [bound.attempts for bound in bounds]
        ratios = [base * bound.gate.ratio * bound.lift for bound in bounds]
        if self.tries:
            counts = [polynomial[0] for polynomial in polynomials]
            self.admitted = admitted_at_last(counts, ratios, self.tries)
        else:
            self.admitted = admitted_at_once(polynomials, ratios)
        return sum(self.admitted, base * value_of(self.free, 1.0 - base))

    @property
    def most(self) -> int:
        """How many more requests the table's bucket and its indexes may let through in this step."""
        most = self.gate.most
        for gate in self.beyond:
            most = min(most, gate.most)
        return most

    def count_out(self, admitted: int) -> None:
        """So many have come through."""
        self.gate.most -= admitted
        for gate in self.beyond:
            gate.most -= admitted

    @property
    def beyond(self) -> list[Gate]:
        """The gates of indexes that all of these requests meet, and are charged by. Requires: `indexes`."""
        if self._beyond is None:
            found = self._beyond = []
            for index in self.indexes:
                if index.nano:
                    found.append(index.gate)
                    if len(index.parts) == 1:
                        found.append(index.parts[0][0].gate)
        return self._beyond

    def lifts(self) -> dict[CellGate, float]:
        """By partition of the table, how many times as many requests come through as if nothing were in step;
        those that are not here: 1."""
        if not self.in_flocks:
            return {}
        return {bound.gate: bound.lift for each in self.in_flocks for bound in each.bounds}


def _by_attempt(first: int, back: list[int] | None, attempts: int) -> list[float]:
    """Requests by how often they have been tried before: those who come for the first time, and who come
    back."""
    counts = [0.0] * attempts if back is None else list(map(float, back))
    counts[0] += first
    return counts
