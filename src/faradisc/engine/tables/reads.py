"""Reading items: single records, and the page loop that Query and Scan share.

A page walks *key ranges* of rows in order. It ends when `limit` items were evaluated, when the sizes of
the evaluated items reach 1 MB, or when the rows do. Evaluated means read: both bounds hold before the
filter and the projection. A page that ended by a bound names its last evaluated item, even if nothing
follows it.

Sources: limits.md section 4; capacity.md section 2.2 (what a page costs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from faradisc.capacity import units
from faradisc.capacity.throttle import Throttled
from faradisc.engine.tables.charging import try_charge_read
from faradisc.engine.tables.paging import PageMeter
from faradisc.engine.tables.table import Table
from faradisc.limits import PAGE_BYTES_MAX, READ_UNIT_BYTES
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.storage.api import ReadOnlyStore

ROWS_PER_READ_MAX = 4096


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Rows of one part from `low` (inclusive) to `high` (exclusive); None is the end of the part."""

    part: bytes
    low: bytes | None
    high: bytes | None

    def starting_after(self, row_key: bytes, *, reverse: bool) -> KeyRange:
        """What is left of the key range behind a row, in reading direction."""
        if reverse:
            return KeyRange(self.part, self.low, row_key)
        return KeyRange(self.part, row_key + b"\x00", self.high)


@dataclass(slots=True)
class Page:
    """What one pass over the rows has found."""

    records: list[bytes] = field(default_factory=list)
    """Records of the evaluated items, in order."""
    size_bytes: int = 0
    """Sum of the sizes of the evaluated items."""
    ended_by_bound: bool = False


async def read_page(
    store: ReadOnlyStore,
    key_ranges: Sequence[KeyRange],
    *,
    limit: int | None,
    reverse: bool = False,
    meter: PageMeter | None = None,
) -> Page:
    """Evaluate rows until a bound is reached, or a partition that has no units left.

    Cost: O(log n) per key range plus the rows read. Raises Throttled when nothing could be read.
    """
    page = Page()
    records = page.records
    total = 0
    if meter is not None:
        key_ranges = meter.pieces(key_ranges)
    for key_range in reversed(key_ranges) if reverse else key_ranges:
        if meter is not None and not meter.admit(key_range, len(records)):
            page.ended_by_bound = True
            break
        before = total
        rest: KeyRange | None = key_range
        while rest is not None:
            wanted = ROWS_PER_READ_MAX if limit is None else min(limit - len(records), ROWS_PER_READ_MAX)
            # A record is never smaller than its item's counted size, so this reads too little at worst.
            budget = PAGE_BYTES_MAX - total
            rows = await store.range(
                rest.part,
                rest.low,
                rest.high,
                limit=wanted,
                reverse=reverse,
                max_bytes=budget,
            )
            read_bytes = 0
            for _, (_, payload) in rows:
                read_bytes += len(payload)
                total += int.from_bytes(payload[1:5], "big")
                records.append(payload)
            if len(records) == limit or total >= PAGE_BYTES_MAX:
                page.ended_by_bound = True
                break
            exhausted = len(rows) < wanted and read_bytes <= budget
            rest = None if exhausted or not rows else rest.starting_after(rows[-1][0], reverse=reverse)
        if meter is not None:
            meter.read(total - before)
        if page.ended_by_bound:
            break
    page.size_bytes = total
    return page


class Filter(Protocol):
    def matches(self, item: Item) -> bool: ...


class Projects(Protocol):
    def apply(self, item: Item) -> Item: ...


def shape_items(records: Sequence[bytes], condition: Filter | None, projection: Projects | None) -> list[Any]:
    """The items a client gets: filtered, projected; spliced as JSON where nothing has to be looked at."""
    if condition is None and projection is None:
        return [item_record.json_of(payload) for payload in records]
    shown: list[Any] = []
    for payload in records:
        item = item_record.decode(payload)
        if condition is not None and not condition.matches(item):
            continue
        shown.append(item_record.json_of(payload) if projection is None else projection.apply(item))
    return shown


async def read_charged(
    store: ReadOnlyStore, table: Table, key: Item, *, consistent: bool, insightful: bool = True
) -> tuple[item_record.Record | None, int]:
    """The record of one item, or None, and the half units its read has cost. Raises Throttled.

    insightful: counted by Contributor Insights; PartiQL is not.
    """
    row_key = table.placement.row_key(key)
    (row,) = await store.get(table.placement.part_of(row_key), (row_key,), stale_ok=not consistent)
    found = row[1] if row is not None else None
    if found is None or len(found) <= READ_UNIT_BYTES:
        # A record is never smaller than its item, so this is one unit, and its header need not be read.
        half_units = 2 if consistent else 1
    else:
        half_units = units.read_half_units(item_record.size_of(found), consistent=consistent)
    meter = table.meter
    if meter.only_counts:
        meter.read_counts[half_units] += 1
        return found, half_units
    if meter.only_asks:
        # try_charge_read without its questions: the way of most reads where throughput is enforced.
        reads = meter.reads
        if not reads.spend(row_key, half_units, meter.moment.now, not consistent):
            refused = meter.charge(reads, row_key, half_units, not consistent)
            if refused is not None:
                raise Throttled(refused)
        return found, half_units
    counted = key if insightful else None
    refused = try_charge_read(table, row_key, counted, half_units, consistent=consistent)
    if refused is not None:
        raise Throttled(refused)
    return found, half_units


async def read_records(
    store: ReadOnlyStore, table: Table, keys: Sequence[Item], *, consistent: bool
) -> list[item_record.Record | None]:
    """The records of several items of one table, in the order of the keys."""
    placement = table.placement
    row_keys = [placement.row_key(key) for key in keys]
    by_part: dict[bytes, list[int]] = {}
    for position, row_key in enumerate(row_keys):
        by_part.setdefault(placement.part_of(row_key), []).append(position)
    found: list[item_record.Record | None] = [None] * len(row_keys)
    for part, positions in by_part.items():
        rows = await store.get(part, [row_keys[i] for i in positions], stale_ok=not consistent)
        for position, row in zip(positions, rows, strict=True):
            found[position] = row[1] if row is not None else None
    return found
