"""The list of all operations, which dispatch, documentation and tests read."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Literal

from faradisc.model.values.checks import Wording
from faradisc.operations.call import Backend, Call

Handler = Callable[[Backend, Call], Awaitable[dict[str, Any]]]

Access = Literal[
    "account",  # `*`
    "table",  # TableName
    "table or index",  # TableName, IndexName
    "index",
    "tables",  # the tables of a batch
    "transaction",  # each action of its elements
    "statements",  # PartiQL's action of each statement
    "new table",
    "updated table",  # and its replicas that are added or removed
    "source table",  # and what a restore does to its target
    "source backup",
    "backup",
    "task",  # an export, an import or a bulk operation
    "tasks",  # `*`, or those of a table
    "exported table",  # and the bucket
    "imported table",
    "filled table",
    "global table",
    "stream",
    "iterator",  # the stream in it
    "captured table",  # and the Kinesis stream
    "resource",  # ResourceArn
]
"""The resources that an operation uses, on which its caller needs the action of the operation's name, or of
the names that access/needs.py lists. Source: iam.md section 1.2."""


class Operation:
    """One API action, for example CreateTable: the function `create_table` in tables.py.

    The file is imported at the first request for the action: most servers use ten of the sixty operations,
    and importing all of them, with expressions, searches and PartiQL, takes a quarter of the start.

    `wording` and `enveloped` say in which of the two validation layers of the service the operation is
    (errors.md section 3, "Two layers in 2026").
    """

    __slots__ = ("_file", "access", "enveloped", "handler", "name", "wording")

    def __init__(
        self,
        name: str,
        access: Access,
        *,
        file: str = "",
        wording: Wording = Wording.OLD,
        enveloped: bool = False,
    ) -> None:
        """file: the module in this package, if it has another name than the function."""
        self.name = name
        self.access = access
        self.wording = wording
        self.enveloped = enveloped
        self._file = file or _function_name(name)
        self.handler: Handler = self._first

    def load(self) -> Handler:
        """Imports the operation's file, and sets `handler` to the function in it."""
        module = import_module(f"{__package__}.{self._file}")
        self.handler = getattr(module, _function_name(self.name))
        return self.handler

    async def _first(self, backend: Backend, call: Call) -> dict[str, Any]:
        return await self.load()(backend, call)


def _function_name(operation: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()


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
    Operation("PutItem", "table", wording=Wording.NEW, enveloped=True),
    Operation("GetItem", "table", wording=Wording.NEW),
    Operation("UpdateItem", "table", wording=Wording.NEW, enveloped=True),
    Operation("DeleteItem", "table", wording=Wording.NEW, enveloped=True),
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
