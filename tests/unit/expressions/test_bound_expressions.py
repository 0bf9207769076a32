"""Bound expressions: their attributes, sharing of values, kinds of errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from faradisc.errors import RequestRuleError, ValidationException
from faradisc.language.expressions import (
    Placeholders,
    bind_condition,
    bind_key_clauses,
    bind_key_condition,
    bind_projection,
    bind_update,
    errors,
    legacy,
)
from faradisc.model.values.schema import KeySchema

NAMES = {"#a": "a.b", "#n": "name"}
VALUES: dict[str, Any] = {":v": {"N": "1"}, ":s": {"SS": ["x"]}, ":l": {"L": [{"S": "x"}]}}


def placeholders() -> Placeholders:
    return Placeholders(NAMES, VALUES)


def nested_lists(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"L": []}
    for _ in range(depth - 1):
        value = {"L": [value]}
    return value


def test_attributes_of_a_condition() -> None:
    text = "#a = :v AND (size(b.c) > :v OR NOT d[0] IN (e, #n.x)) AND attribute_exists(b)"
    condition = bind_condition(text, "FilterExpression", placeholders())
    assert condition.top_level == {"a.b", "b", "d", "e", "name"}
    assert condition.nested == {"b", "d", "name"}


def test_attributes_of_a_legacy_condition() -> None:
    condition = legacy.filter_condition({"a.b": {"ComparisonOperator": "NULL"}})
    assert condition is not None
    assert condition.top_level == {"a.b"}
    assert condition.nested == frozenset()


def test_attributes_of_a_projection() -> None:
    projection = bind_projection("a, b.c, #n[0]", placeholders())
    assert projection.top_level == {"a", "b", "name"}
    assert projection.nested == {"b", "name"}


def test_attributes_that_an_update_writes() -> None:
    update = bind_update("SET a = z, b.c = :v REMOVE #n ADD d[0] :v DELETE e :s", placeholders())
    assert update.top_level_written == {"a", "b", "name", "d", "e"}
    assert update.nested == {"b", "d"}
    assert legacy.attribute_updates({"x": {"Action": "DELETE"}}).top_level_written == {"x"}


def test_update_shares_values_it_does_not_write() -> None:
    old: dict[str, Any] = {
        "same": {"M": {"x": {"N": "1"}}},
        "m": {"M": {"deep": {"M": {"y": {"N": "1"}}}, "other": {"L": []}}},
    }
    new = bind_update("SET m.deep.y = :v", placeholders()).apply(old).item
    assert new["same"] is old["same"]
    assert new["m"] is not old["m"]
    assert new["m"]["M"]["other"] is old["m"]["M"]["other"]


def test_update_without_effect_returns_a_new_item() -> None:
    old: dict[str, Any] = {"s": {"SS": ["x", "y"]}}
    outcome = bind_update("ADD s :s", placeholders()).apply(old)
    assert outcome.item == old
    assert outcome.item is not old
    assert outcome.touched == (("s",),)


def test_update_of_an_absent_item_creates_it() -> None:
    outcome = bind_update("SET a = :v ADD n :v, s :s", placeholders()).apply({})
    assert outcome.item == {"a": {"N": "1"}, "n": {"N": "1"}, "s": {"SS": ["x"]}}
    assert outcome.written_part({}) is None
    assert outcome.written_part(outcome.item) == outcome.item


@pytest.mark.parametrize(("path", "depth_max"), [("a.b", 30), ("l[0]", 30), ("a.b, c", 30)])
def test_written_values_nested_too_deep_raise(path: str, depth_max: int) -> None:
    old = {"a": {"M": {}}, "l": {"L": []}, "c": {"S": "x"}}
    target = path.split(",", maxsplit=1)[0]
    for depth, is_fine in ((depth_max, True), (depth_max + 1, False)):
        update = bind_update(f"SET {target} = :d", Placeholders(None, {":d": nested_lists(depth)}))
        if is_fine:
            update.apply(old)
        else:
            with pytest.raises(ValidationException, match="Nesting Levels have exceeded supported limits"):
                update.apply(old)


def test_update_of_thousands_of_paths() -> None:
    indexes = ",".join(f"l[{i}]" for i in range(600))
    old = {"l": {"L": [{"N": str(i)} for i in range(1000)]}}
    new = bind_update(f"REMOVE {indexes}", Placeholders(None, None)).apply(old).item
    assert new["l"]["L"][0] == {"N": "600"}
    with pytest.raises(errors.PathsOverlap):
        bind_update("REMOVE " + ",".join(["a"] * 2000), Placeholders(None, None))


def test_paths_of_33_steps() -> None:
    path = ".".join(["a"] * 33)
    assert bind_projection(path, Placeholders(None, None)).apply({"a": {"M": {}}}) == {}
    assert not bind_condition(
        f"attribute_exists({path[:-2]})", "FilterExpression", Placeholders(None, None)
    ).matches({"a": {"M": {}}})
    with pytest.raises(errors.InvalidDocumentPath):
        bind_update(f"REMOVE {path}", Placeholders(None, None)).apply({"a": {"M": {}}})


def test_deeply_nested_conditions_evaluate() -> None:
    negations = "NOT " * 299 + "attribute_exists(a)"
    assert not bind_condition(negations, "FilterExpression", Placeholders(None, None)).matches(
        {"a": {"S": ""}}
    )
    text = "a<:v"
    for level in range(149):
        text = f"({text}){'AND' if level % 2 else 'OR'} b<:v"
    assert bind_condition(text, "FilterExpression", placeholders()).matches(
        {"a": {"N": "0"}, "b": {"N": "0"}}
    )


def test_deeply_nested_calls_bind_and_evaluate() -> None:
    """Below 250 frames of a caller: binding takes two frames per nested call, evaluation one."""

    def from_depth(frames: int, call: Callable[[], object]) -> object:
        return from_depth(frames - 1, call) if frames else call()

    depth = 254
    update = "SET a=" + "list_append(" * depth + "a" + ",:l)" * depth
    sizes = "size(" * depth + "a" + ")" * depth + "=:v"

    def run() -> object:
        with pytest.raises(errors.OperandType):
            bind_condition(sizes, "FilterExpression", placeholders())
        return bind_update(update, placeholders()).apply({"a": {"L": []}}).item["a"]["L"]

    assert from_depth(250, run) == [{"S": "x"}] * depth


def test_key_condition_in_one_step() -> None:
    schema = KeySchema(("pk",), ("sk",), {"pk": "N", "sk": "N"})
    key = bind_key_condition("pk = :v AND sk > :v", placeholders(), schema)
    assert (key.hash_values, key.range_equal) == (({"N": "1"},), ())
    assert (key.operator, key.operands) == (">", ({"N": "1"},))


@pytest.mark.parametrize(
    ("bind", "parameter"),
    [
        (lambda text: bind_condition(text, "ConditionExpression", placeholders()), "ConditionExpression"),
        (lambda text: bind_condition(text, "FilterExpression", placeholders()), "FilterExpression"),
        (lambda text: bind_update(text, placeholders()), "UpdateExpression"),
        (lambda text: bind_projection(text, placeholders()), "ProjectionExpression"),
        (lambda text: bind_key_clauses(text, placeholders()), "KeyConditionExpression"),
    ],
)
def test_errors_of_a_text_name_the_parameter_and_can_be_enveloped(bind: Any, parameter: str) -> None:
    for _ in range(2):  # the cached error has no parameter in its text
        with pytest.raises(RequestRuleError) as raised:
            bind("")
        error = raised.value
        assert error.message == f"Invalid {parameter}: The expression can not be empty;"
        assert str(error) == error.message
        assert error.wire_name() == "ValidationException"
        assert error.enveloped().message == f"1 validation error detected: {error.message}"


def test_update_errors_are_never_enveloped() -> None:
    for kind in (
        errors.AttributeMissing,
        errors.InvalidDocumentPath,
        errors.IncorrectOperand,
        errors.TypeMismatch,
    ):
        assert not issubclass(kind, RequestRuleError)
        assert kind().message == kind.default_text
        assert kind.wire_name() == "ValidationException"


def test_every_expression_error_has_its_own_text() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.ExpressionError) and kind is not errors.ExpressionError
    ]
    texts = [kind.template for kind in kinds]
    assert len(kinds) >= 20
    assert all(texts) and len(set(texts)) == len(texts)
