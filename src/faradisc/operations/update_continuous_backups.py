"""UpdateContinuousBackups: point-in-time recovery on or off, and how many days it reaches back.

Checks: table exists -> it is not being created -> a period goes with switching on -> no restore reads the
history that would go. Switched off, the history is forgotten; on again, it begins anew. Assumed: the texts,
and that a period is refused when recovery is switched off.
"""

from __future__ import annotations

from typing import Any

from faradisc.errors import (
    ContinuousBackupsUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from faradisc.limits import RECOVERY_PERIOD_DAYS_DEFAULT
from faradisc.operations.call import Backend, Call


async def update_continuous_backups(backend: Backend, call: Call) -> dict[str, Any]:
    name = call.request["TableName"]
    specification = call.request["PointInTimeRecoverySpecification"]
    table = backend.table_for_backup(call, name)
    if table.state.status == "CREATING":
        raise ContinuousBackupsUnavailableException(
            f"Backups are being enabled for the table: {table.name}. Please retry later"
        )
    if table.state.status == "DELETING":
        raise TableNotFoundException(f"Table not found: {name}")
    if specification["PointInTimeRecoveryEnabled"]:
        days = specification.get("RecoveryPeriodInDays", RECOVERY_PERIOD_DAYS_DEFAULT)
        table = await backend.periods.enable(table, days)
    elif "RecoveryPeriodInDays" in specification:
        raise ValidationException(
            "RecoveryPeriodInDays can only be specified when PointInTimeRecoveryEnabled is true"
        )
    elif table.history is not None:

        def check() -> None:
            if backend.restores.reads_past_of(table):
                raise ContinuousBackupsUnavailableException(
                    f"Another table is being restored from the table: {table.name}. Please retry later"
                )

        table = await backend.periods.disable(table, check)
    return {"ContinuousBackupsDescription": backend.periods.description(table)}
