"""The expression language: text -> tokens -> tree -> bound to a request -> an answer about an item.

    lexer, syntax, parser           text to trees, cached per distinct text
    binder                          names and values of a request, reserved words
    condition, predicates           ConditionExpression, FilterExpression
    key_condition                   KeyConditionExpression
    update, projection, path_tree   UpdateExpression, ProjectionExpression
    legacy                          Expected, AttributeUpdates, KeyConditions, filters -> the same trees
    faults                          what an expression can be refused for

Pure: no I/O, no clock. Text and trees are shared between requests, bound objects belong to one.
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
from faradisc.language.expressions.legacy import check_mixed, check_placeholders_wanted
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
    "check_mixed",
    "check_placeholder_bytes",
    "check_placeholders",
    "check_placeholders_wanted",
]
