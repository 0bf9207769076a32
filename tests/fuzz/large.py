"""Large bodies of up to 16 MB, each built so that a quadratic loop over it would take too long.

Every function of `BODIES` takes a size in bytes and returns operation and body, a little under that size.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

Body = tuple[str, bytes]


def _json(operation: str, document: dict[str, Any]) -> Body:
    return operation, json.dumps(document, separators=(",", ":")).encode()


def _put(value: Any) -> Body:
    return _json("PutItem", {"TableName": "Flat", "Item": {"id": {"S": "large"}, "x": value}})


def _with_value(left: str, count: int, right: str = "") -> Body:
    item = f'{{"TableName":"Flat","Item":{{"id":{{"S":"large"}},"x":{left * count}{right * count}}}}}'
    return "PutItem", item.encode()


def _condition(text: str) -> Body:
    return _json("DeleteItem", {"TableName": "Flat", "Key": {"id": {"S": "a"}}, "ConditionExpression": text})


def _unique(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number:07}" for number in range(count)]


BODIES: dict[str, Callable[[int], Body]] = {
    "open_brackets": lambda size: ("PutItem", b"[" * size),
    "open_maps": lambda size: _with_value('{"M":{"a":', (size - 100) // 10),
    "closed_maps": lambda size: _with_value('{"M":{"a":', (size - 100) // 12, "}}"),
    "spaces": lambda size: ("PutItem", b" " * (size - 2) + b"{}"),
    "one_string": lambda size: _put({"S": "s" * (size - 100)}),
    "one_escaped_string": lambda size: ("PutItem", b'{"TableName":"' + b"\\u0061" * (size // 6 - 10) + b'"}'),
    "one_number": lambda size: _put({"N": "9" * (size - 100)}),
    "one_zero": lambda size: _put({"N": "0" * (size - 100)}),
    "one_fraction": lambda size: _put({"N": "0." + "0" * (size - 110) + "1"}),
    "one_exponent": lambda size: _put({"N": "1e" + "9" * (size - 110)}),
    "one_json_number": lambda size: ("Scan", b'{"TableName":"Flat","Limit":' + b"9" * (size - 40) + b"}"),
    "one_json_fraction": lambda size: ("Scan", b'{"TableName":"Flat","Limit":0.' + b"1" * (size - 40) + b"}"),
    "one_binary": lambda size: _put({"B": "A" * ((size - 200) // 4 * 4)}),
    "one_broken_binary": lambda size: _put({"B": "A" * ((size - 200) // 4 * 4 - 1) + "!"}),
    "strings_of_a_set": lambda size: _put({"SS": _unique("s", size // 12)}),
    "equal_strings_of_a_set": lambda size: _put({"SS": ["s"] * (size // 5)}),
    "numbers_of_a_set": lambda size: _put({"NS": _unique("1", size // 12)}),
    "equal_numbers_of_a_set": lambda size: _put({"NS": [f"{'0' * (n % 9)}1" for n in range(size // 10)]}),
    "binaries_of_a_set": lambda size: _put({"BS": ["AAAA"] * (size // 8)}),
    "nulls_of_a_list": lambda size: _put({"L": [{"NULL": True}] * (size // 15)}),
    "nothings_of_a_list": lambda size: _put({"L": [{}] * (size // 4)}),
    "nothings_of_an_unknown_member": lambda size: ("ListTables", b'{"a":[{}' + b",{}" * (size // 3 - 10)),
    "pairs_of_an_unknown_member": lambda size: (
        "ListTables",
        b'{"a":[{}' + b',{"":{}}' * (size // 8 - 10) + b"]}",
    ),
    "closed_nothings_of_an_unknown_member": lambda size: (
        "BatchWriteItem",
        b'{"a":[{}' + b",{}" * (size // 3 - 10) + b"]}",
    ),
    "brackets_in_strings_of_a_set": lambda size: _put({"SS": ["[{[{[,:"] * (size // 10)}),
    "shortest_values_of_a_batch": lambda size: (
        "BatchWriteItem",
        b'{"RequestItems":{"Flat":[{"PutRequest":{"Item":{"id":{"S":"a"},"x":{"L":[{"L":[]}'
        + b',{"L":[]}' * (size // 9 - 20)
        + b"]}}}}]}}",
    ),
    "json_nulls_of_a_list": lambda size: _put({"L": [None] * (size // 6)}),
    "attributes": lambda size: _json(
        "PutItem", {"TableName": "Flat", "Item": {key: {"S": ""} for key in _unique("a", size // 24)}}
    ),
    "the_same_attribute": lambda size: (
        "PutItem",
        b'{"TableName":"Flat","Item":{' + b'"id":{"S":"a"},' * (size // 15 - 5) + b'"id":{"S":"a"}}}',
    ),
    "unknown_members": lambda size: _json("ListTables", dict.fromkeys(_unique("Member", size // 20), 1)),
    "unknown_members_of_a_value": lambda size: _put(dict.fromkeys(_unique("Member", size // 20), 1)),
    "unknown_members_beside_an_item": lambda size: _json(
        "PutItem",
        {"TableName": "Flat", "Item": {"id": {"S": "a"}}, **dict.fromkeys(_unique("a", size // 20), 1)},
    ),
    "a_table_name": lambda size: _json("DescribeTable", {"TableName": "t" * (size - 50)}),
    "an_arn": lambda size: _json("DescribeTable", {"TableName": "arn:aws:dynamodb:" + ":" * (size - 60)}),
    "an_expression": lambda size: _condition("a = :v AND " * (size // 11 - 20)),
    "open_parentheses": lambda size: _condition("(" * (size - 100)),
    "negations": lambda size: _condition("NOT " * (size // 4 - 50)),
    "an_identifier": lambda size: _condition("a" * (size - 100)),
    "names": lambda size: _json(
        "Scan",
        {
            "TableName": "Flat",
            "FilterExpression": "a = b",
            "ExpressionAttributeNames": dict.fromkeys(_unique("#n", size // 20), "a"),
        },
    ),
    "values": lambda size: _json(
        "Scan",
        {
            "TableName": "Flat",
            "FilterExpression": "a = b",
            "ExpressionAttributeValues": {key: {"S": ""} for key in _unique(":v", size // 26)},
        },
    ),
    "legacy_conditions": lambda size: _json(
        "Scan",
        {
            "TableName": "Flat",
            "ScanFilter": {key: {"ComparisonOperator": "NULL"} for key in _unique("a", size // 44)},
        },
    ),
    "legacy_updates": lambda size: _json(
        "UpdateItem",
        {
            "TableName": "Flat",
            "Key": {"id": {"S": "a"}},
            "AttributeUpdates": {key: {"Value": {"N": "1"}} for key in _unique("a", size // 36)},
        },
    ),
    "names_to_get": lambda size: _json(
        "Scan", {"TableName": "Flat", "AttributesToGet": _unique("a", size // 12)}
    ),
    "keys_of_a_batch": lambda size: _json(
        "BatchGetItem", {"RequestItems": {"Flat": {"Keys": [{"id": {"S": "a"}}] * (size // 19)}}}
    ),
    "tables_of_a_batch": lambda size: _json(
        "BatchGetItem",
        {"RequestItems": {key: {"Keys": [{"id": {"S": "a"}}]} for key in _unique("t", size // 42)}},
    ),
    "writes_of_a_batch": lambda size: _json(
        "BatchWriteItem",
        {"RequestItems": {"Flat": [{"DeleteRequest": {"Key": {"id": {"S": "a"}}}}] * (size // 46)}},
    ),
    "actions_of_a_transaction": lambda size: _json(
        "TransactWriteItems",
        {"TransactItems": [{"Delete": {"TableName": "Flat", "Key": {"id": {"S": "a"}}}}] * (size // 60)},
    ),
    "definitions_of_a_table": lambda size: _json(
        "CreateTable",
        {
            "TableName": "Huge",
            "KeySchema": [{"AttributeName": "a0000000", "KeyType": "HASH"}],
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in _unique("a", size // 50)
            ],
        },
    ),
    "indexes_of_a_table": lambda size: _json(
        "CreateTable",
        {
            "TableName": "Huge",
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": name,
                    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
                for name in _unique("index", size // 130)
            ],
        },
    ),
    "tags": lambda size: _json(
        "TagResource",
        {
            "ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/Flat",
            "Tags": [{"Key": key, "Value": ""} for key in _unique("k", size // 34)],
        },
    ),
}


def bomb(size: int) -> bytes:
    """Returns a small gzip body that decompresses to `size` bytes of JSON."""
    return gzip.compress(b'{"TableName":"' + b"t" * size + b'"}', mtime=0)
