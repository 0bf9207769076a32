"""Plans of large requests, too many to be run one by one: every admission is (tools/planner/openings.py)."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from faradisc.tools.planner import singly
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.results.outcome import Outcome
from faradisc.tools.planner.returns import packets_of, returns_of, some_of, spread
from faradisc.tools.planner.run import run
from faradisc.tools.planner.workload.retries import NO_RETRIES, Retries, Wait, legacy, standard
from unit.planner.agreement import LIMIT_PERCENT, assert_accounted, assert_agreement, both, differences
from unit.planner.planned import MOST_RETRIES, RETRIES, planned, resource
from unit.planner.random_plans import forgiving_plan


@pytest.fixture(autouse=True)
def none_singly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singly, "SINGLE_MAX", 0)


def agree(text: str) -> tuple[Outcome, Outcome]:
    events, fluid = both(text, purely=False)
    assert any("from one admission to the next" in line for line in fluid.assumptions)
    assert max(differences(events, fluid).values()) <= LIMIT_PERCENT
    return events, fluid


MIXED = """
    profile: {profile}
    duration: 10m
    partition_caps: 300/100
    retries: {retries}
    tables: {{T: {{{settings}, partitions: 4, sort_key: true}}}}
    traffic:
      - {{name: large, operation: PutItem, rate: {large}, keys: {{uniform: 100000}}, item_size: 39 KB}}
      - name: small
        operation: PutItem
        rate: {small}
        keys: {{zipf: {{keys: 10000, exponent: 1.0}}}}
"""


@pytest.mark.parametrize(
    ("profile", "retries", "settings", "large", "small"),
    [
        ("aws", "none", "read: 5, write: 400", 3, 150),
        ("classic-2017", "standard", "read: 5, write: 400", 1, 350),
        ("aws", "none", "mode: on-demand", 2, 60),
    ],
)
def test_large_requests_among_small_ones(
    profile: str, retries: str, settings: str, large: int, small: int
) -> None:
    """Of 400 units, or of partitions of 100, some take 39. Fluid let too many small ones through, for it took
    the large ones to be that much less likely to pass: it was up to 45 % off in other plans like these."""
    agree(MIXED.format(profile=profile, retries=retries, settings=settings, large=large, small=small))


@pytest.mark.parametrize("retries", MOST_RETRIES)
def test_debts_that_are_forgiven(retries: str) -> None:
    """Ten seconds of five units may be owed, and a large write costs a hundred."""
    events, fluid = agree(f"""
        duration: 4h
        retries: {retries}
        tables: {{T: {{read: 5, write: 5, indexes: {{g: {{write: 20}}}}}}}}
        traffic:
          - {{name: large, operation: PutItem, rate: 1, item_size: 100 KB, keys: {{uniform: 1000}}}}
          - {{name: small, operation: PutItem, rate: 10, item_size: 1 KB, keys: {{uniform: 1000}}}}
    """)
    one, other = events.flows[0].admitted, fluid.flows[0].admitted
    assert other == pytest.approx(one, rel=0.05)


def test_partitions_that_save_little_and_are_seldom_asked() -> None:
    """A write takes what its partition of ten units earns in six seconds. Fluid was 55 % off."""
    agree("""
        profile: classic-2017
        duration: 10h
        partition_caps: 30/10
        retries: none
        tables: {T: {mode: on-demand, partitions: 2, sort_key: true}}
        traffic:
          - {name: large, operation: PutItem, rate: 0.1, keys: {uniform: 100000}, item_size: 60 KB}
          - {name: small, operation: PutItem, rate: 2, keys: {uniform: 100000}, item_size: 1 KB}
    """)


@pytest.mark.parametrize(
    ("seed", "retries"), [(0, "none"), (7, "standard"), (14, "legacy"), (19, "standard")]
)
def test_random_plans(seed: int, retries: str) -> None:
    assert_agreement(forgiving_plan(seed, retries), purely=False)


@pytest.mark.slow
@pytest.mark.parametrize("retries", RETRIES)
@pytest.mark.parametrize("seed", range(70))
def test_many_more_random_plans(seed: int, retries: str) -> None:
    """Ten times as long: what large requests there are in twenty minutes hangs on chance."""
    assert_agreement(forgiving_plan(seed, retries, times=10), purely=False)


@pytest.mark.parametrize("retries", RETRIES)
@pytest.mark.parametrize("seed", range(12))
def test_every_request_is_accounted_for(seed: int, retries: str) -> None:
    found = run(load_plan(forgiving_plan(seed, retries), "plan.yaml"), engine="fluid")
    assert_accounted(found)


@pytest.mark.parametrize("rate", [2, 25])
@pytest.mark.parametrize(("retries", "reason"), [("none", "split-rejected"), ("standard", "split-started")])
def test_rising_sort_keys_rise(retries: str, reason: str, rate: int) -> None:
    """Those of two flows to one collection too, be they drawn one by one or not: then it is not cut.
    Where clients come back, old ones come among new ones, and it is."""
    found = both(
        f"""
            duration: 16m
            retries: {retries}
            partition_caps: 30/10
            tables: {{T: {{mode: on-demand, partitions: 2, sort_key: true}}}}
            traffic:
              - {{name: a, operation: PutItem, rate: {rate}, item_size: 20 KB, keys: single, sort: rising}}
              - {{name: b, operation: PutItem, rate: 1, keys: single, sort: rising}}
        """,
        purely=False,
    )
    one, other = [[(event.kind, event.at_s) for event in each.events] for each in found]
    assert one == other
    assert one[0] == (reason, 300)


def test_refusals_are_told_by_what_refused() -> None:
    """Without retries and indexes every refusal is either the table's or a partition's."""
    for write, cause in ((20, "W Provisioned"), (400, "W KeyRange")):
        found = run(
            planned(f"""
                duration: 10m
                partition_caps: 300/100
                retries: none
                tables: {{T: {{read: 5, write: {write}, partitions: 4}}}}
                traffic:
                  - {{name: a, operation: PutItem, rate: 9, keys: single, item_size: 39 KB}}
                  - {{name: b, operation: PutItem, rate: 9, keys: single}}
            """),
            engine="fluid",
        )
        events = resource(found, "T").throttle_summary.events
        assert sum(events.values()) == found.totals.throttled > 1000
        assert max(events, key=lambda name: events[name]).startswith(cause)


def test_equal_seeds_are_equal_and_others_are_not() -> None:
    plan = planned(forgiving_plan(13, "standard"))
    one, same, other = (run(replace(plan, seed=seed), engine="fluid") for seed in (1, 1, 2))
    assert one == same
    assert one.totals != other.totals


def test_seconds_that_have_enough_are_charged_like_others() -> None:
    """Nothing is ever short: as many units as by events, second by second or all at once."""
    events, fluid = agree("""
        duration: 10m
        tables: {T: {read: 5, write: 300, indexes: {g: {write: 300, share: 50%}}}}
        traffic:
          - {name: a, operation: PutItem, rate: 1, keys: {uniform: 1000}, item_size: 39 KB}
          - {name: b, operation: UpdateItem, rate: 50, keys: {uniform: 1000}}
    """)
    assert events.totals.admitted == fluid.totals.admitted == fluid.totals.offered
    for one, other in zip(events.resources, fluid.resources, strict=True):
        assert one.write.consumed == other.write.consumed
        assert one.write.offered == other.write.offered


def test_keys_that_move_on_leave_those_behind_who_come_back() -> None:
    """The table's keys follow one another over partitions of 20 units, which split meanwhile."""
    assert_agreement(
        """
        duration: 60m
        partition_caps: 60/20
        retries: standard
        tables: {T: {mode: on-demand, partitions: 4, sort_key: true}}
        traffic:
          - {name: a, operation: PutItem, rate: 1, keys: {sequential: {items_per_key: 400}}, item_size: 39 KB}
          - {name: b, operation: PutItem, rate: 5, keys: {sequential: {items_per_key: 400}}}
        """,
        purely=False,
    )


# --- Chance and returns -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 7, 40, 300, 100_000])
@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("packet", [1, 4])
def test_some_of_many(count: int, part: float, packet: int) -> None:
    random = Random(1)
    drawn = [packets_of(count, packet, part, random) for _ in range(2000)]
    assert all(0 <= each <= count for each in drawn)
    assert all((count - each) % packet == 0 or each % packet == 0 for each in drawn)
    expected = count * part
    spread = (packet * expected * (1 - part) / len(drawn)) ** 0.5
    assert abs(sum(drawn) / len(drawn) - expected) <= 5 * spread + 0.5 * (count > 1000 or packet > 1)
    if packet == 1:
        assert some_of(count, part, Random(1)) == packets_of(count, 1, part, Random(1))


@pytest.mark.parametrize("packet", [1, 4])
@pytest.mark.parametrize("count", [0, 12, 100_000])
def test_a_second_is_spread_over_its_slices(count: int, packet: int) -> None:
    random = Random(1)
    drawn = [spread(count, packet, 5, random) for _ in range(400)]
    assert all(sum(each) == count for each in drawn)
    assert all(come % packet == 0 for each in drawn for come in each)
    for number in range(5):
        mean = sum([each[number] for each in drawn]) / len(drawn)
        assert mean == pytest.approx(count / 5, abs=5 * (packet * count * 0.16 / len(drawn)) ** 0.5)


ONE_WAIT = Retries("one", (Wait(300, 700),))


@pytest.mark.parametrize("retries", [NO_RETRIES, standard(), legacy(), ONE_WAIT])
def test_all_come_back_in_their_time(retries: Retries) -> None:
    """In slices of a tenth of a second: evenly over the time that clients wait."""
    returns = returns_of(retries, 10, Random(1))
    came: list[dict[int, int]] = [{} for _ in range(retries.attempts)]
    lost = 0
    for tick in range(5, 300):
        pool = returns.take(tick, 10_000 if tick == 5 else 0)
        for number, count in enumerate(pool):
            if count:
                came[number][tick] = count
        lost += returns.refuse(pool, tick) if any(pool) else 0
    assert lost == 10_000
    assert returns.waiting == 0
    first = last = mean = 5.0
    for mine, wait in zip(came[1:], retries.waits, strict=True):
        assert sum(mine.values()) == 10_000
        least, most = max(wait.least_ms // 100, 1), max(wait.most_ms // 100, 1)
        first, last, mean = first + least, last + most, mean + (least + most) / 2
        assert first <= min(mine)
        assert max(mine) <= last
        assert sum([tick * count for tick, count in mine.items()]) / 10_000 == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize("retries", [standard(), legacy()])
def test_who_is_admitted_does_not_come_back(retries: Retries) -> None:
    returns = returns_of(retries, 10, Random(1))
    came = [0] * retries.attempts
    for tick in range(300):
        pool = returns.take(tick, 100 if tick == 0 else 0)
        for number, count in enumerate(pool):
            came[number] += count
            if number == 1 and count:
                served = (count + 1) // 2
                returns.admit(1, served, tick)
                pool[1] -= served
        if any(pool):
            returns.refuse(pool, tick)
    assert came[:2] == [100, 100]
    assert len(set(came[2:])) == 1
    assert came[2] <= 50
    assert returns.waiting == 0


@pytest.mark.parametrize("retries", [standard(), legacy()])
def test_returns_are_taken_over(retries: Retries) -> None:
    one, other = (returns_of(retries, 10, Random(1)) for _ in range(2))
    for returns, counts in ((one, (3, 0)), (other, (4, 5))):
        for tick, count in enumerate(counts):
            returns.refuse(returns.take(tick, count), tick)
    one.take_over(other)
    assert one.waiting == 12
    assert sum([one.refuse(pool, tick) for tick in range(2, 600) if (pool := one.take(tick, 0))]) == 12
    assert one.waiting == 0
