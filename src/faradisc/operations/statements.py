"""What the three PartiQL operations share: preparing a statement, and its writes.

Order of checks: nesting of parameters -> well-formed text, numbers -> an index with keys of several
attributes -> unsupported features -> parameters -> conditions and updates -> table -> index -> keys. The
third check uses the table before it may be missing (new-features.md section 10), so a missing table is
reported later than it is looked up.

A write is a `Change`. The WHERE clause without the key becomes its condition:

    INSERT    the item is absent, else DuplicateItemException
    UPDATE    the item exists and the rest holds: no upsert
    DELETE    the item is absent, or the rest holds

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from faradisc.engine.tables.change import (
    PUT_TOO_LARGE,
    UPDATE_TOO_LARGE,
    Change,
    ConditionFailed,
    Image,
    Outcome,
    keep,
)
from faradisc.engine.tables.keys import check_key
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import apply_change
from faradisc.errors import (
    EMPTY_NAME,
    DuplicateItemException,
    ModelledError,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.language.expressions import Condition
from faradisc.language.expressions import Update as BoundUpdate
from faradisc.language.expressions.errors import KeyConditionError
from faradisc.language.expressions.syntax import Constant, ValueRef
from faradisc.language.partiql import errors
from faradisc.language.partiql.binder import Conditions, Values, bind_update, fill_item, fill_templates, fits
from faradisc.language.partiql.columns import Columns
from faradisc.language.partiql.parser import parse_statement
from faradisc.language.partiql.planner import check_key_types, check_single_conditions, complete_key, plan_of
from faradisc.language.partiql.syntax import (
    Delete,
    Exists,
    Insert,
    Returning,
    Select,
    Statement,
    UpdateStatement,
    constant_value,
)
from faradisc.limits import NESTING_LEVELS_MAX
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.checks import NESTED_CONTAINERS_MAX, NESTING_EXCEEDED, check_value
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.item_writes import check_put_keys
from faradisc.operations.statement_ranges import key_ranges_of
from faradisc.operations.update_item import UpdateStep, returned
from faradisc.records import dataclass


@dataclass(slots=True)
class BoundStatement:
    """A statement with its parameters, after the checks that need no table."""

    statement: Statement
    parameters: list[AttributeValue]
    values: Values
    conditions: Conditions
    update: BoundUpdate | None
    item: Item | None
    """Of an INSERT."""
    columns: Columns | None
    """Of a SELECT with a list."""
    _table: Table | None

    @property
    def table_name(self) -> str:
        return self.statement.source.table

    @property
    def table(self) -> Table:
        """Raises ResourceNotFoundException."""
        if self._table is None:
            raise ResourceNotFoundException
        return self._table

    @property
    def is_of_missing_table(self) -> bool:
        return self._table is None

    def one_item(self) -> tuple[Item, Condition | None] | None:
        """Returns the key that the WHERE clause fixes by equality, and the rest of it; None without such a
        key.

        The values may still have the wrong type.
        """
        found = complete_key(self.statement.where, self.values, self.table.key)
        if found is None:
            return None
        key, rest = found
        return key, self.conditions.of(rest)

    def read_key(self, *, alone: bool = True) -> Item | None:
        """Returns the key of a SELECT among other statements; None unless its conditions are exactly a key.

        alone: as in `write_of`. Raises ValidationException for key ranges that overlap.
        """
        where, table = self.statement.where, self.table
        if self.statement.source.index is not None:
            return None
        found = complete_key(where, self.values, table.key)
        if found is not None and not found[1]:
            if alone:
                check_key_types(found[0], table.key)
            return found[0]
        key_ranges_of(table.placement, plan_of(where, self.values, table.key).ranges or ())
        return None


def prepare(backend: Backend, call: Call, request: Mapping[str, Any]) -> BoundStatement:
    """Prepares one statement of a request. Raises ValidationException."""
    parameters: list[AttributeValue] = request.get("Parameters", [])
    check_parameters(call, request)
    statement = parse_statement(request["Statement"])
    table = _find_table(backend, call, statement)
    if statement.unsupported is not None:
        raise errors.StatementError(statement.unsupported)
    if not call.values_ok:
        for parameter in parameters:
            check_value(parameter, call.wording, NESTING_LEVELS_MAX)
    if len(parameters) > statement.parameters and call.operation != "ExecuteStatement":
        raise errors.StatementError(errors.PARAMETER_COUNT)
    body = statement.body
    values = fill_templates(statement, parameters)
    prepared = BoundStatement(
        statement, parameters, values, Conditions(statement.where, values), None, None, None, table
    )
    if isinstance(body, UpdateStatement):
        prepared.update = bind_update(body, values)
    elif isinstance(body, Insert):
        item = fill_item(body.item, parameters)
        if "M" not in item:
            raise errors.malformed(errors.UNEXPECTED_TERM)
        prepared.item = item["M"]
    elif isinstance(body, Select) and body.paths is not None:
        prepared.columns = Columns(body.paths)
    return prepared


def check_parameters(call: Call, request: Mapping[str, Any]) -> None:
    """Raises ValidationException for a parameter that is nested too deep or has an empty name.

    It comes before the statement is read (errors.md section 8).
    """
    for parameter in request.get("Parameters", ()):
        if "M" not in parameter and "L" not in parameter:
            continue
        if not (call.values_ok or fits(parameter, NESTING_LEVELS_MAX)):
            raise ValidationException(NESTING_EXCEEDED)
        if _has_empty_name(parameter):
            raise ValidationException(EMPTY_NAME)


def _has_empty_name(value: AttributeValue) -> bool:
    members = value.get("M")
    if members is None:
        return any(_has_empty_name(member) for member in value.get("L", ()))
    return "" in members or any(_has_empty_name(member) for member in members.values())


def _find_table(backend: Backend, call: Call, statement: Statement) -> Table | None:
    """Returns the table, if it exists. Raises StatementError for an index that statements cannot use."""
    source = statement.source
    try:
        table = backend.table_for_data(call, source.table)
    except ResourceNotFoundException:
        return None
    index = table.index(source.index) if source.index is not None else None
    if index is not None and (len(index.schema.key.hash) > 1 or len(index.schema.key.range) > 1):
        raise errors.StatementError(errors.MULTI_ATTRIBUTE_KEYS)
    return table


# --- Writes --------------------------------------------------------------------------------------


_ABSENT = Condition(lambda item: not item)
_PRESENT = Condition(bool)


def _present_and(condition: Condition | None) -> Condition:
    if condition is None:
        return _PRESENT
    matches = condition.matches
    return Condition(lambda item: bool(item) and matches(item))


def _absent_or(condition: Condition | None) -> Condition | None:
    if condition is None:
        return None
    matches = condition.matches
    return Condition(lambda item: not item or matches(item))


@dataclass(slots=True)
class Write:
    """A write statement with the change that it makes."""

    change: Change
    inserts: bool = False
    returning: Returning | None = None
    step: UpdateStep | None = None

    def failure(self, failed: ConditionFailed, *, with_item: bool) -> ModelledError:
        """Returns the error for a false condition; that of an INSERT never has the item."""
        if self.inserts:
            return DuplicateItemException()
        return failed.as_api_error(with_item=with_item)

    def returned(self, outcome: Outcome) -> Any:
        """Returns the item that RETURNING asks for; None if there is none."""
        if self.returning is None:
            return None
        mode = ("ALL" if self.returning.whole else "UPDATED") + ("_NEW" if self.returning.new else "_OLD")
        return returned(mode, self.step, outcome)


def write_of(prepared: BoundStatement, *, alone: bool = True) -> Write:
    """Returns the change that a write statement makes. Raises ApiError.

    alone: not in a transaction, which has other words for key values of a wrong type.
    """
    body, table = prepared.statement.body, prepared.table
    if isinstance(body, Insert):
        item = prepared.item
        assert item is not None
        for name in table.key.names if alone else ():
            if name in item and table.key.types[name] not in item[name]:
                raise KeyConditionError(errors.KEY_TYPE_OF_TABLE.format(name=name))
        check_put_keys(item, table)
        new = partial(_stored, lambda _: item) if _is_deep(item.values()) else item
        return Write(
            Change(table, item, new, _ABSENT, too_large=PUT_TOO_LARGE, in_insights=False), inserts=True
        )
    check_single_conditions(prepared.statement.where, table.key)
    found = prepared.one_item()
    if found is None:
        raise errors.StatementError(errors.NO_KEY_EQUALITY)
    key, rest = found
    if alone:
        check_key_types(key, table.key)
    check_key(key, table.key)
    if isinstance(body, UpdateStatement):
        step = UpdateStep(table, key, prepared.update)
        given = [action.operand for action in body.actions if isinstance(action.operand, Constant | ValueRef)]
        values = [constant_value(operand, prepared.values) for operand in given]
        change = Change(
            table,
            key,
            partial(_stored, step) if _is_deep(values) else step,
            _present_and(rest),
            too_large=UPDATE_TOO_LARGE,
            written=step.written,
            in_insights=False,
        )
        return Write(change, returning=body.returning, step=step)
    if isinstance(body, Delete):
        return Write(Change(table, key, None, _absent_or(rest), in_insights=False), returning=body.returning)
    return Write(Change(table, key, keep, _present_and(rest), in_insights=False))


def _is_deep(values: Iterable[AttributeValue]) -> bool:
    return not all(fits(value, NESTED_CONTAINERS_MAX) for value in values)


def _stored(step: Callable[[Image], Item | None], image: Image) -> Item | None:
    """Returns the item that a step makes. Raises StatementError if it has values nested too deep."""
    item = step(image)
    if item is not None and _is_deep(item.values()):
        raise errors.StatementError(errors.NESTING_EXCEEDED)
    return item


async def apply_write(backend: Backend, write: Write) -> Outcome:
    """Makes a single write durable. Raises ConditionFailed, and what `apply_change` raises."""
    if backend.conflicts is not None:
        backend.conflicts.check_write()
    return await apply_change(backend.store, write.change)


def reject_exists(prepared: BoundStatement) -> None:
    """Raises StatementError for EXISTS, which only transactions allow."""
    if isinstance(prepared.statement.body, Exists):
        raise errors.StatementError(errors.EXISTS_OUTSIDE)
