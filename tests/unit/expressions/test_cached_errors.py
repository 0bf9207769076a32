"""Errors of a text are cached, and each request raises an exception of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.language.expressions import parser
from faradisc.language.expressions.binder import cached_by_text
from faradisc.language.expressions.errors import ExpressionError


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parser.parse_condition, "foo(a)"),
        (parser.parse_condition, "a = = :v" + " " * 600),
        (parser.parse_update, "SET name = :v"),
        (parser.parse_projection, "a,"),
    ],
)
def test_second_error_of_a_text_equals_the_first(parse: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ExpressionError) as first:
        parse(text)
    first.value.within("ConditionExpression")
    with pytest.raises(ExpressionError) as second:
        parse(text)
    assert second.value is not first.value
    assert type(second.value) is type(first.value)
    assert second.value.message == first.value.message.removeprefix("Invalid ConditionExpression: ")
    assert second.value.body()["message"] == second.value.message


def test_texts_that_are_too_long_are_not_parsed_or_cached() -> None:
    """Otherwise a few hundred requests of 16 MB would stay in memory."""
    seen: list[str] = []
    cached = cached_by_text(seen.append)
    for _ in range(2):
        for text in ("", "x" * 4097, "x" * 1_000_000):
            with pytest.raises(ExpressionError):
                cached(text)
    assert seen == []
