"""What of Terraform's language can be worked out without a plan: references, templates, a few functions.

A value is a literal, or a text with `${...}` in it. References to variables have their defaults (or what the
caller gives), locals and attributes of other resources are followed, a dozen functions are known. Everything
else is `Unknown`, and whoever needs it says so. How much may be worked out is bounded (effort.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from faradisc.tools.seeding.effort import STEP, Effort, shortened
from faradisc.tools.seeding.intrinsics import Unknown
from faradisc.tools.seeding.plan import SeedError

_REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")
_CALL = re.compile(r"([a-z]+)\((.*)\)", re.DOTALL)
_CONDITIONAL = re.compile(r"(.+?)\?(.+):(.+)", re.DOTALL)
_EQUALITY = re.compile(r"(.+?)(==|!=)(.+)", re.DOTALL)
_DEPTH_MAX = 100
"""Of references in references. A longer chain goes round in circles."""


class Module:
    """The variables, locals and resources of one directory."""

    def __init__(self, variables: Mapping[str, Any], values: Mapping[str, str]) -> None:
        self.variables = dict(variables)
        """name -> default; Unknown without one."""
        self.variables.update(values)
        self.locals: dict[str, Any] = {}
        self.resources: dict[tuple[str, str], Mapping[str, Any]] = {}
        """(type, name) -> body."""
        self.effort = Effort()

    def value(self, raw: Any, depth: int = 0) -> Any:
        """What a part of a body stands for. A list or map with something unknown in it keeps it.

        Raises: SeedError when it is too much, or nested without end.
        """
        if isinstance(raw, str):
            return self._text(raw, depth)
        if isinstance(raw, list):
            return [self.value(each, depth) for each in raw]
        if isinstance(raw, Mapping):
            return {str(self.value(name, depth)): self.value(each, depth) for name, each in raw.items()}
        return raw

    def _text(self, text: str, depth: int) -> Any:
        self.effort.spend(len(text), text)
        pieces = list(_pieces(text))
        if len(pieces) == 1 and pieces[0][1]:
            return self._expression(pieces[0][0], depth)
        made = ""
        for piece, is_expression in pieces:
            value = self._expression(piece, depth) if is_expression else piece
            if isinstance(value, Unknown):
                return value
            shown = _shown(value)
            self.effort.spend(len(shown), piece)
            made += shown
        return made

    def _expression(self, text: str, depth: int) -> Any:
        text = text.strip()
        self.effort.spend(STEP + len(text), text)
        if depth > _DEPTH_MAX:
            what = shortened(text)
            raise SeedError(f"{what} is referred to by itself, or over more than {_DEPTH_MAX} steps")
        literal = _literal(text)
        if literal is not None:
            return literal[0] if not isinstance(literal[0], str) else self._text(literal[0], depth + 1)
        if _REFERENCE.fullmatch(text):
            return self._reference(text.split("."), depth)
        call = _CALL.fullmatch(text)
        if call is not None and _is_balanced(call[2]):
            arguments = [self._expression(each, depth + 1) for each in _split(call[2], ",") if each.strip()]
            self.effort.spend(_length(call[1], arguments), text)
            return _called(call[1], arguments, text)
        if text.startswith("[") and text.endswith("]") and _is_balanced(text[1:-1]):
            return [self._expression(each, depth + 1) for each in _split(text[1:-1], ",") if each.strip()]
        conditional = _CONDITIONAL.fullmatch(text)
        if conditional is not None:
            condition, then, otherwise = conditional.groups()
            holds = self._expression(condition, depth + 1)
            if isinstance(holds, Unknown):
                return holds
            return self._expression(then if holds is True else otherwise, depth + 1)
        equality = _EQUALITY.fullmatch(text)
        if equality is not None:
            left, right = (self._expression(equality[each], depth + 1) for each in (1, 3))
            if isinstance(left, Unknown) or isinstance(right, Unknown):
                return left if isinstance(left, Unknown) else right
            return (left == right) == (equality[2] == "==")
        return Unknown(text)

    def _reference(self, path: list[str], depth: int) -> Any:
        text = ".".join(path)
        if path[0] == "var" and len(path) > 1:
            return _member(self.value(self.variables.get(path[1], Unknown(text)), depth + 1), path[2:], text)
        if path[0] == "local" and len(path) > 1:
            return _member(self.value(self.locals.get(path[1], Unknown(text)), depth + 1), path[2:], text)
        if len(path) >= 3 and (path[0], path[1]) in self.resources:
            attribute = "name" if path[2] == "id" else path[2]
            body = self.resources[(path[0], path[1])]
            return _member(self.value(body.get(attribute, Unknown(text)), depth + 1), path[3:], text)
        if text == "terraform.workspace":
            return "default"
        return Unknown(text)


def _member(value: Any, path: list[str], text: str) -> Any:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return Unknown(text)
        value = value[name]
    return value


def _pieces(text: str) -> list[tuple[str, bool]]:
    """A template as (text, whether it is an expression); `$${` is a literal `${`."""
    pieces: list[tuple[str, bool]] = []
    literal, at = "", 0
    while (begins := text.find("${", at)) >= 0:
        if text[begins - 1 : begins] == "$":
            literal, at = literal + text[at : begins - 1] + "${", begins + 2
            continue
        literal += text[at:begins]
        end = _end_of(text, begins + 2)
        if literal:
            pieces.append((literal, False))
        pieces.append((text[begins + 2 : end], True))
        literal, at = "", end + 1
    literal += text[at:]
    if literal or not pieces:
        pieces.append((literal, False))
    return pieces


def _end_of(text: str, at: int) -> int:
    """Where the brace closes that was opened before `at`."""
    depth, quoted = 1, False
    while at < len(text):
        letter = text[at]
        if letter == "\\" and quoted:
            at += 1
        elif letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter == "{") - (letter == "}")
            if not depth:
                return at
        at += 1
    return len(text)


def _split(text: str, separator: str) -> list[str]:
    """Split where no bracket or quote is open."""
    parts, start, depth, quoted = [], 0, 0, False
    for at, letter in enumerate(text):
        if letter == '"' and (not at or text[at - 1] != "\\"):
            quoted = not quoted
        elif not quoted:
            depth += (letter in "([{") - (letter in ")]}")
            if letter == separator and not depth:
                parts.append(text[start:at])
                start = at + 1
    return [*parts, text[start:]]


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return False
    return not depth


def _literal(text: str) -> tuple[Any] | None:
    """The value of a literal, as a tuple of one since null is one; None for anything else."""
    if text == "null":
        return (None,)
    if text in ("true", "false") or re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        return (json.loads(text),)
    if re.fullmatch(r'"([^"\\]|\\.)*"', text, re.DOTALL):
        try:
            return (json.loads(text),)
        except ValueError:
            return (text[1:-1],)
    return None


def _length(name: str, arguments: list[Any]) -> int:
    """How long at least the text is that a function makes longer than its arguments together are."""
    match name, arguments:
        case "join", [str(separator), list(values)]:
            return len(separator) * len(values)
        case "replace", [str(value), str(old), str(new)]:
            return value.count(old) * len(new)
    return 0


def _called(name: str, arguments: list[Any], text: str) -> Any:
    """The functions that tables are named and listed with."""
    if any(isinstance(each, Unknown) for each in arguments):
        return next(each for each in arguments if isinstance(each, Unknown))
    match name, arguments:
        case "lower" | "upper" | "trimspace", [str(value)]:
            return {"lower": value.lower(), "upper": value.upper(), "trimspace": value.strip()}[name]
        case "format", [str(pattern), *values] if pattern.count("%s") == len(values) == pattern.count("%"):
            return pattern % tuple(map(_shown, values))
        case "join", [str(separator), list(values)]:
            return separator.join(map(_shown, values))
        case "replace", [str(value), str(old), str(new)] if not old.startswith("/"):
            return value.replace(old, new)
        case "coalesce", [*values]:
            return next((each for each in values if each not in (None, "")), Unknown(text))
        case "toset" | "tolist" | "tostring" | "tonumber", [value]:
            return value
        case "concat", [*values] if all(isinstance(each, list) for each in values):
            return [member for each in values for member in each]
    return Unknown(text)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
