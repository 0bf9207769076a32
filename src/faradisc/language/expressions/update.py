"""Update expressions: what SET, REMOVE, ADD and DELETE make of an item.

Invariants:
1. Every operand is read from the item as it was before the update; the order of actions is unseen.
2. The old item is never changed. Containers on a written path are copied, all else is shared.
3. Written paths are disjoint, so actions on one list can be applied together: replacements by old
   index, then removals, then appends in index order.

Legacy AttributeUpdates end in the same `Update`, with their own text for a type mismatch and with an
ADD that appends lists.

A text is compiled once per set of names into a `_Plan` (kept.py): closures that take the item and the
values of the request, and the checks of values in the service's order. A request with known text and
names runs these checks, and that is all.

Sources: expressions.md section 5; order of faults and texts, errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

from faradisc.errors import ValidationException
from faradisc.language.expressions import faults
from faradisc.language.expressions.binder import NO_PLACEHOLDERS, Placeholders
from faradisc.language.expressions.faults import ExpressionError, UpdateError
from faradisc.language.expressions.kept import Kept, key_of
from faradisc.language.expressions.parser import parse_update
from faradisc.language.expressions.path_tree import PathNode, PathTree, select, tree_of
from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Call,
    Constant,
    Operand,
    ParsedUpdate,
    Path,
    ValueRef,
)
from faradisc.model.values import number
from faradisc.model.values import path as paths
from faradisc.model.values.attribute import SET_TYPES, AttributeValue, Item, sorted_set, type_of
from faradisc.model.values.checks import NESTED_CONTAINERS_MAX, NESTING_EXCEEDED, Wording, number_message

Values: TypeAlias = Mapping[str, AttributeValue]
"""ExpressionAttributeValues."""

Compute: TypeAlias = Callable[[Item, Values], AttributeValue | None]
"""The new value at a written path, from the old item and the request's values. None removes, which is
nothing where nothing is."""

Check: TypeAlias = Callable[[Values], None]
"""Raises ExpressionError."""


@dataclass(slots=True)
class UpdateOutcome:
    """The new item and the paths that were written."""

    item: Item
    touched: tuple[paths.Path, ...]

    def updated_old(self, old: Item) -> Item | None:
        """UPDATED_OLD: the written paths as they were; None when none of them existed."""
        return self._fragments(old)

    def updated_new(self, new: Item) -> Item | None:
        """UPDATED_NEW: the written paths as they are; None when none of them exists."""
        return self._fragments(new)

    def _fragments(self, item: Item) -> Item | None:
        return select(item, tree_of(self.touched)) or None


class _Plan:
    """What all requests with one text and the same names share."""

    __slots__ = ("actions", "checks", "computes", "names", "nested", "top_level", "touched", "tree")

    def __init__(
        self,
        actions: Sequence[Action],
        touched: tuple[paths.Path, ...],
        computes: list[Compute],
        checks: list[Check],
        mentioned: Sequence[paths.Path],
    ) -> None:
        """`touched` are the paths the actions write, `mentioned` these and those they read.

        Raises PathsOverlap or PathsConflict.
        """
        self.actions = actions
        self.touched = touched
        self.computes = computes
        self.checks = checks
        self.tree = _checked_tree(touched)
        """Holds the paths, or is None when all are top-level."""
        self.names = [str(path[0]) for path in touched]
        self.top_level = frozenset(self.names)
        self.nested = frozenset(str(path[0]) for path in mentioned if len(path) > 1)


class Update:
    """Bound actions. `apply` may be called many times, on different items."""

    __slots__ = ("_plan", "_values", "nested", "top_level_written")

    def __init__(self, plan: _Plan, values: Values) -> None:
        """Runs the plan's checks. Raises ExpressionError."""
        for check in plan.checks:
            check(values)
        self._plan = plan
        self._values = values
        self.top_level_written = plan.top_level
        """The top-level attributes that are written, wholly or in part."""
        self.nested = plan.nested
        """Those into which the update reaches with `.` or `[]`, to read or to write."""

    def apply(self, old: Item) -> UpdateOutcome:
        """The item after the update; {} stands for an absent item.

        Raises: UpdateError (a missing attribute, an unsuitable operand, an invalid document path), or
        ValidationException for numbers out of range and values nested too deep.
        """
        plan, values = self._plan, self._values
        if plan.tree is None:
            item = dict(old)
            for name, compute in zip(plan.names, plan.computes, strict=True):
                value = compute(old, values)
                if value is not None:
                    item[name] = value
                else:
                    item.pop(name, None)
            return UpdateOutcome(item, plan.touched)
        results: dict[paths.Path, AttributeValue | None] = {}
        for path, compute in zip(plan.touched, plan.computes, strict=True):
            results[path] = compute(old, values)
            _check_parent(old, path)
        return UpdateOutcome(_rewritten_members(old, plan.tree.root, results), plan.touched)

    @property
    def gate_bytes(self) -> int:
        """What the service adds for the update itself when it holds an item against the 400 KB limit.

        Source: capacity-consumption.md section 3, "The 400 KB gate", measured.
        """
        total = 3
        for action in self._plan.actions:
            total += 2 if action.verb == "REMOVE" else 19
            if action.verb == "SET":
                total += 50 * (type(action.operand) is Arithmetic) + (type(action.path.steps[-1]) is int)
        return total


def bind_update(text: str, placeholders: Placeholders) -> Update:
    """Parse (cached) and bind an UpdateExpression.

    Raises: ExpressionError, its text prefixed with "Invalid UpdateExpression: ".
    """
    try:
        parsed = parse_update(text)
        placeholders.mark_used(parsed.refs)
        _check_defined(parsed, placeholders)
        key = key_of(text, parsed.name_refs, placeholders.names)
        assert key is not None
        plan = _plans.get(key)
        if plan is None:
            plan = _plan_of(parsed, placeholders)
            _plans.put(key, plan)
        return Update(plan, placeholders.values)
    except ExpressionError as fault:
        raise fault.within("UpdateExpression") from None


def update_of_actions(actions: Sequence[Action], mismatch: type[UpdateError]) -> Update:
    """An update whose actions carry their values, as AttributeUpdates builds them."""
    compiler = _Compiler(NO_PLACEHOLDERS, mismatch)
    touched = tuple([NO_PLACEHOLDERS.path(action.path) for action in actions])
    computes = list(map(compiler.compute, actions))
    return Update(_Plan(actions, touched, computes, compiler.checks, touched), NO_PLACEHOLDERS.values)


_plans: Kept[_Plan] = Kept()


def _plan_of(parsed: ParsedUpdate, placeholders: Placeholders) -> _Plan:
    """Checks in the service's order: (names, values,) overlap, conflict, section operands, functions.

    Raises PathsOverlap or PathsConflict; whatever else is wrong is found by the plan's checks.
    """
    actions = parsed.actions
    touched = tuple([placeholders.path(action.path) for action in actions])
    mentioned = [placeholders.path(path) for path in parsed.paths]
    compiler = _Compiler(placeholders, faults.IncorrectOperand)
    for action in actions:
        if action.verb in ("ADD", "DELETE"):
            compiler.check_section_operand(action)
    return _Plan(actions, touched, list(map(compiler.compute, actions)), compiler.checks, mentioned)


def _check_defined(parsed: ParsedUpdate, placeholders: Placeholders) -> None:
    for ref in parsed.name_refs:
        if ref not in placeholders.names:
            raise faults.UndefinedName(name=ref)
    for ref in parsed.value_refs:
        if ref not in placeholders.values:
            raise faults.UndefinedValue(name=ref)


def _checked_tree(targets: Sequence[paths.Path]) -> PathTree | None:
    """The tree of the written paths, or None when they are top-level attributes, each once."""
    if all(len(path) == 1 for path in targets) and len(set(targets)) == len(targets):
        return None
    return tree_of(targets)


_LONG_TYPE_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "NULL": "NULL",
    "BOOL": "BOOLEAN",
    "L": "LIST",
    "M": "MAP",
}


# --- Compiling actions to computations -----------------------------------------------------------


class _Compiler:
    """Turns actions into computations, and collects the checks of values in their order.

    It uses only the names of its placeholders. `mismatch` is raised for an operand of the wrong type.
    """

    __slots__ = ("_mismatch", "_placeholders", "checks")

    def __init__(self, placeholders: Placeholders, mismatch: type[UpdateError]) -> None:
        self._placeholders = placeholders
        self._mismatch = mismatch
        self.checks: list[Check] = []

    def check_section_operand(self, action: Action) -> None:
        assert isinstance(action.operand, ValueRef)
        ref, verb = action.operand.name, action.verb

        def check(values: Values) -> None:
            kind = type_of(values[ref])
            if kind not in SET_TYPES and not (kind == "N" and verb == "ADD"):
                raise faults.SectionOperandType(section=verb, type=_LONG_TYPE_NAMES[kind])

        self.checks.append(check)

    def _refuse(self, fault: Callable[[], ExpressionError]) -> Compute:
        """A fault whatever the values are; it comes when the checks before it have passed."""

        def check(values: Values) -> None:
            raise fault()

        self.checks.append(check)
        return _nothing

    def compute(self, action: Action) -> Compute:
        if action.operand is None:
            return _nothing
        if action.verb == "SET":
            return self._operand(action.operand)
        target = _lookup(self._placeholders.path(action.path))
        change = _constant(action.operand)
        assert change is not None
        return self._add(target, change) if action.verb == "ADD" else self._delete(target, change)

    def _operand(self, operand: Operand) -> Compute:
        if isinstance(operand, Path):
            lookup = _lookup(self._placeholders.path(operand))

            def read(old: Item, values: Values) -> AttributeValue:
                value = lookup(old, values)
                if value is None:
                    raise faults.AttributeMissing
                return value

            return read
        if isinstance(operand, Call):
            if operand.name == "if_not_exists":
                return self._if_not_exists(operand)
            return self._list_append(operand)
        if isinstance(operand, Arithmetic):
            return self._arithmetic(operand)
        if isinstance(operand, ValueRef):
            ref = operand.name
            return lambda old, values: values[ref]
        assert isinstance(operand, Constant)
        constant = operand.value
        return lambda old, values: constant

    def _if_not_exists(self, call: Call) -> Compute:
        operands = list(map(self._operand, call.operands))
        if len(operands) != 2:
            return self._refuse(lambda: faults.OperandCount(operator=call.name, count=len(operands)))
        path = call.operands[0]
        if not isinstance(path, Path):
            return self._refuse(lambda: faults.PathRequired(operator="if_not_exists"))
        lookup, default = _lookup(self._placeholders.path(path)), operands[1]

        def compute(old: Item, values: Values) -> AttributeValue | None:
            value = lookup(old, values)
            return value if value is not None else default(old, values)

        return compute

    def _list_append(self, call: Call) -> Compute:
        operands = list(map(self._operand, call.operands))
        if len(operands) != 2:
            return self._refuse(lambda: faults.OperandCount(operator=call.name, count=len(operands)))
        self._check_types("list_append", call.operands, "L")
        first, second = operands
        mismatch = self._mismatch

        def compute(old: Item, values: Values) -> AttributeValue:
            head, tail = first(old, values), second(old, values)
            assert head is not None and tail is not None
            if "L" not in head or "L" not in tail:
                raise mismatch
            return {"L": [*head["L"], *tail["L"]]}

        return compute

    def _arithmetic(self, sum_: Arithmetic) -> Compute:
        first, second = map(self._operand, sum_.operands)
        self._check_types(sum_.operator, sum_.operands, "N")
        combine = number.add if sum_.operator == "+" else number.subtract
        mismatch = self._mismatch

        def compute(old: Item, values: Values) -> AttributeValue:
            left, right = first(old, values), second(old, values)
            assert left is not None and right is not None
            if "N" not in left or "N" not in right:
                raise mismatch
            return _number_of(combine, left["N"], right["N"])

        return compute

    def _check_types(self, operator: str, operands: Sequence[Operand], kind: str) -> None:
        for constant in filter(None, map(_constant, operands)):

            def check(values: Values, constant: Constantly = constant) -> None:
                value = constant(values)
                if kind not in value:
                    raise faults.OperandType(operator=operator, type=type_of(value))

            self.checks.append(check)

    def _add(self, target: Compute, constant: Constantly) -> Compute:
        """A number, a union of sets, or (legacy only) a list at the end."""
        mismatch = self._mismatch

        def compute(old: Item, values: Values) -> AttributeValue:
            value, change = target(old, values), constant(values)
            if value is None:
                return change
            kind = type_of(change)
            if kind not in value:
                raise mismatch
            if kind == "N":
                return _number_of(number.add, value["N"], change["N"])
            if kind == "L":
                return {"L": [*value["L"], *change["L"]]}
            members = set(value[kind])
            if members.issuperset(change[kind]):
                return value
            return {kind: sorted_set(kind, list(members.union(change[kind])))}

        return compute

    def _delete(self, target: Compute, constant: Constantly) -> Compute:
        """A difference of sets; a set that becomes empty is removed."""
        mismatch = self._mismatch

        def compute(old: Item, values: Values) -> AttributeValue | None:
            value, change = target(old, values), constant(values)
            if value is None:
                return None
            kind = type_of(change)
            if kind not in value:
                raise mismatch
            removed = frozenset(change[kind])
            kept = [member for member in value[kind] if member not in removed]
            return {kind: kept} if kept else None

        return compute


Constantly: TypeAlias = Callable[[Values], AttributeValue]
"""An operand that does not depend on the item."""


def _constant(operand: Operand) -> Constantly | None:
    if isinstance(operand, ValueRef):
        return itemgetter(operand.name)
    if isinstance(operand, Constant):
        value = operand.value
        return lambda values: value
    return None


def _nothing(old: Item, values: Values) -> None:
    return None


def _lookup(path: paths.Path) -> Compute:
    if len(path) == 1:
        name = path[0]
        return lambda old, values: old.get(name)  # type: ignore[arg-type]
    return lambda old, values: paths.get(old, path)


def _number_of(combine: Callable[[str, str], str], left: str, right: str) -> AttributeValue:
    try:
        return {"N": combine(left, right)}
    except number.NumberError as error:
        raise ValidationException(number_message(error, "", Wording.NEW)) from None


# --- Writing nested paths ------------------------------------------------------------------------


def _check_parent(old: Item, path: paths.Path) -> None:
    """Refuse a path whose last step has no map or list to go into. Raises InvalidDocumentPath."""
    if len(path) > 1:
        parent = paths.get(old, path[:-1])
        if parent is None or ("M" if isinstance(path[-1], str) else "L") not in parent:
            raise faults.InvalidDocumentPath


def _rewritten_members(
    members: dict[str, AttributeValue], node: PathNode, results: dict[paths.Path, AttributeValue | None]
) -> dict[str, AttributeValue]:
    """A copy of a map's members (or of an item) with the results at the paths below one node."""
    copy = dict(members)
    for name, child in node.members.items():
        if not child.ends:
            copy[name] = _rewritten(copy[name], child, results)
            continue
        result = results[child.first]
        if result is None:
            copy.pop(name, None)
        else:
            _check_nesting(result, len(child.first))
            copy[name] = result
    return copy


def _rewritten(
    value: AttributeValue, node: PathNode, results: dict[paths.Path, AttributeValue | None]
) -> AttributeValue:
    """Requires: every path below the node has its parent. Recurses no deeper than the value is nested."""
    if node.members:
        return {"M": _rewritten_members(value["M"], node, results)}
    elements = list(value["L"])
    count = len(elements)
    removed: list[int] = []
    appended: list[AttributeValue] = []
    for index in sorted(node.elements):
        child = node.elements[index]
        if not child.ends:
            elements[index] = _rewritten(elements[index], child, results)
            continue
        result = results[child.first]
        if result is not None:
            _check_nesting(result, len(child.first))
            if index < count:
                elements[index] = result
            else:
                appended.append(result)
        elif index < count:
            removed.append(index)
    for index in reversed(removed):
        del elements[index]
    return {"L": elements + appended}


def _check_nesting(value: AttributeValue, path_length: int) -> None:
    """Refuse a value that would lie deeper in the item than any value may."""
    if "M" not in value and "L" not in value:
        return
    level = [value]
    for _ in range(NESTED_CONTAINERS_MAX - path_length + 1):
        inner: list[AttributeValue] = []
        for container in level:
            members = container["L"] if "L" in container else container["M"].values()
            inner.extend(member for member in members if "M" in member or "L" in member)
        if not inner:
            return
        level = inner
    raise ValidationException(NESTING_EXCEEDED)
