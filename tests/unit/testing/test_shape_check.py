"""The comparison of answers with the model finds each kind of deviation."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.shape_check import check_error, check_output

MODELLED = "com.amazonaws.dynamodb.v20120810#"
SERVICE = "com.amazon.coral.service#"


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("GetItem", {}),
        ("GetItem", {"Item": {"a": {"S": "x"}, "b": {"L": [{"M": {"c": {"BS": ["AA=="]}}}]}}}),
        ("GetItem", {"ConsumedCapacity": {"TableName": "t", "CapacityUnits": 0.5}}),
        ("Query", {"Items": [], "Count": 0, "ScannedCount": 0}),
        (
            "DescribeTable",
            {
                "Table": {
                    "TableStatus": "ACTIVE",
                    "CreationDateTime": 1.5,
                    "ProvisionedThroughput": {"ReadCapacityUnits": 0},
                }
            },
        ),
        ("TagResource", {}),
        ("GetRecords", {"Records": [{"dynamodb": {"Keys": {"a": {"N": "1"}}}}]}),
    ],
)
def test_answers_of_the_right_shape(operation: str, body: dict[str, Any]) -> None:
    assert check_output(operation, body) == []


@pytest.mark.parametrize(
    ("operation", "body", "found"),
    [
        ("GetItem", [], "GetItem: list where the model has structure GetItemOutput"),
        ("GetItem", {"Itm": {}}, "GetItem: Itm is not a member of GetItemOutput"),
        ("GetItem", {"Item": []}, "GetItem.Item: list where the model has map AttributeMap"),
        ("GetItem", {"Item": None}, "GetItem.Item: NoneType where the model has map AttributeMap"),
        ("GetItem", {"Item": {"a": {}}}, "GetItem.Item.a: an AttributeValue has exactly one member, not 0"),
        (
            "GetItem",
            {"Item": {"a": {"N": 1}}},
            "GetItem.Item.a.N: int where the model has string NumberAttributeValue",
        ),
        ("GetItem", {"Item": {"a": {"B": "x"}}}, "GetItem.Item.a.B: not base64"),
        ("Query", {"Count": True}, "Query.Count: bool where the model has integer Integer"),
        ("Query", {"Count": 1.0}, "Query.Count: float where the model has integer Integer"),
        (
            "Query",
            {"Items": [{}, 1]},
            "Query.Items[1]: int where the model has map AttributeMap",
        ),
        ("DescribeEndpoints", {}, "DescribeEndpoints: Endpoints is missing"),
    ],
)
def test_deviations(operation: str, body: Any, found: str) -> None:
    assert check_output(operation, body) == [found]


def test_enumerations() -> None:
    (found,) = check_output("DescribeTable", {"Table": {"TableStatus": "GONE"}})
    assert found.startswith("DescribeTable.Table.TableStatus: 'GONE' is not one of [")


def test_unknown_operation_raises_lookup_error() -> None:
    with pytest.raises(LookupError):
        check_output("GetItems", {})


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("GetItem", {"__type": MODELLED + "ResourceNotFoundException", "message": "x"}),
        ("GetItem", {"__type": "com.amazon.coral.validate#ValidationException", "message": "x"}),
        ("GetItem", {"__type": SERVICE + "SerializationException", "Message": "x"}),
        ("GetItem", {"__type": SERVICE + "SerializationException"}),
        ("GetItem", {"__type": SERVICE + "UnknownOperationException"}),
        (
            "PutItem",
            {
                "__type": MODELLED + "ConditionalCheckFailedException",
                "message": "x",
                "Item": {"a": {"S": "x"}},
            },
        ),
        (
            "TransactWriteItems",
            {
                "__type": MODELLED + "TransactionCanceledException",
                "Message": "x",
                "CancellationReasons": [{"Code": "None"}],
            },
        ),
        ("GetRecords", {"__type": MODELLED + "ExpiredIteratorException", "message": "x"}),
        ("GetRecords", {"__type": MODELLED + "ThrottlingException", "message": "x"}),
        ("CreateTable", {"__type": "com.amazon.coral.availability#ThrottlingException", "message": "x"}),
    ],
)
def test_errors_of_the_right_shape(operation: str, body: dict[str, Any]) -> None:
    assert check_error(operation, body) == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ([], "GetItem: an error needs a __type"),
        ({"message": "x"}, "GetItem: an error needs a __type"),
        ({"__type": MODELLED + "No", "message": "x"}, "GetItem: No is not an exception of the model"),
        (
            {"__type": SERVICE + "ValidationException", "message": "x"},
            f"GetItem: unknown error {SERVICE}ValidationException",
        ),
        ({"__type": MODELLED + "ResourceNotFoundException"}, "ResourceNotFoundException: no text"),
        (
            {"__type": SERVICE + "SerializationException", "message": "x"},
            "SerializationException: the text member is Message",
        ),
        (
            {"__type": SERVICE + "AccessDeniedException", "message": "x", "a": 1},
            "AccessDeniedException: unknown members ['a']",
        ),
        (
            {"__type": "com.amazon.coral.validate#ValidationException", "message": 1},
            "ValidationException: the text is not a string",
        ),
        (
            {"__type": "com.amazon.coral.validate#ValidationException"},
            "ValidationException: no text",
        ),
    ],
)
def test_error_deviations(body: Any, found: str) -> None:
    assert check_error("GetItem", body) == [found]


def test_misspelt_text_member() -> None:
    body = {"__type": MODELLED + "ResourceNotFoundException", "Message": "x"}
    assert len(check_error("GetItem", body)) == 2
