"""Refused requests on their way round, in the fluid engine: none is lost, and each comes back in its time."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import pytest

from faradisc.tools.planner.simulation.recorder import FlowRecord
from faradisc.tools.planner.turnstile import Turnstile
from faradisc.tools.planner.workload import retries

MODES = (retries.NO_RETRIES, retries.standard(), retries.standard(7), retries.legacy(), retries.legacy(12))


def attempts_by_second(turnstile: Turnstile, first: int, ratio: float, seconds: int) -> Counter[int]:
    """All first attempts are made in second 0."""
    found: Counter[int] = Counter()
    for second in range(seconds):
        attempts, _ = turnstile.push(first if second == 0 else 0, turnstile.back(second), ratio, second)
        if attempts:
            found[second] = attempts
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ratio", [0.0, 0.03, 0.5, 0.999, 1.0])
def test_every_request_is_admitted_or_lost(mode: retries.Retries, ratio: float) -> None:
    turnstile, flow = Turnstile(mode), FlowRecord("x")
    attempts = admitted = 0
    for second in range(30):
        tried, through = turnstile.push(37, turnstile.back(second), ratio, second)
        attempts += tried
        admitted += through
    turnstile.give_up(flow)
    turnstile.report(flow)
    assert turnstile.waiting == 0
    assert admitted + flow.lost == 30 * 37
    assert sum(flow.at_attempt.values()) == sum(flow.waits.values()) == admitted
    assert attempts >= 30 * 37


def test_what_cannot_be_divided_is_kept() -> None:
    """A single request a second at one in twenty-five: rounding alone would refuse them all."""
    turnstile = Turnstile(retries.NO_RETRIES)
    admitted = sum(turnstile.push(1, None, 0.04, second)[1] for second in range(1000))
    assert admitted in (39, 40)


@pytest.mark.parametrize("mode", MODES)
def test_some_are_admitted_after_all(mode: retries.Retries) -> None:
    """Where a gate has room for more than rounding lets through. They are admitted once, and owe it."""
    turnstile, flow = Turnstile(mode), FlowRecord("x")
    _, admitted = turnstile.push(5, None, 0.1, 0)
    more = 0
    while turnstile.owes is not None:
        turnstile.relent()
        more += 1
    assert admitted == 0 and more > 0
    _, later = turnstile.push(5, None, 0.1, 1)
    assert later == 0
    for second in range(2, 30):
        admitted += turnstile.push(0, turnstile.back(second), 0.0, second)[1]
    turnstile.give_up(flow)
    turnstile.report(flow)
    assert turnstile.waiting == 0
    assert admitted == 0 and flow.lost == 10 - more
    assert sum(flow.at_attempt.values()) == sum(flow.waits.values()) == more


@pytest.mark.parametrize("weights", [[5], [1, 1], [1, 0, 3]])
def test_heirs_have_what_waited(weights: list[int]) -> None:
    """Each its part of it, at the seconds in which it would have come back."""
    mode = retries.standard()
    before, plain = Turnstile(mode), Turnstile(mode)
    heirs = [Turnstile(mode) for _ in weights]
    for turnstile in (before, plain):
        for second in range(3):
            turnstile.push(4000, turnstile.back(second), 0.5, second)
    before.bequeath(heirs, list(accumulate(weights)))
    assert [heir.waiting for heir in heirs] == pytest.approx(
        [plain.waiting * weight / sum(weights) for weight in weights], abs=10
    )
    for second in range(3, 3 + mode.horizon + 1):
        rows = [row for heir in heirs if (row := heir.back(second)) is not None]
        assert [sum(column) for column in zip(*rows, strict=True)] == (plain.back(second) or [])
    assert not any(heir.waiting for heir in heirs)


def test_a_fixed_wait_keeps_requests_together() -> None:
    """The attempts of legacy clients lie 0, 50, 150, 350, 750, 1,550, ... ms after the first."""
    found = attempts_by_second(Turnstile(retries.legacy()), 100, 0.0, 40)
    assert found == {0: 400, 1: 100, 2: 100, 3: 100, 6: 100, 13: 100, 26: 100}


def test_a_random_wait_scatters_them() -> None:
    """Up to a second of waiting after a place anywhere in the second: half come back in it."""
    found = attempts_by_second(Turnstile(retries.standard(2)), 1000, 0.0, 10)
    assert found == {0: 1500, 1: 500}
    found = attempts_by_second(Turnstile(retries.standard(3)), 1000, 0.0, 10)
    # Their second wait is up to two seconds. The 500 that are still in the first second are rather at its
    # end: 83 have their third attempt in it, 250 in the next, 167 in the third. Those in the second second
    # are rather at its beginning: it is the other way round.
    assert found == {0: 1583, 1: 917, 2: 417, 3: 83}


def test_rounding_falls_on_each_second_by_turns() -> None:
    """Of single requests half come back at once and half a second later, though none can be divided."""
    turnstile = Turnstile(retries.standard(2))
    later = 0
    for second in range(1000):
        row = turnstile.back(second)
        later += sum(row or ())
        turnstile.push(1, row, 0.0, second)
    assert abs(later - 500) <= 2


def test_those_who_come_back_may_be_taken_in_parts() -> None:
    """For seconds that are run in several steps: each takes its part of what is left."""
    turnstile = Turnstile(retries.legacy())
    turnstile.push(100, None, 0.0, 0)
    rows = [turnstile.back(1, part) for part in (0.25, 0.5, 1.0)]
    counts = [sum(row) for row in rows if row is not None]
    assert counts == [25, 37, 38] and turnstile.waiting == 0
    assert turnstile.back(1) is None


@pytest.mark.parametrize("mode", MODES)
def test_chains_are_the_attempts_within_a_second(mode: retries.Retries) -> None:
    """What `chains` say of requests that are refused each time, a turnstile does."""
    turnstile = Turnstile(mode)
    count = 1 << 20
    attempts, _ = turnstile.push(count, None, 0.0, 0)
    assert attempts == pytest.approx(count * sum(mode.chains[0]), rel=1e-4)
    assert len(mode.chains) == mode.attempts
    assert mode.mean_waits_ms[0] == 0
