"""Queries and scans that are refused, in the service's words.

Source: errors.md sections 4 and 6.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item

PREFIX = "Invalid KeyConditionExpression: "
TWICE = "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"
MISMATCH = "One or more parameter values were invalid: Condition parameter type does not match schema type"
START = "The provided starting key is invalid"


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    name = create(
        "p:S",
        "r:N",
        lsi={"local": ("a:N", "KEYS_ONLY")},
        gsi={"global": ("g:S", "", ["x"]), "whole": ("g:S", "", "ALL")},
    )
    dynamodb.put_item(TableName=name, Item=item(p="1", r=1, a=1, g="1", x=1, y=1))
    return name


VALUES = item(**{":p": "1", ":r": 1, ":s": 2, ":t": "t", ":l": [1]})

KEY_CONDITIONS: dict[str, str] = {
    "p = :p OR r = :r": "Invalid operator used in KeyConditionExpression: OR",
    "NOT p = :p": "Invalid operator used in KeyConditionExpression: NOT",
    "p <> :p": "Invalid operator used in KeyConditionExpression: <>",
    "p IN (:p)": "Invalid operator used in KeyConditionExpression: IN",
    "p = :p AND attribute_exists(r)": "Invalid operator used in KeyConditionExpression: attribute_exists",
    "p = :p AND contains(r, :r)": "Invalid operator used in KeyConditionExpression: contains",
    "r = :r": "Query condition missed key schema element: p",
    "p = :p AND x = :r": "Query condition missed key schema element: r",
    "p > :p": "Query key condition not supported",
    "begins_with(p, :p)": "Query key condition not supported",
    "p = :p AND r = :r AND a = :s": (
        "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"
    ),
    "p = :p AND r > :r AND r < :s": TWICE,
    "p = :p AND p = :t": TWICE,
    "p = :r": MISMATCH,
    "p = :p AND r > :t": MISMATCH,
    "p.x = :p": "KeyConditionExpressions cannot have conditions on nested attributes",
    "p[0] = :p": "KeyConditionExpressions cannot have conditions on nested attributes",
    "p = r": "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
    ":p = :t": "Invalid condition in KeyConditionExpression: No key attribute specified",
    "p = :p AND :r BETWEEN r AND :s": (
        "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its "
        "first operand"
    ),
    "p = :p AND begins_with(:t, r)": (
        "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as "
        "its first operand"
    ),
    "": PREFIX + "The expression can not be empty;",
    "p = :undefined": PREFIX
    + "An expression attribute value used in expression is not defined; attribute value: :undefined",
    "#undefined = :p": PREFIX
    + "An expression attribute name used in the document path is not defined; attribute name: #undefined",
    "size = :p": PREFIX + "Attribute name is a reserved keyword; reserved keyword: size",
}


@pytest.mark.parametrize(("expression", "text"), KEY_CONDITIONS.items())
def test_a_key_condition_is_rejected(dynamodb: Any, table: str, expression: str, text: str) -> None:
    words = "".join(c if c.isalnum() or c == ":" else " " for c in expression).split()
    values = {name: value for name, value in VALUES.items() if name in words}
    parameters = {"ExpressionAttributeValues": values} if values else {}
    with invalid(text):
        dynamodb.query(TableName=table, KeyConditionExpression=expression, **parameters)


def test_a_query_needs_a_key_condition(dynamodb: Any, table: str) -> None:
    with invalid(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    ):
        dynamodb.query(TableName=table)


BY_P = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "1"}}}
BY_G = {
    "IndexName": "global",
    "KeyConditionExpression": "g = :p",
    "ExpressionAttributeValues": {":p": {"S": "1"}},
}

QUERIES: dict[str, tuple[dict[str, Any], str]] = {
    "filter on the partition key": (
        {**BY_P, "FilterExpression": "p = :p"},
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: p",
    ),
    "filter on the sort key": (
        {**BY_P, "FilterExpression": "attribute_exists(r)"},
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: r",
    ),
    "unknown index": (
        {**BY_P, "IndexName": "none"},
        "The table does not have the specified index: none",
    ),
    "consistent read of a global index": (
        {**BY_G, "ConsistentRead": True},
        "Consistent reads are not supported on global secondary indexes",
    ),
    "all attributes of a global index that has not all": (
        {**BY_G, "Select": "ALL_ATTRIBUTES"},
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global "
        "secondary index global because its projection type is not ALL",
    ),
    "specific attributes without saying which": (
        {**BY_P, "Select": "SPECIFIC_ATTRIBUTES"},
        "1 validation error detected: Must specify the AttributesToGet or ProjectionExpression "
        "when choosing to get SPECIFIC_ATTRIBUTES",
    ),
    "projection of all attributes": (
        {**BY_P, "Select": "ALL_ATTRIBUTES", "ProjectionExpression": "x"},
        "1 validation error detected: "
        "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
    ),
    "projection of a count": (
        {**BY_P, "Select": "COUNT", "ProjectionExpression": "x"},
        "1 validation error detected: "
        "Cannot specify the ProjectionExpression when choosing to get only the Count",
    ),
    "projected attributes without an index": (
        {**BY_P, "Select": "ALL_PROJECTED_ATTRIBUTES"},
        "1 validation error detected: "
        "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
    ),
    "limit zero": (
        {**BY_P, "Limit": 0},
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1",
    ),
    "start key of another schema": ({**BY_P, "ExclusiveStartKey": item(p="1")}, START),
    "start key with a member too many": ({**BY_P, "ExclusiveStartKey": item(p="1", r=1, x=1)}, START),
    "start key of another type": (
        {**BY_P, "ExclusiveStartKey": item(p="1", r="1")},
        START,
    ),
    "start key whose range breaks the condition, of another partition": (
        {
            "KeyConditionExpression": "p = :p AND r > :r",
            "ExpressionAttributeValues": {":p": {"S": "1"}, ":r": {"N": "5"}},
            "ExclusiveStartKey": item(p="2", r=5),
        },
        "The provided starting key does not match the range key predicate",
    ),
    "start key whose range fits the condition, of another partition": (
        {
            "KeyConditionExpression": "p = :p AND r > :r",
            "ExpressionAttributeValues": {":p": {"S": "1"}, ":r": {"N": "5"}},
            "ExclusiveStartKey": item(p="2", r=6),
        },
        "The query can return at most one row and cannot be restarted",
    ),
    "start key with an empty name": (
        {**BY_P, "ExclusiveStartKey": {"": {"S": "1"}}},
        "Empty attribute name",
    ),
    "start key of another partition": (
        {**BY_P, "ExclusiveStartKey": item(p="2", r=1)},
        "The provided starting key is outside query boundaries based on provided conditions",
    ),
    "start key outside the range": (
        {
            "KeyConditionExpression": "p = :p AND r > :r",
            "ExpressionAttributeValues": item(**{":p": "1", ":r": 5}),
            "ExclusiveStartKey": item(p="1", r=1),
        },
        "The provided starting key does not match the range key predicate",
    ),
    "start key of the table on an index": ({**BY_G, "ExclusiveStartKey": item(p="1", r=1)}, START),
    "mixed parameters": (
        {**BY_P, "QueryFilter": {"x": {"ComparisonOperator": "NULL"}}},
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {QueryFilter} Expression parameters: {KeyConditionExpression}",
    ),
    "unused value": (
        {
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": item(**{":p": "1", ":r": 5}),
        },
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:r}",
    ),
}


@pytest.mark.parametrize(("parameters", "text"), QUERIES.values(), ids=QUERIES)
def test_a_query_is_rejected(dynamodb: Any, table: str, parameters: dict[str, Any], text: str) -> None:
    with invalid(text):
        dynamodb.query(TableName=table, **parameters)


def test_a_query_without_sort_key_cannot_be_restarted(dynamodb: Any, create: Callable[..., str]) -> None:
    """From an emulator, not from a capture (errors.md section 10)."""
    with invalid("The query can return at most one row and cannot be restarted"):
        dynamodb.query(TableName=create("p:S"), ExclusiveStartKey=item(p="1"), **BY_P)


SCANS: dict[str, tuple[dict[str, Any], str]] = {
    "segment alone": (
        {"Segment": 0},
        "The TotalSegments parameter is required but was not present in the request "
        "when Segment parameter is present",
    ),
    "total alone": (
        {"TotalSegments": 2},
        "The Segment parameter is required but was not present in the request "
        "when parameter TotalSegments is present",
    ),
    "segment too high": (
        {"Segment": 2, "TotalSegments": 2},
        "The Segment parameter is zero-based and must be less than parameter TotalSegments",
    ),
    "no segments": (
        {"Segment": 0, "TotalSegments": 0},
        "1 validation error detected: Value at 'TotalSegments' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1",
    ),
    "too many segments": (
        {"Segment": 0, "TotalSegments": 1_000_001},
        "1 validation error detected: Value at 'TotalSegments' failed to satisfy constraint: "
        "Member must have value less than or equal to 1000000",
    ),
    "limit zero": (
        {"Limit": 0},
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1",
    ),
    "unknown index": ({"IndexName": "none"}, "The table does not have the specified index: none"),
    "consistent read of a global index": (
        {"IndexName": "global", "ConsistentRead": True},
        "Consistent reads are not supported on global secondary indexes",
    ),
    "start key of another schema": ({"ExclusiveStartKey": item(p="1")}, START),
    "start key of another type": (
        {"ExclusiveStartKey": item(p="1", r="1")},
        START,
    ),
    "specific attributes without saying which": (
        {"Select": "SPECIFIC_ATTRIBUTES"},
        "1 validation error detected: Must specify the AttributesToGet or ProjectionExpression "
        "when choosing to get SPECIFIC_ATTRIBUTES",
    ),
    "filter syntax": (
        {"FilterExpression": "x ="},
        'Invalid FilterExpression: Syntax error; token: "<EOF>", near: "="',
    ),
}


@pytest.mark.parametrize(("parameters", "text"), SCANS.values(), ids=SCANS)
def test_a_scan_is_rejected(dynamodb: Any, table: str, parameters: dict[str, Any], text: str) -> None:
    with invalid(text):
        dynamodb.scan(TableName=table, **parameters)


def test_a_scan_may_filter_on_key_attributes(dynamodb: Any, table: str) -> None:
    """Query only forbids them (expressions.md section 2)."""
    found = dynamodb.scan(
        TableName=table, FilterExpression="p = :p", ExpressionAttributeValues={":p": {"S": "1"}}
    )
    assert found["Count"] == 1


def test_conditional_operator_is_reported_without_envelope_and_before_select(
    dynamodb: Any, table: str
) -> None:
    """Source: errors.md section 11."""
    with invalid(
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {ConditionalOperator} Expression parameters: {KeyConditionExpression}"
    ):
        dynamodb.query(TableName=table, ConditionalOperator="XOR", Select="NONSENSE", **BY_P)
