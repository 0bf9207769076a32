"""BatchGetItem and BatchWriteItem: several tables, limits, duplicates, what comes back unprocessed.

Sources: errors.md section 6.7; limits.md section 4; capacity.md section 2.0 and V39c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import everything, invalid, item, new_name, plain, refused


@pytest.fixture
def tables(create: Callable[..., str]) -> tuple[str, str]:
    return create("p:S"), create("p:S", "r:N", gsi={"global": ("g:S", "", "ALL")})


def put(**attributes: Any) -> dict[str, Any]:
    return {"PutRequest": {"Item": item(**attributes)}}


def delete(**key: Any) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": item(**key)}}


def test_puts_and_deletes_in_several_tables(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, two = tables
    dynamodb.put_item(TableName=one, Item=item(p="old"))
    answer = dynamodb.batch_write_item(
        RequestItems={
            one: [put(p="new", n=1), delete(p="old"), delete(p="never there")],
            two: [put(p="a", r=1, g="x"), put(p="a", r=2)],
        }
    )
    assert answer["UnprocessedItems"] == {}
    assert everything(dynamodb.scan, TableName=one) == [item(p="new", n=1)]
    assert everything(dynamodb.scan, TableName=two, IndexName="global") == [item(p="a", r=1, g="x")]
    found = dynamodb.batch_get_item(
        RequestItems={
            one: {"Keys": [item(p="new"), item(p="old")]},
            two: {"Keys": [item(p="a", r=2), item(p="a", r=1)], "ConsistentRead": True},
        }
    )
    assert found["Responses"][one] == [item(p="new", n=1)]
    assert {plain(i)["r"] for i in found["Responses"][two]} == {1, 2}
    assert found["UnprocessedKeys"] == {}


def test_a_batch_replaces_whole_items(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, _ = tables
    dynamodb.put_item(TableName=one, Item=item(p="1", a=1))
    dynamodb.batch_write_item(RequestItems={one: [put(p="1", b=2)]})
    assert everything(dynamodb.scan, TableName=one) == [item(p="1", b=2)]


def test_nothing_found_gives_an_empty_list_per_table(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, two = tables
    found = dynamodb.batch_get_item(
        RequestItems={one: {"Keys": [item(p="x")]}, two: {"Keys": [item(p="x", r=1)]}}
    )
    assert found["Responses"] == {one: [], two: []}


def test_each_table_has_its_own_projection(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, two = tables
    dynamodb.batch_write_item(RequestItems={one: [put(p="1", a=1, b=2)], two: [put(p="1", r=1, a=1, b=2)]})
    found = dynamodb.batch_get_item(
        RequestItems={
            one: {
                "Keys": [item(p="1")],
                "ProjectionExpression": "#a",
                "ExpressionAttributeNames": {"#a": "a"},
            },
            two: {"Keys": [item(p="1", r=1)], "AttributesToGet": ["b", "p"]},
        }
    )
    assert found["Responses"] == {one: [item(a=1)], two: [item(b=2, p="1")]}


def test_25_writes_and_100_reads_fit(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, two = tables
    for start in range(0, 100, 25):
        puts = [put(p=str(number)) for number in range(start, start + 25)]
        dynamodb.batch_write_item(RequestItems={one: puts})
    hundred = [item(p=str(number)) for number in range(100)]
    found = dynamodb.batch_get_item(RequestItems={one: {"Keys": hundred}})
    assert len(found["Responses"][one]) == 100
    split = {one: [put(p=str(n)) for n in range(12)], two: [put(p="1", r=n) for n in range(13)]}
    assert dynamodb.batch_write_item(RequestItems=split)["UnprocessedItems"] == {}


def test_26_writes_are_rejected(dynamodb: Any, tables: tuple[str, str]) -> None:
    """One table: the constraint; several: the operation's own text, from an emulator (errors.md 10)."""
    one, two = tables
    with refused("ValidationException") as failure:
        dynamodb.batch_write_item(RequestItems={one: [put(p=str(n)) for n in range(26)]})
    text = failure.value.response["Error"]["Message"]
    assert text.endswith(
        " at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, "
        "Member must have length greater than or equal to 1]"
    )
    with invalid("Too many items requested for the BatchWriteItem call"):
        dynamodb.batch_write_item(
            RequestItems={one: [put(p=str(n)) for n in range(13)], two: [put(p="1", r=n) for n in range(13)]}
        )


def test_101_reads_are_rejected(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, two = tables
    with invalid(
        f"1 validation error detected: Value at 'RequestItems.{one}.member.Keys' failed to satisfy "
        "constraint: Member must have length less than or equal to 100"
    ):
        dynamodb.batch_get_item(RequestItems={one: {"Keys": [item(p=str(n)) for n in range(101)]}})
    with invalid("Too many items requested for the BatchGetItem call"):
        dynamodb.batch_get_item(
            RequestItems={
                one: {"Keys": [item(p=str(n)) for n in range(51)]},
                two: {"Keys": [item(p="1", r=n) for n in range(50)]},
            }
        )


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (
            "batch_get_item",
            "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
        ("batch_write_item", "The requestItems parameter is required for BatchWriteItem"),
    ],
)
def test_an_empty_batch_is_rejected(dynamodb: Any, operation: str, text: str) -> None:
    with invalid(text):
        getattr(dynamodb, operation)(RequestItems={})


DUPLICATES = "Provided list of item keys contains duplicates"


@pytest.mark.parametrize(
    "requests",
    [
        [put(p="1", r=1), put(p="1", r=1, x=1)],
        [put(p="1", r=1), delete(p="1", r=1)],
        [delete(p="1", r=1), delete(p="1", r=1)],
        [put(p="1", r=1), {"PutRequest": {"Item": {"p": {"S": "1"}, "r": {"N": "1.0"}}}}],
    ],
    ids=["two puts", "put and delete", "two deletes", "one number written twice"],
)
def test_no_item_is_written_twice(
    dynamodb: Any, tables: tuple[str, str], requests: list[dict[str, Any]]
) -> None:
    with invalid(DUPLICATES):
        dynamodb.batch_write_item(RequestItems={tables[1]: requests})
    assert everything(dynamodb.scan, TableName=tables[1]) == []


def test_no_item_is_read_twice(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, two = tables
    with invalid(DUPLICATES):
        dynamodb.batch_get_item(RequestItems={one: {"Keys": [item(p="1"), item(p="1")]}})
    with invalid(DUPLICATES):
        dynamodb.batch_get_item(
            RequestItems={two: {"Keys": [item(p="1", r=1), {"r": {"N": "1e0"}, "p": {"S": "1"}}]}}
        )


def test_duplicate_reads_are_found_before_the_table_is_looked_up(dynamodb: Any) -> None:
    """Source: errors.md section 4, "Captured details"."""
    with invalid(DUPLICATES):
        dynamodb.batch_get_item(RequestItems={new_name(): {"Keys": [item(p="1"), item(p="1")]}})


def test_duplicate_deletes_are_found_before_the_table_is_looked_up(dynamodb: Any) -> None:
    """Source: errors.md section 4, "Captured details"."""
    with invalid(DUPLICATES):
        dynamodb.batch_write_item(RequestItems={new_name(): [delete(p="1"), delete(p="1")]})


def test_keys_are_compared_with_the_schema_after_duplicates(dynamodb: Any, tables: tuple[str, str]) -> None:
    with invalid("The provided key element does not match the schema"):
        dynamodb.batch_get_item(RequestItems={tables[0]: {"Keys": [item(p="1"), item(q="1")]}})


def test_one_missing_table_fails_the_whole_batch(dynamodb: Any, tables: tuple[str, str]) -> None:
    one, _ = tables
    with refused("ResourceNotFoundException", "Requested resource not found"):
        dynamodb.batch_write_item(RequestItems={one: [put(p="1")], new_name(): [put(p="1")]})
    assert everything(dynamodb.scan, TableName=one) == []
    with refused("ResourceNotFoundException", "Requested resource not found"):
        dynamodb.batch_get_item(
            RequestItems={one: {"Keys": [item(p="1")]}, new_name(): {"Keys": [item(p="1")]}}
        )


@pytest.mark.parametrize(
    "bad", [put(x=1), put(p=1), delete(p=1), delete(p="1", r=1)], ids=["no key", "put", "delete", "long"]
)
def test_one_bad_request_fails_the_whole_batch(
    dynamodb: Any, tables: tuple[str, str], bad: dict[str, Any]
) -> None:
    """The whole request is validated first (capacity.md section 2.11)."""
    one, _ = tables
    with invalid("The provided key element does not match the schema"):
        dynamodb.batch_write_item(RequestItems={one: [put(p="good"), bad]})
    assert everything(dynamodb.scan, TableName=one) == []


@pytest.mark.parametrize(
    "request_", [{}, {**put(p="1"), **delete(p="2")}], ids=["neither put nor delete", "both"]
)
def test_a_write_request_has_exactly_one_action(
    dynamodb: Any, tables: tuple[str, str], request_: dict[str, Any]
) -> None:
    with invalid(
        "Supplied AttributeValue has more than one datatypes set, "
        "must contain exactly one of the supported datatypes"
    ):
        dynamodb.batch_write_item(RequestItems={tables[0]: [request_]})


def test_v39c_a_batch_get_returns_up_to_16_megabytes(dynamodb: Any, create: Callable[..., str]) -> None:
    """V39c: of 100 items of 300 KB, 52 come back and 48 keys are unprocessed; asked again, the rest.

    Source: capacity.md sections 2.0 and 4.2, from the documentation's example."""
    table = create("p:S")
    size = 300 * 1024
    for number in range(100):
        dynamodb.put_item(TableName=table, Item=item(p=f"{number:02}", v="x" * (size - 4)))
    wanted = {table: {"Keys": [item(p=f"{number:02}") for number in range(100)], "ConsistentRead": True}}
    first = dynamodb.batch_get_item(RequestItems=wanted)
    assert len(first["Responses"][table]) == 52
    assert len(first["UnprocessedKeys"][table]["Keys"]) == 48
    assert first["UnprocessedKeys"][table]["ConsistentRead"] is True
    second = dynamodb.batch_get_item(RequestItems=first["UnprocessedKeys"])
    assert second["UnprocessedKeys"] == {}
    keys = {i["p"]["S"] for i in first["Responses"][table] + second["Responses"][table]}
    assert keys == {f"{number:02}" for number in range(100)}


def test_unprocessed_keys_keep_their_parameters(
    dynamodb: Any, tables: tuple[str, str], in_process_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faradisc.operations.batch_get_item.BATCH_GET_BYTES_MAX", 250)
    one, two = tables
    for number in range(3):
        dynamodb.put_item(TableName=one, Item=item(p=str(number), v="x" * 100))
        dynamodb.put_item(TableName=two, Item=item(p=str(number), r=1, v="x" * 100))
    projection = {"ProjectionExpression": "#p", "ExpressionAttributeNames": {"#p": "p"}}
    wanted = {
        one: {"Keys": [item(p=str(number)) for number in range(3)], **projection},
        two: {"Keys": [item(p="0", r=1)], "ConsistentRead": True},
    }
    answer = dynamodb.batch_get_item(RequestItems=wanted)
    assert answer["Responses"] == {one: [item(p="0"), item(p="1")], two: []}
    assert answer["UnprocessedKeys"] == {one: {**wanted[one], "Keys": [item(p="2")]}, two: wanted[two]}
