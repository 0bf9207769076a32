"""ProjectionExpression on every read that has one. Source: expressions.md section 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, plain

STORED = {
    "p": "1",
    "a": 1,
    "m": {"x": 1, "y": {"z": 2}},
    "l": [0, 1, {"k": "v", "w": 1}, [3, 4]],
    "size": 7,
}

PROJECTED: list[tuple[str, dict[str, Any]]] = [
    ("a", {"a": 1}),
    ("p, a", {"p": "1", "a": 1}),
    ("gone", {}),
    ("gone, m.gone, l[9], a.x", {}),
    ("m.x", {"m": {"x": 1}}),
    ("m.y.z, m.x", {"m": {"x": 1, "y": {"z": 2}}}),
    ("l[1]", {"l": [1]}),
    ("l[3], l[0]", {"l": [0, [3, 4]]}),
    ("l[2].k, l[3][1]", {"l": [{"k": "v"}, [4]]}),
    ("l[2].k, l[2].w", {"l": [{"k": "v", "w": 1}]}),
    ("#s", {"size": 7}),
    ("m.#y.#z", {"m": {"y": {"z": 2}}}),
]
NAMES = {"#s": "size", "#y": "y", "#z": "z"}


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    name = create("p:S")
    dynamodb.put_item(TableName=name, Item=item(**STORED))
    return name


def with_names(expression: str) -> dict[str, Any]:
    names = {name: value for name, value in NAMES.items() if name in expression}
    parameters: dict[str, Any] = {"ProjectionExpression": expression}
    return {**parameters, "ExpressionAttributeNames": names} if names else parameters


@pytest.mark.parametrize(("expression", "shown"), PROJECTED, ids=[e for e, _ in PROJECTED])
def test_every_read_projects_alike(dynamodb: Any, table: str, expression: str, shown: dict[str, Any]) -> None:
    parameters = with_names(expression)
    got = dynamodb.get_item(TableName=table, Key=item(p="1"), **parameters)
    scanned = dynamodb.scan(TableName=table, **parameters)
    queried = dynamodb.query(
        TableName=table,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "1"}},
        **parameters,
    )
    batch = dynamodb.batch_get_item(RequestItems={table: {"Keys": [item(p="1")], **parameters}})
    assert plain(got["Item"]) == shown
    assert [plain(found) for found in scanned["Items"]] == [shown]
    assert [plain(found) for found in queried["Items"]] == [shown]
    assert [plain(found) for found in batch["Responses"][table]] == [shown]


PREFIX = "Invalid ProjectionExpression: "
OVERLAP = "Two document paths overlap with each other; must remove or rewrite one of these paths; "
CONFLICT = "Two document paths conflict with each other; must remove or rewrite one of these paths; "
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({"ProjectionExpression": ""}, PREFIX + "The expression can not be empty;"),
    "reserved word": (
        {"ProjectionExpression": "a, size"},
        PREFIX + "Attribute name is a reserved keyword; reserved keyword: size",
    ),
    "twice the same": (
        {"ProjectionExpression": "a, a"},
        PREFIX + OVERLAP + "path one: [a], path two: [a]",
    ),
    "twice the same, aliased": (
        {"ProjectionExpression": "a, #a", "ExpressionAttributeNames": {"#a": "a"}},
        PREFIX + OVERLAP + "path one: [a], path two: [a]",
    ),
    "one inside the other": (
        {"ProjectionExpression": "l, l[1]"},
        PREFIX + OVERLAP + "path one: [l], path two: [l, [1]]",
    ),
    "list and map": (
        {"ProjectionExpression": "m.x, m[1]"},
        PREFIX + CONFLICT + "path one: [m, x], path two: [m, [1]]",
    ),
    "undefined name": (
        {"ProjectionExpression": "#a"},
        PREFIX + "An expression attribute name used in the document path is not defined; attribute name: #a",
    ),
    "syntax": (
        {"ProjectionExpression": "a b"},
        PREFIX + 'Syntax error; token: "b", near: "a b"',
    ),
    "legacy beside it": (
        {"ProjectionExpression": "a", "AttributesToGet": ["a"]},
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}",
    ),
    "unused name": (
        {"ProjectionExpression": "a", "ExpressionAttributeNames": {"#b": "b"}},
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}",
    ),
}


@pytest.mark.parametrize(("parameters", "text"), REFUSED.values(), ids=REFUSED)
def test_a_projection_is_rejected(dynamodb: Any, table: str, parameters: dict[str, Any], text: str) -> None:
    """GetItem reports it without envelope (errors.md section 3)."""
    with invalid(text):
        dynamodb.get_item(TableName=table, Key=item(p="1"), **parameters)


def test_count_and_scanned_count_are_unaffected(dynamodb: Any, table: str) -> None:
    answer = dynamodb.scan(TableName=table, ProjectionExpression="gone")
    assert (answer["Count"], answer["ScannedCount"], answer["Items"]) == (1, 1, [{}])
