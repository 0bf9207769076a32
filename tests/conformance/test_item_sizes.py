"""The 400 KB limit, byte by byte, and the limits of keys.

Sources: limits.md section 2; capacity.md section 2.1 and V13; errors.md sections 6.2 and 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, refused

LIMIT = 409_600
PUT_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
HASH_TOO_LONG = (
    "One or more parameter values were invalid: "
    "Size of hashkey has exceeded the maximum size limit of2048 bytes"
)
RANGE_TOO_LONG = (
    "One or more parameter values were invalid: "
    "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


def sized(size: int) -> dict[str, Any]:
    """An item of exactly this many bytes: names p and v, key "1", a string."""
    return item(p="1", v="x" * (size - 3))


def test_v13_an_item_has_up_to_409600_bytes(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(LIMIT))
    with invalid(PUT_TOO_LARGE):
        dynamodb.put_item(TableName=table, Item=sized(LIMIT + 1))


def test_v13_an_item_of_a_batch_has_up_to_409600_bytes(dynamodb: Any, table: str) -> None:
    dynamodb.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": sized(LIMIT)}}]})
    with invalid(PUT_TOO_LARGE):
        dynamodb.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": sized(LIMIT + 1)}}]})


def test_an_oversized_put_in_a_batch_stops_the_whole_batch(dynamodb: Any, table: str) -> None:
    puts = [{"PutRequest": {"Item": item(p="small")}}, {"PutRequest": {"Item": sized(LIMIT + 1)}}]
    with invalid(PUT_TOO_LARGE):
        dynamodb.batch_write_item(RequestItems={table: puts})
    assert dynamodb.scan(TableName=table)["Count"] == 0


def test_entries_in_local_indexes_count(dynamodb: Any, create: Callable[..., str]) -> None:
    """Documented (limits.md section 2, capacity.md 1.9); that the text is that of an item is assumed."""
    table = create("p:S", "r:S", lsi={"all": ("l:S", "ALL"), "keys": ("k:S", "KEYS_ONLY")})

    def with_value(size: int, **keys: str) -> dict[str, Any]:
        return item(p="1", r="1", v="x" * size, **keys)

    half = LIMIT // 2 - 7  # without four names and three keys
    fitting = with_value(half, l="1")
    larger = with_value(half + 1, l="1")
    no_entry = with_value(LIMIT - 5)
    dynamodb.put_item(TableName=table, Item=no_entry)
    dynamodb.put_item(TableName=table, Item=fitting)
    with invalid(PUT_TOO_LARGE):
        dynamodb.put_item(TableName=table, Item=larger)
    with invalid(PUT_TOO_LARGE):
        dynamodb.put_item(TableName=table, Item=with_value(half, l="1", k="1"))
    with invalid(PUT_TOO_LARGE):
        dynamodb.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": larger}}]})
    with invalid(PUT_TOO_LARGE):
        dynamodb.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": larger}}])
    with invalid(UPDATE_TOO_LARGE):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1", r="1"),
            UpdateExpression="SET k = :k",
            ExpressionAttributeValues={":k": {"S": "1"}},
        )
    found = dynamodb.get_item(TableName=table, Key=item(p="1", r="1"))
    assert found["Item"] == fitting


NAMES_COUNT: dict[str, dict[str, Any]] = {
    "a long name": item(p="1", **{"n" * 60_000: "x" * (LIMIT - 60_002)}),
    "characters of two bytes": item(p="1", v="é" * ((LIMIT - 3) // 2) + "x"),
    "binary": item(p="1", v=b"x" * (LIMIT - 3)),
    "list": item(p="1", v=["x" * (LIMIT - 3 - 4)]),
    "map": item(p="1", v={"name": "x" * (LIMIT - 3 - 8)}),
    "set": item(p="1", v={"x" * 200_000, "y" * (LIMIT - 3 - 200_000)}),
    "numbers": item(p="1", n=0, m=100, v="x" * (LIMIT - 3 - 2 - 3)),
}


@pytest.mark.parametrize("fitting", NAMES_COUNT.values(), ids=NAMES_COUNT)
def test_names_and_values_count_for_the_size(dynamodb: Any, table: str, fitting: dict[str, Any]) -> None:
    """Names always; a list or map 3 and 1 per element (capacity.md section 2.1)."""
    dynamodb.put_item(TableName=table, Item=fitting)
    with invalid(PUT_TOO_LARGE):
        dynamodb.put_item(TableName=table, Item={**fitting, "z": {"S": ""}})


def test_an_update_may_not_grow_an_item_beyond_the_limit(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(LIMIT - 100))
    with invalid(UPDATE_TOO_LARGE):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression="SET w = :w",
            ExpressionAttributeValues={":w": {"S": "x" * 100}},
        )
    found = dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]
    assert found == sized(LIMIT - 100)


def _update(dynamodb: Any, table: str, text: str, size: int, **members: Any) -> None:
    dynamodb.update_item(
        TableName=table,
        Key=item(p="1"),
        UpdateExpression=text,
        ExpressionAttributeValues={":v": {"S": "x" * size}},
        **members,
    )


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("SET w = :v", 3 + 19 + 1),
        ("SET w = if_not_exists(p, :v)", 3 + 19 + 1 + 39 + (1 + 14 + 1)),
        ("SET www = :v REMOVE a, b.c[10]", 3 + 19 + 3 + (1 + 1) + (1 + 1 + 4 + 1 + 4 + 2)),
    ],
)
def test_the_size_limit_of_an_update_counts_its_request(
    dynamodb: Any, table: str, text: str, cost: int
) -> None:
    """Before the condition; recorded (capacity-consumption.md section 3)."""
    dynamodb.put_item(TableName=table, Item=sized(1000))
    with invalid(UPDATE_TOO_LARGE):
        _update(dynamodb, table, text, LIMIT - cost + 1, ConditionExpression="attribute_exists(nothing)")
    with refused("ConditionalCheckFailedException"):
        _update(dynamodb, table, text, LIMIT - cost, ConditionExpression="attribute_exists(nothing)")


def test_a_full_item_can_be_updated_by_a_small_request(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(LIMIT - 2))
    _update(dynamodb, table, "SET w = :v", 1)
    with invalid(UPDATE_TOO_LARGE):
        _update(dynamodb, table, "SET w = :v", 2)
    _update(dynamodb, table, "SET w = if_not_exists(w, :v)", 409_000)


def test_an_oversized_put_is_reported_before_its_condition_fails(dynamodb: Any, table: str) -> None:
    """Size is check 10, the condition 11 (errors.md section 4)."""
    with invalid(PUT_TOO_LARGE):
        dynamodb.put_item(TableName=table, Item=sized(LIMIT + 1), ConditionExpression="attribute_exists(p)")


HASH_KEYS: dict[str, tuple[Any, Any]] = {
    "S": ("x" * 2048, "x" * 2049),
    "B": (b"x" * 2048, b"x" * 2049),
    "S of two-byte characters": ("é" * 1024, "é" * 1024 + "x"),
}


@pytest.mark.parametrize(("longest", "too_long"), HASH_KEYS.values(), ids=HASH_KEYS)
def test_a_partition_key_has_up_to_2048_bytes(
    dynamodb: Any, create: Callable[..., str], longest: Any, too_long: Any
) -> None:
    table = create("p:B" if isinstance(longest, bytes) else "p:S")
    dynamodb.put_item(TableName=table, Item=item(p=longest))
    assert "Item" in dynamodb.get_item(TableName=table, Key=item(p=longest))
    with invalid(HASH_TOO_LONG):
        dynamodb.put_item(TableName=table, Item=item(p=too_long))


@pytest.mark.parametrize(
    ("type_", "longest", "too_long"),
    [("S", "x" * 1024, "x" * 1025), ("B", b"x" * 1024, b"x" * 1025), ("S", "é" * 512, "é" * 512 + "x")],
    ids=["S", "B", "two-byte characters"],
)
def test_a_sort_key_has_up_to_1024_bytes(
    dynamodb: Any, create: Callable[..., str], type_: str, longest: Any, too_long: Any
) -> None:
    table = create("p:S", f"r:{type_}")
    dynamodb.put_item(TableName=table, Item=item(p="1", r=longest))
    with invalid(RANGE_TOO_LONG):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=too_long))


def test_reads_of_too_long_keys_are_rejected(dynamodb: Any, create: Callable[..., str]) -> None:
    """Applies on reads too (limits.md section 2, captured)."""
    table = create("p:S", "r:S")
    with invalid(HASH_TOO_LONG):
        dynamodb.get_item(TableName=table, Key=item(p="x" * 2049, r="1"))
    with invalid(RANGE_TOO_LONG):
        dynamodb.get_item(TableName=table, Key=item(p="x", r="x" * 1025))


def test_two_sort_keys_of_1024_bytes_fit_beside_each_other(dynamodb: Any, create: Callable[..., str]) -> None:
    """The message says "aggregated", yet each counts alone (limits.md section 2, captured)."""
    table = create("p:S", "r:S", lsi={"local": ("s:S", "ALL")})
    dynamodb.put_item(TableName=table, Item=item(p="1", r="x" * 1024, s="y" * 1024))
    assert dynamodb.scan(TableName=table, IndexName="local")["Count"] == 1


def test_too_long_index_keys_are_rejected(dynamodb: Any, create: Callable[..., str]) -> None:
    """A write with a secondary-index key value too long is refused (limits.md section 2)."""
    table = create("p:S", gsi={"global": ("g:S", "s:B", "ALL")})
    dynamodb.put_item(TableName=table, Item=item(p="1", g="x" * 2048, s=b"y" * 1024))
    for bad in (item(p="2", g="x" * 2049), item(p="2", g="x", s=b"y" * 1025), item(p="2", s=b"y" * 1025)):
        with invalid():
            dynamodb.put_item(TableName=table, Item=bad)
    with invalid(
        "The update expression attempted to update the secondary index key beyond allowed size limits"
    ):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression="SET g = :g",
            ExpressionAttributeValues={":g": {"S": "x" * 2049}},
        )
