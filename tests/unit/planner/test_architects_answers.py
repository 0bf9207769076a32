"""Questions of an architect, each answered by hand in the comment beside its plan."""

from __future__ import annotations

import pytest

from faradisc.tools.advisor.definitions import Definition
from faradisc.tools.advisor.rules.capacity_mode import find as cheaper_mode
from faradisc.tools.advisor.traffic import ObservedDemand, TableTraffic, Traffic
from faradisc.tools.planner.plan_file.loading import load_plan, load_plans
from faradisc.tools.planner.plan_file.plan import Plan, Scaling
from faradisc.tools.planner.results.chance import judged
from faradisc.tools.planner.results.demand import DirectionDemand
from faradisc.tools.planner.results.hot_keys import shards
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.results.what_if import candidates, explored
from faradisc.tools.planner.run import run
from faradisc.tools.traces.errors import PlanError
from unit.planner.planned import outcome_of, planned, verdict_of


def month(outcome: PlanOutcome, mode: str) -> float:
    return next(each.total_usd for each in outcome.costs.modes if each.mode == mode)


SALE = """
    duration: 20m
    tables: {{T: {{mode: on-demand, warm: {{write: 20000}}}}}}
    traffic:
      - {{name: base, operation: PutItem, rate: 50, keys: {{uniform: 1000000}}}}
      - {{name: sale, operation: PutItem, rate: 15000, from: 5m, until: 15m, keys: {{uniform: 90000}}{every}}}
"""


def test_a_sale_happens_once_a_month_over_its_base_load() -> None:
    """By hand: 50 a second for 730 hours are 131.4 million units, the sale 15,000 x 600 s = 9 million more:
    140.4 million at $0.625 are $87.75. As if all hours were sales it would be $12,400 and more."""
    found = outcome_of(SALE.format(every=", every: month"), "fluid")
    assert month(found, "on-demand") == 87.75
    assert found.headline.text.endswith("A month costs $87.75.")
    # The busiest second needs 15,050 units all month; auto scaling has 72 (50 / 70 %) of nearly all minutes.
    assert month(found, "provisioned-peak") == pytest.approx(15_050 * 730 * 0.00065, abs=0.2)
    assert 34 < month(found, "auto-scaling") < 60


def test_the_headline_of_a_short_run_without_frequency_states_no_month() -> None:
    found = outcome_of(SALE.format(every=""), "fluid")
    assert "month" not in found.headline.text
    assert any("say how often its events happen" in each for each in found.verdict)
    steady = outcome_of(SALE.format(every="").replace("15000, from: 5m, until: 15m", "50"), "fluid")
    assert "A month costs" in steady.headline.text


IMPORT = """
    duration: {hours}h
    tables: {{T: {{mode: on-demand, warm: {{write: 4000}}}}}}
    traffic:
      - {{name: base, operation: PutItem, rate: 100, keys: {{uniform: 1000000}}}}
      - {{name: import, operation: PutItem, rate: 1000, until: 1h, keys: {{uniform: 1000000}}, every: day}}
"""


def test_a_nightly_import_costs_the_same_however_long_the_run_is() -> None:
    """By hand: 100 x 2,628,000 s + 1,000 x 3,600 s x 730 / 24 nights = 372.3 million units: $232.69."""
    for hours in (1, 3):
        found = outcome_of(IMPORT.format(hours=hours), "fluid")
        assert month(found, "on-demand") == pytest.approx(232.69, abs=0.01)


def test_events_of_one_run_have_one_period_which_is_not_shorter_than_it() -> None:
    with pytest.raises(Exception, match="longer than the time between two events"):
        outcome_of(IMPORT.format(hours=30))
    with pytest.raises(Exception, match=r"traffic\[0\].every: the events of one run have one period"):
        outcome_of(IMPORT.format(hours=1).replace("rate: 100,", "rate: 100, every: week,"))


def test_auto_scaling_returns_to_the_base_load_after_an_event() -> None:
    """Ten minutes of 700 units over a base of 7: of 43,800 minutes nearly all need 10 units (7 / 70 %)."""
    event = DirectionDemand(minutes=[2 * 60 * 700] * 10)
    base = DirectionDemand(minutes=[2 * 60 * 7] * 10)
    for demand, units in ((event, 700), (base, 7)):
        demand.seconds[2 * units] = 600
    average, _ = event.over(base, 730 * 3600).scaled(Scaling.model_validate({"min": "1", "max": "1000"}))
    assert 10 <= average < 11


FILLED = """
    duration: 40m
    tables: {{T: {{mode: provisioned, read: 5, write: 12000, items: {millions}000000, item_size: 1 KB}}}}
    traffic: [{{operation: PutItem, effect: add, rate: 10000, keys: {{uniform: 100000000}}}}]
"""


@pytest.mark.parametrize("millions", [480, 520])
def test_partitions_do_not_all_become_full_in_one_second(millions: int) -> None:
    """By hand: 480 M items of 1 KB are 457.8 GB, 62 partitions of 7.4 GB on average, between 4.9 and 9.8.
    10,000 items a second add 0.37 GB to each in 40 minutes, and those above 9.6 GB are split: the uppermost
    3.6 % of them and not all, which would double the throughput of the table."""
    found = outcome_of(FILLED.format(millions=millions), "fluid").resources[0]
    first, last = found.partition_count[0], found.partition_count[-1]
    assert first == -(-millions * 1024 * 1_000_000 * 4 // (3 * 10 * (1 << 30)))
    assert first < last <= 1.15 * first
    assert len({part.born_s for part in found.partitions if part.parent is not None}) > 1
    fills = sorted(part.gib[0] for part in found.partitions if part.parent is None)
    assert fills[0] < 6 and 9 < fills[-1] <= 10


def test_advise_and_plan_have_one_model_of_cost() -> None:
    """One demand, observed and planned: 100 writes a second, of which on demand costs $164.25 a month by hand
    (262.8 million units) and auto scaling $67.95: 143 units (100 / 70 %) at $0.00065, and one to read."""
    plan = outcome_of(
        """
        duration: 1h
        tables: {T: {mode: on-demand}}
        traffic: [{operation: PutItem, rate: 100, keys: {uniform: 1000000}}]
        """,
        "fluid",
    )
    table = TableTraffic(Definition("T"))
    table.demands[None, "W"] = ObservedDemand(360_000, 720_000, 200, dict.fromkeys(range(60), 12_000))
    (finding,) = cheaper_mode(Traffic("test", 3600, {"T": table}), table)
    assert month(plan, "on-demand") == 164.25
    assert "costs $164.25 on demand" in finding.evidence
    assert f"and ${month(plan, 'auto-scaling'):,.2f} provisioned with auto scaling" in finding.evidence


# --- Chance ---------------------------------------------------------------------------------------

COUNTER = """
    duration: {minutes}m
    tables: {{T: {{mode: on-demand, warm: {{write: 8000}}, sort_key: true}}}}
    traffic: [{{operation: PutItem, rate: {rate}, sort: rising, keys: {{single: counter, suffixes:
    {suffixes}}}}}]
"""


def fluid(plan: Plan) -> PlanOutcome:
    return run(plan, engine="fluid")


def drawn(rate: int, suffixes: int, draws: int, minutes: int = 1) -> tuple[Plan, PlanOutcome]:
    plan = planned(COUNTER.format(rate=rate, suffixes=suffixes, minutes=minutes))
    return plan, judged(plan, fluid, draws)


def test_shards_are_as_many_as_nearly_all_placements_need() -> None:
    """By hand: of two keys with 750 a second each, both fall on one of 8 partitions once in 8 times, which is
    too often; of three with 500 all three do once in 64, and two are served."""
    assert shards(1500, 1000, 8) == 3
    assert shards(900, 1000, 8) == 1
    # More than the partitions serve: they are what is missing, and the quotient is said.
    assert shards(9000, 1000, 8) == 9


def test_sharding_is_a_range_over_names_and_seeds() -> None:
    """By hand: of 5 keys with 500 a second each over 8 partitions a partition serves two. Three or more meet
    in one with 1 - (8*7*6*5*4 + 10*8*7*6*5 + 15*8*7*6) / 8**5 = 0.136 of the placements."""
    _, found = drawn(2500, 5, 60)
    assert found.draws is not None and found.draws.drawn == 60
    assert 44 <= found.draws.held <= 59
    assert f"holds in {found.draws.held} of 60 draws" in found.headline.text
    assert found.headline.holds == (found.draws.held * 100 >= 90 * 60)
    assert found.draws.lost_low == 0 and found.draws.lost_high > 10


def test_the_plan_itself_is_the_first_draw_and_draws_are_reproducible() -> None:
    plan, found = drawn(2500, 5, 8)
    assert plan.drawn(0) is plan
    assert plan.drawn(3).traffic[0].keys.shape(0, 0, 1).keys[0].name == "counter.1"
    assert drawn(2500, 5, 8)[1] == found


def test_one_number_stands_in_headline_findings_and_what_if() -> None:
    plan, found = drawn(2500, 1, 10)
    assert not found.headline.holds and found.draws is None  # a key that no place serves
    found = explored(plan, found, fluid, 10)
    held = found.what_if[-1]
    assert held.holds and held.draws is not None and held.draws.held * 100 >= 90 * held.draws.drawn
    (hot,) = [key for key in found.hot_keys if key.verdict == "shard"]
    assert f"divide the key 'counter' of T by {hot.ways} suffixes" in found.headline.change
    assert f"shard it {hot.ways} ways" in hot.words and any(hot.words in each for each in found.verdict)
    assert f"by {hot.ways} suffixes" in held.change


def test_the_remedy_divides_the_key_and_not_a_shard_of_it() -> None:
    """Two suffixes of 1,500 a second each are 3,000 a second of one key, over 8 partitions."""
    plan, found = drawn(3000, 2, 1)
    words = [each.words for each in candidates(plan, found)]
    assert words[0] == f"divide the key 'counter' of T by {shards(3000, 1000, 8)} suffixes, now 2"


def test_warm_throughput_is_tried_where_keys_meet_by_chance() -> None:
    """Keys that a partition serves, and that meet in one, spread over twice as many partitions."""
    plan = planned(COUNTER.format(rate=3900, suffixes=6, minutes=1))
    found = explored(plan, judged(plan, fluid, 10), fluid, 10)
    assert not found.headline.holds
    assert found.what_if[0].change == "warm table T to 12,000 reads and 16,000 writes a second beforehand"


def test_two_changes_are_tried_together() -> None:
    """By hand: 5,000 a second of one key need at least 5 partitions, and there are 4: neither suffixes nor
    warm throughput alone."""
    plan = planned(COUNTER.format(rate=5000, suffixes=1, minutes=1).replace("warm: {write: 8000}, ", ""))
    found = explored(plan, fluid(plan), fluid)
    assert found.headline.change.startswith("It holds with two changes: divide the key 'counter' of T by ")
    assert ", and warm table T to " in found.headline.change


# --- Sentences ------------------------------------------------------------------------------------


def test_clients_retry_as_sdks_do_unless_the_plan_says_otherwise() -> None:
    text = "duration: 1m\ntables: {T: {mode: on-demand}}\n"
    text += "traffic: [{operation: PutItem, rate: 1, keys: single}]\n"
    assert load_plan(text, "plan.yaml").traffic[0].retries.attempts == 4
    assert load_plan(text, "plan.yaml", traced=True).retries.attempts == 1


EVENTUAL = """
    duration: 3m
    profile: {profile}
    tables: {{T: {{mode: provisioned, read: 5000, write: 5, partitions: 1}}}}
    traffic: [{{operation: GetItem, rate: 8000, keys: single, item_size: 4 KB}}]
"""


def test_a_percentage_of_a_limit_is_one_in_key_and_partition_and_the_headline_says_what_it_rests_on() -> None:
    """By hand: 8,000 eventually consistent reads a second are 4,000 units, 133 % of the documented 3,000 and
    89 % of 4,500, which the profile aws takes a partition to serve."""
    found = outcome_of(EVENTUAL.format(profile="aws"), "fluid")
    assert found.headline.holds and "serves 133 % of the documented limit" in found.headline.text
    assert "used 89 %" in " ".join(found.verdict) or found.resources[0].busiest is not None
    assert found.resources[0].busiest is not None
    assert round(found.resources[0].busiest.percent) == 89 and "89 %" in verdict_of(found, "the key")
    strict = outcome_of(EVENTUAL.format(profile="documented"), "fluid")
    assert not strict.headline.holds


def test_a_variant_of_a_misspelt_stream_names_the_nearest_one() -> None:
    text = """
duration: 1m
tables: {T: {mode: on-demand}}
traffic: [{name: orders, operation: PutItem, rate: 1, keys: single}]
variants:
  more: {traffic: [{name: ordres, rate: 5}]}
"""
    with pytest.raises(PlanError, match="no stream 'ordres' that this could change"):
        load_plans(text, "plan.yaml")


def test_more_than_the_quota_is_planned_and_said() -> None:
    found = outcome_of(
        """
        duration: 1m
        tables: {T: {mode: provisioned, read: 5, write: 100000, sort_key: true}}
        traffic: [{operation: PutItem, rate: 60000, keys: {uniform: 1000000}}]
        """,
        "fluid",
    )
    assert found.headline.holds
    assert "Table T: more than 40,000 units a second need a raised quota." in found.assumptions
    assert any(
        "spread over all items of a key (sort: spread, the default)" in each for each in found.assumptions
    )


def test_what_is_lost_is_not_sold_as_cheap() -> None:
    found = outcome_of(COUNTER.format(rate=2000, suffixes=1, minutes=1), "fluid")
    assert any("without the 49.167 % of the units that were throttled" in each for each in found.verdict)


# --- What a table costs beside its throughput -----------------------------------------------------

KEPT = """
    duration: 1h
    tables: {{T: {{mode: on-demand, {table}}}}}
    traffic: [{{operation: {operation}, {more} rate: 100, item_size: 924 B, keys: {{uniform: 100000}}}}]
"""


def kept(table: str, operation: str = "PutItem", more: str = "") -> PlanOutcome:
    return outcome_of(KEPT.format(table=table, operation=operation, more=more), "fluid")


def test_items_that_expire_are_stored_for_their_time() -> None:
    """By hand: 100 items of 924 and 100 bytes a second for 30 days are 259.2 million KB, 247.2 GB, of which
    222.2 are paid: $55.55. Without expiry the run's hour is all that is there."""
    found = kept("ttl: 30d", more="effect: add,").costs.modes[0]
    assert found.storage_usd == pytest.approx(55.55, abs=0.01)
    assert kept("items: 1", more="effect: add,").costs.modes[0].storage_usd == 0


def test_replicas_backups_exports_and_readers_of_a_stream() -> None:
    """By hand: $164.25 of writes again in each of two Regions. 53.6 GB in 7 backups and 2 exports at $0.10
    each, and stored in both; two readers of 4 shards make 21 million requests a month at $0.02 for
    100,000."""
    plain = kept("items: 50000000, item_size: 1050 B").costs.modes[0]
    gb = 50_000_000 * 1150 / 2**30
    assert plain.other_usd == 0 and plain.write_usd == 164.25

    def other(more: str) -> float:
        return kept(f"items: 50000000, item_size: 1050 B, {more}").costs.modes[0].other_usd

    assert other("replicas: 2") == pytest.approx(2 * (164.25 + gb * 0.25), abs=0.01)
    assert other("backups: 7") == pytest.approx(7 * gb * 0.1, abs=0.01)
    assert other("exports: 2") == pytest.approx(2 * gb * 0.1, abs=0.01)
    partitions = kept("items: 50000000, item_size: 1050 B").resources[0].partition_count[-1]
    assert other("stream_readers: 2") == pytest.approx(2 * partitions * 2_628_000 * 0.02 / 100_000, abs=0.01)


def test_a_cache_costs_what_the_plan_says() -> None:
    found = kept("items: 1", "GetItem", "cache: {hits: 90%, monthly: 560},").costs
    assert {mode.other_usd for mode in found.modes} == {560}


def test_storage_that_is_most_of_the_cost_is_tried_in_the_other_class() -> None:
    plan = planned(KEPT.format(table="items: 500000000", operation="PutItem", more="").replace("100,", "1,") +
                   "    budgets: {monthly_cost: 80}")  # fmt: skip
    found = explored(plan, fluid(plan), fluid)
    assert "keep table T in the class infrequent-access; a month then costs" in found.headline.change


def test_prices_of_a_region_come_from_a_file() -> None:
    text = "duration: 1m\ntables: {T: {mode: on-demand}}\nprices: {file: eu.yaml, read_million: 9}\n"
    text += "traffic: [{operation: PutItem, rate: 1, keys: single}]\n"
    lines = [b"region: eu-central-1\n", b"write_million: 0.70\n", b"read_million: 1\n"]
    plan = load_plan(text, "plan.yaml", lines_of=lambda name: lines)
    assert (plan.prices.region, str(plan.prices.write_million), str(plan.prices.read_million)) == (
        "eu-central-1", "0.70", "9",
    )  # fmt: skip
    with pytest.raises(PlanError, match="no member 'write_milion' here"):
        load_plan(text, "plan.yaml", lines_of=lambda name: [b"write_milion: 1\n"])
    with pytest.raises(PlanError, match=r"prices.*'eu.yaml' cannot be read"):
        load_plan(text, "plan.yaml")
