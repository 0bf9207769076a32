"""DeleteTable: start to delete a table and its items.

Checks: table exists -> not in use -> not protected -> no restore reads its history. A table with
point-in-time recovery leaves a system backup for 35 days. Source: limits.md section 10.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import check_not_in_use
from faradisc.errors import ResourceInUseException, ValidationException
from faradisc.operations.call import Backend, Call


async def delete_table(backend: Backend, call: Call) -> dict[str, Any]:
    table = backend.table_for_control(call)
    check_not_in_use(table.state)
    if table.state.deletion_protection:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    _check_not_restored_from(backend, table)
    deleting = await _delete(backend, table)
    description = await describe_table(backend.store, deleting, backend.clock.now_ns())
    return {"TableDescription": {name: description[name] for name in _SHOWN if name in description}}


def _check_not_restored_from(backend: Backend, table: Table) -> None:
    if backend.restores.reads_past_of(table):
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: Another table is being restored from: "
            f"{table.name}"
        )


async def _delete(backend: Backend, table: Table) -> Table:
    if table.history is None:
        return await backend.catalog.delete(table)
    backup = await backend.backups.of_deleted(table)
    # Checked again: a restore may start while this waits for another change of the catalog.
    check = partial(_check_not_restored_from, backend, table)
    deleting = await backend.catalog.delete(table, check=check, row_owner=backend.backups.batch_of(backup))
    backend.backups.put(backup)
    return deleting


_SHOWN = (
    "TableName",
    "TableStatus",
    "ProvisionedThroughput",
    "BillingModeSummary",
    "TableSizeBytes",
    "ItemCount",
    "TableArn",
    "TableId",
    "TableClassSummary",
    "DeletionProtectionEnabled",
)
"""Describes a table that is DELETING: without its schema."""
