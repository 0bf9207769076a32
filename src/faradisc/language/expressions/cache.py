"""Caches of parsed and bound expressions.

Clients send the same few expressions again and again with other values. Each text is parsed once
(`cached_by_text`), and what depends on the text and its names alone is bound once (`BoundCache`): resolved
paths, checks of operands, closures. Each request then handles only what depends on its values.

Texts beyond a few hundred characters have a small cache of their own or none, since a tree is about twenty
times the size of its text: a client that sends ever new texts fills some megabytes at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias, TypeVar

from faradisc.language.expressions import errors
from faradisc.language.expressions.errors import ExpressionError
from faradisc.limits import EXPRESSION_BYTES_MAX

# --- Trees by text -------------------------------------------------------------------------------

_SHORT_TEXT_MAX = 512
_SHORT_TEXTS_CACHED = 4096
_LONG_TEXTS_CACHED = 256
_Tree = TypeVar("_Tree")


def cached_by_text(parse: Callable[[str], _Tree]) -> Callable[[str], _Tree]:
    """Returns `parse` with a cache of its trees and of its errors.

    The result raises EmptyExpression and ExpressionTooLarge; such texts are neither parsed nor cached.
    """

    def outcome(text: str) -> _Tree | ExpressionError:
        try:
            return parse(text)
        except ExpressionError as error:
            return error.with_traceback(None)  # which would keep every frame of the parser alive

    short = lru_cache(_SHORT_TEXTS_CACHED)(outcome)
    long = lru_cache(_LONG_TEXTS_CACHED)(outcome)

    def cached(text: str) -> _Tree:
        found = short(text) if 0 < len(text) <= _SHORT_TEXT_MAX else long(_checked_size(text))
        if isinstance(found, ExpressionError):
            raise found.again()
        return found

    return cached


def _checked_size(text: str) -> str:
    if not text:
        raise errors.EmptyExpression
    # No character takes more than four bytes, so most texts need no encoding to be known small.
    if len(text) * 4 > EXPRESSION_BYTES_MAX:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > EXPRESSION_BYTES_MAX:
            raise errors.ExpressionTooLarge(size=size)
    return text


# --- Bound expressions by text and names ---------------------------------------------------------

BOUND_MAX = 1024
TEXT_CHARACTERS_MAX = 512
NAMES_CHARACTERS_MAX = 512
"""Longer texts and names are not cached."""

_Bound = TypeVar("_Bound")
Key: TypeAlias = tuple[str, ...]
"""The text, then the names behind its `#name`s, in the order of their first use."""


class BoundCache(dict[Key, _Bound]):
    """At most BOUND_MAX objects by text and names; emptied when full."""

    def put(self, key: Key, bound: _Bound) -> None:
        """Caches an object, unless its key is too long."""
        if (
            len(key[0]) > TEXT_CHARACTERS_MAX
            or sum(map(len, key)) > TEXT_CHARACTERS_MAX + NAMES_CHARACTERS_MAX
        ):
            return
        if len(self) >= BOUND_MAX:
            self.clear()
        self[key] = bound


def key_of(text: str, name_refs: tuple[str, ...], names: Mapping[str, str]) -> Key | None:
    """Returns the key of a text and its names; None when a name is not defined."""
    if not name_refs:
        return (text,)
    try:
        return (text, *map(names.__getitem__, name_refs))
    except KeyError:
        return None
