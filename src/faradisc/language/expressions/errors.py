"""Errors of expressions: one class per kind, each with its text.

    RequestRuleError                the families that Put-, Update- and DeleteItem envelope
    └── ExpressionError             found in the text or its placeholders, before any item is read
        ├── ExpressionSyntaxError, EmptyExpression, ExpressionTooLarge, TooManyOperators
        ├── RedundantParentheses, UnknownFunction, MisusedFunction, ReservedWord, RepeatedSection
        ├── UndefinedName, UndefinedValue
        └── OperandCount, OperandsNotDistinct, OperandType, ... PathsOverlap, PathsConflict
    ValidationException
    ├── KeyConditionError           a well-formed expression that cannot select by key
    └── UpdateError                 found when an update is applied to an item; never enveloped

Parsers and binders raise the bare error; the entry point, which knows the request parameter, puts
"Invalid <parameter>: " before its text (`ExpressionError.within`).

Source of the texts: errors.md sections 6.4 and 6.5.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from faradisc.errors import RequestRuleError, ValidationException


class ExpressionError(RequestRuleError):
    """An error in one expression. The fields of its template are keyword arguments."""

    template: ClassVar[str] = ""

    def __init__(self, **fields: Any) -> None:
        super().__init__(self.template.format(**fields))

    def again(self) -> Self:
        """Returns a new exception of the same kind and text: a cached one cannot be raised twice."""
        error = type(self).__new__(type(self), *self.args)
        error.message, error.extra = self.message, {}
        return error

    def within(self, parameter: str) -> Self:
        """Puts the request parameter that holds the expression before the text. Returns the error."""
        self.message = f"Invalid {parameter}: {self.message}"
        self.args = (self.message,)
        return self


# --- The text alone ------------------------------------------------------------------------------


class ExpressionSyntaxError(ExpressionError):
    template = 'Syntax error; token: "{token}", near: "{near}"'


class EmptyExpression(ExpressionError):
    template = "The expression can not be empty;"


class ExpressionTooLarge(ExpressionError):
    template = "Expression size has exceeded the maximum allowed size; expression size: {size}"


class TooManyOperators(ExpressionError):
    """The service stops counting at the first operator too many, so the number never varies."""

    template = "The expression contains too many operators; operator count: 301"


class ListIndexTooLarge(ExpressionError):
    """Assumed: the reference has no capture; the text is the one clients report."""

    template = "List index is not within the allowable range; index: [{index}]"


class RedundantParentheses(ExpressionError):
    template = "The expression has redundant parentheses;"


class UnknownFunction(ExpressionError):
    template = "Invalid function name; function: {name}"


class FunctionOfUpdates(ExpressionError):
    """Assumed: the text around `not allowed`, which is recorded."""

    template = "The function is not allowed in a condition expression; function: {name}"


class PathTooLong(ExpressionError):
    """Assumed: the text around `too many nesting levels`, which is recorded."""

    template = "The document path has too many nesting levels; nesting levels: {levels}"


class MisusedFunction(ExpressionError):
    template = "The function is not allowed to be used this way in an expression; function: {name}"


class ReservedWord(ExpressionError):
    template = "Attribute name is a reserved keyword; reserved keyword: {word}"


class RepeatedSection(ExpressionError):
    template = 'The "{section}" section can only be used once in an update expression;'


# --- Placeholders --------------------------------------------------------------------------------


class UndefinedName(ExpressionError):
    template = "An expression attribute name used in the document path is not defined; attribute name: {name}"


class UndefinedValue(ExpressionError):
    template = "An expression attribute value used in expression is not defined; attribute value: {name}"


# --- Operands ------------------------------------------------------------------------------------


class OperandCount(ExpressionError):
    template = (
        "Incorrect number of operands for operator or function; "
        "operator or function: {operator}, number of operands: {count}"
    )


class TooManyOptions(ExpressionError):
    """In PartiQL."""

    template = "The IN operator is provided with too many operands; number of operands: {count}"


class OperandsNotDistinct(ExpressionError):
    template = (
        "The first operand must be distinct from the remaining operands for this operator or function; "
        "operator: {operator}, first operand: {operand}"
    )


class OperandType(ExpressionError):
    template = (
        "Incorrect operand type for operator or function; "
        "operator or function: {operator}, operand type: {type}"
    )


class SectionOperandType(ExpressionError):
    """The operand of ADD or DELETE; the service names types in full here."""

    template = (
        "Incorrect operand type for operator or function; "
        "operator: {section}, operand type: {type}, typeSet: ALLOWED_FOR_{section}_OPERAND"
    )


class PathRequired(ExpressionError):
    template = "Operator or function requires a document path; operator or function: {operator}"


class UnknownTypeName(ExpressionError):
    template = (
        "Invalid attribute type name found; type: {type}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
    )


class BoundsOfTwoTypes(ExpressionError):
    template = (
        "The BETWEEN operator requires same data type for lower and upper bounds; "
        "lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )


class BoundsReversed(ExpressionError):
    template = (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )


class PathsOverlap(ExpressionError):
    template = (
        "Two document paths overlap with each other; "
        "must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )


class PathsConflict(ExpressionError):
    template = (
        "Two document paths conflict with each other; "
        "must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )


# --- Key conditions ------------------------------------------------------------------------------


class KeyConditionError(ValidationException):
    """A condition that does not select one partition and a range of sort keys."""

    code = "ValidationException"


def invalid_key_operator(operator: str) -> KeyConditionError:
    return KeyConditionError(f"Invalid operator used in KeyConditionExpression: {operator}")


def key_not_first(operator: str) -> KeyConditionError:
    return KeyConditionError(
        f"Invalid condition in KeyConditionExpression: {operator} operator must have "
        "the key attribute as its first operand"
    )


def key_element_missed(name: str) -> KeyConditionError:
    return KeyConditionError(f"Query condition missed key schema element: {name}")


NESTED_KEY_OPERATION = "KeyConditionExpressions cannot contain nested operations"
NESTED_KEY_ATTRIBUTE = "KeyConditionExpressions cannot have conditions on nested attributes"


def too_many_conditions(count: int, attributes: int) -> KeyConditionError:
    return KeyConditionError(
        f"The number of query conditions ({count}) exceeds the number of key attributes defined in the "
        f"schema ({attributes})"
    )


def range_not_equal(names: list[str], last: str) -> KeyConditionError:
    """Assumed: several names are joined by a comma and a space."""
    return KeyConditionError(
        f"RANGE key attributes {', '.join(names)} must have equality conditions specified in the query "
        f"because a condition is present on key attribute {last}"
    )


SEVERAL_CONDITIONS_PER_KEY = (
    "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"
)
SEVERAL_NAMES_IN_CONDITION = (
    "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
)
NO_KEY_IN_CONDITION = "Invalid condition in KeyConditionExpression: No key attribute specified"
TOO_MANY_CONDITIONS = "Conditions can be of length 1 or 2 only"
KEY_CONDITION_NOT_SUPPORTED = "Query key condition not supported"
NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"
KEY_TYPE_MISMATCH = (
    "One or more parameter values were invalid: Condition parameter type does not match schema type"
)


# --- Updates of an item --------------------------------------------------------------------------


class UpdateError(ValidationException):
    """An update that cannot be applied to the item."""

    code = "ValidationException"
    default_text: ClassVar[str]


class AttributeMissing(UpdateError):
    default_text = "The provided expression refers to an attribute that does not exist in the item"


class InvalidDocumentPath(UpdateError):
    default_text = "The document path provided in the update expression is invalid for update"


class IncorrectOperand(UpdateError):
    default_text = "An operand in the update expression has an incorrect data type"


class TypeMismatch(UpdateError):
    """IncorrectOperand in the legacy AttributeUpdates."""

    default_text = "Type mismatch for attribute to update"
