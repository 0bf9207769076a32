"""Legacy conditions and updates that contradict themselves. Source: errors.md 6.6."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fixtures.rejections import INVALID, KEY, ONE, Case, World, in_lots

SOURCE = "errors.md 6.6, expressions.md section 6"
S, N, B = {"S": "x"}, {"N": "1"}, {"B": "AA=="}
Condition = dict[str, Any]


def condition(operator: str, *values: Any) -> Condition:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


def arguments(operator: str) -> str:
    return INVALID + f"Invalid number of argument(s) for the {operator} ComparisonOperator"


def not_valid_for(operator: str, kind: str) -> str:
    return INVALID + f"ComparisonOperator {operator} is not valid for {kind} AttributeValue type"


COMPARISONS: list[tuple[str, Condition, str]] = [
    *(
        (f"{operator} of {count}", condition(operator, *[S] * count), arguments(operator))
        for operator, count in (
            *(("EQ", 0), ("EQ", 2), ("NE", 0), ("NE", 2), ("LE", 0), ("LT", 2), ("GE", 0), ("GT", 3)),
            *(("NULL", 1), ("NOT_NULL", 1), ("CONTAINS", 0), ("NOT_CONTAINS", 2), ("BEGINS_WITH", 0)),
            *(("IN", 0), ("BETWEEN", 1), ("BETWEEN", 3)),
        )
    ),
    *(
        (f"{operator} without a list", {"ComparisonOperator": operator}, arguments(operator))
        for operator in ("EQ", "LT", "IN", "BETWEEN", "CONTAINS")
    ),
    *(
        (f"{operator} of {kind}", condition(operator, {kind: content}), not_valid_for(operator, kind))
        for operator in ("LT", "GE", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH")
        for kind, content in (
            ("SS", ["a"]),
            ("NS", ["1"]),
            ("L", []),
            ("M", {}),
            ("BOOL", True),
            ("NULL", True),
        )
        if not (operator in ("CONTAINS", "NOT_CONTAINS") and kind in ("BOOL", "NULL"))
    ),
    ("BEGINS_WITH of N", condition("BEGINS_WITH", N), not_valid_for("BEGINS_WITH", "N")),
    (
        "IN of two types",
        condition("IN", S, N),
        INVALID + "AttributeValues inside AttributeValueList must be of same type",
    ),
    (
        "BETWEEN of two types",
        condition("BETWEEN", S, N),
        INVALID + "AttributeValues inside AttributeValueList must be of same type",
    ),
    (
        "BETWEEN the wrong way round",
        condition("BETWEEN", {"N": "2"}, N),
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
    ),
]

TAKERS: list[tuple[str, str, bool, Callable[[Condition], dict[str, Any]]]] = [
    ("ScanFilter", "Scan", False, lambda c: {"TableName": "hash", "ScanFilter": {"a": c}}),
    (
        "QueryFilter",
        "Query",
        False,
        lambda c: {"TableName": "hash", "KeyConditions": {"p": condition("EQ", S)}, "QueryFilter": {"a": c}},
    ),
    ("Expected", "PutItem", False, lambda c: {"TableName": "hash", "Item": KEY, "Expected": {"a": c}}),
    ("Expected", "DeleteItem", False, lambda c: {"TableName": "hash", "Key": KEY, "Expected": {"a": c}}),
    ("Expected", "UpdateItem", False, lambda c: {"TableName": "hash", "Key": KEY, "Expected": {"a": c}}),
]

EXPECTED: list[tuple[str, Condition, str]] = [
    (
        "Value with a list",
        {"Value": S, "AttributeValueList": [S], "ComparisonOperator": "EQ"},
        "Value and AttributeValueList cannot be used together for Attribute: a",
    ),
    (
        "Value with a list, no operator",
        {"Value": S, "AttributeValueList": [S]},
        "Value and AttributeValueList cannot be used together for Attribute: a",
    ),
    (
        "Exists with an operator",
        {"Exists": True, "ComparisonOperator": "EQ", "Value": S},
        "Exists and ComparisonOperator cannot be used together for Attribute: a",
    ),
    (
        "Exists with NULL",
        {"Exists": False, "ComparisonOperator": "NULL"},
        "Exists and ComparisonOperator cannot be used together for Attribute: a",
    ),
    (
        "a list without an operator",
        {"AttributeValueList": [S]},
        "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
    ),
    (
        "a list with Exists",
        {"Exists": True, "AttributeValueList": [S]},
        "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
    ),
    ("nothing", {}, "Value must be provided when Exists is null for Attribute: a"),
    ("Exists alone", {"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
    (
        "a value that must not exist",
        {"Exists": False, "Value": S},
        "Value cannot be used when Exists is false for Attribute: a",
    ),
    *(
        (
            f"{operator} of nothing",
            {"ComparisonOperator": operator},
            f"Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: a",
        )
        for operator in ("EQ", "NE", "GT", "IN", "BETWEEN", "BEGINS_WITH", "CONTAINS")
    ),
]


def cases() -> Iterator[Case]:
    for where, operation, _, request in TAKERS:
        for what, each, text in COMPARISONS:
            if where == "Expected" and "AttributeValueList" not in each:
                continue  # reported in Expected's own words
            envelope = ONE if where == "Expected" else ""
            yield Case(f"{what} in {where}", operation, request(each), envelope + text, SOURCE)
        if where == "Expected":
            for what, each, text in EXPECTED:
                yield Case(f"{what} in {where}", operation, request(each), ONE + INVALID + text, SOURCE)
    updates: list[tuple[str, dict[str, Any], str]] = [
        (
            "PUT of nothing",
            {"Action": "PUT"},
            "Only DELETE action is allowed when no attribute value is specified",
        ),
        (
            "ADD of nothing",
            {"Action": "ADD"},
            "Only DELETE action is allowed when no attribute value is specified",
        ),
        ("nothing", {}, "Only DELETE action is allowed when no attribute value is specified"),
        *(
            (
                f"DELETE of {kind}",
                {"Action": "DELETE", "Value": {kind: content}},
                f"DELETE action with value is not supported for the type {kind}",
            )
            for kind, content in (
                ("S", "x"),
                ("N", "1"),
                ("B", "AA=="),
                ("BOOL", True),
                ("NULL", True),
                ("L", []),
                ("M", {}),
            )
        ),
        *(
            (
                f"ADD of {kind}",
                {"Action": "ADD", "Value": {kind: content}},
                f"ADD action is not supported for the type {kind}",
            )
            for kind, content in (("S", "x"), ("B", "AA=="), ("BOOL", True), ("NULL", True), ("M", {}))
        ),
    ]
    for what, update, text in updates:
        yield Case(
            what,
            "UpdateItem",
            {"TableName": "hash", "Key": KEY, "AttributeUpdates": {"a": update}},
            INVALID + text,
            SOURCE,
        )
    for what, name, update in (
        ("ADD of a number to a string", "s", {"Action": "ADD", "Value": N}),
        ("ADD of strings to numbers", "n", {"Action": "ADD", "Value": {"SS": ["a"]}}),
        ("DELETE of numbers from strings", "ss", {"Action": "DELETE", "Value": {"NS": ["1"]}}),
    ):
        yield Case(
            what,
            "UpdateItem",
            {"TableName": "hash", "Key": KEY, "AttributeUpdates": {name: update}},
            "Type mismatch for attribute to update",
            "errors.md 6.4, run time",
        )
    yield Case(
        "the key written",
        "UpdateItem",
        {"TableName": "hash", "Key": KEY, "AttributeUpdates": {"p": {"Value": S}}},
        INVALID + "Cannot update attribute p. This attribute is part of the key",
        "errors.md 6.3",
    )
    for operation, request in (
        ("GetItem", {"TableName": "hash", "Key": KEY}),
        ("Scan", {"TableName": "hash"}),
        ("Query", {"TableName": "hash", "KeyConditions": {"p": condition("EQ", S)}}),
    ):
        yield Case(
            "a name twice",
            operation,
            {**request, "AttributesToGet": ["a", "b", "a"]},
            INVALID + "Duplicate value in attribute name: a",
            SOURCE,
        )
    yield Case(
        "a name twice",
        "BatchGetItem",
        {"RequestItems": {"hash": {"Keys": [KEY], "AttributesToGet": ["a", "a"]}}},
        INVALID + "Duplicate value in attribute name: a",
        SOURCE,
    )
    for mode in ("ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"):
        yield Case(
            f"ReturnValues {mode}",
            "PutItem",
            {"TableName": "hash", "Item": KEY, "ReturnValues": mode},
            ONE + "ReturnValues can only be ALL_OLD or NONE",
            "errors.md 6.6; enveloped as invalid ReturnValues are, section 3",
        )
        yield Case(
            f"ReturnValues {mode}",
            "DeleteItem",
            {"TableName": "hash", "Key": KEY, "ReturnValues": mode},
            ONE + "ReturnValues can only be ALL_OLD or NONE",
            "errors.md 6.6; enveloped as invalid ReturnValues are, section 3",
        )
    for what, conditions, text in (
        ("no condition", {}, "Conditions can be of length 1 or 2 only"),
        (
            "three conditions",
            {name: condition("EQ", S) for name in "pra"},
            "Conditions can be of length 1 or 2 only",
        ),
        ("another attribute", {"a": condition("EQ", S)}, "Query condition missed key schema element: p"),
        ("the sort key alone", {"r": condition("EQ", N)}, "Query condition missed key schema element: p"),
        ("a range of partition keys", {"p": condition("GT", S)}, "Query key condition not supported"),
        (
            "a key of another type",
            {"p": condition("EQ", N)},
            INVALID + "Condition parameter type does not match schema type",
        ),
        (
            "an operator keys do not have",
            {"p": condition("EQ", S), "r": condition("NE", N)},
            "Attempted conditional constraint is not an indexable operation",
        ),
        (
            "CONTAINS",
            {"p": condition("EQ", S), "r": condition("CONTAINS", N)},
            "Attempted conditional constraint is not an indexable operation",
        ),
    ):
        yield Case(
            f"{what} in KeyConditions",
            "Query",
            {"TableName": "pair", "KeyConditions": conditions},
            text,
            "errors.md 6.5",
        )


@in_lots(cases())
def test_a_legacy_parameter_that_contradicts_itself_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)
