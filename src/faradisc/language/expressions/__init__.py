"""The expression language: text -> tokens -> tree -> bound to a request -> applied to an item.

    lexer, syntax, connectives, parser   text to trees

    binder                               names and values of a request, reserved words
    condition, operands, predicates      ConditionExpression, FilterExpression
    key_condition                        KeyConditionExpression
    update, update_actions, path_tree    UpdateExpression
    projection, path_tree                ProjectionExpression
    clauses                              all expressions of a request, or the legacy parameters
    legacy                               Expected, AttributeUpdates, KeyConditions, filters
    errors                               one class per kind of error

Pure: no I/O, no clock. Trees are shared between requests; bound objects belong to one request.
"""

from faradisc.language.expressions.binder import Placeholders, check_placeholder_bytes, check_placeholders
from faradisc.language.expressions.condition import Condition, bind_condition
from faradisc.language.expressions.key_condition import (
    TABLE_CLAUSES_MAX,
    KeyClauses,
    KeyCondition,
    bind_key_clauses,
    bind_key_condition,
)
from faradisc.language.expressions.projection import Projection, bind_projection
from faradisc.language.expressions.update import Update, UpdateOutcome, bind_update

__all__ = [
    "TABLE_CLAUSES_MAX",
    "Condition",
    "KeyClauses",
    "KeyCondition",
    "Placeholders",
    "Projection",
    "Update",
    "UpdateOutcome",
    "bind_condition",
    "bind_key_clauses",
    "bind_key_condition",
    "bind_projection",
    "bind_update",
    "check_placeholder_bytes",
    "check_placeholders",
]
