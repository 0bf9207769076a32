"""Global tables beside UpdateTable: the operations of version 2017.11.29, which the service does not support
any more, and what is to be seen of the auto scaling of replicas.

Source: errors.md section 6.11. No table is of version 2017.11.29, so all of these find
none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.table import Table
from faradisc.errors import GlobalTableNotFoundException, ResourceNotFoundException, ValidationException
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

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
    table, group = _replica(backend, call)
    return {"TableAutoScalingDescription": _describe_scaling(backend, table, group)}


async def update_table_replica_auto_scaling(backend: Backend, call: Call) -> dict[str, Any]:
    """Changes the scaling of writes in all replicas, and of reads in those that are named.

    Checks: replicas -> regions -> indexes -> policies. Assumed: all but the text for policies.
    """
    table, group = _replica(backend, call)
    request = call.request
    updates = [
        (each.region, index, "Write", settings)
        for index, settings in _writes(request)
        for each in group.replicas
    ]
    for replica in request.get("ReplicaUpdates", ()):
        region = replica["RegionName"]
        if group.find(region) is None:
            raise _failed(table.name, f"Replica not found: {region}")
        updates += [(region, index, "Read", settings) for index, settings in _reads(replica)]
    if not updates:
        raise _failed(table.name, "At least one update is required")
    names = {None, *(index.name for index in table.state.global_indexes)}
    for _, index, _, settings in updates:
        if index not in names:
            raise _failed(table.name, f"Index not found: {index}")
        if "ScalingPolicyUpdate" not in settings and not settings.get("AutoScalingDisabled"):
            raise _failed(
                table.name,
                "Parameters 'ScalingPolicyUpdate' are required unless auto scaling is being disabled.",
            )
    scaling = backend.replicas.scaling
    for region, index, direction, settings in updates:
        try:
            await scaling.update(table.state, region, index, direction, settings)
        except ValidationException as error:
            raise _failed(table.name, error.message or "") from error
    return {"TableAutoScalingDescription": _describe_scaling(backend, table, group)}


Settings = Mapping[str, Any]
"""AutoScalingSettingsUpdate."""


def _writes(request: Mapping[str, Any]) -> list[tuple[str | None, Settings]]:
    """Returns the changes of writes by index; None: the table's."""
    member = "ProvisionedWriteCapacityAutoScalingUpdate"
    indexes = request.get("GlobalSecondaryIndexUpdates", ())
    of_table = [(None, request[member])] if member in request else []
    return [*of_table, *((each.get("IndexName"), each[member]) for each in indexes if member in each)]


def _reads(replica: Mapping[str, Any]) -> list[tuple[str | None, Settings]]:
    """Returns the changes of reads of one replica by index; None: the table's."""
    member = "ReplicaProvisionedReadCapacityAutoScalingUpdate"
    of_index = "ProvisionedReadCapacityAutoScalingUpdate"
    of_table = [(None, replica[member])] if member in replica else []
    indexes = replica.get("ReplicaGlobalSecondaryIndexUpdates", ())
    return [*of_table, *((each.get("IndexName"), each[of_index]) for each in indexes if of_index in each)]


def _failed(name: str, why: str) -> ValidationException:
    return ValidationException(f"Failed to update settings for global table with name: ‘{name}’: {why}")


def _replica(backend: Backend, call: Call) -> tuple[Table, ReplicaGroup]:
    """Raises ResourceNotFoundException."""
    table = backend.table_for_control(call)
    group = ReplicaGroup.of(table.state)
    if group is None:
        raise ResourceNotFoundException(_missing(table.name))
    return table, group


def _describe_scaling(backend: Backend, table: Table, group: ReplicaGroup) -> dict[str, Any]:
    state = table.state
    scaling = None if state.on_demand else backend.replicas.scaling

    def settings(region: str, index: str | None, before: str) -> dict[str, Any]:
        if scaling is None:
            return {}
        return {
            f"{before}Provisioned{direction}CapacityAutoScalingSettings": scaling.describe(
                state, region, index, direction
            )
            for direction in ("Read", "Write")
        }

    replicas = []
    for each in group.replicas:
        shown: dict[str, Any] = {"RegionName": each.region, "ReplicaStatus": each.status}
        shown |= settings(each.region, None, "Replica")
        indexes = [
            {"IndexName": index.name, "IndexStatus": index.status, **settings(each.region, index.name, "")}
            for index in state.global_indexes
        ]
        if indexes and scaling is not None:
            shown["GlobalSecondaryIndexes"] = indexes
        replicas.append(shown)
    return {"TableName": table.name, "TableStatus": state.shown_status, "Replicas": replicas}


def _missing(name: str) -> str:
    return f"Global table with name: '{name}' does not exist."
