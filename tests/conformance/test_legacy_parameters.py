"""The parameters of before 2014: they become the same trees as expressions, with rules of their own.

Sources: expressions.md section 6; errors.md section 6.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, plain, refused

INVALID = "One or more parameter values were invalid: "
STORED = {
    "p": "1",
    "r": 1,
    "n": 5,
    "s": "hello",
    "b": b"\x01\x02",
    "l": ["a", 1],
    "ss": {"a", "b"},
    "z": None,
}


def values(*content: Any) -> list[dict[str, Any]]:
    return [item(v=value)["v"] for value in content]


def condition(operator: str, *content: Any) -> dict[str, Any]:
    listed = {"AttributeValueList": values(*content)} if content else {}
    return {"ComparisonOperator": operator, **listed}


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    name = create("p:S", "r:N", lsi={"local": ("n:N", "ALL")})
    dynamodb.put_item(TableName=name, Item=item(**STORED))
    return name


TRUE: list[tuple[str, dict[str, Any]]] = [
    ("n", condition("EQ", 5)),
    ("n", condition("NE", 6)),
    ("n", condition("NE", "5")),
    ("n", condition("LE", 5)),
    ("n", condition("LT", 6)),
    ("n", condition("GE", 5)),
    ("n", condition("GT", 4)),
    ("n", condition("BETWEEN", 4, 5)),
    ("n", condition("IN", 1, 5)),
    ("n", condition("NOT_NULL")),
    ("z", condition("NOT_NULL")),
    ("gone", condition("NULL")),
    ("gone", condition("NE", 5)),
    ("s", condition("BEGINS_WITH", "he")),
    ("b", condition("BEGINS_WITH", b"\x01")),
    ("s", condition("CONTAINS", "ell")),
    ("ss", condition("CONTAINS", "a")),
    ("l", condition("CONTAINS", 1)),
    ("s", condition("NOT_CONTAINS", "xyz")),
    ("ss", condition("NOT_CONTAINS", "c")),
    ("ss", condition("EQ", {"b", "a"})),
]
FALSE: list[tuple[str, dict[str, Any]]] = [
    ("n", condition("EQ", 6)),
    ("n", condition("EQ", "5")),
    ("n", condition("NE", 5)),
    ("n", condition("LT", 5)),
    ("n", condition("GT", 5)),
    ("n", condition("BETWEEN", 6, 7)),
    ("n", condition("IN", 1, 2)),
    ("n", condition("NULL")),
    ("gone", condition("NOT_NULL")),
    ("gone", condition("EQ", 5)),
    ("gone", condition("LT", 5)),
    ("s", condition("BEGINS_WITH", "lo")),
    ("s", condition("CONTAINS", "xyz")),
    ("s", condition("NOT_CONTAINS", "ell")),
    ("ss", condition("NOT_CONTAINS", "a")),
]
KEY = item(p="1", r=1)
BY_P = {"p": condition("EQ", "1")}


@pytest.mark.parametrize(
    ("name", "tested", "holds"),
    [(n, c, True) for n, c in TRUE] + [(n, c, False) for n, c in FALSE],
    ids=[f"{n} {c['ComparisonOperator']} {h}" for h, cs in ((True, TRUE), (False, FALSE)) for n, c in cs],
)
def test_an_operator_works_alike_in_every_parameter(
    dynamodb: Any, table: str, name: str, tested: dict[str, Any], holds: bool
) -> None:
    """As ScanFilter, as QueryFilter (on a non-key attribute), and as Expected of all three writes."""
    found = dynamodb.scan(TableName=table, ScanFilter={name: tested})
    assert found["Count"] == holds
    found = dynamodb.query(TableName=table, KeyConditions=BY_P, QueryFilter={name: tested})
    assert found["Count"] == holds
    for operation, subject in (
        ("update_item", {"Key": KEY}),
        ("put_item", {"Item": item(**STORED)}),
        ("delete_item", {"Key": KEY}),
    ):
        if holds:
            getattr(dynamodb, operation)(TableName=table, **subject, Expected={name: tested})
        else:
            with refused("ConditionalCheckFailedException", "The conditional request failed"):
                getattr(dynamodb, operation)(TableName=table, **subject, Expected={name: tested})


EXPECTED: list[tuple[dict[str, Any], bool]] = [
    ({"n": {"Value": {"N": "5"}}}, True),
    ({"n": {"Value": {"N": "5.0"}, "Exists": True}}, True),
    ({"n": {"Value": {"N": "6"}}}, False),
    ({"n": {"Value": {"N": "4"}, "ComparisonOperator": "GT"}}, True),
    ({"gone": {"Exists": False}}, True),
    ({"n": {"Exists": False}}, False),
    ({"n": {"Value": {"N": "5"}}, "gone": {"Exists": False}}, True),
    ({"n": {"Value": {"N": "5"}}, "s": {"Exists": False}}, False),
]


@pytest.mark.parametrize(("expected", "holds"), EXPECTED)
def test_expected_with_value_and_exists(
    dynamodb: Any, table: str, expected: dict[str, Any], holds: bool
) -> None:
    if holds:
        dynamodb.put_item(TableName=table, Item=item(**STORED), Expected=expected)
        return
    with refused("ConditionalCheckFailedException"):
        dynamodb.put_item(TableName=table, Item=item(**STORED), Expected=expected)


@pytest.mark.parametrize(
    ("operator", "holds"),
    [({}, False), ({"ConditionalOperator": "AND"}, False), ({"ConditionalOperator": "OR"}, True)],
)
def test_conditions_are_joined_by_and_by_default(
    dynamodb: Any, table: str, operator: dict[str, str], holds: bool
) -> None:
    both = {"n": condition("EQ", 5), "s": condition("EQ", "other")}
    assert dynamodb.scan(TableName=table, ScanFilter=both, **operator)["Count"] == holds
    assert dynamodb.query(TableName=table, KeyConditions=BY_P, QueryFilter=both, **operator)["Count"] == holds
    if holds:
        dynamodb.delete_item(TableName=table, Key=KEY, Expected=both, **operator)
    else:
        with refused("ConditionalCheckFailedException"):
            dynamodb.delete_item(TableName=table, Key=KEY, Expected=both, **operator)


def action(name: str, *content: Any) -> dict[str, Any]:
    return {"Action": name, **({"Value": values(*content)[0]} if content else {})}


UPDATES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"n": action("PUT", 9)}, {"n": 9}),
    ({"n": {"Value": {"N": "9"}}}, {"n": 9}),
    ({"fresh": action("PUT", "x")}, {"fresh": "x"}),
    ({"n": action("DELETE")}, {"n": None}),
    ({"gone": action("DELETE")}, {}),
    ({"ss": action("DELETE", {"a", "x"})}, {"ss": {"b"}}),
    ({"ss": action("DELETE", {"a", "b"})}, {"ss": None}),
    ({"n": action("ADD", 4)}, {"n": 9}),
    ({"fresh": action("ADD", 4)}, {"fresh": 4}),
    ({"ss": action("ADD", {"c"})}, {"ss": {"a", "b", "c"}}),
    ({"l": action("ADD", ["z"])}, {"l": ["a", 1, "z"]}),
    (
        {"n": action("PUT", 9), "s": action("DELETE"), "ss": action("ADD", {"c"})},
        {"n": 9, "s": None, "ss": {"a", "b", "c"}},
    ),
]


@pytest.mark.parametrize(("updates", "changed"), UPDATES)
def test_attribute_updates(
    dynamodb: Any, table: str, updates: dict[str, Any], changed: dict[str, Any]
) -> None:
    answer = dynamodb.update_item(TableName=table, Key=KEY, AttributeUpdates=updates, ReturnValues="ALL_NEW")[
        "Attributes"
    ]
    wanted = {**STORED, **changed}
    removed = {name for name, value in changed.items() if value is None}
    assert plain(answer) == {name: value for name, value in wanted.items() if name not in removed}


def test_attribute_updates_return_changed_attributes(dynamodb: Any, table: str) -> None:
    for mode, attributes in (("UPDATED_OLD", {"n": 5}), ("UPDATED_NEW", {"n": 7})):
        dynamodb.put_item(TableName=table, Item=item(**STORED))
        answer = dynamodb.update_item(
            TableName=table, Key=KEY, AttributeUpdates={"n": action("ADD", 2)}, ReturnValues=mode
        )
        assert plain(answer["Attributes"]) == attributes


@pytest.fixture
def ten(dynamodb: Any, create: Callable[..., str]) -> str:
    name = create("p:S", "r:N", lsi={"local": ("n:N", "ALL")})
    for number in range(10):
        dynamodb.put_item(TableName=name, Item=item(p="1", r=number, n=-number))
    return name


KEY_CONDITIONS: list[tuple[dict[str, Any], list[int]]] = [
    (condition("EQ", 3), [3]),
    (condition("LT", 3), [0, 1, 2]),
    (condition("LE", 3), [0, 1, 2, 3]),
    (condition("GT", 7), [8, 9]),
    (condition("GE", 7), [7, 8, 9]),
    (condition("BETWEEN", 2, 4), [2, 3, 4]),
]


@pytest.mark.parametrize(("tested", "found"), KEY_CONDITIONS)
def test_key_conditions(dynamodb: Any, ten: str, tested: dict[str, Any], found: list[int]) -> None:
    answer = dynamodb.query(TableName=ten, KeyConditions={**BY_P, "r": tested})
    assert [plain(i)["r"] for i in answer["Items"]] == found
    answer = dynamodb.query(TableName=ten, KeyConditions={"r": tested, **BY_P}, ScanIndexForward=False)
    assert [plain(i)["r"] for i in answer["Items"]] == found[::-1]


def test_key_conditions_on_an_index(dynamodb: Any, ten: str) -> None:
    answer = dynamodb.query(
        TableName=ten, IndexName="local", KeyConditions={**BY_P, "n": condition("LE", -8)}
    )
    assert [plain(i)["r"] for i in answer["Items"]] == [9, 8]


def test_key_conditions_support_begins_with(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", "r:S")
    for text in ("a", "ab", "abc", "b"):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=text))
    answer = dynamodb.query(TableName=table, KeyConditions={**BY_P, "r": condition("BEGINS_WITH", "ab")})
    assert [plain(i)["r"] for i in answer["Items"]] == ["ab", "abc"]


def test_attributes_to_get(dynamodb: Any, table: str) -> None:
    wanted = {"AttributesToGet": ["n", "s", "gone"]}
    shown = item(n=5, s="hello")
    assert dynamodb.get_item(TableName=table, Key=KEY, **wanted)["Item"] == shown
    assert dynamodb.query(TableName=table, KeyConditions=BY_P, **wanted)["Items"] == [shown]
    assert dynamodb.scan(TableName=table, **wanted)["Items"] == [shown]


EXPECTED_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "value and list": (
        {"n": {"Value": {"N": "1"}, "AttributeValueList": values(1), "ComparisonOperator": "EQ"}},
        "Value and AttributeValueList cannot be used together for Attribute: n",
    ),
    "exists and operator": (
        {"n": {"Exists": True, "ComparisonOperator": "NULL"}},
        "Exists and ComparisonOperator cannot be used together for Attribute: n",
    ),
    "operator without value": (
        {"n": {"ComparisonOperator": "EQ"}},
        "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: n",
    ),
    "list without operator": (
        {"n": {"AttributeValueList": values(1)}},
        "AttributeValueList can only be used with a ComparisonOperator for Attribute: n",
    ),
    "nothing": ({"n": {}}, "Value must be provided when Exists is null for Attribute: n"),
    "exists without value": (
        {"n": {"Exists": True}},
        "Value must be provided when Exists is true for Attribute: n",
    ),
    "value that must not exist": (
        {"n": {"Exists": False, "Value": {"N": "1"}}},
        "Value cannot be used when Exists is false for Attribute: n",
    ),
    "too many arguments": (
        {"n": condition("EQ", 1, 2)},
        "Invalid number of argument(s) for the EQ ComparisonOperator",
    ),
    "an argument for NULL": (
        {"n": condition("NULL", 1)},
        "Invalid number of argument(s) for the NULL ComparisonOperator",
    ),
    "one bound": (
        {"n": condition("BETWEEN", 1)},
        "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
    ),
    "arguments of two types": (
        {"n": condition("IN", 1, "1")},
        "AttributeValues inside AttributeValueList must be of same type",
    ),
    "ordered set": (
        {"n": condition("LT", {1})},
        "ComparisonOperator LT is not valid for NS AttributeValue type",
    ),
    "beginning of a number": (
        {"n": condition("BEGINS_WITH", 1)},
        "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
    ),
}


@pytest.mark.parametrize(("expected", "text"), EXPECTED_REFUSED.values(), ids=EXPECTED_REFUSED)
def test_expected_is_rejected(dynamodb: Any, table: str, expected: dict[str, Any], text: str) -> None:
    """Enveloped (errors.md section 3)."""
    with invalid("1 validation error detected: " + INVALID + text):
        dynamodb.put_item(TableName=table, Item=item(**STORED), Expected=expected)


def test_bounds_out_of_order_are_rejected(dynamodb: Any, table: str) -> None:
    with invalid(
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    ):
        dynamodb.scan(TableName=table, ScanFilter={"n": condition("BETWEEN", 2, 1)})


UPDATES_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "put nothing": (
        {"n": action("PUT")},
        "Only DELETE action is allowed when no attribute value is specified",
    ),
    "add nothing": (
        {"n": action("ADD")},
        "Only DELETE action is allowed when no attribute value is specified",
    ),
    "delete a number": (
        {"n": action("DELETE", 1)},
        "DELETE action with value is not supported for the type N",
    ),
    "add a string": ({"s": action("ADD", "x")}, "ADD action is not supported for the type S"),
    "add a map": ({"s": action("ADD", {})}, "ADD action is not supported for the type M"),
    "the key": ({"p": action("PUT", "x")}, "Cannot update attribute p. This attribute is part of the key"),
}


@pytest.mark.parametrize(("updates", "text"), UPDATES_REFUSED.values(), ids=UPDATES_REFUSED)
def test_attribute_updates_are_rejected(
    dynamodb: Any, table: str, updates: dict[str, Any], text: str
) -> None:
    with invalid(INVALID + text):
        dynamodb.update_item(TableName=table, Key=KEY, AttributeUpdates=updates)


def test_an_update_of_another_type_is_rejected_at_run_time(dynamodb: Any, table: str) -> None:
    for updates in ({"s": action("ADD", 1)}, {"n": action("DELETE", {"a"})}, {"ss": action("ADD", {1})}):
        with invalid("Type mismatch for attribute to update"):
            dynamodb.update_item(TableName=table, Key=KEY, AttributeUpdates=updates)


KEYS_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no partition key": ({"r": condition("EQ", 1)}, "Query condition missed key schema element: p"),
    "another attribute": (
        {**BY_P, "x": condition("EQ", 1)},
        "Query condition missed key schema element: r",
    ),
    "three of them": (
        {**BY_P, "r": condition("EQ", 1), "x": condition("EQ", 1)},
        "Conditions can be of length 1 or 2 only",
    ),
    "partition key unequal": ({"p": condition("GT", "1")}, "Query key condition not supported"),
    "no key operator": (
        {**BY_P, "r": condition("NE", 1)},
        "Attempted conditional constraint is not an indexable operation",
    ),
    "wrong type": (
        {**BY_P, "r": condition("EQ", "1")},
        INVALID + "Condition parameter type does not match schema type",
    ),
}


@pytest.mark.parametrize(("conditions", "text"), KEYS_REFUSED.values(), ids=KEYS_REFUSED)
def test_key_conditions_are_rejected(
    dynamodb: Any, table: str, conditions: dict[str, Any], text: str
) -> None:
    with invalid(text):
        dynamodb.query(TableName=table, KeyConditions=conditions)


def test_a_query_filter_on_a_key_is_rejected(dynamodb: Any, table: str) -> None:
    with invalid("QueryFilter can only contain non-primary key attributes: Primary key attribute: r"):
        dynamodb.query(TableName=table, KeyConditions=BY_P, QueryFilter={"r": condition("EQ", 1)})


def test_a_name_to_get_twice_is_rejected(dynamodb: Any, table: str) -> None:
    with invalid(INVALID + "Duplicate value in attribute name: n"):
        dynamodb.get_item(TableName=table, Key=KEY, AttributesToGet=["n", "s", "n"])


@pytest.mark.parametrize("operation", ["put_item", "delete_item"])
def test_legacy_and_expressions_do_not_mix(dynamodb: Any, table: str, operation: str) -> None:
    subject = {"Item": item(**STORED)} if operation == "put_item" else {"Key": KEY}
    with invalid(
        "1 validation error detected: Can not use both expression and non-expression parameters in the same "
        "request: Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
    ):
        getattr(dynamodb, operation)(
            TableName=table,
            **subject,
            Expected={"n": {"Exists": False}},
            ConditionExpression="attribute_exists(p)",
        )
