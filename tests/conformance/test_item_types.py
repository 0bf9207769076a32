"""Items of every type come back as they were put, in canonical form.

Sources: limits.md section 2; expressions.md section 8; errors.md sections 3 and 6.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item

ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


def stored(dynamodb: Any, table: str, value: dict[str, Any]) -> dict[str, Any]:
    """The value after a put and a get."""
    dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "v": value})
    return dynamodb.get_item(TableName=table, Key=item(p="1"), ConsistentRead=True)["Item"]["v"]


SAME: dict[str, dict[str, Any]] = {
    "string": {"S": "text"},
    "empty string": {"S": ""},
    "string with every kind of character": {"S": 'quote " back \\ tab \t nul \x00 é ☃ 𝄞 \ud7ff'},
    "number": {"N": "12.5"},
    "negative number": {"N": "-0.001"},
    "binary": {"B": b"\x00\xff\x80"},
    "empty binary": {"B": b""},
    "true": {"BOOL": True},
    "false": {"BOOL": False},
    "null": {"NULL": True},
    "empty list": {"L": []},
    "empty map": {"M": {}},
    "list of every type": {
        "L": [
            {"S": "a"},
            {"N": "1"},
            {"B": b"b"},
            {"BOOL": True},
            {"NULL": True},
            {"SS": ["x"]},
            {"NS": ["1"]},
            {"BS": [b"b"]},
            {"L": [{"L": []}]},
            {"M": {"k": {"M": {}}}},
        ]
    },
    "map with odd names": {"M": {"a.b": {"S": "dot"}, "#x[0]": {"S": "signs"}}},
    "string set with an empty member": {"SS": ["", "a"]},
    "binary set with an empty member": {"BS": [b"", b"a"]},
}


@pytest.mark.parametrize("value", SAME.values(), ids=SAME)
def test_get_returns_the_value_that_was_put(dynamodb: Any, table: str, value: dict[str, Any]) -> None:
    assert stored(dynamodb, table, value) == value


def test_sets_have_no_order(dynamodb: Any, table: str) -> None:
    assert set(stored(dynamodb, table, {"SS": ["b", "a", "c"]})["SS"]) == {"a", "b", "c"}
    assert set(stored(dynamodb, table, {"NS": ["10", "9", "-1"]})["NS"]) == {"10", "9", "-1"}
    assert set(stored(dynamodb, table, {"BS": [b"b", b"a"]})["BS"]) == {b"a", b"b"}


def test_numbers_in_sets_are_normalised(dynamodb: Any, table: str) -> None:
    assert set(stored(dynamodb, table, {"NS": ["1.0", "02", "3e1"]})["NS"]) == {"1", "2", "30"}


def test_a_put_replaces_the_whole_item(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", a=1, b=2))
    dynamodb.put_item(TableName=table, Item=item(p="1", c=3))
    assert dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"] == item(p="1", c=3)


def test_a_missing_item_answers_without_the_member(dynamodb: Any, table: str) -> None:
    assert "Item" not in dynamodb.get_item(TableName=table, Key=item(p="missing"))


def test_reads_see_writes_at_once(dynamodb: Any, table: str) -> None:
    """Class 4 of engine-requirements.md: read your writes."""
    for number in range(5):
        dynamodb.put_item(TableName=table, Item=item(p="1", n=number))
        for consistent in (True, False):
            found = dynamodb.get_item(TableName=table, Key=item(p="1"), ConsistentRead=consistent)
            assert found["Item"] == item(p="1", n=number)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "deep"}
    for level in range(levels):
        value = {"M": {"m": value}} if level % 2 else {"L": [value]}
    return value


def test_31_nested_containers_fit_under_an_attribute(dynamodb: Any, table: str) -> None:
    """The item is the first of 32 levels (limits.md section 2)."""
    assert stored(dynamodb, table, nested(31)) == nested(31)


def test_32_nested_containers_are_rejected(dynamodb: Any, table: str) -> None:
    with invalid(
        "1 validation error detected: Nesting Levels have exceeded supported limits: "
        "Attributes in the item have nested levels beyond supported limit"
    ):
        dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "v": nested(32)})


EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no type": ({}, EMPTY),
    "two types": ({"S": "a", "N": "1"}, SEVERAL),
    "no type, nested": ({"L": [{}]}, EMPTY),
    "two types, nested": ({"M": {"k": {"S": "a", "BOOL": True}}}, SEVERAL),
    "NULL false": (
        {"NULL": False},
        ENVELOPE + INVALID + "Null attribute value types must have the value of true",
    ),
    "empty string set": ({"SS": []}, ENVELOPE + INVALID + "An string set  may not be empty"),
    "empty number set": ({"NS": []}, ENVELOPE + INVALID + "An number set  may not be empty"),
    "empty binary set": ({"BS": []}, ENVELOPE + INVALID + "Binary sets should not be empty"),
    "duplicate strings": (
        {"SS": ["b", "a", "b"]},
        ENVELOPE + INVALID + 'Input collection ["a", "b", "b"] contains duplicates.',
    ),
    "duplicate numbers": (
        {"NS": ["1", "2", "1.0"]},
        ENVELOPE + INVALID + "Input collection contains duplicates.",
    ),
    "duplicate binaries": (
        {"BS": [b"\x00", b"\xff", b"\x00"]},
        ENVELOPE + INVALID + 'Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
    ),
    "no number": ({"N": "abc"}, ENVELOPE + "The parameter cannot be converted to a numeric value: abc"),
    "empty number": ({"N": ""}, ENVELOPE + "The parameter cannot be converted to a numeric value: "),
    "empty number in a set": (
        {"NS": [""]},
        ENVELOPE + "The parameter cannot be converted to a numeric value: ",
    ),
    "no number, nested": (
        {"M": {"k": {"L": [{"N": "1x"}]}}},
        ENVELOPE + "The parameter cannot be converted to a numeric value: 1x",
    ),
}


@pytest.mark.parametrize(("value", "text"), REFUSED.values(), ids=REFUSED)
def test_put_rejects_invalid_values(dynamodb: Any, table: str, value: dict[str, Any], text: str) -> None:
    with invalid(text):
        dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "v": value})
    assert dynamodb.scan(TableName=table)["Count"] == 0


OLD_WORDING: dict[str, tuple[dict[str, Any], str]] = {
    "empty number": ({"N": ""}, "The parameter cannot be converted to a numeric value"),
    "no number": ({"N": "abc"}, "The parameter cannot be converted to a numeric value: abc"),
    "duplicate strings": (
        {"SS": ["b", "a", "b"]},
        INVALID + "Input collection [b, a, b] contains duplicates.",
    ),
    "duplicate binaries": (
        {"BS": [b"\xff", b"\x00", b"\x00"]},
        INVALID + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
    ),
    "duplicate numbers": ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
}


@pytest.mark.parametrize(("value", "text"), OLD_WORDING.values(), ids=OLD_WORDING)
def test_batch_write_item_has_the_old_texts_for_values(
    dynamodb: Any, table: str, value: dict[str, Any], text: str
) -> None:
    """BatchWriteItem is in the old validation layer (errors.md section 3)."""
    put = {"PutRequest": {"Item": {"p": {"S": "1"}, "v": value}}}
    with invalid(text):
        dynamodb.batch_write_item(RequestItems={table: [put]})


def test_get_item_has_the_new_texts_without_envelope(dynamodb: Any, table: str) -> None:
    """GetItem: new wording, bare (errors.md section 3)."""
    with invalid("The parameter cannot be converted to a numeric value: "):
        dynamodb.get_item(TableName=table, Key={"p": {"N": ""}})


def test_a_bad_value_in_a_scan_s_expression_has_no_envelope(dynamodb: Any, table: str) -> None:
    with invalid("The parameter cannot be converted to a numeric value: abc"):
        dynamodb.scan(
            TableName=table, FilterExpression="v = :v", ExpressionAttributeValues={":v": {"N": "abc"}}
        )


def test_a_bad_value_in_a_query_s_expression_has_no_envelope(dynamodb: Any, table: str) -> None:
    with invalid("The parameter cannot be converted to a numeric value: abc"):
        dynamodb.query(
            TableName=table, KeyConditionExpression="p = :v", ExpressionAttributeValues={":v": {"N": "abc"}}
        )


def test_an_attribute_name_is_never_empty(dynamodb: Any, table: str) -> None:
    """Source: limits.md section 1; the text is not captured."""
    with invalid():
        dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "": {"S": "a"}})


def test_an_attribute_name_has_up_to_65535_bytes(dynamodb: Any, table: str) -> None:
    """65,536 is refused (limits.md section 1, captured); the text is not."""
    longest = "n" * 65_535
    dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, longest: {"S": "a"}})
    assert longest in dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]
    with invalid():
        dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, longest + "n": {"S": "a"}})
