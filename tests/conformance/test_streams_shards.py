"""Shards roll, have children, and are forgotten, all on the clock. Source: streams.md sections 3 and 6."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.schemas import invalid, item, refused
from fixtures.streamed import Streamed, replay, streamed_in

HOUR_S = 3600
pytestmark = pytest.mark.usefixtures("in_process_only")


def numbers(shard: dict[str, Any]) -> tuple[int, int | None]:
    found = shard["SequenceNumberRange"]
    end = found.get("EndingSequenceNumber")
    return int(found["StartingSequenceNumber"]), int(end) if end is not None else None


def test_a_shard_has_an_id_and_a_starting_number(streamed: Streamed) -> None:
    shards = streamed.shards(streamed.arn(streamed.table()))
    assert len(shards) == 4
    assert len({shard["ShardId"] for shard in shards}) == 4
    for shard in shards:
        assert re.fullmatch(r"shardId-[0-9]{20}-[0-9a-f]{8}", shard["ShardId"])
        assert set(shard) == {"ShardId", "SequenceNumberRange"}
        assert set(shard["SequenceNumberRange"]) == {"StartingSequenceNumber"}


def test_shards_close_after_four_hours_and_have_one_child_each(
    streamed: Streamed, clock: ManualClock
) -> None:
    arn = streamed.arn(streamed.table())
    parents = streamed.shards(arn)
    clock.advance(4 * HOUR_S - 1)
    assert streamed.shards(arn) == parents
    clock.advance(1)
    shards = streamed.shards(arn)
    assert [shard["ShardId"] for shard in shards] == sorted(shard["ShardId"] for shard in shards)
    closed, children = shards[:4], shards[4:]
    assert [shard["ShardId"] for shard in closed] == [shard["ShardId"] for shard in parents]
    assert [child["ParentShardId"] for child in children] == [shard["ShardId"] for shard in closed]
    for parent, child in zip(closed, children, strict=True):
        start, end = numbers(parent)
        assert end is not None
        assert start <= end < numbers(child)[0]
        assert numbers(child)[1] is None


def test_records_before_a_roll_are_in_the_parent_and_later_ones_in_the_child(
    streamed: Streamed, clock: ManualClock
) -> None:
    name = streamed.table()
    arn = streamed.arn(name)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=1))
    clock.advance(4 * HOUR_S)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=2))
    found = {}
    for shard in streamed.shards(arn):
        records, ended = streamed.read_shard(arn, shard["ShardId"])
        assert ended == ("EndingSequenceNumber" in shard["SequenceNumberRange"])
        start, end = numbers(shard)
        for record in records:
            number = int(record["dynamodb"]["SequenceNumber"])
            assert start <= number
            assert end is None or number <= end
            found[record["eventName"]] = shard
    assert found["MODIFY"]["ParentShardId"] == found["INSERT"]["ShardId"]


def test_an_iterator_held_over_a_roll_ends_where_the_shard_ended(
    streamed: Streamed, clock: ManualClock
) -> None:
    name = streamed.table()
    arn = streamed.arn(name)
    clock.advance(4 * HOUR_S - 60)
    iterators = [streamed.iterator(arn, shard["ShardId"], "LATEST") for shard in streamed.shards(arn)]
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=1))
    clock.advance(60)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=2))
    pages = [streamed.streams.get_records(ShardIterator=iterator) for iterator in iterators]
    assert [record["eventName"] for page in pages for record in page["Records"]] == ["INSERT"]
    assert not any("NextShardIterator" in page for page in pages)
    assert len(streamed.shards(arn)) == 8, "children are there as soon as their parents' end is"


def test_shards_are_described_page_by_page(streamed: Streamed, clock: ManualClock) -> None:
    arn = streamed.arn(streamed.table())
    clock.advance(4 * HOUR_S)
    everything = streamed.shards(arn)
    seen: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = streamed.describe(arn, Limit=3, **more)
        seen += page["Shards"]
        assert len(page["Shards"]) <= 3
        if "LastEvaluatedShardId" not in page:
            break
        more = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
    assert seen == everything


def test_the_children_of_a_shard_can_be_asked_for(streamed: Streamed, clock: ManualClock) -> None:
    arn = streamed.arn(streamed.table())
    parent = streamed.shards(arn)[2]["ShardId"]
    wanted = {"Type": "CHILD_SHARDS", "ShardId": parent}
    assert streamed.describe(arn, ShardFilter=wanted)["Shards"] == []
    clock.advance(4 * HOUR_S)
    (child,) = streamed.describe(arn, ShardFilter=wanted)["Shards"]
    assert child["ParentShardId"] == parent
    with invalid():
        streamed.describe(arn, ShardFilter={"Type": "CHILD_SHARDS"})


def test_closed_shards_disappear_after_a_day(streamed: Streamed, clock: ManualClock) -> None:
    """Records are gone 24 hours after they were made, shards 24 hours after they closed."""
    name = streamed.table()
    arn = streamed.arn(name)
    for hour in range(30):
        streamed.dynamodb.put_item(TableName=name, Item=item(p=f"k{hour % 7}", hour=hour))
        hours = sorted(int(r["dynamodb"]["NewImage"]["hour"]["N"]) for r in streamed.records(arn))
        assert hours == list(range(max(0, hour - 23), hour + 1))
        clock.advance(HOUR_S)
    shards = streamed.shards(arn)
    began = [int(shard["ShardId"].split("-")[1]) // 1000 for shard in shards]
    start = clock.now_ns() // 10**9 - 30 * HOUR_S
    assert sorted({(each - start) // HOUR_S for each in began}) == [4, 8, 12, 16, 20, 24, 28]
    first = shards[0]["ParentShardId"]
    assert first not in {shard["ShardId"] for shard in shards}, "a parent may be forgotten already"
    with refused(
        "ResourceNotFoundException",
        f"Requested resource not found: Shard: {first} in Stream: {arn} not found",
    ):
        streamed.iterator(arn, first)


def test_an_idle_stream_goes_on_rolling(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    arn = streamed.arn(name)
    for _ in range(40):
        clock.advance(4 * HOUR_S)
        streamed.shards(arn)
    shards = streamed.shards(arn)
    assert len(shards) == 4 * 7, "six closed generations of the last 24 hours and the open one"
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a"))
    assert len(streamed.records(arn)) == 1


def test_shards_survive_a_restart(open_process: Any, clock: ManualClock, tmp_path: Path) -> None:
    process = open_process(tmp_path / "data")
    streamed = streamed_in(process)
    name = streamed.table()
    arn = streamed.arn(name)
    for n in range(20):
        streamed.dynamodb.put_item(TableName=name, Item=item(p=f"k{n % 3}", n=n))
        clock.advance(HOUR_S)
    iterator = streamed.iterator(arn, streamed.shards(arn)[-1]["ShardId"])
    before = (streamed.shards(arn), streamed.records(arn))
    process.close()
    again = streamed_in(open_process(tmp_path / "data"))
    assert (again.shards(arn), again.records(arn)) == before
    assert "NextShardIterator" in again.streams.get_records(ShardIterator=iterator)
    again.dynamodb.put_item(TableName=name, Item=item(p="k0", n=100))
    held: dict[Any, Any] = {}
    replay(again.records(arn), held)
    assert len(held) == 3
    clock.advance(25 * HOUR_S)
    assert again.records(arn) == []
