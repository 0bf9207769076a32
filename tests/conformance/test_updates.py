"""UpdateItem: SET, REMOVE, ADD, DELETE, and what they make of an item.

Source: expressions.md section 5; texts: errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, plain

START = {
    "p": "1",
    "n": 5,
    "s": "text",
    "l": ["a", "b", "c"],
    "m": {"x": 1, "deep": {"l": [1, 2]}},
    "ss": {"a", "b"},
    "ns": {1, 2},
}


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    """A table with the item START."""
    name = create("p:S")
    dynamodb.put_item(TableName=name, Item=item(**START))
    return name


def update(dynamodb: Any, table: str, expression: str, values: dict[str, Any], key: str = "1") -> Any:
    parameters = {"ExpressionAttributeValues": item(**values)} if values else {}
    return dynamodb.update_item(
        TableName=table, Key=item(p=key), UpdateExpression=expression, ReturnValues="ALL_NEW", **parameters
    )["Attributes"]


V = {":v": 9}

CHANGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # expression, values, changed attributes (None: removed)
    ("SET n = :v", V, {"n": 9}),
    ("SET fresh = :v", V, {"fresh": 9}),
    ("SET n = n + :v", V, {"n": 14}),
    ("SET n = n - :v", V, {"n": -4}),
    ("SET n = :v - n", V, {"n": 4}),
    ("SET n = (n + :v)", V, {"n": 14}),
    ("SET fresh = s", {}, {"fresh": "text"}),
    ("SET n = s, s = n", {}, {"n": "text", "s": 5}),
    ("SET m.x = :v", V, {"m": {"x": 9, "deep": {"l": [1, 2]}}}),
    ("SET m.y = :v", V, {"m": {"x": 1, "y": 9, "deep": {"l": [1, 2]}}}),
    ("SET m.deep.l[0] = :v", V, {"m": {"x": 1, "deep": {"l": [9, 2]}}}),
    ("SET l[1] = :v", V, {"l": ["a", 9, "c"]}),
    ("SET l[3] = :v", V, {"l": ["a", "b", "c", 9]}),
    ("SET l[99] = :v", V, {"l": ["a", "b", "c", 9]}),
    ("SET l[9] = :v, l[7] = s", V, {"l": ["a", "b", "c", "text", 9]}),
    ("SET n = if_not_exists(n, :v)", V, {}),
    ("SET fresh = if_not_exists(fresh, :v)", V, {"fresh": 9}),
    ("SET fresh = if_not_exists(fresh, :v) + :v", V, {"fresh": 18}),
    ("SET fresh = if_not_exists(fresh, if_not_exists(n, :v))", V, {"fresh": 5}),
    ("SET l = list_append(l, :v)", {":v": ["d"]}, {"l": ["a", "b", "c", "d"]}),
    ("SET l = list_append(:v, l)", {":v": ["z"]}, {"l": ["z", "a", "b", "c"]}),
    (
        "SET fresh = list_append(if_not_exists(fresh, :v), l)",
        {":v": []},
        {"fresh": ["a", "b", "c"]},
    ),
    ("REMOVE n", {}, {"n": None}),
    ("REMOVE gone", {}, {}),
    ("REMOVE n, s", {}, {"n": None, "s": None}),
    ("REMOVE m.x", {}, {"m": {"deep": {"l": [1, 2]}}}),
    ("REMOVE m.gone", {}, {}),
    ("REMOVE l[1]", {}, {"l": ["a", "c"]}),
    ("REMOVE l[0], l[2]", {}, {"l": ["b"]}),
    ("REMOVE l[9]", {}, {}),
    ("ADD n :v", V, {"n": 14}),
    ("ADD fresh :v", V, {"fresh": 9}),
    ("ADD m.x :v", V, {"m": {"x": 10, "deep": {"l": [1, 2]}}}),
    ("ADD ss :v", {":v": {"b", "c"}}, {"ss": {"a", "b", "c"}}),
    ("ADD fresh :v", {":v": {"c"}}, {"fresh": {"c"}}),
    ("ADD ns :v", {":v": {2, 3}}, {"ns": {1, 2, 3}}),
    ("DELETE ss :v", {":v": {"b", "z"}}, {"ss": {"a"}}),
    ("DELETE ss :v", {":v": {"a", "b"}}, {"ss": None}),
    ("DELETE gone :v", {":v": {"a"}}, {}),
    (
        "SET n = :v REMOVE s ADD fresh :v DELETE ss :w",
        {":v": 9, ":w": {"a"}},
        {"n": 9, "s": None, "fresh": 9, "ss": {"b"}},
    ),
    ("set n = :v remove s", V, {"n": 9, "s": None}),
    # List indexes of one expression all refer to the old list.
    ("SET l[0] = :v REMOVE l[1]", V, {"l": [9, "c"]}),
    ("REMOVE l[0] SET l[1] = :v", V, {"l": [9, "c"]}),
]


@pytest.mark.parametrize(("expression", "values", "changed"), CHANGES, ids=[c[0] for c in CHANGES])
def test_update_expressions_change_the_item(
    dynamodb: Any, table: str, expression: str, values: dict[str, Any], changed: dict[str, Any]
) -> None:
    wanted = {name: value for name, value in {**START, **changed}.items() if value is not None}
    assert plain(update(dynamodb, table, expression, values)) == wanted
    assert plain(dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]) == wanted


def test_an_update_creates_missing_items(dynamodb: Any, table: str) -> None:
    assert plain(update(dynamodb, table, "SET n = :v", V, key="new")) == {"p": "new", "n": 9}


def test_an_update_without_expression_creates_the_bare_key(dynamodb: Any, table: str) -> None:
    dynamodb.update_item(TableName=table, Key=item(p="new"))
    assert dynamodb.get_item(TableName=table, Key=item(p="new"))["Item"] == item(p="new")
    dynamodb.update_item(TableName=table, Key=item(p="1"))
    assert plain(dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]) == START


MISSING = "The provided expression refers to an attribute that does not exist in the item"
BAD_PATH = "The document path provided in the update expression is invalid for update"
BAD_OPERAND = "An operand in the update expression has an incorrect data type"

RUN_TIME: list[tuple[str, dict[str, Any], str]] = [
    ("SET fresh = gone", {}, MISSING),
    ("SET n = n + gone", {}, MISSING),
    ("SET l = list_append(l, gone)", {}, MISSING),
    ("SET n = l[9]", {}, MISSING),
    ("SET gone.x = :v", V, BAD_PATH),
    ("SET s.x = :v", V, BAD_PATH),
    ("SET m[0] = :v", V, BAD_PATH),
    ("SET l.x = :v", V, BAD_PATH),
    ("SET m.gone.x = :v", V, BAD_PATH),
    ("REMOVE gone.x", {}, BAD_PATH),
    ("REMOVE s[0]", {}, BAD_PATH),
    ("SET n = s + :v", V, BAD_OPERAND),
    ("SET n = list_append(s, :v)", {":v": []}, BAD_OPERAND),
    ("ADD s :v", V, BAD_OPERAND),
    ("ADD ss :v", {":v": {1}}, BAD_OPERAND),
    ("DELETE n :v", {":v": {1}}, BAD_OPERAND),
    ("DELETE ss :v", {":v": {1}}, BAD_OPERAND),
]


@pytest.mark.parametrize(("expression", "values", "text"), RUN_TIME, ids=[r[0] for r in RUN_TIME])
def test_an_update_that_does_not_fit_the_item_is_rejected(
    dynamodb: Any, table: str, expression: str, values: dict[str, Any], text: str
) -> None:
    """Without prefix and without envelope; the item stays as it was (errors.md section 6.4)."""
    with invalid(text):
        update(dynamodb, table, expression, values)
    assert plain(dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]) == START


ENVELOPE = "1 validation error detected: Invalid UpdateExpression: "
STATIC: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, "The expression can not be empty;"),
    ("SET n = :v SET s = :v", V, 'The "SET" section can only be used once in an update expression;'),
    ("REMOVE n REMOVE s", {}, 'The "REMOVE" section can only be used once in an update expression;'),
    (
        "SET n = :v REMOVE n",
        V,
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        "path one: [n], path two: [n]",
    ),
    (
        "SET m.x = :v, m.x.y = :v",
        V,
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        "path one: [m, x], path two: [m, x, y]",
    ),
    (
        "SET m.x = :v, m[0] = :v",
        V,
        "Two document paths conflict with each other; must remove or rewrite one of these paths; "
        "path one: [m, x], path two: [m, [0]]",
    ),
    ("SET size = :v", V, "Attribute name is a reserved keyword; reserved keyword: size"),
    (
        "SET n = #x",
        {},
        "An expression attribute name used in the document path is not defined; attribute name: #x",
    ),
    (
        "SET n = :w",
        {},
        "An expression attribute value used in expression is not defined; attribute value: :w",
    ),
    (
        "ADD n :v",
        {":v": "text"},
        "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
        "typeSet: ALLOWED_FOR_ADD_OPERAND",
    ),
    (
        "ADD n :v",
        {":v": ["x"]},
        "Incorrect operand type for operator or function; operator: ADD, operand type: LIST, "
        "typeSet: ALLOWED_FOR_ADD_OPERAND",
    ),
    (
        "DELETE n :v",
        {":v": 1},
        "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, "
        "typeSet: ALLOWED_FOR_DELETE_OPERAND",
    ),
    (
        "SET n = :v + :w",
        {":v": 1, ":w": "x"},
        "Incorrect operand type for operator or function; operator or function: +, operand type: S",
    ),
    (
        "SET n = list_append(:v, l)",
        {":v": 1},
        "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
    ),
    (
        "SET n = if_not_exists(:v, :v)",
        V,
        "Operator or function requires a document path; operator or function: if_not_exists",
    ),
    ("SET n = plus(s)", {}, "Invalid function name; function: plus"),
]


@pytest.mark.parametrize(("expression", "values", "text"), STATIC, ids=[s[0] for s in STATIC])
def test_an_invalid_expression_is_rejected(
    dynamodb: Any, table: str, expression: str, values: dict[str, Any], text: str
) -> None:
    with invalid(ENVELOPE + text):
        update(dynamodb, table, expression, values)


def test_expression_and_legacy_parameters_do_not_mix(dynamodb: Any, table: str) -> None:
    with invalid(
        "1 validation error detected: Can not use both expression and non-expression parameters in the same "
        "request: Non-expression parameters: {AttributeUpdates} Expression parameters: {UpdateExpression}"
    ):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression="REMOVE n",
            AttributeUpdates={"n": {"Action": "DELETE"}},
        )


def test_paths_through_placeholders(dynamodb: Any, table: str) -> None:
    """A dot inside a substituted name is part of the name (expressions.md section 1)."""
    dynamodb.update_item(
        TableName=table,
        Key=item(p="1"),
        UpdateExpression="SET m.#dotted = :v, #size = :v",
        ExpressionAttributeNames={"#dotted": "a.b", "#size": "size"},
        ExpressionAttributeValues=item(**V),
    )
    found = plain(dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"])
    assert found["m"]["a.b"] == 9
    assert found["size"] == 9
