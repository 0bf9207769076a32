"""What a new replica gets of the items that another one has: page by page, with their stamps."""

from __future__ import annotations

from typing import NamedTuple

from faradisc.engine.derived.replication import Replication, stamp_of
from faradisc.engine.jobs.walk import WalkPosition, next_keys
from faradisc.engine.replication.delivery import Arrival
from faradisc.engine.tables.table import Table
from faradisc.model.codec import item_record
from faradisc.storage.api import Store

ROWS_PER_PAGE = 500


class FillPage(NamedTuple):
    items: list[tuple[bytes, bytes]]
    """Record and stamp of each item."""
    moved: WalkPosition
    """The position after them."""


async def page_after(
    store: Store, source: Table, replication: Replication, position: WalkPosition
) -> FillPage:
    """Returns the items of a replica after a position. Requires: the walk is not complete.

    An item that was not written since its table is a replica has the stamp of the time 0.
    """
    part = source.placement.parts[position.slot]
    keys, moved = await next_keys(store, part, position, ROWS_PER_PAGE)
    stamps = replication.slot_parts[position.slot]
    # One view of items and stamps: what is written later is in the log.
    wanted = [*((part, key) for key in keys), *((stamps, key) for key in keys)]
    found = await store.read_many(wanted) if keys else []
    oldest = stamp_of(0, source.state.region)
    items = [
        (item_row[1], oldest if stamp_row is None else stamp_row[1])
        for item_row, stamp_row in zip(found[: len(keys)], found[len(keys) :], strict=True)
        if item_row is not None
    ]
    return FillPage(items, moved)


def arrivals_of(page: FillPage, target: Table) -> list[Arrival]:
    key_of = target.key.key_of
    return [Arrival(key_of(item_record.decode(record)), record, stamp) for record, stamp in page.items]
