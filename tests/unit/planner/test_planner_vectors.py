"""The test vectors of capacity.md part 4 that concern traffic over time, by both engines of the planner."""

from __future__ import annotations

import pytest

from faradisc.tools.planner.run import Engine
from unit.planner.planned import ENGINES, outcome_of, resource, served, throttles, verdict_of

KEY_RANGE = "KeyRangeThroughputExceeded"
PROVISIONED = "ProvisionedThroughputExceeded"
both_engines = pytest.mark.parametrize("engine", ENGINES)


@both_engines
def test_v91_full_burst_capacity(engine: Engine) -> None:
    """V91, D: 150 RCU with 45,000 units of burst capacity serve 200 a second for 900 s, then 150."""
    found = outcome_of(
        """
        duration: 17m
        tables: {T: {mode: provisioned, read: 150, write: 1}}
        traffic: [{operation: GetItem, consistent: true, rate: 200, keys: {uniform: 1000}}]
        """,
        engine,
    )
    reads = resource(found, "T")
    first = reads.throttle_summary.first_s
    assert first is not None and 880 <= first <= 920
    assert served(reads.read) == pytest.approx(150, abs=0.1)
    assert throttles(reads.read).keys() == {PROVISIONED}


@both_engines
def test_v96b_partition_caps(engine: Engine) -> None:
    """V96b, X: partition cap 30/10, one key at 50 W/s: 10/s pass, 40/s are refused by the key range."""
    found = outcome_of(
        """
        duration: 5m
        tables: {T: {mode: provisioned, read: 1, write: 100, partition_caps: 30/10}}
        traffic: [{operation: PutItem, rate: 50, keys: {single: hot}}]
        """,
        engine,
    )
    writes = resource(found, "T").write
    assert served(writes) == pytest.approx(10, abs=0.1)
    assert throttles(writes).keys() == {KEY_RANGE}
    (hot,) = [key for key in found.hot_keys if key.key == "hot"]
    # The busiest second of random arrivals has more than the mean.
    assert hot.peak_units == 50 if engine == "fluid" else 60 < hot.peak_units < 80
    assert f"WCU/s / 10 per partition = {hot.peak_units / 10:.2f}: " in verdict_of(found, "hot")
    assert f"shard it {hot.ways} ways" in verdict_of(found, "hot")
    assert next(key for key in found.hot_keys if key.key == "hot").throttled == sum(
        throttles(writes).values()
    )


@both_engines
def test_v98_date_key_and_suffix(engine: Engine) -> None:
    """V98, S4, S2: 5 partitions, 4,000 W/s (here a hundredth of both): a quarter passes on one date key, all
    of it with a suffix of 1 to 200."""
    text = """
        duration: 4m
        partition_caps: 30/10
        tables: {{T: {{mode: provisioned, read: 1, write: 50, partitions: 5, sort_key: true}}}}
        traffic: [{{operation: PutItem, rate: 40, sort: rising, keys: {{date: day, suffixes: {}}}}}]
    """
    one = outcome_of(text.format(1), engine)
    assert served(resource(one, "T").write) == pytest.approx(10, abs=0.1)
    if engine == "fluid":
        assert "shard it 4 ways" in verdict_of(one, "2026-11-02")
    many = outcome_of(text.format(200), engine)
    assert many.totals.lost_percent < 1
    assert served(resource(many, "T").write) == pytest.approx(40, abs=2)


@both_engines
def test_v101_a_cache_in_front_of_a_hot_item(engine: Engine) -> None:
    """V101, S4: 5,000 reads/s (a hundredth here): 3,000 pass without a cache, 2,500 with half hits."""
    text = """
        duration: 3m
        partition_caps: 30/10
        tables: {{T: {{mode: provisioned, read: 100, write: 1}}}}
        traffic: [{{operation: GetItem, consistent: true, rate: 50, keys: single, cache: {}}}]
    """
    without = resource(outcome_of(text.format(0), engine), "T").read
    assert served(without) == pytest.approx(30, abs=0.3)
    cached = outcome_of(text.format("50%"), engine)
    assert served(resource(cached, "T").read) == pytest.approx(25, abs=0 if engine == "fluid" else 2)
    assert cached.totals.cached == 25 * 180
    assert cached.totals.throttled_percent < 5


@both_engines
def test_what_a_cache_answers_is_not_lost(engine: Engine) -> None:
    """By hand: 200 reads/s, 160 answered by the cache; the partition serves 30 of the other 40: 10 of 200 are
    lost, 5 % (not 25 % of what passed the cache)."""
    found = outcome_of(
        """
        duration: 3m
        partition_caps: 30/10
        tables: {T: {mode: provisioned, read: 100, write: 1}}
        traffic: [{operation: GetItem, consistent: true, rate: 200, keys: single, cache: 80%}]
        """,
        engine,
    )
    assert found.totals.lost_percent == pytest.approx(5, abs=1)
    assert "attempts (with those that the cache answered) (" in found.verdict[0]


@both_engines
def test_an_update_that_moves_an_index_key_costs_two_units(engine: Engine) -> None:
    """By hand: 30 changes of status a second delete and put 60 entries a second. An index of 35 WCU saves
    300 s of 35 = 10,500 units, which 60 - 35 = 25 a second use up in 420 s; then 25 of 60 are lost, 42 %."""
    text = """
        duration: 20m
        tables:
          T: {{mode: provisioned, read: 1, write: 40, indexes: {{by-status: {{read: 1, write: 35}}}}}}
        traffic: [{{operation: UpdateItem, rate: 30, keys: {{uniform: 100000}}{}}}]
    """
    assert outcome_of(text.format(""), engine).headline.holds
    moved = outcome_of(text.format(", moves: [by-status]"), engine)
    index, table = resource(moved, "T/index/by-status"), resource(moved, "T")
    assert not moved.headline.holds
    assert index.write.offered[1] == pytest.approx(60, rel=0.1)
    assert table.write.offered[1] == pytest.approx(30, rel=0.1)
    assert index.throttle_summary.first_s == pytest.approx(420, rel=0.1)
    assert served(index.write) / index.write.offered[-1] == pytest.approx(35 / 60, rel=0.05)


@pytest.mark.parametrize(("profile", "first"), [("classic-2017", 67), ("aws", None)])
def test_v102_a_lowered_table(profile: str, first: int | None) -> None:
    """V102, S4: 11,000 lowered to 200, one key at 100 W/s: classic throttles it when its burst capacity of
    5,454 is spent, after about 67 s; modern serves it."""
    found = outcome_of(
        f"""
        profile: {profile}
        duration: 30m
        tables:
          T: {{mode: provisioned, read: 1, write: 11000, partitions: 11, changes: [{{at: 0s, write: 200}}]}}
        traffic: [{{operation: PutItem, rate: 100, from: 10m, keys: single}}]
        """,
        "fluid",
    )
    seen = resource(found, "T").throttle_summary.first_s
    assert seen == (None if first is None else pytest.approx(600 + first, abs=1))


def test_v104_an_on_demand_table_under_full_load() -> None:
    """V104, S3, D: write capacity 4,000, then 8,000 at 30 min, 16,000, 32,000, 40,000 at two hours."""
    found = outcome_of(
        """
        profile: pessimistic  # without splits for heat, which would come on top
        duration: 130m
        tables: {T: {mode: on-demand}}
        traffic:
          - operation: PutItem
            rate:
              steps:
                - {at: 0s, rate: 4000}
                - {at: 31m, rate: 8000}
                - {at: 62m, rate: 16000}
                - {at: 93m, rate: 32000}
            keys: {uniform: 1000000000}
        """,
        "fluid",
    )
    table = resource(found, "T")
    assert [table.write.provisioned[minute] for minute in (0, 28, 35, 65, 98, 129)] == [
        4_000, 4_000, 8_000, 16_000, 32_000, 40_000,
    ]  # fmt: skip
    grown = [event.words for event in found.events if event.kind == "grown"]
    assert "8,000 writes" in grown[0]
    assert found.totals.lost_percent < 2
    assert (table.partition_count[0], table.partition_count[-1]) == (4, 40)


@both_engines
def test_v109_a_small_index_holds_back_its_table(engine: Engine) -> None:
    """V109, X: an index of 100 WCU, 30,000 units of burst capacity, 500 writes/s: 75 s of 500, then 100."""
    found = outcome_of(
        """
        duration: 3m
        tables: {T: {mode: provisioned, read: 1, write: 1000, indexes: {g: {read: 1, write: 100}}}}
        traffic: [{operation: PutItem, rate: 500, keys: {uniform: 100000}}]
        """,
        engine,
    )
    index = resource(found, "T/index/g")
    first = index.throttle_summary.first_s
    assert first is not None and 74 <= first <= 75
    assert served(index.write) == served(resource(found, "T").write) == pytest.approx(100, abs=0.3)
    assert throttles(resource(found, "T").write) == {}
    assert throttles(index.write).keys() == {PROVISIONED}


SCALED = """
    duration: {duration}
    tables:
      T:
        mode: provisioned
        read: {read}
        write: 1
        auto_scaling: {{read: {{min: 5, max: 1000, target: 70}}}}
    traffic: [{{operation: GetItem, consistent: true, rate: {rate}, keys: {{uniform: 100000}}}}]
"""


def changes(text: str) -> list[tuple[float, str]]:
    found = outcome_of(text, "fluid")
    return [(event.at_s, event.words) for event in found.scaling[0].events if event.kind == "update"]


def test_v121_scale_out() -> None:
    """V121, S3, X: 90/s on 100 RCU at 70 %: to 129, a minute and a half after two full minutes."""
    assert changes(SCALED.format(duration="10m", read=100, rate=90)) == [(211, "100 to 129 RCU")]


def test_v122_a_spike_every_other_minute() -> None:
    """V122, S3: one minute at 200/s, one at 10/s: never up."""
    rate = "{spikes: {base: 10, high: 200, every: 2m, lasting: 1m}}"
    assert changes(SCALED.format(duration="40m", read=100, rate=rate)) == []


def test_v123_scale_in() -> None:
    """V123, S3, X: 35/s for 15 minutes on 100 RCU: to 50."""
    assert changes(SCALED.format(duration="20m", read=100, rate=35)) == [(991, "100 to 50 RCU")]


def test_v125_burst_capacity_serves_a_spike() -> None:
    """V125, S3, S4, X: 400/s for 90 s on 100 units: no throttle; 286 units come when it is over."""
    found = outcome_of(
        SCALED.format(duration="5m", read=100, rate=400).replace("keys:", "until: 90s, keys:"), "fluid"
    )
    assert found.totals.throttled == 0
    updates = [event for event in found.scaling[0].events if event.kind == "update"]
    assert [event.words for event in updates][:1] == ["100 to 286 RCU"]
    assert updates[0].at_s > 90


def test_v126_the_minimum_holds_at_once() -> None:
    """V126, M2: a minimum of 10 on 5 RCU: 10 within seconds."""
    text = SCALED.format(duration="2m", read=5, rate=1).replace("min: 5", "min: 10")
    assert changes(text) == [(1, "5 to 10 RCU")]


def test_v128_decreases_are_limited() -> None:
    """V128, D, M2: four decreases at any time of the day; the fifth waits for an hour after the fourth."""
    rate = "{points: [{at: 0s, rate: 600}, {at: 5h, rate: 20}]}"
    found = outcome_of(SCALED.format(duration="6h", read=900, rate=rate), "fluid")
    down = [event for event in found.scaling[0].events if event.kind in ("update", "skipped")]
    kinds = [event.kind for event in down]
    assert kinds[:5] == ["update"] * 4 + ["skipped"]
    assert "not allowed yet" in down[4].words
    fifth = next(event for event in down[5:] if event.kind == "update")
    assert fifth.at_s - down[3].at_s >= 3_600


def test_v137_status_codes_and_user_ids() -> None:
    """V137, S4, X: 1,000 writes/s on status codes stand at 97 % of a partition; on user ids no partition has
    much more than a tenth."""
    text = """
        duration: 5m
        tables: {{T: {{mode: on-demand, partitions: 10}}}}
        traffic: [{{operation: PutItem, rate: 1000, keys: {}}}]
    """
    codes = outcome_of(text.format("{weighted: {A: 97, B: 2, C: 1}}"), "fluid")
    key = next(key for key in codes.hot_keys if key.key == "A")
    assert (key.peak_units, key.verdict) == (970, "near")
    assert "serves: 97 %; it fits" in key.words and "growth needs sharding" in key.words
    users = outcome_of(text.format("{uniform: 100000}"), "fluid")
    loads = [sum(part.write) for part in resource(users, "T").partitions]
    assert max(loads) / sum(loads) == pytest.approx(0.1, abs=0.005)
    assert all(key.verdict == "fits" for key in users.hot_keys)


def test_a_collection_that_splits_for_heat_divide_needs_no_sharding() -> None:
    """Section 2.7: a collection is cut by sort key, unless its keys rise or a local index forbids it."""
    text = """
        duration: 25m
        partition_caps: 60/20
        tables: {{T: {{mode: on-demand, partitions: 1, sort_key: true{more}}}}}
        traffic: [{{operation: PutItem, rate: 30, sort: {sort}, keys: {{single: hot}}}}]
    """
    found = {}
    for name, more, sort in (
        ("spread", "", "spread"),
        ("rising", "", "rising"),
        ("local", ", local_indexes: {l: {projection: keys_only, share: 0}}", "spread"),
    ):
        outcome = outcome_of(text.format(more=more, sort=sort), "fluid")
        key = next(key for key in outcome.hot_keys if key.key == "hot")
        found[name] = (key.verdict, key.ways, resource(outcome, "T").partition_count[-1] > 1)
        assert (served(resource(outcome, "T").write) > 29.9) is (name == "spread")
    assert found == {
        "spread": ("isolated", None, True),
        "rising": ("shard", 2, False),
        "local": ("shard", 2, False),
    }
