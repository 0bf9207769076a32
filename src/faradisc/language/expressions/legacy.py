"""The parameters before expressions: Expected, AttributeUpdates, KeyConditions, QueryFilter, ScanFilter.

They are converted to the trees that expressions are parsed to, so there is one evaluator. Their checks and
texts are their own. Requires: values valid and canonical, enums and required members checked.

Sources: expressions.md section 6, errors.md section 6.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.errors import EMPTY_NAME, RequestRuleError, ValidationException
from faradisc.language.expressions import errors
from faradisc.language.expressions.binder import NO_PLACEHOLDERS
from faradisc.language.expressions.condition import Condition, condition_of_program
from faradisc.language.expressions.errors import KeyConditionError
from faradisc.language.expressions.key_condition import (
    INDEX_CLAUSES_MAX,
    RANGE_OPERATORS,
    KeyClause,
    KeyClauses,
)
from faradisc.language.expressions.projection import Projection
from faradisc.language.expressions.syntax import (
    Action,
    Constant,
    Junction,
    Negation,
    Path,
    Predicate,
    operands_first,
)
from faradisc.language.expressions.syntax import Condition as ConditionTree
from faradisc.language.expressions.update import Update, update_of_actions
from faradisc.model.values.attribute import SET_TYPES, AttributeValue, compare, type_of

_INVALID = "One or more parameter values were invalid: "


# --- Conditions ----------------------------------------------------------------------------------

_OPERATORS = {
    "EQ": "=",
    "NE": "<>",
    "LE": "<=",
    "LT": "<",
    "GE": ">=",
    "GT": ">",
    "NULL": "attribute_not_exists",
    "NOT_NULL": "attribute_exists",
    "CONTAINS": "contains",
    "NOT_CONTAINS": "contains",
    "BEGINS_WITH": "begins_with",
    "BETWEEN": "BETWEEN",
    "IN": "IN",
}
_SCALARS = frozenset({"S", "N", "B"})
_EQUALITY = _SCALARS | SET_TYPES | {"BOOL", "NULL"}
_DOCUMENTS = frozenset({"L", "M"})
_ALLOWED_TYPES = {
    **dict.fromkeys(("EQ", "NE"), _EQUALITY),
    **dict.fromkeys(("LE", "LT", "GE", "GT", "IN", "BETWEEN", "CONTAINS", "NOT_CONTAINS"), _SCALARS),
    "BEGINS_WITH": frozenset({"S", "B"}),
}


def _check_operators(conditions: Mapping[str, Mapping[str, Any]]) -> None:
    if any(condition.get("ComparisonOperator", "EQ") not in _OPERATORS for condition in conditions.values()):
        raise ValidationException(f"{_INVALID}Invalid comparison operator")


def expected(
    conditions: Mapping[str, Mapping[str, Any]], conditional_operator: str | None = None
) -> Condition | None:
    """Returns the condition of an Expected parameter; None when it is empty."""
    _check_operators(conditions)
    trees = [_expected_tree(name, condition) for name, condition in conditions.items()]
    return _joined(conditions, trees, conditional_operator)


def filter_condition(
    conditions: Mapping[str, Mapping[str, Any]], conditional_operator: str | None = None
) -> Condition | None:
    """Returns the condition of a QueryFilter or ScanFilter; None when it is empty."""
    _check_operators(conditions)
    trees = []
    for name, condition in conditions.items():
        values: list[AttributeValue] = list(condition.get("AttributeValueList") or ())
        _check_arguments(condition["ComparisonOperator"], values, documents=True)
        trees.append(_comparison_tree(name, condition["ComparisonOperator"], values))
    return _joined(conditions, trees, conditional_operator)


def _joined(
    conditions: Mapping[str, Any], trees: list[ConditionTree], conditional_operator: str | None
) -> Condition | None:
    if not trees:
        return None
    paths = tuple(Path((name,)) for name in conditions)
    joined = Junction("OR" if conditional_operator == "OR" else "AND", tuple(trees))
    program = operands_first(trees[0] if len(trees) == 1 else joined)
    return condition_of_program(program, paths, NO_PLACEHOLDERS)


def _expected_tree(name: str, condition: Mapping[str, Any]) -> ConditionTree:
    value = condition.get("Value")
    values = condition.get("AttributeValueList")
    operator = condition.get("ComparisonOperator")
    if value is not None and values is not None:
        raise ValidationException(
            f"{_INVALID}Value and AttributeValueList cannot be used together for Attribute: {name}"
        )
    if operator is not None:
        if "Exists" in condition:
            raise ValidationException(
                f"{_INVALID}Exists and ComparisonOperator cannot be used together for Attribute: {name}"
            )
        if value is None and values is None and operator not in ("NULL", "NOT_NULL"):
            raise ValidationException(
                f"{_INVALID}Value or AttributeValueList must be used with "
                f"ComparisonOperator: {operator} for Attribute: {name}"
            )
        given = [value] if value is not None else list(values or ())
        _check_arguments(operator, given, documents=True)
        return _comparison_tree(name, operator, given)
    if values is not None:
        raise ValidationException(
            f"{_INVALID}AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}"
        )
    return _exists_tree(name, condition.get("Exists"), value)


def _exists_tree(name: str, exists: bool | None, value: AttributeValue | None) -> ConditionTree:
    if exists is False:
        if value is not None:
            raise ValidationException(
                f"{_INVALID}Value cannot be used when Exists is false for Attribute: {name}"
            )
        return Predicate("attribute_not_exists", (Path((name,)),))
    if value is None:
        shown = "null" if exists is None else "true"
        raise ValidationException(
            f"{_INVALID}Value must be provided when Exists is {shown} for Attribute: {name}"
        )
    return Predicate("=", (Path((name,)), Constant(value)))


def _check_arguments(operator: str, values: list[AttributeValue], *, documents: bool) -> None:
    """Checks the count, one common type, allowed types and the order of bounds. Raises ValidationException.

    documents: whether EQ and NE take L and M.
    """
    if not _count_fits(operator, len(values)):
        raise _wrong_count(operator)
    if not values:
        return
    kinds = {type_of(value) for value in values}
    if operator == "IN" and not kinds <= _SCALARS:
        raise _not_valid(operator, next(kind for kind in map(type_of, values) if kind not in _SCALARS))
    if len(kinds) > 1:
        raise ValidationException(f"{_INVALID}AttributeValues inside AttributeValueList must be of same type")
    (kind,) = kinds
    if kind not in _ALLOWED_TYPES[operator]:
        if not (documents and kind in _DOCUMENTS and operator in ("EQ", "NE")):
            raise _not_valid(operator, kind)
    elif operator == "BETWEEN" and compare(values[0], values[1]) > 0:
        raise ValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )


def _wrong_count(operator: str) -> ValidationException:
    return ValidationException(
        f"{_INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator"
    )


def _not_valid(operator: str, kind: str) -> ValidationException:
    return ValidationException(
        f"{_INVALID}ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
    )


def _count_fits(operator: str, count: int) -> bool:
    if operator == "IN":
        return count >= 1
    if operator == "BETWEEN":
        return count == 2
    return count == (0 if operator in ("NULL", "NOT_NULL") else 1)


def _comparison_tree(name: str, operator: str, values: Sequence[AttributeValue]) -> ConditionTree:
    predicate = Predicate(_OPERATORS[operator], (Path((name,)), *map(Constant, values)))
    if operator == "NOT_CONTAINS":
        # Unlike the negation of `contains`, it is false for a missing attribute.
        present = Predicate("attribute_exists", (Path((name,)),))
        return Junction("AND", (present, Negation(predicate)))
    return predicate


# --- Key conditions ------------------------------------------------------------------------------


def key_conditions(
    conditions: Mapping[str, Mapping[str, Any]], *, clauses_max: int = INDEX_CLAUSES_MAX
) -> KeyClauses:
    """Returns the clauses of a KeyConditions parameter.

    clauses_max: TABLE_CLAUSES_MAX when the request names no index.
    Raises: ValidationException for arguments, KeyConditionError for a wrong number of conditions.
    """
    _check_operators(conditions)
    clauses: dict[str, KeyClause] = {}
    for name, condition in conditions.items():
        operator = condition["ComparisonOperator"]
        values: list[AttributeValue] = list(condition.get("AttributeValueList") or ())
        # Values that no key has are found where the schema is known.
        scalars = [value for value in values if type_of(value) in _SCALARS]
        if not values or len(scalars) == len(values):
            _check_arguments(operator, values, documents=False)
        elif not _count_fits(operator, len(values)):
            raise _wrong_count(operator)
        clauses[name] = KeyClause(name, RANGE_OPERATORS.get(_OPERATORS[operator]), tuple(values))
    if not 1 <= len(clauses) <= clauses_max:
        raise KeyConditionError(errors.TOO_MANY_CONDITIONS)
    return KeyClauses(clauses)


# --- Updates and projections ---------------------------------------------------------------------


def attribute_updates(updates: Mapping[str, Mapping[str, Any]]) -> Update:
    """Returns the update of an AttributeUpdates parameter. Raises ValidationException.

    The update raises TypeMismatch for an item with an attribute of another type.
    """
    actions = [_update_action(name, update) for name, update in updates.items()]
    return update_of_actions(actions, errors.TypeMismatch)


def _update_action(name: str, update: Mapping[str, Any]) -> Action:
    path = Path((name,))
    verb = update.get("Action", "PUT")
    if verb not in ("ADD", "DELETE", "PUT"):
        # The service's quotation mark.
        raise RequestRuleError("Member must satisfy enum value set: [ADD, DELETE, PUT]' for Action")
    value = update.get("Value")
    if value is None:
        if verb != "DELETE":
            raise ValidationException(
                f"{_INVALID}Only DELETE action is allowed when no attribute value is specified"
            )
        return Action("REMOVE", path)
    kind = type_of(value)
    if verb == "DELETE":
        if kind not in SET_TYPES:
            raise ValidationException(
                f"{_INVALID}DELETE action with value is not supported for the type {kind}"
            )
        return Action("DELETE", path, Constant(value))
    if verb == "ADD":
        if kind not in SET_TYPES and kind not in ("N", "L"):
            raise ValidationException(f"{_INVALID}ADD action is not supported for the type {kind}")
        return Action("ADD", path, Constant(value))
    return Action("SET", path, Constant(value))


def attributes_to_get(names: Sequence[str]) -> Projection:
    """Returns the projection of an AttributesToGet parameter: whole top-level attributes."""
    seen: set[str] = set()
    for name in names:
        if not name:
            raise RequestRuleError(EMPTY_NAME)
        if name in seen:
            raise ValidationException(f"{_INVALID}Duplicate value in attribute name: {name}")
        seen.add(name)
    return Projection((name,) for name in names)
