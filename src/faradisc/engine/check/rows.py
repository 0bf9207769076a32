"""Checks the items of one table, and shows them to the checks of what is derived from them.

Scans the table slot by slot in the order of row keys.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from faradisc.engine.derived.stored_items import check_item
from faradisc.engine.inspection.problems import RepairAction
from faradisc.engine.inspection.reading import StoreLook, pages, usage_problems
from faradisc.engine.inspection.words import row_words
from faradisc.engine.tables.derived import DerivedCheck
from faradisc.engine.tables.layout import TableLayout
from faradisc.limits import STORAGE_OVERHEAD_BYTES


async def walk_items(
    look: StoreLook, table: TableLayout, verifications: Sequence[DerivedCheck]
) -> AsyncIterator[None]:
    """Checks every item, and the counters of its part.

    Raises: StorageError when some part of the table cannot be read.
    """
    report = look.report
    records = RepairAction("records", resource=table.state.resource)
    tally = report.tally(table.title, "table")
    for slot, part in enumerate(table.placement.parts):
        count = size = 0
        for each in verifications:
            each.begin_slot(slot)
        async for rows in pages(look.store, part, report):
            for row_key, payload in rows:
                checked = check_item(table, part, row_key, payload)
                if checked.what:
                    repair = None if checked.canonical is None else records
                    words = row_words(table.placement, row_key)
                    report.add(table.title, checked.what, checked.remedy, words, repair)
                count += 1
                size += checked.size_bytes + STORAGE_OVERHEAD_BYTES
                for each in verifications:
                    each.see(row_key, checked.item, checked.canonical or payload)
            tally.rows += len(rows)
            for each in verifications:
                await each.page_seen()
            yield
        tally.bytes += size - count * STORAGE_OVERHEAD_BYTES
        for each in verifications:
            await each.slot_seen()
        stored = await look.store.usage(part)
        report.add_all(usage_problems(table.title, part, (count, size), stored))
