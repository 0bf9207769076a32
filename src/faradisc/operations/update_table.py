"""UpdateTable: billing mode, throughput, global and vector indexes, stream, deletion protection, table class.

Deletion protection and the table class change at once. Billing mode and throughput make the table
UPDATING; it serves meanwhile, and the new values hold when it is ACTIVE again. A new index is CREATING
until it is filled (tables/backfill.py), a removed one DELETING.

Checks: something to do -> settings without behaviour here -> table exists -> not in use -> each change
against what the table is now. Source of the texts: errors.md section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from faradisc.errors import LimitExceededException, ResourceNotFoundException, ValidationException
from faradisc.limits import (
    BILLING_MODE_SWITCHES_PER_DAY_MAX,
    DECREASES_PER_DAY_INITIAL,
    GSI_PER_TABLE_MAX,
    TABLE_CLASS_CHANGES_PER_30_DAYS_MAX,
)
from faradisc.operations.call import Backend, Call
from faradisc.tables.catalog import stored_index, used_definitions
from faradisc.tables.definition import (
    checked_units,
    global_index,
    invalid,
    refuse_unsupported,
    refuse_unsupported_index,
    required_view_type,
)
from faradisc.tables.description import describe_table
from faradisc.tables.table import DAY_NS, TableState, Throughput
from faradisc.tables.vector_definition import (
    ON_DEMAND_ONLY,
    change_vector_indexes,
    check_deletable,
    check_one_operation,
    vector_updates,
)

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
_HOUR_NS = 3_600 * 1_000_000_000
_DAYS_30_NS = 30 * DAY_NS


async def update_table(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    if not any(member in request for member in _CHANGES):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
        )
    index_units, created, deleted = _index_updates(request)
    vectors_created, vectors_deleted = vector_updates(request)
    refuse_unsupported(request)
    now_ns = backend.clock.now_ns()
    table = backend.table_for_control(call)
    check_deletable(table, vectors_deleted)

    def change(state: TableState) -> bool:
        _change_table_class(state, request, now_ns)
        streamed = _change_stream(state, request)
        if "DeletionProtectionEnabled" in request:
            state.deletion_protection = request["DeletionProtectionEnabled"]
        changed = _change_billing_mode(state, request, index_units, now_ns) or streamed
        changed = _change_table_units(state, request, now_ns) or changed
        changed = _change_index_units(state, index_units, now_ns) or changed
        changed = _change_indexes(state, request, created, deleted) or changed
        return change_vector_indexes(state, request, vectors_created, vectors_deleted) or changed

    updated = await backend.catalog.update(table, change)
    return {"TableDescription": await describe_table(backend.store, updated, now_ns)}


def _index_updates(
    request: Mapping[str, Any],
) -> tuple[dict[str, tuple[int, int]], list[Mapping[str, Any]], list[str]]:
    """Of GlobalSecondaryIndexUpdates: units by index name, indexes to create, names to delete.

    Raises ValidationException.
    """
    units: dict[str, tuple[int, int]] = {}
    created: list[Mapping[str, Any]] = []
    deleted: list[str] = []
    seen: set[str] = set()
    for update in request.get("GlobalSecondaryIndexUpdates", ()):
        actions = [(kind, update[kind]) for kind in ("Update", "Create", "Delete") if kind in update]
        if len(actions) != 1:
            raise invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        ((kind, action),) = actions
        name = action["IndexName"]
        if name in seen:
            raise invalid(
                f"Only one global secondary index update per index is allowed simultaneously. Index: {name}"
            )
        seen.add(name)
        refuse_unsupported_index(action)
        if kind == "Create":
            created.append(action)
        elif kind == "Delete":
            deleted.append(name)
        elif "ProvisionedThroughput" not in action:
            raise invalid(f"ProvisionedThroughput must be specified for index: {name}")
        else:
            units[name] = checked_units(action["ProvisionedThroughput"], name)
    return units, created, deleted


def _change_indexes(
    state: TableState, request: Mapping[str, Any], created: list[Mapping[str, Any]], deleted: list[str]
) -> bool:
    """Add or remove a global index. Raises ValidationException, LimitExceededException,
    ResourceNotFoundException."""
    if not created and not deleted:
        return False
    names = {index["name"] for index in state.local_indexes + state.online_indexes()}
    for action in created:
        if action["IndexName"] in names:
            raise ValidationException("Attempting to create an index which already exists")
    for name in deleted:
        if name not in {index["name"] for index in state.global_indexes}:
            raise ResourceNotFoundException
    check_one_operation(state, len(created), deleted)
    billing_mode = state.pending.get("billing_mode", state.billing_mode)
    given = {d["AttributeName"]: d["AttributeType"] for d in request.get("AttributeDefinitions", ())}
    # A delta: an attribute that is defined already keeps its type (errors.md section 6.1, captured).
    types = {**given, **{name: kind for name, kind in state.definitions if name in given}}
    for action in created:
        definition = global_index(action, types, names, billing_mode)
        state.global_indexes.append({**stored_index(definition, None), "status": "CREATING"})
        if len(state.global_indexes) > GSI_PER_TABLE_MAX:
            raise invalid(f"GlobalSecondaryIndex count exceeds the per-table limit of {GSI_PER_TABLE_MAX}")
        defined = dict(state.definitions)
        state.definitions += [(name, kind) for name, kind in types.items() if name not in defined]
        state.definitions = used_definitions(state)
    for index in state.global_indexes:
        if index["name"] in deleted:
            index["status"] = "DELETING"
    return True


def _change_stream(state: TableState, request: Mapping[str, Any]) -> bool:
    """Switch the stream on or off. Raises ValidationException.

    The texts hold the words that errors.md section 6.1 knows of; the rest is not captured.
    """
    specification = request.get("StreamSpecification")
    if specification is None:
        return False
    if specification["StreamEnabled"]:
        view_type = required_view_type(specification)
        if state.stream is not None:
            raise ValidationException(f"Table already has an enabled stream: TableName: {state.name}")
        state.stream = {"view_type": view_type}
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


def _change_billing_mode(
    state: TableState, request: Mapping[str, Any], index_units: dict[str, tuple[int, int]], now_ns: int
) -> bool:
    wanted = request.get("BillingMode", state.billing_mode)
    throughput = request.get("ProvisionedThroughput")
    if wanted == "PAY_PER_REQUEST" and (throughput is not None or index_units):
        raise invalid(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if wanted == state.billing_mode:
        return False
    if state.vector_indexes:
        raise invalid(ON_DEMAND_ONLY)
    state.pending["billing_mode"] = wanted
    if wanted == "PAY_PER_REQUEST":
        state.on_demand_switches_ns = _switched(state.on_demand_switches_ns, now_ns)
        state.pending["ever_on_demand_ns"] = now_ns
        state.pending["throughput"] = asdict(Throughput())
        state.pending["index_throughput"] = {i["name"]: asdict(Throughput()) for i in state.global_indexes}
        return True
    if throughput is None:
        raise invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    for index in state.global_indexes:
        if index["name"] not in index_units:
            raise invalid(f"ProvisionedThroughput must be specified for index: {index['name']}")
    return True


def _switched(switches_ns: list[int], now_ns: int) -> list[int]:
    """The switches to on-demand mode of the last 24 hours with one more now (capacity.md section 2.12).

    Raises LimitExceededException.
    """
    recent = [at for at in switches_ns if now_ns - at < DAY_NS]
    if len(recent) >= BILLING_MODE_SWITCHES_PER_DAY_MAX:
        raise LimitExceededException(
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to "
            f"{BILLING_MODE_SWITCHES_PER_DAY_MAX} in 1 day(s). Last update at {_date(recent[-1])}. "
            f"Next update can be made at {_date(recent[0] + DAY_NS)}"
        )
    return [*recent, now_ns]


def _date(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns // 1_000_000_000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def _change_table_units(state: TableState, request: Mapping[str, Any], now_ns: int) -> bool:
    if "ProvisionedThroughput" not in request:
        return False
    wanted = checked_units(request["ProvisionedThroughput"])
    present = state.throughput
    if wanted == (present.read_units, present.write_units) and "billing_mode" not in state.pending:
        raise ValidationException(
            "The provisioned throughput for the table will not change. The requested value equals the "
            f"current value. Current ReadCapacityUnits provisioned for the table: {present.read_units}. "
            f"Requested ReadCapacityUnits: {wanted[0]}. Current WriteCapacityUnits provisioned for the "
            f"table: {present.write_units}. Requested WriteCapacityUnits: {wanted[1]}. Refer to the Amazon "
            "DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    state.pending["throughput"] = asdict(_changed_throughput(present, wanted, now_ns, "table"))
    return True


def _change_index_units(state: TableState, index_units: dict[str, tuple[int, int]], now_ns: int) -> bool:
    if not index_units:
        return False
    by_name = {index["name"]: Throughput(**index["throughput"]) for index in state.global_indexes}
    changed: dict[str, Any] = {}
    for name, wanted in index_units.items():
        if name not in by_name:
            raise ValidationException(f"The table does not have the specified index: {name}")
        changed[name] = asdict(_changed_throughput(by_name[name], wanted, now_ns, f"index {name}"))
    state.pending["index_throughput"] = changed
    return True


def _changed_throughput(present: Throughput, wanted: tuple[int, int], now_ns: int, what: str) -> Throughput:
    """The throughput after a change, its decreases counted against the daily quota.

    Raises LimitExceededException.
    """
    lower = wanted[0] < present.read_units or wanted[1] < present.write_units
    higher = wanted[0] > present.read_units or wanted[1] > present.write_units
    decreases = present.decreases_today(now_ns)
    if lower:
        if not _may_decrease(decreases, now_ns):
            raise LimitExceededException(
                "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given "
                f"UTC day. After the first {DECREASES_PER_DAY_INITIAL} decreases, each subsequent decrease "
                f"in the same UTC day can be performed at most once every 3600 seconds. Resource: {what}"
            )
        decreases = [*decreases, now_ns]
    return Throughput(
        *wanted,
        last_increase_ns=now_ns if higher else present.last_increase_ns,
        last_decrease_ns=now_ns if lower else present.last_decrease_ns,
        decreases_ns=decreases,
    )


def _may_decrease(today: Sequence[int], now_ns: int) -> bool:
    """Four decreases at any time of a UTC day, then one per hour since the last one.

    The measured rule (capacity.md section 2.12 and V118).
    """
    return len(today) < DECREASES_PER_DAY_INITIAL or now_ns - max(today) >= _HOUR_NS
