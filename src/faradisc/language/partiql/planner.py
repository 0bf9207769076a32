"""Plans how a statement reads: the keys that its WHERE clause fixes.

    full key of a table by equality        one item, as GetItem reads it
    partition key by equality              one partition, as Query reads it
    partition key by IN, or by
      `key = a OR key = b ...`             several partitions, one Query after another
    anything else                          the whole table or index, as Scan reads it

Inside a partition, the first condition on the sort key that a Query accepts limits the range that is read; an
equality is preferred. All other conditions filter the items read.

Only conditions that AND joins at the top count. Sources: expressions.md section 7; limits.md section 4
(50 values for a partition key); the developer guide's list of statements that do not scan has OR.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from faradisc.language.expressions import KeyCondition
from faradisc.language.expressions import errors as expression_errors
from faradisc.language.expressions.errors import KEY_TYPE_MISMATCH, KeyConditionError
from faradisc.language.expressions.key_condition import RANGE_OPERATORS, KeyClause, KeyClauses
from faradisc.language.partiql.binder import Values, spread_list
from faradisc.language.partiql.syntax import Clause, Where, constant_value
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.schema import KeySchema

PARTITIONS_MAX: Final = 50
"""Values in an IN on the partition key. Assumed: the text for more is that of other IN lists; as many
equalities joined by OR are a Scan."""

_SEVERAL = frozenset({"IN", "IN ?", "EITHER"})


@dataclass(frozen=True, slots=True)
class Plan:
    """`conditions` is None for a scan; one element per partition otherwise, in textual order."""

    conditions: tuple[KeyCondition, ...] | None
    rest: tuple[int, ...]
    """Positions in the WHERE clause of the conjuncts that filter."""
    is_list: bool = False
    """Whether IN gives the partition key."""


def plan_of(where: Where, values: Values, schema: KeySchema) -> Plan:
    """Returns the plan of a statement. Requires: one HASH attribute and at most one RANGE attribute.

    Raises: KeyConditionError for a value of the wrong type, ExpressionError for too many of them.
    """
    (hash_name,) = schema.hash
    hash_at = _find(where, hash_name, _SEVERAL)
    partitions = _options(where.clause(hash_at), values) if hash_at is not None else []
    if hash_at is None or len(partitions) > PARTITIONS_MAX:
        return Plan(None, where.others(()))
    range_at: int | None = None
    clauses: dict[str, KeyClause] = {}
    for range_name in schema.range:
        range_at = _find(where, range_name, RANGE_OPERATORS)
        if range_at is not None:
            clauses[range_name] = _key_clause(where.clause(range_at), values)
    conditions = []
    for value in partitions:
        clauses[hash_name] = KeyClause(hash_name, "=", (value,))
        conditions.append(KeyClauses(clauses).resolve(schema))
    is_list = where.clause(hash_at).operator in ("IN", "IN ?")
    return Plan(tuple(conditions), where.others((hash_at, range_at)), is_list)


def complete_key(where: Where, values: Values, schema: KeySchema) -> tuple[Item, tuple[int, ...]] | None:
    """Returns the key that equalities fix, with values of any type, and the positions of all other conjuncts.

    None when they do not fix every key attribute.
    """
    positions = []
    key: Item = {}
    for name in schema.names:
        at = where.equalities.get(name)
        if at is None:
            return None
        positions.append(at)
        key[name] = constant_value(where.clause(at).values[0], values)
    return key, where.others(positions)


def check_key_types(key: Item, schema: KeySchema) -> None:
    """Raises KeyConditionError for a key of the wrong type, as Query does."""
    for name, value in key.items():
        if schema.types[name] not in value:
            raise KeyConditionError(KEY_TYPE_MISMATCH)


def _find(where: Where, name: str, operators: Collection[str]) -> int | None:
    """Returns the first condition on an attribute with one of the operators; equalities come first."""
    at = where.equalities.get(name)
    if at is not None:
        return at
    for at in where.to_check:
        clause = where.conjuncts[at].clause
        if clause is not None and clause.name == name and clause.operator in operators:
            return at
    return None


def _options(clause: Clause, values: Values) -> list[AttributeValue]:
    """Returns the distinct values that a clause on the partition key allows."""
    options = [constant_value(value, values) for value in clause.values]
    if clause.operator == "IN ?":
        options = spread_list(options[0])
    if clause.operator in ("IN", "IN ?") and len(options) > PARTITIONS_MAX:
        raise expression_errors.OperandCount(operator="IN", count=len(options))
    return [option for at, option in enumerate(options) if option not in options[:at]]


def _key_clause(clause: Clause, values: Values) -> KeyClause:
    operands = tuple([constant_value(value, values) for value in clause.values])
    return KeyClause(clause.name, RANGE_OPERATORS[clause.operator], operands)
