"""Condition and filter expressions: a parsed tree and a request's placeholders become a test of items.

Binding resolves names and values, runs the checks that need them, and builds closures
(predicates.py). The checks have an order over the whole expression: undefined names and values, operand
counts, distinct operands, operand types. Of one kind the first fault of the text is told.

What does not depend on values is done once per text and names (kept.py): a predicate without values is
a test then, and of one with values only the values are looked up, checked and put in. A text with any
fault in that part is bound from its tree every time, which finds the first fault.

Source: order and texts, errors.md section 6.4; rules, expressions.md section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from faradisc.language.expressions import faults, predicates
from faradisc.language.expressions.binder import NO_PLACEHOLDERS, Placeholders
from faradisc.language.expressions.faults import ExpressionError
from faradisc.language.expressions.kept import Kept, key_of
from faradisc.language.expressions.parser import parse_condition
from faradisc.language.expressions.predicates import Bound, Reader, Test
from faradisc.language.expressions.syntax import (
    Call,
    Constant,
    Junction,
    Negation,
    Operand,
    ParsedCondition,
    Path,
    Predicate,
    ValueRef,
    operands_first,
)
from faradisc.language.expressions.syntax import Condition as ConditionTree
from faradisc.limits import IN_OPERANDS_MAX
from faradisc.model.values.attribute import ORDERED_TYPES, SET_TYPES, AttributeValue, Item, compare, type_of
from faradisc.model.values.path import Path as ResolvedPath
from faradisc.model.values.path import text as path_text

ConditionKind: TypeAlias = Literal["ConditionExpression", "FilterExpression"]


class Condition:
    """A bound condition. `matches` takes {} for an absent item."""

    __slots__ = ("_paths", "_placeholders", "matches")

    def __init__(self, matches: Test, paths: tuple[Path, ...], placeholders: Placeholders) -> None:
        self.matches: Callable[[Item], bool] = matches
        self._paths = paths
        self._placeholders = placeholders

    @property
    def top_level(self) -> frozenset[str]:
        """The top-level attributes mentioned."""
        return frozenset(str(self._placeholders.path(path)[0]) for path in self._paths)

    @property
    def nested(self) -> frozenset[str]:
        """The top-level attributes into which the condition reaches with `.` or `[]`."""
        return frozenset(str(self._placeholders.path(path)[0]) for path in self._paths if len(path.steps) > 1)


def bind_condition(text: str, kind: ConditionKind, placeholders: Placeholders) -> Condition:
    """Parse (cached) and bind a ConditionExpression or FilterExpression.

    Raises: ExpressionError, its text prefixed with "Invalid <kind>: ".
    """
    try:
        parsed = parse_condition(text)
        placeholders.mark_used(parsed.refs)
        key = key_of(text, parsed.name_refs, placeholders.names)
        shape = _shapes.get(key) if key is not None else None
        if shape is None and key is not None:
            shape = _shape_of(parsed, placeholders)
            if shape is not None:
                _shapes.put(key, shape)
        try:
            test = _bind_program(shape or parsed.program, placeholders)
        except ExpressionError:
            check_condition(parsed, placeholders)
            raise
        return Condition(test, parsed.paths, placeholders)
    except ExpressionError as fault:
        raise fault.within(kind) from None


def condition_of_tree(root: ConditionTree, paths: tuple[Path, ...]) -> Condition:
    """A condition whose tree carries its values, as legacy parameters build them."""
    return Condition(_bind_program(operands_first(root), NO_PLACEHOLDERS), paths, NO_PLACEHOLDERS)


def check_condition(parsed: ParsedCondition, placeholders: Placeholders) -> None:
    """Every check of `bind_condition` without building the test.

    Raises: ExpressionError, of several faults the one the service tells.
    """
    told: ExpressionError | None = None
    for node in parsed.program:
        if type(node) is Predicate:
            try:
                check_predicate(node, placeholders)
            except ExpressionError as fault:
                if told is None or _rank(fault) < _rank(told):
                    told = fault
    if told is not None:
        raise told


_KINDS_IN_ORDER: tuple[tuple[type[ExpressionError], ...], ...] = (
    (faults.UndefinedName, faults.UndefinedValue),
    (faults.OperandCount,),
    (faults.OperandsNotDistinct,),
    (ExpressionError,),
)


def _rank(fault: ExpressionError) -> int:
    return next(rank for rank, kinds in enumerate(_KINDS_IN_ORDER) if isinstance(fault, kinds))


def _bind_program(program: Sequence[Node], placeholders: Placeholders) -> Test:
    done: list[Test] = []
    for node in program:
        if type(node) is _Slots:
            done.append(node.bind(placeholders))
        elif type(node) is Predicate:
            done.append(_bind_predicate(node, placeholders))
        elif type(node) is Junction:
            parts = done[-len(node.parts) :]
            del done[-len(node.parts) :]
            done.append(predicates.all_of(parts) if node.operator == "AND" else predicates.any_of(parts))
        elif type(node) is Negation:
            done.append(predicates.negated(done.pop()))
        else:
            done.append(node)  # type: ignore[arg-type]
    return done[0]


def _bind_predicate(node: Predicate, placeholders: Placeholders) -> Test:
    return _build(node.operator, check_predicate(node, placeholders))


# --- Operands ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Size:
    """A call of `size` whose operands are resolved."""

    operands: list[Resolved]

    def check_count(self) -> None:
        for operand in self.operands:
            if type(operand) is _Size:
                operand.check_count()
        if len(self.operands) != 1:
            raise faults.OperandCount(operator="size", count=len(self.operands))

    def check_type(self) -> None:
        (operand,) = self.operands
        if type(operand) is _Size:
            operand.check_type()
        kind = _immediate_type(operand)
        if kind in ("N", "BOOL", "NULL"):
            raise faults.OperandType(operator="size", type=kind)


Resolved: TypeAlias = AttributeValue | ResolvedPath | Reader | _Size
"""An operand with its placeholders filled in: a value (dict), a path (tuple, or its reader) or a size."""


def resolve(operand: Operand, placeholders: Placeholders) -> Resolved:
    kind = type(operand)
    if kind is Path:
        fixed = operand.fixed  # type: ignore[union-attr]
        return fixed if fixed is not None else placeholders.path(operand)  # type: ignore[arg-type]
    if kind is ValueRef:
        return placeholders.value(operand.name)  # type: ignore[union-attr]
    if isinstance(operand, Constant):
        return operand.value
    assert isinstance(operand, Call)
    operands = []
    for inner in operand.operands:  # A loop, as a comprehension would be a second frame per nested call.
        operands.append(resolve(inner, placeholders))
    return _Size(operands)


def _bound(operand: Resolved) -> Bound:
    if type(operand) is tuple:
        return predicates.reader_of_path(operand)
    return _size_reader(operand) if type(operand) is _Size else operand  # type: ignore[return-value]


def _size_reader(size: _Size) -> Reader:
    return predicates.size_of(_bound(size.operands[0]))


def _immediate_type(operand: Resolved) -> str | None:
    """The type of an operand that is known before any item is read."""
    if type(operand) is dict:
        return type_of(operand)
    return "N" if type(operand) is _Size else None


# --- Checks --------------------------------------------------------------------------------------


def check_predicate(node: Predicate, placeholders: Placeholders) -> list[Resolved]:
    """The operands with placeholders filled in, after all checks of one predicate."""
    operands: list[Resolved] = []
    sizes = False
    for operand in node.operands:
        resolved = resolve(operand, placeholders)
        sizes = sizes or type(resolved) is _Size
        operands.append(resolved)
    operator = node.operator
    if sizes:
        for resolved in operands:
            if type(resolved) is _Size:
                resolved.check_count()
    _check_count(operator, len(operands))
    if len(operands) == 2:
        _check_distinct(node, operands)
    if sizes:
        for resolved in operands:
            if type(resolved) is _Size:
                resolved.check_type()
    check_types = _TYPE_CHECKS.get(operator)
    if check_types is not None:
        check_types(operator, operands)
    return operands


_OPERAND_COUNTS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}


def _check_count(operator: str, count: int) -> None:
    expected = _OPERAND_COUNTS.get(operator, count)
    if count != expected or (operator == "IN" and count > IN_OPERANDS_MAX + 1):
        raise faults.OperandCount(operator=operator, count=count - (operator == "IN"))


def _check_distinct(node: Predicate, operands: list[Resolved]) -> None:
    first, second = operands
    if node.operator == "IN":
        return
    if type(first) is tuple:
        if first == second:
            raise faults.OperandsNotDistinct(operator=node.operator, operand=path_text(first))
        return
    value_ref = node.operands[0]
    if node.operator == "contains" and type(value_ref) is ValueRef and value_ref == node.operands[1]:
        # Assumed: only `contains` refuses one value twice; captures of the others accept `:v = :v`.
        raise faults.OperandsNotDistinct(operator="contains", operand=f"[{value_ref.name}]")


def _check_path(operator: str, operands: list[Resolved]) -> None:
    if type(operands[0]) is not tuple:
        raise faults.PathRequired(operator=operator)


def _check_ordered(operator: str, operands: list[Resolved]) -> None:
    for operand in operands:
        if type(operand) is dict and type_of(operand) not in ORDERED_TYPES:
            raise faults.OperandType(operator=operator, type=type_of(operand))


def _check_between(operator: str, operands: list[Resolved]) -> None:
    lower, upper = operands[1:]
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        _check_ordered(operator, operands)
        return
    if type_of(lower) != type_of(upper):
        raise faults.BoundsOfTwoTypes(lower=_shown(lower), upper=_shown(upper))
    _check_ordered(operator, operands)
    if compare(lower, upper) > 0:
        raise faults.BoundsReversed(lower=_shown(lower), upper=_shown(upper))


def _shown(value: AttributeValue) -> str:
    """A value as the service prints it, `{S:text}`. Assumed for sets and documents: Java's forms."""
    ((kind, content),) = value.items()
    if kind in ("BOOL", "NULL"):
        content = str(content).lower()
    elif kind == "M":
        content = "{" + ", ".join(f"{name}={_shown(member)}" for name, member in content.items()) + "}"
    elif kind == "L":
        content = "[" + ", ".join(map(_shown, content)) + "]"
    elif kind in SET_TYPES:
        content = "[" + ", ".join(content) + "]"
    return f"{{{kind}:{content}}}"


def _check_begins_with(operator: str, operands: list[Resolved]) -> None:
    for operand in operands:
        kind = _immediate_type(operand)
        if kind is not None and kind not in ("S", "B"):
            raise faults.OperandType(operator=operator, type=kind)


_TYPE_NAMES = frozenset({"S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M"})
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
"""How the service prints the type of a path where it wants a string value."""


def _check_attribute_type(operator: str, operands: list[Resolved]) -> None:
    kind = _immediate_type(operands[1]) or _ANY_TYPE
    if kind != "S":
        raise faults.OperandType(operator=operator, type=kind)
    name = operands[1]["S"]  # type: ignore[call-overload, index]
    if name not in _TYPE_NAMES:
        raise faults.UnknownTypeName(type=name)


_TYPE_CHECKS: dict[str, Callable[[str, list[Resolved]], None]] = {
    "<": _check_ordered,
    "<=": _check_ordered,
    ">": _check_ordered,
    ">=": _check_ordered,
    "BETWEEN": _check_between,
    "attribute_exists": _check_path,
    "attribute_not_exists": _check_path,
    "attribute_type": _check_attribute_type,
    "begins_with": _check_begins_with,
}


# --- What is kept of a text ----------------------------------------------------------------------


class _Slots:
    """A predicate some of whose operands are values: all but these is resolved and checked."""

    __slots__ = ("_build", "_check_types", "_operands", "_operator", "_places")

    def __init__(self, node: Predicate, operands: list[Any], places: list[tuple[int, str]]) -> None:
        """`places` says where in `operands`, which are bound, which values go."""
        self._operator = node.operator
        self._build = _BUILDERS[node.operator]
        self._check_types = _TYPE_CHECKS.get(node.operator)
        self._operands = operands
        self._places = places

    def bind(self, placeholders: Placeholders) -> Test:
        """Raises ExpressionError."""
        operands = self._operands.copy()
        for place, ref in self._places:
            operands[place] = placeholders.value(ref)
        if self._check_types is not None:
            self._check_types(self._operator, operands)
        return self._build(*operands)


Node: TypeAlias = ConditionTree | _Slots | Test
_shapes: Kept[tuple[Node, ...]] = Kept()


def _shape_of(parsed: ParsedCondition, placeholders: Placeholders) -> tuple[Node, ...] | None:
    """The program with what needs no values done; None where that has a fault."""
    try:
        return tuple(
            _prepared(node, placeholders) if type(node) is Predicate else node for node in parsed.program
        )
    except ExpressionError:
        return None


def _prepared(node: Predicate, placeholders: Placeholders) -> Node:
    places = [(i, operand.name) for i, operand in enumerate(node.operands) if type(operand) is ValueRef]
    if any(type(operand) is Call for operand in node.operands):
        return node
    if not places:
        return _bind_predicate(node, placeholders)
    if node.operator in _OF_PATHS:
        return node  # of a value: every binding of the tree refuses it
    operands: list[Any] = [
        operand if type(operand) is ValueRef else resolve(operand, placeholders) for operand in node.operands
    ]
    _check_count(node.operator, len(operands))
    if len(operands) == 2:
        _check_distinct(node, operands)
    readers: list[Any] = [operand if type(operand) is ValueRef else _bound(operand) for operand in operands]
    return _Slots(node, readers, places)


# --- Tests of items ------------------------------------------------------------------------------


def _build(operator: str, operands: list[Resolved]) -> Test:
    of_path = _OF_PATHS.get(operator)
    if of_path is not None:
        return of_path(operands[0])
    return _BUILDERS[operator](*map(_bound, operands))


_OF_PATHS: dict[str, Callable[[Any], Test]] = {
    "attribute_exists": predicates.exists,
    "attribute_not_exists": predicates.not_exists,
}

_BUILDERS: dict[str, Callable[..., Test]] = {
    "=": predicates.equal,
    "<>": predicates.not_equal,
    "<": partial(predicates.ordered, "<"),
    "<=": partial(predicates.ordered, "<="),
    ">": partial(predicates.ordered, ">"),
    ">=": partial(predicates.ordered, ">="),
    "BETWEEN": predicates.between,
    "IN": lambda operand, *options: predicates.one_of(operand, list(options)),
    "attribute_type": lambda operand, name: predicates.has_type(operand, name["S"]),
    "begins_with": predicates.begins_with,
    "contains": predicates.contains,
}
"""From bound operands."""
