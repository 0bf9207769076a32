"""Tokens: their kinds and positions, and the text that a syntax error shows."""

from __future__ import annotations

import pytest

from faradisc.language.expressions.lexer import Kind, syntax_error, tokens_of


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.text) for token in tokens_of(text)[:-1]]


def test_every_kind_of_token() -> None:
    assert kinds("size(a.#b[0]) >= :v") == [
        ("name", "size"),
        ("symbol", "("),
        ("name", "a"),
        ("symbol", "."),
        ("nameref", "#b"),
        ("symbol", "["),
        ("number", "0"),
        ("symbol", "]"),
        ("symbol", ")"),
        ("symbol", ">="),
        ("valueref", ":v"),
    ]


@pytest.mark.parametrize("space", [" ", "\t", "\r", "\n", " \t\r\n "])
def test_spaces_separate_tokens(space: str) -> None:
    assert kinds(f"{space}a{space}={space}:v{space}") == kinds("a=:v")


@pytest.mark.parametrize("stray", ['"', "'", "!", "é", "\u00a0", "\0", "\f", "😀", "{", "*", "#", ":", "\\"])
def test_other_characters_are_stray_tokens(stray: str) -> None:
    assert kinds(f"a {stray} b") == [("name", "a"), ("stray", stray), ("name", "b")]


def test_two_character_comparators_are_one_token() -> None:
    assert [text for _, text in kinds("<> <= >= < > = =< ><")] == [
        "<>", "<=", ">=", "<", ">", "=", "=", "<", ">", "<",
    ]  # fmt: skip


def test_number_ends_before_letters() -> None:
    assert kinds("12ab") == [("number", "12"), ("name", "ab")]
    assert kinds("#1a:2b") == [("nameref", "#1a"), ("valueref", ":2b")]


def test_the_last_token_is_the_end() -> None:
    tokens = tokens_of("ab ")
    assert tokens[-1] == (Kind.END, "<EOF>", 3, 3)
    assert tokens_of("")[0].kind is Kind.END


@pytest.mark.parametrize(
    ("text", "index", "token", "near"),
    [
        ("a  =  :v", 1, "=", "a  =  :v"),
        ("a = :v", 0, "a", "a ="),
        ("a = :v", 2, ":v", "= :v"),
        ("a =", 2, "<EOF>", "="),
        ("", 0, "<EOF>", ""),
        ("   ", 0, "<EOF>", "   "),
        (" \t\n", 0, "<EOF>", " \t\n"),
        ("a[00]", 3, "0", "00]"),
        ("a[01]", 3, "1", "01]"),
        ("a", 0, "a", "a"),
    ],
)
def test_syntax_error_shows_one_token_to_each_side(text: str, index: int, token: str, near: str) -> None:
    error = syntax_error(text, tokens_of(text), index)
    assert error.message == f'Syntax error; token: "{token}", near: "{near}"'
