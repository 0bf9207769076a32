"""One atomic commit of evaluated changes, and everything that belongs to them.

Each change contributes its row, its index entries, the size of its item collection, its stream record and
captured change, its row in the expiry index, and its history. Either all of it is written or nothing. A
change that leaves the stored bytes as they are writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.engine.tables.change import CollectionsFull, Outcome
from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.history import AFTER_ITEM, split_change_key
from faradisc.engine.tables.indexes import EntryChange
from faradisc.engine.tables.partition_sizes import grow_partitions
from faradisc.engine.tables.table import Table
from faradisc.engine.vectors.memory import IndexVectors
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.storage.api import Batch, Batches, Conflict, Part, Store


class _Batches(Batches):
    """The batches, and what is in memory of their rows."""

    __slots__ = ("expiring", "vectors")

    def __init__(self) -> None:
        self.expiring: list[tuple[Expiry, bytes]] = []
        """Expiry indexes that get a row, with the key of the row."""
        self.vectors: list[tuple[IndexVectors, bytes]] = []
        """Vectors in memory, with the row keys of their entries that change."""

    def of_items(self, table: Table, part: Part) -> Batch:
        """Returns the batch of one of the parts of a table's items."""
        if part not in self:
            self[part] = table.item_batch(part)
        return self[part]


async def commit_outcomes(
    store: Store, outcomes: Sequence[Outcome], *, also: Batch | None = None, check_all: bool = False
) -> bool:
    """Commits the outcomes together; returns False, and writes nothing, if an item has changed meanwhile.

    also: a batch to commit with them. check_all: check the versions of items that stay as they are too; a
    transaction needs that, a single write does not.
    """
    batches = _Batches()
    in_collections: list[Outcome] = []
    for outcome in outcomes:
        _add_item(batches, outcome, check_all=check_all)
        if outcome.change.table.collections is not None:
            in_collections.append(outcome)
        for entry in outcome.entries:
            if entry.index.status == "CREATING":
                await _skip_missing_entry(store, entry)
            add_entry(batches, entry)
    if in_collections:
        await _add_collections(store, batches, in_collections)
    add_history(batches, outcomes, await _newest_change_ns(store, outcomes) if store.shared else 0)
    if also is not None:
        batches[also.part] = also
    if not batches:
        await store.wait_durable(0)
        return True
    growing: list[Outcome] = []
    for outcome in outcomes:
        if outcome.change.table.meter.enforced and (
            outcome.entries or outcome.new_size != outcome.old.size_bytes
        ):
            growing.append(outcome)
            grow_partitions(outcome)
    # Marked as outdated before the commit, because searches see it before its sync ends, and after it, even
    # when the wait is cancelled, for stores that show a commit later.
    if batches.vectors:
        _mark_outdated(batches)
    try:
        committed = await store.commit(list(batches.values()))
    except BaseException:
        # After a failed sync or a cancelled wait the commit is made; after any other error it is not.
        for outcome in growing:
            outcome.change.table.meter.reconcile_later()
        raise
    finally:
        if batches.vectors:
            _mark_outdated(batches)
        for expiry, key in batches.expiring:
            expiry.added(key)
    if isinstance(committed, Conflict):
        for outcome in growing:
            grow_partitions(outcome, undone=True)
        return False
    return True


def _mark_outdated(batches: _Batches) -> None:
    for vectors, row_key in batches.vectors:
        vectors.written(row_key)


def _add_item(batches: _Batches, outcome: Outcome, *, check_all: bool) -> None:
    old, new_record = outcome.old, outcome.new_record
    change = outcome.change
    if new_record == old.record:
        if check_all:
            batches.of_items(change.table, change.part).checks.append((change.row_key, old.version))
        return
    table = change.table
    batch = batches.of_items(table, change.part)
    batch.checks.append((change.row_key, old.version))
    for log in (table.stream, table.capture):
        if log is not None:
            named = table.named_placement.row_key(change.key) if table.hashed_keys else change.row_key
            part, entry = log.entry(named, old.record, new_record, by_service=change.by_service)
            batches[part].log.append(entry)
    if table.expiry is not None:
        added = table.expiry.add_change(batches, change.row_key, old.item, outcome.new_item)
        if added is not None:
            batches.expiring.append((table.expiry, added))
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


async def _skip_missing_entry(store: Store, entry: EntryChange) -> None:
    """During the backfill of an index the old image may have no entry yet; then there is none to replace."""
    if entry.old_location is None:
        return
    part, row_key = entry.old_location
    (row,) = await store.get(part, (row_key,), for_update=True)
    if row is None:
        entry.delete = None
        entry.old_bytes = 0


def add_entry(batches: _Batches, entry: EntryChange) -> None:
    vectors = entry.index.vectors
    if vectors is not None:
        batches.vectors.extend((vectors, row[1]) for row in (entry.delete, entry.put) if row)
    entry.add_to(batches)


async def _add_collections(store: Store, batches: _Batches, outcomes: Sequence[Outcome]) -> None:
    """Updates the stored sizes of item collections: the items and their entries in all local indexes, with
    the storage overhead of each.

    Requires tables with local indexes. Raises CollectionsFull.
    """
    members: dict[tuple[bytes, bytes], list[Outcome]] = {}
    for outcome in outcomes:
        placement = outcome.change.table.collections
        assert placement is not None
        row_key = placement.row_key(outcome.change.key)
        members.setdefault((placement.part_of(row_key), row_key), []).append(outcome)
    too_large: list[Outcome] = []
    for (part, row_key), changed in members.items():
        delta = sum(map(_collection_delta, changed))
        (row,) = await store.get(part, (row_key,), for_update=True)
        version, before = (row[0], int.from_bytes(row[1], "big")) if row is not None else (0, 0)
        after = before + delta
        if delta > 0 and after > changed[0].change.table.collection_bytes_max:
            await store.wait_durable(version)
            too_large += [outcome for outcome in changed if _collection_delta(outcome) > 0]
        for outcome in changed:
            outcome.collection_bytes = after
        if delta:
            batch = batches[part]
            batch.checks.append((row_key, version))
            if after:
                batch.puts.append((row_key, after.to_bytes(8, "big")))
            else:
                batch.deletes.append(row_key)
    if too_large:
        raise CollectionsFull(too_large)


def _collection_delta(outcome: Outcome) -> int:
    old, new = outcome.old, outcome.new_item
    delta = (outcome.new_size + STORAGE_OVERHEAD_BYTES if new is not None else 0) - (
        old.size_bytes + STORAGE_OVERHEAD_BYTES if old.exists else 0
    )
    return delta + sum(
        entry.new_bytes - entry.old_bytes for entry in outcome.entries if not entry.index.schema.is_global
    )


async def _newest_change_ns(store: Store, outcomes: Sequence[Outcome]) -> int:
    """Returns the newest moment in the histories of the items that change; 0 if there is none. Another node,
    whose clock is ahead, may have given it."""
    newest_ns = 0
    for outcome in outcomes:
        history = outcome.change.table.history
        if history is None or outcome.new_record == outcome.old.record:
            continue
        low = outcome.change.row_key
        for part in history.newest_parts(low):
            rows = await store.range(part, low, low + AFTER_ITEM, limit=1, reverse=True)
            newest_ns = max(newest_ns, *(split_change_key(key)[1] for key, _ in rows), 0)
    return newest_ns


def add_history(batches: _Batches, outcomes: Sequence[Outcome], after_ns: int) -> None:
    """Stores the old images on tables with point-in-time recovery, at one moment for the whole commit, which
    is after `after_ns`."""
    at_ns = 0
    for outcome in outcomes:
        history = outcome.change.table.history
        old = outcome.old
        if history is None or outcome.new_record == old.record:
            continue
        at_ns = at_ns or history.moments.next_ns(after_ns)
        part, key = history.location(outcome.change.row_key, at_ns, old.version)
        before = old.record or b""
        batch = batches[part]
        batch.puts.append((key, before))
        batch.items_delta += 1
        batch.bytes_delta += len(key) + len(before)
