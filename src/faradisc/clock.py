"""Time and randomness.

Only this module asks the operating system for the time or for random bytes. Everything else takes a `Clock`
and an `Entropy`, so tests, simulations and the planner can replace both.
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
    """The machine's clock, made monotonic: a step backwards reads as standing still."""

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
    """Returns the quickest function to read a clock; it may step backwards."""
    return time.time_ns if type(clock) is SystemClock else clock.now_ns


def stopwatch_s() -> float:
    """Returns seconds since some moment, for durations of what the machine does: no clock of a database."""
    return time.perf_counter()


def monotonic_s() -> float:
    """Returns seconds since some moment, which go on while the machine sleeps and never jump: for leases."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@runtime_checkable
class MovableClock(Protocol):
    """A clock that its user moves forward."""

    def now_ns(self) -> int: ...

    def advance(self, seconds: float) -> None: ...


LAST_NS = 7_258_118_400 * 1_000_000_000
"""The year 2200, the end of movable clocks: 64 bits of nanoseconds end in 2262, and some stored times are
days or months ahead."""


class ScaledClock:
    """The machine's clock, `factor` times as fast, starting at `begin_ns` (default: now)."""

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
    """A clock that stands still until `advance`."""

    __slots__ = ("_now_ns",)

    def __init__(self, start_s: float = 1_700_000_000.0) -> None:
        self._now_ns = int(start_s * 1_000_000_000)

    def now_ns(self) -> int:
        return self._now_ns

    def advance(self, seconds: float) -> None:
        """Moves the clock forward. Raises ValueError for a negative step, and beyond the year 2200."""
        if seconds < 0:
            raise ValueError("a clock moves forward only")
        later = self._now_ns + int(seconds * 1_000_000_000)
        if later > LAST_NS:
            raise ValueError("a clock goes to the year 2200 and no farther")
        self._go_to(later)

    def _go_to(self, now_ns: int) -> None:
        self._now_ns = now_ns


def epoch_seconds(now_ns: int) -> float:
    """Returns epoch seconds with millisecond precision, as timestamps are sent."""
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
