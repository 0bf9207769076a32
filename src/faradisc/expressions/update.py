"""Update expressions: what SET, REMOVE, ADD and DELETE make of an item.

Invariants:
1. Every operand is read from the item as it was before the update; the order of actions is unseen.
2. The old item is never changed. Containers on a written path are copied, all else is shared.
3. Written paths are disjoint, so actions on one list can be applied together: replacements by old
   index, then removals, then appends in index order.

Legacy AttributeUpdates end in the same `Update`, with their own text for a type mismatch and with an
ADD that appends lists.

Sources: expressions.md section 5; order of faults and texts, errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from faradisc.errors import ValidationException
from faradisc.expressions import faults
from faradisc.expressions.binder import NO_PLACEHOLDERS, Placeholders
from faradisc.expressions.faults import ExpressionError, UpdateError
from faradisc.expressions.parser import parse_update
from faradisc.expressions.path_tree import PathNode, PathTree, select, tree_of
from faradisc.expressions.syntax import (
    Action,
    Arithmetic,
    Call,
    Constant,
    Operand,
    ParsedUpdate,
    Path,
    ValueRef,
)
from faradisc.values import number
from faradisc.values import path as paths
from faradisc.values.attribute import SET_TYPES, AttributeValue, Item, sorted_set, type_of
from faradisc.values.checks import NESTED_CONTAINERS_MAX, NESTING_EXCEEDED, Wording, number_message

Compute: TypeAlias = Callable[[Item], AttributeValue | None]
"""The new value at a written path, from the old item. None removes, which is nothing where nothing is."""

Write: TypeAlias = tuple[paths.Path, Compute]


@dataclass(frozen=True, slots=True)
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


class Update:
    """Bound actions. `apply` may be called many times, on different items."""

    __slots__ = ("_actions", "_touched", "_tree", "_whole", "_writes", "top_level_written")

    def __init__(self, actions: Sequence[Action], writes: Sequence[Write], tree: PathTree | None) -> None:
        """`writes` are the paths and computations of the actions, in order; `tree` holds the same paths,
        or is None when all are top-level."""
        self._actions = actions
        self._writes = writes
        self._tree = tree
        self._touched = tuple([path for path, _ in writes])
        self._whole = [(str(path[0]), compute) for path, compute in writes] if tree is None else []
        self.top_level_written = frozenset([str(path[0]) for path in self._touched])
        """The top-level attributes that are written, wholly or in part."""

    def apply(self, old: Item) -> UpdateOutcome:
        """The item after the update; {} stands for an absent item.

        Raises: UpdateError (a missing attribute, an unsuitable operand, an invalid document path), or
        ValidationException for numbers out of range and values nested too deep.
        """
        if self._tree is None:
            item = dict(old)
            for name, compute in self._whole:
                value = compute(old)
                if value is not None:
                    item[name] = value
                else:
                    item.pop(name, None)
            return UpdateOutcome(item, self._touched)
        results: dict[paths.Path, AttributeValue | None] = {}
        for path, compute in self._writes:
            results[path] = compute(old)
            _check_parent(old, path)
        return UpdateOutcome(_rewritten_members(old, self._tree.root, results), self._touched)

    @property
    def gate_bytes(self) -> int:
        """What the service adds for the update itself when it holds an item against the 400 KB limit.

        Source: capacity-consumption.md section 3, "The 400 KB gate", measured.
        """
        total = 3
        for action in self._actions:
            total += 2 if action.verb == "REMOVE" else 19
            if action.verb == "SET":
                total += 50 * (type(action.operand) is Arithmetic) + (type(action.path.steps[-1]) is int)
        return total

    @property
    def nested(self) -> frozenset[str]:
        """The top-level attributes that are written in part."""
        if self._tree is None:
            return frozenset()
        return frozenset(str(path[0]) for path in self._touched if len(path) > 1)


def bind_update(text: str, placeholders: Placeholders) -> Update:
    """Parse (cached) and bind an UpdateExpression.

    Raises: ExpressionError, its text prefixed with "Invalid UpdateExpression: ".
    """
    try:
        parsed = parse_update(text)
        placeholders.mark_used(parsed.refs)
        return _bind(parsed, placeholders)
    except ExpressionError as fault:
        raise fault.within("UpdateExpression") from None


def update_of_actions(actions: Sequence[Action], mismatch: type[UpdateError]) -> Update:
    """An update whose actions carry their values, as AttributeUpdates builds them."""
    binder = _Binder(NO_PLACEHOLDERS, mismatch)
    targets = [NO_PLACEHOLDERS.path(action.path) for action in actions]
    writes = list(zip(targets, map(binder.compute, actions), strict=True))
    return Update(actions, writes, _checked_tree(targets))


def _bind(parsed: ParsedUpdate, placeholders: Placeholders) -> Update:
    """Checks in the service's order: names, values, overlap, conflict, section operands, functions."""
    _check_defined(parsed, placeholders)
    targets = [placeholders.path(action.path) for action in parsed.actions]
    tree = _checked_tree(targets)
    for action in parsed.actions:
        if action.verb in ("ADD", "DELETE"):
            _check_section_operand(action, placeholders)
    binder = _Binder(placeholders, faults.IncorrectOperand)
    return Update(parsed.actions, list(zip(targets, map(binder.compute, parsed.actions), strict=True)), tree)


def _check_defined(parsed: ParsedUpdate, placeholders: Placeholders) -> None:
    names, values = placeholders.names, placeholders.values
    undefined_value = None
    for ref in parsed.refs:
        if ref[0] == "#":
            if ref not in names:
                raise faults.UndefinedName(name=ref)
        elif ref not in values and undefined_value is None:
            undefined_value = ref
    if undefined_value is not None:
        raise faults.UndefinedValue(name=undefined_value)


def _checked_tree(targets: list[paths.Path]) -> PathTree | None:
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


def _check_section_operand(action: Action, placeholders: Placeholders) -> None:
    assert isinstance(action.operand, ValueRef)
    kind = type_of(placeholders.value(action.operand.name))
    if kind not in SET_TYPES and not (kind == "N" and action.verb == "ADD"):
        raise faults.SectionOperandType(section=action.verb, type=_LONG_TYPE_NAMES[kind])


# --- Binding actions to computations -------------------------------------------------------------


class _Binder:
    """Turns actions into computations. `mismatch` is raised for an operand of the wrong type."""

    __slots__ = ("_mismatch", "_placeholders")

    def __init__(self, placeholders: Placeholders, mismatch: type[UpdateError]) -> None:
        self._placeholders = placeholders
        self._mismatch = mismatch

    def compute(self, action: Action) -> Compute:
        if action.operand is None:
            return _nothing
        if action.verb == "SET":
            return self._operand(action.operand)
        target = _lookup(self._placeholders.path(action.path))
        change = self._constant(action.operand)
        assert change is not None
        return self._add(target, change) if action.verb == "ADD" else self._delete(target, change)

    def _constant(self, operand: Operand) -> AttributeValue | None:
        if isinstance(operand, ValueRef):
            return self._placeholders.value(operand.name)
        return operand.value if isinstance(operand, Constant) else None

    def _operand(self, operand: Operand) -> Compute:
        if isinstance(operand, Path):
            lookup = _lookup(self._placeholders.path(operand))

            def read(old: Item) -> AttributeValue:
                value = lookup(old)
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
        constant = self._constant(operand)
        return lambda old: constant

    def _if_not_exists(self, call: Call) -> Compute:
        operands = list(map(self._operand, call.operands))
        _check_two_operands(call)
        path = call.operands[0]
        if not isinstance(path, Path):
            raise faults.PathRequired(operator="if_not_exists")
        lookup, default = _lookup(self._placeholders.path(path)), operands[1]

        def compute(old: Item) -> AttributeValue | None:
            value = lookup(old)
            return value if value is not None else default(old)

        return compute

    def _list_append(self, call: Call) -> Compute:
        operands = list(map(self._operand, call.operands))
        _check_two_operands(call)
        self._check_types("list_append", call.operands, "L")
        first, second = operands
        mismatch = self._mismatch

        def compute(old: Item) -> AttributeValue:
            head, tail = first(old), second(old)
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

        def compute(old: Item) -> AttributeValue:
            left, right = first(old), second(old)
            assert left is not None and right is not None
            if "N" not in left or "N" not in right:
                raise mismatch
            return _number_of(combine, left["N"], right["N"])

        return compute

    def _check_types(self, operator: str, operands: Sequence[Operand], kind: str) -> None:
        for operand in operands:
            constant = self._constant(operand)
            if constant is not None and kind not in constant:
                raise faults.OperandType(operator=operator, type=type_of(constant))

    def _add(self, target: Compute, change: AttributeValue) -> Compute:
        """A number, a union of sets, or (legacy only) a list at the end."""
        kind = type_of(change)
        mismatch = self._mismatch

        def compute(old: Item) -> AttributeValue:
            value = target(old)
            if value is None:
                return change
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

    def _delete(self, target: Compute, change: AttributeValue) -> Compute:
        """A difference of sets; a set that becomes empty is removed."""
        kind = type_of(change)
        removed = frozenset(change[kind])
        mismatch = self._mismatch

        def compute(old: Item) -> AttributeValue | None:
            value = target(old)
            if value is None:
                return None
            if kind not in value:
                raise mismatch
            kept = [member for member in value[kind] if member not in removed]
            return {kind: kept} if kept else None

        return compute


def _nothing(old: Item) -> None:
    return None


def _lookup(path: paths.Path) -> Compute:
    if len(path) == 1:
        name = path[0]
        return lambda old: old.get(name)  # type: ignore[arg-type]
    return lambda old: paths.get(old, path)


def _check_two_operands(call: Call) -> None:
    if len(call.operands) != 2:
        raise faults.OperandCount(operator=call.name, count=len(call.operands))


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
