"""Binds condition and filter expressions: a parsed tree and a request's placeholders become a test of items.

Binding resolves names and values, runs the checks that need them, and builds closures (predicates.py). The
checks have an order over the whole expression: undefined names and values, operand counts, distinct
operands, operand types. Of one kind, the first error in the text is reported.

What does not depend on values is bound once per text and names (binder.py): a predicate without values
becomes a test, and for one with values each request looks up, checks and fills in only the values. A text
with an error in that part is bound from its tree every time, which finds the first error.

Source: order and texts, errors.md section 6.4; rules, expressions.md section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from faradisc.language.expressions import errors, predicates
from faradisc.language.expressions.binder import BoundCache, Placeholders, key_of
from faradisc.language.expressions.errors import ExpressionError
from faradisc.language.expressions.operands import (
    TYPE_CHECKS,
    BoundTruth,
    Resolved,
    SizeCall,
    check_count,
    check_distinct,
)
from faradisc.language.expressions.parser import parse_condition
from faradisc.language.expressions.predicates import Bound, Reader, Test
from faradisc.language.expressions.syntax import Condition as ConditionTree
from faradisc.language.expressions.syntax import (
    Constant,
    FunctionCall,
    Junction,
    Negation,
    Operand,
    ParsedCondition,
    Path,
    Predicate,
    Truth,
    ValueRef,
)
from faradisc.model.values.attribute import Item

ConditionKind: TypeAlias = Literal["ConditionExpression", "FilterExpression"]


_NONE: frozenset[str] = frozenset()


_UNBOUND = Placeholders(None, None)


class Condition:
    """A bound condition. `matches` tests an item; {} stands for an absent one."""

    __slots__ = ("_paths", "_placeholders", "matches")

    def __init__(
        self, matches: Test, paths: tuple[Path, ...] = (), placeholders: Placeholders = _UNBOUND
    ) -> None:
        self.matches: Callable[[Item], bool] = matches
        self._paths = paths
        self._placeholders = placeholders

    @property
    def top_level(self) -> frozenset[str]:
        """Returns the top-level attributes of all paths."""
        return frozenset(str(self._placeholders.path(path)[0]) for path in self._paths)

    @property
    def nested(self) -> frozenset[str]:
        """Returns the top-level attributes into which a path goes with `.` or `[]`."""
        for path in self._paths:
            if len(path.steps) > 1:
                break
        else:
            return _NONE  # as in most conditions
        return frozenset(str(self._placeholders.path(path)[0]) for path in self._paths if len(path.steps) > 1)


def bind_condition(text: str, kind: ConditionKind, placeholders: Placeholders) -> Condition:
    """Parses (cached) and binds a ConditionExpression or FilterExpression.

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
    except ExpressionError as error:
        raise error.within(kind) from None


def condition_of_program(
    program: Sequence[ConditionTree], paths: tuple[Path, ...], placeholders: Placeholders
) -> Condition:
    """Binds the nodes of a tree, each after its parts, as legacy parameters and PartiQL build it."""
    return Condition(_bind_program(program, placeholders), paths, placeholders)


def check_condition(parsed: ParsedCondition, placeholders: Placeholders) -> None:
    """Runs every check of `bind_condition` without building the test.

    Raises: ExpressionError, of several the one that the service reports.
    """
    first: ExpressionError | None = None
    for node in parsed.program:
        if type(node) is Predicate:
            try:
                check_predicate(node, placeholders)
            except ExpressionError as error:
                if first is None or _rank(error) < _rank(first):
                    first = error
    if first is not None:
        raise first


_KINDS_IN_ORDER: tuple[tuple[type[ExpressionError], ...], ...] = (
    (errors.UndefinedName, errors.UndefinedValue),
    (errors.OperandCount,),
    (errors.OperandsNotDistinct,),
    (ExpressionError,),
)


def _rank(error: ExpressionError) -> int:
    return next(rank for rank, kinds in enumerate(_KINDS_IN_ORDER) if isinstance(error, kinds))


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


def resolve(operand: Operand, placeholders: Placeholders) -> Resolved:
    """Returns an operand with its placeholders filled in. Raises UndefinedName or UndefinedValue."""
    kind = type(operand)
    if kind is Path:
        fixed = operand.fixed  # type: ignore[union-attr]
        return fixed if fixed is not None else placeholders.path(operand)  # type: ignore[arg-type]
    if kind is ValueRef:
        return placeholders.value(operand.name)  # type: ignore[union-attr]
    if isinstance(operand, Constant):
        return operand.value
    if isinstance(operand, Truth):
        return BoundTruth(_bind_program(operand.program, placeholders))
    assert isinstance(operand, FunctionCall)
    if operand.name != "size":
        return BoundTruth(_bind_predicate(Predicate(operand.name, operand.operands), placeholders))
    operands = []
    for inner in operand.operands:  # A loop, as a comprehension would be a second frame per nested call.
        operands.append(resolve(inner, placeholders))
    return SizeCall(operands)


def _bound(operand: Resolved) -> Bound:
    if type(operand) is tuple:
        return predicates.reader_of_path(operand)
    if type(operand) is BoundTruth:
        return predicates.truth_of(operand.test)
    return _size_reader(operand) if type(operand) is SizeCall else operand  # type: ignore[return-value]


def _size_reader(size: SizeCall) -> Reader:
    return predicates.size_of(_bound(size.operands[0]))


# --- Checks --------------------------------------------------------------------------------------


def check_predicate(node: Predicate, placeholders: Placeholders) -> list[Resolved]:
    """Runs all checks of one predicate. Returns its resolved operands."""
    operands: list[Resolved] = []
    sizes = False
    for operand in node.operands:
        resolved = resolve(operand, placeholders)
        sizes = sizes or type(resolved) is SizeCall
        operands.append(resolved)
    operator = node.operator
    if sizes:
        for resolved in operands:
            if type(resolved) is SizeCall:
                resolved.check_count()
    check_count(operator, len(operands))
    if len(operands) == 2:
        check_distinct(node, operands)
    if sizes:
        for resolved in operands:
            if type(resolved) is SizeCall:
                resolved.check_type()
    check_types = TYPE_CHECKS.get(operator)
    if check_types is not None:
        check_types(operator, operands)
    return operands


# --- Texts bound without values ------------------------------------------------------------------


class _Slots:
    """A predicate with slots for its values; all other operands are resolved and checked."""

    __slots__ = ("_build", "_check_types", "_operands", "_operator", "_slots")

    def __init__(self, node: Predicate, operands: list[Any], slots: list[tuple[int, str]]) -> None:
        """`operands` are bound but for the slots: (index in `operands`, `:value`)."""
        self._operator = node.operator
        self._build = _BUILDERS[node.operator]
        self._check_types = TYPE_CHECKS.get(node.operator)
        self._operands = operands
        self._slots = slots

    def bind(self, placeholders: Placeholders) -> Test:
        """Fills the slots. Raises ExpressionError."""
        operands = self._operands.copy()
        for index, ref in self._slots:
            operands[index] = placeholders.value(ref)
        if self._check_types is not None:
            self._check_types(self._operator, operands)
        return self._build(*operands)


Node: TypeAlias = ConditionTree | _Slots | Test
_shapes: BoundCache[tuple[Node, ...]] = BoundCache()


def _shape_of(parsed: ParsedCondition, placeholders: Placeholders) -> tuple[Node, ...] | None:
    """Returns the program bound as far as it needs no values; None when that part has an error."""
    try:
        return tuple(
            _prepared(node, placeholders) if type(node) is Predicate else node for node in parsed.program
        )
    except ExpressionError:
        return None


def _prepared(node: Predicate, placeholders: Placeholders) -> Node:
    """Returns a predicate bound as far as it needs no values."""
    slots = [(i, operand.name) for i, operand in enumerate(node.operands) if type(operand) is ValueRef]
    if any(type(operand) is FunctionCall for operand in node.operands):
        return node
    if not slots:
        return _bind_predicate(node, placeholders)
    if node.operator in _OF_PATHS:
        return node  # it needs a path: binding the tree raises the error
    operands: list[Any] = [
        operand if type(operand) is ValueRef else resolve(operand, placeholders) for operand in node.operands
    ]
    check_count(node.operator, len(operands))
    if len(operands) == 2:
        check_distinct(node, operands)
    readers: list[Any] = [operand if type(operand) is ValueRef else _bound(operand) for operand in operands]
    return _Slots(node, readers, slots)


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
"""Tests by operator, from bound operands."""
