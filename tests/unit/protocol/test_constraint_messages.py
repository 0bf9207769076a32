"""Constraints: the message of each kind in both layers, and which errors are reported together.

Grammar and examples: errors.md sections 3, 4 ("Captured details"), 6.1, 6.5, 6.7, 6.8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.errors import ValidationException
from faradisc.limits import ECHO_CHARACTERS_MAX
from faradisc.protocol.shapes import CheckedShape

ShapeOf = Callable[[str], CheckedShape]

KEY = {"a": {"S": "x"}}
ONE = "1 validation error detected: "
CAPACITY = "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
NAME = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
NOT_NULL = "failed to satisfy constraint: Member must not be null"
NO_TABLE_NAME = "The parameter 'TableName' is required but was not present in the request"
RETURN_VALUES = "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
ITEMS = {"PutRequest": {"Item": {"a": {"S": "x"}}}}


def old(value: str, path: str, constraint: str) -> str:
    return f"Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"


def new(path: str, constraint: str) -> str:
    return f"Value at '{path}' failed to satisfy constraint: {constraint}"


def at_least(count: int, measure: str = "length") -> str:
    return f"Member must have {measure} greater than or equal to {count}"


def at_most(count: int, measure: str = "length") -> str:
    return f"Member must have {measure} less than or equal to {count}"


CASES: list[tuple[str, dict[str, Any], str]] = [
    # Names of tables on the data plane: length first, then the pattern, one at a time; ARNs pass.
    ("PutItem", {"Item": KEY}, f"{ONE}Value null at 'tableName' {NOT_NULL}"),
    ("PutItem", {"TableName": "", "Item": KEY}, ONE + new("TableName", at_least(1))),
    ("PutItem", {"TableName": "ab;", "Item": KEY}, ONE + old("ab;", "tableName", NAME)),
    ("PutItem", {"TableName": "ab\n", "Item": KEY}, ONE + old("ab\n", "tableName", NAME)),
    ("PutItem", {"TableName": "a" * 256, "Item": KEY}, ONE + old("a" * 256, "tableName", at_most(255))),
    (
        "PutItem",
        {"TableName": "arn:" + "a" * 1021, "Item": KEY},
        ONE + old("arn:" + "a" * 1021, "tableName", at_most(1024)),
    ),
    ("GetItem", {"TableName": "ab;", "Key": KEY}, ONE + old("ab;", "tableName", NAME)),
    ("Scan", {"TableName": "ab;"}, ONE + old("ab;", "tableName", NAME)),
    # The table's name alone, then the others together (errors.md section 4).
    (
        "PutItem",
        {"TableName": "", "Item": KEY, "ReturnValues": "x", "ReturnConsumedCapacity": "y"},
        ONE + new("TableName", at_least(1)),
    ),
    (
        "PutItem",
        {"TableName": "tbl", "ReturnValues": "x", "ReturnConsumedCapacity": "y"},
        "3 validation errors detected: "
        + old("y", "returnConsumedCapacity", CAPACITY)
        + "; "
        + old("x", "returnValues", RETURN_VALUES)
        + f"; Value null at 'item' {NOT_NULL}",
    ),
    (
        "UpdateItem",
        {"TableName": "tbl", "Key": KEY, "ReturnValues": "x", "ReturnConsumedCapacity": "y"},
        ONE
        + "Failed to satisfy constraint: Member must satisfy enum value set: "
        + "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]",
    ),
    (
        "PutItem",
        {"TableName": "tbl", "Item": KEY, "ReturnItemCollectionMetrics": "x"},
        ONE + "ReturnItemCollectionMetrics can only be SIZE or NONE",
    ),
    # The new layer does not echo and names members as the model does.
    ("GetItem", {"TableName": "tbl"}, f"{ONE}Value null at 'key' {NOT_NULL}"),
    (
        "GetItem",
        {"TableName": "tbl", "Key": KEY, "ReturnConsumedCapacity": "x"},
        ONE + old("x", "returnConsumedCapacity", CAPACITY),
    ),
    (
        "GetItem",
        {"TableName": "tbl", "Key": KEY, "AttributesToGet": []},
        ONE + new("AttributesToGet", at_least(1)),
    ),
    (
        "GetItem",
        {"TableName": "tbl", "Key": KEY, "AttributesToGet": ["a"] * 256},
        ONE + new("AttributesToGet", at_most(255)),
    ),
    ("Query", {"TableName": "tbl", "Limit": 0}, ONE + new("Limit", at_least(1, "value"))),
    ("Query", {"TableName": "tbl", "Limit": -1}, ONE + new("Limit", at_least(1, "value"))),
    (
        "Query",
        {"TableName": "tbl", "IndexName": "i;"},
        "2 validation errors detected: " + new("IndexName", NAME) + "; " + new("IndexName", at_least(3)),
    ),
    (
        "SearchVectors",
        {"TableName": "tbl", "IndexName": "i", "SearchVector": [{"N": "1"}], "TopK": 1},
        ONE + new("IndexName", at_least(3)),
    ),
    (
        "SearchVectors",
        {"TableName": "tbl", "IndexName": "idx", "SearchVector": [], "TopK": 1},
        ONE + new("SearchVector", at_least(1)),
    ),
    (
        "SearchVectors",
        {"TableName": "tbl", "IndexName": "idx", "SearchVector": [{"N": "1"}], "TopK": 0},
        ONE + new("TopK", at_least(1, "value")),
    ),
    # The old layer.
    ("ExecuteStatement", {"Statement": "x", "Limit": 0}, ONE + old("0", "limit", at_least(1, "value"))),
    (
        "Scan",
        {"TableName": "tbl", "Segment": 0, "TotalSegments": 0},
        ONE + new("TotalSegments", at_least(1, "value")),
    ),
    (
        "Scan",
        {"TableName": "tbl", "Segment": 0, "TotalSegments": 1_000_001},
        ONE + new("TotalSegments", at_most(1_000_000, "value")),
    ),
    (
        "Scan",
        {"TableName": "tbl", "Segment": -1, "TotalSegments": 1},
        ONE + new("Segment", at_least(0, "value")),
    ),
    ("ListTables", {"Limit": 0}, ONE + old("0", "limit", at_least(1, "value"))),
    ("ListTables", {"Limit": 101}, ONE + old("101", "limit", at_most(100, "value"))),
    ("ListStreams", {"Limit": 101}, ONE + old("101", "limit", at_most(100, "value"))),
    # Tables.
    ("CreateTable", {"KeySchema": []}, NO_TABLE_NAME),
    ("DeleteTable", {}, NO_TABLE_NAME),
    ("DescribeTable", {}, NO_TABLE_NAME),
    ("UpdateTable", {}, NO_TABLE_NAME),
    ("DescribeTimeToLive", {}, NO_TABLE_NAME),
    ("CreateTable", {"TableName": "ab"}, ONE + old("ab", "tableName", at_least(3))),
    ("CreateTable", {"TableName": "a" * 256}, ONE + old("a" * 256, "tableName", at_most(255))),
    (
        "CreateTable",
        {"TableName": "a:b:c", "BillingMode": "x"},
        "2 validation errors detected: "
        + old("a:b:c", "tableName", NAME)
        + "; "
        + old("x", "billingMode", "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]"),
    ),
    (
        "CreateTable",
        {"TableName": "abc", "KeySchema": [{"AttributeName": n, "KeyType": "HASH"} for n in "abc"]},
        ONE
        + old(
            "[KeySchemaElement(attributeName=a, keyType=HASH), "
            "KeySchemaElement(attributeName=b, keyType=HASH), "
            "KeySchemaElement(attributeName=c, keyType=HASH)]",
            "keySchema",
            at_most(2),
        ),
    ),
    (
        "CreateTable",
        {"TableName": "abc", "KeySchema": [{"AttributeName": "", "KeyType": "x"}, {}]},
        "4 validation errors detected: "
        + old("", "keySchema.1.member.attributeName", at_least(1))
        + "; "
        + old("x", "keySchema.1.member.keyType", "Member must satisfy enum value set: [HASH, RANGE]")
        + f"; Value null at 'keySchema.2.member.attributeName' {NOT_NULL}"
        + f"; Value null at 'keySchema.2.member.keyType' {NOT_NULL}",
    ),
    (
        "CreateTable",
        {"TableName": "abc", "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "SS"}]},
        ONE
        + old(
            "SS",
            "attributeDefinitions.1.member.attributeType",
            "Member must satisfy enum value set: [B, N, S]",
        ),
    ),
    (
        "CreateTable",
        {"TableName": "abc", "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}},
        ONE + old("0", "provisionedThroughput.readCapacityUnits", at_least(1, "value")),
    ),
    (
        "CreateTable",
        {"TableName": "abc", "TableClass": "x"},
        "Invalid table-class parameter provided. Please try again with a valid table-class value: "
        "[STANDARD, STANDARD_INFREQUENT_ACCESS].",
    ),
    (
        "CreateTable",
        {
            "TableName": "abc",
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "idx",
                    "KeySchema": [{"AttributeName": n, "KeyType": "HASH"} for n in "abc"],
                    "Projection": {"ProjectionType": "x", "NonKeyAttributes": []},
                }
            ],
        },
        "2 validation errors detected: "
        + old(
            "x",
            "globalSecondaryIndexes.1.member.projection.projectionType",
            "Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]",
        )
        + "; "
        + old("[]", "globalSecondaryIndexes.1.member.projection.nonKeyAttributes", at_least(1)),
    ),
    (
        "RestoreTableFromBackup",
        {"BackupArn": "a" * 48, "TargetTableName": "ab"},
        "TableName must be at least 3 characters long and at most 255 characters long",
    ),
    (
        "RestoreTableFromBackup",
        {"BackupArn": "a" * 48, "TargetTableName": "a b"},
        ONE
        + old("a b", "targetTableName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
    ),
    # Batches.
    ("BatchGetItem", {}, f"{ONE}Value at 'RequestItems' {NOT_NULL}"),
    ("BatchGetItem", {"RequestItems": {}}, ONE + new("RequestItems", at_least(1))),
    ("BatchWriteItem", {}, "The requestItems parameter is required for BatchWriteItem"),
    (
        "BatchGetItem",
        {"RequestItems": {"tbl": {"Keys": [KEY] * 101}}},
        ONE + new("RequestItems.tbl.member.Keys", at_most(100)),
    ),
    (
        "BatchGetItem",
        {"RequestItems": {"tbl": {}}},
        f"{ONE}Value at 'RequestItems.tbl.member.Keys' {NOT_NULL}",
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"tbl": []}},
        ONE
        + old(
            "{tbl=[]}",
            "requestItems",
            f"Map value must satisfy constraint: [{at_most(25)}, {at_least(1)}]",
        ),
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"ab;": [{}]}},
        ONE
        + old(
            "{ab;=[WriteRequest(putRequest=null, deleteRequest=null)]}",
            "requestItems",
            f"Map keys must satisfy constraint: [{at_most(255)}, {at_least(3)}, {NAME}]",
        ),
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"tbl": None}},
        f"{ONE}Value null at 'requestItems.tbl.member' {NOT_NULL}",
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"tbl": [{"PutRequest": {}}, None]}},
        "2 validation errors detected: "
        f"Value null at 'requestItems.tbl.member.1.member.putRequest.item' {NOT_NULL}; "
        f"Value null at 'requestItems.tbl.member.2.member' {NOT_NULL}",
    ),
    # Transactions: all but names together.
    (
        "TransactWriteItems",
        {
            "TransactItems": [{"Put": {"TableName": "ab;", "Item": KEY}}, {"Delete": {"TableName": "tbl"}}],
            "ClientRequestToken": "t" * 37,
        },
        "2 validation errors detected: "
        f"Value null at 'transactItems.2.member.delete.key' {NOT_NULL}; "
        + old("t" * 37, "clientRequestToken", at_most(36)),
    ),
    ("TransactGetItems", {"TransactItems": []}, ONE + old("[]", "transactItems", at_least(1))),
    (
        "TransactGetItems",
        {"TransactItems": [{}]},
        f"{ONE}Value null at 'transactItems.1.member.get' {NOT_NULL}",
    ),
    (
        "GetItem",
        {"TableName": "tbl", "Key": KEY, "ExpressionAttributeNames": {"#a": None}},
        f"{ONE}Value null at 'expressionAttributeNames.#a.member' {NOT_NULL}",
    ),
    (
        "Scan",
        {"TableName": "tbl", "AttributesToGet": [None]},
        f"{ONE}Value null at 'attributesToGet.1.member' {NOT_NULL}",
    ),
]


@pytest.mark.parametrize(
    ("operation", "request_", "text"),
    [pytest.param(*case, id=f"{case[0]}-{case[1]}"[:90]) for case in CASES],
)
def test_refused(shape_of: ShapeOf, operation: str, request_: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationException) as caught:
        shape_of(operation).check_request(request_, 1_000_000)
    assert caught.value.body() == {
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": text,
    }


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("PutItem", {"TableName": "tbl", "Item": {}}),
        ("PutItem", {"TableName": "t" * 255, "Item": {}}),
        ("PutItem", {"TableName": "arn:aws:dynamodb:x:0:table/t", "Item": {}}),
        ("PutItem", {"TableName": "arn:" + "a" * 1020, "Item": {}}),
        ("PutItem", {"TableName": "tbl", "Item": {}, "ReturnValues": "ALL_NEW"}),
        ("DeleteItem", {"TableName": "tbl", "Key": {}, "ReturnValues": "ALL_OLD"}),
        ("GetItem", {"TableName": "tbl", "Key": {}, "AttributesToGet": ["a"] * 255}),
        ("Query", {"TableName": "tbl", "Limit": 2**40}),
        ("Scan", {"TableName": "tbl", "Segment": 999_999, "TotalSegments": 1_000_000}),
        ("BatchWriteItem", {"RequestItems": {"tbl": [ITEMS] * 25}}),
        ("BatchWriteItem", {"RequestItems": {"arn:aws:dynamodb:x:0:table/t": [ITEMS]}}),
        (
            "CreateTable",
            {
                "TableName": "abc",
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "idx",
                        "KeySchema": [{"AttributeName": n, "KeyType": "HASH"} for n in "abcd"],
                        "Projection": {},
                    }
                ],
            },
        ),
        ("DescribeTable", {"TableName": "tbl", "Unheard": {"of": [None]}}),
        ("DescribeEndpoints", {}),
    ],
)
def test_accepted(shape_of: ShapeOf, operation: str, request_: dict[str, Any]) -> None:
    assert shape_of(operation).check_request(request_, 1_000_000).values_ok


def test_ten_errors_at_most(shape_of: ShapeOf) -> None:
    with pytest.raises(ValidationException) as caught:
        shape_of("CreateTable").check_request({"TableName": "abc", "KeySchema": [{}] * 20}, 1000)
    assert caught.value.message is not None
    assert caught.value.message.startswith("10 validation errors detected: ")
    assert caught.value.message.count("failed to satisfy") == 10


def test_attribute_values_as_java_prints_them(shape_of: ShapeOf) -> None:
    item = {
        "a": {"S": "x"},
        "b": {"B": "AAAA"},
        "c": {"L": [{"BOOL": True}, {"NULL": True}]},
        "d": {"M": {"e": {"NS": ["1", "2"]}}},
        "f": {"BS": ["AAAA"]},
    }

    def attribute(**members: str) -> str:
        names = (
            *("s", "n", "b", "iNT", "dECIMAL", "dOUBLE", "sS", "nS", "bS", "iNTSET", "dECIMALSET"),
            *("dOUBLESET", "m", "l", "nULL", "bOOL"),
        )
        texts = ", ".join(f"{name}={members.get(name, 'null')}" for name in names)
        return f"AttributeValue({texts})"

    nested = attribute(m="{e=" + attribute(nS="[1, 2]") + "}")
    listed = attribute(l=f"[{attribute(bOOL='true')}, {attribute(nULL='true')}]")
    buffer = "java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]"
    write = (
        f"WriteRequest(putRequest=PutRequest(item={{a={attribute(s='x')}, b={attribute(b=buffer)}, "
        f"c={listed}, d={nested}, f={attribute(bS=f'[{buffer}]')}}}), deleteRequest=null)"
    )
    with pytest.raises(ValidationException) as caught:
        shape_of("BatchWriteItem").check_request(
            {"RequestItems": {"tbl": [{"PutRequest": {"Item": item}}] * 26}}, 100_000
        )
    assert caught.value.message is not None
    assert f"Value '{{tbl=[{write}, {write}, " in caught.value.message


def test_echo_is_bounded(shape_of: ShapeOf) -> None:
    """A value's text in Java is many times its JSON; a request of megabytes must not become a hundred."""
    item = {"a": {"L": [{"S": ""} for _ in range(5000)]}}
    for request in (
        {"RequestItems": {"tbl": [{"PutRequest": {"Item": item}}] * 26}},
        {"RequestItems": {"t" * 100_000: [{}]}},
    ):
        with pytest.raises(ValidationException) as caught:
            shape_of("BatchWriteItem").check_request(request, 1_000_000)
        assert caught.value.message is not None
        assert len(caught.value.message) < ECHO_CHARACTERS_MAX + 1000


def test_deep_values_are_echoed_without_recursion_errors(shape_of: ShapeOf) -> None:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(500):
        value = {"L": [value]}
    with pytest.raises(ValidationException, match="Map value must satisfy"):
        shape_of("BatchWriteItem").check_request(
            {"RequestItems": {"tbl": [{"PutRequest": {"Item": {"a": value}}}] * 26}}, 100_000
        )
