"""Splits the text of an expression into tokens with positions.

    name        [A-Za-z][A-Za-z0-9_]*       identifiers, keywords and function names alike
    #name       "#" [A-Za-z0-9_]+
    :value      ":" [A-Za-z0-9_]+
    number      0 | [1-9][0-9]*             only as a list index; `01` is two tokens
    symbol      ( ) [ ] , . = <> < <= > >= + -
    end         the empty token after the last one

Space, tab, carriage return and line feed separate tokens. Any other character is a token of its own that no
grammar accepts, so the lexer never fails.

Source: expressions.md section 1.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from faradisc.language.expressions.errors import ExpressionSyntaxError


class Kind(Enum):
    """The kinds of tokens, by the names of their groups in the pattern."""

    NAME = "name"
    NAME_REF = "nameref"
    VALUE_REF = "valueref"
    NUMBER = "number"
    SYMBOL = "symbol"
    STRAY = "stray"
    END = "end"


class Token(NamedTuple):
    kind: Kind
    text: str
    start: int
    end: int


_TOKEN = re.compile(
    r"[ \t\r\n]*(?:"
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<nameref>\#[A-Za-z0-9_]+)"
    r"|(?P<valueref>:[A-Za-z0-9_]+)"
    r"|(?P<number>0|[1-9][0-9]*)"
    r"|(?P<symbol><>|<=|>=|[()\[\],.=<>+-])"
    r"|(?P<stray>[^ \t\r\n]))",
    re.DOTALL,
)
_KINDS = {kind.value: kind for kind in Kind}


def tokens_of(text: str) -> list[Token]:
    """Returns all tokens of a text, the END token last."""
    tokens = []
    # Without white space at the end: the pattern would try it again from each of its characters.
    end = len(text.rstrip(" \t\r\n"))
    for match in _TOKEN.finditer(text, 0, end):
        group = match.lastgroup
        assert group is not None
        tokens.append(Token(_KINDS[group], match[group], match.start(group), match.end(group)))
    tokens.append(Token(Kind.END, "<EOF>", len(text), len(text)))
    return tokens


def syntax_error(text: str, tokens: list[Token], index: int) -> ExpressionSyntaxError:
    """Returns the error for one token; it shows the text from the token before to the one after.

    Assumed: the width of the window; captures agree on one token to each side (errors.md section 6.4).
    """
    token = tokens[index]
    if len(tokens) == 1:
        return ExpressionSyntaxError(token=token.text, near=text)  # blanks only
    first = tokens[index - 1] if index else token
    last = tokens[index + 1] if token.kind is not Kind.END else first
    if last.kind is Kind.END:
        last = token
    return ExpressionSyntaxError(token=token.text, near=text[first.start : last.end])
