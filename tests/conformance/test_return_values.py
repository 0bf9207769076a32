"""ReturnValues of the three writes, and the item a failed condition may show.

Sources: expressions.md section 5 (last lines), new-features.md section 1, errors.md sections 3 and 6.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, plain, refused

OLD = item(p="1", a=1, b=2, m={"x": 1, "y": 2}, l=["a", "b", "c"])


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    """A table with the item OLD."""
    name = create("p:S")
    dynamodb.put_item(TableName=name, Item=OLD)
    return name


def test_put_and_delete_return_nothing_by_default(dynamodb: Any, table: str) -> None:
    assert "Attributes" not in dynamodb.put_item(TableName=table, Item=OLD)
    assert "Attributes" not in dynamodb.delete_item(TableName=table, Key=item(p="1"))


def test_put_and_delete_return_the_old_item(dynamodb: Any, table: str) -> None:
    new = item(p="1", a=9)
    assert dynamodb.put_item(TableName=table, Item=new, ReturnValues="ALL_OLD")["Attributes"] == OLD
    gone = dynamodb.delete_item(TableName=table, Key=item(p="1"), ReturnValues="ALL_OLD")
    assert gone["Attributes"] == new


def test_without_an_old_item_there_are_no_attributes(dynamodb: Any, table: str) -> None:
    put = dynamodb.put_item(TableName=table, Item=item(p="new"), ReturnValues="ALL_OLD")
    deleted = dynamodb.delete_item(TableName=table, Key=item(p="none"), ReturnValues="ALL_OLD")
    assert "Attributes" not in put
    assert "Attributes" not in deleted


@pytest.mark.parametrize("mode", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_put_allows_only_all_old(dynamodb: Any, table: str, mode: str) -> None:
    """Enveloped: an invalid ReturnValues is of the enveloped families (errors.md section 3)."""
    with invalid("1 validation error detected: ReturnValues can only be ALL_OLD or NONE"):
        dynamodb.put_item(TableName=table, Item=OLD, ReturnValues=mode)


def test_delete_reports_its_allowed_modes(dynamodb: Any, table: str) -> None:
    with invalid("1 validation error detected: ReturnValues can only be ALL_OLD or NONE"):
        dynamodb.delete_item(TableName=table, Key=item(p="1"), ReturnValues="ALL_NEW")


def test_an_unknown_mode_is_rejected_with_the_set(dynamodb: Any, table: str) -> None:
    with invalid(
        "1 validation error detected: Failed to satisfy constraint: Member must satisfy enum value set: "
        "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
    ):
        dynamodb.update_item(TableName=table, Key=item(p="1"), ReturnValues="EVERYTHING")


UPDATE = "SET a = a + :one, m.x = :nine REMOVE b, l[1]"
NEW = {"p": "1", "a": 2, "m": {"x": 9, "y": 2}, "l": ["a", "c"]}

MODES: dict[str, dict[str, Any] | None] = {
    "NONE": None,
    "ALL_OLD": plain(OLD),
    "ALL_NEW": NEW,
    # Only the written paths, as nested fragments; list elements packed (expressions.md section 5).
    "UPDATED_OLD": {"a": 1, "b": 2, "m": {"x": 1}, "l": ["b"]},
    "UPDATED_NEW": {"a": 2, "m": {"x": 9}, "l": ["c"]},
}


@pytest.mark.parametrize(("mode", "attributes"), MODES.items(), ids=MODES)
def test_update_return_value_modes(
    dynamodb: Any, table: str, mode: str, attributes: dict[str, Any] | None
) -> None:
    answer = dynamodb.update_item(
        TableName=table,
        Key=item(p="1"),
        UpdateExpression=UPDATE,
        ExpressionAttributeValues={":one": {"N": "1"}, ":nine": {"N": "9"}},
        ReturnValues=mode,
    )
    assert plain(dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]) == NEW
    if attributes is None:
        assert "Attributes" not in answer
    else:
        assert plain(answer["Attributes"]) == attributes


UPSERT: dict[str, dict[str, Any] | None] = {
    "NONE": None,
    "ALL_OLD": None,
    "UPDATED_OLD": None,
    "ALL_NEW": {"p": "new", "a": 5},
    "UPDATED_NEW": {"a": 5},
}


@pytest.mark.parametrize(("mode", "attributes"), UPSERT.items(), ids=UPSERT)
def test_return_values_of_an_update_that_creates(
    dynamodb: Any, table: str, mode: str, attributes: dict[str, Any] | None
) -> None:
    answer = dynamodb.update_item(
        TableName=table,
        Key=item(p="new"),
        UpdateExpression="SET a = :five",
        ExpressionAttributeValues={":five": {"N": "5"}},
        ReturnValues=mode,
    )
    assert (plain(answer["Attributes"]) if "Attributes" in answer else None) == attributes


def test_a_removal_has_no_new_values_to_return(dynamodb: Any, table: str) -> None:
    """Attributes is absent when nothing is to be returned (expressions.md section 5)."""
    answer = dynamodb.update_item(
        TableName=table, Key=item(p="1"), UpdateExpression="REMOVE a", ReturnValues="UPDATED_NEW"
    )
    assert "Attributes" not in answer


@pytest.mark.parametrize("mode", ["UPDATED_OLD", "UPDATED_NEW"])
def test_an_update_without_expression_has_no_updated_values(dynamodb: Any, table: str, mode: str) -> None:
    answer = dynamodb.update_item(TableName=table, Key=item(p="1"), ReturnValues=mode)
    assert "Attributes" not in answer


FAILING: dict[str, dict[str, Any]] = {
    "put_item": {"Item": item(p="1")},
    "update_item": {"Key": item(p="1")},
    "delete_item": {"Key": item(p="1")},
}
FAILED = "The conditional request failed"


@pytest.mark.parametrize("operation", FAILING)
def test_a_failed_condition_shows_the_item_if_asked(dynamodb: Any, table: str, operation: str) -> None:
    with refused("ConditionalCheckFailedException", FAILED) as failure:
        getattr(dynamodb, operation)(
            TableName=table,
            **FAILING[operation],
            ConditionExpression="attribute_not_exists(p)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert failure.value.response["Item"] == OLD


@pytest.mark.parametrize("options", [{}, {"ReturnValuesOnConditionCheckFailure": "NONE"}])
@pytest.mark.parametrize("operation", FAILING)
def test_a_failed_condition_hides_the_item_by_default(
    dynamodb: Any, table: str, operation: str, options: dict[str, str]
) -> None:
    with refused("ConditionalCheckFailedException", FAILED) as failure:
        getattr(dynamodb, operation)(
            TableName=table,
            **FAILING[operation],
            ConditionExpression="attribute_not_exists(p)",
            ReturnValues="ALL_OLD",
            **options,
        )
    assert "Item" not in failure.value.response


@pytest.mark.parametrize("operation", FAILING)
def test_a_failed_condition_on_a_missing_item_returns_no_item(
    dynamodb: Any, table: str, operation: str
) -> None:
    parameters = {name: item(p="missing") for name in FAILING[operation]}
    with refused("ConditionalCheckFailedException", FAILED) as failure:
        getattr(dynamodb, operation)(
            TableName=table,
            **parameters,
            ConditionExpression="attribute_exists(p)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert "Item" not in failure.value.response


@pytest.mark.parametrize("operation", FAILING)
def test_a_failed_condition_changes_nothing(dynamodb: Any, table: str, operation: str) -> None:
    with refused("ConditionalCheckFailedException"):
        getattr(dynamodb, operation)(
            TableName=table, **FAILING[operation], ConditionExpression="attribute_not_exists(p)"
        )
    assert dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"] == OLD
