"""Names and values of a request: checks, reserved words, unused ones. Source: errors.md section 6.4."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.errors import RequestRuleError
from faradisc.language.expressions import (
    Placeholders,
    bind_condition,
    bind_projection,
    bind_update,
    check_placeholder_bytes,
    check_placeholders,
)
from faradisc.language.expressions.binder import RESERVED_WORDS

VALUE: dict[str, Any] = {"S": "v"}


def test_there_are_573_reserved_words_in_upper_case() -> None:
    assert len(RESERVED_WORDS) == 573
    assert {"ABORT", "SIZE", "NAME", "STATUS", "ZONE"} <= RESERVED_WORDS
    assert all(word == word.upper() for word in RESERVED_WORDS)


def error_of(names: dict[str, str] | None, values: dict[str, Any] | None) -> str | None:
    try:
        check_placeholders(names, values)
    except RequestRuleError as error:
        return error.message
    return None


@pytest.mark.parametrize("key", ["#a", "#A_1", "#1", "#_", "#" + "a" * 254])
def test_well_formed_keys(key: str) -> None:
    assert error_of({key: "name"}, {":" + key[1:]: VALUE}) is None


@pytest.mark.parametrize("key", ["a", "#", "", "#a-b", "#a b", "##a", "#é", ":a", "#a\n"])
def test_malformed_name_keys(key: str) -> None:
    assert error_of({key: "name"}, None) == (
        f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{key}"'
    )


@pytest.mark.parametrize("key", ["a", ":", "#a", ":a.b", "::a"])
def test_malformed_value_keys(key: str) -> None:
    assert error_of(None, {key: VALUE}) == (
        f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{key}"'
    )


def test_empty_maps_raise_names_first() -> None:
    assert error_of({}, {}) == "ExpressionAttributeNames must not be empty"
    assert error_of({"#a": "a"}, {}) == "ExpressionAttributeValues must not be empty"
    assert error_of(None, None) is None


def test_keys_of_more_than_255_bytes_raise() -> None:
    message = error_of({"#" + "a" * 255: "name"}, None)
    assert message is not None
    assert message.startswith("ExpressionAttributeNames contains invalid key: ")


@pytest.mark.parametrize(("name", "is_fine"), [("", False), ("a" * 65_535, True), ("é" * 32_768, False)])
def test_names_must_be_possible_attribute_names(name: str, is_fine: bool) -> None:
    message = error_of({"#a": name}, None)
    assert (message is None) is is_fine
    assert is_fine or str(message).startswith("ExpressionAttributeNames contains invalid value: ")


def test_more_than_2_mb_of_names_and_values_raise() -> None:
    check_placeholder_bytes({"#a": "a"}, {":v": {"S": "x" * (2 * 1024 * 1024 - 1)}})
    with pytest.raises(RequestRuleError):
        check_placeholder_bytes({"#a": "ab"}, {":v": {"S": "x" * (2 * 1024 * 1024 - 1)}})


def test_use_is_counted_over_all_expressions_of_the_request() -> None:
    placeholders = Placeholders({"#a": "a", "#b": "b"}, {":v": VALUE, ":w": VALUE})
    bind_condition("#a = :v", "ConditionExpression", placeholders)
    with pytest.raises(RequestRuleError) as raised:
        placeholders.check_all_used()
    assert raised.value.message == (
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"
    )
    bind_projection("#b.c", placeholders)
    with pytest.raises(RequestRuleError) as raised:
        placeholders.check_all_used()
    assert raised.value.message == (
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"
    )
    bind_update("SET x = :w", placeholders)
    placeholders.check_all_used()


def test_a_name_with_a_dot_is_one_step() -> None:
    item = {"a.b": VALUE, "a": {"M": {"b": {"S": "nested"}}}}
    assert bind_projection("#n", Placeholders({"#n": "a.b"}, None)).apply(item) == {"a.b": VALUE}


def test_a_name_may_be_a_reserved_word_or_look_like_a_placeholder() -> None:
    item = {"size": VALUE, "#n": VALUE, ":v": VALUE}
    for name in item:
        assert bind_projection("#n", Placeholders({"#n": name}, None)).apply(item) == {name: VALUE}
