"""JSON types: error texts and coercions.

Texts: errors.md section 5, "SerializationException texts".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from faradisc.errors import SerializationException, ValidationException
from faradisc.model.values.size import item_size
from faradisc.protocol import shapes
from faradisc.protocol.overrides import TABLE_ARN_MAXIMUM
from faradisc.protocol.shapes import CheckedShape

ShapeOf = Callable[[str], CheckedShape]

NOT_EXPECTED = "Start of structure or map found where not expected"
PACKAGE = "com.amazonaws.dynamodb.v20120810."
STRING = [
    (True, "TRUE_VALUE cannot be converted to String"),
    (False, "FALSE_VALUE cannot be converted to String"),
    (23, "NUMBER_VALUE cannot be converted to String"),
    (-2147483648, "NUMBER_VALUE cannot be converted to String"),
    (34.56, "DECIMAL_VALUE cannot be converted to String"),
    ([], "Unrecognized collection type class java.lang.String"),
    ({}, NOT_EXPECTED),
]
BOOLEAN = [
    ("23", "Unexpected token received from parser"),
    ("", "Unexpected token received from parser"),
    (23, "NUMBER_VALUE cannot be converted to Boolean"),
    (34.56, "DECIMAL_VALUE cannot be converted to Boolean"),
    ([], "Unrecognized collection type class java.lang.Boolean"),
    ({}, NOT_EXPECTED),
]
INTEGER = [
    ("23", "STRING_VALUE cannot be converted to Integer"),
    (True, "TRUE_VALUE cannot be converted to Integer"),
    (False, "FALSE_VALUE cannot be converted to Integer"),
    ([], "Unrecognized collection type class java.lang.Integer"),
    ({}, NOT_EXPECTED),
]
BLOB = [
    (True, "only base-64-encoded strings are convertible to bytes"),
    (23, "only base-64-encoded strings are convertible to bytes"),
    ("23456", "Base64 encoded length is expected a multiple of 4 bytes but found: 5"),
    ("=+/=", "Invalid last non-pad Base64 character dectected"),
    ("+/+=", "Invalid last non-pad Base64 character dectected"),
    ("äöüß", "Invalid last non-pad Base64 character dectected"),
    ([], "Unrecognized collection type class java.nio.ByteBuffer"),
    ({}, NOT_EXPECTED),
]
LIST = [(scalar, "Unexpected field type") for scalar in ("23", True, 23, 34.56)] + [({}, NOT_EXPECTED)]


def map_of(java_type: str) -> list[tuple[Any, str]]:
    return [
        *((scalar, "Unexpected field type") for scalar in ("23", True, 23, 34.56)),
        ([], f"Unrecognized collection type java.util.Map<java.lang.String, {java_type}>"),
    ]


def field_structure(name: str) -> list[tuple[Any, str]]:
    return [
        *((scalar, "Unexpected field type") for scalar in ("23", True, 23, 34.56)),
        ([], f"Unrecognized collection type class {PACKAGE}{name}"),
    ]


def value_structure(name: str) -> list[tuple[Any, str]]:
    return [
        *((scalar, "Unexpected value type in payload") for scalar in ("23", True, 23, 34.56)),
        ([], f"Unrecognized collection type class {PACKAGE}{name}"),
    ]


def at(*path: str | int) -> Callable[[Any], Any]:
    """A value put at a path of member names and list indexes (always 0)."""

    def build(value: Any) -> Any:
        for step in reversed(path):
            value = [value] if isinstance(step, int) else {step: value}
        return value

    return build


POSITIONS: list[tuple[str, Callable[[Any], Any], list[tuple[Any, str]]]] = [
    ("GetItem", at("TableName"), STRING),
    ("GetItem", at("Key"), map_of(PACKAGE + "AttributeValue")),
    ("GetItem", at("Key", "a"), value_structure("AttributeValue")),
    ("GetItem", at("Key", "a", "S"), STRING),
    ("GetItem", at("Key", "a", "N"), STRING),
    ("GetItem", at("Key", "a", "B"), BLOB),
    ("GetItem", at("Key", "a", "BOOL"), BOOLEAN),
    ("GetItem", at("Key", "a", "NULL"), BOOLEAN),
    ("GetItem", at("Key", "a", "SS"), LIST),
    ("GetItem", at("Key", "a", "SS", 0), STRING),
    ("GetItem", at("Key", "a", "NS", 0), STRING),
    ("GetItem", at("Key", "a", "BS", 0), BLOB),
    ("GetItem", at("Key", "a", "L"), LIST),
    ("GetItem", at("Key", "a", "L", 0), value_structure("AttributeValue")),
    ("GetItem", at("Key", "a", "L", 0, "M", "b", "N"), STRING),
    ("GetItem", at("Key", "a", "M"), map_of(PACKAGE + "AttributeValue")),
    ("GetItem", at("Key", "a", "M", "b"), value_structure("AttributeValue")),
    ("GetItem", at("ConsistentRead"), BOOLEAN),
    ("GetItem", at("AttributesToGet"), LIST),
    ("GetItem", at("AttributesToGet", 0), STRING),
    ("GetItem", at("ReturnConsumedCapacity"), STRING),
    ("GetItem", at("ExpressionAttributeNames"), map_of("java.lang.String")),
    ("GetItem", at("ExpressionAttributeNames", "#a"), STRING),
    ("Query", at("Limit"), INTEGER),
    ("Query", at("KeyConditions"), map_of(PACKAGE + "Condition")),
    ("Query", at("KeyConditions", "a"), value_structure("Condition")),
    ("Query", at("KeyConditions", "a", "AttributeValueList"), LIST),
    ("Query", at("KeyConditions", "a", "AttributeValueList", 0), value_structure("AttributeValue")),
    ("PutItem", at("Expected", "a", "Exists"), BOOLEAN),
    ("PutItem", at("Expected", "a", "Value"), field_structure("AttributeValue")),
    ("UpdateItem", at("AttributeUpdates", "a", "Action"), STRING),
    ("BatchGetItem", at("RequestItems"), map_of(PACKAGE + "KeysAndAttributes")),
    ("BatchGetItem", at("RequestItems", "t", "Keys"), LIST),
    ("BatchGetItem", at("RequestItems", "t", "Keys", 0), map_of(PACKAGE + "AttributeValue")),
    ("BatchWriteItem", at("RequestItems"), map_of(f"java.util.List<{PACKAGE}WriteRequest>")),
    ("BatchWriteItem", at("RequestItems", "t"), LIST),
    ("BatchWriteItem", at("RequestItems", "t", 0), value_structure("WriteRequest")),
    ("BatchWriteItem", at("RequestItems", "t", 0, "PutRequest"), field_structure("PutRequest")),
    ("TransactWriteItems", at("TransactItems", 0, "Put"), field_structure("Put")),
    ("CreateTable", at("KeySchema", 0), value_structure("KeySchemaElement")),
    ("CreateTable", at("ProvisionedThroughput"), field_structure("ProvisionedThroughput")),
    (
        "CreateTable",
        at("ProvisionedThroughput", "ReadCapacityUnits"),
        [(value, text.replace("Integer", "Long")) for value, text in INTEGER],
    ),
    (
        "ExportTableToPointInTime",
        at("ExportTime"),
        [
            (value, text.replace("lang.Integer", "util.Date").replace("Integer", "Date"))
            for value, text in INTEGER
        ],
    ),
]


def test_refused(shape_of: ShapeOf) -> None:
    wrong = []
    for operation, build, cases in POSITIONS:
        for value, text in cases:
            with pytest.raises(SerializationException) as caught:
                shape_of(operation).check_request(build(value), 10_000)
            body = caught.value.body()
            if body != {"__type": "com.amazon.coral.service#SerializationException", "Message": text}:
                wrong.append((operation, build(value), text, body))
    assert wrong == []


def test_first_wrong_token_of_the_document_is_reported(shape_of: ShapeOf) -> None:
    for first, second, text in (
        ({"ConsistentRead": 1}, {"TableName": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
        ({"TableName": 1}, {"ConsistentRead": 1}, "NUMBER_VALUE cannot be converted to String"),
    ):
        with pytest.raises(SerializationException, match=text):
            shape_of("GetItem").check_request({**first, **second}, 100)


def test_json_types_come_before_constraints(shape_of: ShapeOf) -> None:
    with pytest.raises(SerializationException):
        shape_of("GetItem").check_request({"TableName": "", "ConsistentRead": 1}, 100)


KEY = {"TableName": "tbl", "Key": {"a": {"S": "x"}}}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (True, True),
        ("true", True),
        ("1", True),
        ("yes", True),
        *((text, True) for text in ("T", "TRUE", "t", "True", "Y", "yEs")),
        *((text, False) for text in ("F", "FALSE", "f", "False", "N", "No")),
        ("false", False),
        ("0", False),
        ("no", False),
    ],
)
def test_boolean_texts_are_coerced(shape_of: ShapeOf, given: object, kept: bool) -> None:
    request = {**KEY, "ConsistentRead": given}
    assert shape_of("GetItem").check_request(request, 100).values_ok
    assert request["ConsistentRead"] is kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [(1, 1), (1.0, 1), (1.99, 1), (1e300, 2147483647), (123456789012345678901234567890.0, 2147483647)],
)
def test_fractions_are_floored_and_limited_to_the_range(shape_of: ShapeOf, given: float, kept: int) -> None:
    request: dict[str, Any] = {"TableName": "tbl", "Limit": given}
    assert shape_of("Scan").check_request(request, 100).values_ok
    assert request["Limit"] == kept
    assert type(request["Limit"]) is int


def test_a_negative_fraction_is_cut_off(shape_of: ShapeOf) -> None:
    request: dict[str, Any] = {"TableName": "tbl", "Segment": -0.5, "TotalSegments": 2}
    assert shape_of("Scan").check_request(request, 100) == (True, True)
    assert request["Segment"] == 0


@pytest.mark.parametrize(
    ("given", "kept", "values_ok"),
    [
        ({**KEY, "ConsistentRead": None}, KEY, True),
        ({**KEY, "Unheard": None}, KEY, True),
        ({**KEY, "Unheard": {"a": None}}, KEY, True),
        ({**KEY, "Unheard": 1}, KEY, True),
        ({"TableName": "tbl", "Key": {"a": {"S": "x", "N": None}}}, KEY, True),
        ({"TableName": "tbl", "Key": {"a": {"S": "x", "X": 1}}}, KEY, True),
        ({"TableName": "tbl", "Key": {"a": None}}, {"TableName": "tbl", "Key": {"a": {}}}, False),
        ({"TableName": "tbl", "Key": {"a": {"S": None}}}, {"TableName": "tbl", "Key": {"a": {}}}, False),
        (
            {"TableName": "tbl", "Key": {"a": {"L": [None, {"M": {"b": None}}]}}},
            {"TableName": "tbl", "Key": {"a": {"L": [{}, {"M": {"b": {}}}]}}},
            False,
        ),
        (
            {"TableName": "tbl", "Key": {"a": {"L": [{"NULL": "true"}, {"BOOL": "no"}]}}},
            {"TableName": "tbl", "Key": {"a": {"L": [{"NULL": True}, {"BOOL": False}]}}},
            True,
        ),
    ],
)
def test_nulls_and_unknown_members(
    shape_of: ShapeOf, given: dict[str, Any], kept: dict[str, Any], values_ok: bool
) -> None:
    assert shape_of("GetItem").check_request(given, 1000).values_ok is values_ok
    assert given == kept


def test_null_in_a_set_is_rejected(shape_of: ShapeOf) -> None:
    with pytest.raises(SerializationException, match="Unexpected field type"):
        shape_of("GetItem").check_request({"TableName": "tbl", "Key": {"a": {"SS": ["a", None]}}}, 100)


def test_deep_values_are_walked_without_recursion(shape_of: ShapeOf) -> None:
    value: dict[str, Any] = {"S": "x", "N": None}
    for _ in range(100_000):
        value = {"L": [value]}
    request = {"TableName": "tbl", "Key": {"a": value}}
    assert shape_of("GetItem").check_request(request, 100).values_ok is False
    while "L" in value:  # taken apart level by level: freeing it whole would recurse in C
        value = value["L"].pop()
    assert value == {"S": "x"}


def item_of(number: str) -> dict[str, Any]:
    return {"k": {"S": "é"}, "n": {"N": number}, "m": {"M": {"l": {"L": [{"S": "ab"}, {"BOOL": True}]}}}}


@pytest.mark.parametrize(
    ("operation", "wrap"),
    [
        ("PutItem", lambda item: {"TableName": "abc", "Item": item}),
        ("PutItem", lambda item: {"TableName": "abc", "Item": item, "ReturnConsumedCapacity": "TOTAL"}),
        ("BatchWriteItem", lambda item: {"RequestItems": {"abc": [{"PutRequest": {"Item": item}}]}}),
        ("TransactWriteItems", lambda item: {"TransactItems": [{"Put": {"TableName": "abc", "Item": item}}]}),
    ],
)
def test_items_to_be_put_are_measured(shape_of: ShapeOf, operation: str, wrap: Any) -> None:
    item = item_of("0012e1")
    sizes: dict[int, int] = {}
    assert shape_of(operation).check_request(wrap(item), 10_000, None, sizes).values_ok
    assert item["n"] == {"N": "120"}
    assert sizes == {id(item): item_size(item)}


@pytest.mark.parametrize("damage", [{"n": {"N": "x"}}, {"n": "x"}, {"m": {"M": {"l": None}}}])
def test_only_items_are_measured(shape_of: ShapeOf, damage: dict[str, Any]) -> None:
    item = item_of("1") | damage
    whole = item_of("2")
    request = {"RequestItems": {"abc": [{"PutRequest": {"Item": each}} for each in (whole, item)]}}
    sizes: dict[int, int] = {}
    with contextlib.suppress(SerializationException):
        assert not shape_of("BatchWriteItem").check_request(request, 10_000, None, sizes).values_ok
    assert set(sizes) <= {id(whole)}


def test_normalised_items_are_measured_after_normalisation(shape_of: ShapeOf) -> None:
    request = {"TableName": "abc", "Item": item_of("1") | {"x": {"S": "abc", "Unheard": 1, "N": None}}}
    sizes: dict[int, int] = {}
    assert shape_of("PutItem").check_request(request, 10_000, None, sizes).values_ok
    assert sizes == {id(request["Item"]): item_size(request["Item"])}


def test_only_possible_table_names_are_cached(shape_of: ShapeOf) -> None:
    """Otherwise clients could fill the memory with names."""

    def request(name: str) -> dict[str, Any]:
        return {"TableName": name, "Key": {"pk": {"S": "a"}}}

    shapes.is_table.cache_clear()
    with pytest.raises(ValidationException, match="tableName"):
        shape_of("GetItem").check_request(request("a" * (TABLE_ARN_MAXIMUM + 1)), 10_000)
    assert shapes.is_table.cache_info().currsize == 0
    assert (
        shape_of("GetItem").check_request(request("arn:" + "a" * (TABLE_ARN_MAXIMUM - 4)), 10_000).values_ok
    )
    assert shapes.is_table.cache_info().currsize == 1
