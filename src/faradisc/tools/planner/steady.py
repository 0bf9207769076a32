"""When seconds of the fluid engine are alike, so that several can be taken in one step.

A table that refuses all day does the same second after second: as many requests come back as are refused and
wait. That takes a while to settle after each change, and is seen by how many attempts each stream makes.
Seconds are alike once those have stayed the same, one half of the time and the other, for as long as a
request may be on its way through all its attempts, if nothing has changed in the core meanwhile. Then a step
may be long, and those who wait are left as they are (FluidEngine).

Counts of single requests move by rounding, so "the same" is within a percent, and of a small stream within a
part of what all streams ask together. Long steps are held against the seconds that were settled last; what
drifts away from them has to settle anew. And no step is long in which banks run out that have let everything
through so far (`Gates.run_out`): that happens in one of its seconds.

Rates of buckets may change meanwhile, as adaptive capacity does every minute. What the new ones let through
is worked out anew, and those who wait are nearly as many as before, for otherwise attempts would be others.

Short steps are the exact ones. Only where a second is much work are there long ones: of tables with many
partitions, or where many have lots (tools/planner/lots.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from faradisc.tools.planner.workload.retries import Retries

LONGEST_S = 60
"""No step is longer: rates may change every minute."""
CHARGED_S = 10
"""Longer ones are charged bit by bit where debt has a limit, so that no bucket owes more than it earns
meanwhile. As often the core looks at heat: where that may matter, no step is longer (`same_until`)."""
_MUCH = 10
"""Partitions and crowds that one second's requests are divided over, lot by lot: where there are fewer, no
step is long."""
_SAME = 0.01
_OF_ALL = 0.002
_RATES_SAME = 0.3
"""Rates may change by as much in all, if attempts do not."""
_DRIFTED = 5.0
"""A long step may differ by so many times as much."""

Counts = tuple[int, ...]
"""Attempts by stream."""


class Steadiness:
    def __init__(self) -> None:
        self._settles_s = 2
        self._recent: deque[Counts] = deque(maxlen=self._settles_s)
        self._settled: list[float] = []
        """Attempts by stream and second when seconds were last found to be alike."""
        self._rates: list[float] = []
        self.holds = False
        """Whether the next step may be long."""

    def wait_for(self, retries: Retries) -> None:
        """There are clients that retry like this."""
        self._settles_s = max(self._settles_s, retries.passing_s + 2)
        self._recent = deque(maxlen=self._settles_s)

    def look(self, rates: list[float]) -> None:
        """The core may have changed the rates of buckets. A few of them among many do not matter, but
        add up."""
        before = self._rates
        if len(rates) != len(before) or not _alike_in_all(before, rates):
            self._rates = rates
            self.forget()

    def forget(self) -> None:
        self._recent.clear()
        self.holds = False

    def note_second(self, counts: Counts, places: int) -> None:
        """A second has passed whose requests were divided over so many places."""
        recent = self._recent
        if places < _MUCH:
            self.forget()
            return
        if recent and len(recent[0]) != len(counts):
            recent.clear()
        recent.append(counts)
        self.holds = False
        if len(recent) == self._settles_s:
            rows = list(recent)
            early, late = _means(rows[: len(rows) // 2]), _means(rows[len(rows) // 2 :])
            self._settled = _means(rows)
            self.holds = _alike(early, late, 1.0)

    def note_long(self, counts: Counts, seconds: int, places: int) -> None:
        """The same of a long step."""
        means = [count / seconds for count in counts]
        if places < _MUCH or not _alike(self._settled, means, _DRIFTED):
            self.forget()


def _means(rows: Sequence[Counts]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def _alike_in_all(one: list[float], other: list[float]) -> bool:
    """Whether all together differ by a little only."""
    differ = sum([abs(mine - theirs) for mine, theirs in zip(one, other, strict=True)])
    return differ <= _RATES_SAME * sum(one)


def _alike(one: list[float], other: list[float], times: float) -> bool:
    """Whether both are, stream by stream."""
    least = _OF_ALL * sum(one)
    return all(
        abs(mine - theirs) <= times * (_SAME * max(mine, theirs) + least)
        for mine, theirs in zip(one, other, strict=True)
    )
