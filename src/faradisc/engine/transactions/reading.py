"""A read transaction: up to 100 items as of one moment, for TransactGetItems and ExecuteTransaction.

Checks: empty keys -> no item twice -> other keys -> conflicts -> sum of sizes -> throughput. Source:
errors.md sections 4 and 6.8; capacity.md sections 2.2 and 2.11.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.capacity import units
from faradisc.engine.tables.charging import ItemRead, charge_reads
from faradisc.engine.tables.keys import check_key, has_empty_key
from faradisc.engine.tables.table import Table
from faradisc.engine.transactions.conflicts import ConflictInjector
from faradisc.engine.transactions.writing import (
    DUPLICATE_TARGET,
    TOO_LARGE,
    cancelled_by_one,
    reject_transaction,
)
from faradisc.errors import ValidationException
from faradisc.language.expressions import Projection
from faradisc.language.expressions.clauses import check_paths_into_keys
from faradisc.limits import TRANSACTION_BYTES_MAX
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.storage.api import ReadOnlyStore


async def read_items(
    store: ReadOnlyStore,
    targets: Sequence[tuple[Table, Item]],
    conflicts: ConflictInjector | None,
    projections: Sequence[Projection | None],
    *,
    in_insights: bool,
) -> list[tuple[item_record.Record | None, int]]:
    """Returns the record of each item, or None, and the half units its read has cost, in order.

    projections: of each item, checked for paths into keys. in_insights: whether Contributor Insights count
    the reads.
    Raises ValidationException, TransactionCanceledException, and the error of a whole table without units.
    """
    row_keys = _checked_row_keys(targets, projections)
    locations = [
        (table.placement.part_of(row_key), row_key)
        for (table, _), row_key in zip(targets, row_keys, strict=True)
    ]
    if conflicts is not None:
        conflicts.check_transaction(len(targets))
    epochs = {part: table.epoch for (table, _), (part, _) in zip(targets, locations, strict=True)}
    rows = await store.read_many(locations, epochs=epochs)
    records = [row[1] if row is not None else None for row in rows]
    sizes = [item_record.size_of(found) if found is not None else 0 for found in records]
    if sum(sizes) > TRANSACTION_BYTES_MAX:
        raise ValidationException(TOO_LARGE)
    costs = [
        2 * units.read_half_units(table.billed_size(found), consistent=True)
        for (table, _), found in zip(targets, records, strict=True)
    ]
    throttles = charge_reads(
        [
            ItemRead(table, row_key, key if in_insights else None, cost)
            for (table, key), row_key, cost in zip(targets, row_keys, costs, strict=True)
        ]
    )
    if any(throttle is not None for throttle in throttles):
        reject_transaction(throttles, targets[0][0])
    return list(zip(records, costs, strict=True))


def _checked_row_keys(
    targets: Sequence[tuple[Table, Item]], projections: Sequence[Projection | None]
) -> list[bytes]:
    """Returns the row keys of the items. An item named twice is reported before an invalid key, and only the
    first invalid key is reported.

    Raises ValidationException, TransactionCanceledException.
    """
    row_keys: list[bytes] = []
    invalid: tuple[int, ValidationException] | None = None
    seen: set[tuple[int, bytes]] = set()
    for position, ((table, key), projection) in enumerate(zip(targets, projections, strict=True)):
        try:
            check_key(key, table.key)
            check_paths_into_keys(table.schema, projection)
        except ValidationException as rejection:
            if has_empty_key(key, table.schema):
                raise
            invalid = invalid or (position, rejection)
            continue
        row_key = table.placement.row_key(key)
        row_keys.append(row_key)
        seen.add((id(table), row_key))
    if len(seen) != len(row_keys):
        raise ValidationException(DUPLICATE_TARGET)
    if invalid is not None:
        at, error = invalid
        raise cancelled_by_one(at, len(targets), error)
    return row_keys
