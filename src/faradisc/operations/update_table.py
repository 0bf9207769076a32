"""UpdateTable: billing mode, throughput, global and vector indexes, stream, deletion protection, table
class, replicas.

Deletion protection and the on-demand maximum of a table change at once. Billing mode, throughput, table class
and stream make the table UPDATING; it serves requests meanwhile, and the new values take effect when it is
ACTIVE again. A new index is CREATING until it is filled (engine/tables/backfill.py), a removed one is
DELETING.

Checks: changes may stand together -> settings that are not supported -> table exists -> indexes exist -> not
in use -> each change against the present table. Source of the texts: errors.md sections 6.1 and 6.10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from faradisc.engine.tables.definition import attribute_types, global_index, redefined, reject_unsupported
from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.names import no_table
from faradisc.engine.tables.replicas import WITH_OVERRIDES
from faradisc.engine.tables.state import DAY_NS, REPLICATION, StreamSetting, TableState
from faradisc.engine.tables.vector_definition import (
    change_vector_indexes,
    check_one_operation,
    several_operations,
    vector_updates,
)
from faradisc.errors import LimitExceededException, ResourceNotFoundException, ValidationException, invalid
from faradisc.limits import GSI_PER_TABLE_MAX, TABLE_CLASS_CHANGES_PER_30_DAYS_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.replica_updates import change_replicas, check_shared
from faradisc.operations.table_changes import check_admitted, check_together
from faradisc.operations.throughput_updates import IndexUpdate, ThroughputUpdate

_DAYS_30_NS = 30 * DAY_NS


async def update_table(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    now_ns = backend.clock.now_ns()
    index_updates, created, deleted = _index_updates(request)
    vectors_created, vectors_deleted = vector_updates(request)
    every_created = [action["IndexName"] for action in (*created, *vectors_created)]
    every_deleted = [*deleted, *vectors_deleted]
    check_together(request, every_created, every_deleted)
    throughput = ThroughputUpdate(request, index_updates, now_ns)
    reject_unsupported(request)
    table = backend.table_for_control(call)
    if "ReplicaUpdates" in request:
        updated = await change_replicas(backend, call, table)
        return {"TableDescription": await describe_table(backend.sizes, updated, now_ns)}
    if table.state.status == "CREATING" and table.state.restored is not None:
        raise no_table(table.name)
    if len(every_created) + len(every_deleted) > 1:
        raise several_operations()
    _check_global(table.state, index_updates, deleted)
    warm = throughput.warm_raises(table)
    change_sealing = await backend.encryption.change_of(table, request.get("SSESpecification"))

    def change(state: TableState) -> bool:
        check_admitted(state, request, index_updates, every_created, every_deleted)
        check_shared(backend, state, request)
        changed = _change_table_class(state, request, now_ns)
        changed = _change_stream(state, request) or changed
        _change_settings_replication(state, request)
        if "DeletionProtectionEnabled" in request:
            state.deletion_protection = request["DeletionProtectionEnabled"]
        changed = throughput.change(state) or changed
        if change_sealing is not None:
            changed = change_sealing(state) or changed
        changed = _change_indexes(state, request, created, deleted) or changed
        return change_vector_indexes(state, request, vectors_created, vectors_deleted) or changed

    updated = await backend.catalog.update(table, change, while_in_use=True)
    await backend.replicas.spread(updated)
    for index, units in warm.items():
        takes_ns = backend.tables.transition_ns  # the table stays ACTIVE meanwhile
        await backend.catalog.throughput.raise_warm(updated.meter, index, units, takes_ns)
    described = await describe_table(backend.sizes, updated, now_ns)
    if "OnDemandThroughput" in request:
        # The request is echoed, a -1 too (captured).
        described["OnDemandThroughput"] = {
            **described.get("OnDemandThroughput", {}),
            **request["OnDemandThroughput"],
        }
    if request.get("BillingMode") == "PAY_PER_REQUEST":
        described["TableStatus"] = "UPDATING"  # where the table has this mode already, too (captured)
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
            raise invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(actions) > 1:
            raise invalid(
                "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"
            )
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


def _check_global(state: TableState, updated: Iterable[str], deleted: Iterable[str]) -> None:
    """Raises ResourceNotFoundException for a missing index, ValidationException for a local one."""
    names = {index.name for index in state.global_indexes}
    local = {index.name for index in state.local_indexes}
    for verb, given in (("update", updated), ("delete", deleted)):
        for name in given:
            if name in local:
                raise ValidationException(
                    f"Cannot {verb} an index that is not a GlobalSecondaryIndex: {name}"
                )
            if name not in names:
                raise ResourceNotFoundException(
                    f"Requested resource not found: Index {name} for table {state.name}"
                )


def _change_indexes(
    state: TableState, request: Mapping[str, Any], created: list[Mapping[str, Any]], deleted: list[str]
) -> bool:
    """Adds or removes a global index. Raises ValidationException, LimitExceededException."""
    if not created and not deleted:
        return False
    check_one_operation(state, len(created), deleted)
    names = {index.name for index in (*state.local_indexes, *state.online_indexes())}
    for action in created:
        if action["IndexName"] in names:
            raise ValidationException("Attempting to create an index which already exists")
    billing_mode = state.pending.billing_mode or state.billing_mode
    given = attribute_types(request)
    # An attribute that is defined already keeps its type (errors.md section 6.1, captured), unless it is a
    # key of the new index.
    types = {**given, **{name: kind for name, kind in state.definitions if name in given}}
    for action in created:
        if "AttributeDefinitions" not in request:
            raise invalid(f"AttributeDefinitions is not specified for index: {action['IndexName']}")
        definition = global_index(action, types, names, billing_mode, added=True)
        for name, kind in definition.key_schema:
            if given[name] != types[name]:
                new = f"Schema:[SchemaElement: key{{{name}:{given[name]}:{kind}}}]"
                raise redefined(state, name, new)
        definition.status = "CREATING"
        state.pending.allocating.append(definition.name)
        state.global_indexes.append(definition)
        if len(state.global_indexes) > GSI_PER_TABLE_MAX:
            raise LimitExceededException(
                "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
                f"{GSI_PER_TABLE_MAX}"
            )
        defined = dict(state.definitions)
        state.definitions += [(name, kind) for name, kind in types.items() if name not in defined]
        state.definitions = state.used_definitions()
    for index in state.global_indexes:
        if index.name in deleted:
            index.status = "DELETING"
    return True


def _change_stream(state: TableState, request: Mapping[str, Any]) -> bool:
    """Enables or disables the stream. Raises ValidationException."""
    specification = request.get("StreamSpecification")
    if specification is None:
        return False
    enables, view_type = specification["StreamEnabled"], specification.get("StreamViewType")
    if enables:
        if view_type is None:
            raise invalid("If stream is being enabled then UpdateViewType is required")
        if state.stream is not None:
            raise ValidationException(f"Table already has an enabled stream: TableName: {state.name}")
        state.stream = StreamSetting(view_type)
    else:
        if view_type is not None:
            raise invalid("If stream is being disabled, then UpdateViewType must not be specified")
        if state.stream is None:
            raise ValidationException(f"Table has no stream to disable: TableName: {state.name}")
        state.stream = None
    state.pending.stream = "ENABLE" if enables else "DISABLE"
    return True


def _change_settings_replication(state: TableState, request: Mapping[str, Any]) -> None:
    """Raises ValidationException."""
    mode = request.get("GlobalTableSettingsReplicationMode")
    if mode is None:
        return
    if REPLICATION in state.features and not state.features[REPLICATION].dropped:
        raise invalid("GlobalTableSettingsReplicationMode cannot be changed for a Global Table replica")
    if mode == WITH_OVERRIDES:
        raise ValidationException(
            f"Value '{mode}' at 'GlobalTableSettingsReplicationMode' failed to satisfy constraint: Only "
            "ENABLED and DISABLED settings replication are supported for a Regional Table."
        )
    state.settings_replication = mode


def _change_table_class(state: TableState, request: Mapping[str, Any], now_ns: int) -> bool:
    """The class that the table has is accepted again, and not counted. Raises LimitExceededException."""
    wanted = request.get("TableClass")
    if wanted is None:
        return False
    recent = [at for at in state.table_class_changes_ns if now_ns - at < _DAYS_30_NS]
    if len(recent) >= TABLE_CLASS_CHANGES_PER_30_DAYS_MAX:
        raise LimitExceededException(
            "Subscriber limit exceeded: Updates to TableClass are limited to "
            f"{TABLE_CLASS_CHANGES_PER_30_DAYS_MAX} times in 30 day(s)."
        )
    state.pending.table_class = wanted
    if wanted != (state.table_class or "STANDARD"):
        state.table_class_changes_ns = [*recent, now_ns]
    return True
