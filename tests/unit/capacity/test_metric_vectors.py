"""Vectors V130 to V136 of capacity.md section 4.7: metrics and Contributor Insights."""

from __future__ import annotations

import pytest

from faradisc.capacity.admission import Charge, admit
from faradisc.capacity.config import MINUTE_NS, SECOND_NS, profile
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.capacity.throttle import Cause
from faradisc.metrics.contributor_insights import Insights
from faradisc.metrics.metric_catalog import METRICS
from faradisc.metrics.metric_store import RETENTION_MINUTES, MetricStore, Statistic, dimensions
from unit.capacity.worlds import START, TABLE, place, read, write


def world() -> ResourceRegistry:
    return ResourceRegistry(profile("aws"), START)


def total(registry: ResourceRegistry, name: str, **dims: str) -> float:
    points = registry.metrics.get(name, dimensions(**dims), START, START + 3600 * SECOND_NS, 3600)
    return points[0][1].sum if points else 0


def exhausted(registry: ResourceRegistry, index: str | None) -> object:
    arn = TABLE if index is None else f"{TABLE}/index/{index}"
    resource = registry.add("T", index, arn, START, read_units=1, write_units=1)
    for limiter in resource.limiters:
        assert limiter.table_bucket is not None
        limiter.table_bucket.set_balance(START, 0)
    return resource


def test_v130_a_put_over_three_indexes_all_out_of_units() -> None:
    """V130, S3, D: one throttled request, four write throttle events: the table's and each index's."""
    registry = world()
    resources = [exhausted(registry, index) for index in (None, "g1", "g2", "g3")]
    refused = admit([Charge(res.writes, place("k"), 2) for res in resources], START)  # type: ignore[attr-defined]
    assert refused is not None and refused.kind == "Table"
    registry.requests.operation("T", "PutItem").throttled += 1
    registry.advance(START + MINUTE_NS)
    assert total(registry, "ThrottledRequests", TableName="T", Operation="PutItem") == 1
    assert total(registry, "WriteThrottleEvents", TableName="T") == 1
    for index in ("g1", "g2", "g3"):
        assert total(registry, "WriteThrottleEvents", TableName="T", GlobalSecondaryIndexName=index) == 1
    assert total(registry, "WriteProvisionedThroughputThrottleEvents", TableName="T") == 1
    assert total(registry, "ConsumedWriteCapacityUnits", TableName="T") == 0


def test_v131_a_batch_of_which_a_part_was_throttled() -> None:
    """V131, D: ten keys, four throttled: four events. (No throttled request: tests/throughput.)"""
    registry = world()
    resource = registry.add("T", None, TABLE, START, read_units=6, write_units=1)
    assert resource.reads.table_bucket is not None
    resource.reads.table_bucket.set_balance(START, 6 * 10**9)
    outcomes = [read(resource, place(f"k{n}"), START) for n in range(10)]
    assert sum(outcome is not None for outcome in outcomes) == 4
    registry.advance(START + MINUTE_NS)
    assert total(registry, "ReadThrottleEvents", TableName="T") == 4


def test_v132_reads_of_an_index_are_not_the_tables() -> None:
    """V132, X: one 4 KB EC read a second for a minute: Sum 30 on the index, 0 on the table."""
    registry = world()
    registry.add("T", None, TABLE, START, read_units=10, write_units=10)
    index = registry.add("T", "g1", f"{TABLE}/index/g1", START, read_units=10, write_units=10)
    for second in range(60):
        assert read(index, place("k"), START + second * SECOND_NS, 1, eventual=True) is None
    registry.advance(START + MINUTE_NS)
    assert total(registry, "ConsumedReadCapacityUnits", TableName="T", GlobalSecondaryIndexName="g1") == 30
    assert total(registry, "ConsumedReadCapacityUnits", TableName="T") == 0
    ((_, zero),) = registry.metrics.get(
        "ConsumedReadCapacityUnits", dimensions(TableName="T"), START, START + MINUTE_NS, 60
    )
    assert (zero.sum, zero.count) == (0, 1), "published although nothing was consumed"


def test_v133_a_failed_condition() -> None:
    """V133, M1 (the part of the metrics): 1 failed condition, 5 units of a 4,097-byte item."""
    registry = world()
    resource = registry.add("T", None, TABLE, START, read_units=10, write_units=10)
    assert write(resource, place("k"), START, 5) is None
    registry.requests.conditions_failed["T"] += 1
    registry.advance(START + MINUTE_NS)
    assert total(registry, "ConditionalCheckFailedRequests", TableName="T") == 1
    assert total(registry, "ConsumedWriteCapacityUnits", TableName="T") == 5
    assert total(registry, "ConsumedWriteCapacityUnits", TableName="T", Source="Customer") == 5
    assert total(registry, "UserErrors") == 0


def test_v134_scores_of_keys_at_a_partitions_limit() -> None:
    """V134, D, S3: 1,000 WCU/s and 3,000 RCU/s for a minute score 180,000 each."""
    insights = Insights("T", 1, sort_key=False, mode="ACCESSED_AND_THROTTLED_KEYS")
    insights.accessed("writes", None, 2 * 1000 * 60, write=True)
    insights.accessed("reads", None, 2 * 3000 * 60, write=False)
    insights.end_minute(START)
    top = insights.top("PKC", START, START + 1)
    assert {entry.key: entry.score for entry in top} == {("writes",): 180_000, ("reads",): 180_000}


@pytest.mark.parametrize(("sort_key", "events"), [(False, 7), (True, 14)])
def test_v135_events(sort_key: bool, events: int) -> None:
    """V135, D: Get + Put + BatchWrite of 5."""
    insights = Insights("T", 1, sort_key=sort_key, mode="ACCESSED_AND_THROTTLED_KEYS")
    for request in range(7):
        insights.accessed("k", f"s{request}" if sort_key else None, 2, write=request > 0)
    assert insights.events == events


def test_v136_throttled_keys_only() -> None:
    """V136, D: the accessed rules are absent."""
    insights = Insights("T", 1700, sort_key=True, mode="THROTTLED_KEYS")
    assert insights.rule_names() == [
        "DynamoDBContributorInsights-PKT-T-1700",
        "DynamoDBContributorInsights-SKT-T-1700",
    ]
    insights.accessed("k", "s", 2, write=True)
    insights.throttled("k", "s")
    insights.end_minute(START)
    assert insights.top("PKC", START, START + 1) == []
    assert [(entry.key, entry.score) for entry in insights.top("SKT", START, START + 1)] == [(("k", "s"), 1)]
    assert Insights.from_json(insights.to_json()).rule_names() == insights.rule_names()


def test_every_published_metric_is_in_the_catalog() -> None:
    """Names and dimension sets are those of metrics.md."""
    registry = world()
    exhausted(registry, None)
    resource = registry.add("U", "g", f"{TABLE}/index/g", START, on_demand=True, max_read=5, max_write=5)
    read(resource, place("k"), START)
    for operation in ("Query", "PutItem"):
        meter = registry.requests.operation("T", operation)
        meter.succeeded(5_000_000)
        meter.returned[3] += 1
        meter.throttled += 1
        meter.system_errors += 1
    registry.requests.operation("T", "ExecuteStatement", (("Verb", "PartiQLSelect"),)).throttled += 1
    registry.requests.expired["T"] += 3
    registry.requests.conflicts["T"].append(2)
    registry.requests.user_errors += 1
    registry.advance(START + 6 * MINUTE_NS)
    published = registry.metrics.list()
    assert len(published) > 25
    for name, which in published:
        sets = [sorted(names) for names in METRICS[name].dimensions]
        assert sorted(dimension for dimension, _ in which) in sets, name
    for cause in (each.metric for each in Cause):
        assert f"Read{cause}" in METRICS and f"Write{cause}" in METRICS


def test_statistics_of_a_period() -> None:
    store = MetricStore()
    for minute, value in ((0, 1.0), (1, 3.0), (5, 10.0)):
        store.add(
            "ConsumedReadCapacityUnits", dimensions(TableName="T"), START + minute * MINUTE_NS, value, 2
        )
    points = store.get(
        "ConsumedReadCapacityUnits", dimensions(TableName="T"), START, START + 10 * MINUTE_NS, 300
    )
    assert [at - START for at, _ in points] == [0, 5 * MINUTE_NS]
    first = points[0][1]
    names = ("Sum", "SampleCount", "Average", "Minimum", "Maximum")
    assert [first.get(name) for name in names] == [8, 4, 2, 1, 3]
    with pytest.raises(ValueError, match="no statistic"):
        first.get("Median")


def test_latency_percentiles() -> None:
    registry = world()
    meter = registry.requests.operation("T", "GetItem")
    for millisecond in range(1, 101):
        meter.succeeded(millisecond * 1_000_000)
    registry.advance(START + MINUTE_NS)
    which = dimensions(TableName="T", Operation="GetItem")
    ((_, found),) = registry.metrics.get("SuccessfulRequestLatency", which, START, START + MINUTE_NS, 60)
    assert found.get("p50") == pytest.approx(50, rel=0.04)
    assert found.get("p99.9") == pytest.approx(100, rel=0.04)
    assert found.count == 100


def test_percentiles_of_nothing() -> None:
    assert Statistic(values={}).percentile(50) == 0


def test_list_by_dimension() -> None:
    store = MetricStore()
    for table in ("A", "B"):
        store.add("UserErrors", dimensions(TableName=table), START, 1)
    assert store.list("UserErrors", [("TableName", "A")]) == [("UserErrors", (("TableName", "A"),))]
    assert len(store.list(None, [("TableName", None)])) == 2
    assert store.list("Other") == []


def test_metrics_of_deleted_table_expire_with_their_last_point() -> None:
    """Whatever was created and deleted meanwhile: a store knows a day of those that are gone."""
    registry = world()
    registry.add("Kept", None, TABLE, START, read_units=5, write_units=5)
    day_ns = RETENTION_MINUTES * MINUTE_NS
    for n in range(50):
        registry.add(f"T{n}", None, TABLE + str(n), START, read_units=5, write_units=5)
        registry.add(f"T{n}", "g", TABLE + str(n), START, read_units=5, write_units=5)
    registry.requests.operation("T1", "GetItem").succeeded(1)
    registry.advance(START + MINUTE_NS)
    registry.add("Kept", "old", TABLE + "old", START, read_units=5, write_units=5)
    registry.advance(START + 6 * MINUTE_NS)
    for n in range(50):
        registry.remove(f"T{n}")
    registry.remove("Kept", "old")
    before = len(registry.metrics.list())
    registry.advance(START + day_ns - 60 * MINUTE_NS)
    assert len(registry.metrics.list()) == before
    registry.advance(START + day_ns + 70 * MINUTE_NS)
    left = registry.metrics.list()
    assert {dict(which).get("TableName") for _, which in left} == {"Kept", None}
    assert all("GlobalSecondaryIndexName" not in dict(which) for _, which in left)
    assert len(left) < before


def test_an_account_survives_a_restart() -> None:
    registry = world()
    table = registry.add("T", None, TABLE, START, read_units=5000, write_units=2000)
    table.set_provisioned(8000, 2000, START)
    table.partitions.partitions[0].bytes = 77
    again = world()
    revived = again.add("T", None, TABLE, START, read_units=8000, write_units=2000, stored=table.to_json())
    assert revived.to_json() == table.to_json()
    for one in (table, revived):
        one.advance(START + 10 * MINUTE_NS)
    assert len(revived.partitions) == 8
    assert [p.id for p in revived.partitions.partitions] == [p.id for p in table.partitions.partitions]


def test_due_is_never_missed() -> None:
    """A split that becomes ready between two steps is finished by the first advance behind it."""
    registry = world()
    resource = registry.add("T", None, TABLE, START, read_units=3000, write_units=1)
    resource.set_provisioned(9000, 1, START + 3 * SECOND_NS)
    registry.changed(resource)
    now = START
    while len(resource.partitions) == 2:
        now = registry.due
        registry.advance(now)
    assert now == START + 63 * SECOND_NS


def test_an_idle_table_takes_no_memory_for_its_zeros() -> None:
    """metrics.md: consumption is published as zero, too; here the zeros are not stored."""
    registry = world()
    resource = registry.add("T", None, TABLE, START, read_units=1, write_units=1)
    assert read(resource, place("k"), START) is None
    now = START
    while now < START + 2 * 3600 * SECOND_NS:
        now += 600 * SECOND_NS
        registry.advance(now)
    which = dimensions(TableName="T")
    minutes = registry.metrics.get("ConsumedReadCapacityUnits", which, START, now - MINUTE_NS, 60)
    assert [statistic.sum for _, statistic in minutes][:3] == [1, 0, 0]
    assert all(statistic.count == 1 for _, statistic in minutes)
    assert len(minutes) == 119
    hours = registry.metrics.get("ConsumedReadCapacityUnits", which, START, now, 3600)
    assert [statistic.count for _, statistic in hours] == [60, 60]
    assert len(registry.metrics.series["ConsumedReadCapacityUnits", which].points) == 1
