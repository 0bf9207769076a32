"""Secondary index entries: the change that a write makes in one index.

An entry is a record of its own in the resource of the index. It has the projected attributes, and its row key
is the index key followed by the key of the table. Entries are written in the commit of the item, so an index
never disagrees with its table.

Source of the charges: capacity.md section 2.2, "Secondary index write units".
"""

from __future__ import annotations

from typing import Any

from faradisc.capacity import units
from faradisc.engine.tables.layout import Index
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.records import dataclass
from faradisc.storage.api import Batches


@dataclass(slots=True)
class EntryChange:
    """The change of one entry: the row to delete, the row to put, and the cost."""

    index: Index
    write_units: int
    """Of a vector index: bytes, which are charged separately."""
    old_location: tuple[bytes, bytes] | None = None
    """(part, row key) of the entry before the write."""
    delete: tuple[bytes, bytes] | None = None
    """`old_location`, unless the entry stays there."""
    put: tuple[bytes, bytes, bytes] | None = None
    """(part, row key, record)"""
    old_bytes: int = 0
    new_bytes: int = 0

    def add_to(self, batches: Batches, written: list[tuple[Any, bytes]]) -> None:
        """Adds the change to the batches of a commit, and to `written` the rows of vectors in memory."""
        vectors = self.index.vectors
        if vectors is not None:
            written.extend((vectors, row[1]) for row in (self.delete, self.put) if row)
        if self.delete is not None:
            part, row_key = self.delete
            batch = batches[part]
            batch.deletes.append(row_key)
            batch.items_delta -= 1
            batch.bytes_delta -= self.old_bytes
        if self.put is not None:
            part, row_key, entry_record = self.put
            batch = batches[part]
            batch.puts.append((row_key, entry_record))
            replaced = self.delete is None and self.old_bytes > 0
            batch.items_delta += 0 if replaced else 1
            batch.bytes_delta += self.new_bytes - (self.old_bytes if replaced else 0)


def entry_change(index: Index, old: Item | None, new: Item | None) -> EntryChange | None:
    """Returns the change of an entry when `old` becomes `new`; None when the entry stays as it is."""
    schema = index.schema
    old_entry = schema.entry(old) if old is not None else None
    new_entry = schema.entry(new) if new is not None else None
    if old_entry == new_entry:
        return None
    placement = index.placement
    old_key = placement.row_key(old_entry) if old_entry is not None else None
    new_key = placement.row_key(new_entry) if new_entry is not None else None
    old_size = item_size(old_entry) if old_entry is not None else None
    new_size = item_size(new_entry) if new_entry is not None else None
    cost = units.index_write_units if index.vectors is None else units.vector_write_bytes
    change = EntryChange(
        index,
        cost(old_size, new_size, key_changed=old_key != new_key),
        old_bytes=old_size + STORAGE_OVERHEAD_BYTES if old_size is not None else 0,
        new_bytes=new_size + STORAGE_OVERHEAD_BYTES if new_size is not None else 0,
    )
    if old_key is not None:
        change.old_location = (placement.part_of(old_key), old_key)
        if old_key != new_key:
            change.delete = change.old_location
    if new_key is not None and new_entry is not None and new_size is not None:
        change.put = (placement.part_of(new_key), new_key, item_record.encode(new_entry, new_size))
    return change
