"""The one write path: every change to an item goes through here.

A `Change` says which item, what it is to become given what it is, and under which condition. One round
for any number of changes:

    read the old images -> condition -> new image -> size -> index entries -> throughput
    -> stream record, expiry -> item collections -> one atomic commit, checked against the versions read

A commit that meets a version it did not read (another process wrote in between) does nothing; the
round starts again from fresh images. On an embedded store nothing runs between read and commit, so the
second round is never needed there.

Invariants:
1. Either everything that hangs on a change is written (item, index entries, stream record, expiry,
   collection sizes, history) or nothing.
2. A refusal is answered only after the image it rests on is on disk.
3. A change that leaves the stored bytes as they are writes nothing.
4. A change is made to the table as it is at that moment: whatever waits between looking a table up and
   writing to it, an index or a stream that has come meanwhile gets its part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from faradisc.capacity import units
from faradisc.capacity.throttle import Throttle, Throttled
from faradisc.engine.tables.charging import charge_failed, grow_partitions, try_charge_write
from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.indexes import EntryChange, entry_change
from faradisc.engine.tables.table import Table
from faradisc.engine.vectors.memory import IndexVectors
from faradisc.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    ItemCollectionSizeLimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.limits import (
    ATTRIBUTE_NAME_BYTES_MAX,
    ITEM_SIZE_BYTES_MAX,
    STORAGE_OVERHEAD_BYTES,
)
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import changed_item_size, item_size
from faradisc.storage.api import Batch, Conflict, Row, Store

ROUNDS_MAX = 100
"""Rounds before giving up on an item that others keep changing."""

PUT_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


class Matches(Protocol):
    """A bound condition; see language/expressions/condition.py."""

    def matches(self, item: Item) -> bool: ...


class Image:
    """An item as it was read: absent, or a stored record that is decoded only when looked at."""

    __slots__ = ("_item", "exists", "record", "size_bytes", "version")

    def __init__(self, row: Row | None) -> None:
        self._item: Item | None = None
        self.version = 0
        self.record: item_record.Record | None = None
        self.size_bytes = 0
        """Size of the item; 0 when absent."""
        self.exists = row is not None
        if row is not None:
            self.version, self.record = row
            self.size_bytes = item_record.size_of(self.record)

    @property
    def item(self) -> Item | None:
        if self._item is None and self.record is not None:
            self._item = item_record.decode(self.record)
        return self._item


@dataclass(slots=True)
class Change:
    """One change of one item.

    `transform` gives the new item from the old image (None: the item is deleted) and may raise
    ValidationException. `measured` turns the new item's size into what the 400 KB limit
    is held against.
    """

    table: Table
    key: Item
    transform: Callable[[Image], Item | None]
    condition: Matches | None = None
    too_large: str = PUT_TOO_LARGE
    measured: Callable[[int], int] | None = None
    written: frozenset[str] | None = None
    """The attributes that `transform` may change, so that only those are measured; None: any."""
    size: int | None = None
    """Size of the new item in bytes, where it is known beforehand."""
    by_service: bool = False
    """Not a client's change but the database's own: the stream says so."""
    insightful: bool = True
    """Counted by Contributor Insights; PartiQL is not."""
    part: bytes = field(init=False)
    row_key: bytes = field(init=False)

    def __post_init__(self) -> None:
        placement = self.table.placement
        self.row_key = placement.row_key(self.key)
        self.part = placement.part_of(self.row_key)

    @property
    def checks_only(self) -> bool:
        return self.transform is keep

    def follow_table(self) -> None:
        """Write to the table as it is now, which is not always as it was when the request was read.

        Raises ResourceNotFoundException when it was deleted.
        """
        table = self.table.newest
        if table.state.status == "DELETING":
            raise ResourceNotFoundException
        self.table = table


class Outcome:
    """What a change did: both images, and what it costs."""

    __slots__ = ("change", "collection_bytes", "entries", "new_item", "new_record", "new_size", "old")

    def __init__(self, change: Change, old: Image) -> None:
        self.change = change
        self.old = old
        self.new_item: Item | None = None
        self.new_record: bytes | None = None
        self.new_size = 0
        self.entries: list[EntryChange] = []
        self.collection_bytes: int | None = None
        """Size of the item's collection afterwards; only on tables with local indexes."""

    @property
    def write_units(self) -> int:
        """Units of the table's own part."""
        return units.write_units(self.old.size_bytes, self.new_size)

    def charge(self, consumed: units.Consumed, *, transaction: bool = False) -> None:
        """Add what this change costs. A transaction doubles the table's part, not the indexes'."""
        consumed.table += self.write_units * (4 if transaction else 2)
        for entry in self.entries:
            schema = entry.index.schema
            if entry.index.vectors is not None:
                consumed.add_vector_index(schema.name, entry.write_units)
                continue
            consumed.add_index(schema.name, entry.write_units * 2, is_global=schema.is_global)


def keep(image: Image) -> Item | None:
    """A change that leaves its item as it is: a condition check."""
    return image.item


class ConditionFailed(Exception):
    """The condition of a change was false for the image that was found."""

    def __init__(self, change: Change, image: Image) -> None:
        super().__init__("condition failed")
        self.change = change
        self.image = image

    def as_api_error(self, *, with_item: bool) -> ConditionalCheckFailedException:
        item = self.image.item if with_item else None
        return ConditionalCheckFailedException(extra={"Item": item} if item is not None else None)


class CollectionsFull(ItemCollectionSizeLimitExceededException):
    """Item collections would grow beyond their limit; by these outcomes."""

    code = "ItemCollectionSizeLimitExceededException"

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        super().__init__()
        self.outcomes = outcomes


def evaluate(change: Change, old: Image) -> Outcome:
    """What a change makes of an image. Reads and writes nothing.

    Raises: ConditionFailed; ValidationException when the new item is not allowed.
    """
    if change.condition is not None and not change.condition.matches(old.item or {}):
        raise ConditionFailed(change, old)
    outcome = Outcome(change, old)
    new = change.transform(old)
    if new is not None:
        size = change.size
        if size is None:
            size = _size_of(new, change, old)
        measured = size if change.measured is None else change.measured(size)
        if measured > ITEM_SIZE_BYTES_MAX or is_too_large(change.table, new, size):
            raise ValidationException(change.too_large)
        if size > ATTRIBUTE_NAME_BYTES_MAX or "" in new:
            _check_names(new)
        outcome.new_item = new
        outcome.new_size = size
        outcome.new_record = item_record.encode(new, size)
    if change.table.indexes and outcome.new_record != old.record:
        for index in change.table.indexes:
            entry = entry_change(index, old.item, new)
            if entry is not None:
                outcome.entries.append(entry)
    return outcome


def is_too_large(table: Table, item: Item, size: int) -> bool:
    """Whether an item of this size exceeds 400 KB, its entries in local indexes included.

    Source: limits.md section 2, documented; no capture shows the text for the entries.
    """
    if size <= ITEM_SIZE_BYTES_MAX // (1 + len(table.local_indexes)):
        return False  # no entry is larger than the item
    for index in table.local_indexes:
        entry = index.schema.entry(item)
        if entry is not None:
            size += item_size(entry)
    return size > ITEM_SIZE_BYTES_MAX


def _size_of(new: Item, change: Change, old: Image) -> int:
    if change.written is None or old.item is None:
        return item_size(new)
    return changed_item_size(new, old.item, old.size_bytes, change.written)


def _check_names(item: Item) -> None:
    """Attribute names have 1 to 65,535 bytes (limits.md section 1; the texts are not captured)."""
    if "" in item:
        raise ValidationException("One or more parameter values were invalid: Empty attribute name")
    if any(len(name.encode()) > ATTRIBUTE_NAME_BYTES_MAX for name in item):
        raise ValidationException(
            "One or more parameter values were invalid: Attribute name is too large, "
            f"must be less than {ATTRIBUTE_NAME_BYTES_MAX + 1} bytes"
        )


async def apply_change(store: Store, change: Change) -> Outcome:
    """Make one change durable.

    Raises what `evaluate` raises, Throttled, ItemCollectionSizeLimitExceededException, and
    ResourceNotFoundException for a table that was deleted meanwhile.
    """
    charged = False
    for _ in range(ROUNDS_MAX):
        if change.table.successor is not None:
            change.follow_table()
        (row,) = await store.get(change.part, (change.row_key,), for_update=True)
        old = Image(row)
        try:
            outcome = evaluate(change, old)
        except (ConditionFailed, ValidationException) as refusal:
            if not charged:
                charge_failed(change, old, condition=isinstance(refusal, ConditionFailed))
            await store.wait_durable(old.version)
            raise
        if not charged:
            refused = try_charge_write(outcome)
            if refused is not None:
                raise Throttled(refused)
            charged = True
        if await commit_outcomes(store, [outcome]):
            return outcome
    raise InternalServerError


async def apply_batch(store: Store, changes: Sequence[Change]) -> list[Outcome | Throttle]:
    """Make those of several changes, of different items, durable that have units left, in one commit.

    An answer per change, in order. Raises what `apply_change` raises but Throttled.
    """
    answers: list[Outcome | Throttle] = []
    for attempt in range(ROUNDS_MAX):
        images = await read_images(store, changes)
        outcomes = [evaluate(change, old) for change, old in zip(changes, images, strict=True)]
        if not attempt:
            answers = [try_charge_write(outcome) or outcome for outcome in outcomes]
        else:
            answers = [
                outcome if isinstance(before, Outcome) else before
                for outcome, before in zip(outcomes, answers, strict=True)
            ]
        admitted = [answer for answer in answers if isinstance(answer, Outcome)]
        if not admitted or await commit_outcomes(store, admitted):
            return answers
    raise InternalServerError


async def apply_changes(store: Store, changes: Sequence[Change]) -> list[Outcome]:
    """Make several changes, of different items, durable in one commit: the database's own, which no
    throughput is asked for and none is charged.

    Raises what `apply_change` raises but Throttled; then nothing was written.
    """
    for _ in range(ROUNDS_MAX):
        images = await read_images(store, changes)
        try:
            outcomes = [evaluate(change, old) for change, old in zip(changes, images, strict=True)]
        except (ConditionFailed, ValidationException):
            await store.wait_durable(0)
            raise
        if await commit_outcomes(store, outcomes):
            return outcomes
    raise InternalServerError


async def read_images(store: Store, changes: Sequence[Change]) -> list[Image]:
    """The old images in the order of the changes, read part by part.

    Raises ResourceNotFoundException for a table that was deleted meanwhile.
    """
    by_part: dict[bytes, list[int]] = {}
    for position, change in enumerate(changes):
        if change.table.successor is not None:
            change.follow_table()
        by_part.setdefault(change.part, []).append(position)
    images: list[Image | None] = [None] * len(changes)
    for part, positions in by_part.items():
        rows = await store.get(part, [changes[i].row_key for i in positions], for_update=True)
        for position, row in zip(positions, rows, strict=True):
            images[position] = Image(row)
    return [image for image in images if image is not None]


class _Batches:
    """One batch per part, made when first needed."""

    __slots__ = ("by_part", "expiring", "vectors")

    def __init__(self) -> None:
        self.by_part: dict[bytes, Batch] = {}
        self.expiring: list[tuple[Expiry, bytes]] = []
        """The expiry indexes that get a row, and its key."""
        self.vectors: list[tuple[IndexVectors, bytes]] = []
        """What is in memory of vector indexes, and the row keys of their entries that change."""

    def of(self, part: bytes) -> Batch:
        batch = self.by_part.get(part)
        if batch is None:
            batch = self.by_part[part] = Batch(part)
        return batch


async def commit_outcomes(
    store: Store, outcomes: Sequence[Outcome], *, also: Batch | None = None, check_all: bool = False
) -> bool:
    """Write what the outcomes say, all or nothing. False: something changed since it was read.

    `also` is committed with them. `check_all` puts items that stay as they are among the checks, which a
    transaction needs and a single write does not.
    """
    batches = _Batches()
    collected: list[Outcome] = []
    for outcome in outcomes:
        _add_item(batches, outcome, check_all=check_all)
        if outcome.change.table.collections is not None:
            collected.append(outcome)
        for entry in outcome.entries:
            if entry.index.status == "CREATING":
                await _forget_missing_entry(store, entry)
            _add_entry(batches, entry)
    if collected:
        await _add_collections(store, batches, collected)
    _add_history(batches, outcomes)
    if also is not None:
        batches.by_part[also.part] = also
    if not batches.by_part:
        await store.wait_durable(0)
        return True
    growing: list[Outcome] = []
    for outcome in outcomes:
        if outcome.change.table.meter.enforced and (
            outcome.entries or outcome.new_size != outcome.old.size_bytes
        ):
            growing.append(outcome)
            grow_partitions(outcome)  # in one go with the commit: a measuring sees both or none
    # Before, for searches while the commit is seen and its sync is waited for; and after, for a store whose
    # commits are seen later, even when nobody waits any more: it may have been made.
    if batches.vectors:
        _name_vectors(batches)
    try:
        committed = await store.commit(list(batches.by_part.values()))
    except BaseException:
        # A sync that failed or a wait that was cancelled leaves the commit made, any other error does not.
        for outcome in growing:
            outcome.change.table.meter.measure_again()
        raise
    finally:
        if batches.vectors:
            _name_vectors(batches)
        for expiry, key in batches.expiring:
            expiry.added(key)
    if isinstance(committed, Conflict):
        for outcome in growing:
            grow_partitions(outcome, undone=True)
        return False
    return True


def _name_vectors(batches: _Batches) -> None:
    """Tell the vectors in memory which rows are out of date."""
    for vectors, row_key in batches.vectors:
        vectors.written(row_key)


def _add_item(batches: _Batches, outcome: Outcome, *, check_all: bool) -> None:
    old, new_record = outcome.old, outcome.new_record
    change = outcome.change
    if new_record == old.record:
        if check_all:
            batches.of(change.part).checks.append((change.row_key, old.version))
        return
    batch = batches.of(change.part)
    batch.checks.append((change.row_key, old.version))
    table = change.table
    if table.stream is not None:
        part, entry = table.stream.entry(change.row_key, old.record, new_record, by_service=change.by_service)
        batches.of(part).log.append(entry)
    if table.capture is not None:
        part, entry = table.capture.entry(
            change.row_key, old.record, new_record, by_service=change.by_service
        )
        batches.of(part).log.append(entry)
    if table.expiry is not None:
        added = table.expiry.add_change(batches.of, change.row_key, old.item, outcome.new_item)
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


async def _forget_missing_entry(store: Store, entry: EntryChange) -> None:
    """While an index is being filled, the old image may have no entry yet: then none is replaced."""
    if entry.old_place is None:
        return
    part, row_key = entry.old_place
    (row,) = await store.get(part, (row_key,), for_update=True)
    if row is None:
        entry.delete = None
        entry.old_bytes = 0


def _add_entry(batches: _Batches, entry: EntryChange) -> None:
    vectors = entry.index.vectors
    if vectors is not None:
        batches.vectors.extend((vectors, place[1]) for place in (entry.delete, entry.put) if place)
    entry.add_to(batches.of)


async def _add_collections(store: Store, batches: _Batches, outcomes: Sequence[Outcome]) -> None:
    """Keep the sizes of item collections. Requires: the tables have local indexes.

    The sum is over the items and their entries in all local indexes, storage overhead included. Raises
    CollectionsFull.
    """
    grown: dict[tuple[bytes, bytes], int] = {}
    members: dict[tuple[bytes, bytes], list[Outcome]] = {}
    too_much: list[Outcome] = []
    for outcome in outcomes:
        placement = outcome.change.table.collections
        assert placement is not None
        row_key = placement.row_key(outcome.change.key)
        place = (placement.part_of(row_key), row_key)
        grown[place] = grown.get(place, 0) + _collection_delta(outcome)
        members.setdefault(place, []).append(outcome)
    for (part, row_key), delta in grown.items():
        (row,) = await store.get(part, (row_key,), for_update=True)
        version, before = (row[0], int.from_bytes(row[1], "big")) if row is not None else (0, 0)
        after = before + delta
        if delta > 0 and after > members[(part, row_key)][0].change.table.collection_bytes_max:
            await store.wait_durable(version)
            too_much += [outcome for outcome in members[(part, row_key)] if _collection_delta(outcome) > 0]
        for outcome in members[(part, row_key)]:
            outcome.collection_bytes = after
        if delta:
            batch = batches.of(part)
            batch.checks.append((row_key, version))
            if after:
                batch.puts.append((row_key, after.to_bytes(8, "big")))
            else:
                batch.deletes.append(row_key)
    if too_much:
        raise CollectionsFull(too_much)


def _collection_delta(outcome: Outcome) -> int:
    old, new = outcome.old, outcome.new_item
    delta = (outcome.new_size + STORAGE_OVERHEAD_BYTES if new is not None else 0) - (
        old.size_bytes + STORAGE_OVERHEAD_BYTES if old.exists else 0
    )
    return delta + sum(
        entry.new_bytes - entry.old_bytes for entry in outcome.entries if not entry.index.schema.is_global
    )


def _add_history(batches: _Batches, outcomes: Sequence[Outcome]) -> None:
    """Keep what the items were, where a table has point-in-time recovery: one moment for the whole commit."""
    at_ns = 0
    for outcome in outcomes:
        history = outcome.change.table.history
        if history is None:
            continue
        old = outcome.old
        if outcome.new_record == old.record:
            continue
        at_ns = at_ns or history.moments.next_ns()
        part, key = history.place(outcome.change.row_key, at_ns, old.version)
        before = old.record or b""
        batch = batches.of(part)
        batch.puts.append((key, before))
        batch.items_delta += 1
        batch.bytes_delta += len(key) + len(before)
