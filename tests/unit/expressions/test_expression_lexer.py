"""Tokens: their kinds and places, and the window that a syntax error shows."""

from __future__ import annotations

import pytest

from faradisc.language.expressions.lexer import Kind, syntax_fault, tokens_of


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.text) for token in tokens_of(text)[:-1]]


def test_every_kind_of_token() -> None:
    assert kinds("size(a.#b[0]) >= :v") == [
        ("name", "size"),
        ("symbol", "("),
        ("name", "a"),
        ("symbol", "."),
        ("#name", "#b"),
        ("symbol", "["),
        ("number", "0"),
        ("symbol", "]"),
        ("symbol", ")"),
        ("symbol", ">="),
        (":value", ":v"),
    ]


@pytest.mark.parametrize("space", [" ", "\t", "\r", "\n", " \t\r\n "])
def test_spaces_separate_and_mean_nothing(space: str) -> None:
    assert kinds(f"{space}a{space}={space}:v{space}") == kinds("a=:v")


@pytest.mark.parametrize("stray", ['"', "'", "!", "é", "\u00a0", "\0", "\f", "😀", "{", "*", "#", ":", "\\"])
def test_other_characters_are_tokens_that_no_grammar_takes(stray: str) -> None:
    assert kinds(f"a {stray} b") == [("name", "a"), ("stray", stray), ("name", "b")]


def test_two_character_comparators_are_one_token() -> None:
    assert [text for _, text in kinds("<> <= >= < > = =< ><")] == [
        "<>", "<=", ">=", "<", ">", "=", "=", "<", ">", "<",
    ]  # fmt: skip


def test_digits_end_where_letters_begin() -> None:
    assert kinds("12ab") == [("number", "12"), ("name", "ab")]
    assert kinds("#1a:2b") == [("#name", "#1a"), (":value", ":2b")]


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
        ("   ", 0, "<EOF>", ""),
        ("a", 0, "a", "a"),
    ],
)
def test_a_syntax_fault_shows_the_token_between_its_neighbours(
    text: str, index: int, token: str, near: str
) -> None:
    fault = syntax_fault(text, tokens_of(text), index)
    assert fault.message == f'Syntax error; token: "{token}", near: "{near}"'
