"""Vectors V91 to V93, V103 and V109 of capacity.md section 4.6: burst capacity and debt."""

from __future__ import annotations

from fractions import Fraction

import pytest

from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import SECOND_NS, UNIT


def bucket(rate: int, units: int, *, burst_s: int = 300, max_debt_s: int | None = 10) -> Bucket:
    debt = None if max_debt_s is None else max_debt_s * SECOND_NS
    return Bucket(rate, now=0, burst_ns=burst_s * SECOND_NS, debt_ns=debt, balance=units * UNIT)


def first_throttle_s(held: Bucket, per_second: int) -> float:
    """Returns the second in which evenly timed single-unit requests are first throttled."""
    request = 0
    while held.ok(request * SECOND_NS // per_second):
        held.take(request * SECOND_NS // per_second, UNIT)
        request += 1
    return request / per_second


def passed(held: Bucket, per_second: int, second: int) -> int:
    """How many of a second's evenly timed requests pass."""
    count = 0
    for request in range(per_second):
        now = second * SECOND_NS + request * SECOND_NS // per_second
        if held.ok(now):
            held.take(now, UNIT)
            count += 1
    return count


def test_v91_burst_capacity_of_five_minutes() -> None:
    """V91, D (S4): 150 RCU idle for 300 s hold 45,000 units; then 200/s last 900 s, then 150/s."""
    held = bucket(150, 0)
    assert held.balance(300 * SECOND_NS) == 45_000 * UNIT
    assert held.balance(3000 * SECOND_NS) == 45_000 * UNIT
    held = bucket(150, 45_000)
    assert first_throttle_s(held, 200) == pytest.approx(900, abs=0.5)
    assert [passed(held, 200, second) for second in range(900, 910)][5:] == pytest.approx([150] * 5, abs=1)


def test_v92_the_minute_in_one_second() -> None:
    """V92, S3: 60 WCU with a balance of 3,540 pass 3,600 writes in one second, afterwards 60/s."""
    held = bucket(60, 3_540)
    assert passed(held, 3600, 0) == 3600
    assert [passed(held, 61, second) for second in (1, 2, 3)] == [60, 60, 60]


def test_v93_without_burst() -> None:
    """V93, S3, X: the same without burst capacity: 60 of 3,600 pass, 1.7 % of the minute, yet throttled."""
    held = bucket(60, 0, burst_s=1)
    assert passed(held, 3600, 0) == pytest.approx(60, abs=1)


def test_v103_one_large_write_on_a_small_table() -> None:
    """V103, M1, X: 1 WCU with a balance of 9 accepts 350 units; then nothing for ten seconds."""
    held = bucket(1, 9)
    assert held.ok(0)
    held.take(0, 350 * UNIT)
    assert held.balance(0) == -10 * UNIT
    assert not held.ok(10 * SECOND_NS)
    assert held.ok(10 * SECOND_NS + 1)


def test_v103_with_unlimited_debt() -> None:
    held = bucket(1, 9, max_debt_s=None)
    held.take(0, 350 * UNIT)
    assert held.balance(0) == -341 * UNIT
    assert not held.ok(341 * SECOND_NS)
    assert held.ok(341 * SECOND_NS + 1)


def test_the_cadence_of_twelve_seconds() -> None:
    """Section 2.5.4, M1: 351-unit updates every 12 s on a 1-WCU table pass 30 times of 31."""
    held = bucket(1, 0)
    accepted = 0
    for attempt in range(31):
        if held.ok(12 * SECOND_NS * attempt):
            held.take(12 * SECOND_NS * attempt, 351 * UNIT)
            accepted += 1
    assert accepted == 30


def test_v109_burst_capacity_under_five_times_its_rate() -> None:
    """V109, X: 100 WCU with a balance of 30,000 carry 500/s for 75 s, then 100/s."""
    held = bucket(100, 30_000)
    assert first_throttle_s(held, 500) == pytest.approx(75, abs=0.5)
    assert [passed(held, 500, second) for second in range(75, 80)][2:] == pytest.approx([100] * 3, abs=1)


def test_new_rate_keeps_balance_and_never_increases_it() -> None:
    """Section 2.12: refill at the old rate, then cut to the new cap."""
    held = bucket(100, 1_000)
    held.set_rate(10 * SECOND_NS, 10)
    assert held.balance(10 * SECOND_NS) == 2_000 * UNIT
    held.set_rate(10 * SECOND_NS, 1)
    assert held.balance(10 * SECOND_NS) == 300 * UNIT
    held.set_rate(10 * SECOND_NS, 1_000)
    assert held.balance(10 * SECOND_NS) == 300 * UNIT


def test_a_fractional_rate_is_exact() -> None:
    """V77's share of 200/11: after eleven seconds exactly 200 units, not a nano-unit less."""
    held = Bucket(Fraction(200, 11), now=0, burst_ns=300 * SECOND_NS, debt_ns=None, balance=0)
    assert held.balance(11 * SECOND_NS) == 200 * UNIT
    assert held.balance(300 * SECOND_NS) == 300 * 200 * UNIT // 11
