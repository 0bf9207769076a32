"""Compiles the actions of an update to closures.

A computation takes the item as it was before the update and the values of the request, and returns the new
value at the path that the action writes. The checks of values are collected beside them, in the service's
order, and run before any computation.

Sources: expressions.md section 5; order of errors and texts, errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from faradisc.errors import ValidationException
from faradisc.language.expressions import errors
from faradisc.language.expressions.binder import Placeholders
from faradisc.language.expressions.errors import ExpressionError, UpdateError
from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Constant,
    FunctionCall,
    Operand,
    Path,
    ValueRef,
)
from faradisc.model.values import number
from faradisc.model.values import path as paths
from faradisc.model.values.attribute import SET_TYPES, AttributeValue, Item, sorted_set, type_of
from faradisc.model.values.checks import Wording, number_message

Values: TypeAlias = Mapping[str, AttributeValue]
"""ExpressionAttributeValues."""

Compute: TypeAlias = Callable[[Item, Values], AttributeValue | None]
"""Returns the new value at a written path; None removes what is there, if anything."""

Check: TypeAlias = Callable[[Values], None]
"""Raises ExpressionError."""

Constantly: TypeAlias = Callable[[Values], AttributeValue]
"""Returns an operand that does not depend on the item."""

_LONG_TYPE_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "Binary",
    "NULL": "NULL",
    "BOOL": "BOOL",
    "L": "LIST",
    "M": "MAP",
}


class ActionCompiler:
    """Compiles actions, and collects the checks of values in `checks`.

    It uses only the names of `placeholders`. Computations raise `mismatch` for an operand of the wrong type.
    """

    __slots__ = ("_mismatch", "_placeholders", "checks")

    def __init__(self, placeholders: Placeholders, mismatch: type[UpdateError]) -> None:
        self._placeholders = placeholders
        self._mismatch = mismatch
        self.checks: list[Check] = []

    def check_section_operand(self, action: Action) -> None:
        """Adds the check of the operand of ADD or DELETE."""
        assert isinstance(action.operand, ValueRef)
        ref, verb = action.operand.name, action.verb

        def check(values: Values) -> None:
            kind = type_of(values[ref])
            if kind not in SET_TYPES and not (kind == "N" and verb == "ADD"):
                raise errors.SectionOperandType(section=verb, type=_LONG_TYPE_NAMES[kind])

        self.checks.append(check)

    def _fail(self, error: Callable[[], ExpressionError]) -> Compute:
        """Adds a check that always fails, after the checks collected so far."""

        def check(values: Values) -> None:
            raise error()

        self.checks.append(check)
        return _nothing

    def compute(self, action: Action) -> Compute:
        """Returns the computation of one action."""
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
                    raise errors.AttributeMissing
                return value

            return read
        if isinstance(operand, FunctionCall):
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

    def _if_not_exists(self, call: FunctionCall) -> Compute:
        operands = list(map(self._operand, call.operands))
        if len(operands) != 2:
            return self._fail(lambda: errors.OperandCount(operator=call.name, count=len(operands)))
        path = call.operands[0]
        if not isinstance(path, Path):
            return self._fail(lambda: errors.PathRequired(operator="if_not_exists"))
        lookup, default = _lookup(self._placeholders.path(path)), operands[1]

        def compute(old: Item, values: Values) -> AttributeValue | None:
            value = lookup(old, values)
            return value if value is not None else default(old, values)

        return compute

    def _list_append(self, call: FunctionCall) -> Compute:
        operands = list(map(self._operand, call.operands))
        if len(operands) != 2:
            return self._fail(lambda: errors.OperandCount(operator=call.name, count=len(operands)))
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
                    raise errors.OperandType(operator=operator, type=type_of(value))

            self.checks.append(check)

    def _add(self, target: Compute, constant: Constantly) -> Compute:
        """Adds to a number, to a set, or (legacy only) appends to a list."""
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
        """Removes members from a set, and the set when none is left."""
        mismatch = self._mismatch

        def compute(old: Item, values: Values) -> AttributeValue | None:
            value, change = target(old, values), constant(values)
            if value is None:
                return None
            kind = type_of(change)
            if kind not in value:
                raise mismatch
            removed = frozenset(change[kind])
            left = [member for member in value[kind] if member not in removed]
            return {kind: left} if left else None

        return compute


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
    except number.TooManyDigits:
        raise ValidationException(number_message(number.Overflow(), "", Wording.NEW)) from None
    except number.NumberError as error:
        raise ValidationException(number_message(error, "", Wording.NEW)) from None
