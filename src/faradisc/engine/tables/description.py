"""The TableDescription of CreateTable, DescribeTable, UpdateTable and DeleteTable.

Source: service.md section 3. Counts and sizes are exact and current here, unless they are taken at an
interval (counted_sizes.py); the service updates its own about every six hours.
"""

from __future__ import annotations

from typing import Any

from faradisc.clock import epoch_seconds
from faradisc.engine.sealing.state import SealState
from faradisc.engine.streams.stream import stream_arn
from faradisc.engine.tables.counted_sizes import UsageReader
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.replicas import describe_replicas
from faradisc.engine.tables.state import Elements, Restored, TableState, UnitsState, VectorIndexState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.throughput_members import describe_maximum
from faradisc.limits import REPLICA_OVERHEAD_BYTES
from faradisc.model.values.schema import IndexSchema


async def describe_table(store: UsageReader, table: Table, now_ns: int) -> dict[str, Any]:
    table = table.newest  # a table that was deleted meanwhile has no throughput
    state = table.state
    items, size_bytes = await _usage(store, table.placement.parts)
    replicas = describe_replicas(state)
    if "Replicas" in replicas:
        size_bytes += REPLICA_OVERHEAD_BYTES * items
    described: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in sorted(state.definitions)
        ],
        "TableName": state.name,
        "KeySchema": described_key(state.key_schema),
        "TableStatus": state.shown_status,
        "CreationDateTime": epoch_seconds(state.created_ns),
        "ProvisionedThroughput": _throughput(_shown(state, None, state.throughput), now_ns),
        "TableSizeBytes": size_bytes,
        "ItemCount": items,
        "TableArn": table.arn,
        "TableId": state.table_id,
    }
    if state.ever_on_demand_ns is not None:
        described["BillingModeSummary"] = {"BillingMode": state.billing_mode}
        if state.status not in ("CREATING", "UPDATING"):
            described["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] = epoch_seconds(
                state.ever_on_demand_ns
            )
    if table.local_indexes:
        described["LocalSecondaryIndexes"] = [
            await _index(store, table, index, stored.key_schema, now_ns)
            for index, stored in zip(table.local_indexes, state.local_indexes, strict=True)
        ]
    if table.global_indexes:
        described["GlobalSecondaryIndexes"] = [
            await _index(store, table, index, stored.key_schema, now_ns)
            for index, stored in zip(table.global_indexes, state.global_indexes, strict=True)
        ]
    if table.vector_indexes:
        described["VectorIndexes"] = [
            await _vector_index(store, table, index, stored)
            for index, stored in zip(table.vector_indexes, state.vector_indexes, strict=True)
        ]
    if state.stream is not None:
        described["StreamSpecification"] = {
            "StreamEnabled": True,
            "StreamViewType": state.stream.view_type,
        }
    if state.latest_stream_label is not None:
        label = state.latest_stream_label
        described["LatestStreamLabel"] = label
        described["LatestStreamArn"] = stream_arn(state.region, state.account, state.name, label)
    if state.sealing is not None and (state.sealing.enabled or state.sealing.converting):
        described["SSEDescription"] = describe_sealing(state.sealing)
    if state.table_class is not None:
        described["TableClassSummary"] = {"TableClass": state.table_class}
        if state.table_class_changes_ns and state.pending.table_class is None:
            described["TableClassSummary"]["LastUpdateDateTime"] = epoch_seconds(
                state.table_class_changes_ns[-1]
            )
    if state.restored is not None and state.status == "CREATING":
        described["RestoreSummary"] = _restore_summary(state.restored)
    described |= replicas
    described["DeletionProtectionEnabled"] = state.deletion_protection
    maximum = describe_maximum(state.on_demand_maximum)
    if maximum is not None:
        described["OnDemandThroughput"] = maximum
    described["WarmThroughput"] = _warm(table, None, state.warm is not None)
    return described


def describe_sealing(sealing: SealState) -> dict[str, Any]:
    """Returns SSEDescription. Source: iam.md section 9.1."""
    described: dict[str, Any] = {
        "Status": "UPDATING" if sealing.switching or sealing.converting else "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": sealing.key_arn,
    }
    if sealing.inaccessible_ns is not None:
        described["InaccessibleEncryptionDateTime"] = epoch_seconds(sealing.inaccessible_ns)
    return described


def _warm(table: Table, index: str | None, requested: bool) -> dict[str, Any]:
    """Returns the warm throughput; UPDATING until a new table has the one that its creation requested."""
    warm = table.meter.describe_warm(index)
    return {**warm, "Status": "UPDATING"} if requested and table.state.status == "CREATING" else warm


def _restore_summary(restored: Restored) -> dict[str, Any]:
    """Returns RestoreSummary, which only a table that is being restored shows."""
    summary: dict[str, Any] = {
        "SourceTableArn": restored.source_arn,
        "RestoreDateTime": epoch_seconds(restored.at_ns),
        "RestoreInProgress": True,
    }
    if restored.backup_arn is not None:
        summary["SourceBackupArn"] = restored.backup_arn
    return summary


async def _usage(store: UsageReader, parts: tuple[bytes, ...]) -> tuple[int, int]:
    items = size_bytes = 0
    for part in parts:
        part_items, part_bytes = await store.usage(part)
        items += part_items
        size_bytes += part_bytes
    return items, size_bytes


def described_key(elements: Elements) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in elements]


def _shown(state: TableState, index: str | None, present: UnitsState) -> UnitsState:
    """Returns the throughput that descriptions show: the new one while the table becomes provisioned."""
    if state.pending.billing_mode != "PROVISIONED":
        return present
    following = state.pending.throughput if index is None else state.pending.index_throughput.get(index)
    return following or present


def _throughput(throughput: UnitsState, now_ns: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "NumberOfDecreasesToday": len(throughput.decreases_today(now_ns)),
        "ReadCapacityUnits": throughput.read_units,
        "WriteCapacityUnits": throughput.write_units,
    }
    if throughput.last_increase_ns is not None:
        described["LastIncreaseDateTime"] = epoch_seconds(throughput.last_increase_ns)
    if throughput.last_decrease_ns is not None:
        described["LastDecreaseDateTime"] = epoch_seconds(throughput.last_decrease_ns)
    return described


async def _index(
    store: UsageReader, table: Table, index: Index, elements: Elements, now_ns: int
) -> dict[str, Any]:
    schema = index.schema
    items, size_bytes = await _usage(store, index.placement.parts)
    described: dict[str, Any] = {
        "IndexName": schema.name,
        "KeySchema": described_key(elements),
        "Projection": _projection(schema),
        "IndexSizeBytes": size_bytes,
        "ItemCount": items,
        "IndexArn": f"{table.arn}/index/{schema.name}",
    }
    if index.throughput is not None:
        described["IndexStatus"] = _status(table.state, index)
        if index.status == "CREATING":
            # The table is UPDATING while the index is prepared, and ACTIVE during the backfill.
            described["Backfilling"] = index.name not in table.state.pending.allocating
        described["ProvisionedThroughput"] = _throughput(
            _shown(table.state, index.name, index.throughput), now_ns
        )
        stored = table.state.index(index.name)
        maximum = describe_maximum(stored.on_demand_maximum)
        if maximum is not None:
            described["OnDemandThroughput"] = maximum
        described["WarmThroughput"] = _warm(table, index.name, stored.warm is not None)
    return described


def _status(state: TableState, index: Index) -> str:
    """Returns UPDATING during a change of units or of the maximum of the index itself (IndexStatus,
    service model)."""
    if state.status == "CREATING":
        return "CREATING"
    changing = index.name in {**state.pending.index_throughput, **state.pending.index_maximum}
    return "UPDATING" if changing and index.status == "ACTIVE" else index.status


def _projection(schema: IndexSchema) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": schema.projection.kind}
    if schema.projection.kind == "INCLUDE":
        projection["NonKeyAttributes"] = list(schema.projection.non_key_attributes)
    return projection


async def _vector_index(
    store: UsageReader, table: Table, index: Index, stored: VectorIndexState
) -> dict[str, Any]:
    items, size_bytes = await _usage(store, index.placement.parts)
    described: dict[str, Any] = {"IndexName": index.name}
    if stored.search_schema:
        described["SearchSchema"] = [
            {"AttributeName": name, "SearchSchemaElementType": kind} for name, kind in stored.search_schema
        ]
    described |= {
        "Projection": _projection(index.schema),
        "VectorAttribute": {"AttributeName": stored.vector_attribute},
        "Dimensions": stored.dimensions,
        "DistanceFunction": stored.distance_function,
        "IndexStatus": _status(table.state, index),
        "IndexSizeBytes": size_bytes,
        "ItemCount": items,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }
    if index.status == "CREATING":
        # False while the table is UPDATING (new-features.md section 13, rule 8).
        described["Backfilling"] = index.name not in table.state.pending.allocating
    return described
