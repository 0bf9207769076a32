"""Limits: size of the text, number of operators, nesting. Source: limits.md section 3."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faradisc.language.expressions import errors
from faradisc.language.expressions.parser import (
    CALL_DEPTH_MAX,
    parse_condition,
    parse_projection,
    parse_update,
)

PARSERS: list[Callable[[str], object]] = [parse_condition, parse_projection, parse_update]


@pytest.mark.parametrize("parse", PARSERS)
def test_empty_text_raises(parse: Callable[[str], object]) -> None:
    with pytest.raises(errors.EmptyExpression):
        parse("")


@pytest.mark.parametrize("parse", PARSERS)
def test_text_of_spaces_is_a_syntax_error(parse: Callable[[str], object]) -> None:
    with pytest.raises(errors.ExpressionSyntaxError, match="<EOF>"):
        parse("   ")


def test_4096_bytes_are_accepted_and_4097_are_not() -> None:
    name = "a" * 4096
    assert parse_projection(name).paths[0].steps == (name,)
    with pytest.raises(errors.ExpressionTooLarge, match="expression size: 4097"):
        parse_projection(name + "a")


def test_size_counts_bytes_and_comes_before_syntax() -> None:
    with pytest.raises(errors.ExpressionTooLarge, match="expression size: 4098"):
        parse_condition("é" * 2049)
    with pytest.raises(errors.ExpressionSyntaxError):
        parse_condition("é" * 2048)


def comparisons(count: int) -> str:
    return " AND ".join(["a<:v"] * count)


def test_300_operators_are_accepted_and_301_are_not() -> None:
    # 150 comparators are joined by 149 ANDs.
    parse_condition("NOT " + comparisons(150))
    with pytest.raises(errors.TooManyOperators, match="operator count: 301"):
        parse_condition("NOT NOT " + comparisons(150))


def test_reported_count_is_always_301() -> None:
    with pytest.raises(errors.TooManyOperators, match="operator count: 301"):
        parse_condition(comparisons(400))


@pytest.mark.parametrize(
    ("test", "operators"),
    [
        ("a<>:v", 1),
        ("NOT a=:v", 2),
        ("a BETWEEN :v AND :w", 1),
        ("a IN (:v,:w)", 1),
        ("attribute_exists(a)", 1),
        ("size(a)<:v", 2),
        ("contains(a,size(b))", 1),
        ("(a<:v OR b<:v)", 3),
    ],
)
def test_operators_are_counted(test: str, operators: int) -> None:
    before = 300 - operators - 1  # One AND joins both halves.
    padding = ("NOT " if before % 2 == 0 else "") + comparisons((before + 1) // 2)
    parse_condition(f"{padding} AND {test}")
    with pytest.raises(errors.TooManyOperators):
        parse_condition(f"NOT {padding} AND {test}")


def test_sums_count_as_operators_and_assignments_do_not() -> None:
    assignments = ",".join(f"a{i}=:v" for i in range(400))
    parse_update(f"SET {assignments}")
    sums = ",".join(f"a{i}=b+c" for i in range(301))
    with pytest.raises(errors.TooManyOperators):
        parse_update(f"SET {sums}")


def test_nested_functions_do_not_count_as_operators() -> None:
    call = "list_append(" * 100 + "a" + ",:v)" * 100
    parse_update(f"SET {','.join(f'a{i}=b' for i in range(10))}, a = {call} REMOVE c")
    three = ",".join(f"a{i} = {call}" for i in range(2))
    parse_update(f"SET {three}")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 2000 + "a = :v" + ")" * 2000,
        "(" * 2000 + "a" + ")" * 2000 + " = :v",
        "a = " + "(" * 2000 + ":v" + ")" * 2000,
        "contains(" + "(" * 2000 + "a" + ")" * 2000 + ", :v)",
    ],
)
def test_thousands_of_parentheses_are_redundant(text: str) -> None:
    with pytest.raises(errors.RedundantParentheses):
        parse_condition(text)


@pytest.mark.parametrize("text", ["(" * 4000, "(" * 4000 + "a", "NOT" + "(" * 4000, "a IN " + "(" * 4000])
def test_thousands_of_open_parentheses_end_in_a_syntax_error(text: str) -> None:
    with pytest.raises(errors.ExpressionSyntaxError, match="<EOF>"):
        parse_condition(text)


def test_a_thousand_nots_are_too_many_operators() -> None:
    with pytest.raises(errors.TooManyOperators):
        parse_condition("NOT " * 1000 + "a = :v")


def test_deep_nesting_within_the_limits_is_accepted() -> None:
    text = "a<:v"
    for _ in range(149):
        text = f"NOT({text})"
    assert len(parse_condition(text).program) == 150
    text = "a<:v"
    for level in range(149):
        text = f"({text}){'AND' if level % 2 else 'OR'} b<:v"
    assert len(parse_condition(text).program) == 299


@pytest.mark.parametrize("name", ["size", "foo"])
def test_calls_nested_too_deep_are_a_syntax_error(name: str) -> None:
    count = 4000 // (len(name) + 2)
    with pytest.raises(errors.ExpressionSyntaxError, match=r'token: "\w+"'):
        parse_condition(f"{name}(" * count + "a" + ")" * count)


def test_the_deepest_calls_that_fit_are_accepted() -> None:
    depth = 254
    text = "SET a=" + "list_append(" * depth + "a" + ",:l)" * depth
    assert 4000 < len(text) <= 4096 and depth < CALL_DEPTH_MAX
    parse_update(text)


def test_thousands_of_parentheses_in_updates() -> None:
    parse_update("SET a = " + "(" * 2000 + "b + :v" + ")" * 2000)
    with pytest.raises(errors.ExpressionSyntaxError):
        parse_update("SET a = " + "(" * 4000)


def test_long_paths_and_many_paths() -> None:
    steps = ".".join(["a"] * 33)
    assert len(parse_projection(steps).paths[0].steps) == 33
    with pytest.raises(errors.PathTooLong):
        parse_projection(steps + ".a" * 1967)
    assert len(parse_projection(",".join(["a"] * 2000)).paths) == 2000


def test_list_index_above_int_max_raises() -> None:
    assert parse_projection("a[2147483647]").paths[0].steps == ("a", 2147483647)
    assert parse_projection("a[0]").paths[0].steps == ("a", 0)
    for text in ("a[00]", "a[01]", "a[012]"):
        with pytest.raises(errors.ExpressionSyntaxError):
            parse_projection(text)
    for digits in ("2147483648", "9" * 4000):
        with pytest.raises(errors.ListIndexTooLarge):
            parse_projection(f"a[{digits}]")


def test_a_text_is_parsed_once() -> None:
    short, long = "a = :v AND b = :w", "c" * 600 + " = :v"
    assert parse_condition(short) is parse_condition(short)
    assert parse_condition(long) is parse_condition(long)
