"""The only list of operations. Dispatch, documentation and tests read it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from faradisc.model.values.checks import Wording
from faradisc.operations.call import Backend, Call

Handler = Callable[[Backend, Call], Awaitable[dict[str, Any]]]


class Operation:
    """One API action: CreateTable is done by `create_table` in create_table.py.

    The file is imported when the action is first asked for. A start would otherwise read all sixty of them
    and what they stand on, expressions, searches and PartiQL, which is a quarter of it; most servers are
    asked for ten.

    `wording` and `enveloped` say in which of the service's two validation layers the operation lives
    (errors.md section 3, "Two layers in 2026").
    """

    __slots__ = ("_file", "enveloped", "handler", "name", "wording")

    def __init__(
        self, name: str, *, file: str = "", wording: Wording = Wording.OLD, enveloped: bool = False
    ) -> None:
        """file: the module in this package, where it is not named as the operation is."""
        self.name = name
        self.wording = wording
        self.enveloped = enveloped
        self._file = file or _function_name(name)
        self.handler: Handler = self._first

    def load(self) -> Handler:
        """Import the operation's file; from now on `handler` is the function in it."""
        module = import_module(f"{__package__}.{self._file}")
        self.handler = getattr(module, _function_name(self.name))
        return self.handler

    async def _first(self, backend: Backend, call: Call) -> dict[str, Any]:
        return await self.load()(backend, call)


def _function_name(operation: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()


_LIST = (
    # Tables
    Operation("CreateTable"),
    Operation("DescribeTable"),
    Operation("ListTables"),
    Operation("UpdateTable"),
    Operation("DeleteTable"),
    Operation("TagResource"),
    Operation("UntagResource", file="tag_resource"),
    Operation("ListTagsOfResource", file="tag_resource"),
    Operation("DescribeLimits"),
    Operation("UpdateContributorInsights", file="contributor_insights"),
    Operation("DescribeContributorInsights", file="contributor_insights"),
    Operation("ListContributorInsights", file="contributor_insights"),
    Operation("DescribeEndpoints"),
    Operation("GetResourcePolicy", file="resource_policies"),
    Operation("DeleteResourcePolicy", file="resource_policies"),
    Operation("ListGlobalTables", file="global_tables"),
    Operation("DescribeGlobalTable", file="global_tables"),
    Operation("DescribeGlobalTableSettings", file="global_tables"),
    # Items
    Operation("PutItem", wording=Wording.NEW, enveloped=True),
    Operation("GetItem", wording=Wording.NEW),
    Operation("UpdateItem", wording=Wording.NEW, enveloped=True),
    Operation("DeleteItem", wording=Wording.NEW, enveloped=True),
    Operation("Query", wording=Wording.NEW),
    Operation("Scan"),
    Operation("SearchVectors", wording=Wording.NEW),
    Operation("BatchGetItem", wording=Wording.NEW),
    Operation("BatchWriteItem"),
    Operation("TransactGetItems"),
    Operation("TransactWriteItems"),
    # PartiQL
    Operation("ExecuteStatement"),
    Operation("BatchExecuteStatement"),
    Operation("ExecuteTransaction"),
    # Time to live
    Operation("UpdateTimeToLive"),
    Operation("DescribeTimeToLive"),
    # Exports and imports
    Operation("ExportTableToPointInTime"),
    Operation("DescribeExport"),
    Operation("ListExports"),
    Operation("ImportTable"),
    Operation("DescribeImport"),
    Operation("ListImports"),
    Operation("StartBulkPutItems"),
    Operation("DescribeBulkOperation"),
    Operation("ListBulkOperations"),
    Operation("CancelBulkOperation"),
    # Backups
    Operation("CreateBackup"),
    Operation("DescribeBackup"),
    Operation("ListBackups"),
    Operation("DeleteBackup"),
    Operation("RestoreTableFromBackup"),
    Operation("UpdateContinuousBackups"),
    Operation("DescribeContinuousBackups"),
    Operation("RestoreTableToPointInTime"),
    # Kinesis
    Operation("EnableKinesisStreamingDestination"),
    Operation("DisableKinesisStreamingDestination"),
    Operation("UpdateKinesisStreamingDestination"),
    Operation("DescribeKinesisStreamingDestination"),
    # Streams
    Operation("ListStreams"),
    Operation("DescribeStream"),
    Operation("GetShardIterator"),
    Operation("GetRecords"),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _LIST}
