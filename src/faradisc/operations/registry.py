"""The list of all operations, which dispatch, documentation and tests read."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from faradisc.model.values.checks import Wording
from faradisc.operations.call import Backend, Call

Handler = Callable[[Backend, Call], Awaitable[dict[str, Any]]]


class Operation:
    """One API action, for example CreateTable: the function `create_table` in create_table.py.

    The file is imported at the first request for the action: most servers use ten of the sixty operations,
    and importing all of them, with expressions, searches and PartiQL, takes a quarter of the start.

    `wording` and `enveloped` say in which of the two validation layers of the service the operation is
    (errors.md section 3, "Two layers in 2026").
    """

    __slots__ = ("_file", "enveloped", "handler", "name", "wording")

    def __init__(
        self, name: str, *, file: str = "", wording: Wording = Wording.OLD, enveloped: bool = False
    ) -> None:
        """file: the module in this package, if it has another name than the function."""
        self.name = name
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
