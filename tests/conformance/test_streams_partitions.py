"""A stream has a shard for each partition of its table. When a partition splits, its shard closes and has a
child for each new partition. Sources: streams.md section 3; capacity.md section 2.4."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.engine.streams import reading
from fixtures.in_process import InProcess
from fixtures.schemas import item
from fixtures.streamed import Streamed, replay, streamed_in

pytestmark = pytest.mark.usefixtures("in_process_only")


def units(read: int, write: int) -> dict[str, Any]:
    return {
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write},
    }


@pytest.fixture
def process(bugs_surface: None, clock: ManualClock) -> Iterator[InProcess]:
    made = InProcess(clock=clock)
    yield made
    made.check()
    made.close()


@pytest.fixture
def streamed(process: InProcess) -> Streamed:
    return streamed_in(process)


def small_table(streamed: Streamed) -> str:
    """Returns a new table with one partition and a stream."""
    name = "small"
    streamed.dynamodb.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        **units(5, 5),
    )
    return name


def write(streamed: Streamed, name: str, n: int) -> None:
    """Puts 40 items."""
    for key in range(40):
        streamed.dynamodb.put_item(TableName=name, Item=item(p=f"k{key}", n=n))


def split(process: InProcess, name: str, partitions: int) -> None:
    process.local.change_capacity(name, {"partitions": partitions})


def keys(records: list[dict[str, Any]]) -> set[str]:
    return {record["dynamodb"]["Keys"]["p"]["S"] for record in records}


def test_a_small_table_has_one_shard_with_every_record_in_order(streamed: Streamed) -> None:
    name = small_table(streamed)
    write(streamed, name, 1)
    (shard,) = streamed.shards(streamed.arn(name))
    assert "ParentShardId" not in shard
    records, ended = streamed.read_shard(streamed.arn(name), shard["ShardId"], Limit=7)
    assert [record["dynamodb"]["Keys"]["p"]["S"] for record in records] == [f"k{key}" for key in range(40)]
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
    assert numbers == sorted(set(numbers))
    assert not ended


@pytest.mark.parametrize(
    ("mode", "shards"),
    [
        (units(1, 1), 1),
        (units(3000, 1), 2),
        (units(6000, 1000), 3),
        (units(12000, 2000), 6),
        ({"BillingMode": "PAY_PER_REQUEST"}, 4),
        (
            {
                "BillingMode": "PAY_PER_REQUEST",
                "WarmThroughput": {"ReadUnitsPerSecond": 36000, "WriteUnitsPerSecond": 4000},
            },
            12,
        ),
    ],
)
def test_a_new_stream_has_a_shard_for_each_partition(
    streamed: Streamed, process: InProcess, mode: dict[str, Any], shards: int
) -> None:
    streamed.dynamodb.create_table(
        TableName="table",
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        **mode,
    )
    assert len(process.local.capacity("table")["resources"][""]["partitions"]) == shards
    assert len(streamed.shards(streamed.arn("table"))) == shards
    write(streamed, "table", 1)
    records = streamed.records(streamed.arn("table"))
    assert len(records) == len(keys(records)) == 40


def test_a_stream_that_is_enabled_later_follows_the_partitions_of_that_time(
    streamed: Streamed, process: InProcess
) -> None:
    name = small_table(streamed)
    streamed.dynamodb.update_table(TableName=name, StreamSpecification={"StreamEnabled": False})
    split(process, name, 3)
    before = streamed.arn(name)
    streamed.dynamodb.update_table(
        TableName=name, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    )
    arn = streamed.arn(name)
    assert not any("ParentShardId" in shard for shard in streamed.shards(arn))
    assert (len(streamed.shards(before)), len(streamed.shards(arn))) == (1, 3)


def test_a_split_closes_the_shard_and_divides_its_keys(streamed: Streamed, process: InProcess) -> None:
    name = small_table(streamed)
    arn = streamed.arn(name)
    write(streamed, name, 1)
    split(process, name, 2)
    (parent, low, high) = streamed.shards(arn)
    assert parent["SequenceNumberRange"].keys() == {"StartingSequenceNumber", "EndingSequenceNumber"}
    assert low["ParentShardId"] == high["ParentShardId"] == parent["ShardId"]
    write(streamed, name, 2)
    before, ended = streamed.read_shard(arn, parent["ShardId"])
    assert ended
    assert len(before) == 40
    assert int(before[-1]["dynamodb"]["SequenceNumber"]) <= int(
        parent["SequenceNumberRange"]["EndingSequenceNumber"]
    )
    left, right = (streamed.read_shard(arn, shard["ShardId"])[0] for shard in (low, high))
    assert len(left) + len(right) == 40
    assert keys(left)
    assert keys(right)
    assert not keys(left) & keys(right)
    for record in left + right:
        assert int(record["dynamodb"]["SequenceNumber"]) > int(
            parent["SequenceNumberRange"]["EndingSequenceNumber"]
        )
    held: dict[Any, Any] = {}
    replay(before + right + left, held)
    assert {value["n"]["N"] for value in held.values()} == {"2"}


def test_a_split_leaves_the_shards_of_other_partitions_open(streamed: Streamed, process: InProcess) -> None:
    name = small_table(streamed)
    arn = streamed.arn(name)
    split(process, name, 2)
    _, low, high = streamed.shards(arn)
    split(process, name, 3)
    shards = streamed.shards(arn)
    (closed,) = {shard["ParentShardId"] for shard in shards[3:]}
    assert closed in (low["ShardId"], high["ShardId"])
    still_open = [shard for shard in shards if "EndingSequenceNumber" not in shard["SequenceNumberRange"]]
    assert len(still_open) == 3
    assert sum(shard in still_open for shard in (low, high)) == 1


def test_an_iterator_held_over_a_split_ends_where_the_shard_ended(
    streamed: Streamed, process: InProcess
) -> None:
    name = small_table(streamed)
    arn = streamed.arn(name)
    (shard,) = streamed.shards(arn)
    latest = streamed.iterator(arn, shard["ShardId"], "LATEST")
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=1))
    split(process, name, 4)
    streamed.shards(arn)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=2))
    page = streamed.streams.get_records(ShardIterator=latest)
    assert [record["dynamodb"]["NewImage"]["n"]["N"] for record in page["Records"]] == ["1"]
    assert "NextShardIterator" not in page
    wanted = {"Type": "CHILD_SHARDS", "ShardId": shard["ShardId"]}
    assert len(streamed.describe(arn, ShardFilter=wanted)["Shards"]) == 4


def test_a_reader_finds_the_split_without_a_description(streamed: Streamed, process: InProcess) -> None:
    name = small_table(streamed)
    arn = streamed.arn(name)
    iterator = streamed.iterator(arn, streamed.shards(arn)[0]["ShardId"])
    split(process, name, 2)
    assert "NextShardIterator" not in streamed.streams.get_records(ShardIterator=iterator)


def test_a_raise_that_needs_partitions_splits_the_shard(streamed: Streamed, clock: ManualClock) -> None:
    name = small_table(streamed)
    arn = streamed.arn(name)
    raised = units(5, 1500)["ProvisionedThroughput"]
    streamed.dynamodb.update_table(TableName=name, ProvisionedThroughput=raised)
    clock.advance(3600)
    parent, *children = streamed.shards(arn)
    assert {child["ParentShardId"] for child in children} == {parent["ShardId"]}
    assert len(children) == 2


def test_partitions_of_uneven_width_share_a_log_and_each_reader_gets_its_own(
    streamed: Streamed, process: InProcess, clock: ManualClock
) -> None:
    name = small_table(streamed)
    arn = streamed.arn(name)
    for partitions in (2, 3, 5, 9):
        write(streamed, name, partitions)
        split(process, name, partitions)
        streamed.shards(arn)
        clock.advance(1)
    write(streamed, name, 10)
    held: dict[Any, Any] = {}
    for shard in streamed.shards(arn):
        for limit in (1, 2, 1000):
            records, _ = streamed.read_shard(arn, shard["ShardId"], Limit=limit)
            assert records == streamed.read_shard(arn, shard["ShardId"])[0]
        replay(records, held)
    assert len(held) == 40
    assert {value["n"]["N"] for value in held.values()} == {"10"}


def test_a_page_ends_early_where_only_other_shards_have_records(
    streamed: Streamed, process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "STREAM_PAGE_BYTES_MAX", 10_000)
    monkeypatch.setattr(reading, "_COST_BYTES_MAX", 20_000)
    name = small_table(streamed)
    arn = streamed.arn(name)
    split(process, name, 2)
    shards = streamed.shards(arn)[1:]
    streamed.dynamodb.put_item(TableName=name, Item=item(p="k0"))
    (mine,) = [each for each in shards if streamed.read_shard(arn, each["ShardId"])[0]]
    (other,) = [each for each in shards if each is not mine]
    for n in range(100):
        streamed.dynamodb.put_item(TableName=name, Item=item(p="k0", n=n))
    iterator, pages = streamed.iterator(arn, other["ShardId"]), 0
    streamed.dynamodb.put_item(TableName=name, Item=item(p="k1", last=True))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="k2", last=True))
    records: list[dict[str, Any]] = []
    while not records:
        page = streamed.streams.get_records(ShardIterator=iterator)
        records, iterator, pages = page["Records"], page["NextShardIterator"], pages + 1
        assert pages < 20
    assert pages > 3
    assert "k0" not in keys(records)


def test_shards_of_a_split_survive_a_restart(open_process: Any, tmp_path: Path) -> None:
    process = open_process(tmp_path / "data")
    streamed = streamed_in(process)
    name = small_table(streamed)
    arn = streamed.arn(name)
    write(streamed, name, 1)
    split(process, name, 3)
    streamed.shards(arn)
    write(streamed, name, 2)
    before = (streamed.shards(arn), streamed.records(arn))
    iterator = streamed.iterator(arn, before[0][-1]["ShardId"], "LATEST")
    process.close()
    process = open_process(tmp_path / "data")
    again = streamed_in(process)
    assert (again.shards(arn), again.records(arn)) == before
    write(again, name, 3)
    page = again.streams.get_records(ShardIterator=iterator)
    assert {record["dynamodb"]["NewImage"]["n"]["N"] for record in page["Records"]} == {"3"}
    split(process, name, 4)
    assert len(again.shards(arn)) == 4 + 2
    process.check()
