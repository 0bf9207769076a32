"""Eventually consistent reads that are late (docs/guide/late-reads-and-faults.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.services.administration.throughput import AdminError
from fixtures.in_process import InProcess
from fixtures.late_world import World
from fixtures.schemas import item, schema

KEY = item(p="a")


@pytest.fixture
def made(bugs_surface: None, clock: ManualClock) -> Callable[..., InProcess]:
    def made(**settings: Any) -> InProcess:
        process = InProcess(clock=clock, **{"eventual_lag_ms": 1000, **settings})
        process.call("CreateTable", TableName="things", **schema("p:S", gsi={"by-g": ("g:S", "", "ALL")}))
        return process

    return made


def seen(process: InProcess, key: dict[str, Any] = KEY, table: str = "things", **more: Any) -> Any:
    """The number of an item, None where there is none."""
    found = process.call("GetItem", TableName=table, Key=key, **more).get("Item", {})
    return found.get("n", {}).get("N")


def put(process: InProcess, number: int, table: str = "things") -> None:
    process.call("PutItem", TableName=table, Item=item(p="a", g="g", n=number))


@pytest.mark.usefixtures("bugs_surface")
def test_reads_are_of_states_of_the_last_second(engine: str) -> None:
    """On several nodes a page can have the newer rows of other nodes; each row is of the last second."""
    world = World(5, whole=engine == "memory")
    for _ in range(120):
        world.chance.choice((world.write, world.read, world.read, world.wait))()
    assert world.late
    world.process.close()


def test_a_write_is_seen_after_the_lag_at_the_latest(
    made: Callable[..., InProcess], clock: ManualClock, engine: str
) -> None:
    process = made()
    put(process, 1)
    if engine == "memory":
        assert [seen(process) for _ in range(5)] == [None] * 5
    assert seen(process, ConsistentRead=True) == "1"
    clock.advance(1)
    assert [seen(process) for _ in range(5)] == ["1"] * 5
    put(process, 2)
    clock.advance(0.5)
    assert {seen(process) for _ in range(40)} <= {"1", "2"}
    process.close()


def test_reads_within_the_lag_see_now_this_and_now_that(
    made: Callable[..., InProcess], clock: ManualClock, engine: str
) -> None:
    process = made()
    put(process, 1)
    clock.advance(0.5)
    wanted = {None, "1"}
    assert {seen(process) for _ in range(40)} == wanted
    process.close()


def test_a_lag_of_one_table_is_not_another_s(made: Callable[..., InProcess]) -> None:
    process = made(eventual_lag_ms=0, eventual_lag_tables="other=1000")
    process.call("CreateTable", TableName="other", **schema("p:S"))
    put(process, 1)
    assert seen(process) == "1"
    put(process, 1, "other")
    assert {seen(process, table="other") for _ in range(20)} in ({None}, {None, "1"})
    process.close()


def test_transactions_and_returned_values_are_of_the_present(made: Callable[..., InProcess]) -> None:
    process = made()
    put(process, 1)
    updated = process.call(
        "UpdateItem",
        TableName="things",
        Key=KEY,
        UpdateExpression="ADD n :one",
        ConditionExpression="n = :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="ALL_NEW",
    )
    assert updated["Attributes"]["n"] == {"N": "2"}
    (read,) = process.call("TransactGetItems", TransactItems=[{"Get": {"TableName": "things", "Key": KEY}}])[
        "Responses"
    ]
    assert read["Item"]["n"] == {"N": "2"}
    process.close()


def test_a_restart_forgets_the_lag_of_earlier_writes(tmp_path: Path, clock: ManualClock, engine: str) -> None:
    settings: dict[str, Any] = {"clock": clock, "eventual_lag_ms": 60_000}
    process = InProcess(tmp_path, **settings)
    process.call("CreateTable", TableName="things", **schema("p:S"))
    put(process, 1)
    process.close()
    process = InProcess(tmp_path, **settings)
    assert seen(process) == "1"
    process.close()


def test_a_changed_table_keeps_its_earlier_states(
    made: Callable[..., InProcess], clock: ManualClock, engine: str
) -> None:
    process = made()
    put(process, 1)
    process.call(
        "UpdateTable",
        TableName="things",
        AttributeDefinitions=[{"AttributeName": "n", "AttributeType": "N"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-n",
                    "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    if engine == "memory":
        assert seen(process) is None
    clock.advance(1)
    assert seen(process) == "1"
    process.close()


def test_a_new_table_of_the_same_name_has_no_past(made: Callable[..., InProcess], clock: ManualClock) -> None:
    process = made()
    put(process, 1)
    clock.advance(2)
    put(process, 2)
    process.call("DeleteTable", TableName="things")
    clock.advance(0.1)
    process.call("CreateTable", TableName="things", **schema("p:S"))
    assert [seen(process) for _ in range(5)] == [None] * 5
    process.close()


def test_stream_records_are_shown_when_they_are_old_enough(
    made: Callable[..., InProcess], clock: ManualClock, engine: str
) -> None:
    process = made()
    view = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    described = process.call("UpdateTable", TableName="things", StreamSpecification=view)["TableDescription"]
    arn = described["LatestStreamArn"]
    streams = process.local.client("dynamodbstreams", "us-east-1")
    put(process, 1)
    clock.advance(0.6)
    put(process, 2)

    def records() -> list[str]:
        found = []
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            answer = streams.get_records(ShardIterator=iterator)
            assert "NextShardIterator" in answer
            found += [each["dynamodb"]["NewImage"]["n"]["N"] for each in answer["Records"]]
        return found

    assert records() == []
    clock.advance(0.4)
    assert records() == ["1"]
    clock.advance(0.6)
    assert records() == ["1", "2"]
    process.close()


def test_counts_and_sizes_are_taken_every_six_hours(
    made: Callable[..., InProcess], clock: ManualClock
) -> None:
    process = made(size_interval_s=21_600)
    clock.advance(100)

    def shown() -> list[int]:
        table = process.call("DescribeTable", TableName="things")["Table"]
        (index,) = table["GlobalSecondaryIndexes"]
        return [table["ItemCount"], index["ItemCount"], table["TableSizeBytes"], index["IndexSizeBytes"]]

    put(process, 1)
    assert shown() == [0, 0, 0, 0]
    clock.advance(21_600)
    assert shown() == [1, 1, 107, 107]
    process.call("DeleteItem", TableName="things", Key=KEY)
    clock.advance(3_600)
    assert shown() == [1, 1, 107, 107]
    clock.advance(18_000)
    assert shown() == [0, 0, 0, 0]
    process.close()


def test_the_lag_is_changed_while_requests_are_served(made: Callable[..., InProcess], engine: str) -> None:
    process = made(eventual_lag_ms=0)
    administration = process.database.administration
    assert administration.late_reads() == {"ms": 0, "tables": {}, "seed": 0}
    put(process, 1)
    assert administration.change_late_reads({"tables": {"things": 500.5}, "seed": 3}) == {
        "ms": 0,
        "tables": {"things": 500.5},
        "seed": 3,
    }
    put(process, 2)
    if engine == "memory":
        assert seen(process) == "1"
    administration.change_late_reads({"tables": {}})
    assert seen(process) == "2"
    for wrong in (
        {"lag": 1},
        {"ms": "1"},
        {"ms": True},
        {"ms": -1},
        {"tables": {"things": None}},
        {"seed": 1.5},
    ):
        with pytest.raises(AdminError):
            administration.change_late_reads(wrong)
    assert administration.late_reads() == {"ms": 0, "tables": {}, "seed": 3}
    process.close()
