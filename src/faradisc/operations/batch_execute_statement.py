"""BatchExecuteStatement: up to 25 independent PartiQL statements.

All are reads or all are writes, each of one item, and no item twice. An error of one statement is the Error
in its response, and the others are executed; an error of the batch fails all of it.

Checks: reads and writes mixed -> per statement those of statements.py, key, key values -> an item twice. A
statement with unreadable parameters is in no mix. TableName stands beside the errors that a table finds:
false conditions, lengths of keys, a changed key.
Source: expressions.md section 7, errors.md section 8; charges, capacity-consumption.md section 3.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from faradisc.capacity.throttle import Throttle, Throttled
from faradisc.engine.tables.change import ConditionFailed
from faradisc.engine.tables.charging import failed_half_units
from faradisc.engine.tables.keys import check_key
from faradisc.engine.tables.reads import read_and_charge, shape_items
from faradisc.errors import (
    AccessDeniedException,
    ApiError,
    ConditionalCheckFailedException,
    DuplicateItemException,
    InternalServerError,
    ItemCollectionSizeLimitExceededException,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ResourceNotFoundException,
    ThrottlingException,
    TransactionConflictException,
    ValidationException,
)
from faradisc.language.expressions.errors import KeyConditionError
from faradisc.language.partiql import errors
from faradisc.language.partiql.parser import parse_statement
from faradisc.model.values.attribute import Item
from faradisc.operations.backend import Backend
from faradisc.operations.batch_get_item import DUPLICATE_KEYS
from faradisc.operations.call import Call
from faradisc.operations.consumption import Charges
from faradisc.operations.statements import (
    BoundStatement,
    Write,
    apply_write,
    check_parameters,
    prepare,
    reject_exists,
    write_of,
)
from faradisc.records import dataclass

_CODES: Final[dict[type[ApiError], str]] = {
    ConditionalCheckFailedException: "ConditionalCheckFailed",
    ItemCollectionSizeLimitExceededException: "ItemCollectionSizeLimitExceeded",
    RequestLimitExceeded: "RequestLimitExceeded",
    ValidationException: "ValidationError",
    ProvisionedThroughputExceededException: "ProvisionedThroughputExceeded",
    TransactionConflictException: "TransactionConflict",
    ThrottlingException: "ThrottlingError",
    InternalServerError: "InternalServerError",
    ResourceNotFoundException: "ResourceNotFound",
    AccessDeniedException: "AccessDenied",
    DuplicateItemException: "DuplicateItem",
}
"""Error codes of statements by exception; a subclass has the code of its base class."""


@dataclass(slots=True)
class _Read:
    key: Item
    consistent: bool


@dataclass(slots=True)
class _Member:
    """One statement of the batch, and its response."""

    prepared: BoundStatement | None = None
    action: _Read | Write | None = None
    response: dict[str, Any] | None = None
    names_table: bool = False
    """Whether an error that the table finds has its name beside it."""
    returns_item: bool = False
    """Whether a false condition returns the item."""

    def fail(self, error: ApiError) -> None:
        code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
        self.response = {"Error": {"Code": code, "Message": error.message, **error.extra}}
        of_statement = not isinstance(error, ValidationException) or isinstance(
            error, errors.StatementError | KeyConditionError
        )
        of_table = self.names_table and not of_statement
        named = of_table or code in ("ConditionalCheckFailed", "DuplicateItem")
        if self.prepared is not None and named:
            self.response["TableName"] = self.prepared.table.name

    def mark_throttled(self, throttle: Throttle) -> None:
        self.response = {"Error": {"Code": throttle.member_code, "Message": throttle.text}}


async def batch_execute_statement(backend: Backend, call: Call) -> dict[str, Any]:
    requests = call.request["Statements"]
    _check_not_mixed(call, requests)
    members = [_member(backend, call, request) for request in requests]
    _check_distinct(members)
    charges = Charges()  # those of failed statements included
    throttled = 0
    for member in members:
        try:
            if member.action is not None:
                await backend.catalog.follower.with_newest(
                    partial(_execute, backend, member, member.action, charges)
                )
        except ApiError as error:
            member.fail(error)
        except Throttled as rejection:
            member.mark_throttled(rejection.throttle)
            throttled += 1
    if throttled == len(members):
        call.mark_throttled()
    result: dict[str, Any] = {"Responses": [member.response for member in members]}
    if any("Error" not in (member.response or {}) for member in members):
        result |= charges.report(call)
    return result


def _check_not_mixed(call: Call, requests: list[dict[str, Any]]) -> None:
    """Raises StatementError when both reads and writes are among the statements that can be parsed."""
    reads = set()
    for request in requests:
        try:
            check_parameters(call, request)
            reads.add(parse_statement(request["Statement"]).reads)
        except ValidationException:
            continue  # reported in the response of the statement
    if len(reads) > 1:
        raise errors.StatementError(errors.BATCH_MIXED)


def _member(backend: Backend, call: Call, request: dict[str, Any]) -> _Member:
    member = _Member(returns_item=request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")
    try:
        prepared = member.prepared = prepare(backend, call, request)
        reject_exists(prepared)
        member.names_table = True
        if not prepared.statement.reads:
            member.action = write_of(prepared)
        else:
            key = prepared.read_key()
            if key is None:
                raise errors.StatementError(errors.BATCH_SELECT_WITHOUT_KEY)
            check_key(key, prepared.table.key)
            member.action = _Read(key, request.get("ConsistentRead", False))
        member.names_table = False
    except ApiError as error:
        member.fail(error)
    return member


def _check_distinct(members: list[_Member]) -> None:
    """Raises ValidationException when two statements concern one item."""
    seen: set[tuple[bytes, bytes]] = set()
    for member in members:
        if member.action is None or member.prepared is None:
            continue
        if isinstance(member.action, Write):
            location = (member.action.change.part, member.action.change.row_key)
        else:
            placement = member.prepared.table.placement
            row_key = placement.row_key(member.action.key)
            location = (placement.part_of(row_key), row_key)
        if location in seen:
            raise ValidationException(DUPLICATE_KEYS)
        seen.add(location)


async def _execute(backend: Backend, member: _Member, action: _Read | Write, charges: Charges) -> None:
    if isinstance(action, _Read):
        await _read(backend, member, action, charges)
    else:
        await _write(backend, member, action, charges)


async def _read(backend: Backend, member: _Member, read: _Read, charges: Charges) -> None:
    prepared = member.prepared
    assert prepared is not None
    table = prepared.table.newest
    if table.state.status == "DELETING":
        raise ResourceNotFoundException
    found, half_units = await read_and_charge(
        backend.store, table, read.key, consistent=read.consistent, in_insights=False
    )
    charges[prepared.table_name].table += half_units
    shown = shape_items([found] if found is not None else [], None, prepared.columns)
    member.response = {"TableName": prepared.table.name, **({"Item": shown[0]} if shown else {})}


async def _write(backend: Backend, member: _Member, write: Write, charges: Charges) -> None:
    prepared = member.prepared
    assert prepared is not None
    try:
        outcome = await apply_write(backend, write)
    except ConditionFailed as failed:
        charges[prepared.table_name].failed += failed_half_units(failed.change, failed.image)
        raise write.failure(failed, with_item=member.returns_item) from None
    outcome.add_cost_to(charges[prepared.table_name])
    returned = write.returned(outcome)
    member.response = {"TableName": prepared.table.name}
    if returned is not None:
        member.response["Item"] = returned
