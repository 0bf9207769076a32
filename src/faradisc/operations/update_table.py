"""UpdateTable: billing mode, throughput, global indexes, deletion protection, table class.

Deletion protection and the table class change at once. Billing mode and throughput make the table
UPDATING; it serves meanwhile, and the new values hold when it is ACTIVE again. A new index is CREATING
until it is filled (tables/backfill.py), a removed one DELETING.

Checks: something to do -> settings without behaviour here -> table exists -> not in use -> each change
against what the table is now. Source of the texts: errors.md section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from faradisc.errors import LimitExceededException, ResourceNotFoundException, ValidationException
from faradisc.limits import (
    DECREASES_PER_DAY_INITIAL,
    GSI_PER_TABLE_MAX,
    TABLE_CLASS_CHANGES_PER_30_DAYS_MAX,
)
from faradisc.operations.call import Backend, Call
from faradisc.tables.catalog import stored_index, used_definitions
from faradisc.tables.definition import checked_units, global_index, invalid, refuse_unsupported
from faradisc.tables.description import describe_table
from faradisc.tables.table import TableState, Throughput

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
_DAY_NS = 86_400 * 1_000_000_000
_HOUR_NS = 3_600 * 1_000_000_000
_DAYS_30_NS = 30 * _DAY_NS


async def update_table(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    if not any(member in request for member in _CHANGES):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
        )
    index_units, created, deleted = _index_updates(request)
    refuse_unsupported(request)
    now_ns = backend.clock.now_ns()
    table = backend.table_for_control(call)

    def change(state: TableState) -> bool:
        _change_table_class(state, request, now_ns)
        if "DeletionProtectionEnabled" in request:
            state.deletion_protection = request["DeletionProtectionEnabled"]
        changed = _change_billing_mode(state, request, index_units, now_ns)
        changed = _change_table_units(state, request, now_ns) or changed
        changed = _change_index_units(state, index_units, now_ns) or changed
        return _change_indexes(state, request, created, deleted) or changed

    updated = await backend.catalog.update(table, change)
    return {"TableDescription": await describe_table(backend.store, updated)}


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
        if len(update) != 1:
            raise invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        ((kind, action),) = update.items()
        name = action["IndexName"]
        if name in seen:
            raise invalid(
                f"Only one global secondary index update per index is allowed simultaneously. Index: {name}"
            )
        seen.add(name)
        refuse_unsupported(action)
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
    names = {index["name"] for index in state.local_indexes + state.global_indexes}
    for action in created:
        if action["IndexName"] in names:
            raise ValidationException("Attempting to create an index which already exists")
    for name in deleted:
        if name not in {index["name"] for index in state.global_indexes}:
            raise ResourceNotFoundException
    changing = [index for index in state.global_indexes if index.get("status", "ACTIVE") != "ACTIVE"]
    cancelled = [index for index in changing if index["name"] in deleted and index["status"] == "CREATING"]
    if len(created) + len(deleted) + len(changing) - len(cancelled) > 1:
        raise LimitExceededException(
            "Subscriber limit exceeded: "
            "Only 1 online index can be created or deleted simultaneously per table"
        )
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
    state.pending["billing_mode"] = wanted
    if wanted == "PAY_PER_REQUEST":
        state.pending["ever_on_demand_ns"] = now_ns
        state.pending["throughput"] = asdict(Throughput())
        on_demand = asdict(Throughput())
        state.pending["global_indexes"] = [{**i, "throughput": on_demand} for i in state.global_indexes]
        return True
    if throughput is None:
        raise invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    for index in state.global_indexes:
        if index["name"] not in index_units:
            raise invalid(f"ProvisionedThroughput must be specified for index: {index['name']}")
    return True


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
    by_name = {index["name"]: index for index in state.global_indexes}
    updated = [dict(index) for index in state.global_indexes]
    for name, wanted in index_units.items():
        if name not in by_name:
            raise ValidationException(f"The table does not have the specified index: {name}")
        present = Throughput(**by_name[name]["throughput"])
        changed = asdict(_changed_throughput(present, wanted, now_ns, f"index {name}"))
        for index in updated:
            if index["name"] == name:
                index["throughput"] = changed
    state.pending["global_indexes"] = updated
    return True


def _changed_throughput(present: Throughput, wanted: tuple[int, int], now_ns: int, what: str) -> Throughput:
    """The throughput after a change, its decreases counted against the daily budget.

    Four decreases at the start of a UTC day, one more for every hour passed, never more than four at
    hand (limits.md section 6). Raises LimitExceededException.
    """
    lower = wanted[0] < present.read_units or wanted[1] < present.write_units
    higher = wanted[0] > present.read_units or wanted[1] > present.write_units
    day_start = now_ns - now_ns % _DAY_NS
    decreases = [at for at in present.decreases_ns if at >= day_start]
    if lower:
        if _decreases_at_hand(decreases, day_start, now_ns) < 1:
            raise LimitExceededException(
                "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given "
                f"UTC day. After the first {DECREASES_PER_DAY_INITIAL} decreases, each subsequent decrease "
                f"in the same UTC day can be performed at most once every 3600 seconds. Resource: {what}"
            )
        decreases.append(now_ns)
    return Throughput(
        *wanted,
        last_increase_ns=now_ns if higher else present.last_increase_ns,
        last_decrease_ns=now_ns if lower else present.last_decrease_ns,
        decreases_ns=decreases,
    )


def _decreases_at_hand(decreases: list[int], day_start_ns: int, now_ns: int) -> int:
    """Decreases that may be made now: replays the day, hour by hour."""
    at_hand = DECREASES_PER_DAY_INITIAL
    hour = day_start_ns
    spent = sorted(decreases)
    while hour <= now_ns:
        end = hour + _HOUR_NS
        at_hand -= sum(1 for at in spent if hour <= at < end)
        hour = end
        if hour <= now_ns:
            at_hand = min(at_hand + 1, DECREASES_PER_DAY_INITIAL)
    return at_hand
