"""TransactWriteItems: up to 100 puts, updates, deletes and condition checks, all or none.

Checks: one action kind per element -> per action, in request order: values, expressions, placeholders ->
tables -> keys -> no item twice -> token -> (in the transaction) conditions, updates, sizes. An error of one
item becomes a cancellation reason once its table is known; empty key values and oversized puts reject the
whole request. Source: errors.md sections 4 and 6.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.capacity import units
from faradisc.engine.tables.change import (
    PUT_TOO_LARGE,
    UPDATE_TOO_LARGE,
    Change,
    Outcome,
    is_too_large,
    keep,
)
from faradisc.engine.tables.charging import ItemRead, charge_reads
from faradisc.engine.tables.keys import check_key, has_empty_key
from faradisc.engine.tables.table import Table
from faradisc.engine.transactions.tokens import RequestToken, Sizes
from faradisc.engine.transactions.writing import (
    DUPLICATE_TARGET,
    TOO_LARGE,
    TransactAction,
    apply_transaction,
    reject_transaction,
)
from faradisc.errors import EMPTY_NAME, ValidationException
from faradisc.language.expressions import Condition, Update
from faradisc.language.expressions.clauses import bind_action, check_paths_into_keys
from faradisc.limits import TRANSACTION_BYTES_MAX
from faradisc.model.values.attribute import Item
from faradisc.model.values.checks import has_deep_value
from faradisc.model.values.size import item_size
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.item_writes import check_put_keys, report_writes
from faradisc.operations.transact_get_items import report_reads
from faradisc.operations.update_item import UpdateStep
from faradisc.records import dataclass


async def transact_write_items(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    bound = [_bind(call, element) for element in request["TransactItems"]]
    if (
        call.may_exceed(TRANSACTION_BYTES_MAX)
        and sum(_sent_bytes(call, each) for each in bound) > TRANSACTION_BYTES_MAX
    ):
        raise ValidationException(TOO_LARGE)
    tables: dict[str, Table] = {}
    for element in bound:
        name = element.table_name
        if name not in tables:
            tables[name] = backend.table_for_data(call, name)
    actions = [_action(call, element, tables[element.table_name]) for element in bound]
    targets = [(a.change.part, a.change.row_key) for a in actions if a.change is not None]
    if len(set(targets)) != len(targets):
        raise ValidationException(DUPLICATE_TARGET)
    return await write_transaction(backend, call, actions, {"TransactItems": request["TransactItems"]})


async def write_transaction(
    backend: Backend, call: Call, actions: list[TransactAction], fingerprint: dict[str, Any]
) -> dict[str, Any]:
    """Executes the actions, once per ClientRequestToken, and returns the answer."""
    client_token = call.request.get("ClientRequestToken")
    if client_token is None:
        outcomes = await apply_transaction(backend.store, actions, None, backend.conflicts)
        return _report(call, actions, outcomes)
    owner = backend.tables.namespace(call.region, call.account) or call.account
    encrypted = any(table.state.sealing is not None for table in call.tables)
    token = RequestToken.of(owner, client_token, fingerprint, hashed=encrypted)
    tokens, clock = backend.tokens, backend.clock
    tokens.begin(token)
    try:
        changes = [action.change for action in actions if action.change is not None]
        sizes = await tokens.find(token, clock.now_ns(), [change.part for change in changes])
        if sizes is not None:
            return _replayed(call, actions, sizes)
        outcomes = await apply_transaction(
            backend.store,
            actions,
            lambda done: tokens.batch(token, _sizes(actions, done), clock.now_ns()),
            backend.conflicts,
        )
    finally:
        tokens.end(token)
    return _report(call, actions, outcomes)


@dataclass(slots=True)
class _Bound:
    """One element of the request, with its expressions bound."""

    kind: str
    table_name: str
    subject: Item
    """The item to put, or the key of the item."""
    members: dict[str, Any]
    update: Update | None
    condition: Condition | None


def _sent_bytes(call: Call, bound: _Bound) -> int:
    """Returns the bytes that the element sends: its item or key, and the values of its expressions.

    Requires valid values. The limit is on the payload of the request, not on stored sizes (limits.md section
    4); how it is counted is assumed.
    """
    return call.size_of(bound.subject) + item_size(bound.members.get("ExpressionAttributeValues", {}))


def _bind(call: Call, element: Mapping[str, Any]) -> _Bound:
    """Raises ValidationException."""
    if not element:
        raise ValidationException(
            "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
        )
    if len(element) != 1:
        raise ValidationException("TransactItems can only contain one of Check, Put, Update or Delete")
    (kind,) = element
    members: dict[str, Any] = element[kind]
    subject: Item = members["Item"] if kind == "Put" else members["Key"]
    if "" in subject:
        raise ValidationException(EMPTY_NAME)
    # errors.md section 4, captured: very deep values are found after errors of the action's expressions.
    deep = not call.values_ok and has_deep_value(subject)
    if not deep:
        call.check_values(subject)
    update, condition = bind_action(call, members, updates=kind == "Update")
    if deep:
        call.check_values(subject)
    return _Bound(kind, members["TableName"], subject, members, update, condition)


def _action(call: Call, bound: _Bound, table: Table) -> TransactAction:
    """Returns the action of an element. Raises ValidationException for errors of the whole request."""
    kind, name, subject, condition = bound.kind, bound.table_name, bound.subject, bound.condition
    returns_item = bound.members.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    try:
        if kind == "Put":
            check_put_keys(subject, table)
        else:
            check_key(subject, table.key)
        check_paths_into_keys(table.schema, condition)
        if kind == "Put":
            size = call.size_of(subject)
            if is_too_large(table, subject, size):
                raise _RequestRejected(PUT_TOO_LARGE)
            change = Change(table, subject, subject, condition, size=size)
            return TransactAction(name, change, returns_item)
        if kind == "Update":
            step = UpdateStep(table, subject, bound.update)
            change = Change(table, subject, step, condition, too_large=UPDATE_TOO_LARGE, written=step.written)
            return TransactAction(name, change, returns_item)
        new = keep if kind == "ConditionCheck" else None
        return TransactAction(name, Change(table, subject, new, condition), returns_item)
    except _RequestRejected:
        raise
    except ValidationException as rejection:
        if has_empty_key(subject, table.schema):
            raise
        return TransactAction(name, None, returns_item, invalid=rejection)


class _RequestRejected(ValidationException):
    """Rejects the request, not one action."""

    code = "ValidationException"


def _sizes(actions: list[TransactAction], outcomes: list[Outcome]) -> list[tuple[str, int]]:
    return [
        (action.table_name, max(outcome.old.size_bytes, outcome.new_size))
        for action, outcome in zip(actions, outcomes, strict=True)
    ]


def _report(call: Call, actions: list[TransactAction], outcomes: list[Outcome]) -> dict[str, Any]:
    named = [(action.table_name, outcome) for action, outcome in zip(actions, outcomes, strict=True)]
    return report_writes(call, named, transaction=True)


def _replayed(call: Call, actions: list[TransactAction], sizes: Sizes) -> dict[str, Any]:
    """Returns the answer of a replay, which changes nothing and is charged as reads.

    Raises what a throttled read transaction raises.
    """
    costs = [2 * units.read_half_units(size, consistent=True) for _, size in sizes]
    reads = [
        ItemRead(action.change.table, action.change.row_key, None, cost)
        for action, cost in zip(actions, costs, strict=True)
        if action.change is not None
    ]
    throttles = charge_reads(reads)
    if any(throttles):
        reject_transaction(throttles, reads[0].table)
    return report_reads(call, [name for name, _ in sizes], costs)
