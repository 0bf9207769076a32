"""DeleteTable: a table with everything in it.

Checks: table exists -> not in use -> not protected.
"""

from __future__ import annotations

from typing import Any

from faradisc.errors import ValidationException
from faradisc.operations.call import Backend, Call
from faradisc.tables.catalog import check_not_in_use
from faradisc.tables.description import describe_table


async def delete_table(backend: Backend, call: Call) -> dict[str, Any]:
    table = backend.table_for_control(call)
    check_not_in_use(table)
    if table.state.deletion_protection:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    deleting = await backend.catalog.delete(table)
    description = await describe_table(backend.store, deleting, backend.clock.now_ns())
    return {"TableDescription": {name: description[name] for name in _SHOWN if name in description}}


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
"""A table on its way out is described without its schema."""
