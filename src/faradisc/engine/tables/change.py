"""One change of one item, and what it makes of the item that is stored: pure evaluation.

Nothing here reads or writes the store; writes.py does that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from faradisc.capacity import units
from faradisc.engine.tables.indexes import EntryChange, entry_change
from faradisc.engine.tables.table import StampCheck, Table
from faradisc.errors import (
    EMPTY_NAME,
    ConditionalCheckFailedException,
    ItemCollectionSizeLimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.limits import ATTRIBUTE_NAME_BYTES_MAX, ITEM_SIZE_BYTES_MAX
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import changed_item_size, item_size
from faradisc.records import dataclass, field
from faradisc.storage.api import Row

if TYPE_CHECKING:
    from faradisc.language.expressions.condition import Condition

PUT_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


class Image:
    """An item as it is stored, or its absence. The record is decoded when the item is first needed."""

    __slots__ = ("_item", "exists", "record", "size_bytes", "version")

    def __init__(self, row: Row | None) -> None:
        self._item: Item | None = None
        self.version = 0
        self.record: item_record.Record | None = None
        self.size_bytes = 0
        """Size of the item, by which the 400 KB are counted; 0 when absent."""
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
    """One change of one item of a table."""

    table: Table
    key: Item
    new: Item | item_record.Record | Callable[[Image], Item | None] | None
    """The new item, or its record, which another replica has checked, or a function that returns it for an
    image and may raise ValidationException; None deletes the item."""
    condition: Condition | None = None
    too_large: str = PUT_TOO_LARGE
    """Message for an item above 400 KB."""
    written: frozenset[str] | None = None
    """The attributes that `new` may change, so that only these are measured; None: any."""
    size: int | None = None
    """Size of the new item in bytes, where it is known before."""
    by_service: bool = False
    """Made by the database itself, not for a client; stream records say so."""
    stamp: bytes | None = None
    """Of a write that arrives from another replica (engine/derived/replication.py)."""
    together: bytes | None = None
    """The region of the write of the same commit that it copies into another replica (strong.py)."""
    reached: int | None = None
    """How many replicas its commit changes too; None: it is no write of a strongly consistent replica."""
    elsewhere: Sequence[StampCheck] = ()
    """The stamps that the item must have in other replicas: these write meanwhile, on a shared store."""
    in_insights: bool = True
    """Whether Contributor Insights count it; they do not count PartiQL."""
    row_key: bytes = b""
    """Of the item; it follows from the key, and is given where it is known before."""
    part: bytes = field(init=False)

    def __post_init__(self) -> None:
        placement = self.table.placement
        self.row_key = self.row_key or placement.row_key(self.key)
        self.part = placement.part_of(self.row_key)

    @property
    def location(self) -> tuple[bytes, bytes]:
        return self.part, self.row_key

    @property
    def checks_only(self) -> bool:
        return self.new is keep

    def billed_size(self, old: Image) -> int:
        """Returns the bytes for which the stored item is charged."""
        return self.table.billed_size(old.record) if self.table.vectors else old.size_bytes

    def follow_table(self) -> None:
        """Continues with the newest state of the table, which may have changed since the request was read.

        Raises ResourceNotFoundException when the table has been deleted.
        """
        table = self.table.newest
        if table.state.status == "DELETING":
            raise ResourceNotFoundException
        self.table = table


def keep(image: Image) -> Item | None:
    """The function of a condition check: the item stays as it is."""
    return image.item


class Outcome:
    """What a change does: both images, the index entries, and the cost."""

    __slots__ = ("change", "collection_bytes", "decoded", "entries", "new_record", "new_size", "old")

    def __init__(self, change: Change, old: Image) -> None:
        self.change = change
        self.old = old
        self.decoded: Item | None = None
        """The new item; None where only its record is known so far."""
        self.new_record: bytes | None = None
        self.new_size = 0
        self.entries: list[EntryChange] = []
        self.collection_bytes: int | None = None
        """Size of the item's collection after the change; only on tables with local indexes."""

    @property
    def new_item(self) -> Item | None:
        if self.decoded is None and self.new_record is not None:
            self.decoded = item_record.decode(self.new_record)
        return self.decoded

    @property
    def write_units(self) -> int:
        """Units for the item itself, without index entries."""
        table, old_size, new_size = self.change.table, self.old.size_bytes, self.new_size
        if table.vectors:
            old_size = table.billed_size(self.old.record)
            new_size += table.vector_bytes(self.new_item or {})
        return units.write_units(old_size, new_size)

    def add_cost_to(self, consumed: units.Consumed, *, transaction: bool = False) -> None:
        """A transaction doubles the cost of the table, not that of indexes."""
        consumed.table += self.write_units * (4 if transaction else 2)
        for entry in self.entries:
            schema = entry.index.schema
            if entry.index.vectors is not None:
                consumed.add_vector_index(schema.name, entry.write_units)
                continue
            consumed.add_index(schema.name, entry.write_units * 2, is_global=schema.is_global)


class ConditionFailed(Exception):
    """The condition of a change is false for the stored item."""

    def __init__(self, change: Change, image: Image) -> None:
        super().__init__("condition failed")
        self.change = change
        self.image = image

    def as_api_error(self, *, with_item: bool) -> ConditionalCheckFailedException:
        item = self.image.item if with_item else None
        return ConditionalCheckFailedException(extra={"Item": item} if item is not None else None)


class CollectionsFull(ItemCollectionSizeLimitExceededException):
    """Raised when item collections would exceed their limit; `outcomes` are the changes that grow them."""

    code = "ItemCollectionSizeLimitExceededException"

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        super().__init__()
        self.outcomes = outcomes


def evaluate(change: Change, old: Image) -> Outcome:
    """Returns what a change makes of an image.

    Raises ConditionFailed; ValidationException when the new item is not allowed.
    """
    if change.condition is not None and not change.condition.matches(old.item or {}):
        raise ConditionFailed(change, old)
    outcome = Outcome(change, old)
    new = change.new
    if callable(new):
        new = new(old)
    if isinstance(new, bytes):
        outcome.new_record, outcome.new_size = new, item_record.size_of(new)
    elif new is not None:
        size = change.size
        if size is None:
            size = _size_of(new, change, old)
        local = change.table.local_indexes  # without one, no entry adds to the size
        if size > ITEM_SIZE_BYTES_MAX or (local and is_too_large(change.table, new, size)):
            raise ValidationException(change.too_large)
        if size > ATTRIBUTE_NAME_BYTES_MAX or "" in new:
            check_names(new)
        outcome.decoded, outcome.new_record, outcome.new_size = new, item_record.encode(new, size), size
    if change.table.indexes and outcome.new_record != old.record:
        for index in change.table.indexes:
            entry = entry_change(index, old.item, outcome.new_item)
            if entry is not None:
                outcome.entries.append(entry)
    return outcome


def is_too_large(table: Table, item: Item, size: int) -> bool:
    """Whether an item of this size exceeds 400 KB together with its entries in local indexes.

    Source: limits.md section 2, documented; the text for the entries is not captured.
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


def check_names(item: Item) -> None:
    """Attribute names have 1 to 65,535 bytes (limits.md section 1; the text for longer ones is assumed).

    Raises ValidationException.
    """
    if "" in item:
        raise ValidationException(EMPTY_NAME)
    if any(len(name.encode()) > ATTRIBUTE_NAME_BYTES_MAX for name in item):
        raise ValidationException(
            "One or more parameter values were invalid: Attribute name is too large, "
            f"must be less than {ATTRIBUTE_NAME_BYTES_MAX + 1} bytes"
        )
