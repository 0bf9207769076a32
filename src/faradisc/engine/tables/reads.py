"""Reads: single records, and pages of a Query or Scan.

A page reads key ranges in order. It ends when `limit` items were evaluated, when the sizes of the evaluated
items reach 1 MB, or with the last row. Evaluated means read: both bounds hold before the filter and the
projection. A page that a bound has ended names its last evaluated item, even if nothing follows it.

Sources: limits.md section 4; capacity.md section 2.2 (what a page costs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from faradisc.capacity import units
from faradisc.capacity.throttle import Throttled
from faradisc.engine.tables.charging import charge_read
from faradisc.engine.tables.paging import KeyRange, PageUsage
from faradisc.engine.tables.table import Table
from faradisc.limits import PAGE_BYTES_MAX, READ_UNIT_BYTES
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.records import dataclass, field
from faradisc.storage.api import RowReads

if TYPE_CHECKING:
    from faradisc.language.expressions.condition import Condition
    from faradisc.language.expressions.projection import Projection
    from faradisc.language.partiql.columns import Columns

ROWS_PER_READ_MAX = 4096


@dataclass(slots=True)
class Page:
    """The evaluated rows of one page."""

    records: list[bytes] = field(default_factory=list)
    """Records of the evaluated items, in order."""
    size_bytes: int = 0
    """Sum of the sizes of the evaluated items."""
    ended_by_bound: bool = False


async def read_page(
    store: RowReads,
    key_ranges: Sequence[KeyRange],
    *,
    epoch: int,
    limit: int | None,
    reverse: bool = False,
    usage: PageUsage | None = None,
) -> Page:
    """Evaluates rows until a bound is reached, or a partition without units.

    epoch: of the table. usage: None where pages are only counted. Cost: O(log n) per key range plus the rows
    read. Raises Throttled when nothing could be read; Stale.
    """
    page = Page()
    records = page.records
    total = 0
    if usage is not None:
        key_ranges = usage.pieces(key_ranges)
    for key_range in reversed(key_ranges) if reverse else key_ranges:
        if usage is not None and not usage.admit(key_range, len(records)):
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
                epoch=epoch,
            )
            payloads = [payload for _, (_, payload) in rows]
            total += item_record.sum_of_sizes(payloads)
            records += payloads
            if len(records) == limit or total >= PAGE_BYTES_MAX:
                page.ended_by_bound = True
                break
            exhausted = len(rows) < wanted and sum(map(len, payloads)) <= budget
            rest = None if exhausted or not rows else rest.starting_after(rows[-1][0], reverse=reverse)
        if usage is not None:
            usage.read(total - before)
        if page.ended_by_bound:
            break
    page.size_bytes = total
    return page


def shape_items(
    records: Sequence[bytes], condition: Condition | None, projection: Projection | Columns | None
) -> list[Any]:
    """Returns the items that match the condition, projected; as JSON text where no item must be decoded."""
    if condition is None and projection is None:
        return [item_record.json_of(payload) for payload in records]
    shown: list[Any] = []
    for payload in records:
        item = item_record.decode(payload)
        if condition is not None and not condition.matches(item):
            continue
        shown.append(item_record.json_of(payload) if projection is None else projection.apply(item))
    return shown


async def read_and_charge(
    store: RowReads, table: Table, key: Item, *, consistent: bool, in_insights: bool = True
) -> tuple[item_record.Record | None, int]:
    """Returns the record of one item, or None, and the half units its read has cost. Raises Throttled.

    in_insights: whether Contributor Insights count the read; they do not count PartiQL.
    """
    if consistent and table.strong is not None:
        await table.strong.join(table, [key])
    row_key = table.placement.row_key(key)
    part = table.placement.part_of(row_key)
    (row,) = await store.get(part, (row_key,), stale_ok=not consistent, epoch=table.epoch)
    found = row[1] if row is not None else None
    if table.late is not None and not consistent:
        at_ns = table.late.moment_ns()
        if at_ns:
            found = table.late.record_at(part, row_key, at_ns, found)
    if found is None or len(found) <= READ_UNIT_BYTES:
        # A record is never smaller than its item, so this is one unit, and its header need not be read.
        half_units = 2 if consistent else 1
    else:
        half_units = units.read_half_units(table.billed_size(found), consistent=consistent)
    throttle = charge_read(table, row_key, key if in_insights else None, half_units, consistent=consistent)
    if throttle is not None:
        raise Throttled(throttle)
    return found, half_units


async def read_records(
    store: RowReads, table: Table, keys: Sequence[Item], *, consistent: bool
) -> list[item_record.Record | None]:
    """Returns the records of several items of one table, in the order of the keys.

    store: or what an eventually consistent read sees (late.py).
    """
    if consistent and table.strong is not None:
        await table.strong.join(table, keys)
    placement = table.placement
    row_keys = [placement.row_key(key) for key in keys]
    by_part: dict[bytes, list[int]] = {}
    for position, row_key in enumerate(row_keys):
        by_part.setdefault(placement.part_of(row_key), []).append(position)
    found: list[item_record.Record | None] = [None] * len(row_keys)
    for part, positions in by_part.items():
        rows = await store.get(
            part, [row_keys[i] for i in positions], stale_ok=not consistent, epoch=table.epoch
        )
        for position, row in zip(positions, rows, strict=True):
            found[position] = row[1] if row is not None else None
    return found
