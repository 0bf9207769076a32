"""Items expire: which, when, and what remains of it. Source: limits.md section 7; streams.md section 5."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.schemas import item
from fixtures.streamed import Streamed, streamed_in

YEAR_S = 365 * 86_400
pytestmark = pytest.mark.usefixtures("in_process_only")


def switch_on(streamed: Streamed, name: str, attribute: str = "exp") -> None:
    streamed.dynamodb.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute}
    )


def left(streamed: Streamed, name: str) -> list[str]:
    return sorted(found["p"]["S"] for found in streamed.dynamodb.scan(TableName=name)["Items"])


def now_s(clock: ManualClock) -> int:
    return clock.now_ns() // 10**9


def test_an_item_is_deleted_in_the_second_of_its_expiry(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    for seconds in (10, 11, 500):
        streamed.dynamodb.put_item(TableName=name, Item=item(p=f"{seconds:03d}", exp=now_s(clock) + seconds))
    clock.advance(9)
    assert left(streamed, name) == ["010", "011", "500"]
    clock.advance(1)
    assert left(streamed, name) == ["011", "500"]
    clock.advance(1000)
    assert left(streamed, name) == []


def test_an_item_written_after_its_expiry_is_deleted_at_once(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    assert left(streamed, name) == []
    streamed.dynamodb.put_item(TableName=name, Item=item(p="late", exp=now_s(clock) - 5))
    assert left(streamed, name) == []


@pytest.mark.parametrize("number", ["{}", "{}.0", "{}.999", "{}000e-3", "0.{}e10", "{}E0"])
def test_every_number_format_counts(streamed: Streamed, clock: ManualClock, number: str) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    value = number.format(now_s(clock) + 5)
    streamed.dynamodb.put_item(TableName=name, Item={"p": {"S": "a"}, "exp": {"N": value}})
    clock.advance(4)
    assert left(streamed, name) == ["a"]
    clock.advance(2)
    assert left(streamed, name) == []


def test_other_types_and_huge_numbers_never_expire(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    text = str(now_s(clock))
    for number, value in enumerate(
        [
            {"S": text},
            {"NS": [text]},
            {"L": [{"N": text}]},
            {"M": {"exp": {"N": text}}},
            {"BOOL": True},
            {"NULL": True},
            {"N": f"-{text}"},
            {"N": "9e125"},
            {"N": "1e-130"},
            {"N": "0"},
            {"N": str(now_s(clock) - 5 * YEAR_S - 1)},
        ]
    ):
        streamed.dynamodb.put_item(TableName=name, Item={"p": {"S": f"{number:02d}"}, "exp": value})
    streamed.dynamodb.put_item(TableName=name, Item=item(p="none"))
    before = left(streamed, name)
    assert len(before) == 12
    clock.advance(YEAR_S)
    assert left(streamed, name) == before


def test_an_expiry_up_to_five_years_ago_counts(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", exp=now_s(clock) - 5 * YEAR_S + 60))
    assert left(streamed, name) == []


def test_a_rewritten_item_expires_by_its_last_value(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    start = now_s(clock)
    for key in ("longer", "shorter", "never", "updated", "again"):
        streamed.dynamodb.put_item(TableName=name, Item=item(p=key, exp=start + 100))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="longer", exp=start + 200))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="shorter", exp=start + 50))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="never"))
    streamed.dynamodb.update_item(
        TableName=name,
        Key=item(p="updated"),
        UpdateExpression="ADD exp :n",
        ExpressionAttributeValues=item(**{":n": 100}),
    )
    streamed.dynamodb.delete_item(TableName=name, Key=item(p="again"))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="again", exp=start + 150))
    clock.advance(60)
    assert left(streamed, name) == ["again", "longer", "never", "updated"]
    clock.advance(60)
    assert left(streamed, name) == ["again", "longer", "never", "updated"]
    clock.advance(60)
    assert left(streamed, name) == ["longer", "never", "updated"]
    clock.advance(60)
    assert left(streamed, name) == ["never"]


def test_the_attribute_may_be_a_key(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table("p:S", "exp:N")
    switch_on(streamed, name)
    for seconds in (5, 50):
        streamed.dynamodb.put_item(TableName=name, Item=item(p="a", exp=now_s(clock) + seconds))
    clock.advance(10)
    assert streamed.dynamodb.scan(TableName=name, Select="COUNT")["Count"] == 1


def test_the_stream_record_names_the_service(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    gone = item(p="a", exp=now_s(clock) + 1)
    streamed.dynamodb.put_item(TableName=name, Item=gone)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="b"))
    streamed.dynamodb.delete_item(TableName=name, Key=item(p="b"))
    clock.advance(2)
    removed = [r for r in streamed.records(streamed.arn(name)) if r["eventName"] == "REMOVE"]
    by_service = [r for r in removed if "userIdentity" in r]
    assert len(removed) == 2
    (record,) = by_service
    assert record["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert record["dynamodb"]["OldImage"] == gone


def test_index_entries_are_deleted_with_expired_items(streamed: Streamed, clock: ManualClock) -> None:
    """That nothing stays behind is checked over the whole store at the end of every test."""
    name = streamed.table(
        "p:S",
        "r:S",
        LocalSecondaryIndexes=[
            {
                "IndexName": "local",
                "KeySchema": [
                    {"AttributeName": "p", "KeyType": "HASH"},
                    {"AttributeName": "r", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "global",
                "KeySchema": [{"AttributeName": "r", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    switch_on(streamed, name)
    for n in range(10):
        streamed.dynamodb.put_item(TableName=name, Item=item(p="a", r=str(n), exp=now_s(clock) + n))
    clock.advance(4)
    for index in ({}, {"IndexName": "local"}, {"IndexName": "global"}):
        assert streamed.dynamodb.scan(TableName=name, Select="COUNT", **index)["Count"] == 5


def test_items_written_before_enabling_expire_too(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    for start in range(0, 450, 25):
        puts = [
            {"PutRequest": {"Item": item(p=f"{n:03d}", exp=now_s(clock) + n)}}
            for n in range(start, start + 25)
        ]
        streamed.dynamodb.batch_write_item(RequestItems={name: puts})
    clock.advance(100)
    assert len(left(streamed, name)) == 450
    switch_on(streamed, name)
    assert left(streamed, name) == [f"{n:03d}" for n in range(101, 450)]
    clock.advance(349)
    assert left(streamed, name) == []


def test_after_disabling_nothing_expires(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", exp=now_s(clock) + 7200))
    clock.advance(3600)
    streamed.dynamodb.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": False, "AttributeName": "exp"}
    )
    clock.advance(7200)
    assert left(streamed, name) == ["a"]
    switch_on(streamed, name)
    assert left(streamed, name) == []


def test_another_attribute_can_be_chosen_later(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name, "first")
    start = now_s(clock)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", first=start + 20_000, second=start + 9_000))
    streamed.dynamodb.put_item(TableName=name, Item=item(p="b", first=start + 9_000, second=start + 20_000))
    clock.advance(3600)
    streamed.dynamodb.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": False, "AttributeName": "first"}
    )
    clock.advance(3600)
    switch_on(streamed, name, "second")
    clock.advance(3600)
    assert left(streamed, name) == ["b"]


def test_expiry_survives_a_restart(open_process: Any, clock: ManualClock, tmp_path: Any) -> None:
    process = open_process(tmp_path / "data")
    streamed = streamed_in(process)
    name = streamed.table()
    switch_on(streamed, name)
    for n in range(5):
        streamed.dynamodb.put_item(TableName=name, Item=item(p=str(n), exp=now_s(clock) + n * 100))
    clock.advance(150)
    assert left(streamed, name) == ["2", "3", "4"]
    process.close()
    clock.advance(100)
    again = streamed_in(open_process(tmp_path / "data"))
    assert left(again, name) == ["3", "4"]
    assert again.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"] == {
        "AttributeName": "exp",
        "TimeToLiveStatus": "ENABLED",
    }


def test_deleting_a_table_deletes_its_expiry_index(streamed: Streamed, clock: ManualClock) -> None:
    name = streamed.table()
    switch_on(streamed, name)
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", exp=now_s(clock) + 5))
    streamed.dynamodb.delete_table(TableName=name)
    clock.advance(10)
    again = {"KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}
    streamed.dynamodb.create_table(
        TableName=name, **again, AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}]
    )
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", exp=now_s(clock) - 5))
    assert left(streamed, name) == ["a"]
