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
from faradisc.language.expressions.binder import Placeholders
from faradisc.language.expressions.condition import condition_of_program
from faradisc.language.expressions.predicates import all_of
from faradisc.language.expressions.syntax import Condition as ConditionTree
from faradisc.language.expressions.syntax import Constant, Path, Predicate, ValueRef
from faradisc.language.expressions.update import update_of_actions
from faradisc.language.partiql import errors, syntax
from faradisc.language.partiql.syntax import ListOf, MapOf, Parameter, Statement, Template, Where
from faradisc.limits import IN_OPERANDS_MAX, NESTING_LEVELS_MAX
from faradisc.model.values.attribute import SET_TYPES, AttributeValue, type_of
from faradisc.model.values.checks import NESTING_EXCEEDED
from faradisc.model.values.path import text as path_text

Values = dict[str, AttributeValue]
"""The values of a statement's templates, by the names of the references to them."""


def fill_templates(statement: Statement, parameters: Sequence[AttributeValue]) -> Values:
    """Returns the values of all templates. Requires: parameters valid and canonical.

    Raises: ValidationException.
    """
    if len(parameters) < statement.parameters:
        raise errors.StatementError(errors.PARAMETER_COUNT)
    return {str(at): fill(template, parameters) for at, template in enumerate(statement.templates)}


def fill(template: Template, parameters: Sequence[AttributeValue]) -> AttributeValue:
    """Returns the value of one template. Raises ValidationException."""
    if type(template) is Parameter:
        return parameters[template.index]
    return _checked_depth(_fill(template, parameters), template)


def fill_item(template: Template, parameters: Sequence[AttributeValue]) -> AttributeValue:
    """Returns the map of an INSERT, whose members nest as deep as values do. Raises ValidationException."""
    if not isinstance(template, MapOf):
        return fill(template, parameters)
    return {"M": {name: fill(part, parameters) for name, part in template.parts}}


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


def _checked_depth(value: AttributeValue, template: Template) -> AttributeValue:
    """Returns the value. Raises ValidationException when container and parameter together nest too deep."""
    if isinstance(template, ListOf | MapOf) and not fits(value, NESTING_LEVELS_MAX):
        raise ValidationException(NESTING_EXCEEDED)
    return value


def fits(value: AttributeValue, levels: int) -> bool:
    """Returns whether a value has at most so many levels of maps and lists."""
    members = value["L"] if "L" in value else value["M"].values() if "M" in value else None
    return members is None or (levels > 0 and all(fits(member, levels - 1) for member in members))


# --- Conditions ----------------------------------------------------------------------------------


class Conditions:
    """The conjuncts of a WHERE clause, each bound at its first use."""

    __slots__ = ("_bound", "_conjuncts", "_placeholders")

    def __init__(self, where: Where, values: Values) -> None:
        """Runs every check of every conjunct. Raises ExpressionError."""
        self._conjuncts = where.conjuncts
        self._placeholders = Placeholders(None, values)
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
        return Condition(all_of([condition.matches for condition in bound]), paths, self._placeholders)

    def _bind(self, at: int) -> Condition:
        condition = self._bound.get(at)
        if condition is None:
            conjunct, placeholders = self._conjuncts[at], self._placeholders
            program = [_checked(node, placeholders) for node in conjunct.program]
            condition = condition_of_program(program, conjunct.paths, placeholders)
            self._bound[at] = condition
        return condition


def _checked(node: ConditionTree, placeholders: Placeholders) -> ConditionTree:
    """Returns a node, IN in place of `IN ?`, after the checks of IN and BETWEEN that only statements have.

    Raises ExpressionError. Source: errors.md section 8.
    """
    if type(node) is not Predicate or node.operator not in ("IN", "IN ?", "BETWEEN"):
        return node
    operand, *options = node.operands
    if node.operator == "IN ?":
        (listed,) = options
        assert isinstance(listed, ValueRef)
        node = Predicate("IN", (operand, *map(Constant, spread_list(placeholders.value(listed.name)))))
    elif isinstance(operand, Path) and operand in options:
        shown = path_text(placeholders.path(operand))
        raise expression_errors.OperandsNotDistinct(operator=node.operator, operand=shown)
    if len(node.operands) > IN_OPERANDS_MAX + 1:
        raise expression_errors.TooManyOptions(count=len(node.operands) - 1)
    return node


def spread_list(value: AttributeValue) -> list[AttributeValue]:
    """Returns the options of `IN ?`. Raises ExpressionError unless the parameter is a list."""
    if "L" not in value:
        raise expression_errors.OperandType(operator="IN", type=type_of(value))
    options: list[AttributeValue] = value["L"]
    return options


# --- Updates -------------------------------------------------------------------------------------


def bind_update(update: syntax.UpdateStatement, values: Values) -> Update:
    """Raises ValidationException."""
    for value, function, at in update.set_values:
        if type_of(syntax.constant_value(value, values)) not in SET_TYPES:
            raise errors.StatementError(errors.SET_FUNCTION_SECOND.format(name=function, at=at))
    return update_of_actions(update.actions, expression_errors.IncorrectOperand, values)
