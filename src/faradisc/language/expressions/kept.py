"""What was made of a text and a request's names, kept for the next request that brings the same.

A client sends the same few expressions again and again with other values. So whatever depends on the
text and its names alone is made once: resolved paths, checks of operands, closures. Only what depends
on values is left for each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeAlias, TypeVar

KEPT_MAX = 1024
TEXT_CHARACTERS_MAX = 512
NAMES_CHARACTERS_MAX = 512
"""Nothing is kept of longer ones: a client that sends ever new texts fills some megabytes at most."""

Made = TypeVar("Made")
Key: TypeAlias = tuple[str, ...]
"""The text, then the names that stand behind its `#name`s, in the order of their first use."""


class Kept(Generic[Made]):
    """At most KEPT_MAX things by text and names."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[Key, Made] = {}

    def get(self, key: Key) -> Made | None:
        return self._made.get(key)

    def put(self, key: Key, made: Made) -> None:
        if (
            len(key[0]) > TEXT_CHARACTERS_MAX
            or sum(map(len, key)) > TEXT_CHARACTERS_MAX + NAMES_CHARACTERS_MAX
        ):
            return
        if len(self._made) >= KEPT_MAX:
            self._made.clear()
        self._made[key] = made


def key_of(text: str, name_refs: tuple[str, ...], names: Mapping[str, str]) -> Key | None:
    """None when a name is not defined."""
    if not name_refs:
        return (text,)
    try:
        return (text, *map(names.__getitem__, name_refs))
    except KeyError:
        return None
