"""The two engines on the same random plans (random_plans.py). Over the set of plans, admitted requests and
consumed units agree within 1 % of what was asked for in at least 95 % of the plans and within 5 % in all, and
the numbers of partitions are equal in at least 95 %. Throttled attempts are estimates and are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest

from faradisc.tools.planner.run import Engine, run
from unit.planner.agreement import Agreement, assert_conserved, by_both, compare
from unit.planner.planned import ENGINES, FEW_RETRIES, RETRIES, outcome_of, planned
from unit.planner.random_plans import growing_plan, heavy_plan, random_plan, wide_plan


class RandomPlan(NamedTuple):
    make: Callable[[int, str], str]
    seed: int
    retries: str


SET = [
    *(RandomPlan(random_plan, seed, retries) for seed in range(24) for retries in RETRIES),
    *(RandomPlan(wide_plan, seed, retries) for seed in range(16) for retries in RETRIES),
    *(RandomPlan(growing_plan, seed, "standard") for seed in range(20)),
    *(RandomPlan(heavy_plan, seed, retries) for seed in range(8) for retries in RETRIES),
]
FAST_SET = [
    *(RandomPlan(random_plan, seed, RETRIES[seed]) for seed in range(3)),
    RandomPlan(wide_plan, 0, "none"),
]
"""Plans of few requests."""


def assert_set_agrees(plans: Iterable[RandomPlan]) -> None:
    found: list[tuple[RandomPlan, Agreement]] = [
        (plan, compare(*by_both(plan.make(plan.seed, plan.retries)))) for plan in plans
    ]
    count = len(found)
    apart = [(plan, agreement) for plan, agreement in found if agreement.percent > 1]
    assert len(apart) <= 0.05 * count, apart
    assert all(agreement.percent <= 5 for _, agreement in apart), apart
    split = [plan for plan, agreement in found if not agreement.same_partitions]
    assert len(split) <= 0.05 * count, split


def test_a_fast_subset_agrees() -> None:
    assert_set_agrees(FAST_SET)


@pytest.mark.slow
def test_the_whole_set_agrees() -> None:
    assert len(SET) == 164
    assert_set_agrees(SET)


@pytest.mark.parametrize("retries", RETRIES)
@pytest.mark.parametrize("seed", range(6))
def test_fluid_requests_are_conserved(seed: int, retries: str) -> None:
    assert_conserved(run(planned(random_plan(seed, retries)), engine="fluid"))


@pytest.mark.parametrize("retries", FEW_RETRIES)
@pytest.mark.parametrize(("status", "served"), [("{A: 90, B: 10}", 120), ("{A: 70, B: 30}", 160)])
def test_retries_keep_the_index_key_of_the_first_attempt(retries: str, status: str, served: int) -> None:
    """200 writes a second, most of them under one key of an index, which serves 100 a second of it: retries
    of the throttled ones have the same key, and do not use the capacity of the other one."""
    text = f"""
        duration: 2m
        retries: {retries}
        partition_caps: 300/100
        tables:
          T:
            mode: on-demand
            partitions: 4
            indexes: {{by-status: {{keys: {{weighted: {status}}}, partitions: 8}}}}
        traffic: [{{operation: PutItem, rate: 200, keys: {{uniform: 100000}}}}]
    """
    events, fluid = by_both(text)
    assert compare(events, fluid).percent <= 1
    assert fluid.resources[1].write.consumed[-1] == pytest.approx(served, rel=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_throttles_are_booked_on_the_keys_of_the_index_that_throttled(engine: Engine) -> None:
    """The table has capacity for all keys; one key of the index is too hot for its partition."""
    found = outcome_of(
        """
        duration: 3m
        partition_caps: 300/100
        tables:
          T:
            mode: on-demand
            partitions: 4
            indexes: {by-status: {keys: {weighted: {A: 90, B: 10}}, partitions: 8}}
        traffic: [{operation: PutItem, rate: 200, keys: {uniform: 4}}]
        """,
        engine,
    )
    throttled = {(key.resource, key.key): key.throttled for key in found.hot_keys if key.throttled}
    assert throttled.keys() == {("T/index/by-status", "A")}
    assert throttled["T/index/by-status", "A"] == pytest.approx(found.totals.throttled, rel=0.01)
    assert found.resources[0].throttle_summary.events == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_partition_of_many_warm_keys_splits_for_heat(engine: Engine) -> None:
    found = outcome_of(
        """
        duration: 20m
        partition_caps: 60/20
        tables: {T: {mode: on-demand, partitions: 1}}
        traffic: [{operation: PutItem, rate: 30, keys: {uniform: 500}}]
        """,
        engine,
    )
    assert [event.reason for event in found.events if event.kind == "split"] == ["heat"]
    assert found.resources[0].partition_count[-1] == 2
    writes = found.resources[0].write
    assert writes.consumed[-1] == pytest.approx(writes.offered[-1], rel=0.05)


@pytest.mark.parametrize("engine", [pytest.param("events", marks=pytest.mark.slow), "fluid"])
def test_a_key_that_was_refused_a_split_is_examined_again_with_the_keys_of_that_time(engine: Engine) -> None:
    """A key is isolated and its partition cannot be split further; a key that comes later is isolated too."""
    text = """
        duration: 40m
        partition_caps: 30/10
        tables: {T: {write: 60, partitions: 4}}
        traffic:
          - {name: hot, operation: PutItem, rate: 14, keys: {single: one}, item_size: 500}
          - {name: many, operation: PutItem, rate: 20, keys: {uniform: 1000}, item_size: 500}
          - {name: late, operation: PutItem, rate: 14, from: 22m, keys: {single: two}, item_size: 500}
    """
    events = outcome_of(text, engine).events
    rejected = [(event.at_s, event.key) for event in events if event.kind == "split-rejected"]
    assert [at_s for at_s, key in rejected if key == "one"] == [1200, 1800]
    assert {"one", "two"} <= {event.key for event in events if event.kind == "split-started"}
