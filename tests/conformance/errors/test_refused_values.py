"""Attribute values that cannot be stored, in every place where a request may hold one.

Three answers per mistake (errors.md section 3, "Two layers in 2026"): PutItem, UpdateItem and DeleteItem say
it in the new words and put an envelope around; GetItem, BatchGetItem, Query and Scan say it new and bare; all
others say it in the old words, and name the placeholder when the value stands in an expression. So do the
former when only the older layer reads the request (section 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fixtures.rejections import INVALID, KEY, ONE, Case, World, in_lots

Value = dict[str, Any]


@dataclass(frozen=True)
class Mistake:
    what: str
    value: Value
    new: str
    old: str
    enveloped: bool = True
    older: bool = False
    """Every operation answers as the older layer does."""


def same(what: str, value: Value, text: str, *, enveloped: bool = True, older: bool = False) -> Mistake:
    return Mistake(what, value, text, text, enveloped, older)


def number(text: str, rejection: str) -> Mistake:
    return same(f"number {text[:20]!r}", {"N": text}, rejection)


NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)

MISTAKES = [
    same("no datatype", {}, EMPTY, enveloped=False),
    same("an unknown datatype", {"X": "a"}, EMPTY, enveloped=False),
    same("only a null datatype", {"S": None}, EMPTY, enveloped=False),
    same("two datatypes", {"S": "a", "N": "1"}, SEVERAL, older=True),
    same("all datatypes but one", {"S": "", "B": "", "BOOL": True, "L": []}, SEVERAL, older=True),
    same("no datatype in a list", {"L": [{"S": "a"}, {}]}, EMPTY, enveloped=False),
    same("two datatypes in a map", {"M": {"k": {"S": "a", "N": "1"}}}, SEVERAL, older=True),
    same("false NULL", {"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
    same("empty string set", {"SS": []}, INVALID + "An string set  may not be empty"),
    same("empty number set", {"NS": []}, INVALID + "An number set  may not be empty"),
    same("empty binary set", {"BS": []}, INVALID + "Binary sets should not be empty"),
    same("empty set in a map", {"M": {"k": {"SS": []}}}, INVALID + "An string set  may not be empty"),
    Mistake(
        "duplicates in a string set",
        {"SS": ["b", "a", "b"]},
        INVALID + 'Input collection ["a", "b", "b"] contains duplicates.',
        INVALID + "Input collection [b, a, b] contains duplicates.",
    ),
    Mistake(
        "duplicates in a binary set",
        {"BS": ["AA==", "/w==", "AA=="]},
        INVALID + 'Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
        INVALID + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
    ),
    Mistake(
        "numbers of a set that are equal",
        {"NS": ["1", "2", "1.0"]},
        INVALID + "Input collection contains duplicates.",
        "Input collection contains duplicates",
    ),
    Mistake("an empty number", {"N": ""}, NOT_A_NUMBER + ": ", NOT_A_NUMBER),
    Mistake("an empty number in a set", {"NS": ["1", ""]}, NOT_A_NUMBER + ": ", NOT_A_NUMBER),
    Mistake("an exponent of 2^31-1", {"N": "1e2147483647"}, OVERFLOW, UNDERFLOW),
    Mistake(
        "an exponent of many digits",
        {"N": "-1e" + "9" * 50},
        OVERFLOW,
        f"{NOT_A_NUMBER}: -1e{'9' * 50}",
    ),
    *(
        Mistake(f"number {text}", {"N": text}, new, old)
        for text, new, old in (
            ("1e2147483645", OVERFLOW, OVERFLOW),
            ("1e2147483646", OVERFLOW, UNDERFLOW),
            ("10e2147483646", OVERFLOW, UNDERFLOW),
            ("0e2147483647", OVERFLOW, UNDERFLOW),
            ("1e2147483648", OVERFLOW, f"{NOT_A_NUMBER}: 1e2147483648"),
            ("1e-2147483648", UNDERFLOW, f"{NOT_A_NUMBER}: 1e-2147483648"),
            ("0.1e-2147483647", UNDERFLOW, f"{NOT_A_NUMBER}: 0.1e-2147483647"),
            ("-0e-2147483648", UNDERFLOW, f"{NOT_A_NUMBER}: -0e-2147483648"),
            ("0e126", OVERFLOW, OVERFLOW),
            ("0e-131", UNDERFLOW, UNDERFLOW),
            ("0.0e-130", UNDERFLOW, UNDERFLOW),
        )
    ),
    same(
        "a boolean in text, then a number",
        {"L": [{"BOOL": "T"}, {"N": "x"}]},
        f"{NOT_A_NUMBER}: x",
        older=True,
    ),
    same(
        "false NULL in text",
        {"NULL": "No"},
        INVALID + "Null attribute value types must have the value of true",
        older=True,
    ),
    same(
        "two datatypes, an empty set",
        {"S": "a", "SS": []},
        INVALID + "An string set  may not be empty",
        older=True,
    ),
    same("two datatypes, a bad number", {"S": "a", "N": "x"}, f"{NOT_A_NUMBER}: x", older=True),
    same("an empty name", {"M": {"": {"S": "a"}}}, "Empty attribute name"),
    same("an empty name inside", {"L": [{"M": {"k": {"M": {"": {}}}}}]}, "Empty attribute name"),
    Mistake(
        "a quoted duplicate",
        {"SS": ["c", 'q"', "a", 'q"', "B"]},
        INVALID + 'Input collection ["a", "c", "q\\"", "q\\"", "B"] contains duplicates.',
        INVALID + 'Input collection [c, q", a, q", B] contains duplicates.',
    ),
    *(
        number(text, f"{NOT_A_NUMBER}: {text}")
        for text in (
            *("abc", " 1", "1 ", "NaN", "Infinity", "-Infinity", "0x10", "1_000", "1,5", "1e", "e5", "."),
            *("-", "+", "--1", "+-1", "1.2.3", "1e1.5", "١", "1\n", "½", "1e+", "0b1", "1e5 "),
        )
    ),
    number("1e126", OVERFLOW),
    number("-1e126", OVERFLOW),
    number("10e125", OVERFLOW),
    number("9" * 127, OVERFLOW),
    number("1e-131", UNDERFLOW),
    number("-1e-131", UNDERFLOW),
    number("0.1e-130", UNDERFLOW),
    number("1" * 39, TOO_PRECISE),
    number("0." + "1" * 39, TOO_PRECISE),
    number("1" + "0" * 38 + ".1", TOO_PRECISE),
    same("a bad number in a set", {"NS": ["1", "x"]}, NOT_A_NUMBER + ": x"),
    same("a bad number in a list in a map", {"M": {"k": {"L": [{"N": "x"}]}}}, NOT_A_NUMBER + ": x"),
]


@dataclass(frozen=True)
class Place:
    what: str
    operation: str
    request: Callable[[Value], dict[str, Any]]
    layer: str
    """"enveloped", "new", "old", or "expression": old and inside an expression."""


PLACES = [
    Place("item", "PutItem", lambda v: {"TableName": "hash", "Item": {**KEY, "v": v}}, "enveloped"),
    Place(
        "condition",
        "PutItem",
        lambda v: {
            "TableName": "hash",
            "Item": KEY,
            "ConditionExpression": "v = :v",
            "ExpressionAttributeValues": {":v": v},
        },
        "enveloped",
    ),
    Place(
        "Expected",
        "PutItem",
        lambda v: {"TableName": "hash", "Item": KEY, "Expected": {"v": {"Value": v}}},
        "enveloped",
    ),
    Place(
        "update",
        "UpdateItem",
        lambda v: {
            "TableName": "hash",
            "Key": KEY,
            "UpdateExpression": "SET v = :v",
            "ExpressionAttributeValues": {":v": v},
        },
        "enveloped",
    ),
    Place(
        "AttributeUpdates",
        "UpdateItem",
        lambda v: {"TableName": "hash", "Key": KEY, "AttributeUpdates": {"v": {"Value": v, "Action": "PUT"}}},
        "enveloped",
    ),
    Place(
        "condition",
        "DeleteItem",
        lambda v: {
            "TableName": "hash",
            "Key": KEY,
            "ConditionExpression": "v = :v",
            "ExpressionAttributeValues": {":v": v},
        },
        "enveloped",
    ),
    Place("key", "DeleteItem", lambda v: {"TableName": "hash", "Key": {"p": v}}, "enveloped"),
    Place("key", "GetItem", lambda v: {"TableName": "hash", "Key": {"p": v}}, "new"),
    Place("key", "BatchGetItem", lambda v: {"RequestItems": {"hash": {"Keys": [{"p": v}]}}}, "new"),
    Place(
        "filter",
        "Query",
        lambda v: {
            "TableName": "hash",
            "KeyConditionExpression": "p = :p",
            "FilterExpression": "v = :v",
            "ExpressionAttributeValues": {":p": {"S": "x"}, ":v": v},
        },
        "new",
    ),
    Place(
        "start key",
        "Query",
        lambda v: {
            "TableName": "hash",
            "KeyConditionExpression": "p = :p",
            "ExclusiveStartKey": {"p": v},
            "ExpressionAttributeValues": {":p": {"S": "x"}},
        },
        "new",
    ),
    Place("start key", "Scan", lambda v: {"TableName": "hash", "ExclusiveStartKey": {"p": v}}, "new"),
    Place(
        "put",
        "BatchWriteItem",
        lambda v: {"RequestItems": {"hash": [{"PutRequest": {"Item": {**KEY, "v": v}}}]}},
        "old",
    ),
    Place(
        "delete",
        "BatchWriteItem",
        lambda v: {"RequestItems": {"hash": [{"DeleteRequest": {"Key": {"p": v}}}]}},
        "old",
    ),
    Place(
        "filter",
        "Scan",
        lambda v: {
            "TableName": "hash",
            "FilterExpression": "v = :v",
            "ExpressionAttributeValues": {":v": v},
        },
        "new",
    ),
    Place(
        "ScanFilter",
        "Scan",
        lambda v: {
            "TableName": "hash",
            "ScanFilter": {"v": {"ComparisonOperator": "EQ", "AttributeValueList": [v]}},
        },
        "new",
    ),
    Place(
        "put",
        "TransactWriteItems",
        lambda v: {"TransactItems": [{"Put": {"TableName": "hash", "Item": {**KEY, "v": v}}}]},
        "old",
    ),
    Place(
        "update",
        "TransactWriteItems",
        lambda v: {
            "TransactItems": [
                {
                    "Update": {
                        "TableName": "hash",
                        "Key": KEY,
                        "UpdateExpression": "SET v = :v",
                        "ExpressionAttributeValues": {":v": v},
                    }
                }
            ]
        },
        "expression",
    ),
    Place(
        "key",
        "TransactGetItems",
        lambda v: {"TransactItems": [{"Get": {"TableName": "hash", "Key": {"p": v}}}]},
        "old",
    ),
]


def wrapped(text: str, place: Place) -> str:
    in_expression = ":v" in place.request({}).get("ExpressionAttributeValues", {})
    if in_expression or place.layer == "expression":
        return f"ExpressionAttributeValues contains invalid value: {text} for key :v"
    return text


def text_of(mistake: Mistake, place: Place) -> str:
    layer = place.layer
    if mistake.older:
        return wrapped(mistake.old, place)
    if layer == "enveloped":
        return (ONE if mistake.enveloped else "") + mistake.new
    if layer == "new":
        return mistake.new
    if layer == "old":
        return mistake.old
    return wrapped(mistake.old, place)


def cases() -> Iterator[Case]:
    for place in PLACES:
        for mistake in MISTAKES:
            yield Case(
                f"{mistake.what} in {place.what}",
                place.operation,
                place.request(mistake.value),
                text_of(mistake, place),
                "errors.md sections 3 and 6.2, limits.md section 2",
            )


@in_lots(cases())
def test_a_value_that_cannot_be_stored_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


def nested(levels: int) -> Value:
    value: Value = {"S": "deep"}
    for level in range(levels):
        value = {"M": {"k": value}} if level % 2 else {"L": [value]}
    return value


TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)


def nesting_cases() -> Iterator[Case]:
    for place in PLACES:
        if "key" not in place.what:
            for levels in (32, 33, 62, 63, 80):
                if place.what == "ScanFilter" and levels == 32:
                    continue  # one level more than items
                text = TOO_DEEP
                if levels > 62 or place.layer == "expression":
                    text = wrapped(TOO_DEEP, place)
                elif place.layer == "enveloped":
                    text = ONE + TOO_DEEP
                elif place.operation == "Scan" and place.what == "start key":
                    text = f"The provided starting key is invalid: {TOO_DEEP}"
                yield Case(
                    f"{levels} levels in {place.what}",
                    place.operation,
                    place.request(nested(levels)),
                    text,
                    "limits.md section 2: 32 levels, 32 nested maps under an attribute are refused",
                )


@in_lots(nesting_cases())
def test_a_value_that_is_nested_too_deep_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


BAD_KEY: dict[str, Any] = {"p": {"N": "abc"}}
BEFORE: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"Key": BAD_KEY, "ProjectionExpression": "a,"}),
    ("GetItem", {"Key": BAD_KEY, "ProjectionExpression": "a", "ExpressionAttributeNames": {"#x": "b"}}),
    ("GetItem", {"Key": BAD_KEY, "AttributesToGet": ["a", "a"]}),
    ("DeleteItem", {"Key": BAD_KEY, "ConditionExpression": "a ="}),
    ("UpdateItem", {"Key": BAD_KEY, "UpdateExpression": "SET"}),
    ("PutItem", {"Item": BAD_KEY, "ConditionExpression": "a ="}),
]


@in_lots(
    Case(
        f"key before {' '.join(request)}",
        operation,
        {"TableName": "number", **request},
        ("" if operation == "GetItem" else ONE) + NOT_A_NUMBER + ": abc",
        "errors.md section 4: rules that need no table come in the order of section 6",
    )
    for operation, request in BEFORE
)
def test_values_of_a_key_are_reported_before_expressions(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


@in_lots(
    Case(
        "key before projection",
        operation,
        request,
        NOT_A_NUMBER + ": abc",
        "errors.md section 4: rules that need no table come in the order of section 6",
    )
    for operation, request in (
        (
            "BatchGetItem",
            {"RequestItems": {"number": {"Keys": [BAD_KEY], "ProjectionExpression": "a,"}}},
        ),
        (
            "TransactGetItems",
            {
                "TransactItems": [
                    {"Get": {"TableName": "number", "Key": BAD_KEY, "ProjectionExpression": "a,"}}
                ]
            },
        ),
    )
)
def test_values_of_several_keys_are_reported_before_projections(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)
