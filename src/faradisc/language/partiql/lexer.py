"""Splits the text of a statement into tokens with positions.

    word        [A-Za-z_$][A-Za-z0-9_$]*            identifiers, keywords and function names alike
    quoted      "..." with "" for a quote           an identifier, whatever is in it
    string      '...' with '' for a quote
    number      digits, fraction, exponent          without a sign
    parameter   ?
    ion         `...`                               an Ion literal
    symbol      ( ) [ ] { } , . : ; * / % + - = <> != < <= > >= << >> ||
    end         the empty token after the last one

White space, `-- to the end of the line` and `/* block */` comments separate tokens. Some keywords that follow
each other are one token, `NOT IN` for instance. Anything else is an error of the whole text, before any
parsing: `#`, letters beyond ASCII outside quotes, an open string or comment, an exponent without digits or of
more than 32 bits.

Every alternative of the pattern is possessive or of fixed length, so the time is linear in the text.

Source: expressions.md section 7, errors.md section 8; which keywords are one token, the open grammar of
PartiQL (sources.md).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from faradisc.language.partiql import errors
from faradisc.model.values.number import reads_as_big_decimal


class PartiqlKind(Enum):
    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    PARAMETER = "parameter"
    ION = "ion"
    SYMBOL = "symbol"
    END = "end"


class PartiqlToken(NamedTuple):
    kind: PartiqlKind
    text: str
    """As written; of a quoted token the content, with doubled quotes made single; of a parameter its number,
    counted from 0."""
    upper: str
    """Words in upper case with one blank between them, or a symbol; empty for other tokens."""
    start: int
    end: int


# No group with a lookaround is repeated possessively: Python 3.11.2, which Debian 12 has, matches that
# wrongly.
_BETWEEN = re.compile(r"(?:[ \t\r\n\f\v]+|--[^\r\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*")
_TOKEN = re.compile(
    r"(?P<word>[A-Za-z_$][A-Za-z0-9_$]*+)"
    r"|(?P<string>'[^']*(?:''[^']*)*'(?!'))"
    r'|(?P<quoted>"[^"]*(?:""[^"]*)*"(?!"))'
    r"|(?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?![eE]))"
    r"|(?P<parameter>\?)"
    r"|(?P<ion>`[^`]*`)"
    r"|(?P<symbol><<|>>|<>|<=|>=|!=|\|\||[()\[\]{},:;*%+=<>-]|/(?!\*)|\.(?![0-9]))"
    r"|(?P<end>\Z)"
)
_KINDS = {kind.value: kind for kind in PartiqlKind}

_JOINED: Final = {
    "IN": ("NOT",),
    "BETWEEN": ("NOT",),
    "LIKE": ("NOT",),
    "NOT": ("IS",),
    "INTO": ("INSERT",),
    "VARYING": ("CHARACTER",),
    "PRECISION": ("DOUBLE",),
    "OLD": ("ALL", "MODIFIED"),
    "NEW": ("ALL", "MODIFIED"),
    "ALL": ("UNION", "INTERSECT", "EXCEPT"),
    "DISTINCT": ("UNION", "INTERSECT", "EXCEPT"),
    "OUTER": ("LEFT", "RIGHT", "FULL"),
    "CROSS": ("LEFT", "RIGHT", "FULL", "OUTER"),
    "JOIN": (
        *("INNER", "CROSS", "OUTER", "LEFT", "RIGHT", "FULL", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER"),
        *("LEFT CROSS", "RIGHT CROSS", "FULL CROSS", "OUTER CROSS"),
    ),
}
"""By the last of several words that are one token: the words before it."""


def tokens_of(text: str) -> list[PartiqlToken]:
    """Returns all tokens of a text, the END token last. Raises StatementError where no token begins."""
    tokens: list[PartiqlToken] = []
    position = parameters = 0
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
        start, position = match.span(group)
        upper = ""
        if kind is PartiqlKind.WORD:
            upper = written.upper()
            if upper in _JOINED and tokens and tokens[-1].upper in _JOINED[upper]:
                start, upper = tokens[-1].start, f"{tokens.pop().upper} {upper}"
                written = text[start:position]
        elif kind is PartiqlKind.SYMBOL:
            upper = "<>" if written == "!=" else written
        elif kind is PartiqlKind.STRING:
            written = written[1:-1].replace("''", "'")
        elif kind is PartiqlKind.QUOTED:
            written = written[1:-1].replace('""', '"')
        elif kind is PartiqlKind.NUMBER:
            if not reads_as_big_decimal(written):
                raise errors.malformed(errors.UNREADABLE)
        elif kind is PartiqlKind.PARAMETER:
            written = str(parameters)
            parameters += 1
        tokens.append(PartiqlToken(kind, written, upper, start, position))
        if kind is PartiqlKind.END:
            return tokens


def location(text: str, token: PartiqlToken) -> str:
    """Returns the location of a token: `<line>:<column>:<length>`, lines and columns from 1."""
    line = text.count("\n", 0, token.start) + 1
    column = token.start - (text.rfind("\n", 0, token.start) + 1) + 1
    return f"{line}:{column}:{token.end - token.start}"
