"""UpdateTable: billing mode, throughput, global and vector indexes, stream, deletion protection, table class.

Deletion protection and the table class change at once. Billing mode and throughput make the table UPDATING;
it serves requests meanwhile, and the new values take effect when it is ACTIVE again. A new index is CREATING
until it is filled (engine/tables/backfill.py), a removed one is DELETING.

Checks: a change is given -> settings that are not supported -> table exists -> not in use -> each change
against the present table. Source of the texts: errors.md section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.engine.tables.definition import (
    attribute_types,
    global_index,
    invalid,
    redefined,
    reject_unsupported,
    required_view_type,
)
from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.state import DAY_NS, StreamSetting, TableState
from faradisc.engine.tables.vector_definition import (
    change_vector_indexes,
    check_deletable,
    check_one_operation,
    vector_updates,
)
from faradisc.errors import LimitExceededException, ResourceNotFoundException, ValidationException
from faradisc.limits import GSI_PER_TABLE_MAX, TABLE_CLASS_CHANGES_PER_30_DAYS_MAX
from faradisc.operations.call import Backend, Call
from faradisc.operations.throughput_updates import IndexUpdate, ThroughputUpdate

_CHANGES = (
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "ReplicaUpdates",
    "TableClass",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "MultiRegionConsistency",
    "GlobalTableWitnessUpdates",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
    "VectorIndexUpdates",
)
_ACTIONS = (
    "GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete"
)
_DAYS_30_NS = 30 * DAY_NS


async def update_table(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    if all(request.get(member) in (None, []) for member in _CHANGES):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
        )
    now_ns = backend.clock.now_ns()
    index_updates, created, deleted = _index_updates(request)
    throughput = ThroughputUpdate(request, index_updates, now_ns)
    vectors_created, vectors_deleted = vector_updates(request)
    reject_unsupported(request)
    table = backend.table_for_control(call)
    check_deletable(table, vectors_deleted)
    warm = throughput.warm_raises(table)
    change_sealing = await backend.encryption.change_of(table, request.get("SSESpecification"))

    def change(state: TableState) -> bool:
        _change_table_class(state, request, now_ns)
        streamed = _change_stream(state, request)
        if "DeletionProtectionEnabled" in request:
            state.deletion_protection = request["DeletionProtectionEnabled"]
        changed = throughput.change(state) or streamed
        if change_sealing is not None:
            changed = change_sealing(state) or changed
        changed = _change_indexes(state, request, created, deleted) or changed
        return change_vector_indexes(state, request, vectors_created, vectors_deleted) or changed

    updated = await backend.catalog.update(table, change)
    for index, units in warm.items():
        await backend.catalog.raise_warm(updated, index, units)
    described = await describe_table(backend.store, updated, now_ns)
    if "OnDemandThroughput" in request:
        # The request is echoed, a -1 too (captured).
        described["OnDemandThroughput"] = {
            **described.get("OnDemandThroughput", {}),
            **request["OnDemandThroughput"],
        }
    return {"TableDescription": described}


def _index_updates(
    request: Mapping[str, Any],
) -> tuple[dict[str, IndexUpdate], list[Mapping[str, Any]], list[str]]:
    """Returns from GlobalSecondaryIndexUpdates: throughput by index name, indexes to create, names to delete.

    Raises ValidationException.
    """
    updates: dict[str, IndexUpdate] = {}
    created: list[Mapping[str, Any]] = []
    deleted: list[str] = []
    seen: set[str] = set()
    for update in request.get("GlobalSecondaryIndexUpdates", ()):
        actions = [(kind, update[kind]) for kind in ("Update", "Create", "Delete") if kind in update]
        if not actions:
            raise invalid(f"One of {_ACTIONS} must not be null")
        if len(actions) > 1:
            raise invalid(f"Only one of {_ACTIONS} may be specified")
        ((kind, action),) = actions
        name = action["IndexName"]
        if name in seen:
            raise invalid(
                f"Only one global secondary index update per index is allowed simultaneously. Index: {name}"
            )
        seen.add(name)
        if kind == "Create":
            created.append(action)
        elif kind == "Delete":
            deleted.append(name)
        else:
            updates[name] = IndexUpdate.of(name, action)
    return updates, created, deleted


def _change_indexes(
    state: TableState, request: Mapping[str, Any], created: list[Mapping[str, Any]], deleted: list[str]
) -> bool:
    """Adds or removes a global index. Raises ValidationException, LimitExceededException,
    ResourceNotFoundException."""
    if not created and not deleted:
        return False
    check_one_operation(state, len(created), deleted)
    names = {index.name for index in (*state.local_indexes, *state.online_indexes())}
    for action in created:
        if action["IndexName"] in names:
            raise ValidationException("Attempting to create an index which already exists")
    for name in deleted:
        if name not in {index.name for index in state.global_indexes}:
            raise ResourceNotFoundException
    billing_mode = state.pending.billing_mode or state.billing_mode
    given = attribute_types(request)
    # An attribute that is defined already keeps its type (errors.md section 6.1, captured), unless it is a
    # key of the new index.
    types = {**given, **{name: kind for name, kind in state.definitions if name in given}}
    for action in created:
        definition = global_index(action, types, names, billing_mode)
        for name, kind in definition.key_schema:
            if given[name] != types[name]:
                new = f"Schema:[SchemaElement: key{{{name}:{given[name]}:{kind}}}]"
                raise redefined(state, name, new)
        definition.status = "CREATING"
        state.global_indexes.append(definition)
        if len(state.global_indexes) > GSI_PER_TABLE_MAX:
            raise invalid(f"GlobalSecondaryIndex count exceeds the per-table limit of {GSI_PER_TABLE_MAX}")
        defined = dict(state.definitions)
        state.definitions += [(name, kind) for name, kind in types.items() if name not in defined]
        state.definitions = state.used_definitions()
    for index in state.global_indexes:
        if index.name in deleted:
            index.status = "DELETING"
    return True


def _change_stream(state: TableState, request: Mapping[str, Any]) -> bool:
    """Enables or disables the stream. Raises ValidationException.

    The texts have the words of errors.md section 6.1; the rest is not captured.
    """
    specification = request.get("StreamSpecification")
    if specification is None:
        return False
    if specification["StreamEnabled"]:
        view_type = required_view_type(specification)
        if state.stream is not None:
            raise ValidationException(f"Table already has an enabled stream: TableName: {state.name}")
        state.stream = StreamSetting(view_type)
    else:
        if state.stream is None:
            raise ValidationException(f"Table has no stream to disable: TableName: {state.name}")
        state.stream = None
    return True


def _change_table_class(state: TableState, request: Mapping[str, Any], now_ns: int) -> None:
    wanted = request.get("TableClass")
    if wanted is None or wanted == (state.table_class or "STANDARD"):
        return
    recent = [at for at in state.table_class_changes_ns if now_ns - at < _DAYS_30_NS]
    if len(recent) >= TABLE_CLASS_CHANGES_PER_30_DAYS_MAX:
        raise LimitExceededException(
            "Subscriber limit exceeded: Table class can be changed at most "
            f"{TABLE_CLASS_CHANGES_PER_30_DAYS_MAX} times in a trailing 30-day period"
        )
    state.table_class = wanted
    state.table_class_changes_ns = [*recent, now_ns]
