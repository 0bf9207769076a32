"""A write transaction: all actions or none, and a reason per action when it is none.

The actions are changes like any other (engine/tables/writes.py), evaluated against images that are read
together and committed together; a ConditionCheck is a change that leaves its item as it is, and puts
the version it looked at among the commit's checks.

Facts (errors.md section 6.8): all failing conditions are told, but only the first validation error;
reasons stand in request order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from faradisc.capacity.throttle import Throttle, transaction_refusal
from faradisc.engine.tables.change import Change, CollectionsFull, ConditionFailed, Outcome, evaluate
from faradisc.engine.tables.charging import charge_cancelled, charge_transaction
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import read_images
from faradisc.engine.transactions.conflicts import ConflictInjector, conflict_reason
from faradisc.errors import (
    ApiError,
    ConditionalCheckFailedException,
    DuplicateItemException,
    TransactionCanceledException,
    ValidationException,
)
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Store

TOO_LARGE = (
    "Collection size of items exceeded, which can also be caused by the aggregate size of the items "
    "in the transaction exceeding the 4MB limit"
)
DUPLICATE_TARGET = "Transaction request cannot include multiple operations on one item"

NO_REASON: dict[str, Any] = {"Code": "None"}


@dataclass(slots=True)
class Action:
    """One action of a transaction. `invalid` is set when it was refused before any item was read."""

    table_name: str
    change: Change | None
    returns_item: bool
    invalid: ValidationException | None = None
    inserts: bool = False
    """A PartiQL INSERT: its condition fails when the item is there already, and is told so."""


def cancelled_by(reasons: Sequence[dict[str, Any]]) -> TransactionCanceledException:
    return TransactionCanceledException(reasons)


def validation_reason(refusal: ValidationException) -> dict[str, Any]:
    return {"Code": "ValidationError", "Message": refusal.message}


def _condition_reason(failed: ConditionFailed, action: Action) -> dict[str, Any]:
    reason: dict[str, Any] = {
        "Code": "ConditionalCheckFailed",
        "Message": ConditionalCheckFailedException.default_text,
    }
    if action.inserts:
        reason = {"Code": "DuplicateItem", "Message": DuplicateItemException.default_text}
    item: Item | None = failed.image.item if action.returns_item else None
    if item is not None:
        reason["Item"] = item
    return reason


async def apply_transaction(
    store: Store,
    actions: Sequence[Action],
    token_batch: Callable[[list[Outcome]], Awaitable[Batch]] | None,
    conflicts: ConflictInjector | None = None,
) -> list[Outcome]:
    """Make all actions durable in one commit, with the batch that remembers the token if there is one.

    Raises: TransactionCanceledException; nothing was written then.
    """
    for position, action in enumerate(actions):
        if action.invalid is not None:
            raise cancelled_by(_only(position, len(actions), validation_reason(action.invalid)))
    if conflicts is not None:
        conflicts.check_transaction(len(actions))
    changes = [action.change for action in actions if action.change is not None]
    images = await read_images(store, changes)
    outcomes: list[Outcome] = []
    reasons: dict[int, dict[str, Any]] = {}
    """Of the actions whose condition failed, by position."""
    for position, (change, image) in enumerate(zip(changes, images, strict=True)):
        try:
            outcomes.append(evaluate(change, image))
        except ConditionFailed as condition:
            reasons[position] = _condition_reason(condition, actions[position])
        except ValidationException as refusal:
            await store.wait_durable(0)
            raise cancelled_by(_only(position, len(actions), validation_reason(refusal))) from None
    if reasons:
        _admit(charge_cancelled(changes, images), changes)
        await store.wait_durable(0)
        raise cancelled_by([reasons.get(position, NO_REASON) for position in range(len(actions))])
    _admit(charge_transaction(outcomes), changes)
    also = await token_batch(outcomes) if token_batch is not None else None
    try:
        committed = await commit_outcomes(store, outcomes, also=also, check_all=True)
    except CollectionsFull as full:
        reason = {"Code": "ItemCollectionSizeLimitExceeded", "Message": full.message}
        told = [reason if any(each is grown for grown in full.outcomes) else NO_REASON for each in outcomes]
        raise cancelled_by(told) from None
    if not committed:
        raise cancelled_by([conflict_reason() for _ in actions])
    return outcomes


def _admit(refusals: Sequence[Throttle | None], changes: Sequence[Change]) -> None:
    """Raises TransactionCanceledException, or what the shortage of a whole table is told, where an action
    was refused; then nothing was charged."""
    if any(refusals):
        refuse_transaction(refusals, changes[0].table)


def refuse_transaction(refusals: Sequence[Throttle | None], table: Table) -> NoReturn:
    """Say that a transaction is refused for want of units (capacity.md section 2.11)."""
    refusal = transaction_refusal(refusals, table.meter.config.transaction_style)
    if isinstance(refusal, ApiError):
        raise refusal
    raise cancelled_by(
        [
            NO_REASON if refused is None else {"Code": code, "Message": refused.text}
            for code, refused in zip(refusal, refusals, strict=True)
        ]
    )


def _only(position: int, count: int, reason: dict[str, Any]) -> list[dict[str, Any]]:
    return [reason if i == position else NO_REASON for i in range(count)]
