"""A write transaction: all actions or none, with a reason per action when it is cancelled.

The actions are changes (engine/tables/change.py) whose images are read together and whose outcomes are
committed together. A ConditionCheck is a change that leaves its item as it is; the commit checks the version
of the item.

Facts (errors.md section 6.8): all failed conditions are reported, but only the first validation error;
reasons are in request order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

from faradisc.capacity.throttle import Throttle, transaction_answer
from faradisc.engine.tables.change import Change, CollectionsFull, ConditionFailed, Outcome, evaluate
from faradisc.engine.tables.charging import charge_cancelled, charge_transaction
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.images import read_images
from faradisc.engine.tables.table import Table
from faradisc.engine.transactions.conflicts import ConflictInjector, conflict_reason
from faradisc.errors import (
    ApiError,
    ConditionalCheckFailedException,
    DuplicateItemException,
    TransactionCanceledException,
    ValidationException,
)
from faradisc.model.values.attribute import Item
from faradisc.records import dataclass
from faradisc.storage.api import Batch, Store

TOO_LARGE = (
    "Collection size of items exceeded, which can also be caused by the aggregate size of the items "
    "in the transaction exceeding the 4MB limit"
)
DUPLICATE_TARGET = "Transaction request cannot include multiple operations on one item"

ATTEMPTS_MAX = 20
"""Attempts of a transaction that meets writes of other nodes."""

NO_REASON: dict[str, Any] = {"Code": "None"}


@dataclass(slots=True)
class TransactAction:
    """One action of a transaction. invalid: the error it had before any item was read."""

    table_name: str
    change: Change | None
    returns_item: bool
    invalid: ValidationException | None = None
    inserts: bool = False
    """Whether it is a PartiQL INSERT; then a failed condition is reported as a duplicate item."""


def cancelled_by_one(
    position: int, actions: int, rejection: ValidationException
) -> TransactionCanceledException:
    """Returns the error of a transaction whose action at a position is not valid."""
    reasons = [NO_REASON] * actions
    reasons[position] = {"Code": "ValidationError", "Message": rejection.message}
    return TransactionCanceledException(reasons)


def _condition_reason(failed: ConditionFailed, action: TransactAction) -> dict[str, Any]:
    reason: dict[str, Any] = {
        "Code": "ConditionalCheckFailed",
        "Message": ConditionalCheckFailedException.default_text,
    }
    if action.inserts:
        reason = {"Code": "DuplicateItem", "Message": DuplicateItemException.default_text}
    item: Item | None = failed.image.item if action.returns_item and not action.inserts else None
    if item is not None:
        reason["Item"] = item
    return reason


async def apply_transaction(
    store: Store,
    actions: Sequence[TransactAction],
    token_batch: Callable[[list[Outcome]], Awaitable[Batch]] | None,
    conflicts: ConflictInjector | None = None,
) -> list[Outcome]:
    """Makes all actions durable in one commit, together with the batch of the token if there is one.

    On a shared store a conflict with a write of another node is tried again.
    Raises TransactionCanceledException; then nothing has been written. Raises Stale.
    """
    for position, action in enumerate(actions):
        if action.invalid is not None:
            raise cancelled_by_one(position, len(actions), action.invalid)
    if conflicts is not None:
        conflicts.check_transaction(len(actions))
    changes = [action.change for action in actions if action.change is not None]
    locks = changes[0].table.locks
    if locks is None:
        outcomes = await _attempt(store, actions, changes, token_batch)
    else:
        async with locks.held([change.location for change in changes]):
            for attempt in range(ATTEMPTS_MAX):
                outcomes = await _attempt(store, actions, changes, token_batch, charged=attempt > 0)
                if outcomes is not None:
                    break
    if outcomes is None:
        raise TransactionCanceledException([conflict_reason() for _ in actions])
    return outcomes


async def _attempt(
    store: Store,
    actions: Sequence[TransactAction],
    changes: Sequence[Change],
    token_batch: Callable[[list[Outcome]], Awaitable[Batch]] | None,
    *,
    charged: bool = False,
    loose: bool | None = None,
) -> list[Outcome] | None:
    """Makes all actions durable; returns None if an item has changed meanwhile.

    charged: an earlier attempt was charged. loose: whether images may be of different moments: the commit
    checks them all, but why nothing is committed has to have been so at one moment.
    """
    loose = store.is_loose if loose is None else loose
    images = await read_images(store, changes, loose=loose)
    outcomes: list[Outcome] = []
    reasons: dict[int, dict[str, Any]] = {}
    """Reasons of the actions whose condition is false, by position."""
    invalid: tuple[int, ValidationException] | None = None
    for position, (change, image) in enumerate(zip(changes, images, strict=True)):
        try:
            outcomes.append(evaluate(change, image))
        except ConditionFailed as condition:
            reasons[position] = _condition_reason(condition, actions[position])
        except ValidationException as rejection:
            invalid = position, rejection
            break
    if loose and (reasons or invalid):
        return await _attempt(store, actions, changes, token_batch, charged=charged, loose=False)
    if invalid is not None:
        await store.wait_durable(0)
        raise cancelled_by_one(invalid[0], len(actions), invalid[1])
    if reasons:
        if not charged:
            _admit(charge_cancelled(changes, images), changes)
        await store.wait_durable(0)
        raise TransactionCanceledException([reasons.get(i, NO_REASON) for i in range(len(actions))])
    if not charged:
        _admit(charge_transaction(outcomes), changes)
    also = await token_batch(outcomes) if token_batch is not None else None
    try:
        committed = await commit_outcomes(store, outcomes, also=also, check_all=True)
    except CollectionsFull as full:
        reason = {"Code": "ItemCollectionSizeLimitExceeded", "Message": full.message}
        reasons_of_all = [
            reason if any(each is grown for grown in full.outcomes) else NO_REASON for each in outcomes
        ]
        raise TransactionCanceledException(reasons_of_all) from None
    return outcomes if committed else None


def _admit(throttles: Sequence[Throttle | None], changes: Sequence[Change]) -> None:
    """Raises TransactionCanceledException, or the error of a whole table without units, if an action is
    throttled."""
    if any(throttles):
        reject_transaction(throttles, changes[0].table)


def reject_transaction(throttles: Sequence[Throttle | None], table: Table) -> NoReturn:
    """Raises the error of a throttled transaction (capacity.md section 2.11)."""
    rejection = transaction_answer(throttles, table.meter.config.transaction_style)
    if isinstance(rejection, ApiError):
        raise rejection
    raise TransactionCanceledException(
        [
            NO_REASON if throttle is None else {"Code": code, "Message": throttle.text}
            for code, throttle in zip(rejection, throttles, strict=True)
        ]
    )
