"""Where the requests of one stream meet one partition while something is short (fluid engine).

A turnstile lets through the part of those who ask that the gates allow (balance.py), and sends the
others round: they come back in this tick or a later one, as their clients wait. A tick is a second, or a
tenth of one (waves.py). What integers cannot divide stays at the turnstile until it makes a whole
request, for as long as the run lasts, whatever becomes of the stream's shape: of few requests and a small
part, nearly all that is admitted is such remainders.
"""

from __future__ import annotations

from operator import add, sub
from typing import NamedTuple

from faradisc.tools.planner.simulation.recorder import FlowRecord
from faradisc.tools.planner.workload.retries import LEAN, Retries
from faradisc.tools.planner.workload.retries import ONE as CERTAIN

RATIO_BITS = 30
RATIO = 1 << RATIO_BITS
_MASK = RATIO - 1
_STEP = 663_608_941
"""RATIO divided by the golden ratio, odd."""
assert CERTAIN == RATIO
ANY = 1 << 60
"""More requests than there are."""
_KEPT_MOST = 8 << RATIO_BITS
"""What a turnstile could not let through for want of units, as far as it is made up for later."""


class Firsts(NamedTuple):
    """What those are up against who come for the first time (tools/planner/leaning.py)."""

    lean: float
    """How far those lean who are refused, -1..1."""
    refused: int
    """So many are refused whatever the ratio."""


EVEN = Firsts(0.0, 0)


class Turnstile:
    """Requires: `back` is called for every tick while anybody is `waiting`."""

    __slots__ = (
        "_final", "_horizon", "_last", "_leans", "_left", "_lost", "_nobody", "_phase", "_refused",
        "_retries", "_rows", "_served", "leans", "waiting",
    )  # fmt: skip

    def __init__(self, retries: Retries) -> None:
        self.waiting = 0
        """Requests that will come back."""
        self._retries = retries
        self._horizon = retries.horizon + 1
        self._rows: list[list[int] | None] = [None] * self._horizon
        """Who comes back, per attempt, by tick modulo the horizon."""
        self._leans: list[list[float] | None] = [None] * self._horizon
        """How far they lean, by tick and attempt: the sum over requests of -1..1, from the beginning of the
        tick in which they come to its end. None: not at all."""
        self.leans: list[float] | None = None
        """The same of those who have come back and were not pushed yet."""
        self._final = retries.attempts - 1
        """Which attempt is the last."""
        self._nobody = [0] * retries.attempts
        """Who comes, per attempt, if nobody does."""
        self._left = [0] * retries.attempts
        """Per attempt: the part of a request that was admitted and not counted yet; negative: that was
        counted and not admitted yet (`relent`)."""
        self._phase = 0
        """Where the rounding falls when refused requests are divided over the ticks: it moves from time to
        time, so that in a while each has had its part."""
        self._served = [0] * retries.attempts
        self._lost = 0
        self._refused = 0
        """How many of those that were pushed last were refused for good, or until a later tick."""
        self._last: tuple[int, list[int] | None] = (0, None)
        """Which attempt it was for the last of them, and where they wait; None: they are lost."""

    def back(self, tick: int, part: float = 1.0) -> list[int] | None:
        """Those who come back in this tick, per attempt, or such a part of them. They wait no more."""
        position = tick % self._horizon
        row = self._rows[position]
        if row is None:
            self.leans = None
            return None
        self._rows[position] = None
        self.leans, self._leans[position] = self._leans[position], None
        if part < 1.0:
            self.leans = None
            taken = [int(count * part) for count in row]
            self._rows[position] = list(map(sub, row, taken))
            row = taken
        self.waiting -= sum(row)
        return row

    def push(
        self,
        first: int,
        back: list[int] | None,
        ratio: float,
        tick: int,
        most: int = ANY,
        *,
        firsts: Firsts = EVEN,
    ) -> tuple[int, int]:
        """First attempts and those who came back: how many attempts they make in this tick, and how many
        are admitted where each is with the probability `ratio`, but no more than `most` now: what is beyond
        that stays at the turnstile."""
        part = int(ratio * RATIO) if ratio < 1.0 else RATIO
        attempts = admitted = self._refused = 0
        leans, self.leans = self.leans, None
        again = first
        for number, count in enumerate(self._nobody if back is None else back):
            count += again
            if not count:
                continue
            through = self._let_through(
                number, count if number else count - firsts.refused, part, most - admitted
            )
            attempts += count
            admitted += through
            refused = count - through
            if not refused:
                again = 0
            elif number == self._final:
                self._refused = refused
                self._lost += refused
                self._last = (number, None)
            else:
                # An empty bucket lets through as many at any time: those beyond that are the ones who lean.
                lean = again * LEAN if number else firsts.lean * refused
                if leans is not None:
                    lean += leans[number]
                again = self._send_round(number, refused, tick, lean)
        return attempts, admitted

    def push_through(self, first: int, ratio: float, most: int = ANY) -> tuple[int, int]:
        """The same of a step in which everybody is tried until he is through or gives up."""
        part = int(ratio * RATIO) if ratio < 1.0 else RATIO
        attempts = admitted = 0
        count = first
        for number in range(len(self._left)):
            if not count:
                break
            through = self._let_through(number, count, part, most - admitted)
            attempts += count
            admitted += through
            count -= through
        self._lost += count
        return attempts, admitted

    def _let_through(self, number: int, count: int, part: int, most: int) -> int:
        """So many of those who try for this time, and what is left of one more for the next tick."""
        owed = self._left[number] + count * part
        through = owed >> RATIO_BITS
        left = owed & _MASK
        limit = count if count < most else most
        if not 0 <= through <= limit:
            through = limit if through > 0 and limit > 0 else 0
            left = min(owed - (through << RATIO_BITS), _KEPT_MOST)
        self._left[number] = left
        if through:
            self._served[number] += through
        return through

    def _send_round(self, number: int, refused: int, tick: int, lean: float) -> int:
        """Refused requests wait; returns those that come back within this tick."""
        self._phase = phase = (self._phase + _STEP) & _MASK
        rows, horizon = self._rows, self._horizon
        ways = self._retries.ways[number]
        earliest = ways[0][1]
        scatters = earliest < CERTAIN
        if scatters and lean:
            # Who was refused late in this tick comes in the last one that may be, and not in this.
            if not -refused <= lean <= refused:
                lean = refused if lean > 0.0 else -refused
            phase -= int(lean * earliest)
        following = number + 1
        row: list[int] | None = None
        at_once = sent = mine = latest = 0
        for later, upto in ways:
            reached = (refused * upto + phase) >> RATIO_BITS if upto < CERTAIN else refused
            if reached <= sent:
                continue
            if later:
                latest = later
                row = rows[(tick + later) % horizon]
                if row is None:
                    row = rows[(tick + later) % horizon] = self._nobody.copy()
                mine = reached - sent
                row[following] += mine
            else:
                at_once = reached
            sent = reached
        if row is not None:
            self._refused = mine
            self._last = (number, row)
            if scatters and latest == ways[-1][0]:
                place = (tick + latest) % horizon
                leans = self._leans[place]
                if leans is None:
                    leans = self._leans[place] = [0.0] * len(self._left)
                leans[following] -= mine * LEAN
        self.waiting += refused - at_once
        return at_once

    @property
    def owes(self) -> int | None:
        """What part of a request (of `RATIO`) it has refused though the gates allowed it, of those that were
        pushed last; negative: none. None: nobody is left whom it might admit after all."""
        return self._left[self._last[0]] if self._refused else None

    def relent(self) -> None:
        """Admit one of those after all. Requires: `owes` is not None."""
        number, row = self._last
        if row is None:
            self._lost -= 1
        else:
            row[number + 1] -= 1
            self.waiting -= 1
        self._refused -= 1
        self._served[number] += 1
        left = self._left[number]
        self._left[number] = left - RATIO if left > 0 else -RATIO

    def bequeath(self, heirs: list[Turnstile], upto: list[int]) -> None:
        """Divide all who wait, by weights that are summed up, among the turnstiles that take this one's
        place; the first has what was counted here."""
        heirs[0]._lost += self._lost
        heirs[0]._served = list(map(add, heirs[0]._served, self._served))
        whole = upto[-1]
        if len(heirs) == 1:
            for position, row in enumerate(self._rows):
                if row is not None and any(row):
                    heirs[0]._receive(position, row)
                    heirs[0]._lean_on(position, self._leans[position], 1.0)
            return
        for position, row in enumerate(self._rows):
            if row is None:
                continue
            given = [0] * len(self._left)
            for heir, limit in zip(heirs, upto, strict=True):
                reached = [count * limit // whole if whole else count for count in row]
                if reached != given:
                    part = (sum(reached) - sum(given)) / sum(row)
                    heir._receive(position, list(map(sub, reached, given)))
                    heir._lean_on(position, self._leans[position], part)
                    given = reached

    def _receive(self, position: int, row: list[int]) -> None:
        held = self._rows[position]
        self._rows[position] = row if held is None else list(map(add, held, row))
        self.waiting += sum(row)

    def _lean_on(self, position: int, leans: list[float] | None, part: float) -> None:
        if leans is not None:
            held = self._leans[position]
            more = [lean * part for lean in leans]
            self._leans[position] = more if held is None else list(map(add, held, more))

    def put_off(self, row: list[int], tick: int) -> None:
        """Those who came back in this tick come in the next one instead."""
        self._receive((tick + 1) % self._horizon, row)

    def report(self, flow: FlowRecord) -> None:
        """Tell the stream's record what has become of its requests since the last time."""
        flow.lost += self._lost
        self._lost = 0
        for number, count in enumerate(self._served):
            if count:
                flow.at_attempt[number + 1] += count
                flow.waits[self._retries.mean_waits_ms[number]] += count
                self._served[number] = 0

    def give_up(self, flow: FlowRecord) -> None:
        """The run is over: whoever still waits is lost."""
        flow.lost += self.waiting
        self.waiting = 0
