"""Metric expressions cut into tokens, and what their text says before anything is calculated."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from faradisc.errors import ValidationException

SEARCH_PERIOD_S: Final = 300
"""Of a search that names none."""

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[A-Za-z_]\w*)|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<mark>&&|\|\||==|!=|<=|>=|[-+*/^<>(),\[\]]))",
    re.ASCII,
)


def tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text) one after the other; kinds are number, name, text (with its quotes) and mark.

    Raises: ValidationException.
    """
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
    """Raises: ValidationException."""
    raise ValidationException(f"Error in expression {text!r}{': ' if why else ''}{why}")


def names_in(text: str) -> set[str]:
    """The ids that an expression names, with functions among them; METRICS names none by itself.

    Raises: ValidationException for what is no expression.
    """
    return {token for kind, token in tokens(text) if kind == "name"}


def search_periods(text: str) -> list[int]:
    """The periods in seconds of the searches in an expression; those that are none are left out.

    Raises: ValidationException, as names_in.
    """
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
    """The whole number that is written there; None: it is none, or a monstrous one."""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None
