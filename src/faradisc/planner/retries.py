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
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

MILLI_NS = 1_000_000
ONE = 1 << 30
"""Probabilities are integers that add up to this."""


LEAN = 1 / 3
"""A request refused at any time of a second waits for any time of up to some whole seconds. If it comes back
in that same second, it does so rather late: the mean of its places is so much above the middle, -1 being the
second's beginning and 1 its end. If it comes back in the last second in which it may, it is as much below."""


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

    def seconds_later(self) -> tuple[int, ...]:
        """How many steps of a second later a retry falls: probability of 0, 1, 2, ... The first attempt
        lies anywhere in its own step. Requires: the wait is not a fixed one."""
        last = -(-self.most_ms // 1000) + 1
        # The sum of a uniform place in the second and a uniform wait: its distribution at whole seconds.
        upto = [0, *(round(self._below(1000 * (step + 1)) * ONE) for step in range(last))]
        upto[-1] = ONE
        return tuple(high - low for low, high in pairwise(upto))

    def _below(self, sum_ms: int) -> float:
        """The probability that place in the second plus wait stays below so many milliseconds."""

        def ramp(upto: int) -> float:
            """Integral of min(max(x, 0), 1000) / 1000 from minus infinity to `upto`."""
            inside = min(max(upto, 0), 1000)
            return inside * inside / 2000 + max(upto - 1000, 0)

        width = self.most_ms - self.least_ms
        return (ramp(sum_ms - self.least_ms) - ramp(sum_ms - self.most_ms)) / width


@dataclass(frozen=True)
class Retries:
    mode: str
    waits: tuple[Wait, ...] = ()
    """Before the second attempt, the third, ..."""

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
        """Per attempt: how many seconds after it the next one falls, rising, and the probability (of `ONE`)
        that it falls so many or fewer.

        A random wait scatters its requests over the seconds. A fixed one keeps them together: the k-th
        attempt falls as many seconds after the first as all waits before it make, to the nearest second.
        Were each such wait scattered by the place in the second at which it began, a burst of two seconds
        would be one of five at its tenth attempt, and find units that it does not find.
        """
        ways: list[tuple[tuple[int, int], ...]] = []
        passed_ms = 0
        for wait in self.waits:
            if wait.least_ms == wait.most_ms:
                before, passed_ms = passed_ms, passed_ms + wait.most_ms
                ways.append(((_to_seconds(passed_ms) - _to_seconds(before), ONE),))
            else:
                chances = wait.seconds_later()
                sums = enumerate(accumulate(chances))
                ways.append(tuple((later, upto) for later, upto in sums if chances[later]))
        return tuple(ways)

    @cached_property
    def horizon_s(self) -> int:
        """No request comes back more seconds later than this."""
        return max((way[-1][0] for way in self.ways), default=0)

    @cached_property
    def passing_s(self) -> int:
        """How long a request is on its way through all attempts, at most."""
        return sum(way[-1][0] for way in self.ways)

    @cached_property
    def chains(self) -> tuple[tuple[float, ...], ...]:
        """Per attempt: of its requests, were all refused each time, the part that is tried once, twice, ...
        within the second: 1, then what comes back in it, then what comes back again."""
        at_once = [way[0][1] / ONE if not way[0][0] else 0.0 for way in self.ways]
        chains: list[tuple[float, ...]] = []
        for first in range(self.attempts):
            chain = [1.0]
            for tried, part in enumerate(at_once[first:]):
                if not part:
                    break
                # Who has come back in this second has less of it left.
                less = 1.0 if not tried or self.fixed else 1.0 - LEAN
                chain.append(chain[-1] * part * less)
            chains.append(tuple(chain))
        return tuple(chains)

    @cached_property
    def whole_chains(self) -> tuple[tuple[float, ...], ...]:
        """The same of a step in which all attempts are made."""
        return tuple((1.0,) * (self.attempts - first) for first in range(self.attempts))

    @cached_property
    def mean_waits_ms(self) -> tuple[int, ...]:
        """Per attempt: how long after the first one it is made, on the average."""
        means = [wait.mean_ms for wait in self.waits]
        return tuple(round(sum(means[:number])) for number in range(self.attempts))


def _to_seconds(ms: int) -> int:
    return (ms + 500) // 1000


_STANDARD_MOST_MS = 20_000


def standard(attempts: int = 4) -> Retries:
    waits = tuple(Wait(0, min(1000 << n, _STANDARD_MOST_MS)) for n in range(attempts - 1))
    return Retries("standard", waits)


def legacy(attempts: int = 10) -> Retries:
    return Retries("legacy", tuple(Wait(50 << n, 50 << n) for n in range(attempts - 1)))


NO_RETRIES = Retries("none")
ATTEMPTS_MAX = 12
