"""Adds the growth of items to their partitions. Only partitions of enforced throughput split by size.

Every function here is called without an await before the commit that it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.engine.tables.change import Outcome
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.engine.throughput.meter import TableMeter
from faradisc.limits import STORAGE_OVERHEAD_BYTES


def grow_partitions(outcome: Outcome, undone: bool) -> None:
    """Adds the growth of a change. undone: its commit was not made; subtracts it again."""
    change, old = outcome.change, outcome.old
    meter = change.table.meter
    if outcome.new_size != old.size_bytes:
        before = old.size_bytes if old.exists else None
        after = outcome.new_size if outcome.new_record is not None else None
        _grow(meter, None, change.row_key, before, after, undone=undone)
    for entry in outcome.entries:
        if entry.index.vectors is not None:
            continue
        before = entry.old_bytes - STORAGE_OVERHEAD_BYTES if entry.old_bytes else None
        after = None if entry.put is None else entry.new_bytes - STORAGE_OVERHEAD_BYTES
        old_location, new_location = entry.old_location, None if entry.put is None else entry.put[:2]
        if before is not None and old_location is not None and old_location != new_location:
            _grow(meter, entry.index, old_location[1], before, None, undone=undone)
            before = None
        if new_location is not None:
            _grow(meter, entry.index, new_location[1], before, after, undone=undone)


def grow_index(table: Table, index: Index, entries: Sequence[tuple[bytes, bytes, int]], undone: bool) -> None:
    """Adds new entries of a global index: part, row key, size without storage overhead."""
    if index.name in table.meter.indexes:
        for _, row_key, size in entries:
            _grow(table.meter, index, row_key, None, size, undone=undone)


def _grow(
    meter: TableMeter,
    index: Index | None,
    row_key: bytes,
    before: int | None,
    after: int | None,
    *,
    undone: bool,
) -> None:
    """A row of the table (None) or an index changes its size; None: the row does not exist."""
    if undone:
        before, after = after, before
    own_items = index is None or index.schema.is_global
    resource = meter.resource_of(index.name if index is not None and own_items else None)
    items = (after is not None) - (before is not None) if own_items else 0
    resource.grow(row_key, (after or 0) - (before or 0), items)
