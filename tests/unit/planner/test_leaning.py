"""Who comes early in a second and who late: held against runs by events and requests drawn one by one."""

from __future__ import annotations

from random import Random

import pytest

from faradisc.tools.planner.leaning import Ebb, passing_of
from faradisc.tools.planner.turnstile import Firsts, Turnstile
from faradisc.tools.planner.workload import retries
from unit.planner.agreement import both, differences

MANY = 1_000_000


def uploads(*, rate: int, per_key: int, cap: int, write: int, item_size: int = 900) -> str:
    return f"""
        duration: 5m
        retries: standard
        partition_caps: {3 * cap}/{cap}
        tables: {{T: {{read: 5, write: {write}, sort_key: true}}}}
        traffic:
          - operation: PutItem
            rate: {rate}
            keys: {{sequential: {{items_per_key: {per_key}}}}}
            item_size: {item_size}
    """


@pytest.mark.parametrize(
    ("per_key", "rate", "cap", "item_size"),
    [
        # Two and three seconds of a key, and of items that take two units each.
        (1000, 500, 50, 900),
        (480, 160, 40, 900),
        (480, 160, 40, 1900),
        # One second.
        (800, 800, 200, 900),
    ],
)
def test_those_whose_key_has_gone_find_less_and_less_use_for_what_flows_in(
    per_key: int, rate: int, cap: int, item_size: int
) -> None:
    """More of them were admitted than there was time for: 0.5 to 1.0 %."""
    plan = uploads(rate=rate, per_key=per_key, cap=cap, write=20 * cap, item_size=item_size)
    one, other = both(plan)
    assert one.totals.throttled_percent > 20
    assert max(differences(one, other).values()) <= 0.4


@pytest.mark.parametrize(
    ("per_key", "rate", "write"), [(220, 1000, 800), (100, 1000, 800), (220, 1500, 1200)]
)
def test_those_who_have_their_turn_are_refused_more_often_than_who_comes_back(
    per_key: int, rate: int, write: int
) -> None:
    """Whoever came back met the turn of others for a fifth of the second at most, and was refused and lost as
    if for all of it: 0.4 to 0.9 %."""
    plan = uploads(rate=rate, per_key=per_key, cap=100, write=write)
    one, other = both(plan.replace("sort_key: true", "sort_key: true, partitions: 12"))
    assert one.totals.throttled_percent > 20
    assert max(differences(one, other).values()) <= 0.4


@pytest.mark.parametrize(("begin", "end"), [(0.0, 1.0), (0.5, 1.0), (0.0, 0.4), (0.9, 1.0)])
def test_who_is_refused_late_comes_back_late(begin: float, end: float) -> None:
    """Three attempts with random waits between them, all refused: how many there are in each second."""
    mode = retries.standard(3)
    random = Random(7)
    drawn = [0] * 6
    for _ in range(50_000):
        at = begin + random.random() * (end - begin)
        drawn[int(at)] += 1
        for wait in mode.waits:
            at += wait.draw_ns(random.random) / 1e9
            drawn[int(at)] += 1
    turnstile = Turnstile(mode)
    firsts = Firsts(begin + end - 1.0, 0)
    found = [turnstile.push(50_000, None, 0.0, 0, firsts=firsts)[0]]
    found += [turnstile.push(0, turnstile.back(second), 0.0, second)[0] for second in range(1, 6)]
    assert sum(found) == sum(drawn) == 150_000
    # Where in the second those were refused is known by the mean only.
    assert found == pytest.approx(drawn, abs=50_000 * 0.07)


def test_some_are_refused_whatever_the_ratio() -> None:
    turnstile = Turnstile(retries.standard())
    assert turnstile.push(100, None, 1.0, 0, firsts=Firsts(1.0, 40)) == (100, 60)
    # At the second's end: all of them come in the next one, at its beginning.
    row = turnstile.back(1)
    assert row == [0, 40, 0, 0]
    assert turnstile.leans is not None and sum(turnstile.leans) < 0


def test_heirs_know_who_comes_early() -> None:
    weights = [1, 2, 4]
    before, plain = Turnstile(retries.standard()), Turnstile(retries.standard())
    for turnstile in (before, plain):
        turnstile.push(MANY, None, 0.0, 0)
    heirs = [Turnstile(retries.standard()) for _ in weights]
    before.bequeath(heirs, [1, 3, 7])
    for turnstile in (plain, *heirs):
        turnstile.back(1)
    whole = sum(plain.leans or ())
    assert whole < -MANY / 20
    assert [sum(heir.leans or ()) for heir in heirs] == pytest.approx(
        [whole * weight / 7 for weight in weights], rel=1e-3
    )


def test_what_flows_in_when_fewer_come_is_of_no_use_to_those_before() -> None:
    """The number falls from 300 a second to 100, and 200 pass: the first half of the second refuses 25."""
    ebb = Ebb(200.0, -200.0 / 6, 0.0)
    assert passing_of(ebb, 0, 200, 200) == pytest.approx(175)
    assert passing_of(ebb, 25, 200, 200) == pytest.approx(200)
    # Of those who are refused a part comes back within the second.
    assert 175 < passing_of(Ebb(200.0, -200.0 / 6, 100.0), 0, 200, 200) < 200
    # It never has too much, or never too little.
    assert passing_of(ebb, 0, 310, 310) == 310
    assert passing_of(ebb, 0, 90, 90) == 90
