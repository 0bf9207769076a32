"""Where the order of things within a second could tell the engines apart: keys that are taken one after
another, requests of two streams that meet in one partition, and who is throttled first."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.run import run
from unit.planner.agreement import both, differences


@pytest.mark.parametrize("per_key", [20, 37, 90])
def test_an_upload_in_order_asks_one_partition_after_another(per_key: int) -> None:
    """70 writes a second, one key after another: a partition is asked for a part of a second, and what flows
    in before and after that is of no use. The engines differed by 12 % where a key takes half a second."""
    one, other = both(f"""
        duration: 15m
        partition_caps: 100/40
        tables: {{T: {{mode: on-demand, partitions: 6, sort_key: true}}}}
        traffic:
          - operation: PutItem
            rate: 70
            keys: {{sequential: {{items_per_key: {per_key}}}}}
            item_size: 3000
            sort: one
    """)
    assert one.totals.throttled_percent > 5
    assert max(differences(one, other).values()) <= 1


@pytest.mark.parametrize(("per_key", "write"), [(100, 100), (100, 240), (44, 160)])
def test_an_upload_in_order_that_is_refused_comes_back_where_it_was(per_key: int, write: int) -> None:
    """Half a second of one key, and another; those who are refused come back to it while others have their
    turn."""
    one, other = both(f"""
        duration: 5m
        retries: standard
        partition_caps: 60/20
        tables: {{T: {{read: 5, write: {write}, sort_key: true, partitions: 12}}}}
        traffic:
          - operation: PutItem
            rate: 200
            keys: {{sequential: {{items_per_key: {per_key}}}}}
            item_size: 1 KB
    """)
    assert one.totals.throttled_percent > 5
    assert max(differences(one, other).values()) <= 1


@pytest.mark.parametrize("keys", ["{uniform: 100000}", "{sequential: {items_per_key: 100}}"])
def test_those_whom_an_index_refuses_come_back_to_the_partition_that_refused_them(keys: str) -> None:
    """Two keys of the index take turns of half a second. What their partitions refused came back to one of
    both, when their keys had left: 12 % were lost."""
    one, other = both(f"""
        duration: 5m
        retries: standard
        partition_caps: 60/20
        tables:
          T:
            read: 5
            write: 400
            sort_key: true
            partitions: 12
            indexes:
              by-batch:
                read: 5
                write: 100
                keys: {{sequential: {{items_per_key: 100}}}}
                partitions: 8
        traffic: [{{operation: PutItem, rate: 200, keys: {keys}, item_size: 1 KB}}]
    """)
    assert one.totals.throttled_percent > 5
    assert max(differences(one, other).values()) <= 1


def test_keys_of_an_index_follow_one_another_in_both_engines() -> None:
    """Where the index's keys move on, no partition of it is asked for everything; in steps all writes used to
    have the index's first keys, second after second."""
    one, other = both("""
        duration: 10m
        partition_caps: 300/40
        tables:
          T:
            mode: on-demand
            partitions: 8
            sort_key: true
            indexes: {by-batch: {keys: {sequential: {items_per_key: 500}}, partitions: 4}}
        traffic: [{operation: PutItem, rate: 60, keys: {uniform: 100000}}]
    """)
    assert max(differences(one, other).values()) <= 1
    for found in (one, other):
        index = next(each for each in found.resources if each.index)
        served = [sum(partition.write) for partition in index.partitions[:4]]
        assert min(served) > 0


def test_streams_that_meet_in_an_index_have_the_same_chances() -> None:
    """Items with and without an entry in a sparse index share the other index, which is short: each kind has
    its part of what it serves. Requests that came round at even intervals used to have a tenth more."""
    one, other = both("""
        profile: classic-2017
        duration: 20m
        tables:
          T:
            write: 97
            partitions: 3
            indexes:
              short: {write: 20, partitions: 3, keys: {weighted: {A: 1, B: 1, C: 1, D: 1, E: 1, F: 1}}}
              sparse: {write: 97, partitions: 3, share: 30%}
        traffic: [{operation: PutItem, rate: 70, keys: {uniform: 100000}}]
    """)
    assert max(differences(one, other).values()) <= 1
    short, sparse = (each for each in one.resources if each.index)
    part = sum(sparse.write.consumed) / sum(short.write.consumed)
    assert part == pytest.approx(0.3, rel=0.03)


def first_boost(writes: str) -> float:
    """When the reads of a partition were first boosted, with these writes beside them."""
    plan = load_plan(
        dedent(f"""
            profile: classic-2017
            duration: 40m
            tables:
              T: {{read: 20, write: 20, partitions: 2}}
              U: {{read: 20, write: 20, partitions: 2}}
            traffic:
              - {{name: reads, table: T, operation: GetItem, rate: 30, from: 3m, keys: single}}
              {writes}
        """),
        "plan.yaml",
    )
    boosts = [event for event in run(plan, engine="fluid").events if event.kind == "boosted"]
    return min(event.at_s for event in boosts if event.resource == "T" and event.reason == "R")


def test_what_adaptive_capacity_waits_for_does_not_depend_on_who_else_is_throttled() -> None:
    """All delays used to be drawn one after another, in the order of the first throttles: where that differed
    between the engines, by a moment, they boosted minutes apart."""
    alone = first_boost("")
    writes = "- {name: writes, table: %s, operation: PutItem, rate: 15, keys: single}"
    assert first_boost(writes % "T") == alone
    assert first_boost(writes % "U") == alone


def test_a_partition_in_debt_may_be_asked_for_just_what_it_earns() -> None:
    """That it refuses at once, though its bucket does not run dry, was a division by zero."""
    one, other = both("""
        duration: 90s
        profile: classic-2017
        partition_caps: 300/100
        tables: {T: {read: 100, write: 900, sort_key: true, partitions: 4}}
        traffic:
          - {name: a, operation: PutItem, rate: 700, keys: {sequential: {items_per_key: 60}}, item_size: 900}
          - {name: b, operation: PutItem, rate: 0.5, keys: {weighted: {A: 3, B: 1, C: 1}}, item_size: 900}
    """)
    assert max(differences(one, other).values()) <= 1
