"""Errors of statements, in the service's texts.

A text that cannot be parsed is answered with "Statement wasn't well formed, can't be processed: <detail>",
without a position. A statement that is parsed and cannot be executed has a text of its own, most of them
ending in `at <line>:<column>:<length>`.

Source: errors.md section 8. Texts that it does not have are marked `Assumed:`.
"""

from __future__ import annotations

from faradisc.errors import ValidationException
from faradisc.model.values import number
from faradisc.model.values.checks import Wording, number_message


class StatementError(ValidationException):
    """A statement that cannot be executed on any item."""

    code = "ValidationException"


def malformed(detail: str) -> StatementError:
    return StatementError(f"Statement wasn't well formed, can't be processed: {detail}")


# --- Details of texts that are not well formed ---------------------------------------------------

UNREADABLE = ""
"""No sequence of tokens: an exponent that cannot be read, `#`, an open comment, string or Ion literal."""
NO_CHANGE = "Expected data manipulation"
TRAILING_TOKENS = "Unexpected token after expression"
SECOND_STATEMENT = "Unexpected token after semicolon. (Only one query is allowed.)"
UNEXPECTED_TERM = "Unexpected term"
UNEXPECTED_KEYWORD = "Unexpected keyword"
UNEXPECTED_OPERATOR = "Unexpected operator"
PATH_COMPONENT = "Invalid path dot component"
STAR_IS_NOT_ALONE = (
    "Other expressions may not be present in the select list when '*' is used without dot notation."
)


# --- Texts of statements that cannot be executed -------------------------------------------------

ALIASING = "Aliasing is not supported"
NO_SOURCE = "Only select from a single table or index is supported."
EXISTS_OUTSIDE = "EXISTS can only be used in ExecuteTransaction write requests."
EMPTY_NAME = "Path component cannot be an empty string"
MISSING_COMPARED = "MISSING must be compared using IS operator"
NESTING_EXCEEDED = "Nesting Levels have exceeded supported limits"
NO_KEY_EQUALITY = "Where clause does not contain a mandatory equality on all key attributes"
EMPTY_BAG = "Empty bags are not supported"
ON_AN_INDEX = "This operation is not supported on an index"
NO_SUCH_INDEX = "The table does not have the specified index"
CONSISTENT_GLOBAL = "Strongly consistent read is not supported on Global Secondary Indexes"
MULTI_ATTRIBUTE_KEYS = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys "
    "or multi-attribute RANGE keys."
)
TOKEN_MISMATCH = "NextToken does not match request"
TOKEN_INVALID = "Invalid NextToken"
PARAMETER_COUNT = "Number of parameters in request and statement don't match."
ORDER_WITHOUT_WHERE = "Must have WHERE clause in the statement when using ORDER BY clause."
ORDER_WITHOUT_KEY = (
    "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
)
ORDER_WITHOUT_HASH = (
    "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
)
OVERLAPPING = "Overlapping conditions with range keys are not supported in where clause"

# Templates. {at} is a location, {name} the word, function or operator there.

UNEXPECTED_COMPONENT = "Unexpected path component at {at}"
UNRECOGNIZED_FUNCTION = "Unrecognized function: {name} at {at}"
UNSUPPORTED_VALUE = "Unsupported data type: {name} under key {root} at {at}"
"""An expression in place of a literal or a parameter."""
UNSUPPORTED_CLAUSE = "Unsupported clause: {name} at {at}"
"""Assumed: as clients report it for LIMIT."""
UNSUPPORTED_OPERATOR = "Unsupported operator: {name} at {at}"
"""Assumed: all but `+` and `-` in SET."""
UNSUPPORTED_IN_CONDITION = "Unsupported operator in Condition Expression. Operator: {name}"
UNSUPPORTED_OPERATION = "Unsupported operation: {name}"
"""An expression that is a whole statement."""
UNSUPPORTED_TOKEN = "Unsupported token in expression: {name} at {at}"
UNSUPPORTED_TYPE = (
    "Unsupported data type for IS operator: {name}Type. Supported data types are "
    "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at {at}"
)
ION_LITERAL = "Ion Literals are not supported: {name} under key {root} at {at}"
RESERVED_COLUMN = (
    "Expected identifier or an expression but found unexpected keyword '{word}' in a select list."
)
UNEXPECTED_SOURCE = "Unexpected from source at {at}"
"""Assumed: as clients report it for FROM clauses that are no table or index name."""
SINGLE_TABLE_ONLY = "FROM clause may only contain a single table name in data manipulation statements at {at}"
"""INSERT INTO an index, as a peer that was built from recordings answers; UPDATE and DELETE answer
ON_AN_INDEX (errors.md section 8)."""
SET_FUNCTION_FIRST = "The first argument to {name} must equal the assignment value at {at}"
SET_FUNCTION_SECOND = "The second argument to {name} must be a value with type SET at {at}"
SET_FUNCTION_ARITY = "{name} must have exactly two arguments at {at}"
MIXED_BAG = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
_INVALID = "One or more parameter values were invalid: "
NULL_IN_BAG = _INVALID + "Numeric sets may not contain null under {root}"
DUPLICATE_NUMBERS = _INVALID + "Input collection [{members}] contains duplicates! under {root}"
DUPLICATE_STRINGS = _INVALID + "Input collection [{members}] contains duplicates."
RETURNING_IN_DELETE = (
    "Invalid returning clause: RETURNING {name} *. Only RETURNING ALL OLD * is allowed in DELETE statements."
)
ORDER_BY_OTHER = "Attribute {name} in ORDER BY clause must be part of the primary key"
ORDER_BY_TYPE = "Argument to ORDER BY must be of type VariableReference. Type: {name} at {at}"
KEY_TYPE = "Key value must be of type S, N, or B. Key name: {name}, Key type: {type}"
KEY_TYPE_OF_TABLE = "Key attribute's data type should match its data type in table's schema: Key {name}"
SEVERAL_ON_KEY = "Multiple conditions on same key {name}. Only single item Update/Insert/Delete are supported"


def bad_number(error: number.NumberError, text: str, root: str) -> StatementError:
    return StatementError(f"{number_message(error, text, Wording.OLD)} under {root}")


# --- In batches and transactions -----------------------------------------------------------------

BATCH_SELECT_WITHOUT_KEY = (
    "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
)
BATCH_MIXED = "Read and write requests together in the same batch is not supported."
TRANSACTION_MIXED = (
    "ExecuteTransaction API does not support both read and write operations in the same request."
)
TRANSACTION_SELECT_WITHOUT_KEY = (
    "Select statements within ExecuteTransaction must specify the primary key in the where clause."
)
TRANSACTION_EXISTS = "EXISTS() must contain a single item read with additional condition"
TRANSACTION_RETURNING = "RETURNING clause is not supported in ExecuteTransaction."
TRANSACTION_INDEX = "Reads on indices are not supported within transactions."


def in_transaction(index: int, text: str) -> StatementError:
    """`index` counts from 0."""
    return StatementError(f"Validation failed in TransactStatements[{index}]: {text}")
