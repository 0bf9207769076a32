"""Plans how a statement reads: the key ranges that its WHERE clause selects.

    full key of a table by equality        one item, as GetItem reads it
    partition key by equality              ranges, as Query reads them: one for each of the conditions that OR
                                           joins, and for each value of an IN
    anything else                          the whole table or index, as Scan reads it

A range is a partition and the intersection of the conditions on the sort key. IN of one value is an equality.
A condition inside NOT, and one on another attribute, selects no range; it filters the items read.

Sources: expressions.md section 7; limits.md section 4 (50 values for a partition key); errors.md section 8.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from faradisc.language.expressions import KeyCondition
from faradisc.language.expressions import errors as expression_errors
from faradisc.language.expressions.errors import KeyConditionError
from faradisc.language.expressions.key_condition import RANGE_OPERATORS, KeyClause, KeyClauses
from faradisc.language.expressions.syntax import Condition, Junction, Negation
from faradisc.language.partiql import errors
from faradisc.language.partiql.binder import Values, spread_list
from faradisc.language.partiql.conditions import clause_of
from faradisc.language.partiql.syntax import Clause, Conjunct, Where, constant_value
from faradisc.model.values.attribute import ORDERED_TYPES, AttributeValue, Item, type_of
from faradisc.model.values.schema import KeySchema
from faradisc.records import dataclass

PARTITIONS_MAX: Final = 50
"""Values in an IN on the partition key. Assumed: the text for more is that of other operands; as many
equalities joined by OR are a Scan."""
_RANGES_MAX: Final = 5_000
"""Assumed: a WHERE clause of more ranges is a Scan; 50 partitions with 100 sort keys each are fewer."""

Selection: TypeAlias = tuple[KeyCondition, ...]
"""Key conditions of one partition: the rows that all of them select."""


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """`ranges` is None for a scan; otherwise in textual order, and empty when no item can be found."""

    ranges: tuple[Selection, ...] | None
    rest: tuple[int, ...]
    """Positions in the WHERE clause of the conjuncts that filter."""
    is_list: bool = False
    """Whether IN gives the partition key."""


def plan_of(where: Where, values: Values, schema: KeySchema) -> StatementPlan:
    """Returns the plan of a statement. Requires: one HASH attribute and at most one RANGE attribute.

    Raises: KeyConditionError for a value of the wrong type, ExpressionError for too many of them.
    """
    planner = _Planner(values, schema)
    found: list[_Alternative] | None = None
    rest = []
    for at, conjunct in enumerate(where.conjuncts):
        alternatives, exact = planner.of_conjunct(conjunct)
        if not exact:
            rest.append(at)
        if alternatives is not None:
            found = alternatives if found is None else _both(found, alternatives)
    if found is None or len(found) > _RANGES_MAX or any(not hashes for hashes, _ in found):
        return StatementPlan(None, where.others(()))
    (hash_name,) = schema.hash
    possible = [(hashes[0], sorts) for hashes, sorts in found if hashes.count(hashes[0]) == len(hashes)]
    distinct = {str(value) for value, _ in possible}
    if len(distinct) > PARTITIONS_MAX and not planner.is_list:
        return StatementPlan(None, where.others(()))
    ranges = []
    for value, sorts in possible:
        clause = KeyClause(hash_name, "=", (value,))
        alone = ({hash_name: clause},)
        by_name = [{hash_name: clause, sort.name: sort} for sort in sorts] or alone
        ranges.append(tuple([KeyClauses(clauses).resolve(schema) for clauses in by_name]))
    return StatementPlan(tuple(ranges), tuple(rest), planner.is_list)


_Alternative: TypeAlias = tuple[tuple[AttributeValue, ...], tuple[KeyClause, ...]]
"""Values of the partition key, and conditions on the sort key, that all have to hold."""


def _both(left: list[_Alternative], right: list[_Alternative]) -> list[_Alternative]:
    if len(left) * len(right) > _RANGES_MAX:
        return [((), ())] * (_RANGES_MAX + 1)
    return [(hashes + more, sorts + others) for hashes, sorts in left for more, others in right]


class _Planner:
    def __init__(self, values: Values, schema: KeySchema) -> None:
        self._values = values
        self._schema = schema
        self.is_list = False

    def of_conjunct(self, conjunct: Conjunct) -> tuple[list[_Alternative] | None, bool]:
        if conjunct.clause is not None:
            return self._of_clause(conjunct.clause)
        return self._of(conjunct.program[-1])

    def _of(self, tree: Condition) -> tuple[list[_Alternative] | None, bool]:
        """Returns the alternatives of a condition, None when it selects no range; and whether they are all of
        it."""
        if not isinstance(tree, Junction):
            clause = clause_of(tree) if not isinstance(tree, Negation) else None
            return self._of_clause(clause) if clause is not None else (None, False)
        found: list[_Alternative] | None = None
        exact = True
        free = False
        for part in tree.parts:
            alternatives, whole = self._of(part)
            exact = exact and whole
            if alternatives is None:
                free = True
            elif found is None:
                found = alternatives
            else:
                found = _both(found, alternatives) if tree.operator == "AND" else found + alternatives
        if found is not None and free and tree.operator == "OR":
            found = [*found, ((), ())]
        return found, exact

    def _of_clause(self, clause: Clause) -> tuple[list[_Alternative] | None, bool]:
        name, schema = clause.name, self._schema
        if name not in schema.types or name not in schema.names:
            return None, False
        operands = [constant_value(value, self._values) for value in clause.values]
        is_in = clause.operator in ("IN", "IN ?")
        if clause.operator == "IN ?":
            operands = spread_list(operands[0])
        for operand in operands:
            check_key_type(name, operand, schema)
        if name in schema.hash:
            if clause.operator != "=" and not is_in:
                return None, False
            if len(operands) > PARTITIONS_MAX:
                raise expression_errors.OperandCount(operator="IN", count=len(operands))
            self.is_list = self.is_list or is_in
            return [((operand,), ()) for operand in operands], True
        if is_in:
            return [((), (KeyClause(name, "=", (operand,)),)) for operand in operands], True
        return [((), (KeyClause(name, RANGE_OPERATORS[clause.operator], tuple(operands)),))], True


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


def check_key_type(name: str, value: AttributeValue, schema: KeySchema) -> None:
    """Raises KeyConditionError for a value that a key attribute cannot have."""
    if schema.types[name] in value:
        return
    kind = type_of(value)
    if kind not in ORDERED_TYPES:
        raise KeyConditionError(errors.KEY_TYPE.format(name=name, type=kind))
    raise KeyConditionError(errors.KEY_TYPE_OF_TABLE.format(name=name))


def check_key_types(key: Item, schema: KeySchema) -> None:
    """Raises KeyConditionError for the first value of a whole key that its attribute cannot have."""
    for name, value in key.items():
        check_key_type(name, value, schema)


def check_single_conditions(where: Where, schema: KeySchema) -> None:
    """Raises StatementError for a write with several conditions on a key attribute."""
    seen = set()
    for conjunct in where.conjuncts:
        clause = conjunct.clause
        if clause is not None and clause.name in schema.names:
            if clause.name in seen:
                raise errors.StatementError(errors.SEVERAL_ON_KEY.format(name=clause.name))
            seen.add(clause.name)
