"""Answers on items in the words of newer recordings of the service (errors.md sections 6.2 to 6.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, refused

INVALID = "One or more parameter values were invalid: "
ENVELOPE = "1 validation error detected: "
CREATE = Callable[..., str]


@pytest.fixture
def table(create: CREATE) -> str:
    return create("p:S")


# --- Updates of a missing item ---


@pytest.mark.parametrize("update", ["REMOVE x", "REMOVE x.y, z[3]", "DELETE x :v", "REMOVE y DELETE x :v"])
def test_an_update_that_only_removes_does_not_create_an_item(dynamodb: Any, table: str, update: str) -> None:
    values = {"ExpressionAttributeValues": {":v": {"SS": ["a"]}}} if ":v" in update else {}
    request = {"TableName": table, "Key": item(p="1"), "UpdateExpression": update, **values}
    for mode in ("ALL_NEW", "UPDATED_NEW", "ALL_OLD"):
        assert "Attributes" not in dynamodb.update_item(**request, ReturnValues=mode)
    dynamodb.transact_write_items(TransactItems=[{"Update": request}])
    assert dynamodb.scan(TableName=table)["Count"] == 0


def test_a_legacy_update_that_only_deletes_does_not_create_an_item(dynamodb: Any, table: str) -> None:
    for update in ({"Action": "DELETE"}, {"Action": "DELETE", "Value": {"SS": ["a"]}}):
        dynamodb.update_item(TableName=table, Key=item(p="1"), AttributeUpdates={"x": update})
    assert dynamodb.scan(TableName=table)["Count"] == 0


@pytest.mark.parametrize("update", [{}, {"UpdateExpression": "REMOVE x SET y = :v"}])
def test_other_updates_create_an_item(dynamodb: Any, table: str, update: dict[str, Any]) -> None:
    values = {"ExpressionAttributeValues": {":v": {"S": "1"}}} if update else {}
    dynamodb.update_item(TableName=table, Key=item(p="1"), **update, **values)
    assert dynamodb.scan(TableName=table)["Count"] == 1


# --- Legacy parameters ---


@pytest.mark.parametrize("expected", [{}, {"Expected": {}}])
def test_a_conditional_operator_needs_conditions(dynamodb: Any, table: str, expected: dict[str, Any]) -> None:
    text = "ConditionalOperator cannot be used without Filter or Expected"
    with invalid(f"{ENVELOPE}{text}"):
        dynamodb.put_item(TableName=table, Item=item(p="1"), ConditionalOperator="OR", **expected)
    with invalid(f"{ENVELOPE}{text}"):
        dynamodb.update_item(TableName=table, Key=item(p="1"), ConditionalOperator="AND", **expected)
    with invalid(text):
        dynamodb.scan(TableName=table, ConditionalOperator="OR")


def test_not_contains_is_false_for_a_missing_attribute(dynamodb: Any, table: str) -> None:
    condition = {"x": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [{"S": "a"}]}}
    dynamodb.put_item(TableName=table, Item=item(p="1"))
    with refused("ConditionalCheckFailedException"):
        dynamodb.put_item(TableName=table, Item=item(p="1"), Expected=condition)
    assert dynamodb.scan(TableName=table, ScanFilter=condition)["Items"] == []
    dynamodb.put_item(TableName=table, Item=item(p="1", x="bcd"))
    dynamodb.put_item(TableName=table, Item=item(p="1", x="bcd"), Expected=condition)
    assert dynamodb.scan(TableName=table, ScanFilter=condition)["Count"] == 1


def test_filters_compare_documents(dynamodb: Any, create: CREATE) -> None:
    table = create("p:S", "r:S")
    dynamodb.put_item(TableName=table, Item=item(p="1", r="a", x=["u"]))
    dynamodb.put_item(TableName=table, Item=item(p="1", r="b", x={"k": "v"}))
    key = {"p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "1"}]}}
    for value, equal, other in (
        ({"L": [{"S": "u"}]}, "a", "b"),
        ({"M": {"k": {"S": "v"}}}, "b", "a"),
    ):
        for operator, found in (("EQ", equal), ("NE", other)):
            condition = {"x": {"ComparisonOperator": operator, "AttributeValueList": [value]}}
            scanned = dynamodb.scan(TableName=table, ScanFilter=condition)["Items"]
            queried = dynamodb.query(TableName=table, KeyConditions=key, QueryFilter=condition)["Items"]
            assert [each["r"]["S"] for each in scanned] == [each["r"]["S"] for each in queried] == [found]


def test_a_scan_may_filter_by_what_its_index_does_not_project(dynamodb: Any, create: CREATE) -> None:
    table = create(
        "p:S", "r:S", lsi={"local": ("s:S", "KEYS_ONLY")}, gsi={"global": ("g:S", "", "KEYS_ONLY")}
    )
    dynamodb.put_item(TableName=table, Item=item(p="1", r="a", s="s", g="g", x="x"))
    for index in ("local", "global"):
        scan = {"TableName": table, "IndexName": index}
        present = dynamodb.scan(**scan, FilterExpression="attribute_exists(x)")
        assert (present["Count"], present["ScannedCount"]) == (0, 1)
        assert dynamodb.scan(**scan, FilterExpression="attribute_not_exists(x)")["Count"] == 1


# --- Expressions ---


@pytest.mark.parametrize("name", ["_abc", "_123", "a._b"])
def test_names_do_not_begin_with_an_underscore(dynamodb: Any, table: str, name: str) -> None:
    with pytest.raises(Exception, match="Invalid UpdateExpression: Syntax error; token: "):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression=f"SET {name} = :v",
            ExpressionAttributeValues={":v": {"S": "1"}},
        )
    with pytest.raises(Exception, match="Invalid FilterExpression: Syntax error; token: "):
        dynamodb.scan(TableName=table, FilterExpression=f"_f({name})")


def test_functions_of_updates_are_not_allowed_in_conditions(dynamodb: Any, table: str) -> None:
    for name, text in (("if_not_exists", "if_not_exists(x, y)"), ("list_append", "x = list_append(x, y)")):
        with invalid(
            f"{ENVELOPE}Invalid ConditionExpression: "
            f"The function is not allowed in a condition expression; function: {name}"
        ):
            dynamodb.put_item(TableName=table, Item=item(p="1"), ConditionExpression=text)


def test_paths_have_at_most_32_levels(dynamodb: Any, table: str) -> None:
    dynamodb.get_item(TableName=table, Key=item(p="1"), ProjectionExpression="a" + ".b" * 32)
    with invalid(
        "Invalid ProjectionExpression: The document path has too many nesting levels; nesting levels: 33"
    ):
        dynamodb.get_item(TableName=table, Key=item(p="1"), ProjectionExpression="a" + ".b" * 32 + "[0]")


# --- Values ---


def test_an_index_key_of_a_wrong_type_is_named(dynamodb: Any, create: CREATE) -> None:
    table = create("p:S", gsi={"index": ("g:S", "", "ALL")})
    dynamodb.put_item(TableName=table, Item=item(p="1", n=1))
    update = {"TableName": table, "Key": item(p="1")}
    mismatch = INVALID + "Type mismatch for Index Key g Expected: S Actual: {} IndexName: index"
    for kind, value in (("NULL", {"NULL": True}), ("N", {"N": "1"})):
        with invalid(mismatch.format(kind)):
            dynamodb.update_item(
                **update, UpdateExpression="SET g = :v", ExpressionAttributeValues={":v": value}
            )
        with invalid(mismatch.format(kind)):
            dynamodb.update_item(**update, AttributeUpdates={"g": {"Value": value}})
    with invalid("The update expression attempted to update the secondary index key to unsupported type"):
        dynamodb.update_item(**update, UpdateExpression="SET g = n")


def test_duplicate_binaries_are_shown_as_sent(dynamodb: Any, table: str) -> None:
    with invalid(
        f'{ENVELOPE}{INVALID}Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.'
    ):
        dynamodb.put_item(TableName=table, Item={**item(p="1"), "b": {"BS": [b"\x00", b"\xff", b"\x00"]}})
