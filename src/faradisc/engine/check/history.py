"""Checks the history of a table with point-in-time recovery: readable images, each in the part of its day.

Source of the layout: engine/derived/history.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from faradisc.engine.check.derived import usage_problems
from faradisc.engine.check.inventory import Inventory, name_of
from faradisc.engine.check.items import read_item, row_words
from faradisc.engine.check.problems import LOST, Report
from faradisc.engine.check.reading import pages
from faradisc.engine.derived.history import STAMP_BYTES, split_change_key
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import DAY_NS
from faradisc.model.codec.keyspace import HASH_BYTES, slot_shift
from faradisc.storage.api import Part, ReadOnlyStore

PART_BYTES = 9
"""Length of the name of a history's part: resource, slot and day."""


async def verify_history(
    store: ReadOnlyStore, table: TableLayout, inventory: Inventory, report: Report
) -> AsyncIterator[None]:
    """Checks the images of a table. Requires: the table has point-in-time recovery."""
    assert table.state.pitr is not None
    where = f"{name_of(table)}, point-in-time recovery"
    tally = report.tally(where, "history")
    resource = table.state.pitr.resource.to_bytes(4, "big")
    if not inventory.lists_parts:
        report.notes.append(f"{where} was not checked: its days are unknown")
    for part in inventory.parts:
        if part[:4] != resource or len(part) != PART_BYTES:
            continue
        count = size = 0
        async for rows in pages(store, part, report):
            for key, payload in rows:
                reason = _reason(table, part, key, payload)
                if reason:
                    row_key = key[:-STAMP_BYTES]
                    detail = f"{row_words(table.placement, row_key)}: {reason}"
                    report.add(where, "an earlier image cannot be used", LOST, detail)
                count += 1
                size += len(key) + len(payload)
            tally.rows += len(rows)
            tally.bytes += sum(len(payload) for _, payload in rows)
            yield
        report.add_all(usage_problems(where, part, (count, size), await store.usage(part)))


def _reason(table: TableLayout, part: Part, key: bytes, payload: bytes) -> str:
    """Returns why a change is wrong; empty when it is not."""
    row_key, at_ns = split_change_key(key)
    if len(row_key) <= HASH_BYTES or row_words(table.placement, row_key).startswith("row key"):
        return "its row key is malformed"
    if row_key[0] >> slot_shift(table.state.slots) != part[4]:
        return "its item belongs to another slot"
    if at_ns // DAY_NS != int.from_bytes(part[5:], "big"):
        return "its time is on another day"
    if payload and read_item(payload) is None:
        return "the image cannot be read"
    return ""
