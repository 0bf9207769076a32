"""One atomic commit of evaluated changes, and everything that belongs to them.

Each change contributes its row, its index entries, and what else is derived from its item (derived.py):
stream record, row in the expiry index, history, and so on. Either all of it is written or nothing. A change
that leaves the stored bytes as they are writes nothing.

An example. The table has an index by `year` and a stream; the item p=a has year=1999 and gets year=2000:

    part                  checks            puts            deletes         log      usage
    items, slot 2         p=a at version 7  p=a                                      0 items, 0 bytes
    index, slot 0                           2000, p=a                                +1 item
    index, slot 3                                           1999, p=a                -1 item
    stream, slot 2                                                          MODIFY

All four batches are one commit: if p=a does not have version 7 any more, none of them is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from faradisc.engine.tables.change import CollectionsFull, Outcome
from faradisc.engine.tables.derived import CommitBatches, Derived
from faradisc.engine.tables.late import EarlierImages
from faradisc.engine.tables.partition_sizes import grow_partitions
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.storage.api import Batch, Conflict, Store

Late = Sequence[tuple[EarlierImages, Outcome]]
"""Changes of tables whose reads are late, with what keeps the images that they replace."""


async def commit_outcomes(
    store: Store,
    outcomes: Sequence[Outcome],
    *,
    also: Batch | None = None,
    check_all: bool = False,
    durable: bool = True,
) -> bool:
    """Commits the outcomes together; returns False, and writes nothing, if an item has changed meanwhile.

    also: a batch to commit with them. check_all: check the versions of items that stay as they are too; a
    transaction needs that, a single write does not. durable: whether to wait for the disk.
    Raises CollectionsFull.
    """
    if len(outcomes) == 1 and also is None and not check_all:
        (outcome,) = outcomes
        if outcome.new_record == outcome.old.record and not outcome.change.table.reading:
            await store.wait_durable(0)  # nothing is written, so there is nothing to make batches for
            return True
    batches = CommitBatches()
    late: list[tuple[EarlierImages, Outcome]] = []
    for outcome in outcomes:
        if outcome.change.table.reading:
            # All reads come before the first addition: what is read may depend on every item of the commit.
            await _prepare(store, batches, outcomes)
            break
    for outcome in outcomes:
        table = outcome.change.table
        if outcome.new_record == outcome.old.record:
            if check_all:
                change = outcome.change
                batches.of_items(table, change.part).checks.append((change.row_key, outcome.old.version))
            for each in table.reading:
                each.add_unchanged(batches, outcome)
            continue
        _add_item(batches, outcome)
        # Index entries are not in `maintained`: the charge of the write depends on them, so they were made
        # with the new image.
        for entry in outcome.entries:
            entry.add_to(batches, batches.written)
        for each in table.maintained:
            each.add(batches, outcome)
        if table.late is not None:
            late.append((table.late, outcome))
        if table.meter.enforced and (outcome.entries or outcome.new_size != outcome.old.size_bytes):
            batches.growth.append((table.meter, partial(grow_partitions, outcome)))
    if also is not None:
        batches.join(also)
    if not batches:
        await store.wait_durable(0)
        return True
    return await commit_batches(store, batches, durable=durable, late=late)


async def commit_batches(
    store: Store, batches: CommitBatches, *, durable: bool = True, late: Late = ()
) -> bool:
    """Makes a commit, and keeps what is in memory in step with it; returns False, and writes nothing, if a
    check has failed.

    late: changes in it of tables whose reads are late.
    """
    moment_ns = late[0][0].now_ns() if late else 0
    if not store.shared:
        # Before the commit, because reads see it at once. Where another node may have made the image old by
        # now, only what a commit has replaced is kept.
        for images, outcome in late:
            images.keep(outcome, moment_ns)
    for _, grow in batches.growth:
        grow(False)
    # Marked as outdated before the commit, because searches see it before its sync ends, and after it, even
    # when the wait is cancelled, for stores that show a commit later. A sweep of expired items in between
    # would find nothing and forget the row, so that is told twice too.
    if batches.written:
        _mark_written(batches)
    try:
        committed = await store.commit(list(batches.values()), durable=durable)
    except BaseException:
        # After a failed sync or a cancelled wait the commit is made; after any other error it is not.
        for meter, _ in batches.growth:
            meter.reconcile_later()
        raise
    finally:
        if batches.written:
            _mark_written(batches)
    if isinstance(committed, Conflict):
        for _, grow in batches.growth:
            grow(True)
        for images, outcome in late:
            images.take_back(outcome, moment_ns)
        return False
    if store.shared:
        for images, outcome in late:
            images.keep(outcome, moment_ns)
    return True


def _mark_written(batches: CommitBatches) -> None:
    for marked, row_key in batches.written:
        marked.written(row_key)


async def _prepare(store: Store, batches: CommitBatches, outcomes: Sequence[Outcome]) -> None:
    """Lets what is derived from the items read what the commit depends on. Raises CollectionsFull."""
    written: dict[Derived, list[Outcome]] = {}
    for outcome in outcomes:
        for each in outcome.change.table.reading:
            written.setdefault(each, []).append(outcome)
    full: list[Outcome] = []
    for each, of_table in written.items():
        try:
            await each.prepare(store, batches, of_table)
        except CollectionsFull as error:  # an answer names all that are too large, of all tables
            full += error.outcomes
    if full:
        raise CollectionsFull(full)


def _add_item(batches: CommitBatches, outcome: Outcome) -> None:
    """Adds the row of an item that changes, and what it adds to the counters of its part."""
    old, new_record = outcome.old, outcome.new_record
    change = outcome.change
    batch = batches.of_items(change.table, change.part)
    batch.checks.append((change.row_key, old.version))
    if new_record is None:
        batch.deletes.append(change.row_key)
        batch.items_delta -= 1
        batch.bytes_delta -= old.size_bytes + STORAGE_OVERHEAD_BYTES
        return
    batch.puts.append((change.row_key, new_record))
    if old.exists:
        batch.bytes_delta += outcome.new_size - old.size_bytes
    else:
        batch.items_delta += 1
        batch.bytes_delta += outcome.new_size + STORAGE_OVERHEAD_BYTES
