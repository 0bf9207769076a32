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

from faradisc.errors import ONLY_OLD_VALUES, ValidationException
from faradisc.limits import ECHO_CHARACTERS_MAX
from faradisc.protocol.javatext import java_text
from faradisc.protocol.overrides import ERRORS_MAX, TABLE_ARN_MAXIMUM, TABLE_NAME_MAXIMUM, Rules, Stage
from faradisc.protocol.plan import ATTRIBUTE, LENGTHS, ShapeNode, ShapePlan

_NOT_NULL = "Member must not be null"

_ELEMENTS_OF_A_LONG_LIST_MAX = 1000
"""A list that is too long is rejected anyway; this many of its elements are checked. Assumed."""


def check(plan: ShapePlan, request: dict[str, Any], *, older: bool) -> None:
    """Raises ValidationException with every constraint that `request` breaks, in the service's words.

    JSON types are already checked. older: what `serialization.normalise` has returned.
    """
    root, rules = plan.root, plan.rules
    for name, text in rules.absent.items():
        if name not in request or (rules.empty_is_absent and not request[name]):
            raise ValidationException(text)
    for name, shown in rules.lengths.items():
        if not 3 <= len(request.get(name, shown)) <= TABLE_NAME_MAXIMUM:
            raise ValidationException(
                f"{shown} must be at least 3 characters long and at most {TABLE_NAME_MAXIMUM} characters long"
            )
    if rules.newer and not older:
        try:
            _check_newer(root, rules, request)
            return
        except _GivesUp:
            pass
    for stage in () if rules.newer else rules.stages:
        errors = _Errors(rules, newer=False)
        for name in stage.members:
            errors.member(root, name, request, "")
        errors.raise_any(bare=stage.bare)
    for of_names in (False, True) if rules.names_last else (None,):
        errors = _Errors(rules, newer=False, of_names=of_names)
        for name in errors.in_order(root):
            errors.member(root, name, request, "")
        errors.raise_any()


def _check_newer(root: ShapeNode, rules: Rules, request: dict[str, Any]) -> None:
    wrong = rules.older_if_wrong
    if (
        wrong is not None
        and wrong in request
        and any(broken_constraints(root.members[wrong], request[wrong]))
    ):
        raise _GivesUp
    errors = _Errors(rules, newer=True, echoed=False)
    for name in errors.in_order(root):
        errors.member(root, name, request, "")
    errors.raise_any()
    named = {name for stage in rules.stages for name in stage.members}
    for stage in (*rules.stages, Stage(tuple(name for name in root.members if name not in named))):
        errors = _Errors(rules, newer=True, echoed=True)
        for name in stage.members:
            errors.member(root, name, request, "")
        if rules.only_old_values and "ReturnValues" in stage.members:
            errors.check_old_values(request.get("ReturnValues"))
        errors.raise_any(bare=stage.bare)


class _GivesUp(Exception):
    """The older layer checks this request."""


class _Errors:
    """Collects the errors of one request."""

    def __init__(
        self, rules: Rules, *, newer: bool, echoed: bool | None = None, of_names: bool | None = None
    ) -> None:
        """echoed: in the newer layer, whether to collect the errors that repeat values, or the others.
        of_names: whether to collect the errors of names of tables, or the others; None: both."""
        self.found: list[str] = []
        self._rules = rules
        self._newer = newer
        self._echoed = echoed
        self._of_names = of_names

    def in_order(self, structure: ShapeNode) -> Iterable[str]:
        """Returns the names of a structure's members in the order of their errors."""
        members = structure.members
        first = self._rules.order if self._newer is self._rules.newer else ()
        return dict.fromkeys([*(name for name in first if name in members), *members])

    def raise_any(self, *, bare: bool = False) -> None:
        if not self.found:
            return
        count = len(self.found)
        noun = "error" if count == 1 else "errors"
        detected = "" if bare else f"{count} validation {noun} detected: "
        raise ValidationException(detected + "; ".join(self.found))

    def member(self, structure: ShapeNode, name: str, values: dict[str, Any], path: str) -> None:
        """Checks one member of a structure. `path` ends in a dot or is empty."""
        node = structure.members[name]
        value = values.get(name)
        if value is not None:
            if not path and name in self._rules.texts and self._newer is self._rules.newer:
                if self._echoed is not False and any(broken_constraints(node, value)):
                    self.found.append(self._rules.texts[name])
                return
            self._value(node, value, path + (name if self._newer else _lower(name)))
        elif name in structure.required:
            self._null(path + (name if self._newer else _lower(name)))

    def check_old_values(self, mode: str | None) -> None:
        if mode in ("ALL_NEW", "UPDATED_NEW", "UPDATED_OLD"):
            self._add(ONLY_OLD_VALUES)

    def _null(self, path: str) -> None:
        if self._newer:
            if not self._rules.reports_nulls:
                raise _GivesUp
            if not self._echoed:
                self._add(f"Value at '{path}' failed to satisfy constraint: {_NOT_NULL}")
        elif not self._of_names:
            self._add(f"Value null at '{path}' failed to satisfy constraint: {_NOT_NULL}")

    def _add(self, text: str) -> None:
        if len(self.found) < ERRORS_MAX:
            self.found.append(text)

    def _broken(self, node: ShapeNode, value: Any, path: str, constraint: str) -> None:
        """Adds an error in the form of its layer, if it is one of those to collect."""
        if self._newer:
            echoed = bool(node.enum) or (node.is_table and value != "")
            if echoed is not self._echoed:
                return
            if not echoed:
                self._add(f"Value at '{path}' failed to satisfy constraint: {constraint}")
                return
            path = _lower(path)
        elif path in self._rules.unechoed:
            self._add(f"Value at '{path}' failed to satisfy constraint: {constraint}")
            return
        self._add(f"Value '{java_text(node, value)}' at '{path}' failed to satisfy constraint: {constraint}")

    def _value(self, node: ShapeNode, value: Any, path: str) -> None:
        if len(self.found) >= ERRORS_MAX or node.kind == ATTRIBUTE:
            return
        if self._of_names in (None, node.is_table) and not (self._newer and node.is_checked_later):
            for constraint in broken_constraints(node, value, newer=self._newer):
                self._broken(node, value, path, constraint)
        if node.kind == "structure":
            for name in self.in_order(node):
                self.member(node, name, value, path + ".")
        elif node.kind == "list" and not node.holds_attributes:
            self._list(node, value, path)
        elif node.kind == "map" and not node.holds_attributes:
            self._map(node, value, path)

    def _list(self, node: ShapeNode, value: list[Any], path: str) -> None:
        assert node.element is not None
        if node.maximum is not None and len(value) > node.maximum:
            value = value[:_ELEMENTS_OF_A_LONG_LIST_MAX]
        for count, element in enumerate(value, 1):
            here = f"{path}.{count}.member"
            if element is None:
                self._null(here)
            else:
                self._value(node.element, element, here)
            if len(self.found) >= ERRORS_MAX:
                return

    def _map(self, node: ShapeNode, value: dict[str, Any], path: str) -> None:
        element = node.element
        assert element is not None
        if node.key is not None and any(_breaks(node.key, key) for key in value):
            constraint = f"Map keys must satisfy constraint: [{_in_brackets(node.key)}]"
            if self._of_names in (None, node.key.is_table):
                if not self._rules.json_keys:
                    self._broken(node, value, path, constraint)
                elif self._echoed:
                    echo = orjson.dumps(value).decode()[:ECHO_CHARACTERS_MAX]
                    self._add(
                        f"Value '{echo}' at '{_lower(path)}' failed to satisfy constraint: {constraint}"
                    )
        if element.kind != "structure" and any(_breaks(element, entry) for entry in value.values()):
            if not self._of_names:
                constraint = f"Map value must satisfy constraint: [{_in_brackets(element)}]"
                self._broken(node, value, path, constraint)
            return
        for key, entry in value.items():
            here = f"{path}.{key}.member"
            if entry is None:
                self._null(here)
            elif element.kind == "list":
                self._list(element, entry, here)
            else:
                self._value(element, entry, here)
            if len(self.found) >= ERRORS_MAX:
                return


# --- Constraints of one value --------------------------------------------------------------------


def broken_constraints(node: ShapeNode, value: Any, *, newer: bool = True) -> Iterator[str]:
    """Yields the constraints that a value of the right type breaks, without those of its contents."""
    if node.is_table:
        yield from _broken_name(node, value, newer=newer)
        return
    if node.matcher is not None and not node.matcher.fullmatch(value):
        yield _pattern(node)
    if node.enum and value not in node.enum:
        yield _enum(node)
    if node.kind == "structure":
        return
    measured = len(value) if node.kind in LENGTHS else value
    if node.minimum is not None and measured < node.minimum:
        yield _at_least(node, node.minimum)
    if node.maximum is not None and measured > node.maximum:
        yield _at_most(node, node.maximum)


def _broken_name(node: ShapeNode, value: str, *, newer: bool) -> Iterator[str]:
    """Yields at most one in the newer layer, length and pattern in the older one, as in the captures."""
    assert node.minimum is not None
    assert node.maximum is not None
    assert node.matcher is not None
    if value.startswith("arn:"):
        if len(value) > TABLE_ARN_MAXIMUM:
            yield _at_most(node, TABLE_ARN_MAXIMUM)
        return
    if not value:
        if node.minimum:
            yield _at_least(node, 1)
        return
    if len(value) < node.minimum:
        yield _at_least(node, node.minimum)
    elif len(value) > node.maximum:
        yield _at_most(node, node.maximum)
    elif newer:
        if not node.matcher.fullmatch(value):
            yield _pattern(node)
        return
    if not newer and not node.matcher.fullmatch(value):
        yield _pattern(node)


def _pattern(node: ShapeNode) -> str:
    return f"Member must satisfy regular expression pattern: {node.pattern}"


def _breaks(node: ShapeNode, value: Any) -> bool:
    """Whether a value breaks a constraint; a null does not, it is reported at its own path."""
    return value is not None and any(True for _ in broken_constraints(node, value))


def _in_brackets(node: ShapeNode) -> str:
    """Returns all constraints of a map's keys or values; the service lists all, whichever is broken."""
    listed = []
    if node.maximum is not None:
        listed.append(_at_most(node, node.maximum))
    if node.minimum is not None:
        listed.append(_at_least(node, node.minimum))
    if node.pattern is not None:
        listed.append(_pattern(node))
    if node.enum:
        listed.append(_enum(node))
    return ", ".join(listed)


def _lower(name: str) -> str:
    """Returns a member's name, or a path, as the older layer spells it."""
    return name[0].lower() + name[1:]


def _enum(node: ShapeNode) -> str:
    return f"Member must satisfy enum value set: [{', '.join(node.enum)}]"


def _at_least(node: ShapeNode, bound: int | None) -> str:
    return f"Member must have {_measure(node)} greater than or equal to {bound}"


def _at_most(node: ShapeNode, bound: int | None) -> str:
    return f"Member must have {_measure(node)} less than or equal to {bound}"


def _measure(node: ShapeNode) -> str:
    return "length" if node.kind in LENGTHS else "value"
