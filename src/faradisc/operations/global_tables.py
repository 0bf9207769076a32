"""Global tables beside UpdateTable: the operations of version 2017.11.29, which the service does not support
any more, and what is to be seen of the auto scaling of replicas.

Source: errors.md section 6.11. No table is of version 2017.11.29, so all of these find
none.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.errors import GlobalTableNotFoundException, ResourceNotFoundException, ValidationException
from faradisc.operations.call import Backend, Call

_LEGACY = (
    "One or more parameter values were invalid: DynamoDB global tables version 2017.11.29 is not supported. "
    "We recommend using DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 (Legacy)."
)


async def list_global_tables(backend: Backend, call: Call) -> dict[str, Any]:
    return {"GlobalTables": []}


async def describe_global_table(backend: Backend, call: Call) -> dict[str, Any]:
    raise GlobalTableNotFoundException(f"Global table not found: {_missing(call.request['GlobalTableName'])}")


async def describe_global_table_settings(backend: Backend, call: Call) -> dict[str, Any]:
    raise GlobalTableNotFoundException(_missing(call.request["GlobalTableName"]))


async def create_global_table(backend: Backend, call: Call) -> dict[str, Any]:
    raise ValidationException(_LEGACY)


async def update_global_table(backend: Backend, call: Call) -> dict[str, Any]:
    updates = call.request["ReplicaUpdates"]
    if not updates or {} in updates:
        raise ValidationException("One or more parameter values were invalid")
    if any("Create" in update for update in updates):
        raise ValidationException(_LEGACY)
    raise GlobalTableNotFoundException(_missing(call.request["GlobalTableName"]))


async def update_global_table_settings(backend: Backend, call: Call) -> dict[str, Any]:
    raise GlobalTableNotFoundException(_missing(call.request["GlobalTableName"]))


async def describe_table_replica_auto_scaling(backend: Backend, call: Call) -> dict[str, Any]:
    """Replicas are on demand, so none has settings of auto scaling."""
    table = backend.table_for_control(call)
    group = ReplicaGroup.of(table.state)
    if group is None:
        raise ResourceNotFoundException(_missing(table.name))
    replicas = [{"RegionName": each.region, "ReplicaStatus": each.status} for each in group.replicas]
    described = {"TableName": table.name, "TableStatus": table.state.shown_status, "Replicas": replicas}
    return {"TableAutoScalingDescription": described}


def _missing(name: str) -> str:
    return f"Global table with name: '{name}' does not exist."
