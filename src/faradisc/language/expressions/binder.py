"""Names and values of a request: ExpressionAttributeNames and ExpressionAttributeValues.

One `Placeholders` serves all expressions of a request, because the service requires that at least one of
them uses each name and value. A placeholder counts as used wherever it stands in a text.

Sources: errors.md section 6.4, expressions.md sections 1 and 9, limits.md sections 1 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from pkgutil import get_data
from typing import Any, Final, TypeAlias, TypeVar

from faradisc.errors import EMPTY_NAME, RequestRuleError
from faradisc.language.expressions import errors
from faradisc.language.expressions.errors import ExpressionError
from faradisc.language.expressions.syntax import NameRef, Path
from faradisc.limits import (
    ATTRIBUTE_NAME_BYTES_MAX,
    EXPRESSION_BYTES_MAX,
    PLACEHOLDER_BYTES_MAX,
    PLACEHOLDERS_BYTES_MAX,
)
from faradisc.model.values.attribute import AttributeValue
from faradisc.model.values.path import Path as ResolvedPath
from faradisc.model.values.size import value_size

_WORDS: Final = get_data("faradisc.language.expressions", "reserved_words.txt")
assert _WORDS is not None, "a package of source files has its data beside them"
RESERVED_WORDS: Final = frozenset(_WORDS.decode("ascii").split())
"""The 573 words, upper case, that cannot stand bare in a path. As published in the developer guide."""


class Placeholders:
    """The names and values of one request, and which of them its expressions use."""

    __slots__ = ("_used", "names", "values")

    def __init__(self, names: dict[str, str] | None, values: dict[str, AttributeValue] | None) -> None:
        """Requires: keys checked by `check_placeholders`, values valid and canonical."""
        self.names = names or {}
        self.values = values or {}
        self._used: set[str] = set()

    def mark_used(self, refs: Iterable[str]) -> None:
        """Marks the `#names` and `:values` of an expression as used."""
        self._used.update(refs)

    def path(self, path: Path) -> ResolvedPath:
        """Returns a path with its names filled in. Raises UndefinedName."""
        if path.fixed is not None:
            return path.fixed
        names = self.names
        try:
            return tuple([names[step.name] if type(step) is NameRef else step for step in path.steps])  # type: ignore[misc]
        except KeyError as missing:
            raise errors.UndefinedName(name=missing.args[0]) from None

    def value(self, ref: str) -> AttributeValue:
        """Returns the value of a `:value`. Raises UndefinedValue."""
        value = self.values.get(ref)
        if value is None:
            raise errors.UndefinedValue(name=ref)
        return value

    def check_all_used(self) -> None:
        """Raises RequestRuleError for names, then values, that no expression uses.

        Requires: every expression of the request is bound.
        """
        if not self._used.issuperset(self.names):
            raise self._unused("ExpressionAttributeNames", self.names)
        if not self._used.issuperset(self.values):
            raise self._unused("ExpressionAttributeValues", self.values)

    def _unused(self, parameter: str, given: Iterable[str]) -> RequestRuleError:
        unused = ", ".join(key for key in given if key not in self._used)
        return RequestRuleError(f"Value provided in {parameter} unused in expressions: keys: {{{unused}}}")


NO_PLACEHOLDERS: Final = Placeholders(None, None)
"""For trees that hold their values."""

_NAME_KEY = re.compile(r"#[0-9A-Za-z_]+")
_VALUE_KEY = re.compile(r":[0-9A-Za-z_]+")


def check_placeholders(names: Mapping[str, str] | None, values: Mapping[str, Any] | None) -> None:
    """Raises RequestRuleError for empty maps, malformed keys, and impossible attribute names; names first.

    The values themselves are checked elsewhere (model/values/checks.py).
    """
    if names is not None and not (names and _known_names.issuperset(names.items())):
        _check_keys("ExpressionAttributeNames", names, _NAME_KEY)
        for key, name in names.items():
            _check_name(key, name)
        _remember(_known_names, names.items())
    if values is not None and not (values and _known_values.issuperset(values)):
        _check_keys("ExpressionAttributeValues", values, _VALUE_KEY)
        _remember(_known_values, values)


_REMEMBERED_MAX = 4096
_REMEMBERED_BYTES_MAX = 64
_known_names: set[tuple[str, str]] = set()
_known_values: set[str] = set()
"""Short placeholders that were found valid: clients send the same few again and again."""


def _remember(known: set[Any], valid: Collection[Any]) -> None:
    if len(known) + len(valid) > _REMEMBERED_MAX:
        known.clear()
    known.update(each for each in valid if sum(map(len, each)) <= _REMEMBERED_BYTES_MAX)


def _check_keys(parameter: str, given: Mapping[str, Any], syntax: re.Pattern[str]) -> None:
    if not given:
        raise RequestRuleError(f"{parameter} must not be empty")
    for key in given:
        if not syntax.fullmatch(key):
            raise RequestRuleError(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
        if len(key) > PLACEHOLDER_BYTES_MAX:
            # Assumed: the limit is documented, its text is not.
            raise RequestRuleError(
                f"{parameter} contains invalid key: "
                f'The expression attribute map contains a key that is too long; key: "{key}"'
            )


def _check_name(key: str, name: str) -> None:
    if not name:
        raise RequestRuleError(f"ExpressionAttributeNames contains invalid value: {EMPTY_NAME} for key {key}")
    if len(name) * 4 > ATTRIBUTE_NAME_BYTES_MAX:
        size = len(name.encode("utf-8", "surrogatepass"))
        if size > ATTRIBUTE_NAME_BYTES_MAX:
            raise RequestRuleError(
                "ExpressionAttributeNames contains invalid value: "
                f"Attribute name is too large, must be less than 65536 bytes for key {key}"
            )


def check_placeholder_bytes(
    names: Mapping[str, str] | None, values: Mapping[str, AttributeValue] | None
) -> None:
    """Raises RequestRuleError for more than 2 MB of names and values in sum. Measures all values.

    A request body of less than 2 MB cannot fail this, so callers call it for larger ones only.
    Assumed: the text; the limit is documented, no capture was found.
    """
    total = 0
    for name in (names or {}).values():
        total += len(name.encode("utf-8", "surrogatepass"))
    for value in (values or {}).values():
        total += value_size(value)
    if total > PLACEHOLDERS_BYTES_MAX:
        raise RequestRuleError(
            "One or more parameter values were invalid: The total size of all substitution variables "
            "in the expression exceeds the limit of 2 MB"
        )


# --- What is kept of texts -----------------------------------------------------------------------
# Clients send the same few expressions again and again with other values. Each text is parsed once
# (`cached_by_text`), and what depends on the text and its names alone is bound once (`BoundCache`): resolved
# paths, checks of operands, closures. Each request then handles only what depends on its values. Texts beyond
# a few hundred characters have a small cache of their own or none, since a tree is about twenty times the
# size of its text: a client that sends ever new texts fills some megabytes at most.

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
