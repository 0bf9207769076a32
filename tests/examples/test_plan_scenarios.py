"""The plans in examples/plans: each variant has the headline that the README shows."""

from __future__ import annotations

from functools import cache
from math import prod
from pathlib import Path

import pytest

from faradisc.tools.planner.plan_file.loading import load_plans
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.results.what_if import explored
from faradisc.tools.planner.run import run
from unit.planner.planned import resource, throttles

PLANS = Path(__file__).parents[2] / "examples" / "plans"
FILES = sorted(PLANS.glob("*.yaml"))


@cache
def outcomes(name: str) -> dict[str, PlanOutcome]:
    """Returns the outcomes of a plan by variant."""
    plans = load_plans((PLANS / f"{name}.yaml").read_text(), name)
    return {plan.variant: explored(plan, fluid(plan), fluid) for plan in plans}


def fluid(plan: Plan) -> PlanOutcome:
    return run(plan, engine="fluid")


def finds(found: PlanOutcome, text: str) -> bool:
    return any(text in sentence for sentence in found.verdict)


LONG = ("bulk-load", "date-key", "status-code", "time-series")
"""Plans whose variants take seconds to run."""


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=[pytest.mark.slow] if file.stem in LONG else [], id=file.stem)
        for file in FILES
    ],
)
def test_readme_shows_the_headline_of_each_variant(file: Path) -> None:
    paragraphs = (PLANS / "README.md").read_text().splitlines()
    for variant, found in outcomes(file.stem).items():
        assert f"- **{variant}.** {found.headline.text}" in paragraphs


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_plan_has_a_paragraph_and_variants(file: Path) -> None:
    plans = load_plans(file.read_text(), file.name)
    assert len(plans) >= 2
    assert len(plans[0].description.split()) >= 50


def test_there_are_six_plans() -> None:
    assert len(FILES) == 6


@pytest.mark.slow
def test_date_as_key_throttles_and_date_with_suffix_does_not() -> None:
    day, product, suffixed = outcomes("date-key").values()
    assert day.totals.lost_percent == pytest.approx(75, abs=0.5)
    assert suffixed.totals.lost_percent == 0
    # The factors of "order-" alone make the product a multiple of 200.
    assert {prod(map(ord, f"order-{number:06d}")) % 200 + 1 for number in range(1000)} == {1}
    assert product.totals.lost_percent == pytest.approx(75, abs=0.5)
    assert finds(day, "Orders, key '2026-11-02': 4,000 WCU/s / 1,000 per partition = 4.00")
    assert finds(day, "4,000 WCU/s / 1,000 per partition = 4.00") and finds(day, "shard it 8 ways")
    rejected = [event for event in day.events if event.kind == "split-rejected"]
    assert "ever-increasing sort key" in rejected[0].words
    assert not any(event.kind == "split-rejected" for event in suffixed.events)


def test_upload_in_turn_uses_all_partitions() -> None:
    in_order, in_turn = outcomes("upload-order").values()
    assert in_order.totals.lost_percent == pytest.approx(75, abs=1)
    assert in_turn.totals.lost_percent == 0
    assert finds(in_order, "take one item of every key in turn")


@pytest.mark.slow
def test_fast_bulk_load_throttled_its_steady_state_in_2017_only() -> None:
    fast, slow, today = outcomes("bulk-load").values()
    assert throttles(resource(today, "Items").write) == throttles(resource(slow, "Items").write) == {}
    items = resource(fast, "Items")
    assert throttles(items.write).keys() == {"KeyRangeThroughputExceeded"}
    assert (items.partition_count[-1], resource(slow, "Items").partition_count[-1]) == (11, 2)
    assert min(part.write_limit[-1] for part in items.partitions) == pytest.approx(18.182)
    # The steady state is throttled, not the load.
    first = items.throttle_summary.first_s
    assert first is not None and first > 195 * 60
    assert any(event.kind == "boosted" for event in fast.events)


@pytest.mark.slow
def test_table_per_month_costs_about_half() -> None:
    one, monthly = outcomes("time-series").values()
    assert one.totals.throttled == monthly.totals.throttled == 0
    assert monthly.costs.planned_usd < 0.6 * one.costs.planned_usd
    written = sum(resource(monthly, "Clicks-2026-11").write.consumed)
    assert sum(resource(one, "Clicks").write.consumed) == pytest.approx(2 * written, rel=1e-3)


def test_cache_makes_a_popular_item_fit() -> None:
    without, behind = outcomes("popular-item").values()
    lost = {flow.name: flow.lost_percent for flow in without.flows}
    assert lost["the popular one"] == pytest.approx(40, abs=1)
    assert behind.totals.lost_percent == 0
    assert behind.costs.planned_usd < without.costs.planned_usd / 5
    assert finds(without, "Products, key 'product-1': 5,000 RCU/s / 3,000 per partition = 1.67")
    assert any("a partition's limit is its limit" in event.words for event in without.events)


@pytest.mark.slow
def test_status_code_limits_a_table_and_an_index_and_user_id_does_not() -> None:
    by_status, by_user, with_index = outcomes("status-code").values()
    assert finds(by_status, "Orders, key 'SHIPPED': 1,164 WCU/s / 1,000 per partition = 1.16")
    assert finds(by_user, "Orders: its busiest partition, p")
    assert (by_status.totals.lost_percent > 5, by_user.totals.lost_percent) == (True, 0)
    index = resource(with_index, "Orders/index/by-status")
    assert throttles(index.write).keys() == {"KeyRangeThroughputExceeded"}
    assert throttles(resource(with_index, "Orders").write) == {}
    assert with_index.totals.lost_percent > 5
