"""Time and chance, asked for in one place.

This is the only module that asks the operating system for the time or for random bytes. Everything
else takes a `Clock` and an `Entropy`, so that a test, a simulation or a planner can replace both.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Protocol, runtime_checkable


class Clock(Protocol):
    """Wall-clock time in integer nanoseconds since the epoch, never running backwards."""

    def now_ns(self) -> int: ...


class SystemClock:
    """The machine's clock, held monotonic: a step backwards is seen as standing still."""

    __slots__ = ("_last_ns",)

    def __init__(self) -> None:
        self._last_ns = 0

    def now_ns(self) -> int:
        now = time.time_ns()
        if now < self._last_ns:
            return self._last_ns
        self._last_ns = now
        return now


def quick_reading(clock: Clock) -> Callable[[], int]:
    """Reads a clock as quickly as it can be read, for whoever minds the rare step backwards."""
    return time.time_ns if type(clock) is SystemClock else clock.now_ns


@runtime_checkable
class MovableClock(Protocol):
    """A clock that whoever holds it moves forward."""

    def now_ns(self) -> int: ...

    def advance(self, seconds: float) -> None: ...


LAST_NS = 7_258_118_400 * 1_000_000_000
"""The year 2200: clocks that are moved go no farther. Moments in 64 bits of nanoseconds end in 2262, and some
are days or months ahead."""


class ScaledClock:
    """The machine's clock, `factor` times as fast from its beginning on: from `begin_ns`, or from now."""

    __slots__ = ("_began_ns", "_begin_ns", "_clock", "_factor")

    def __init__(self, clock: Clock, factor: float, begin_ns: int | None = None) -> None:
        self._clock = clock
        self._factor = factor
        self._began_ns = clock.now_ns()
        self._begin_ns = self._began_ns if begin_ns is None else begin_ns

    def now_ns(self) -> int:
        passed_ns = int((self._clock.now_ns() - self._began_ns) * self._factor)
        return min(self._begin_ns + passed_ns, LAST_NS)


class ManualClock:
    """A clock that stands still until it is told to move."""

    __slots__ = ("_now_ns",)

    def __init__(self, start_s: float = 1_700_000_000.0) -> None:
        self._now_ns = int(start_s * 1_000_000_000)

    def now_ns(self) -> int:
        return self._now_ns

    def advance(self, seconds: float) -> None:
        """Move forward. Raises ValueError for a negative step, and for one beyond the year 2200."""
        if seconds < 0:
            raise ValueError("a clock moves forward only")
        later = self._now_ns + int(seconds * 1_000_000_000)
        if later > LAST_NS:
            raise ValueError("a clock goes to the year 2200 and no farther")
        self._go_to(later)

    def _go_to(self, now_ns: int) -> None:
        self._now_ns = now_ns


def epoch_seconds(now_ns: int) -> float:
    """Nanoseconds as the wire writes timestamps: epoch seconds with millisecond precision."""
    return now_ns // 1_000_000 / 1000


class Entropy(Protocol):
    """A source of identifiers and random bytes."""

    def token_bytes(self, count: int) -> bytes: ...

    def uuid(self) -> str: ...


class SystemEntropy:
    def token_bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def uuid(self) -> str:
        return str(uuid.uuid4())


class SeededEntropy:
    """Reproducible identifiers for tests and simulation."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def token_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=self._random.randbytes(16), version=4))
