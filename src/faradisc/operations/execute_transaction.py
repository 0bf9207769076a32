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
    NO_REASON,
    TOO_LARGE,
    TransactAction,
)
from faradisc.errors import ResourceNotFoundException, TransactionCanceledException, ValidationException
from faradisc.language.expressions.errors import KeyConditionError
from faradisc.language.partiql import errors
from faradisc.language.partiql.planner import check_key_type
from faradisc.language.partiql.syntax import Delete, Exists, Insert, UpdateStatement
from faradisc.limits import TRANSACTION_BYTES_MAX
from faradisc.model.values.attribute import ORDERED_TYPES, Item, type_of
from faradisc.model.values.size import item_size, value_size
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.statements import BoundStatement, prepare, write_of
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
    for at, prepared in enumerate(statements):
        _check_table(at, prepared, len(statements))
    if all(reading):
        return await _read(backend, call, statements)
    return await _write(backend, call, statements)


def _check_statement(at: int, prepared: BoundStatement) -> None:
    """Raises StatementError for a statement that a transaction cannot contain."""
    statement = prepared.statement
    body = statement.body
    if isinstance(body, UpdateStatement | Delete) and body.returning is not None:
        raise errors.in_transaction(at, errors.TRANSACTION_RETURNING)
    if statement.source.index is not None:
        raise errors.in_transaction(at, errors.TRANSACTION_INDEX)


def _check_table(at: int, prepared: BoundStatement, count: int) -> None:
    """Raises ApiError for a missing table, and for a key value of a type that no key has."""
    body = prepared.statement.body
    if prepared.is_of_missing_table and isinstance(body, Insert):
        missing = ResourceNotFoundException()
        reasons = [NO_REASON] * count
        reasons[at] = {"Code": "ResourceNotFound", "Message": missing.message}
        raise TransactionCanceledException(reasons)
    one = prepared.one_item() if not isinstance(body, Insert) else None
    for name, value in (one[0] if one is not None else {}).items():
        if type_of(value) not in ORDERED_TYPES:
            try:
                check_key_type(name, value, prepared.table.key)
            except KeyConditionError as error:
                raise errors.in_transaction(at, str(error.message)) from None
    _ = prepared.table


# --- Reads ---------------------------------------------------------------------------------------


async def _read(backend: Backend, call: Call, statements: list[BoundStatement]) -> dict[str, Any]:
    keys: list[Item] = []
    for at, prepared in enumerate(statements):
        try:
            key = prepared.read_key(alone=False)
        except ValidationException as error:
            raise errors.in_transaction(at, str(error.message)) from None
        if key is None:
            raise errors.in_transaction(at, errors.TRANSACTION_SELECT_WITHOUT_KEY)
        keys.append(key)
    targets = [(prepared.table, key) for prepared, key in zip(statements, keys, strict=True)]
    found = await read_items(backend.store, targets, backend.conflicts, [None] * len(keys), in_insights=False)
    responses: list[dict[str, Any]] = []
    for prepared, (item_record, _) in zip(statements, found, strict=True):
        shown = shape_items([item_record] if item_record is not None else [], None, prepared.columns)
        responses.append({"Item": shown[0]} if shown else {})
    names = [prepared.table_name for prepared in statements]
    return {"Responses": responses, **report_reads(call, names, [cost for _, cost in found])}


# --- Writes --------------------------------------------------------------------------------------


async def _write(backend: Backend, call: Call, statements: list[BoundStatement]) -> dict[str, Any]:
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
    report = await write_transaction(backend, call, actions, _fingerprint(requests))
    return {"Responses": [], **report}


def _fingerprint(requests: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns what makes two requests with one token the same. NONE is the default of the failure mode."""
    default = ("ReturnValuesOnConditionCheckFailure", "NONE")
    return {
        "TransactStatements": [
            {name: value for name, value in request.items() if (name, value) != default}
            for request in requests
        ]
    }


def _payload(prepared: BoundStatement) -> int:
    """Returns the bytes that a statement sends: the item of an INSERT, the values of any other."""
    return item_size(prepared.item) if prepared.item else sum(map(value_size, prepared.values.values()))


def _action(at: int, prepared: BoundStatement, request: dict[str, Any]) -> TransactAction:
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
        write = write_of(prepared, alone=False)
    except ValidationException as rejection:
        if has_empty_key(_subject(prepared), prepared.table.schema):
            raise
        return TransactAction(name, None, returns_item, invalid=rejection)
    return TransactAction(name, write.change, returns_item, inserts=write.inserts)


def _check_exists(at: int, prepared: BoundStatement) -> None:
    """Returns the check of an EXISTS, which reads one item. Raises StatementError."""
    one = prepared.one_item()
    if one is None or one[1] is None:
        raise errors.in_transaction(at, errors.TRANSACTION_EXISTS)


def _subject(prepared: BoundStatement) -> Item:
    """Returns the item or key of a write; {} when WHERE does not name it."""
    if prepared.item is not None:
        return prepared.item
    one = prepared.one_item()
    return one[0] if one is not None else {}
