"""Which items a WHERE clause can be about: one key, a range in some partitions, or any.

    full key of a table by equality        one item, as GetItem reads it
    partition key by equality              one partition, as Query reads it
    partition key by IN, or by
      `key = a OR key = b ...`             several partitions, one Query after another
    anything else                          everything, as Scan reads it

Inside a partition the first condition on the sort key that a Query could take narrows what is read; an
equality is preferred. All other conditions filter what was read.

Only conditions that AND joins at the top count. Sources: expressions.md section 7; limits.md section 4
(50 values for a partition key); the developer guide's list of statements that do not scan has OR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from faradisc.expressions import KeyCondition
from faradisc.expressions import faults as expression_faults
from faradisc.expressions.key_condition import KeyClause, KeyClauses, RangeOperator
from faradisc.partiql.binder import Values, spread_list
from faradisc.partiql.syntax import Clause, Where, constant_value
from faradisc.values.attribute import AttributeValue, Item
from faradisc.values.schema import KeySchema

PARTITIONS_MAX: Final = 50
"""Values in an IN on the partition key. Assumed: the text for more is that of other IN lists; as many
equalities joined by OR are a Scan."""

_SEVERAL = frozenset({"IN", "IN ?", "EITHER"})


@dataclass(frozen=True, slots=True)
class Plan:
    """`conditions` is None for a scan; one element per partition otherwise, in textual order."""

    conditions: tuple[KeyCondition, ...] | None
    rest: tuple[int, ...]
    """Positions in the WHERE clause of what still has to be tested."""
    is_list: bool = False
    """The partition key was given by IN."""

    def key_of(self, schema: KeySchema) -> Item | None:
        """The one key the plan reads, if it is one, whole, and given by equality."""
        if self.conditions is None or len(self.conditions) != 1 or self.is_list:
            return None
        (condition,) = self.conditions
        if schema.range and condition.operator != "=":
            return None
        return dict(zip(schema.names, condition.hash_values + condition.operands, strict=True))


def plan_of(where: Where, values: Values, schema: KeySchema) -> Plan:
    """Requires: one HASH attribute and at most one RANGE attribute.

    Raises: KeyConditionError for a value of the wrong type, ExpressionError for too many of them.
    """
    (hash_name,) = schema.hash
    hash_at = _find(where, hash_name, ("=",), _SEVERAL)
    if hash_at is None:
        return Plan(None, tuple(range(len(where))))
    range_at: int | None = None
    clauses: dict[str, KeyClause] = {}
    if schema.range:
        range_name = schema.range[0]
        range_at = _find(where, range_name, ("=",), ("<", "<=", ">", ">=", "BETWEEN", "begins_with"))
        if range_at is not None:
            clauses[range_name] = _key_clause(_clause(where, range_at), values)
    hash_clause = _clause(where, hash_at)
    partitions = _options(hash_clause, values)
    if len(partitions) > PARTITIONS_MAX:
        return Plan(None, tuple(range(len(where))))
    conditions = []
    for value in partitions:
        clauses[hash_name] = KeyClause(hash_name, "=", (value,))
        conditions.append(KeyClauses(clauses).resolve(schema))
    rest = tuple(at for at in range(len(where)) if at not in (hash_at, range_at))
    return Plan(tuple(conditions), rest, hash_clause.operator in ("IN", "IN ?"))


def complete_key(where: Where, values: Values, schema: KeySchema) -> tuple[Item, tuple[int, ...]] | None:
    """The key that equalities fix, values of whatever type, and the positions of all other conditions."""
    found = {name: _find(where, name, ("=",), ()) for name in schema.names}
    key: Item = {}
    for name, at in found.items():
        if at is None:
            return None
        key[name] = constant_value(_clause(where, at).values[0], values)
    return key, tuple(at for at in range(len(where)) if at not in found.values())


def _find(where: Where, name: str, first: Sequence[str], then: Sequence[str] | frozenset[str]) -> int | None:
    """The first condition on an attribute with one of the operators; those of `first` before others."""
    for operators in (first, then):
        for at, conjunct in enumerate(where):
            clause = conjunct.clause
            if clause is not None and clause.name == name and clause.operator in operators:
                return at
    return None


def _clause(where: Where, at: int) -> Clause:
    clause = where[at].clause
    assert clause is not None
    return clause


def _options(clause: Clause, values: Values) -> list[AttributeValue]:
    """The distinct values a clause on the partition key allows."""
    options = [constant_value(value, values) for value in clause.values]
    if clause.operator == "IN ?":
        options = spread_list(options[0])
    if clause.operator in ("IN", "IN ?") and len(options) > PARTITIONS_MAX:
        raise expression_faults.OperandCount(operator="IN", count=len(options))
    return [option for at, option in enumerate(options) if option not in options[:at]]


_RANGE_OPERATORS: dict[str, RangeOperator] = {
    "=": "=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "BETWEEN": "BETWEEN",
    "begins_with": "begins_with",
}


def _key_clause(clause: Clause, values: Values) -> KeyClause:
    operands = tuple([constant_value(value, values) for value in clause.values])
    return KeyClause(clause.name, _RANGE_OPERATORS[clause.operator], operands)
