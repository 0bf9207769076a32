"""Members with a wrong JSON type, and bodies that are no request. Source: errors.md section 5.

SerializationException says which token met which type, and comes before every other complaint about the
contents of the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixtures.rejections import KEY, PAIR, Case, World, in_lots

PACKAGE = "com.amazonaws.dynamodb.v20120810."
CODE = "SerializationException"
SOURCE = "errors.md section 5, SerializationException texts"
START = "Start of structure or map found where not expected"
FIELD = "Unexpected field type"
VALUE = "Unexpected value type in payload"
MAP = f"Unrecognized collection type java.util.Map<java.lang.String, {PACKAGE}AttributeValue>"


def token(name: str, kind: str) -> str:
    return f"{name} cannot be converted to {kind}"


def collection(java: str) -> str:
    return f"Unrecognized collection type class {java}"


STRING: list[tuple[Any, str]] = [
    (1, token("NUMBER_VALUE", "String")),
    (1.5, token("DECIMAL_VALUE", "String")),
    (True, token("TRUE_VALUE", "String")),
    (False, token("FALSE_VALUE", "String")),
    ([], collection("java.lang.String")),
    (["a"], collection("java.lang.String")),
    ({}, START),
    ({"S": "a"}, START),
]
INTEGER: list[tuple[Any, str]] = [
    ("1", token("STRING_VALUE", "Integer")),
    ("", token("STRING_VALUE", "Integer")),
    (True, token("TRUE_VALUE", "Integer")),
    (False, token("FALSE_VALUE", "Integer")),
    ([], collection("java.lang.Integer")),
    ({}, START),
]
LONG = [(raw, text.replace("Integer", "Long")) for raw, text in INTEGER]
BOOLEAN: list[tuple[Any, str]] = [
    (1, token("NUMBER_VALUE", "Boolean")),
    (1.5, token("DECIMAL_VALUE", "Boolean")),
    ("maybe", "Unexpected token received from parser"),
    ("", "Unexpected token received from parser"),
    ("TRUTH", "Unexpected token received from parser"),
    ([], collection("java.lang.Boolean")),
    ({}, START),
]
LIST: list[tuple[Any, str]] = [("a", FIELD), (1, FIELD), (True, FIELD), ({}, START)]
SCALARS: list[Any] = ["a", 1, 1.5, True]


def structure(name: str) -> list[tuple[Any, str]]:
    return [*((raw, FIELD) for raw in SCALARS), ([], collection(PACKAGE + name))]


VALUE_MAP: list[tuple[Any, str]] = [*((raw, FIELD) for raw in SCALARS), ([], MAP), ([{"S": "a"}], MAP)]
STRING_MAP: list[tuple[Any, str]] = [
    ("a", FIELD),
    ([], "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"),
]

MEMBERS: list[tuple[str, dict[str, Any], str, list[tuple[Any, str]]]] = [
    ("PutItem", {"Item": KEY}, "TableName", STRING),
    ("PutItem", {"TableName": "hash"}, "Item", VALUE_MAP),
    ("PutItem", {"TableName": "hash", "Item": KEY}, "ReturnValues", STRING),
    ("PutItem", {"TableName": "hash", "Item": KEY}, "ConditionExpression", STRING),
    ("PutItem", {"TableName": "hash", "Item": KEY}, "ExpressionAttributeNames", STRING_MAP),
    ("PutItem", {"TableName": "hash", "Item": KEY}, "ExpressionAttributeValues", VALUE_MAP),
    ("GetItem", {"TableName": "hash", "Key": KEY}, "ConsistentRead", BOOLEAN),
    ("GetItem", {"TableName": "hash", "Key": KEY}, "AttributesToGet", LIST),
    ("GetItem", {"TableName": "hash"}, "Key", VALUE_MAP),
    ("Query", {"TableName": "hash"}, "Limit", INTEGER),
    ("Query", {"TableName": "hash"}, "ScanIndexForward", BOOLEAN),
    ("Query", {"TableName": "hash"}, "ExclusiveStartKey", VALUE_MAP),
    ("Scan", {"TableName": "hash"}, "TotalSegments", INTEGER),
    ("Scan", {"TableName": "hash"}, "FilterExpression", STRING),
    ("UpdateItem", {"TableName": "hash", "Key": KEY}, "UpdateExpression", STRING),
    ("DeleteItem", {"TableName": "hash"}, "Key", VALUE_MAP),
    ("TransactWriteItems", {}, "TransactItems", LIST),
    ("TransactGetItems", {}, "TransactItems", LIST),
    ("CreateTable", {"TableName": "new"}, "KeySchema", LIST),
    ("CreateTable", {"TableName": "new"}, "AttributeDefinitions", LIST),
    ("CreateTable", {"TableName": "new"}, "ProvisionedThroughput", structure("ProvisionedThroughput")),
    ("CreateTable", {"TableName": "new"}, "StreamSpecification", structure("StreamSpecification")),
    ("CreateTable", {"TableName": "new"}, "DeletionProtectionEnabled", BOOLEAN),
    ("DescribeTable", {}, "TableName", STRING),
    ("DeleteTable", {}, "TableName", STRING),
    ("ListTables", {}, "Limit", INTEGER),
    ("ListTables", {}, "ExclusiveStartTableName", STRING),
    ("TagResource", {"ResourceArn": "arn:"}, "Tags", LIST),
    ("UntagResource", {"ResourceArn": "arn:"}, "TagKeys", LIST),
]

VALUES: list[tuple[Any, str]] = [
    # The whole AttributeValue, standing in a map
    *((raw, VALUE) for raw in SCALARS),
    ([], collection(PACKAGE + "AttributeValue")),
    # Its members
    *(({"S": raw}, text) for raw, text in STRING),
    *(({"N": raw}, text) for raw, text in STRING),
    *(({"BOOL": raw}, text) for raw, text in BOOLEAN),
    *(({"NULL": raw}, text) for raw, text in BOOLEAN),
    *(({kind: raw}, text) for kind in ("SS", "NS", "BS", "L") for raw, text in LIST),
    *(({"M": raw}, text) for raw, text in VALUE_MAP),
    *(({kind: [raw]}, text) for kind in ("SS", "NS") for raw, text in STRING),
    *(({"B": raw}, "only base-64-encoded strings are convertible to bytes") for raw in (1, 1.5, True)),
    ({"B": []}, collection("java.nio.ByteBuffer")),
    ({"B": {}}, START),
    *(
        ({"B": text}, f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}")
        for text in ("a", "ab", "abc", "abcde", "AA=")
    ),
    *(({"B": text}, "Invalid last non-pad Base64 character dectected") for text in ("ab==", "abd=", "AB==")),
    ({"BS": ["AA==", 1]}, "only base-64-encoded strings are convertible to bytes"),
    ({"BS": ["a"]}, "Base64 encoded length is expected a multiple of 4 bytes but found: 1"),
    # Deeper
    ({"L": ["a"]}, VALUE),
    ({"L": [[]]}, collection(PACKAGE + "AttributeValue")),
    ({"L": [{"S": 1}]}, token("NUMBER_VALUE", "String")),
    ({"M": {"k": "a"}}, VALUE),
    ({"M": {"k": {"M": {"k": {"N": 1}}}}}, token("NUMBER_VALUE", "String")),
]


def cases() -> Iterator[Case]:
    for operation, base, member, wrong in MEMBERS:
        for raw, text in wrong:
            yield Case(f"{member} = {raw!r}", operation, {**base, member: raw}, text, SOURCE, CODE)
    for raw, text in VALUES:
        yield Case(
            f"value {raw!r}", "PutItem", {"TableName": "hash", "Item": {**KEY, "v": raw}}, text, SOURCE, CODE
        )
    for raw, text in VALUES[:12]:
        request = {"RequestItems": {"hash": [{"PutRequest": {"Item": {**KEY, "v": raw}}}]}}
        yield Case(f"value {raw!r}", "BatchWriteItem", request, text, SOURCE, CODE)
    for raw, text in structure("KeySchemaElement"):
        inner = VALUE if text == FIELD else text
        yield Case(
            f"element {raw!r}", "CreateTable", {"TableName": "new", "KeySchema": [raw]}, inner, SOURCE, CODE
        )
    for raw, text in LONG:
        units = {"ReadCapacityUnits": raw, "WriteCapacityUnits": 1}
        yield Case(
            f"units {raw!r}",
            "CreateTable",
            {"TableName": "new", "ProvisionedThroughput": units},
            text,
            SOURCE,
            CODE,
        )
    for raw, text in STRING:
        yield Case(
            f"tag {raw!r}", "TagResource", {"ResourceArn": "arn:", "Tags": [{"Key": raw}]}, text, SOURCE, CODE
        )
    for what, body in (
        ("nothing", b""),
        ("a space", b" "),
        ("null", b"null"),
        ("a list", b"[]"),
        ("a list of requests", b"[{}]"),
        ("a string", b'"a"'),
        ("a number", b"1"),
        ("true", b"true"),
        ("a name", b"abc"),
        ("half an object", b'{"TableName":'),
        ("an object and more", b"{}{}"),
        ("a trailing comma", b'{"TableName":"a",}'),
        ("single quotes", b"{'TableName':'a'}"),
        ("a comment", b"{}//"),
        ("a byte that is no UTF-8", b'{"TableName":"\xff"}'),
        ("a bare control character", b'{"TableName":"\n"}'),
        ("NaN", b'{"Limit":NaN}'),
        ("a byte order mark", b"\xef\xbb\xbf{}"),
    ):
        for operation in ("PutItem", "ListTables"):
            yield Case(f"a body of {what}", operation, body, None, "errors.md section 5: without text", CODE)
    # Before every other complaint
    yield Case(
        "a wrong type beside a wrong enumeration",
        "PutItem",
        {"TableName": "", "Item": 5, "ReturnValues": "x"},
        FIELD,
        "errors.md section 4: 5 before 6",
        CODE,
    )
    yield Case(
        "the first of two wrong types",
        "PutItem",
        {"ReturnValues": 1, "TableName": True},
        token("NUMBER_VALUE", "String"),
        "errors.md section 4; tokens in the order of the document",
        CODE,
    )
    yield Case(
        "a wrong type beside a missing table",
        "GetItem",
        {"TableName": "nothing", "Key": PAIR, "ConsistentRead": 1},
        token("NUMBER_VALUE", "Boolean"),
        "errors.md section 4: 5 before 8",
        CODE,
    )


@in_lots(cases())
def test_a_wrong_json_type_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


COERCED: list[tuple[str, str, dict[str, Any]]] = [
    *(
        ("a boolean in words", "GetItem", {"TableName": "hash", "Key": KEY, "ConsistentRead": text})
        for text in ("true", "false", "1", "0", "yes", "no")
    ),
    ("a floored limit", "Scan", {"TableName": "hash", "Limit": 1.9}),
    (
        "a null parameter",
        "Scan",
        {"TableName": "hash", "FilterExpression": None, "Limit": None, "IndexName": None},
    ),
    ("a null datatype beside", "GetItem", {"TableName": "hash", "Key": {"p": {"S": "x", "N": None}}}),
    ("an unknown member", "GetItem", {"TableName": "hash", "Key": KEY, "Unknown": [1, {}]}),
]


def test_what_the_service_coerces_is_taken(world: World) -> None:
    """Source: errors.md section 5: null is absent, booleans may be words, floats are floored."""
    for what, operation, request in COERCED:
        answer = world.accepts(operation, request)
        assert answer, what
    assert len(world.accepts("Scan", {"TableName": "hash", "Limit": 1.9})["Items"]) == 1
