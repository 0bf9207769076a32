"""Token buckets in integers.

A bucket fills at `rate` units per second, holds `burst_s` seconds of it at most, and may fall below zero:
a request is admitted while the balance is positive and its true cost is taken afterwards.

One capacity unit is 10^9 nano-units and time is nanoseconds, so `rate * now` is exactly the inflow
since the epoch. The bucket stores one number, `used`:

    balance = rate * now - used

Reading the balance changes nothing, so a test costs one multiplication and one comparison. A fractional
rate (a partition's share of a table in the classic profile) is `rate / scale`; the balance is then kept in
nano-units times `scale`, still exact.

Invariants: after `take` and `set_rate` at `now`, -debt <= balance <= cap; between them the inflow may
raise the balance above the cap, and `balance()` and `take` cut it.

Source: capacity.md sections 2.3 and 2.5; vectors V91 to V94, V103, V109.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from faradisc.capacity.config import SECOND_NS

ANY_DEBT = 1 << 200
"""No limit on debt."""


@lru_cache(maxsize=1024)
def _product(rate: int, ns: int) -> int:
    """Returns one object for equal products, so that the buckets of many partitions share memory."""
    return rate * ns


class Bucket:
    """One bucket. The fields are read and written directly by capacity/admission.py, for speed."""

    __slots__ = ("burst_ns", "cap", "debt", "debt_ns", "rate", "scale", "used")

    def __init__(
        self,
        rate: int | Fraction,
        *,
        now: int,
        burst_ns: int,
        debt_ns: int | None,
        balance: int | None = None,
    ) -> None:
        """balance: in nano-units; None: full."""
        self.burst_ns = burst_ns
        self.debt_ns = debt_ns
        self.rate = 0
        """Units per second, times `scale`."""
        self.scale = 1
        self.cap = 0
        self.debt = 0
        self.used = 0
        self._adopt(rate)
        held = self.cap if balance is None else min(balance * self.scale, self.cap)
        self.used = self.rate * now - held

    def _adopt(self, rate: int | Fraction) -> None:
        self.rate = rate if isinstance(rate, int) else rate.numerator
        self.scale = 1 if isinstance(rate, int) else rate.denominator
        self.cap = _product(self.rate, self.burst_ns)
        self.debt = ANY_DEBT if self.debt_ns is None else _product(self.rate, self.debt_ns)

    def scaled_balance(self, now: int) -> int:
        return min(self.rate * now - self.used, self.cap)

    def balance(self, now: int) -> int:
        """Returns the nano-units left; negative is debt."""
        return self.scaled_balance(now) // self.scale

    def ok(self, now: int) -> bool:
        """Returns whether a request is admitted."""
        return self.rate * now > self.used

    def take(self, now: int, nano: int) -> None:
        """Takes a cost, into debt if necessary."""
        level = self.rate * now
        used = self.used
        if used < level - self.cap:  # noqa: PLR1730 - max() and min() are slower than the whole function
            used = level - self.cap
        used += nano * self.scale
        self.used = used if used <= level else min(used, level + self.debt)

    def set_rate(self, now: int, rate: int | Fraction) -> None:
        """Changes the rate. The balance stays, cut to the new cap and never increased."""
        held, scale = self.scaled_balance(now), self.scale
        self._adopt(rate)
        held = held * self.scale // scale
        self.used = self.rate * now - max(min(held, self.cap), -self.debt)

    def set_balance(self, now: int, nano: int) -> None:
        """Sets a balance (admin, tests, planner), within cap and debt."""
        held = max(min(nano * self.scale, self.cap), -self.debt)
        self.used = self.rate * now - held

    def exact_rate(self) -> Fraction:
        return Fraction(self.rate, self.scale)


def seconds(count: int | None) -> int | None:
    """Returns seconds as nanoseconds; None stays None."""
    return None if count is None else count * SECOND_NS
