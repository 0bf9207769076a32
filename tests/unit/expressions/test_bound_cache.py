"""A cached bound expression has the same results and errors as one that is bound anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.errors import ApiError
from faradisc.language.expressions import Placeholders, bind_condition, bind_update, binder, condition, update
from faradisc.language.expressions.errors import ExpressionError, UpdateError

ITEM: dict[str, Any] = {
    "n": {"N": "5"},
    "s": {"S": "text"},
    "set": {"SS": ["a", "b"]},
    "l": {"L": [{"N": "1"}]},
    "m": {"M": {"n": {"N": "5"}}},
}
VALUES: list[dict[str, Any]] = [
    {"N": "5"},
    {"N": "7"},
    {"S": "te"},
    {"S": "S"},
    {"SS": ["b"]},
    {"L": []},
    {"NULL": True},
]
CONDITIONS = [
    "n = :a",
    "#x = :a",
    "#x.n < :a",
    ":a < #x",
    "n BETWEEN :a AND :b",
    "n BETWEEN :b AND m.n",
    "n IN (:a, #x, :b)",
    "attribute_exists(#x)",
    "attribute_exists(:a)",
    "attribute_exists(#x) AND NOT (s = :a OR n <> :b)",
    "attribute_type(s, :a)",
    "begins_with(s, :a)",
    "begins_with(:a, #x)",
    "contains(set, :a)",
    "contains(:a, :a)",
    "size(s) > :a",
    "size(:a) > :b",
    "size(#x) = size(s)",
    "#x = #y",
    "n = n",
    "n = :a AND n = n",
]
UPDATES = [
    "SET s = :a",
    "SET #x = #x + :a",
    "SET n = :a - :b, s = :b",
    "SET l = list_append(l, :a)",
    "SET l = list_append(:a, :b), s = if_not_exists(#x, :a)",
    "SET s = if_not_exists(:a, :b)",
    "SET s = if_not_exists(n)",
    "SET s = list_append(:a), n = n + :b",
    "SET m.n = :a REMOVE s",
    "SET #x = :a, #y = :b",
    "ADD n :a",
    "ADD set :a SET s = s + :b",
    "DELETE set :a",
    "REMOVE #x",
    "SET missing = other",
]
NAMES = [{"#x": "n", "#y": "s"}, {"#x": "m", "#y": "n"}, {"#x": "s", "#y": "s"}, {"#y": "n"}]


def outcome(bind: Callable[[], Any]) -> object:
    """Returns the result, or the type and text of the error."""
    try:
        return bind()
    except (ExpressionError, UpdateError, ApiError) as error:
        return type(error), str(error)


def disable_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binds conditions from their trees, and updates without cached plans."""
    monkeypatch.setattr(condition, "key_of", lambda *_: None)
    monkeypatch.setattr(update, "_plans", binder.BoundCache())


def rounds() -> list[tuple[dict[str, str], dict[str, Any]]]:
    pairs = [{":a": a, ":b": b} for a in VALUES for b in VALUES[:4]]
    return [(names, values) for names in NAMES for values in [*pairs, {":a": VALUES[0]}, {}]]


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_with_and_without_cache(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(names: dict[str, str], values: dict[str, Any]) -> object:
        return bind_condition(text, "ConditionExpression", Placeholders(names, values)).matches(ITEM)

    for _ in range(2):
        for names, values in rounds():
            known = outcome(lambda names=names, values=values: answer(names, values))  # type: ignore[misc]
            with monkeypatch.context() as fresh:
                disable_cache(fresh)
                new = outcome(lambda names=names, values=values: answer(names, values))  # type: ignore[misc]
            assert known == new


@pytest.mark.parametrize("text", UPDATES)
def test_updates_with_and_without_cache(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(names: dict[str, str], values: dict[str, Any]) -> object:
        bound = bind_update(text, Placeholders(names, values))
        return bound.apply(ITEM).item, bound.top_level_written, bound.nested, bound.request_exceeds(20, None)

    for _ in range(2):
        for names, values in rounds():
            known = outcome(lambda names=names, values=values: answer(names, values))  # type: ignore[misc]
            with monkeypatch.context() as fresh:
                disable_cache(fresh)
                new = outcome(lambda names=names, values=values: answer(names, values))  # type: ignore[misc]
            assert known == new


def test_reported_error_does_not_depend_on_the_cache() -> None:
    text = "a < :a AND b < :a"
    bind_condition(text, "ConditionExpression", Placeholders(None, {":a": {"N": "1"}}))
    with pytest.raises(ExpressionError, match="Incorrect operand type"):
        bind_condition(text, "ConditionExpression", Placeholders(None, {":a": {"NULL": True}}))
    text = "a < :a AND b = b"
    for value in ({"N": "1"}, {"NULL": True}):
        with pytest.raises(ExpressionError, match="must be distinct"):
            bind_condition(text, "ConditionExpression", Placeholders(None, {":a": value}))
    with pytest.raises(ExpressionError, match=":a"):
        bind_condition(text, "ConditionExpression", Placeholders(None, {}))


def test_cache_is_bounded() -> None:
    texts: binder.BoundCache[int] = binder.BoundCache()
    for number in range(3 * binder.BOUND_MAX):
        texts.put((str(number),), number)
        assert texts.get((str(number),)) == number
    assert len(texts) <= binder.BOUND_MAX
    for long in [("x" * 513,), ("x", "y" * 1024)]:
        texts.put(long, 0)
        assert texts.get(long) is None
