"""Retry policies of clients for throttled requests, as botocore has them.

    standard   the default of today's SDKs: 4 attempts for DynamoDB; before attempt n + 1 a random wait of
               up to 2^(n-1) seconds, at most 20
    legacy     10 attempts; before attempt n + 1 exactly 50 ms x 2^(n-1)
    none       1 attempt

Read from botocore 1.44: retries/standard.py (its table of attempts per service, its backoff for throttling
errors) and data/_retry.json with retryhandler.py. The token bucket by which the standard mode limits retries
of one client after many failures is left out, because a plan does not say how many clients there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

from faradisc.records import dataclass

MILLI_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Wait:
    """The pause before a retry: uniformly distributed between two bounds, milliseconds."""

    least_ms: int
    most_ms: int

    @property
    def mean_ms(self) -> float:
        return (self.least_ms + self.most_ms) / 2

    def draw_ns(self, random: Callable[[], float]) -> int:
        """Returns a wait in nanoseconds; `random` returns numbers of 0 to 1."""
        if self.least_ms == self.most_ms:
            return self.least_ms * MILLI_NS
        return int((self.least_ms + (self.most_ms - self.least_ms) * random()) * MILLI_NS)

    def seconds_later(self) -> list[float]:
        """Returns the probabilities that the retry falls 0, 1, 2, ... seconds after the second of the
        attempt, which is made at any time of its second. Requires: the wait is random."""
        last = -(-self.most_ms // 1000) + 1
        below = [0.0, *(self._below(1000 * (second + 1)) for second in range(last))]
        return [high - low for low, high in pairwise(below)]

    def _below(self, sum_ms: int) -> float:
        """Returns the probability that the time of the attempt in its second plus the wait is below a sum."""

        def integral(upto: int) -> float:
            """Of min(max(x, 0), 1000) / 1000 from minus infinity to `upto`."""
            inside = min(max(upto, 0), 1000)
            return inside * inside / 2000 + max(upto - 1000, 0)

        return (integral(sum_ms - self.least_ms) - integral(sum_ms - self.most_ms)) / (
            self.most_ms - self.least_ms
        )


@dataclass(frozen=True)
class Retries:
    """A retry policy."""

    mode: str
    waits: tuple[Wait, ...] = ()
    """Before the second attempt, the third, ..."""

    @property
    def attempts(self) -> int:
        return len(self.waits) + 1

    @property
    def fixed(self) -> bool:
        """Whether every wait is a fixed time."""
        return bool(self.waits) and all(wait.least_ms == wait.most_ms for wait in self.waits)

    @cached_property
    def returns(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """For each attempt that is retried: how many whole seconds later the next one falls, and with which
        probability.

        Fixed waits keep requests together that were throttled together: the waits are added up from the first
        attempt and each sum is rounded to whole seconds. Were each wait distributed over two seconds, a burst
        of two seconds would last five seconds at its tenth attempt.
        """
        found: list[tuple[tuple[int, float], ...]] = []
        passed_ms = 0
        for wait in self.waits:
            if wait.least_ms == wait.most_ms:
                before, passed_ms = passed_ms, passed_ms + wait.most_ms
                found.append(((_whole_seconds(passed_ms) - _whole_seconds(before), 1.0),))
            else:
                found.append(tuple(pair for pair in enumerate(wait.seconds_later()) if pair[1]))
        return tuple(found)

    @cached_property
    def mean_waits_ms(self) -> tuple[int, ...]:
        """For each attempt, the mean time since the first one."""
        means = [wait.mean_ms for wait in self.waits]
        return tuple(round(sum(means[:number])) for number in range(self.attempts))


def _whole_seconds(ms: int) -> int:
    """Returns the nearest number of seconds, the lower one of two."""
    return (ms + 499) // 1000


_STANDARD_MOST_MS = 20_000


def standard(attempts: int = 4) -> Retries:
    waits = tuple(Wait(0, min(1000 << n, _STANDARD_MOST_MS)) for n in range(attempts - 1))
    return Retries("standard", waits)


def legacy(attempts: int = 10) -> Retries:
    return Retries("legacy", tuple(Wait(50 << n, 50 << n) for n in range(attempts - 1)))


NO_RETRIES = Retries("none")
ATTEMPTS_MAX = 12
