"""ExecuteTransaction: up to 100 PartiQL statements, all or none.

All are reads, answered as of one moment; or all are writes, EXISTS checks among them, which become one
transaction like that of TransactWriteItems: conditions, reasons, idempotency token.

Checks: per statement those of statements.py, RETURNING, index, keys, EXISTS -> reads and writes mixed ->
tables -> key values -> no item twice -> token -> (in the transaction) conditions, updates, sizes. Source:
expressions.md section 7, errors.md sections 6.8 and 8.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.change import PUT_TOO_LARGE, is_too_large
from faradisc.engine.tables.keys import has_empty_key
from faradisc.engine.tables.reads import shape_items
from faradisc.engine.transactions.reading import read_items
from faradisc.engine.transactions.writing import (
    DUPLICATE_TARGET,
    TOO_LARGE,
    Action,
)
from faradisc.errors import ValidationException
from faradisc.language.expressions import Condition
from faradisc.language.partiql import errors
from faradisc.language.partiql.syntax import Delete, Exists, Insert, Update
from faradisc.limits import TRANSACTION_BYTES_MAX
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size, value_size
from faradisc.operations.call import Backend, Call
from faradisc.operations.statements import Prepared, prepare, write_of
from faradisc.operations.transact_get_items import report_reads
from faradisc.operations.transact_write_items import write_transaction


async def execute_transaction(backend: Backend, call: Call) -> dict[str, Any]:
    requests = call.request["TransactStatements"]
    statements = [prepare(backend, call, request) for request in requests]
    for at, prepared in enumerate(statements):
        _check_statement(at, prepared)
    reading = [prepared.statement.reads for prepared in statements]
    if any(reading) and not all(reading):
        raise errors.StatementError(errors.TRANSACTION_MIXED)
    for prepared in statements:
        _ = prepared.table
    if all(reading):
        return await _read(backend, call, statements)
    return await _write(backend, call, statements)


def _check_statement(at: int, prepared: Prepared) -> None:
    """Raises StatementError for a statement that a transaction cannot contain."""
    statement = prepared.statement
    body = statement.body
    if isinstance(body, Update | Delete) and body.returning is not None:
        raise errors.in_transaction(at, errors.TRANSACTION_RETURNING)
    if statement.source.index is not None:
        raise errors.in_transaction(at, errors.TRANSACTION_INDEX)


# --- Reads ---------------------------------------------------------------------------------------


async def _read(backend: Backend, call: Call, statements: list[Prepared]) -> dict[str, Any]:
    keys: list[Item] = []
    conditions: list[Condition | None] = []
    for at, prepared in enumerate(statements):
        one = prepared.read_item()
        if one is None:
            raise errors.in_transaction(at, errors.TRANSACTION_SELECT_WITHOUT_KEY)
        keys.append(one[0])
        conditions.append(one[1])
    targets = [(prepared.table, key) for prepared, key in zip(statements, keys, strict=True)]
    found = await read_items(backend.store, targets, backend.conflicts, [None] * len(keys), in_insights=False)
    responses: list[dict[str, Any]] = []
    for prepared, condition, (item_record, _) in zip(statements, conditions, found, strict=True):
        shown = shape_items([item_record] if item_record is not None else [], condition, prepared.columns)
        responses.append({"Item": shown[0]} if shown else {})
    names = [prepared.table_name for prepared in statements]
    return {"Responses": responses, **report_reads(call, names, [cost for _, cost in found])}


# --- Writes --------------------------------------------------------------------------------------


async def _write(backend: Backend, call: Call, statements: list[Prepared]) -> dict[str, Any]:
    requests = call.request["TransactStatements"]
    if sum([_payload(prepared) for prepared in statements]) > TRANSACTION_BYTES_MAX:
        raise ValidationException(TOO_LARGE)
    actions = [
        _action(at, prepared, request)
        for at, (prepared, request) in enumerate(zip(statements, requests, strict=True))
    ]
    targets = [(a.change.part, a.change.row_key) for a in actions if a.change is not None]
    if len(set(targets)) != len(targets):
        raise ValidationException(DUPLICATE_TARGET)
    report = await write_transaction(backend, call, actions, {"TransactStatements": requests})
    return {"Responses": [], **report}


def _payload(prepared: Prepared) -> int:
    """Returns the bytes that a statement sends: the item of an INSERT, the values of any other."""
    return item_size(prepared.item) if prepared.item else sum(map(value_size, prepared.values.values()))


def _action(at: int, prepared: Prepared, request: dict[str, Any]) -> Action:
    """Returns the action of a statement. Raises ValidationException for errors of the whole request."""
    returns_item = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    name, body = prepared.table_name, prepared.statement.body
    if isinstance(body, Exists):
        _check_exists(at, prepared)
    if isinstance(body, Insert):
        item = prepared.item or {}
        if is_too_large(prepared.table, item, item_size(item)):
            raise ValidationException(PUT_TOO_LARGE)
    try:
        write = write_of(prepared)
    except ValidationException as rejection:
        if has_empty_key(_subject(prepared), prepared.table.schema):
            raise
        return Action(name, None, returns_item, invalid=rejection)
    return Action(name, write.change, returns_item, inserts=write.inserts)


def _check_exists(at: int, prepared: Prepared) -> None:
    """Returns the check of an EXISTS, which reads one item. Raises StatementError."""
    one = prepared.one_item()
    if one is None or one[1] is None:
        raise errors.in_transaction(at, errors.TRANSACTION_EXISTS)


def _subject(prepared: Prepared) -> Item:
    """Returns the item or key of a write; {} when WHERE does not name it."""
    if prepared.item is not None:
        return prepared.item
    one = prepared.one_item()
    return one[0] if one is not None else {}
