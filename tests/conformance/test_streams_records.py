"""Stream records: which writes make one, and what is in it. Source: streams.md section 5."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.schemas import item, plain
from fixtures.streamed import Streamed


def test_a_new_item_is_an_insert_without_an_old_image(streamed: Streamed) -> None:
    name = streamed.table()
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=1))
    assert streamed.changes(streamed.arn(name)) == [("INSERT", {}, {"p": "a", "n": 1})]


def test_an_overwritten_item_is_a_modify_with_both_images(streamed: Streamed) -> None:
    name = streamed.table()
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=1))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", m="x"))
    assert streamed.changes(streamed.arn(name))[1:] == [("MODIFY", {"p": "a", "n": 1}, {"p": "a", "m": "x"})]


def test_a_deleted_item_is_a_remove_without_a_new_image(streamed: Streamed) -> None:
    name = streamed.table()
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=1))
    streamed.dynamodb.delete_item(TableName=name, Key=item(p="a"))
    assert streamed.changes(streamed.arn(name))[1:] == [("REMOVE", {"p": "a", "n": 1}, {})]


def test_an_update_that_creates_a_bare_item_is_an_insert(streamed: Streamed) -> None:
    name = streamed.table()
    streamed.dynamodb.update_item(TableName=name, Key=item(p="a"))
    assert streamed.changes(streamed.arn(name)) == [("INSERT", {}, {"p": "a"})]


@pytest.mark.parametrize("view", ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"])
def test_the_view_type_says_which_images_there_are(streamed: Streamed, view: str) -> None:
    name = streamed.table("p:S", "r:N", view=view)
    key = item(p="a", r=-15)
    streamed.dynamodb.put_item(TableName=name, Item={**key, **item(n=1)})
    streamed.dynamodb.put_item(TableName=name, Item={**key, **item(n=2)})
    streamed.dynamodb.delete_item(TableName=name, Key=key)
    found = [
        (set(record["dynamodb"]) & {"NewImage", "OldImage"})
        for record in streamed.records(streamed.arn(name))
    ]
    new = {"NewImage"} if view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES") else set()
    old = {"OldImage"} if view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES") else set()
    assert found == [new, new | old, old]
    for record in streamed.records(streamed.arn(name)):
        assert record["dynamodb"]["Keys"] == key
        assert record["dynamodb"]["StreamViewType"] == view


@pytest.mark.parametrize(
    "key",
    [
        item(p="\0", r=b"\0\xff\0\0"),
        item(p="é\0𝄞", r=b"\xff\0"),
        item(p="a", r=b"\0"),
    ],
)
def test_records_have_binary_keys_unchanged(streamed: Streamed, key: dict[str, Any]) -> None:
    name = streamed.table("p:S", "r:B", view="KEYS_ONLY")
    streamed.dynamodb.put_item(TableName=name, Item={**key, **item(n=1)})
    (record,) = streamed.records(streamed.arn(name))
    assert record["dynamodb"]["Keys"] == key


@pytest.mark.parametrize(
    "number",
    ["0", "1", "-1", "0.001", "-0.02", "12345678901234567890123456789012345678", "-9.9e125", "1e-130"],
)
def test_records_have_number_keys_unchanged(streamed: Streamed, number: str) -> None:
    name = streamed.table("p:N", view="KEYS_ONLY")
    streamed.dynamodb.put_item(TableName=name, Item={"p": {"N": number}})
    (record,) = streamed.records(streamed.arn(name))
    (stored,) = streamed.dynamodb.scan(TableName=name)["Items"]
    assert record["dynamodb"]["Keys"] == stored


def test_members_of_a_record(streamed: Streamed, in_process_only: None, clock: ManualClock) -> None:
    name = streamed.table()
    clock.advance(7.9)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="ab", text="hello"))
    (record,) = streamed.records(streamed.arn(name))
    change = record["dynamodb"]
    assert {key: value for key, value in record.items() if key not in ("eventID", "dynamodb")} == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
    }
    assert len(record["eventID"]) == 32
    assert int(record["eventID"], 16) >= 0
    assert change["ApproximateCreationDateTime"].timestamp() == clock.now_ns() // 10**9
    assert 21 <= len(change["SequenceNumber"]) <= 40
    assert change["SizeBytes"] == len("pab") + len("pab" + "texthello")


@pytest.mark.parametrize(
    "write",
    [
        lambda db, name: db.put_item(TableName=name, Item=item(p="a", n=1, m={"x": 1, "y": 2})),
        lambda db, name: db.batch_write_item(
            RequestItems={name: [{"PutRequest": {"Item": item(m={"y": 2, "x": 1}, p="a", n=1)}}]}
        ),
        lambda db, name: db.update_item(
            TableName=name,
            Key=item(p="a"),
            UpdateExpression="SET n = :n, m = :m",
            ExpressionAttributeValues={":n": {"N": "1.00"}, ":m": item(m={"y": 2, "x": 1})["m"]},
        ),
        lambda db, name: db.update_item(TableName=name, Key=item(p="a"), UpdateExpression="REMOVE absent"),
        lambda db, name: db.update_item(TableName=name, Key=item(p="a")),
        lambda db, name: db.delete_item(TableName=name, Key=item(p="missing")),
        lambda db, name: db.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": name, "Item": item(p="a", n=1, m={"x": 1, "y": 2})}},
                {
                    "ConditionCheck": {
                        "TableName": name,
                        "Key": item(p="b"),
                        "ConditionExpression": "attribute_not_exists(p)",
                    }
                },
            ]
        ),
    ],
)
def test_a_write_that_changes_nothing_makes_no_record(streamed: Streamed, write: Any) -> None:
    name = streamed.table()
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=1, m={"x": 1, "y": 2}))
    write(streamed.dynamodb, name)
    assert len(streamed.records(streamed.arn(name))) == 1


def test_a_rejected_write_makes_no_record(streamed: Streamed) -> None:
    name = streamed.table()
    with pytest.raises(streamed.dynamodb.exceptions.ConditionalCheckFailedException):
        streamed.dynamodb.put_item(
            TableName=name, Item=item(p="a"), ConditionExpression="attribute_exists(p)"
        )
    assert streamed.records(streamed.arn(name)) == []


def test_a_batch_and_a_transaction_make_a_record_per_changed_item(streamed: Streamed) -> None:
    name = streamed.table()
    streamed.dynamodb.batch_write_item(
        RequestItems={name: [{"PutRequest": {"Item": item(p=str(n))}} for n in range(5)]}
    )
    streamed.dynamodb.transact_write_items(
        TransactItems=[
            {"Delete": {"TableName": name, "Key": item(p="0")}},
            {"Put": {"TableName": name, "Item": item(p="1", n=1)}},
            {"Put": {"TableName": name, "Item": item(p="new")}},
        ]
    )
    names = [record["eventName"] for record in streamed.records(streamed.arn(name))]
    assert sorted(names) == ["INSERT"] * 6 + ["MODIFY", "REMOVE"]


def test_records_of_one_item_stand_in_order_with_rising_numbers(streamed: Streamed) -> None:
    name = streamed.table("p:S", "r:N")
    for n in range(40):
        streamed.dynamodb.put_item(TableName=name, Item=item(p=f"k{n % 3}", r=n % 2, n=n))
    by_key: dict[tuple[Any, ...], list[int]] = {}
    for shard in streamed.shards(streamed.arn(name)):
        records, _ = streamed.read_shard(streamed.arn(name), shard["ShardId"], Limit=3)
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
        assert numbers == sorted(set(numbers))
        for record in records:
            image = plain(record["dynamodb"]["NewImage"])
            by_key.setdefault((image["p"], image["r"]), []).append(image["n"])
    assert sum(map(len, by_key.values())) == 40
    assert all(ns == sorted(ns) for ns in by_key.values())


def test_a_page_ends_at_its_limit_and_before_a_megabyte(streamed: Streamed) -> None:
    name = streamed.table()
    for n in range(5):
        streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=n, data="x" * 150_000))
    arn = streamed.arn(name)
    (shard,) = [each for each in streamed.shards(arn) if streamed.read_shard(arn, each["ShardId"])[0]]
    sizes = []
    iterator = streamed.iterator(arn, shard["ShardId"])
    while True:
        page = streamed.streams.get_records(ShardIterator=iterator)
        if not page["Records"]:
            break
        sizes.append([record["dynamodb"]["SizeBytes"] for record in page["Records"]])
        iterator = page["NextShardIterator"]
    assert [len(page) for page in sizes] == [3, 2]  # one image in the first, two in the others
    assert all(sum(page) <= 1024 * 1024 for page in sizes)
    one = streamed.streams.get_records(ShardIterator=streamed.iterator(arn, shard["ShardId"]), Limit=1)
    assert len(one["Records"]) == 1


def test_index_entries_make_no_records(streamed: Streamed) -> None:
    name = streamed.table(
        GlobalSecondaryIndexes=[
            {
                "IndexName": "again",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
    )
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a"))
    assert len(streamed.records(streamed.arn(name))) == 1
