"""The gates a request passes, as one second of the fluid engine finds them: how much there is, how much is
asked for, and what part of it is let through (tools/planner/balance.py sets that)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from faradisc.capacity.config import SECOND_NS
from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.capacity.partitions import hash_bounds
from faradisc.capacity.throttle import Cause
from faradisc.tools.planner.turnstile import ANY

if TYPE_CHECKING:
    from faradisc.capacity.buckets import Bucket
    from faradisc.tools.planner.simulation.recorder import DirectionRecord
    from faradisc.tools.planner.steps import Step

_VARIOUS = -1
_BINDING = 0.99
_BOUNDLESS = 1 << 200
"""Available where there is no bucket."""


Grid = tuple[int, int, int]
"""When a gate opens: what a request costs, what it earns per second, and how much it has been earning for
the next request, in units of its bucket."""


class Gate(ABC):
    """What a bucket is to the requests of one step."""

    __slots__ = (
        "answer", "asked_ns", "at_ns", "available", "cost", "grid", "load", "most", "ratio", "spilled",
        "taken", "tight", "whole",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tight = False
        """Whether it is one of those that `balance` has to set: all the others let everything through."""
        self.cost = 0
        """While it is tight: nano-units that each of this step's requests takes; `_VARIOUS`: not all take
        the same."""
        self.spilled = False
        """Whether it has been full: the moments at which it opens depend since then on who came first."""
        self.grid: Grid | None = None
        """While it is tight: the moments at which it opens, if these have a period."""
        self.available = 0
        """Nano-units in this step."""
        self.load = 0.0
        self.ratio = 1.0
        self.answer = 1.0
        """While it is tight: the part by which its load rises if its ratio rises by a small part of itself,
        measured by that (tools/planner/loads.py)."""
        self.taken = 0
        """Nano-units charged in this step."""
        self.asked_ns = -1
        self.at_ns = -1
        """When this step's requests are charged."""
        self.most = ANY
        """How many more requests may pass in this step, whatever their ratio says."""
        self.whole = False
        """Whether so many do pass, if it is this gate that stops requests (tools/planner/filling.py)."""

    @property
    @abstractmethod
    def bucket(self) -> Bucket | None:
        """The bank that decides when the gate opens; None: there is none worth the name."""

    @property
    @abstractmethod
    def debtor(self) -> Bucket | None:
        """The bucket whose debt decides what is forgiven."""

    @property
    def short(self) -> bool:
        """Whether it has less than is asked of it, or nothing."""
        return self.load > self.available or not self.available

    @property
    def binds(self) -> bool:
        """Whether it is charged all it has: then it is what stops requests, perhaps with others that are."""
        return self.tight and self.load >= self.available * _BINDING

    def ask(self, now: int, lasting_ns: int) -> None:
        """See what there is in the step that begins now."""
        if self.asked_ns != now:
            self.asked_ns = self.at_ns = now
            self.load = 0.0
            self.taken = 0
            self.most = ANY
            self.whole = False
            self.available = max(self._find(now, lasting_ns), 0)

    def lacking(self, step: Step, now: int, lasting_ns: int) -> int:
        """Nano-units that a gate which let everything through in a step will lack in the time that begins
        now, if it is charged as much."""
        if self.ratio < 1.0:
            return 0
        return max(self.taken * lasting_ns // step.lasting_ns - self._find(now, lasting_ns), 0)

    @abstractmethod
    def _find(self, now: int, lasting_ns: int) -> int:
        """Nano-units in the step that begins now; negative is debt."""


WATCH_ROOM = 64
"""Places that the watch of a hot partition holds (capacity/config.py, `sketch_keys`)."""


class LaneGate(Gate):
    """The bucket of a table or index: provisioned rate or configured on-demand maximum."""

    __slots__ = ("record", "takers")

    def __init__(self, record: DirectionRecord) -> None:
        super().__init__()
        self.record = record
        self.takers = 0.0
        """While it is tight: how many requests a second ask for units."""

    @property
    def open_to_others(self) -> float:
        """The ratio for requests that are admitted or refused here and take nothing. Of the n requests that
        do in a second, each meets n - 1 others, and these meet n: they find less. (Where hardly anything is
        short, about half as much less; measured.)"""
        met = self.takers + min(0.4 + 2.5 * (1.0 - self.ratio), 1.0)
        return self.ratio * self.takers / met if self.takers and self.ratio < 1.0 else self.ratio

    @property
    def cause(self) -> Cause:
        return Cause.PROVISIONED if self.record.lane.table_bucket is not None else Cause.MAX_ON_DEMAND

    @property
    def bucket(self) -> Bucket | None:
        return self.record.lane.table_bucket or self.record.lane.maximum

    @property
    def debtor(self) -> Bucket | None:
        return self.record.lane.table_bucket

    def _find(self, now: int, lasting_ns: int) -> int:
        bucket = self.bucket
        if bucket is None:
            return _BOUNDLESS
        held = bucket.balance(now)
        self.spilled = self.spilled or held == bucket.cap
        return held + bucket.rate * lasting_ns


class Turn(NamedTuple):
    """What a partition is asked for in a part of a step."""

    begin: float
    end: float
    """Of 0..1."""
    nano: int
    """Nano-units asked for then."""
    at_once: float
    """What part of the refused comes back within the second, 0..1."""


class CellGate(Gate):
    """One direction of one partition."""

    __slots__ = (
        "_room", "bounds", "calm_below", "cell", "has_turn", "lean", "refused_ns", "refuses", "sure",
        "unseen",
    )  # fmt: skip

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell
        self.bounds = hash_bounds(cell.partition)
        self.refuses = False
        """Whether it has refused anything lately."""
        self.refused_ns = 0
        self.unseen = 0
        """Admitted requests of which the watch of the partition has not been told."""
        self.lean = 0.0
        """How far those lean in this step who come for the first time and are refused: -1..1, from its
        beginning to its end."""
        self.has_turn = False
        """Whether only those are meant who have their turn in this step (tools/planner/windows.py)."""
        self.sure = 0.0
        """What part of those is refused beyond the part that others are: they come when it has least."""
        self._room = WATCH_ROOM
        self.calm_below = -1
        """A load up to this leaves the partition as it is: its bucket is full, and what is taken flows in
        again before the next second. Such charges can wait."""

    def take_room(self, count: int) -> int:
        """How many of the places that the watch holds are for `count` of the unseen requests, of which it is
        about to be told."""
        room = -(-self._room * count // self.unseen)
        self.unseen -= count
        self._room = self._room - room if self.unseen else WATCH_ROOM
        return max(room, 1)

    def wait_for_turn(self, now: int, lasting_ns: int, turn: Turn) -> None:
        """Some of what it is asked for is asked in a part of the step only: leave out what flows in while the
        bucket is full before that, and what nobody asks for after it. Requires: it knows what is asked."""
        begin, end, nano, at_once = turn
        cell = self.cell
        income = cell.rate * lasting_ns
        held = cell.balance(now)
        others = self.load - nano
        spilled = max(held + (income - others) * begin - cell.cap, 0.0)
        then = held + (income - others) * begin - spilled
        refused = max(nano + (others - income) * (end - begin) - then, 0.0)
        rest = (income - others) * (1.0 - end) - refused * min(2.0 * at_once * (1.0 - end), 1.0)
        available = held + income - int(spilled + max(rest, 0.0))
        self.available = max(min(self.available, available), 0)
        if refused:
            self._refuse_in_turn(turn, others, max(then, 0.0), income, refused)
        if spilled:
            self.at_ns = now + int((spilled + cell.cap - held) / cell.rate)
        self.calm_below = min(self.calm_below, int(income * (1.0 - begin)))

    def _refuse_in_turn(self, turn: Turn, others: float, held: float, income: int, refused: float) -> None:
        """So much is refused of what is asked for in a turn, at whose beginning it holds so much: from where
        its bucket is empty to the turn's end. Those who come at other times are refused less often, were it
        only that these are fewer (plans were 1 % off, for at their last attempts more of them were lost)."""
        begin, end, nano, at_once = turn
        self.has_turn = True
        # In debt it refuses at once, even if it is asked for no more than it earns.
        dry = begin + held / (nano / (end - begin) + others - income) if held else begin
        self.lean = min(dry, end) + end - 1.0
        within = nano + others * (end - begin)
        passing = min((held + income * (end - begin)) / within, 1.0)
        elsewhere = others + refused * at_once * (1.0 - self.lean)
        if elsewhere:
            later = min((self.available - nano * passing) / elsewhere, 1.0)
            if passing < later:
                # No more than have to be.
                self.sure = min(1.0 - passing / later, max(self.load - self.available, 0.0) / nano)

    def run_dry(self, now: int, lasting_ns: int) -> None:
        """If nobody has a turn, it refuses from where its bucket is empty to the end of the step."""
        if self.short and not self.has_turn:
            income = self.cell.rate * lasting_ns
            held = self.cell.balance(now)
            if 0 < held < self.load - income:
                self.lean = held / (self.load - income)

    @property
    def bucket(self) -> Bucket | None:
        return self.cell.share

    @property
    def debtor(self) -> Bucket | None:
        return self.cell

    def _find(self, now: int, lasting_ns: int) -> int:
        self.lean = self.sure = 0.0
        self.has_turn = False
        cell = self.cell
        income = cell.rate * lasting_ns
        held = cell.balance(now)
        available = held + income
        share = cell.share
        if share is None:
            self.calm_below = income if held == cell.cap else -1
            return available
        self.calm_below = -1
        scaled = share.scaled_balance(now)
        self.spilled = self.spilled or scaled == share.cap
        return min(available, scaled // share.scale + share.rate * lasting_ns // share.scale)


def learn_cost(gate: Gate, nano: int) -> None:
    """Some requests of this second take so much."""
    if nano:
        gate.cost = nano if gate.cost in (0, nano) else _VARIOUS


def count_takers(gate: Gate, lasting_ns: int) -> None:
    """Requires: all demands have told what they ask, and `learn_cost`."""
    if isinstance(gate, LaneGate):
        gate.takers = gate.load / gate.cost * SECOND_NS / lasting_ns if gate.cost > 0 else 0.0


def learn_grid(gate: Gate) -> None:
    """Requires: `learn_cost`."""
    gate.grid = None
    bucket = gate.bucket
    if bucket is not None and not gate.spilled and gate.cost > 0:
        cost = gate.cost * bucket.scale
        if cost <= bucket.debt:
            gate.grid = cost, bucket.rate, (bucket.rate * gate.asked_ns - bucket.used) % cost


def count_whole(gate: Gate) -> None:
    """A request passes a bucket that has anything, and what it takes beyond that is debt: so many pass in
    this step. Requires: the gate is tight; `learn_cost`, and `forgive` before it."""
    if gate.cost > 0 and gate.most == ANY:
        gate.whole = True
        gate.most = -(-gate.available // gate.cost)
        gate.available = gate.most * gate.cost


def forgive(gate: Gate, lasting_ns: int) -> None:
    """What a bucket would owe beyond the limit on its debt it is forgiven. Where that may happen, no more
    requests are served than find it open; and where a single one costs so much, one is served whenever the
    bucket is open, whatever it holds then, and it is closed for as long as its debt may last.
    Requires: all demands have told what they ask, and `learn_cost`."""
    bucket = gate.debtor
    if bucket is None or gate.cost <= 0 or 2 * gate.cost <= bucket.debt:
        return
    now, cost = gate.asked_ns, gate.cost
    held, income = bucket.balance(now), bucket.rate * lasting_ns
    gate.most = max(-(-(held + income) // cost), 0)
    if cost <= held + income + bucket.debt:
        return
    closed = min(max(-held / income, 0.0), 1.0)
    requests = gate.load / cost
    gate.available = int(cost * min(requests * (1.0 - closed), 1.0))
    # The first one that comes after it has opened.
    first = min(1.0 / requests, (1.0 - closed) / 2) if requests else 0.0
    gate.at_ns = now + int((closed + first) * lasting_ns)
