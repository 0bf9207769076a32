"""GetRecords and the building of an index in the metrics, as metrics.md has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from faradisc.capacity.config import MINUTE_NS
from faradisc.engine.tables.tables import Tables
from faradisc.metrics.metric_store import Statistic
from faradisc.server.exposition import exposition
from faradisc.server.load import Load

World = Any


def points(world: World, name: str, **dimensions: str) -> list[Statistic]:
    """The minutes of a series so far."""
    ((_, registry),) = world.database.accounts()
    which = tuple(sorted(dimensions.items()))
    return [
        each for _, each in registry.metrics.get(name, which, 0, world.clock.now_ns() + MINUTE_NS, 86_400_000)
    ]


def test_records_of_a_stream_are_counted_with_its_label(world: World) -> None:
    view = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    world.create(StreamSpecification=view)
    for n in range(5):
        world.client.put_item(TableName="Orders", Item={"p": {"S": str(n)}})
    streams = world.database.client("dynamodbstreams")
    (stream,) = streams.list_streams(TableName="Orders")["Streams"]
    reads, sizes = 0, []
    for shard in streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=stream["StreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        records = streams.get_records(ShardIterator=iterator)["Records"]
        reads += 1
        sizes.append(sum(record["dynamodb"]["SizeBytes"] for record in records))
    world.clock.advance(60)
    world.client.list_tables()
    which = {"TableName": "Orders", "Operation": "GetRecords", "StreamLabel": stream["StreamLabel"]}
    (records,) = points(world, "ReturnedRecordsCount", **which)
    assert (records.sum, records.count) == (5, reads)
    (size,) = points(world, "ReturnedBytes", **which)
    assert (size.sum, size.maximum) == (sum(sizes), max(sizes))
    (latency,) = points(world, "SuccessfulRequestLatency", **which)
    assert latency.count == reads
    assert points(world, "SuccessfulRequestLatency", TableName="Orders", Operation="GetRecords") == []


def test_a_build_of_an_index_has_metrics_of_its_own(world: World) -> None:
    """S-075: the index's consumption does not have it, and nothing is charged."""
    world.create(units=(300, 300))
    for n in range(450):
        item = {"p": {"S": f"{n:03}"}, "g": {"S": "x"}, "v": {"S": "x" * (2_000 if n < 50 else 1)}}
        world.client.put_item(TableName="Orders", Item=item)
    index = {
        "IndexName": "by-g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    }
    world.client.update_table(
        TableName="Orders",
        AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    for _ in range(20):
        world.clock.advance(1)
        world.client.describe_table(TableName="Orders")
    which = {"TableName": "Orders", "GlobalSecondaryIndexName": "by-g"}
    (written,) = points(world, "OnlineIndexConsumedWriteCapacity", **which)
    assert written.sum == 400 + 50 * 2
    (progress,) = points(world, "OnlineIndexPercentageProgress", **which)
    assert (progress.maximum, 0 < progress.minimum < 100) == (100, True)
    (throttles,) = points(world, "OnlineIndexThrottleEvents", **which)
    assert throttles.sum == 0
    assert world.metric("ConsumedWriteCapacityUnits", **which)[0] == 0
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] == 500
    parts = world.see(index="by-g")["partitions"]
    assert (sum(part["items"] for part in parts), len(parts)) == (450, 1)


def test_writes_that_an_index_throttles_while_it_is_filled_are_counted_apart(
    world: World, refused: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documented: throttle events while an index is added. The minute in which the index becomes ACTIVE has
    both kinds."""
    world.create(units=(300, 300))
    index = {
        "IndexName": "by-g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    }
    world.client.update_table(
        TableName="Orders",
        AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    row = {"p": {"S": "a"}, "g": {"S": "x"}}

    def throttle(times: int) -> None:
        world.set(index="by-g", balance={"write": 0})
        for _ in range(times):
            refused(world.client.put_item, TableName="Orders", Item=row)

    with monkeypatch.context() as waiting:
        waiting.setattr(Tables, "filling", lambda *_: [])
        throttle(3)
    for _ in range(20):
        world.clock.advance(1)
        (described,) = world.client.describe_table(TableName="Orders")["Table"]["GlobalSecondaryIndexes"]
    assert described["IndexStatus"] == "ACTIVE"
    throttle(2)
    which = {"TableName": "Orders", "GlobalSecondaryIndexName": "by-g"}
    assert world.metric("WriteThrottleEvents", **which) == (2, 2)
    assert world.metric("WriteProvisionedThroughputThrottleEvents", **which)[0] == 2
    assert world.metric("OnlineIndexThrottleEvents", **which)[0] == 3


def test_prometheus_gets_one_histogram_per_table_and_operation(
    world: World, refused: Callable[..., dict[str, Any]]
) -> None:
    """A throttled statement is counted under its verb as well: still one series of latencies."""
    world.create()
    statement = "SELECT * FROM Orders WHERE p = 'a'"
    world.client.execute_statement(Statement=statement)
    world.set(balance={"read": 0})
    refused(world.client.execute_statement, Statement=statement)
    text = exposition(world.database.accounts(), Load()).decode()
    (latency,) = [
        family
        for family in text_string_to_metric_families(text)
        if family.name == "faradisc_request_latency_seconds"
    ]
    counts = [sample for sample in latency.samples if sample.name.endswith("_count")]
    labels = [(sample.labels["operation"], sample.value) for sample in counts]
    assert labels == [("ExecuteStatement", 1)]


def test_a_request_for_several_tables_is_counted_with_each(world: World) -> None:
    asked = {world.create(name): {"Keys": [{"p": {"S": "a"}}, {"p": {"S": "b"}}]} for name in ("One", "Two")}
    for _ in range(3):
        world.client.batch_get_item(RequestItems=asked)
    world.client.get_item(TableName="One", Key={"p": {"S": "a"}})
    world.clock.advance(60)
    world.client.list_tables()
    for name in asked:
        (latency,) = points(world, "SuccessfulRequestLatency", TableName=name, Operation="BatchGetItem")
        assert latency.count == 3
    assert points(world, "SuccessfulRequestLatency", TableName="Two", Operation="GetItem") == []
