"""UpdateContinuousBackups: enable or disable point-in-time recovery, or set its period in days.

Checks: table exists -> it is not CREATING -> a period only when enabling -> no restore reads the history that
is dropped. Disabling drops the history; enabling starts a new one. Assumed: the texts, and that a period is
rejected when recovery is disabled.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.table import Table
from faradisc.errors import (
    ContinuousBackupsUnavailableException,
    ResourceNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from faradisc.limits import RECOVERY_PERIOD_DAYS_DEFAULT
from faradisc.operations.call import Backend, Call


async def update_continuous_backups(backend: Backend, call: Call) -> dict[str, Any]:
    name = call.request["TableName"]
    table = backend.table_for_backup(call, name)
    try:
        table = await _update(backend, table, call.request["PointInTimeRecoverySpecification"])
    except ResourceNotFoundException:  # deleted while this waited for another change of the table
        raise TableNotFoundException(f"Table not found: {name}") from None
    return {"ContinuousBackupsDescription": backend.periods.description(table)}


async def _update(backend: Backend, table: Table, specification: dict[str, Any]) -> Table:
    """Returns the table as changed."""
    if table.state.status == "CREATING":
        raise ContinuousBackupsUnavailableException(
            f"Backups are being enabled for the table: {table.name}. Please retry later"
        )
    if table.state.status == "DELETING":
        raise TableNotFoundException(f"Table not found: {table.name}")
    if specification["PointInTimeRecoveryEnabled"]:
        days = specification.get("RecoveryPeriodInDays", RECOVERY_PERIOD_DAYS_DEFAULT)
        return await backend.periods.enable(table, days)
    if "RecoveryPeriodInDays" in specification:
        raise ValidationException(
            "RecoveryPeriodInDays can only be specified when PointInTimeRecoveryEnabled is true"
        )
    if table.history is not None:

        def check() -> None:
            if backend.restores.reads_past_of(table):
                raise ContinuousBackupsUnavailableException(
                    f"Another table is being restored from the table: {table.name}. Please retry later"
                )

        return await backend.periods.disable(table, check)
    return table
