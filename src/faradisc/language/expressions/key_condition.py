"""Key conditions: one partition, and a range of sort keys inside it.

Three steps, in the service's order of checks; the table is looked up between the last two:

1. the text is a well-formed condition, with all checks of conditions;
2. its clauses are `key operator value`, checked left to right (`bind_key_clauses`);
3. the clauses fit the key schema of the table or index (`KeyClauses.resolve`).

A key schema has 1 HASH and 0..1 RANGE attributes, or in global indexes up to 4 and 4: every HASH
attribute needs `=`; RANGE attributes are constrained left to right without a gap, all but the last
with `=`.

Sources: expressions.md section 3, errors.md section 6.5, new-features.md section 10.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from faradisc.language.expressions import errors
from faradisc.language.expressions.binder import BoundCache, Placeholders, key_of
from faradisc.language.expressions.condition import check_predicate
from faradisc.language.expressions.errors import ExpressionError, KeyConditionError
from faradisc.language.expressions.operands import TYPE_CHECKS
from faradisc.language.expressions.parser import parse_condition
from faradisc.language.expressions.syntax import (
    Condition,
    FunctionCall,
    Junction,
    Negation,
    Path,
    Predicate,
    ValueRef,
)
from faradisc.limits import GSI_HASH_ATTRIBUTES_MAX, GSI_RANGE_ATTRIBUTES_MAX
from faradisc.model.values.attribute import AttributeValue
from faradisc.model.values.schema import KeySchema
from faradisc.records import dataclass

RangeOperator: TypeAlias = Literal["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]
RANGE_OPERATORS: Final[dict[str, RangeOperator]] = {each: each for each in get_args(RangeOperator)}
MIRRORED: Final[dict[str, RangeOperator]] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparators with their operands exchanged."""

TABLE_CLAUSES_MAX: Final = 2
INDEX_CLAUSES_MAX: Final = GSI_HASH_ATTRIBUTES_MAX + GSI_RANGE_ATTRIBUTES_MAX


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """A partition and a range of sort keys, with values of the schema's types."""

    hash_values: tuple[AttributeValue, ...]
    """One value per HASH attribute, in schema order."""
    range_equal: tuple[AttributeValue, ...]
    """Values of the RANGE attributes constrained by `=`, but for the last constrained one."""
    operator: RangeOperator | None
    """The test of the last constrained RANGE attribute; None when there is none."""
    operands: tuple[AttributeValue, ...]
    """Two for BETWEEN, one for the other operators."""


@dataclass(frozen=True, slots=True)
class KeyClause:
    """`name operator operands`. The operator is None when no index can serve it (legacy only)."""

    name: str
    operator: RangeOperator | None
    operands: tuple[AttributeValue, ...]


@dataclass(frozen=True, slots=True)
class KeyClauses:
    """The clauses of a key condition, before they are checked against a key schema."""

    by_name: dict[str, KeyClause]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.by_name)

    def resolve(self, schema: KeySchema) -> KeyCondition:
        """Returns the condition on the key schema of a table or index. Raises KeyConditionError."""
        clauses = self.by_name
        if len(clauses) > len(schema.names):
            raise errors.too_many_conditions(len(clauses), len(schema.names))
        hash_values = []
        for name in schema.hash:
            clause = clauses.get(name)
            if clause is None:
                raise errors.key_element_missed(name)
            _check_clause(clause, schema)
            if clause.operator != "=":
                raise _hash_not_equal(schema)
            hash_values.append(clause.operands[0])
        return self._with_range(tuple(hash_values), schema)

    def _with_range(self, hash_values: tuple[AttributeValue, ...], schema: KeySchema) -> KeyCondition:
        given = [name for name in schema.range if name in self.by_name]
        if len(given) + len(hash_values) < len(self.by_name):
            raise errors.key_element_missed(next(name for name in schema.range if name not in given))
        if not given:
            return KeyCondition(hash_values, (), None, ())
        *before, last = schema.range[: schema.range.index(given[-1]) + 1]
        for name in given:
            _check_clause(self.by_name[name], schema)
        unequal = [name for name in before if name not in self.by_name or self.by_name[name].operator != "="]
        if unequal:
            raise errors.range_not_equal(unequal, last)
        clause = self.by_name[last]
        range_equal = tuple(self.by_name[name].operands[0] for name in before)
        return KeyCondition(hash_values, range_equal, clause.operator, clause.operands)


def _check_clause(clause: KeyClause, schema: KeySchema) -> None:
    if clause.operator is None:
        raise KeyConditionError(errors.NOT_INDEXABLE)
    expected = schema.types[clause.name]
    for operand in clause.operands:
        if expected not in operand:
            raise KeyConditionError(errors.KEY_TYPE_MISMATCH)


def _hash_not_equal(schema: KeySchema) -> KeyConditionError:
    if len(schema.hash) == 1 and len(schema.range) <= 1:
        return KeyConditionError(errors.KEY_CONDITION_NOT_SUPPORTED)
    # Assumed: no capture; the service's texts mention HASH and equality (errors.md section 10).
    return KeyConditionError(
        f"{errors.KEY_CONDITION_NOT_SUPPORTED}: every HASH key attribute must have an equality condition"
    )


def bind_key_condition(text: str, placeholders: Placeholders, schema: KeySchema) -> KeyCondition:
    """Runs all three steps, for callers that know the schema."""
    return bind_key_clauses(text, placeholders).resolve(schema)


def bind_key_clauses(text: str, placeholders: Placeholders) -> KeyClauses:
    """Parses (cached) a KeyConditionExpression and binds its clauses.

    Raises: ExpressionError, its text prefixed with "Invalid KeyConditionExpression: ", for the first clause
    that has an error; or KeyConditionError for a condition that is no conjunction of key clauses.
    """
    try:
        parsed = parse_condition(text)
        placeholders.mark_used(parsed.refs)
        key = key_of(text, parsed.name_refs, placeholders.names)
        forms = _forms.get(key) if key is not None else None
        if forms is not None:
            try:
                return KeyClauses({form.name: form.filled(placeholders) for form in forms})
            except ExpressionError:
                pass  # the checks of the whole text find the first error
        for each in parsed.program:
            if type(each) is Predicate:
                check_predicate(each, placeholders)
    except ExpressionError as error:
        raise error.within("KeyConditionExpression") from None
    found: dict[str, _Form] = {}
    waiting: list[Condition] = [parsed.root]
    while waiting:
        node = waiting.pop()
        if type(node) is Junction and node.operator == "AND":
            waiting.extend(reversed(node.parts))
            continue
        form = _form_of(node, placeholders)
        if form.name in found:
            raise KeyConditionError(errors.SEVERAL_CONDITIONS_PER_KEY)
        found[form.name] = form
    if key is not None:
        _forms.put(key, tuple(found.values()))
    return KeyClauses({name: form.filled(placeholders) for name, form in found.items()})


class _Form(NamedTuple):
    """A clause without its values, which are those of `refs`."""

    name: str
    operator: RangeOperator
    refs: tuple[str, ...]

    def filled(self, placeholders: Placeholders) -> KeyClause:
        """Raises ExpressionError."""
        values = [placeholders.value(ref) for ref in self.refs]
        check_types = TYPE_CHECKS.get(self.operator)
        if check_types is not None:
            check_types(self.operator, [(self.name,), *values])
        return KeyClause(self.name, self.operator, tuple(values))


_forms: BoundCache[tuple[_Form, ...]] = BoundCache()


def _form_of(node: Condition, placeholders: Placeholders) -> _Form:
    if isinstance(node, Junction):
        raise errors.invalid_key_operator("OR")
    if isinstance(node, Negation):
        raise errors.invalid_key_operator("NOT")
    operator = node.operator
    if operator not in RANGE_OPERATORS:
        raise errors.invalid_key_operator(operator)
    if operator in ("BETWEEN", "begins_with") and type(node.operands[0]) is not Path:
        raise errors.key_not_first(operator)
    key_index = _key_index(node)
    key = node.operands[key_index]
    assert isinstance(key, Path)
    name = placeholders.path(key)[0]
    assert isinstance(name, str)
    refs = tuple(operand.name for operand in node.operands if isinstance(operand, ValueRef))
    return _Form(name, (MIRRORED if key_index else RANGE_OPERATORS)[operator], refs)


def _key_index(node: Predicate) -> int:
    """Returns the position of the one key attribute among the operands. Raises KeyConditionError."""
    found: int | None = None
    for index, operand in enumerate(node.operands):
        if isinstance(operand, Path):
            if found is not None:
                raise KeyConditionError(errors.SEVERAL_NAMES_IN_CONDITION)
            if len(operand.steps) > 1:
                raise KeyConditionError(errors.NESTED_KEY_ATTRIBUTE)
            found = index
        elif isinstance(operand, FunctionCall):
            raise KeyConditionError(errors.NESTED_KEY_OPERATION)
    if found is None:
        raise KeyConditionError(errors.NO_KEY_IN_CONDITION)
    return found
