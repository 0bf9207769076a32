"""Each rule finds what it is for, and leaves alone what only resembles it."""

from __future__ import annotations

import time
import zlib
from dataclasses import replace

import pytest
from boto3.dynamodb.conditions import Key

from faradisc.capacity.config import Direction
from faradisc.local import LocalDatabase
from faradisc.tools.advisor.definitions import Definition, IndexDefinition, of_document
from faradisc.tools.advisor.findings import LEVELS, Finding
from faradisc.tools.advisor.report import as_text, to_json
from faradisc.tools.advisor.rules import RULES, advise
from faradisc.tools.advisor.traffic import (
    Followers,
    KeyLoad,
    ObservedDemand,
    PagesOfIndex,
    Scans,
    TableTraffic,
    Traffic,
    TrafficSeries,
    Updates,
)
from faradisc.tools.planner.results.hot_keys import shards

KB = 1024
GIB = 1 << 30
BY_USER = IndexDefinition("by-user", keys=("user", "day"), projection="ALL")
ORDERS = Definition("Orders", keys=("pk", "sk"), indexes=(BY_USER,))
PROVISIONED = replace(
    ORDERS,
    on_demand=False,
    read_units=100,
    write_units=100,
    indexes=(replace(BY_USER, read_units=50, write_units=10),),
)


def traffic(table: TableTraffic, *, duration_s: int = 3600, times: int = 1) -> Traffic:
    return Traffic("test", duration_s, {table.definition.name: table}, times)


def found(table: TableTraffic, rule: str, *, duration_s: int = 3600, times: int = 1) -> list[Finding]:
    """Returns the findings of one rule, all of which can be shown."""
    summary = traffic(table, duration_s=duration_s, times=times)
    findings = advise(summary)
    assert len(to_json(summary, findings)["findings"]) == len(findings)
    text = as_text(summary, findings)
    for finding in findings:
        assert finding.title in text
        compile(finding.code, finding.rule, "exec")
    return [finding for finding in findings if finding.rule == rule]


def demands(**half_units: int) -> dict[tuple[str | None, Direction], ObservedDemand]:
    """Returns demands of Orders: `table_W=200` costs 100 write units, by as many requests."""
    made: dict[tuple[str | None, Direction], ObservedDemand] = {}
    for name, half in half_units.items():
        where, _, way = name.partition("_")
        index = "by-user" if where == "index" else None
        made[index, "W" if way == "W" else "R"] = ObservedDemand(half // 2, half)
    return made


# --- Scans ----------------------------------------------------------------------------------------


def test_writes_that_are_repeated_unsafely_are_named() -> None:
    table = TableTraffic(
        ORDERS, repeats=[("UpdateItem", "applied twice", 3), ("PutItem", "undoes later writes", 1)]
    )
    twice, undone = found(table, "unsafe-repeat")
    assert (twice.level, undone.level) == ("high", "medium")
    assert "3 UpdateItems of Orders" in twice.evidence and "1 PutItem of Orders" in undone.evidence
    assert found(TableTraffic(ORDERS), "unsafe-repeat") == []


def test_repeated_scans_are_found_with_their_cost() -> None:
    table = TableTraffic(ORDERS, demands(table_R=4000))
    table.scans[None] = Scans(pages=60, half_units=2000, runs=30)
    (finding,) = found(table, "scan")
    assert finding.level == "high" and "30 times" in finding.evidence and "50 %" in finding.evidence
    # 1,000 units in an hour are 730,000 in a month, at $0.125 a million.
    assert (finding.effect.read_units, finding.effect.usd) == (730_000, 0.09)


def test_one_scan_of_a_large_table_is_left_alone() -> None:
    table = TableTraffic(ORDERS, demands(table_R=4000))
    table.scans[None] = Scans(pages=4000, half_units=4000, runs=1)
    assert found(table, "scan") == []


def test_scans_with_a_small_part_of_the_reads_are_less_important() -> None:
    table = TableTraffic(ORDERS, demands(table_R=4000))
    table.scans[None] = Scans(pages=30, half_units=30, runs=30)
    assert [finding.level for finding in found(table, "scan")] == ["medium"]


def test_scans_known_only_by_their_number_are_found_without_cost() -> None:
    table = TableTraffic(ORDERS, demands(table_R=4000))
    table.scans[None] = Scans(pages=30, half_units=None, runs=None)
    (finding,) = found(table, "scan")
    assert finding.effect.usd is None


# --- Hot keys -------------------------------------------------------------------------------------


def with_key(
    peak: float, *, share: float = 50, requests: int = 1000, direction: Direction = "W"
) -> TableTraffic:
    limit = 1000 if direction == "W" else 3000
    keys = (KeyLoad("2026-11-02", share, peak, limit),)
    return TableTraffic(ORDERS, {(None, direction): ObservedDemand(requests, 2 * requests, keys=keys)})


def test_key_beyond_a_partition_needs_shards() -> None:
    (finding,) = found(with_key(2500), "hot-key")
    assert finding.level == "high" and "needs 45 shards" in finding.title and "SHARDS = 45" in finding.code
    assert "2,500 WCU/s / 1,000 per partition = 2.50" in finding.evidence


def test_key_near_the_limit_is_found() -> None:
    assert [finding.level for finding in found(with_key(850), "hot-key")] == ["medium"]


@pytest.mark.parametrize("peak", [850, 300])
def test_throttled_key_is_important_whatever_it_consumed(peak: float) -> None:
    table = with_key(peak)
    demand = table.demand(None, "W")
    demand.keys = tuple(replace(key, throttled=2400) for key in demand.keys)
    (finding,) = found(table, "hot-key")
    assert finding.level == "high"
    assert "is throttled" in finding.title
    assert f"SHARDS = {max(shards(2 * peak, 1000, 4), 2)}" in finding.code


def test_code_against_scans_names_the_indexes_that_exist_and_invents_no_attribute() -> None:
    table = TableTraffic(ORDERS, demands(table_R=10_000))
    table.scans[None] = Scans(pages=60, half_units=2000, runs=30)
    (finding,) = found(table, "scan")
    assert "by-user (user, day)" in finding.code
    assert 'ATTRIBUTE, VALUE = "...", "..."' in finding.code


def test_key_with_most_of_the_traffic_limits_the_table() -> None:
    (finding,) = found(with_key(3, share=50), "hot-key")
    assert finding.level == "low" and "at most 2,000 WCU/s" in finding.evidence


@pytest.mark.parametrize(("share", "requests"), [(5, 1000), (90, 20)])
def test_light_keys_and_few_requests_are_left_alone(share: float, requests: int) -> None:
    assert found(with_key(3, share=share, requests=requests), "hot-key") == []


def test_load_times_ten_makes_a_key_hot() -> None:
    assert found(with_key(200, share=5), "hot-key") == []
    (finding,) = found(with_key(200, share=5), "hot-key", times=10)
    assert f"needs {shards(2000, 1000, 4)} shards" in finding.title


def test_hot_reads_are_cached() -> None:
    (finding,) = found(with_key(4000, direction="R"), "hot-key")
    assert "TTLCache" in finding.code and "RCU/s" in finding.evidence


# --- Indexes --------------------------------------------------------------------------------------


def test_index_that_throttles_its_table_is_found() -> None:
    table = TableTraffic(PROVISIONED, demands(table_W=2000, index_W=2000, index_R=2))
    table.demands["by-user", "W"].peak_half = 100
    table.demands["by-user", "W"].throttled = 7
    (finding,) = found(table, "index-throughput")
    assert finding.level == "high" and "7 writes" in finding.evidence
    assert '"WriteCapacityUnits": 50' in finding.code
    # 40 more units for 730 hours at $0.00065.
    assert finding.effect.usd == -18.98


def test_index_with_less_than_its_busiest_second_is_found() -> None:
    table = TableTraffic(PROVISIONED, demands(table_W=2000, index_W=2000, index_R=2))
    table.demands["by-user", "W"].peak_half = 100
    assert [finding.level for finding in found(table, "index-throughput")] == ["medium"]


def test_burst_capacity_counts_as_it_does_in_a_plan() -> None:
    """By hand: 290 units in one second, 2,520 in its minute, which 300 s of saved units and its own 60 s
    serve from 7 a second on (7 x 360 = 2,520); ten such minutes on end from 28 (28 x 900 = 25,200)."""
    demand = ObservedDemand(2520, 5040, 580, {5: 5040})
    assert demand.over(3600, 1).needed_units() == 7
    assert demand.over(3600, 2).needed_units() == 14
    steadily = ObservedDemand(25200, 50400, 580, dict.fromkeys(range(10), 5040))
    assert steadily.over(3600, 1).needed_units() == 28
    # Without an end they need their mean: 25,200 units in 600 s.
    assert steadily.over(600, 1).needed_units() == 42
    table = TableTraffic(PROVISIONED, demands(table_W=2000, index_R=2))
    table.demands["by-user", "W"] = demand
    assert found(table, "index-throughput") == []
    (finding,) = found(table, "index-throughput", times=2)
    assert "needs 14 a second beside burst capacity and has 10" in finding.evidence


def test_index_to_delete_is_not_raised_as_well() -> None:
    table = TableTraffic(PROVISIONED, demands(table_W=2000, index_W=2000))
    table.demands["by-user", "W"].peak_half = 100
    assert found(table, "index-throughput") == [] and len(found(table, "unread-index")) == 1


def test_index_with_enough_units_is_left_alone() -> None:
    table = TableTraffic(PROVISIONED, demands(table_W=2000, index_W=2000))
    table.demands["by-user", "W"].peak_half = 20
    assert found(table, "index-throughput") == []


def test_index_that_nothing_reads_is_found() -> None:
    (finding,) = found(TableTraffic(ORDERS, demands(table_W=400, index_W=400)), "unread-index")
    assert finding.index == "by-user" and (finding.effect.write_units, finding.effect.usd) == (146_000, 0.09)


def test_provisioned_index_that_nothing_reads_saves_all_its_units() -> None:
    (finding,) = found(TableTraffic(PROVISIONED, demands(table_W=400, index_W=400)), "unread-index")
    # 730 hours of 50 read units at $0.00013 and of 10 write units at $0.00065.
    assert finding.effect.usd == 9.49


def test_index_that_is_read_once_or_hardly_written_is_left_alone() -> None:
    assert found(TableTraffic(ORDERS, demands(index_W=400, index_R=2)), "unread-index") == []
    assert found(TableTraffic(ORDERS, demands(index_W=10)), "unread-index") == []


def test_local_index_is_left_alone() -> None:
    local = replace(ORDERS, indexes=(replace(BY_USER, is_global=False),))
    assert found(TableTraffic(local, demands(index_W=400)), "unread-index") == []


def test_projection_of_which_a_part_is_read_is_found() -> None:
    table = TableTraffic(ORDERS, demands(index_W=4000, index_R=400))
    table.demands["by-user", "W"].requests = 500
    table.pages["by-user"] = PagesOfIndex(20, 0, {"pk", "user", "total"})
    (finding,) = found(table, "projection")
    assert finding.level == "medium" and "only for total" in finding.evidence
    assert '{"ProjectionType": "INCLUDE", "NonKeyAttributes": [\'total\']}' in finding.code
    assert finding.effect.write_units == 1500 * 730


@pytest.mark.parametrize(("pages", "whole"), [(20, 1), (3, 0)])
def test_projection_that_is_read_as_a_whole_or_seldom_is_left_alone(pages: int, whole: int) -> None:
    table = TableTraffic(ORDERS, demands(index_W=4000, index_R=400))
    table.pages["by-user"] = PagesOfIndex(pages, whole, {"total"})
    assert found(table, "projection") == []


def test_projection_of_everything_is_noted_where_no_traffic_shows_its_need() -> None:
    (finding,) = found(TableTraffic(ORDERS), "projection")
    assert (finding.level, finding.index) == ("low", "by-user") and "no traffic" in finding.title
    # Metrics tell of requests, not of what they asked for: then nothing is known.
    assert found(TableTraffic(ORDERS, demands(table_W=200)), "projection") == []


def test_projection_of_keys_is_left_alone() -> None:
    small = replace(ORDERS, indexes=(replace(BY_USER, projection="KEYS_ONLY"),))
    table = TableTraffic(small, demands(index_W=4000, index_R=400))
    table.pages["by-user"] = PagesOfIndex(20, 0, {"pk"})
    assert found(table, "projection") == []


# --- Items ----------------------------------------------------------------------------------------


def test_items_near_the_largest_size_are_found() -> None:
    (finding,) = found(TableTraffic(ORDERS, large_items={"a": 330 * KB, "b": 390 * KB}), "large-item")
    assert finding.level == "high" and "2 keys" in finding.evidence and "390 KB" in finding.evidence


def test_tables_without_large_items_are_left_alone() -> None:
    assert found(TableTraffic(ORDERS), "large-item") == []


def test_small_changes_of_large_items_are_found() -> None:
    updates = Updates(count=100, half_units=100 * 2 * 20, item_bytes=100 * 20 * KB, changed_bytes=100 * 50)
    (finding,) = found(TableTraffic(ORDERS, updates=updates), "cold-data")
    assert finding.effect.write_units == 19 * 100 * 730


@pytest.mark.parametrize(("count", "changed"), [(100, 10 * KB), (5, 50)])
def test_large_changes_and_few_writes_are_left_alone(count: int, changed: int) -> None:
    updates = Updates(count, count * 40, count * 20 * KB, count * changed)
    assert found(TableTraffic(ORDERS, updates=updates), "cold-data") == []


# --- Requests -------------------------------------------------------------------------------------


def followed(*sizes: int) -> TableTraffic:
    followers = Followers("Orders/by-user", "GetItem", None, TrafficSeries(), half_units=sum(sizes))
    for size in sizes:
        followers.sizes.add(size)
    return TableTraffic(ORDERS, followers=[followers])


def test_request_for_each_item_of_a_query_is_found() -> None:
    (finding,) = found(followed(25, 25, 25, 25, 20, 25), "many-requests")
    assert "6 Queries of Orders/by-user" in finding.evidence and "25 requests" in finding.title


@pytest.mark.parametrize("sizes", [(1, 90, 3, 2, 40, 1), (2, 2, 2, 2, 2, 2), (25, 25)])
def test_independent_requests_and_few_of_them_are_left_alone(sizes: tuple[int, ...]) -> None:
    assert found(followed(*sizes), "many-requests") == []


# --- Settings -------------------------------------------------------------------------------------


def test_missing_recovery_is_found_with_its_cost() -> None:
    (finding,) = found(TableTraffic(replace(ORDERS, recovery=False, size_bytes=50 * GIB)), "recovery")
    assert finding.effect.usd == -10.0


@pytest.mark.parametrize("recovery", [True, None])
def test_tables_with_recovery_and_without_knowledge_are_left_alone(recovery: bool | None) -> None:
    assert found(TableTraffic(replace(ORDERS, recovery=recovery)), "recovery") == []


def test_growing_table_without_expiry_is_found() -> None:
    table = TableTraffic(replace(ORDERS, expiry=False), added=1000, added_bytes=1_000_000)
    (finding,) = found(table, "time-to-live")
    assert finding.level == "low" and "1,000 items" in finding.evidence


@pytest.mark.parametrize(
    ("expiry", "added", "deletes"),
    [(True, 1000, 0), (False, 1000, 1), (False, 3, 0), (None, 1000, 0), (False, None, 0)],
)
def test_tables_that_shrink_or_hardly_grow_are_left_alone(
    expiry: bool | None, added: int | None, deletes: int
) -> None:
    table = TableTraffic(replace(ORDERS, expiry=expiry), added=added, deletes=deletes)
    assert found(table, "time-to-live") == []


def steady(definition: Definition, half_units_a_minute: int, minutes: int = 120) -> TableTraffic:
    def demand() -> ObservedDemand:
        whole = half_units_a_minute * minutes
        return ObservedDemand(whole // 2, whole, minutes=dict.fromkeys(range(minutes), half_units_a_minute))

    bare = replace(definition, indexes=())
    return TableTraffic(bare, {(None, "R"): demand(), (None, "W"): demand()})


def test_steady_traffic_costs_less_provisioned() -> None:
    (finding,) = found(steady(ORDERS, 12_000), "capacity-mode", duration_s=7200)
    assert "provisioned with auto scaling" in finding.title and (finding.effect.usd or 0) > 100


def test_idle_provisioned_table_costs_less_on_demand() -> None:
    (finding,) = found(steady(PROVISIONED, 20), "capacity-mode", duration_s=7200)
    assert "PAY_PER_REQUEST" in finding.code


def test_busy_provisioned_table_and_short_traffic_are_left_alone() -> None:
    assert found(steady(PROVISIONED, 8_000), "capacity-mode", duration_s=7200) == []
    assert found(steady(PROVISIONED, 20, 10), "capacity-mode", duration_s=600) == []


def test_bursts_that_auto_scaling_would_throttle_stay_on_demand() -> None:
    table = steady(ORDERS, 0)
    for demand in table.demands.values():
        demand.minutes = dict.fromkeys(range(0, 120, 20), 600_000)
        demand.half_units, demand.requests = sum(demand.minutes.values()), 1
    assert found(table, "capacity-mode", duration_s=7200) == []


# --- The code -------------------------------------------------------------------------------------


def test_code_of_findings_runs_against_a_table() -> None:
    units = {"ReadCapacityUnits": 100, "WriteCapacityUnits": 100}
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    index = [{"AttributeName": "user", "KeyType": "HASH"}, {"AttributeName": "day", "KeyType": "RANGE"}]
    names = ("pk", "sk", "user", "day")
    definition = replace(PROVISIONED, recovery=False, expiry=False)
    table = TableTraffic(definition, demands(table_W=4000, index_W=4000), added=1000)
    table.demands["by-user", "W"].peak_half = 100
    table.demands[None, "W"].keys = (KeyLoad("hot", 90, 1500, 1000),)
    table.pages["by-user"] = PagesOfIndex(20, 0, {"total"})
    findings = advise(traffic(table))
    table.demands["by-user", "R"] = ObservedDemand(1, 2)
    findings += [each for each in advise(traffic(table)) if each.rule == "index-throughput"]
    with LocalDatabase() as database:
        client = database.client()
        client.create_table(
            TableName="Orders",
            KeySchema=keys,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
            ProvisionedThroughput=units,
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-user",
                    "KeySchema": index,
                    "Projection": {"ProjectionType": "ALL"},
                    "ProvisionedThroughput": {**units, "WriteCapacityUnits": 10},
                }
            ],
        )
        item = {"pk": "hot", "sk": "1", "id": "o1", "user": "u", "day": "2026-11-02"}
        made = {"client": client, "table": database.resource().Table("Orders"), "item": item, "key": "hot"}
        ran = []
        order = {"capacity-mode": 1, "unread-index": 2}  # what the others need goes last
        for finding in sorted(findings, key=lambda each: order.get(each.rule, 0)):
            client.get_waiter("table_exists").wait(TableName="Orders", WaiterConfig={"Delay": 1})
            exec(finding.code, {**made, "Key": Key, "time": time, "zlib": zlib})
            ran.append(finding.rule)
        assert ran == [
            *("hot-key", "recovery", "projection", "time-to-live", "index-throughput"),
            *("capacity-mode", "unread-index"),
        ]
        backups = client.describe_continuous_backups(TableName="Orders")["ContinuousBackupsDescription"]
        assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
        described = client.describe_table(TableName="Orders")["Table"]
        left = {each["IndexName"]: each["IndexStatus"] for each in described["GlobalSecondaryIndexes"]}
        assert "by-user-2" in left and left.get("by-user", "DELETING") == "DELETING"


# --- The whole ------------------------------------------------------------------------------------


def test_findings_are_ordered_by_level_and_rules_have_different_names() -> None:
    table = with_key(2500)
    table.definition = replace(ORDERS, recovery=False, expiry=False)
    table.added = 1000
    levels = [LEVELS.index(finding.level) for finding in advise(traffic(table))]
    assert levels == sorted(levels, reverse=True) and len(set(levels)) == 3
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_table_without_traffic_gives_no_finding_of_importance() -> None:
    assert [(each.rule, each.level) for each in advise(traffic(TableTraffic(ORDERS)))] == [
        ("projection", "low")
    ]


def test_definitions_are_read_from_requests_and_descriptions() -> None:
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}]
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    index = {"IndexName": "by-day", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
    request = {"TableName": "Logs", "KeySchema": keys, "ProvisionedThroughput": units}
    provisioned = of_document(
        {**request, "GlobalSecondaryIndexes": [{**index, "ProvisionedThroughput": units}]}
    )
    assert (provisioned.on_demand, provisioned.write_units, provisioned.indexes[0].read_units) == (
        False,
        6,
        5,
    )
    described = {
        **request,
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "LocalSecondaryIndexes": [index],
        "ItemCount": 3,
        "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
    }
    on_demand = of_document(described, recovery=True)
    assert on_demand.on_demand and on_demand.infrequent and on_demand.recovery and on_demand.items == 3
    assert not on_demand.indexes[0].is_global
