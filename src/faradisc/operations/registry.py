"""The list of all operations, which dispatch, documentation and tests read."""

from __future__ import annotations

import re

from faradisc.model.values.checks import Wording
from faradisc.operations.backend import Access, Operation


def _family(file: str, **accesses: Access) -> list[Operation]:
    """Returns the operations that one file has, by their names."""
    return [Operation(name, access, file=file) for name, access in accesses.items()]


_LIST = (
    # Tables
    *_family(
        "tables", CreateTable="new table", DescribeTable="table", ListTables="account", DeleteTable="table"
    ),
    Operation("UpdateTable", "updated table"),
    *_family("tag_resource", TagResource="resource", UntagResource="resource", ListTagsOfResource="resource"),
    *_family("account", DescribeLimits="account", DescribeEndpoints="account"),
    *_family(
        "contributor_insights",
        UpdateContributorInsights="table or index",
        DescribeContributorInsights="table or index",
        ListContributorInsights="account",
    ),
    *_family(
        "resource_policies",
        PutResourcePolicy="resource",
        GetResourcePolicy="resource",
        DeleteResourcePolicy="resource",
    ),
    *_family(
        "global_tables",
        ListGlobalTables="account",
        DescribeGlobalTable="global table",
        DescribeGlobalTableSettings="global table",
        CreateGlobalTable="global table",
        UpdateGlobalTable="global table",
        UpdateGlobalTableSettings="global table",
        DescribeTableReplicaAutoScaling="table",
        UpdateTableReplicaAutoScaling="table",
    ),
    # Items
    Operation("PutItem", "table", file="item_writes", wording=Wording.NEW, enveloped=True),
    Operation("GetItem", "table", wording=Wording.NEW),
    Operation("UpdateItem", "table", wording=Wording.NEW, enveloped=True),
    Operation("DeleteItem", "table", file="item_writes", wording=Wording.NEW, enveloped=True),
    Operation("Query", "table or index", wording=Wording.NEW),
    Operation("Scan", "table or index", wording=Wording.NEW),
    Operation("SearchVectors", "index", wording=Wording.NEW),
    Operation("BatchGetItem", "tables", wording=Wording.NEW),
    Operation("BatchWriteItem", "tables"),
    Operation("TransactGetItems", "transaction"),
    Operation("TransactWriteItems", "transaction"),
    # PartiQL
    Operation("ExecuteStatement", "statements"),
    Operation("BatchExecuteStatement", "statements"),
    Operation("ExecuteTransaction", "statements"),
    # Time to live
    *_family("time_to_live", UpdateTimeToLive="table", DescribeTimeToLive="table"),
    # Exports and imports
    *_family(
        "exports", ExportTableToPointInTime="exported table", DescribeExport="task", ListExports="tasks"
    ),
    *_family("imports", ImportTable="imported table", DescribeImport="task", ListImports="tasks"),
    *_family(
        "bulk_operations",
        StartBulkPutItems="filled table",
        DescribeBulkOperation="task",
        ListBulkOperations="tasks",
        CancelBulkOperation="task",
    ),
    # Backups
    *_family(
        "backups",
        CreateBackup="table",
        DescribeBackup="backup",
        ListBackups="account",
        DeleteBackup="backup",
        RestoreTableFromBackup="source backup",
    ),
    *_family(
        "point_in_time_recovery",
        UpdateContinuousBackups="table",
        DescribeContinuousBackups="table",
        RestoreTableToPointInTime="source table",
    ),
    # Kinesis
    *_family(
        "kinesis_destinations",
        EnableKinesisStreamingDestination="captured table",
        DisableKinesisStreamingDestination="table",
        UpdateKinesisStreamingDestination="table",
        DescribeKinesisStreamingDestination="table",
    ),
    # Streams
    *_family(
        "streams",
        ListStreams="account",
        DescribeStream="stream",
        GetShardIterator="stream",
        GetRecords="iterator",
    ),
)

FOLLOW_LATE = frozenset(
    {
        *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "SearchVectors", "BatchGetItem"),
        *(
            "BatchWriteItem",
            "TransactGetItems",
            "TransactWriteItems",
            "ExecuteStatement",
            "ExecuteTransaction",
        ),
    }
)
"""Operations that commit at most once and use the tables in memory: they look for changes that other nodes
have made only when a table is missing, has changed or does not fit the request. All others look first."""

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _LIST}

_TASKS = re.compile("AutoScaling|Backup|Bulk|Export|Import|Restore")
FOLLOW_ALL = frozenset(filter(_TASKS.search, OPERATIONS))
"""Operations that use more than tables: they first take over everything that other nodes have changed."""

for _name in FOLLOW_ALL:
    OPERATIONS[_name].follows = "all"
for _name in FOLLOW_LATE:
    OPERATIONS[_name].follows = "late"
