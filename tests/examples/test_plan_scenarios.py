"""The plans in examples/plans: each shows what its paragraph says."""

from __future__ import annotations

from pathlib import Path

import pytest

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.results.outcome import Outcome
from faradisc.tools.planner.run import run
from unit.planner.planned import resource, throttles

PLANS = Path(__file__).parents[2] / "examples" / "plans"
FILES = sorted(PLANS.glob("*.yaml"))


def outcome(name: str) -> Outcome:
    return run(load_plan((PLANS / f"{name}.yaml").read_text(), name), engine="fluid")


def lost_percent(found: Outcome, flow: str) -> float:
    return next(total.lost_percent for total in found.flows if total.name == flow)


def as_planned(found: Outcome, name: str) -> float:
    entry = next(entry for entry in found.costs.resources if entry.resource == name)
    return next(mode.total_usd for mode in entry.modes if mode.mode == "as-planned")


def said(found: Outcome, text: str) -> bool:
    return any(text in sentence for sentence in found.verdict)


def test_a_date_and_a_date_with_a_suffix() -> None:
    found = outcome("date-key")
    assert lost_percent(found, "orders by date") == pytest.approx(75, abs=0.5)
    assert lost_percent(found, "orders by date and suffix") == 0
    assert said(found, "ByDate, key '2026-11-02': 4,000 WCU/s / 1,000 per partition = 4.00")
    assert said(found, "shard it 4 ways")
    refusals = [event for event in found.events if event.kind == "split-refused"]
    assert {event.resource for event in refusals} == {"ByDate"}
    assert "ever-increasing sort key" in refusals[0].words


def test_upload_order() -> None:
    found = outcome("upload-order")
    assert lost_percent(found, "user by user") == pytest.approx(75, abs=1)
    assert lost_percent(found, "interleaved") == 0
    assert said(found, "take one item of every key in turn")


def test_a_bulk_load_and_the_steady_state() -> None:
    found = outcome("bulk-load")
    assert throttles(resource(found, "FastToday").write) == throttles(resource(found, "Slow2017").write) == {}
    assert throttles(resource(found, "Fast2017").write).keys() == {"KeyRangeThroughputExceeded"}
    counts = {each.name: each.partition_count[-1] for each in found.resources}
    assert (counts["Fast2017"], counts["Slow2017"]) == (11, 2)
    limits = {part.write_limit[-1] for part in resource(found, "Fast2017").partitions}
    assert min(limits) == pytest.approx(18.182)
    # What was throttled was throttled in the steady state, not in the load.
    first = resource(found, "Fast2017").throttle_summary.first_s
    assert first is not None and first > 195 * 60
    assert any(event.kind == "boosted" and event.resource == "Fast2017" for event in found.events)


def test_tables_for_time_series() -> None:
    found = outcome("time-series")
    assert found.totals.throttled == 0
    monthly = as_planned(found, "Clicks-2026-11") + as_planned(found, "Clicks-2026-10")
    assert monthly < 0.6 * as_planned(found, "AllClicks")
    writes = {name: sum(resource(found, name).write.consumed) for name in ("AllClicks", "Clicks-2026-11")}
    assert writes["AllClicks"] == pytest.approx(2 * writes["Clicks-2026-11"], rel=1e-3)


def test_a_popular_item_with_and_without_a_cache() -> None:
    found = outcome("popular-item")
    assert lost_percent(found, "the popular one") == pytest.approx(40, abs=1)
    assert lost_percent(found, "the popular one behind a cache") == 0
    assert as_planned(found, "ProductsCached") < as_planned(found, "Products") / 5
    assert said(found, "Products, key 'product-1': 5,000 RCU/s / 3,000 per partition = 1.67")
    assert any("a partition's limit is its limit" in event.words for event in found.events)


def test_a_status_code_and_a_user_id() -> None:
    found = outcome("status-code")
    assert said(found, "ByStatus, key 'SHIPPED': peak 970 WCU/s of the 1,000 one partition serves: 97 %")
    assert said(found, "ByUser: the busiest of its 10 partitions serves 10 %")
    assert lost_percent(found, "by status") == lost_percent(found, "by user") == 0
    index = resource(found, "ByUserWithIndex/index/by-status")
    assert throttles(index.write).keys() == {"KeyRangeThroughputExceeded"}
    assert throttles(resource(found, "ByUserWithIndex").write) == {}
    assert lost_percent(found, "by user with index") > 5


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_plan_has_a_paragraph(file: Path) -> None:
    plan = load_plan(file.read_text(), file.name)
    assert len(plan.description.split()) >= 50


def test_there_are_six() -> None:
    assert len(FILES) == 6
