"""The architect's six questions: each plan of examples/plans/architect answers as its arithmetic does."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from faradisc.tools.planner.plan_file.loading import load_plans
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results.chance import judged
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.results.what_if import explored
from faradisc.tools.planner.run import run

PLANS = Path(__file__).parents[2] / "examples" / "plans" / "architect"


def fluid(plan: Plan) -> PlanOutcome:
    return run(plan, engine="fluid")


@cache
def answers(name: str, draws: int = 1) -> list[PlanOutcome]:
    plans = load_plans((PLANS / f"{name}.yaml").read_text(), name)
    return [explored(plan, judged(plan, fluid, draws), fluid, draws) for plan in plans]


def month(outcome: PlanOutcome, mode: str) -> float:
    return next(each.total_usd for each in outcome.costs.modes if each.mode == mode)


def test_there_are_six_with_their_arithmetic() -> None:
    files = sorted(PLANS.glob("*.yaml"))
    assert len(files) == 6
    for file in files:
        text = file.read_text()
        assert text.startswith("# Question: ") and "# By hand: " in text


def test_changes_of_status_need_two_units_each() -> None:
    (found,) = answers("status-changes")
    assert not found.headline.holds
    assert found.totals.lost_percent == pytest.approx(100 * (1800 - 420) / 1800 * 0.4167, abs=0.3)
    first = found.resources[1].throttle_summary.first_s
    assert first is not None and abs(first - 420) <= 2
    assert "writes of index by-status of Orders from 3,500 to 6,000" in found.headline.change


def test_a_sale_a_month() -> None:
    (found,) = answers("monthly-sale")
    assert found.headline.text.endswith("A month costs $87.75.")
    assert month(found, "provisioned-peak") == pytest.approx(7141, abs=1)


def test_a_nightly_import() -> None:
    (found,) = answers("nightly-import")
    assert found.headline.text.endswith("A month costs $232.69.")


def test_a_growing_table_is_split_here_and_there() -> None:
    (found,) = answers("growing-table")
    first, last = found.resources[0].partition_count[0], found.resources[0].partition_count[-1]
    assert found.headline.holds and first == 62 and 63 <= last <= 68


def test_a_counter_in_too_few_shards_holds_in_some_draws_only() -> None:
    (found,) = answers("counter-shards", 20)
    assert found.draws is not None and found.draws.drawn == 20 and 12 <= found.draws.held <= 19
    if not found.headline.holds:
        assert "warm table Counters to 12,000 reads and 16,000 writes" in found.headline.change


def test_a_hot_item_needs_copies_or_a_cache() -> None:
    without, behind = answers("hot-item")
    assert not without.headline.holds and behind.headline.holds
    assert any("no partition can serve this item" in each for each in without.verdict)
    assert {each.other_usd for each in behind.costs.modes} == {400}
    changes = [each.change for each in without.what_if]
    assert any(each.startswith("keep ") and "copies of the item 'product-1'" in each for each in changes)
