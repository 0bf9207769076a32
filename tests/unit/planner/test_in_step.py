"""Two buckets in series that open at the same moments are not open independently of each other: the fluid
engine's curve against buckets that are tried request by request, and whole plans in which it decides."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from textwrap import dedent

import pytest

from faradisc.tools.planner import balance
from faradisc.tools.planner.instep import decay, meets, open_too
from unit.planner.agreement import assert_agreement, both, differences
from unit.planner.random_plans import random_plan


def tried(rates: tuple[int, int], asked: tuple[int, int, int], late: float) -> tuple[float, float, float]:
    """What part of the time each of two buckets is open, and both are, under random requests: so many per
    second for the first bucket alone, for both, for the second alone. A request takes one unit, and the
    second bucket begins to fill `late` seconds after the first."""
    random = Random(7)
    alone, together, other = asked
    every = alone + together + other
    taken = [0, 0]
    opened = [0, 0, 0]
    now, requests = 0.0, 60_000
    for _ in range(requests):
        now += random.expovariate(every)
        first = rates[0] * now > taken[0]
        second = rates[1] * (now - late) > taken[1]
        opened[0] += first
        opened[1] += second
        opened[2] += first and second
        kind = random.random() * every
        if kind < alone:
            taken[0] += first
        elif kind < alone + together:
            taken[0] += first and second
            taken[1] += first and second
        else:
            taken[1] += second
    return opened[0] / requests, opened[1] / requests, opened[2] / requests


@pytest.mark.parametrize("late", [0.0, 0.02, 0.05])
@pytest.mark.parametrize(
    ("rates", "asked"),
    [
        ((10, 10), (50, 10, 50)),
        ((10, 10), (15, 2, 15)),
        ((10, 10), (100, 100, 100)),
        ((10, 5), (40, 10, 20)),
        ((10, 30), (20, 5, 60)),
        ((10, 15), (30, 5, 30)),
    ],
)
def test_both_are_open_as_often_as_the_curve_says(
    rates: tuple[int, int], asked: tuple[int, int, int], late: float
) -> None:
    one, other, both_open = tried(rates, asked, late)
    periods = Fraction(rates[1], rates[0])
    distance = 1 / (rates[0] * periods.numerator)
    found = one * open_too(one, other, periods, late / distance % 1)
    assert found == pytest.approx(both_open, rel=0.06, abs=0.002)


def test_in_step_is_far_from_independent() -> None:
    one, other, both_open = tried((10, 10), (100, 10, 100), 0.0)
    assert both_open > 5 * one * other
    assert both_open == pytest.approx(1 / (1 / one + 1 / other), rel=0.05)


@pytest.mark.parametrize("part", [0.001, 0.03, 0.3, 0.5, 0.7, 0.99, 0.9998])
def test_decay_is_that_of_a_bucket_open_for_its_part_of_the_time(part: float) -> None:
    found = decay(part)
    steps = 10_000
    mean = sum((1 - found / steps) ** step for step in range(steps)) / steps
    assert mean == pytest.approx(part, rel=0.01)


def test_a_bucket_that_is_always_open_changes_nothing() -> None:
    assert open_too(1.0, 0.3, Fraction(1), 0.0) == 0.3
    assert open_too(0.3, 1.0, Fraction(1), 0.0) == 1.0
    assert open_too(0.3, 0.0, Fraction(1), 0.0) == 0.0
    assert meets(Fraction(8, 7)) and not meets(Fraction(9, 7)) and not meets(Fraction(7, 9))


@pytest.mark.parametrize(("units", "pairs"), [(19, 100), (20, 100), (21, 100), (40, 100), (20, 0), (40, 0)])
def test_partitions_and_their_index_refill_in_step(
    units: int, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions' shares of the table's rate are 20 units a second, and so is the index: both earn the 2
    units of a request in the same tenth of a second, begin with nothing at the same moment, and so open at
    the same moments for as long as the run lasts. Fluid took them to be open independently of each other.
    Of more pairs, flocks are looked at."""
    monkeypatch.setattr(balance, "_PAIRS_MAX", pairs)
    text = random_plan(1130, "legacy")
    assert text.count("        write: 20\n") == 1 and "partitions: 5\n" in text
    one, other = both(text.replace("        write: 20\n", f"        write: {units}\n"))
    assert max(differences(one, other).values()) <= 0.5


def test_an_index_whose_period_is_twice_the_partitions() -> None:
    """This one differed by 1.2 %."""
    one, other = both("""
        profile: classic-2017
        duration: 240s
        retries: legacy
        tables:
          T:
            partitions: 5
            sort_key: true
            read: 100
            write: 100
            indexes: {g: {share: 30%, keys: {uniform: 50}, partitions: 1, read: 50, write: 10}}
        traffic: [{operation: PutItem, rate: 60, keys: {uniform: 50}, item_size: 3000, sort: spread}]
    """)
    assert max(differences(one, other).values()) <= 0.5


@pytest.mark.parametrize("retries", ["none", "standard"])
@pytest.mark.parametrize("rates", [(20, 20), (15, 30)])
def test_two_sparse_indexes_in_step(retries: str, rates: tuple[int, int]) -> None:
    """How many items are in both decides how many writes come through at all."""
    assert_agreement(
        dedent(f"""
            profile: documented
            duration: 5m
            retries: {retries}
            tables:
              T:
                read: 10
                write: 1000
                indexes: {{a: {{share: 50%, write: {rates[0]}}}, b: {{share: 50%, write: {rates[1]}}}}}
            traffic: [{{operation: PutItem, rate: 120, keys: {{uniform: 100000}}}}]
        """)
    )
