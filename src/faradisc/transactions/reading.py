"""A read transaction: up to 100 items as of one moment, whichever operation asks for them.

Checks: no item twice -> conflicts -> sum of sizes -> throughput.
Source: errors.md section 6.8; capacity.md sections 2.2 and 2.11.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.capacity import units
from faradisc.codec import record
from faradisc.errors import ValidationException
from faradisc.limits import TRANSACTION_BYTES_MAX
from faradisc.storage.api import ReadOnlyStore
from faradisc.tables.charging import ItemRead, charge_reads
from faradisc.tables.table import Table
from faradisc.transactions.conflicts import ConflictDial
from faradisc.transactions.writing import DUPLICATE_TARGET, TOO_LARGE, refuse_transaction
from faradisc.values.attribute import Item


async def read_items(
    store: ReadOnlyStore,
    targets: Sequence[tuple[Table, Item]],
    conflicts: ConflictDial | None,
    *,
    insightful: bool,
) -> list[tuple[record.Record | None, int]]:
    """The record of each item, or None, and the half units its read has cost, in order.

    insightful: counted by Contributor Insights. Raises: ValidationException, TransactionCanceledException,
    and what the shortage of a whole table is told.
    """
    row_keys = [table.placement.row_key(key) for table, key in targets]
    places = [
        (table.placement.part_of(row_key), row_key)
        for (table, _), row_key in zip(targets, row_keys, strict=True)
    ]
    if len(set(places)) != len(places):
        raise ValidationException(DUPLICATE_TARGET)
    if conflicts is not None:
        conflicts.check_transaction(len(targets))
    rows = await store.read_many(places)
    records = [row[1] if row is not None else None for row in rows]
    sizes = [record.size_of(found) if found is not None else 0 for found in records]
    if sum(sizes) > TRANSACTION_BYTES_MAX:
        raise ValidationException(TOO_LARGE)
    costs = [2 * units.read_half_units(size, consistent=True) for size in sizes]
    refusals = charge_reads(
        [
            ItemRead(table, row_key, key if insightful else None, cost)
            for (table, key), row_key, cost in zip(targets, row_keys, costs, strict=True)
        ]
    )
    if any(refused is not None for refused in refusals):
        refuse_transaction(refusals, targets[0][0])
    return list(zip(records, costs, strict=True))
