"""The tokens of metric expressions, and the names and periods in them."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from faradisc.errors import ValidationException

SEARCH_PERIOD_S: Final = 300
"""The period of a search without one."""

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[A-Za-z_]\w*)|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<mark>&&|\|\||==|!=|<=|>=|[-+*/^<>(),\[\]]))",
    re.ASCII,
)


def tokens(text: str) -> list[tuple[str, str]]:
    """Returns (kind, text) of each token; kinds are number, name, text (with its quotes) and mark. Raises
    ValidationException."""
    found, at = [], 0
    stripped = text.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None or match.lastgroup is None:
            refuse(text)
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def refuse(text: str, why: str = "") -> NoReturn:
    """Raises ValidationException."""
    raise ValidationException(f"Error in expression {text!r}{': ' if why else ''}{why}")


def names_in(text: str) -> set[str]:
    """Returns the names in an expression: ids and functions. Raises ValidationException."""
    return {token for kind, token in tokens(text) if kind == "name"}


def search_periods(text: str) -> list[int]:
    """Returns the valid periods, in seconds, of the searches in an expression. Raises
    ValidationException."""
    listed = tokens(text)
    found = []
    for at, token in enumerate(listed):
        if token == ("name", "SEARCH"):
            named = listed[at + 5 : at + 7]  # SEARCH ( 'terms' , 'statistic' , period )
            found.append(
                whole(named[1][1]) if named[:1] == [("mark", ",")] and named[1:] else SEARCH_PERIOD_S
            )
    return [period_s for period_s in found if period_s]


def whole(digits: str) -> int | None:
    """Returns a whole number of at most nine digits; None for other text."""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None
