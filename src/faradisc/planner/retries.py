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
from itertools import pairwise

MILLI_NS = 1_000_000
ONE = 1 << 30
"""Probabilities are integers that add up to this."""


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
        lies anywhere in its own step."""
        last = -(-self.most_ms // 1000) + 1
        # The sum of a uniform place in the second and a uniform wait: its distribution at whole seconds.
        upto = [0, *(round(self._below(1000 * (step + 1)) * ONE) for step in range(last))]
        upto[-1] = ONE
        return tuple(high - low for low, high in pairwise(upto))

    def _below(self, sum_ms: int) -> float:
        """The probability that place in the second plus wait stays below so many milliseconds."""
        if self.least_ms == self.most_ms:
            return min(max((sum_ms - self.least_ms) / 1000, 0.0), 1.0)

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

    @property
    def attempts(self) -> int:
        return len(self.waits) + 1

    @cached_property
    def later(self) -> tuple[tuple[int, ...], ...]:
        """Per attempt: `Wait.seconds_later` of the wait behind it."""
        return tuple(wait.seconds_later() for wait in self.waits)

    @cached_property
    def at_once(self) -> tuple[float, ...]:
        """Per attempt: the part of its refused requests that come back within the same second."""
        return (*(chances[0] / ONE for chances in self.later), 0.0)


_STANDARD_MOST_MS = 20_000


def standard(attempts: int = 4) -> Retries:
    waits = tuple(Wait(0, min(1000 << n, _STANDARD_MOST_MS)) for n in range(attempts - 1))
    return Retries("standard", waits)


def legacy(attempts: int = 10) -> Retries:
    return Retries("legacy", tuple(Wait(50 << n, 50 << n) for n in range(attempts - 1)))


NO_RETRIES = Retries("none")
ATTEMPTS_MAX = 12
