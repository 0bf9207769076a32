"""How clients retry what was throttled, as botocore does it.

    standard   the default of today's SDKs: 4 attempts for DynamoDB; before attempt n + 1 a random wait of
               up to 2^(n-1) seconds, at most 20
    legacy     10 attempts; before attempt n + 1 exactly 50 ms x 2^(n-1)
    none       the first answer counts

Read from botocore 1.44: retries/standard.py (its table of attempts per service, its backoff for throttling
errors) and data/_retry.json with retryhandler.py. The token bucket by which the standard mode limits retries
of one client after many failures is left out: how requests are divided among clients is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

MILLI_NS = 1_000_000
ONE = 1 << 30
"""Probabilities are integers that add up to this."""


LEAN = 1 / 3
"""A request refused at any time of a step waits for any time of up to some whole steps. If it comes back
in that same step, it does so rather late: the mean of its places is so much above the middle, -1 being the
step's beginning and 1 its end. If it comes back in the last step in which it may, it is as much below."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The pause before a retry: evenly distributed between two bounds, milliseconds."""

    least_ms: int
    most_ms: int

    @property
    def mean_ms(self) -> float:
        return (self.least_ms + self.most_ms) / 2

    def draw_ns(self, random: Callable[[], float]) -> int:
        if self.least_ms == self.most_ms:
            return self.least_ms * MILLI_NS
        return int((self.least_ms + (self.most_ms - self.least_ms) * random()) * MILLI_NS)

    def steps_later(self, step_ms: int) -> tuple[int, ...]:
        """How many steps later a retry falls: probability of 0, 1, 2, ... The first attempt lies anywhere in
        its own step. Requires: the wait is not a fixed one."""
        last = -(-self.most_ms // step_ms) + 1
        # The sum of a uniform place in the step and a uniform wait: its distribution at whole steps.
        upto = [0, *(round(self._below(step_ms * (step + 1), step_ms) * ONE) for step in range(last))]
        upto[-1] = ONE
        return tuple(high - low for low, high in pairwise(upto))

    def _below(self, sum_ms: int, step_ms: int) -> float:
        """The probability that place in the step plus wait stays below so many milliseconds."""

        def ramp(upto: int) -> float:
            """Integral of min(max(x, 0), step_ms) / step_ms from minus infinity to `upto`."""
            inside = min(max(upto, 0), step_ms)
            return inside * inside / (2 * step_ms) + max(upto - step_ms, 0)

        width = self.most_ms - self.least_ms
        return (ramp(sum_ms - self.least_ms) - ramp(sum_ms - self.most_ms)) / width


@dataclass(frozen=True)
class Retries:
    mode: str
    waits: tuple[Wait, ...] = ()
    """Before the second attempt, the third, ..."""
    step_ms: int = 1000
    """How long a step of the fluid engine is."""

    def in_steps_of(self, step_ms: int) -> Retries:
        return self if step_ms == self.step_ms else replace(self, step_ms=step_ms)

    @cached_property
    def fixed(self) -> bool:
        """Whether those who were refused together come back together."""
        return bool(self.waits) and all(wait.least_ms == wait.most_ms for wait in self.waits)

    @cached_property
    def scattered(self) -> bool:
        """Whether they come back by chance."""
        return bool(self.waits) and not self.fixed

    @cached_property
    def attempts(self) -> int:
        return len(self.waits) + 1

    @cached_property
    def ways(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per attempt: how many steps after it the next one falls, rising, and the probability (of `ONE`)
        that it falls so many or fewer.

        A random wait scatters its requests over the steps. A fixed one keeps them together: the k-th
        attempt falls as many steps after the first as all waits before it make, to the nearest step.
        Were each such wait scattered by the place in the step at which it began, a burst of two seconds
        would be one of five at its tenth attempt, and find units that it does not find.
        """
        ways: list[tuple[tuple[int, int], ...]] = []
        passed_ms = 0
        for wait in self.waits:
            if wait.least_ms == wait.most_ms:
                before, passed_ms = passed_ms, passed_ms + wait.most_ms
                ways.append(((self._steps(passed_ms) - self._steps(before), ONE),))
            else:
                chances = wait.steps_later(self.step_ms)
                sums = enumerate(accumulate(chances))
                ways.append(tuple((later, upto) for later, upto in sums if chances[later]))
        return tuple(ways)

    def _steps(self, ms: int) -> int:
        """The nearest number of steps, the lower one of two."""
        return (ms + self.step_ms // 2 - 1) // self.step_ms

    @cached_property
    def horizon(self) -> int:
        """No request comes back more steps later than this."""
        return max((way[-1][0] for way in self.ways), default=0)

    @cached_property
    def passing_s(self) -> int:
        """How many seconds a request is on its way through all attempts, at most."""
        return -(-sum(way[-1][0] for way in self.ways) * self.step_ms // 1000)

    @cached_property
    def chains(self) -> tuple[tuple[float, ...], ...]:
        """Per attempt: of its requests, were all refused each time, the part that is tried once, twice, ...
        within the step: 1, then what comes back in it, then what comes back again."""
        at_once = [way[0][1] / ONE if not way[0][0] else 0.0 for way in self.ways]
        chains: list[tuple[float, ...]] = []
        for first in range(self.attempts):
            chain = [1.0]
            for tried, part in enumerate(at_once[first:]):
                if not part:
                    break
                # Who has come back in this step has less of it left.
                less = 1.0 if not tried or self.fixed else 1.0 - LEAN
                chain.append(chain[-1] * part * less)
            chains.append(tuple(chain))
        return tuple(chains)

    @cached_property
    def again(self) -> tuple[float, ...]:
        """Per attempt: of its requests, were all refused, the part that comes back within the step."""
        return tuple(chain[1] if len(chain) > 1 else 0.0 for chain in self.chains)

    @cached_property
    def whole_chains(self) -> tuple[tuple[float, ...], ...]:
        """The same of a step in which all attempts are made."""
        return tuple((1.0,) * (self.attempts - first) for first in range(self.attempts))

    @cached_property
    def mean_waits_ms(self) -> tuple[int, ...]:
        """Per attempt: how long after the first one it is made, on the average."""
        means = [wait.mean_ms for wait in self.waits]
        return tuple(round(sum(means[:number])) for number in range(self.attempts))


_STANDARD_MOST_MS = 20_000


def standard(attempts: int = 4) -> Retries:
    waits = tuple(Wait(0, min(1000 << n, _STANDARD_MOST_MS)) for n in range(attempts - 1))
    return Retries("standard", waits)


def legacy(attempts: int = 10) -> Retries:
    return Retries("legacy", tuple(Wait(50 << n, 50 << n) for n in range(attempts - 1)))


NO_RETRIES = Retries("none")
ATTEMPTS_MAX = 12
