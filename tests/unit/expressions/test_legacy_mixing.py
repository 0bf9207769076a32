"""Expression and legacy parameters in one request.

Sources: errors.md section 6.4, expressions.md section 6.
"""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.errors import RequestRuleError
from faradisc.language.expressions.clauses import check_mixed, check_placeholders_wanted

QUERY_EXPRESSIONS = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
QUERY_LEGACY = ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions")


def request_with(*members: str) -> dict[str, Any]:
    return {"TableName": "t", **dict.fromkeys(members, "x")}


def mixed(*members: str) -> str | None:
    try:
        check_mixed(request_with(*members), QUERY_EXPRESSIONS, QUERY_LEGACY)
    except RequestRuleError as error:
        return error.message
    return None


def test_one_kind_of_parameters_is_accepted() -> None:
    assert mixed() is None
    assert mixed(*QUERY_EXPRESSIONS) is None
    assert mixed(*QUERY_LEGACY) is None


def test_both_kinds_raise_and_are_named_in_a_fixed_order() -> None:
    assert mixed("KeyConditionExpression", "FilterExpression", "QueryFilter", "AttributesToGet") == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet, QueryFilter} "
        "Expression parameters: {FilterExpression, KeyConditionExpression}"
    )


def test_key_conditions_with_other_expressions_are_accepted() -> None:
    assert mixed("KeyConditions", "FilterExpression", "ProjectionExpression") is None
    assert mixed("KeyConditions", "KeyConditionExpression") is not None
    assert mixed("KeyConditions", "FilterExpression", "QueryFilter") == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {QueryFilter} Expression parameters: {FilterExpression}"
    )


def unwanted(expressions: tuple[str, ...], *members: str, **options: bool) -> str | None:
    try:
        check_placeholders_wanted(request_with(*members), expressions, **options)
    except RequestRuleError as error:
        return error.message
    return None


NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"


def test_names_need_an_expression() -> None:
    assert unwanted(("ConditionExpression",), NAMES) == (
        "ExpressionAttributeNames can only be specified when using expressions"
    )
    assert unwanted(("ConditionExpression",), NAMES, "ConditionExpression") is None
    assert unwanted(QUERY_EXPRESSIONS, NAMES, "ProjectionExpression") is None


@pytest.mark.parametrize(
    ("expressions", "tail"),
    [
        (("ConditionExpression",), "ConditionExpression is null"),
        (("UpdateExpression", "ConditionExpression"), "UpdateExpression and ConditionExpression are null"),
        (QUERY_EXPRESSIONS, "FilterExpression and KeyConditionExpression are null"),
    ],
)
def test_values_need_an_expression_that_can_use_them(expressions: tuple[str, ...], tail: str) -> None:
    assert unwanted(expressions, VALUES) == (
        f"ExpressionAttributeValues can only be specified when using expressions: {tail}"
    )
    assert unwanted(expressions, VALUES, expressions[-1]) is None


def test_error_without_the_missing_expressions() -> None:
    assert unwanted(("ConditionExpression",), VALUES, names_values_users=False) == (
        "ExpressionAttributeValues can only be specified when using expressions"
    )


def test_a_projection_cannot_use_values() -> None:
    assert unwanted(QUERY_EXPRESSIONS, VALUES, "ProjectionExpression") == (
        "ExpressionAttributeValues can only be specified when using expressions: "
        "FilterExpression and KeyConditionExpression are null"
    )
