"""The slow walk for declared constraints, and the service's message for broken ones.

    <N> validation error(s) detected: <e1>; <e2>; ...
    e = Value '<v>' at '<path>' failed to satisfy constraint: <constraint>

Runs only after the fast walk has rejected a request and `serialization.py` has checked its JSON types.
Grammar: errors.md section 3. Errors have the order of the model's members, a value's own before those inside
it, at most ten; those of a string are pattern, least length, greatest length. Assumed: the order of members,
which the service takes from a hash table.

The constraints of a map's keys and of its scalar or list values are reported once, at the map:
`Map keys must satisfy constraint: [...]`, `Map value must satisfy constraint: [...]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from faradisc.errors import ValidationException
from faradisc.limits import ECHO_CHARACTERS_MAX
from faradisc.model.values.checks import has_deep_value
from faradisc.protocol.javatext import java_text
from faradisc.protocol.overrides import (
    DEFAULT_RULES,
    ERRORS_MAX,
    TABLE_ARN_MAXIMUM,
    TABLE_NAME_LISTED_MINIMUM,
    TABLE_NAME_MAXIMUM,
    Rules,
)
from faradisc.protocol.plan import ATTRIBUTE, LENGTHS, Node, Plan

_NOT_NULL = "Member must not be null"

_ELEMENTS_OF_A_LONG_LIST_MAX = 1000
"""A list that is too long is rejected anyway; this many of its elements are checked. Assumed."""


def check(plan: Plan, request: dict[str, Any]) -> None:
    """Raises ValidationException with every constraint that `request` breaks, in the service's words.

    JSON types are already checked (`serialization.normalise`).
    """
    root, rules = plan.root, plan.rules
    if rules.older_unless is not None and (rules.older_unless not in request or has_deep_value(request)):
        rules = DEFAULT_RULES
    for name, text in rules.absent.items():
        if name not in request or (rules.empty_is_absent and not request[name]):
            raise ValidationException(text)
    for name, shown in rules.lengths.items():
        if not 3 <= len(request.get(name, shown)) <= TABLE_NAME_MAXIMUM:
            raise ValidationException(
                f"{shown} must be at least 3 characters long and at most {TABLE_NAME_MAXIMUM} characters long"
            )
    for names in rules.separate:
        errors = _Errors(rules)
        for name in names:
            errors.parameter(root, name, request)
        if errors.found and rules.unprefixed.issuperset(names):
            raise ValidationException(errors.found[0])
        errors.raise_any()
    errors = _Errors(rules)
    for name in _in_order(root, rules):
        errors.parameter(root, name, request)
    errors.raise_any()


def _in_order(structure: Node, rules: Rules) -> Iterable[str]:
    """Returns the names of a structure's members in the order of their errors."""
    return dict.fromkeys([*(name for name in rules.order if name in structure.members), *structure.members])


class _Errors:
    """Collects the errors of one request."""

    def __init__(self, rules: Rules) -> None:
        self.found: list[str] = []
        self._rules = rules
        self._echoes = rules.echoes

    def raise_any(self) -> None:
        if not self.found:
            return
        count = len(self.found)
        noun = "error" if count == 1 else "errors"
        raise ValidationException(f"{count} validation {noun} detected: {'; '.join(self.found)}")

    def parameter(self, root: Node, name: str, request: dict[str, Any]) -> None:
        """Checks one member of the request itself."""
        rules = self._rules
        value = request.get(name)
        if name not in rules.texts or value is None:
            self._echoes = name in rules.echoed or (
                rules.echoes and not (rules.empty_unechoed and value == "" and root.members[name].is_table)
            )
            self.member(root, name, request, "")
        elif any(broken_constraints(root.members[name], value)):
            self.found.append(rules.texts[name])

    def member(self, structure: Node, name: str, values: dict[str, Any], path: str) -> None:
        """Checks one member of a structure. `path` ends in a dot or is empty."""
        node = structure.members[name]
        value = values.get(name)
        here = path + (name[0].lower() + name[1:] if self._echoes else name)
        if value is not None:
            self._value(node, value, here)
        elif name in structure.required:
            self._add(None, None, here, _NOT_NULL)

    def _add(self, node: Node | None, value: Any, path: str, constraint: str, *, echoes: bool = True) -> None:
        if len(self.found) >= ERRORS_MAX:
            return
        if not (self._echoes and echoes):
            echo = ""
        elif node is None or value is None:
            echo = "null "
        else:
            echo = f"'{java_text(node, value)}' "
        self.found.append(f"Value {echo}at '{path}' failed to satisfy constraint: {constraint}")

    def _value(self, node: Node, value: Any, path: str) -> None:
        if len(self.found) >= ERRORS_MAX or node.kind == ATTRIBUTE:
            return
        for constraint in broken_constraints(node, value):
            self._add(node, value, path, constraint, echoes=not node.between)
        if node.kind == "structure":
            for name in _in_order(node, self._rules):
                self.member(node, name, value, path + ".")
        elif node.kind == "list" and not node.holds_attributes:
            self._list(node, value, path)
        elif node.kind == "map" and not node.holds_attributes:
            self._map(node, value, path)

    def _list(self, node: Node, value: list[Any], path: str) -> None:
        assert node.element is not None
        if node.maximum is not None and len(value) > node.maximum:
            value = value[:_ELEMENTS_OF_A_LONG_LIST_MAX]
        for count, element in enumerate(value, 1):
            here = f"{path}.{count}.member"
            if element is None:
                self._add(None, None, here, _NOT_NULL)
            else:
                self._value(node.element, element, here)
            if len(self.found) >= ERRORS_MAX:
                return

    def _map(self, node: Node, value: dict[str, Any], path: str) -> None:
        element = node.element
        assert element is not None
        if node.key is not None and any(_breaks(node.key, key) for key in value):
            constraint = f"Map keys must satisfy constraint: [{_in_brackets(node.key)}]"
            if self._rules.json_keys:
                echo = orjson.dumps(value).decode()[:ECHO_CHARACTERS_MAX]
                path = path[0].lower() + path[1:]
                self.found.append(f"Value '{echo}' at '{path}' failed to satisfy constraint: {constraint}")
            else:
                self._add(node, value, path, constraint)
        if element.kind != "structure" and any(_breaks(element, entry) for entry in value.values()):
            self._add(node, value, path, f"Map value must satisfy constraint: [{_in_brackets(element)}]")
            return
        for key, entry in value.items():
            here = f"{path}.{key}.member"
            if entry is None:
                self._add(None, None, here, _NOT_NULL)
            elif element.kind == "list":
                self._list(element, entry, here)
            else:
                self._value(element, entry, here)
            if len(self.found) >= ERRORS_MAX:
                return


# --- Constraints of one value --------------------------------------------------------------------


def broken_constraints(node: Node, value: Any) -> Iterator[str]:
    """Yields the constraints that a value of the right type breaks, without those of its contents."""
    if node.is_table:
        yield from _broken_name(node, value)
        return
    if node.matcher is not None and not node.matcher.fullmatch(value):
        yield f"Member must satisfy regular expression pattern: {node.pattern}"
    if node.enum and value not in node.enum:
        yield _enum(node)
    if node.kind == "structure":
        return
    measured = len(value) if node.kind in LENGTHS else value
    too_low = node.minimum is not None and measured < node.minimum
    too_high = node.maximum is not None and measured > node.maximum
    if node.between and (too_low or too_high):
        yield f"Member must have value between {node.minimum} and {node.maximum}"
        return
    if too_low:
        yield _at_least(node, node.minimum)
    if too_high:
        yield _at_most(node, node.maximum)


def _broken_name(node: Node, value: str) -> Iterator[str]:
    """Yields at most one, as in the captures."""
    assert node.minimum is not None
    assert node.maximum is not None
    assert node.matcher is not None
    if value.startswith("arn:"):
        if len(value) > TABLE_ARN_MAXIMUM:
            yield _at_most(node, TABLE_ARN_MAXIMUM)
    elif len(value) < node.minimum:
        yield _at_least(node, node.minimum)
    elif len(value) > node.maximum:
        yield _at_most(node, node.maximum)
    elif not node.matcher.fullmatch(value):
        yield f"Member must satisfy regular expression pattern: {node.pattern}"


def _breaks(node: Node, value: Any) -> bool:
    """Whether a value breaks a constraint; a null does not, it is reported at its own path."""
    return value is not None and any(True for _ in broken_constraints(node, value))


def _in_brackets(node: Node) -> str:
    """Returns all constraints of a map's keys or values; the service lists all, whichever is broken."""
    listed = []
    if node.maximum is not None:
        listed.append(_at_most(node, node.maximum))
    if node.minimum is not None:
        listed.append(_at_least(node, TABLE_NAME_LISTED_MINIMUM if node.is_table else node.minimum))
    if node.pattern is not None:
        listed.append(f"Member must satisfy regular expression pattern: {node.pattern}")
    if node.enum:
        listed.append(_enum(node))
    return ", ".join(listed)


def _enum(node: Node) -> str:
    return f"Member must satisfy enum value set: [{', '.join(node.enum)}]"


def _at_least(node: Node, bound: int | None) -> str:
    return f"Member must have {_measure(node)} greater than or equal to {bound}"


def _at_most(node: Node, bound: int | None) -> str:
    return f"Member must have {_measure(node)} less than or equal to {bound}"


def _measure(node: Node) -> str:
    return "length" if node.kind in LENGTHS else "value"
