"""The deserialiser of SearchVectors: where in a body, however it is written, an error is found."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from faradisc.errors import ApiError
from faradisc.protocol import search_body
from faradisc.protocol.plan import ShapeNode, plan_of
from faradisc.protocol.service_model import operation_named

VALUE: dict[str, Any] = {"L": [{"M": {"a": {"S": 'x"}]\\'}, "b": {"NULL": True}}}, {"NS": ["1", "2"]}]}
GOOD: dict[str, Any] = {
    "TableName": "table",
    "Bogus": {"TableName": 1, "x": [[], {}, "]}", -1.5e3, None]},
    "IndexName": "index",
    "SearchVector": [{"N": "1"}, {"N": "2"}],
    "ExpressionAttributeValues": {":v": VALUE, ":w": {"BS": ["AA==", ""]}},
    "TopK": 3,
    "ProjectionExpression": None,
}
WRONG = {
    "integer `7`": 7,
    "floating point `0.5`": 0.5,
    "boolean `false`": False,
    "null": None,
    "map": {"deep": [1]},
    "sequence": [[], 2],
}
MARK = "@@@"


@pytest.fixture
def root() -> ShapeNode:
    operation = operation_named("SearchVectors")
    assert operation is not None
    return plan_of(operation).root


def spaced(document: Any, rng: random.Random) -> str:
    """Returns JSON with blanks and line feeds between its tokens."""

    def blank() -> str:
        return rng.choice(["", "", " ", "\n", "\t ", "\r\n  "])

    def written(value: Any) -> str:
        if type(value) is dict:
            members = [
                f"{json.dumps(name)}{blank()}:{blank()}{written(each)}" for name, each in value.items()
            ]
            return "{" + blank() + (blank() + "," + blank()).join(members) + blank() + "}"
        if type(value) is list:
            return "[" + blank() + (blank() + "," + blank()).join(map(written, value)) + blank() + "]"
        return json.dumps(value)

    return written(document)


def strings(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the paths of all strings that the deserialiser reads as such."""
    if type(document) is dict:
        members = document.items()
        return [p for name, each in members if name != "Bogus" for p in strings(each, (*path, name))]
    if type(document) is list:
        return [p for at, each in enumerate(document) for p in strings(each, (*path, at))]
    return [path] if type(document) is str and "BS" not in path else []


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(document))
    parent = copy
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    return copy


def test_a_body_without_mistake_is_read_to_its_end(root: ShapeNode) -> None:
    rng = random.Random(1)
    for _ in range(50):
        search_body.check(root, spaced(GOOD, rng).encode())


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_type_is_found_where_it_stands(root: ShapeNode, what: str) -> None:
    """At its last byte, or at the last one before a list or an object."""
    rng = random.Random(what)
    paths = strings(GOOD)
    assert len(paths) > 6
    for path in paths:
        text = spaced(replaced(GOOD, path, MARK), rng)
        before, _, after = text.partition(json.dumps(MARK))
        token = spaced(WRONG[what], rng)
        read = before if token[0] in "[{" else before + token
        with pytest.raises(ApiError) as caught:
            search_body.check(root, (before + token + after).encode())
        line, column = read.count("\n") + 1, len(read) - read.rfind("\n") - 1
        assert caught.value.message == (
            f"invalid type: {what}, expected a string at line {line} column {column}"
        )


@pytest.mark.parametrize("levels", [20, 62, 63, 400])
def test_a_value_of_more_levels_than_are_read_has_no_text(root: ShapeNode, levels: int) -> None:
    """The object, the map of values and two levels of JSON for each list."""
    value: Any = {"S": "x"}
    for _ in range(levels):
        value = {"L": [value]}
    body = json.dumps({"ExpressionAttributeValues": {":v": value}}).encode()
    with pytest.raises(ApiError) as caught:
        search_body.check(root, body)
    if 2 + 2 * levels + 1 <= 127:
        assert caught.value.message == f"missing field `TableName` at line 1 column {len(body)}"
    else:
        assert (caught.value.wire_name(), caught.value.message) == ("SerializationException", None)
