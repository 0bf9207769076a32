"""Checks one stored item: it can be read, is canonical, and has the right row key."""

from __future__ import annotations

from faradisc.engine.inspection.problems import LOST
from faradisc.engine.inspection.words import read_item
from faradisc.engine.tables.layout import TableLayout
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size
from faradisc.records import dataclass
from faradisc.storage.api import Part

REWRITES = "rewrites the record in its canonical form"


@dataclass(slots=True, frozen=True)
class CheckedItem:
    """A stored item and its problem, if any."""

    item: Item | None
    """None when it cannot be read."""
    size_bytes: int
    what: str = ""
    """The problem; empty without one."""
    remedy: str = ""
    canonical: bytes | None = None
    """The correct record, where it is known and differs."""


def check_item(table: TableLayout, part: Part, row_key: bytes, payload: bytes) -> CheckedItem:
    item = read_item(payload)
    if item is None:
        return CheckedItem(None, item_record.size_of(payload), "an item cannot be read", LOST)
    size = item_size(item)
    if not _has_key(table.key, item):
        return CheckedItem(None, size, "an item lacks its key", LOST)
    if table.placement.row_key(item) != row_key or table.placement.part_of(row_key) != part:
        return CheckedItem(None, size, "an item has the row key of another one", LOST)
    canonical = item_record.encode(item, size)
    if canonical == payload:
        return CheckedItem(item, size)
    if item_record.size_of(payload) != size:
        what = "an item's record states a wrong size"
    else:
        what = "an item's record is not in its canonical form"
    return CheckedItem(item, size, what, REWRITES, canonical)


def _has_key(key: KeySchema, item: Item) -> bool:
    return all(name in item and key.types[name] in item[name] for name in key.names)
