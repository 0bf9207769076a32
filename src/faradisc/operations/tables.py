"""CreateTable, DescribeTable, ListTables and DeleteTable."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import partial
from typing import Any

from faradisc.auth.resource_policy import ResourcePolicy
from faradisc.engine.derived.history import history_of
from faradisc.engine.tables.definition import checked_tags, reject_unsupported, table_definition
from faradisc.engine.tables.description import describe_table as describe
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.state import StreamSetting
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import being_updated, check_deletable
from faradisc.engine.tables.vector_definition import add_vector_indexes
from faradisc.errors import ResourceInUseException, ValidationException
from faradisc.limits import LIST_TABLES_PAGE_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

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


async def create_table(backend: Backend, call: Call) -> dict[str, Any]:
    """Starts to create a table.

    Checks: definition (engine/tables/definition.py) -> settings that are not supported -> tags -> key of
    its own -> name taken. The answer shows the table CREATING; it is ACTIVE after the transition time.
    """
    request = call.request
    name = request["TableName"]
    if name.startswith("arn:"):
        _, name = backend.tables.resolve(name, call.region, call.account)
    definition = table_definition(request)
    add_vector_indexes(definition, request)
    reject_unsupported(request)
    settings: dict[str, Any] = {
        "deletion_protection": request.get("DeletionProtectionEnabled", False),
        "table_class": request.get("TableClass"),
    }
    if definition.stream_view_type is not None:
        settings["stream"] = StreamSetting(definition.stream_view_type)
    if "Tags" in request:
        settings["tags"] = checked_tags(request["Tags"], {})
    if "ResourcePolicy" in request:
        from faradisc.operations.resource_policies import checked, new_revision  # noqa: PLC0415 - few have one

        settings["policy"] = ResourcePolicy(checked(request["ResourcePolicy"]), new_revision(backend))
    settings["sealing"] = await backend.encryption.of_new_table(
        request.get("SSESpecification"), name, call.region, call.account
    )
    table = await backend.catalog.create(name, call.region, call.account, definition, settings)
    described = await describe(backend.sizes, table, backend.clock.now_ns())
    _remove_unrequested_warm(described, request)
    for index, requested in zip(
        described.get("GlobalSecondaryIndexes", ()), request.get("GlobalSecondaryIndexes", ()), strict=True
    ):
        _remove_unrequested_warm(index, requested)
    return {"TableDescription": described}


def _remove_unrequested_warm(described: dict[str, Any], request: Mapping[str, Any]) -> None:
    """Only later descriptions show the warm throughput that a table or index has without a request."""
    if "WarmThroughput" not in request:
        described.pop("WarmThroughput", None)


async def describe_table(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns a table, its settings and its state."""
    table = backend.tables.for_description(call.request["TableName"], call.region, call.account)
    return {"Table": await describe(backend.sizes, table, backend.clock.now_ns())}


async def list_tables(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns names of tables in order, at most 100 a page."""
    request = call.request
    names = backend.tables.names(call.region, call.account)
    start = request.get("ExclusiveStartTableName")
    first = bisect_right(names, start) if start is not None else 0
    page = names[first : first + request.get("Limit", LIST_TABLES_PAGE_MAX)]
    result: dict[str, Any] = {"TableNames": page}
    if first + len(page) < len(names):
        result["LastEvaluatedTableName"] = page[-1]
    return result


async def delete_table(backend: Backend, call: Call) -> dict[str, Any]:
    """Starts to delete a table and its items.

    Checks: table exists -> not in use -> not protected -> no restore reads its history. A table with
    point-in-time recovery leaves a system backup for 35 days. Source: limits.md section 10.
    """
    table = backend.table_for_control(call)
    check_deletable(table.state)
    _check_replica(backend, table)
    if table.meter.describe_warm(None)["Status"] == "UPDATING":
        raise being_updated(table.name)
    if table.state.deletion_protection:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    _check_not_restored_from(backend, table)
    deleting = await _delete(backend, table)
    description = await describe(backend.sizes, deleting, backend.clock.now_ns())
    return {"TableDescription": {name: description[name] for name in _SHOWN if name in description}}


def _check_replica(backend: Backend, table: Table) -> None:
    """A table that is a replica leaves the others when it is deleted. Raises ValidationException,
    ResourceInUseException."""
    group = ReplicaGroup.of(table.state)
    if group is not None:
        if group.is_changing:
            raise being_updated(table.name)
        if group.strong:
            from faradisc.operations.strong_replicas import ONE_REPLICA  # noqa: PLC0415 - few tables have several

            raise ValidationException(ONE_REPLICA)
        from faradisc.operations.replica_updates import check_no_source  # noqa: PLC0415 - few tables are replicas

        check_no_source(group, table.state.region, backend.clock.now_ns())


def _check_not_restored_from(backend: Backend, table: Table) -> None:
    if backend.restores.reads_past_of(table):
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: Another table is being restored from: "
            f"{table.name}"
        )


async def _delete(backend: Backend, table: Table) -> Table:
    backup = await backend.backups.of_deleted(table) if history_of(table) is not None else None
    # Checked again: a restore may start while this waits for another change of the catalog.
    check = partial(_check_not_restored_from, backend, table)
    row_owner = backend.backups.batch_of(backup) if backup is not None else None
    deleting = await backend.catalog.delete(table, check=check, row_owner=row_owner)
    if backup is not None:
        backend.backups.put(backup)
    return deleting
