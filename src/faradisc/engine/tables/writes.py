"""The one write path: every change to an item goes through here.

One round for any number of changes:

    read the old images -> evaluate (change.py) -> charge throughput (charging.py) -> commit (commit.py)

A commit that finds a version it did not read (another process has written meanwhile) does nothing, and the
round starts again from fresh images. On an embedded store nothing runs between read and commit, so one round
is enough there.

An example, two nodes that add 1 to the same number:

    node A   reads version 7, n=1; is charged; commits n=2, which is version 8
    node B   reads version 7, n=1; is charged; its commit finds version 8, and writes nothing
             reads version 8, n=2; commits n=3

Invariants:
1. Either everything that belongs to a change is written or nothing.
2. A rejection is answered only after the image it rests on is on disk.
3. A change is made to the table as it is at that moment: an index or a stream that has been added since the
   request was read gets its part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext

from faradisc.capacity.throttle import Throttle, Throttled
from faradisc.engine.tables.change import Change, ConditionFailed, Image, Outcome, evaluate
from faradisc.engine.tables.charging import charge_failed, charge_write
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.images import read_images
from faradisc.engine.tables.strong import copies_of, reached_by, writing
from faradisc.errors import InternalServerError, ValidationException
from faradisc.storage.api import Store

ROUNDS_MAX = 100
"""Rounds before a write to an item that keeps changing fails."""
ROUNDS_WITHOUT_PAUSE = 3
PAUSE_S, PAUSE_S_MAX = 0.001, 0.05
"""After each further conflict, times its number; and the longest. In 100 rounds a write waits for 4 s."""


async def apply_change(store: Store, change: Change, *, locked: bool = False) -> Outcome:
    """Makes one change durable.

    locked: its item is locked already.
    Raises ConditionFailed, ValidationException, Throttled, ItemCollectionSizeLimitExceededException, and
    ResourceNotFoundException for a table that has been deleted meanwhile; Stale.
    """
    if change.table.strong is not None:
        (answer,) = await apply_batch(store, [change], locked=True)
        if isinstance(answer, Throttle):
            raise Throttled(answer)
        return answer
    if change.table.locks is not None and not locked:
        async with change.table.locks.held([change.location]):
            return await apply_change(store, change, locked=True)
    charged = False
    for attempt in range(ROUNDS_MAX):
        if change.table.successor is not None:
            change.follow_table()
        (row,) = await store.get(change.part, (change.row_key,), for_update=True, epoch=change.table.epoch)
        old = Image(row)
        try:
            outcome = evaluate(change, old)
        except (ConditionFailed, ValidationException) as rejection:
            if not charged:
                charge_failed(change, old, condition=isinstance(rejection, ConditionFailed))
            # A client must not see a rejection that rests on a write which a crash would take back.
            await store.wait_durable(old.version)
            raise
        # Charged once, however many rounds it takes: a condition that turns false in the second round is
        # answered after the price of a success.
        if not charged:
            throttle = charge_write(outcome)
            if throttle is not None:
                raise Throttled(throttle)
            charged = True
        if await commit_outcomes(store, [outcome]):
            return outcome
        await pause_after_conflict(attempt)
    raise InternalServerError


async def apply_batch(
    store: Store, changes: Sequence[Change], *, locked: bool = False
) -> list[Outcome | Throttle]:
    """Makes those of several changes, of different items, durable that are not throttled, in one commit.

    locked: their items are locked already.
    Returns an answer per change, in order. Raises what `apply_change` raises, except Throttled.
    """
    locks = changes[0].table.locks
    if any(change.table.strong is not None for change in changes):
        # Not the locks of the rows: a region that catches up takes those of the items that it gets.
        with writing(changes) as items:
            async with nullcontext() if locks is None else locks.held(items):
                return await _apply_batch(store, changes)
    if locks is not None and not locked:
        async with locks.held([change.location for change in changes]):
            return await apply_batch(store, changes, locked=True)
    return await _apply_batch(store, changes)


async def _apply_batch(store: Store, changes: Sequence[Change]) -> list[Outcome | Throttle]:
    answers: list[Outcome | Throttle] = []
    for attempt in range(ROUNDS_MAX):
        reached = await reached_by(store, changes)
        images = await read_images(store, changes)
        try:
            outcomes = [evaluate(change, old) for change, old in zip(changes, images, strict=True)]
        except (ConditionFailed, ValidationException) as rejection:
            if not reached or len(changes) > 1:
                raise
            if not attempt:
                charge_failed(changes[0], images[0], condition=isinstance(rejection, ConditionFailed))
            await store.wait_durable(images[0].version)
            raise
        if not attempt:
            answers = [charge_write(outcome) or outcome for outcome in outcomes]
        else:
            answers = [
                outcome if isinstance(before, Outcome) else before
                for outcome, before in zip(outcomes, answers, strict=True)
            ]
        admitted = [answer for answer in answers if isinstance(answer, Outcome)]
        copies = await copies_of(store, admitted, reached) if reached else []
        if not admitted or await commit_outcomes(store, [*admitted, *copies]):
            return answers
        await pause_after_conflict(attempt)
    raise InternalServerError


async def apply_changes(store: Store, changes: Sequence[Change]) -> list[Outcome]:
    """Makes several changes, of different items, durable in one commit. They are the database's own and
    use no throughput.

    Raises what `apply_change` raises, except Throttled; then nothing has been written.
    """
    for attempt in range(ROUNDS_MAX):
        images = await read_images(store, changes)
        try:
            outcomes = [evaluate(change, old) for change, old in zip(changes, images, strict=True)]
        except (ConditionFailed, ValidationException):
            await store.wait_durable(0)
            raise
        if await commit_outcomes(store, outcomes):
            return outcomes
        await pause_after_conflict(attempt)
    raise InternalServerError


async def pause_after_conflict(attempt: int) -> None:
    """Waits before the next round of a write that met another one; on stores that several nodes share, since
    nothing comes between on an embedded one.

    Without it the nodes that write one item take each other's rounds, and each uses them up within a second.
    """
    if attempt >= ROUNDS_WITHOUT_PAUSE:
        await asyncio.sleep(min(PAUSE_S * attempt, PAUSE_S_MAX))
