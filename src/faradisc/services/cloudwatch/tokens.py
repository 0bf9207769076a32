"""The tokens of metric expressions, and the names in them."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from faradisc.errors import ValidationException

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
