"""Streams come and go with their tables, and outlive them. Source: streams.md section 2."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.schemas import invalid, item, new_name, refused, schema
from fixtures.streamed import Streamed, streamed_in

BOTH = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
OFF = {"StreamEnabled": False}
DAY_S = 86_400


def test_a_table_describes_its_stream(streamed: Streamed) -> None:
    name = streamed.table(view="KEYS_ONLY")
    table = streamed.dynamodb.describe_table(TableName=name)["Table"]
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert table["LatestStreamArn"] == f"{table['TableArn']}/stream/{table['LatestStreamLabel']}"
    assert len(table["LatestStreamLabel"]) == len("2015-05-11T21:21:33.291")


def test_a_table_without_a_stream_does_not_mention_one(streamed: Streamed) -> None:
    name = new_name()
    members = {**schema("p:S"), "StreamSpecification": OFF}
    streamed.dynamodb.create_table(TableName=name, **members)
    table = streamed.dynamodb.describe_table(TableName=name)["Table"]
    assert not {"StreamSpecification", "LatestStreamArn", "LatestStreamLabel"} & set(table)
    assert streamed.streams.list_streams(TableName=name)["Streams"] == []


def test_a_stream_is_described_with_its_table(streamed: Streamed) -> None:
    name = streamed.table("p:S", "r:N", view="NEW_IMAGE")
    arn = streamed.arn(name)
    stream = streamed.describe(arn)
    assert stream["StreamArn"] == arn
    assert stream["StreamLabel"] == arn.rpartition("/")[2]
    assert stream["StreamStatus"] == "ENABLED"
    assert stream["StreamViewType"] == "NEW_IMAGE"
    assert stream["TableName"] == name
    assert stream["KeySchema"] == [
        {"AttributeName": "p", "KeyType": "HASH"},
        {"AttributeName": "r", "KeyType": "RANGE"},
    ]
    assert stream["CreationRequestDateTime"]


def test_a_stream_can_be_switched_on_later(streamed: Streamed) -> None:
    name = new_name()
    streamed.dynamodb.create_table(TableName=name, **schema("p:S"))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="before"))
    streamed.dynamodb.update_table(TableName=name, StreamSpecification=BOTH)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="after"))
    assert streamed.changes(streamed.arn(name)) == [("INSERT", {}, {"p": "after"})]


def test_a_stream_that_was_switched_off_can_be_read_but_not_written(streamed: Streamed) -> None:
    name = streamed.table()
    arn = streamed.arn(name)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a"))
    updated = streamed.dynamodb.update_table(TableName=name, StreamSpecification=OFF)["TableDescription"]
    assert "StreamSpecification" not in updated
    assert updated["LatestStreamArn"] == arn
    streamed.dynamodb.put_item(TableName=name, Item=item(p="b"))
    assert streamed.changes(arn) == [("INSERT", {}, {"p": "a"})]
    described = streamed.describe(arn)
    assert described["StreamStatus"] == "DISABLED"
    for shard in described["Shards"]:
        numbers = shard["SequenceNumberRange"]
        assert int(numbers["StartingSequenceNumber"]) <= int(numbers["EndingSequenceNumber"])
        assert streamed.read_shard(arn, shard["ShardId"])[1], "a closed shard has an end"


def test_switching_on_again_makes_a_new_stream(streamed: Streamed) -> None:
    name = streamed.table()
    first = streamed.arn(name)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a"))
    streamed.dynamodb.update_table(TableName=name, StreamSpecification=OFF)
    streamed.dynamodb.update_table(
        TableName=name, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    )
    second = streamed.arn(name)
    assert second != first
    streamed.dynamodb.put_item(TableName=name, Item=item(p="b"))
    assert len(streamed.records(first)) == len(streamed.records(second)) == 1
    listed = streamed.streams.list_streams(TableName=name)["Streams"]
    assert [stream["StreamArn"] for stream in listed] == sorted([first, second])


def test_a_deleted_table_leaves_its_stream_for_a_day(
    streamed: Streamed, in_process_only: None, clock: ManualClock
) -> None:
    name = streamed.table()
    arn = streamed.arn(name)
    clock.advance(3600)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a"))
    streamed.dynamodb.delete_table(TableName=name)
    assert streamed.changes(arn) == [("INSERT", {}, {"p": "a"})]
    clock.advance(DAY_S - 1)
    assert streamed.describe(arn)["StreamStatus"] == "DISABLED"
    assert [stream["StreamArn"] for stream in streamed.streams.list_streams()["Streams"]] == [arn]
    clock.advance(1)
    assert streamed.streams.list_streams()["Streams"] == []
    with refused("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found"):
        streamed.describe(arn)


def test_a_new_table_of_the_same_name_has_a_stream_of_its_own(streamed: Streamed) -> None:
    name = streamed.table()
    first = streamed.arn(name)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="old"))
    streamed.dynamodb.delete_table(TableName=name)
    streamed.dynamodb.get_waiter("table_not_exists").wait(TableName=name)
    streamed.dynamodb.create_table(TableName=name, **schema("p:S"), StreamSpecification=BOTH)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="new"))
    assert streamed.changes(first) == [("INSERT", {}, {"p": "old"})]
    assert streamed.changes(streamed.arn(name)) == [("INSERT", {}, {"p": "new"})]


def test_states_follow_the_clock(open_process: Any, clock: ManualClock) -> None:
    streamed = streamed_in(open_process(transition_ms=10_000))
    name = new_name()
    made = streamed.dynamodb.create_table(TableName=name, **schema("p:S"), StreamSpecification=BOTH)
    arn = made["TableDescription"]["LatestStreamArn"]
    assert streamed.describe(arn)["StreamStatus"] == "ENABLING"
    clock.advance(10)
    assert streamed.describe(arn)["StreamStatus"] == "ENABLED"
    updated = streamed.dynamodb.update_table(TableName=name, StreamSpecification=OFF)
    assert updated["TableDescription"]["TableStatus"] == "UPDATING"
    assert streamed.describe(arn)["StreamStatus"] == "DISABLING"
    clock.advance(10)
    assert streamed.describe(arn)["StreamStatus"] == "DISABLED"


# --- Rejections ------------------------------------------------------------------------------------


def test_switching_on_twice_is_rejected(streamed: Streamed) -> None:
    name = streamed.table()
    for view in ("NEW_AND_OLD_IMAGES", "KEYS_ONLY"):
        with invalid() as caught:
            streamed.dynamodb.update_table(
                TableName=name, StreamSpecification={"StreamEnabled": True, "StreamViewType": view}
            )
        assert "already has an enabled stream" in str(caught.value)


def test_switching_off_twice_is_rejected(streamed: Streamed) -> None:
    name = streamed.table()
    streamed.dynamodb.update_table(TableName=name, StreamSpecification=OFF)
    with invalid() as caught:
        streamed.dynamodb.update_table(TableName=name, StreamSpecification=OFF)
    assert "stream to disable" in str(caught.value)


def test_a_stream_without_a_view_type_is_rejected(streamed: Streamed) -> None:
    with invalid():
        streamed.dynamodb.create_table(
            TableName=new_name(), **schema("p:S"), StreamSpecification={"StreamEnabled": True}
        )


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:dynamodb:us-east-1:000000000000:table/nothing-like-a-stream",
        "arn:aws:kinesis:us-east-1:000000000000:stream/other-stream",
        "this-is-no-arn-but-it-is-long-enough-to-pass",
    ],
)
def test_an_arn_that_names_no_stream_is_invalid(streamed: Streamed, arn: str) -> None:
    with invalid(f"Invalid StreamArn: {arn}"):
        streamed.describe(arn)


def test_an_unknown_stream_is_not_found(streamed: Streamed) -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/absent/stream/2026-01-01T00:00:00.000"
    with refused("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found"):
        streamed.describe(arn)


# --- ListStreams ---------------------------------------------------------------------------------


def test_streams_are_listed_page_by_page(streamed: Streamed) -> None:
    arns = sorted(streamed.arn(streamed.table()) for _ in range(5))
    seen: list[str] = []
    more: dict[str, Any] = {}
    while True:
        page = streamed.streams.list_streams(Limit=2, **more)
        seen += [stream["StreamArn"] for stream in page["Streams"]]
        if "LastEvaluatedStreamArn" not in page:
            break
        more = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
    assert [arn for arn in seen if arn in arns] == arns


def test_a_page_continues_after_a_stream_of_a_deleted_table(streamed: Streamed) -> None:
    names = sorted(streamed.table() for _ in range(3))
    arns = sorted(streamed.arn(name) for name in names)
    streamed.dynamodb.delete_table(TableName=names[0])
    page = streamed.streams.list_streams(ExclusiveStartStreamArn=arns[0])
    assert [stream["StreamArn"] for stream in page["Streams"] if stream["StreamArn"] in arns] == arns[1:]


def test_a_listed_stream_names_its_table(streamed: Streamed) -> None:
    name = streamed.table()
    arn = streamed.arn(name)
    assert streamed.streams.list_streams(TableName=name)["Streams"] == [
        {"StreamArn": arn, "TableName": name, "StreamLabel": arn.rpartition("/")[2]}
    ]


def test_streams_are_listed_per_region(open_process: Any) -> None:
    process = open_process(per_region=True)
    streamed = streamed_in(process)
    name = streamed.table()
    elsewhere = process.local.client("dynamodbstreams", "eu-west-1")
    assert elsewhere.list_streams()["Streams"] == []
    assert len(streamed.streams.list_streams()["Streams"]) == 1
    assert streamed.describe(streamed.arn(name))
