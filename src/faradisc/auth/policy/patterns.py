"""Wildcards, ARNs and policy variables (iam.md sections 3.3 and 3.5).

A pattern is divided into tokens once: literal text, `*`, `?` and variables. Without variables it becomes one
test; with variables their values are put in for each request, as literal text whatever they contain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import lru_cache
from typing import Final

from faradisc.auth.policy.model import Request
from faradisc.records import dataclass

Test = Callable[[str, Request], bool]
"""Whether a text, such as the value of a condition key, is what a policy asks for."""

ARN_PARTS: Final = 6
"""`arn:partition:service:region:account:resource`; the last part may contain colons."""

_EXPANDED_MAX: Final = 1024
"""Patterns with the values of variables put in, that stay prepared."""


class Wild(Enum):
    RUN = "*"
    """Any number of characters, also none."""
    ONE = "?"


@dataclass(frozen=True, slots=True)
class Variable:
    """`${key}`, or `${key, 'default'}`."""

    key: str
    default: str | None


Literals = tuple[str | Wild, ...]
Tokens = tuple[str | Wild | Variable, ...]

_VARIABLE: Final = re.compile(r"\$\{([^{}]*)\}")


def _plain(text: str, wildcards: bool) -> Iterator[str | Wild]:
    for part in re.split(r"([*?])", text) if wildcards else [text]:
        if part:
            yield Wild(part) if wildcards and part in {"*", "?"} else part


def _variable(inside: str) -> str | Variable:
    """Returns what `${inside}` is. Unknown forms are keys that no request has."""
    if inside in {"*", "?", "$"}:
        return inside
    key, _, default = (part.strip() for part in inside.partition(","))
    quoted = len(default) >= 2 and default[0] == default[-1] == "'"
    return Variable(key.lower(), default[1:-1] if quoted else None)


def _tokens(text: str, *, variables: bool, wildcards: bool) -> Tokens:
    if not variables:
        return tuple(_plain(text, wildcards))
    tokens: list[str | Wild | Variable] = []
    for number, part in enumerate(_VARIABLE.split(text)):
        tokens += [_variable(part)] if number % 2 else _plain(part, wildcards)
    return tuple(tokens)


def variable_keys(text: str) -> set[str]:
    """Returns the keys, lower-cased, of the variables in a text."""
    tokens = _tokens(text, variables=True, wildcards=False)
    return {token.key for token in tokens if isinstance(token, Variable)}


def _literals(tokens: Tokens) -> Literals | None:
    """Returns tokens without variables, or None if some are variables."""
    literals = tuple(token for token in tokens if not isinstance(token, Variable))
    return literals if len(literals) == len(tokens) else None


def _resolve(tokens: Tokens, request: Request) -> Literals | None:
    """Returns tokens with the values of variables, or None if one has no value or several."""
    resolved: list[str | Wild] = []
    for token in tokens:
        if isinstance(token, Variable):
            value = request.value(token.key)
            if value is None:
                value = token.default
            if not isinstance(value, str):
                return None
            resolved.append(value)
        else:
            resolved.append(token)
    return tuple(resolved)


def wildcard(text: str) -> Callable[[str], bool]:
    """Returns a test for whole texts against a pattern without variables."""
    return _glob(tuple(_plain(text, wildcards=True)))


def _glob(literals: Literals) -> Callable[[str], bool]:
    """Returns a test for whole texts, linear in the text whatever the pattern is."""
    if Wild.ONE in literals:
        return _glob_of_characters(literals)
    runs: list[list[str]] = [[]]
    for token in literals:
        if token is Wild.RUN:
            runs.append([])
        else:
            runs[-1].append(str(token))
    head, *middle = map("".join, runs)
    if not middle:
        return lambda text: text == head
    tail = middle.pop()
    if not middle and not tail:
        return lambda text: text.startswith(head)
    shortest = len(head) + len(tail)

    def matches(text: str) -> bool:
        if len(text) < shortest or not text.startswith(head) or not text.endswith(tail):
            return False
        at, end = len(head), len(text) - len(tail)
        for part in middle:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True

    return matches


def _glob_of_characters(literals: Literals) -> Callable[[str], bool]:
    """Follows all ways through the pattern at once: bit n is set if its first n characters have matched."""
    size, repeating, any_character = 0, 0, 0
    places: dict[str, int] = {}
    for token in literals:
        if token is Wild.RUN:
            repeating |= 1 << size
        elif token is Wild.ONE:
            any_character |= 1 << size
            size += 1
        else:
            for character in token:
                places[character] = places.get(character, 0) | 1 << size
                size += 1

    def matches(text: str) -> bool:
        reached = 1
        for character in text:
            fitting = places.get(character, 0) | any_character
            reached = (reached & fitting) << 1 | (reached & repeating)
            if not reached:
                return False
        return bool(reached >> size & 1)

    return matches


_expanded = lru_cache(_EXPANDED_MAX)(_glob)


def like(text: str, *, variables: bool) -> Test:
    """Returns a test with wildcards, case-sensitive (StringLike, the last part of an ARN)."""
    tokens = _tokens(text, variables=variables, wildcards=True)
    literals = _literals(tokens)
    if literals is not None:
        matches = _glob(literals)
        return lambda value, _request: matches(value)

    def expand_and_match(value: str, request: Request) -> bool:
        expanded = _resolve(tokens, request)
        return expanded is not None and _expanded(expanded)(value)

    return expand_and_match


def equal(text: str, *, variables: bool, fold: Callable[[str], str] = str) -> Test:
    """Returns a test for equality; `fold` is applied to both sides, as for StringEqualsIgnoreCase."""
    tokens = _tokens(text, variables=variables, wildcards=False)
    literals = _literals(tokens)
    if literals is not None:
        constant = fold("".join(map(str, literals)))
        return lambda value, _request: fold(value) == constant

    def expand_and_compare(value: str, request: Request) -> bool:
        expanded = _resolve(tokens, request)
        return expanded is not None and fold(value) == fold("".join(map(str, expanded)))

    return expand_and_compare


def is_arn(text: str) -> bool:
    """Returns whether a text has the six parts of an ARN."""
    return text.startswith("arn:") and text.count(":") >= ARN_PARTS - 1


def arn_like(text: str, *, variables: bool, complete: bool) -> Test:
    """Returns a test for ARNs, part by part, so that no `*` reaches over one of the first five colons.

    Variables count in the last part only. The parts that a short pattern lacks match anything if `complete`,
    as in identity policies, or if its last part is `*`; else it matches nothing.
    """
    parts = text.split(":", ARN_PARTS - 1)
    if len(parts) < ARN_PARTS:
        if not complete and parts[-1] != "*":
            return lambda _value, _request: False
        parts = ["arn", "*"] if parts == ["*"] else parts
        parts += ["*"] * (ARN_PARTS - len(parts))
    *head, resource = parts
    last = like(resource, variables=variables)
    prefix = ":".join(head) + ":"
    if not {"*", "?"} & set(prefix):
        size = len(prefix)
        return lambda value, request: value.startswith(prefix) and last(value[size:], request)
    tests = [wildcard(part) for part in head]

    def matches(value: str, request: Request) -> bool:
        given = value.split(":", ARN_PARTS - 1)
        return (
            len(given) == ARN_PARTS
            and all(test(part) for test, part in zip(tests, given, strict=False))
            and last(given[-1], request)
        )

    return matches
