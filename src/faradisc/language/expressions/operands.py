"""Operands of a predicate without placeholders, and the checks of them.

`check_predicate` of condition.py runs these in the service's order: the number of operands, whether two are
the same, and their types. Source: errors.md section 6.4, expressions.md section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from faradisc.language.expressions import errors
from faradisc.language.expressions.predicates import Reader, Test
from faradisc.language.expressions.syntax import Predicate, ValueRef
from faradisc.limits import IN_OPERANDS_MAX
from faradisc.model.values.attribute import ORDERED_TYPES, SET_TYPES, AttributeValue, compare, type_of
from faradisc.model.values.path import Path as ResolvedPath
from faradisc.model.values.path import text as path_text
from faradisc.records import dataclass


@dataclass(slots=True)
class SizeCall:
    """A call of `size` with resolved operands."""

    operands: list[Resolved]

    def check_count(self) -> None:
        for operand in self.operands:
            if type(operand) is SizeCall:
                operand.check_count()
        if len(self.operands) != 1:
            raise errors.OperandCount(operator="size", count=len(self.operands))

    def check_type(self) -> None:
        (operand,) = self.operands
        if type(operand) is SizeCall:
            operand.check_type()
        kind = immediate_type(operand)
        if kind in ("N", "BOOL", "NULL"):
            raise errors.OperandType(operator="size", type=kind)


@dataclass(slots=True)
class BoundTruth:
    """A condition as an operand, bound."""

    test: Test


Resolved: TypeAlias = AttributeValue | ResolvedPath | Reader | SizeCall | BoundTruth
"""An operand without placeholders: a value (dict), a path (tuple, or its reader), a size or a condition."""


def immediate_type(operand: Resolved) -> str | None:
    """Returns the type of an operand that does not depend on the item; None for a path."""
    if type(operand) is dict:
        return type_of(operand)
    if type(operand) is BoundTruth:
        return "BOOL"
    return "N" if type(operand) is SizeCall else None


_OPERAND_COUNTS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}


def check_count(operator: str, count: int) -> None:
    expected = _OPERAND_COUNTS.get(operator, count)
    if count != expected or (operator == "IN" and count > IN_OPERANDS_MAX + 1):
        raise errors.OperandCount(operator=operator, count=count - (operator == "IN"))


def check_distinct(node: Predicate, operands: list[Resolved]) -> None:
    first, second = operands
    if node.operator == "IN":
        return
    if type(first) is tuple:
        if first == second:
            raise errors.OperandsNotDistinct(operator=node.operator, operand=path_text(first))
        return
    value_ref = node.operands[0]
    if node.operator == "contains" and type(value_ref) is ValueRef and value_ref == node.operands[1]:
        # Assumed: only `contains` refuses one value twice; captures of the others accept `:v = :v`.
        raise errors.OperandsNotDistinct(operator="contains", operand=f"[{value_ref.name}]")


def _check_path(operator: str, operands: list[Resolved]) -> None:
    if type(operands[0]) is not tuple:
        raise errors.PathRequired(operator=operator)


def _check_ordered(operator: str, operands: list[Resolved]) -> None:
    for operand in operands:
        kind = immediate_type(operand)
        if kind is not None and kind not in ORDERED_TYPES:
            raise errors.OperandType(operator=operator, type=kind)


def _check_between(operator: str, operands: list[Resolved]) -> None:
    lower, upper = operands[1:]
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        _check_ordered(operator, operands)
        return
    if type_of(lower) != type_of(upper):
        raise errors.BoundsOfTwoTypes(lower=_shown(lower), upper=_shown(upper))
    _check_ordered(operator, operands)
    if compare(lower, upper) > 0:
        raise errors.BoundsReversed(lower=_shown(lower), upper=_shown(upper))


def _shown(value: AttributeValue) -> str:
    """Returns a value as the service prints it, `{S:text}`. Assumed for sets and documents: Java's forms."""
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
        kind = immediate_type(operand)
        if kind is not None and kind not in ("S", "B"):
            raise errors.OperandType(operator=operator, type=kind)


_TYPE_NAMES = frozenset({"S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M"})
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
"""How the service prints the type of a path where it wants a string value."""


def _check_attribute_type(operator: str, operands: list[Resolved]) -> None:
    kind = immediate_type(operands[1]) or _ANY_TYPE
    if kind != "S":
        raise errors.OperandType(operator=operator, type=kind)
    name = operands[1]["S"]  # type: ignore[call-overload, index]
    if name not in _TYPE_NAMES:
        raise errors.UnknownTypeName(type=name)


TYPE_CHECKS: dict[str, Callable[[str, list[Resolved]], None]] = {
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
