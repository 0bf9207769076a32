"""What makes a failing plan hold: which change is tried, and which one is named."""

from __future__ import annotations

import pytest

from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.results.what_if import candidates, explored
from faradisc.tools.planner.run import run
from unit.planner.planned import planned, printed


def what_if(text: str) -> PlanOutcome:
    plan = planned(text)
    return explored(plan, rerun(plan), rerun)


def rerun(plan: Plan) -> PlanOutcome:
    return run(plan, engine="fluid")


FIXED_INDEX = """
    duration: 10m
    tables:
      Orders:
        mode: provisioned
        read: 5
        write: 4000
        indexes: {by-user: {write: 2500}}
    traffic: [{operation: PutItem, rate: 3500, keys: {uniform: 100000}}]
"""


def test_index_that_is_out_of_units_is_raised() -> None:
    found = what_if(FIXED_INDEX.replace("duration: 10m", "duration: 30m"))
    assert not found.headline.holds
    change = "raise the capacity for writes of index by-user of Orders from 2,500 to 3,500"
    assert found.headline.change.startswith(f"It holds with one change: {change}; a month then costs ")
    assert found.headline.text in printed(found)


@pytest.mark.parametrize(
    ("keys", "change"),
    [
        ("{single: counter}", "divide the key 'counter' of T by 9 suffixes"),
        ("{sequential: {items_per_key: 100000}}", "take one item of every key of T in turn"),
    ],
)
def test_key_that_no_partition_serves_is_divided(keys: str, change: str) -> None:
    found = what_if(f"""
        duration: 10m
        tables: {{T: {{mode: provisioned, read: 5, write: 4000, partitions: 8, sort_key: true}}}}
        traffic: [{{operation: PutItem, rate: 2200, keys: {keys}}}]
    """)
    assert f"It holds with one change: {change}; a month then costs " in found.headline.change
    assert [each.holds for each in found.what_if][-1] is True


def test_on_demand_table_is_warmed() -> None:
    found = what_if("""
        duration: 10m
        tables: {T: {mode: on-demand}}
        traffic: [{operation: PutItem, rate: 6000, keys: {uniform: 1000000}}]
    """)
    assert "warm table T to 12,000 reads and 6,000 writes a second beforehand" in found.headline.change


def test_one_unit_more_takes_a_second_partition() -> None:
    """By hand: 950 WCU are one partition, which serves 1,000 of a spike's 1,500 a second; a minute has 833 a
    second, for which 950 suffice. 1,000 WCU and 1 RCU need 1.0003 partitions: two, which serve 2,000."""
    found = what_if("""
        duration: 5m
        tables: {T: {mode: provisioned, read: 1, write: 950}}
        traffic:
          - operation: PutItem
            rate: {spikes: {base: 700, high: 1500, every: 30s, lasting: 5s}}
            keys: {uniform: 1000000}
    """)
    words = "raise the capacity for writes of table T from 950 to 1,000, which takes another partition"
    assert f"It holds with one change: {words}." in found.headline.change


def test_one_item_that_is_read_too_often_needs_copies_or_a_cache() -> None:
    """By hand: 100 writes and 4,500 reads a second of one item, of which a partition serves 3,000. Two copies
    fall on one of four partitions in a quarter of all placements, six nearly never: 600 writes a second. A
    cache that answers 40 % leaves 2,700."""
    plan = planned("""
        duration: 3m
        tables: {T: {mode: provisioned, read: 9000, write: 900}}
        traffic:
          - {name: reads, operation: GetItem, consistent: true, rate: 4500, keys: single, item_size: 1 KB}
          - {name: writes, operation: PutItem, rate: 100, keys: single, item_size: 1 KB}
    """)
    outcome = rerun(plan)
    assert any("no partition can serve this item; keep 6 copies of it, or a cache in front" in each
               for each in outcome.verdict)  # fmt: skip
    tried = list(candidates(plan, outcome))
    assert tried[0].words.startswith("keep 6 copies of the item ")
    assert max(rerun(tried[0].plan).resources[0].write.offered) == pytest.approx(600)
    cached = next(each for each in tried if "from a cache" in each.words)
    assert cached.words.startswith("answer 40 % of the reads of T from a cache")
    assert rerun(cached.plan).headline.holds


def test_configured_maximum_is_raised() -> None:
    found = what_if("""
        duration: 10m
        tables: {T: {mode: on-demand, max_write: 100}}
        traffic: [{operation: PutItem, rate: 250, keys: {uniform: 1000000}}]
    """)
    assert "raise the maximum for writes of table T from 100 to 250" in found.headline.change


def test_minimum_of_auto_scaling_is_raised() -> None:
    found = what_if("""
        duration: 10m
        tables:
          T: {mode: provisioned, read: 5, write: 10, auto_scaling: {write: {min: 10, max: 1000}}}
        traffic: [{operation: PutItem, rate: 300, keys: {uniform: 1000000}}]
    """)
    change = "raise the minimum of auto scaling for writes of table T from 10 to 300"
    assert change in found.headline.change


def test_cost_above_the_budget_changes_the_mode() -> None:
    found = what_if("""
        duration: 10m
        tables: {T: {mode: provisioned, read: 5, write: 1000}}
        traffic: [{operation: PutItem, rate: 2, keys: {uniform: 1000000}}]
        budgets: {monthly_cost: 10}
    """)
    assert found.headline.words == "A month costs $474.97, at most $10.00 allowed."
    assert "switch to on-demand; a month then costs $3.28" in found.headline.change


def test_plan_that_holds_is_not_rerun() -> None:
    found = what_if(FIXED_INDEX.replace("write: 2500", "write: 4000"))
    assert found.headline.holds and not found.what_if


def test_cheapest_mode_throttles_no_more_than_the_budget_allows() -> None:
    text = """
        duration: 30m
        tables: {{T: {{mode: provisioned, read: 5, write: 500}}}}
        traffic: [{{operation: PutItem, rate: {{spikes: {{base: 10, high: 400, every: 10m, lasting: 4s}}}},
                    keys: {{uniform: 1000000}}}}]
        budgets: {{throttled_percent: {limit}}}
    """
    strict, generous = (rerun(planned(text.format(limit=limit))).costs for limit in (0, 50))
    for costs, limit in ((strict, 0), (generous, 50)):
        fair = [mode for mode in costs.modes if mode.throttled_percent <= limit]
        best = next(mode for mode in costs.modes if mode.cheapest)
        assert best.total_usd == min(mode.total_usd for mode in fair)
    assert (strict.cheapest, generous.cheapest) == ("on-demand", "provisioned-p99")
