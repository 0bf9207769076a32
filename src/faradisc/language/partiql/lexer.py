"""Splits the text of a statement into tokens with positions.

    word        [A-Za-z_$][A-Za-z0-9_$]*            identifiers, keywords and function names alike
    quoted      "..." with "" for a quote           an identifier, whatever is in it
    string      '...' with '' for a quote
    number      digits, fraction, exponent          without a sign
    parameter   ?
    symbol      ( ) [ ] { } , . : ; * / % + - = <> != < <= > >= << >> ||
    end         the empty token after the last one

White space, `-- to the end of the line` and `/* block */` comments separate tokens. Anything else is an error
of the whole text, before any parsing: `#`, backticks (there are no Ion literals), letters beyond ASCII
outside quotes, an open string or comment, a number directly before a word.

Every alternative of the pattern is possessive or of fixed length, so the time is linear in the text.

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from faradisc.language.partiql import errors


class Kind(Enum):
    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    PARAMETER = "parameter"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    kind: Kind
    text: str
    """As written; of a quoted token the content, with doubled quotes made single."""
    upper: str
    """A word in upper case, or a symbol; empty for other tokens. Compared with keywords."""
    start: int
    end: int


# No group with a lookaround is repeated possessively: Python 3.11.2, which Debian 12 has, matches that
# wrongly.
_BETWEEN = re.compile(r"(?:[ \t\r\n\f\v]+|--[^\r\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*")
_TOKEN = re.compile(
    r"(?P<word>[A-Za-z_$][A-Za-z0-9_$]*+)"
    r"|(?P<string>'[^']*(?:''[^']*)*'(?!'))"
    r'|(?P<quoted>"[^"]*(?:""[^"]*)*"(?!"))'
    r"|(?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?![A-Za-z0-9_$.]))"
    r"|(?P<parameter>\?)"
    r"|(?P<symbol><<|>>|<>|<=|>=|!=|\|\||[()\[\]{},:;*%+=<>-]|/(?!\*)|\.(?![0-9]))"
    r"|(?P<end>\Z)"
)
_KINDS = {kind.value: kind for kind in Kind}


def tokens_of(text: str) -> list[Token]:
    """Returns all tokens of a text, the END token last. Raises StatementError where no token begins."""
    tokens: list[Token] = []
    position = 0
    while True:
        between = _BETWEEN.match(text, position)
        assert between is not None
        match = _TOKEN.match(text, between.end())
        if match is None:
            raise errors.malformed(errors.UNREADABLE)
        group = match.lastgroup
        assert group is not None
        kind = _KINDS[group]
        written = match[group]
        upper = ""
        if kind is Kind.WORD:
            upper = written.upper()
        elif kind is Kind.SYMBOL:
            upper = written
        elif kind is Kind.STRING:
            written = written[1:-1].replace("''", "'")
        elif kind is Kind.QUOTED:
            written = written[1:-1].replace('""', '"')
        tokens.append(Token(kind, written, upper, match.start(group), match.end(group)))
        if kind is Kind.END:
            return tokens
        position = match.end()


def location(text: str, token: Token) -> str:
    """Returns the location of a token: `<line>:<column>:<length>`, lines and columns from 1."""
    line = text.count("\n", 0, token.start) + 1
    column = token.start - (text.rfind("\n", 0, token.start) + 1) + 1
    return f"{line}:{column}:{token.end - token.start}"
