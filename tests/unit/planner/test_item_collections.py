"""Item collections of tables with local indexes: their sizes and when they are full.

What it proves: the plan adds up what the server adds up, item, entries and overhead; which keys are listed.
"""

from __future__ import annotations

import csv
from io import StringIO
from textwrap import dedent

import orjson
import pytest

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan_of_trace import with_trace
from faradisc.tools.planner.report import render
from faradisc.tools.planner.results.csv_tables import tables
from faradisc.tools.planner.results.item_collections import FlowGrowth, Growth
from faradisc.tools.planner.results.outcome import ItemCollection, PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.planner.workload.key_distributions import ONE, named
from faradisc.tools.traces.trace_format import Trace
from unit.planner.planned import ENGINES, outcome_of, printed

GIB = 1 << 30
PLAN = """
    duration: 10m
    tables:
      T:
        mode: on-demand
        items: {items}
        item_size: 924 B
        local_indexes: {{all: {{share: 50%}}, keys: {{projection: keys_only, entry_size: 156 B}}}}
    traffic:
      - {{operation: {operation}, rate: {rate}, keys: {keys}}}
"""
EACH = (924 + 100) + (924 + 100) // 2 + (156 + 100)
"""Bytes of an item with its entries; half of the items are in one of the indexes."""
KEYS = "{weighted: {A: 3, B: 1}}"


def found(
    keys: str = KEYS,
    operation: str = "PutItem, effect: add",
    items: int = 0,
    rate: int = 100,
    engine: str = "events",
) -> PlanOutcome:
    text = PLAN.format(keys=keys, operation=operation, items=items, rate=rate)
    return outcome_of(text, engine)  # type: ignore[arg-type]


def sizes(outcome: PlanOutcome) -> dict[str, float]:
    return {each.key: each.gib_last for each in outcome.collections}


@pytest.mark.parametrize("engine", [pytest.param("events", marks=pytest.mark.slow), "fluid"])
def test_items_entries_and_overhead_add_up(engine: str) -> None:
    outcome = found(engine=engine, rate=400)
    assert sizes(outcome) == {
        "A": pytest.approx(240_000 * 3 / 4 * EACH / GIB, abs=0.001),
        "B": pytest.approx(240_000 / 4 * EACH / GIB, abs=0.001),
    }
    assert [each.verdict for each in outcome.collections] == ["near", "near"]


def test_what_is_there_is_spread_as_the_writes_are() -> None:
    outcome = found(items=8_000_000, operation="PutItem")
    a, b = outcome.collections
    assert a.gib_first == a.gib_last == pytest.approx(6_000_000 * EACH / GIB, rel=0.001)
    assert (a.verdict, b.verdict, a.full_in_days, b.full_in_days) == ("full", "fits", None, None)
    assert a.words == (
        "10.01 GiB are 100 % of the limit beside local indexes: writes that make it larger fail "
        "(ItemCollectionSizeLimitExceededException)"
    )
    said = "Table T: what it holds at first is spread over item collections as its writes are."
    assert said in outcome.assumptions
    assert any(each.startswith("T, item collection 'A': 10.01 GiB are") for each in outcome.verdict)


def test_growth_predicts_when_a_collection_is_full() -> None:
    a = found(items=4_000_000, rate=10).collections[0]
    left = 10 * GIB - a.gib_last * GIB
    assert a.full_in_days == pytest.approx(left / (7.5 * EACH) / 86_400, rel=0.001)
    assert a.verdict == "near"
    assert a.words.endswith(f"; at this rate it is full in {a.full_in_days:,.1f} days")
    soon = found(items=5_900_000, rate=40).collections[0]
    assert soon.words.endswith("at this rate it is full in 14.3 hours")
    assert soon.full_in_days == pytest.approx(14.3 / 24, abs=0.01)


def test_removals_make_them_smaller() -> None:
    a = found(items=400_000, operation="DeleteItem, old_size: 924 B").collections[0]
    assert a.gib_first - a.gib_last == pytest.approx(45_000 * EACH / GIB, rel=0.02)
    assert a.full_in_days is None


def test_one_of_many_equal_keys_stands_for_all() -> None:
    outcome = found(keys="{uniform: 50000}", items=50_000 * 100_000)
    (each,) = outcome.collections
    assert each.key == "any one of 50,000 keys"
    assert each.gib_first == pytest.approx(100_000 * EACH / GIB, rel=0.001)


def test_keys_that_change_have_no_growth_rate() -> None:
    outcome = found(keys="{sequential: {items_per_key: 20000}}", items=1_000_000, engine="fluid")
    (largest,) = outcome.collections
    assert (largest.key, largest.gib_first, largest.full_in_days) == ("U1", 0, None)
    assert largest.gib_last == pytest.approx(20_000 * EACH / GIB, abs=0.001)


def test_lost_requests_leave_nothing() -> None:
    text = PLAN.format(keys="single", operation="PutItem, effect: add", items=0, rate=100)
    slow = text.replace("mode: on-demand", "mode: provisioned\n        write: 5")
    outcome = outcome_of(slow, "fluid")
    gained = outcome.collections[0].gib_last * GIB
    assert gained == pytest.approx(outcome.totals.admitted * EACH, abs=GIB / 1000)
    assert outcome.totals.lost > 50_000


def test_tables_without_local_indexes_have_no_limit() -> None:
    text = PLAN[: PLAN.index("        local_indexes")] + PLAN[PLAN.index("    traffic") :]
    outcome = outcome_of(text.format(keys=KEYS, operation="PutItem, effect: add", items=10**8, rate=1))
    assert outcome.collections == ()
    assert found(operation="GetItem", items=10**7).collections == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_recorded_requests_count_by_their_key(engine: str) -> None:
    size = 400 * 1024
    requests = [
        {"t": at, "op": "PutItem", "table": "T", "pk": f"u{at % 2}", "sk": str(at), "new": size - at % 2}
        for at in range(600)
    ]
    lines = [orjson.dumps(line) for line in requests]
    trace = Trace.scan("t.jsonl", lambda: lines)
    text = dedent(PLAN.format(keys=KEYS, operation="PutItem", items=0, rate=1))
    plan = load_plan(text.replace("duration: 10m", ""), "plan.yaml", traced=True)
    first, second = run(with_trace(plan, trace), engine=engine, trace=trace).collections  # type: ignore[arg-type]
    assert (first.key, second.key) == ("u0", "u1")
    each = (size + 100) * 3 // 2 + 256
    assert first.gib_last == pytest.approx(300 * each / GIB, abs=0.001)


def test_it_is_in_every_form_of_the_outcome() -> None:
    outcome = found(items=8_000_000)
    rows = list(csv.DictReader(StringIO(tables(outcome)["collections.csv"])))
    assert [(row["key"], row["verdict"]) for row in rows] == [("A", "full"), ("B", "near")]
    assert outcome.to_json()["collections"][0]["key"] == "A"
    assert any(line.startswith("A ") and " full " in line for line in printed(outcome).splitlines())
    page = render([outcome])
    assert "Largest item collections, local indexes included" in page
    assert "ItemCollectionSizeLimitExceededException" in page


def test_only_the_large_ones_are_listed() -> None:
    keys = str({f"k{number}": 1 for number in range(100)}).replace("'", "")
    keys = f"{{weighted: {keys}}}"
    assert len(found(keys=keys, items=100_000_000).collections) == 12
    assert len(found(keys=keys, items=1000).collections) == 1


def test_memory_is_bounded_and_the_heaviest_stay() -> None:
    growth = Growth()
    growth.add("heavy", 10**9)
    for number in range(20_000):
        growth.add(f"light {number}", 1)
    assert len(growth.bytes) <= 4000
    assert growth.bytes["heavy"] == 10**9


def test_a_flow_counts_by_shape() -> None:
    growth = FlowGrowth([1000, 10])
    one, other = named([("a", ONE)], 1, "one"), named([("a", ONE // 2), ("b", ONE // 2)], 1, "one")
    for shape, counts in ((one, [1, 2]), (one, [1, 0]), (other, [2, 0])):
        growth.add(shape, counts)
    assert growth.taken == 6
    assert growth.by_key(6) == {"a": 3020, "b": 1000}
    assert growth.by_key(3) == {"a": 1510, "b": 500}


def test_a_collection_is_plain() -> None:
    assert all(isinstance(each, ItemCollection) for each in found().collections)
