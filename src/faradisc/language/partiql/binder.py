"""Binds the parameters of a request to its statement.

Fills in the templates, and builds conditions and updates with the expression language, which runs its checks:
operand counts and types, overlapping paths. No table is needed.

Texts and their order: errors.md section 8; texts of the expression language appear without "Invalid
...Expression: " before them.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.errors import ValidationException
from faradisc.language.expressions import Condition, Update
from faradisc.language.expressions import errors as expression_errors
from faradisc.language.expressions.binder import NO_PLACEHOLDERS
from faradisc.language.expressions.condition import condition_of_tree
from faradisc.language.expressions.predicates import all_of
from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Call,
    Constant,
    Junction,
    Negation,
    Operand,
    Predicate,
    ValueRef,
    operands_first,
)
from faradisc.language.expressions.syntax import Condition as ConditionTree
from faradisc.language.expressions.update import update_of_actions
from faradisc.language.partiql import errors, syntax
from faradisc.language.partiql.syntax import BagOf, ListOf, MapOf, Parameter, Statement, Template, Where
from faradisc.language.partiql.values import bag_of
from faradisc.model.values.attribute import SET_TYPES, AttributeValue, type_of
from faradisc.model.values.checks import NESTED_CONTAINERS_MAX, NESTING_EXCEEDED

Values = list[AttributeValue]
"""The values of a statement's templates, in order."""


def fill_templates(statement: Statement, parameters: Sequence[AttributeValue]) -> Values:
    """Returns the values of all templates. Requires: parameters valid and canonical.

    Raises: ValidationException.
    """
    if len(parameters) != statement.parameters:
        raise errors.StatementError(errors.PARAMETER_COUNT)
    return [fill(template, parameters) for template in statement.templates]


def fill(template: Template, parameters: Sequence[AttributeValue]) -> AttributeValue:
    """Returns the value of one template. Raises ValidationException."""
    if type(template) is Parameter:
        return parameters[template.index]
    return _checked_depth(_fill(template, parameters), template)


def _fill(template: Template, parameters: Sequence[AttributeValue]) -> AttributeValue:
    match template:
        case Constant(value):
            return value
        case Parameter(index):
            return parameters[index]
        case ListOf(parts):
            return {"L": [_fill(part, parameters) for part in parts]}
        case MapOf(members):
            return {"M": {name: _fill(part, parameters) for name, part in members}}
        case BagOf(parts, at):
            return bag_of([_fill(part, parameters) for part in parts], at)


def _checked_depth(value: AttributeValue, template: Template) -> AttributeValue:
    """Returns the value. Raises ValidationException when container and parameter together nest too deep."""
    if isinstance(template, ListOf | MapOf) and not _fits(value, NESTED_CONTAINERS_MAX):
        raise ValidationException(NESTING_EXCEEDED)
    return value


def _fits(value: AttributeValue, levels: int) -> bool:
    members = value["L"] if "L" in value else value["M"].values() if "M" in value else None
    return members is None or (levels > 0 and all(_fits(member, levels - 1) for member in members))


# --- Conditions ----------------------------------------------------------------------------------


class Conditions:
    """The conjuncts of a WHERE clause, each bound at its first use."""

    __slots__ = ("_bound", "_conjuncts", "_values")

    def __init__(self, where: Where, values: Values) -> None:
        """Runs every check of every conjunct. Raises ExpressionError."""
        self._conjuncts = where.conjuncts
        self._values = values
        self._bound: dict[int, Condition] = {}
        for at in where.to_check:
            self._bind(at)

    def of(self, positions: Sequence[int]) -> Condition | None:
        """Returns the conjunction of the conjuncts at these positions; None when there are none."""
        if not positions:
            return None
        bound = [self._bind(at) for at in positions]
        if len(bound) == 1:
            return bound[0]
        paths = tuple([path for at in positions for path in self._conjuncts[at].paths])
        return Condition(all_of([condition.matches for condition in bound]), paths, NO_PLACEHOLDERS)

    def _bind(self, at: int) -> Condition:
        condition = self._bound.get(at)
        if condition is None:
            conjunct = self._conjuncts[at]
            tree = _with_values(conjunct.tree, self._values) if conjunct.has_refs else conjunct.tree
            condition = self._bound[at] = condition_of_tree(tree, conjunct.paths)
        return condition


def _with_values(root: ConditionTree, values: Values) -> ConditionTree:
    """Returns the tree with constants in place of references. Does not recurse."""
    done: list[ConditionTree] = []
    for node in operands_first(root):
        if isinstance(node, Predicate):
            done.append(_predicate(node, values))
        elif isinstance(node, Negation):
            done.append(Negation(done.pop()))
        else:
            parts = tuple(done[-len(node.parts) :])
            del done[-len(node.parts) :]
            done.append(Junction(node.operator, parts))
    return done[0]


def _predicate(node: Predicate, values: Values) -> Predicate:
    if node.operator == "IN ?":
        operand, options = node.operands
        assert isinstance(options, ValueRef)
        spread = [Constant(option) for option in spread_list(values[int(options.name)])]
        return Predicate("IN", (_operand(operand, values), *spread))
    return Predicate(node.operator, tuple([_operand(operand, values) for operand in node.operands]))


def spread_list(value: AttributeValue) -> list[AttributeValue]:
    """Returns the options of `IN ?`. Raises ExpressionError unless the parameter is a list."""
    if "L" not in value:
        raise expression_errors.OperandType(operator="IN", type=type_of(value))
    options: list[AttributeValue] = value["L"]
    return options


def _operand(operand: Operand, values: Values) -> Operand:
    """Recurses once per nested call."""
    match operand:
        case ValueRef(name):
            return Constant(values[int(name)])
        case Call(name, operands):
            return Call(name, tuple([_operand(inner, values) for inner in operands]))
        case Arithmetic(operator, (left, right)):
            return Arithmetic(operator, (_operand(left, values), _operand(right, values)))
        case _:
            return operand


# --- Updates -------------------------------------------------------------------------------------


def bind_update(update: syntax.Update, values: Values) -> Update:
    """Raises ValidationException."""
    for value, function, at in update.set_values:
        if type_of(syntax.constant_value(value, values)) not in SET_TYPES:
            raise errors.StatementError(errors.SET_FUNCTION_SECOND.format(name=function, at=at))
    actions = [
        Action(action.verb, action.path, None if action.operand is None else _operand(action.operand, values))
        for action in update.actions
    ]
    return update_of_actions(actions, expression_errors.IncorrectOperand)
