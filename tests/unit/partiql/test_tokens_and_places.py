"""The lexer: what is one token, what is none, and where it stands."""

from __future__ import annotations

import pytest

from faradisc.language.partiql.errors import StatementError
from faradisc.language.partiql.lexer import PartiqlKind, location, tokens_of


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.text) for token in tokens_of(text)[:-1]]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a_1 $b", [("word", "a_1"), ("word", "$b")]),
        ('"a b" "x""y" ""', [("quoted", "a b"), ("quoted", 'x"y'), ("quoted", "")]),
        ("'a' '' 'it''s' ''''", [("string", "a"), ("string", ""), ("string", "it's"), ("string", "'")]),
        ("1 1.0 .5 1. 1e0 2E-7", [("number", text) for text in ("1", "1.0", ".5", "1.", "1e0", "2E-7")]),
        ("a.b", [("word", "a"), ("symbol", "."), ("word", "b")]),
        ("a-1", [("word", "a"), ("symbol", "-"), ("number", "1")]),
        ("<<1>>", [("symbol", "<<"), ("number", "1"), ("symbol", ">>")]),
        ("<=<>!=||", [("symbol", "<="), ("symbol", "<>"), ("symbol", "!="), ("symbol", "||")]),
        ("? ?", [("parameter", "0"), ("parameter", "1")]),
        ("`a b`", [("ion", "`a b`")]),
        ("not  in", [("word", "not  in")]),
        (
            "1.2.3 1..2 1a a.1b",
            [
                ("number", "1.2"),
                ("number", ".3"),
                ("number", "1."),
                ("number", ".2"),
                *(("number", "1"), ("word", "a"), ("word", "a"), ("number", ".1"), ("word", "b")),
            ],
        ),
        ("a--b\nc", [("word", "a"), ("word", "c")]),
        ("a/* b\n */c/**/", [("word", "a"), ("word", "c")]),
        ("'--' '/*'", [("string", "--"), ("string", "/*")]),
        ("a / b", [("word", "a"), ("symbol", "/"), ("word", "b")]),
        (" \t\r\n", []),
    ],
)
def test_tokens(text: str, tokens: list[tuple[str, str]]) -> None:
    assert kinds(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "#",
        "a # b",
        "`1",
        "'a",
        '"a',
        "/* a",
        "/*/",
        "1e",
        "1e+",
        "é",
        "\x00",
        "1e2147483648",
        "0.1e-2147483647",
    ],
)
def test_unreadable(text: str) -> None:
    with pytest.raises(StatementError, match=r"^Statement wasn't well formed, can't be processed: $"):
        tokens_of(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [("x", "1:1:1"), ("\n  x", "2:3:1"), ("a b\r\nc 'd''e'", "2:3:6"), ('"é" "long name"', "1:5:11")],
)
def test_places(text: str, place: str) -> None:
    """Lines and columns count from 1; the length is of the token as written, quotes included."""
    assert location(text, tokens_of(text)[-2]) == place


def test_the_last_token_is_the_end() -> None:
    (end,) = tokens_of("-- nothing")
    assert (end.kind, end.start, end.end) == (PartiqlKind.END, 10, 10)
