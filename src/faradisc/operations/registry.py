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
    """One API action, for example CreateTable: the function `create_table` in tables.py.

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


def _family(file: str, *names: str) -> list[Operation]:
    """Returns the operations that one file has."""
    return [Operation(name, file=file) for name in names]


_LIST = (
    # Tables
    *_family("tables", "CreateTable", "DescribeTable", "ListTables", "DeleteTable"),
    Operation("UpdateTable"),
    *_family("tag_resource", "TagResource", "UntagResource", "ListTagsOfResource"),
    *_family("account", "DescribeLimits", "DescribeEndpoints"),
    *_family(
        "contributor_insights",
        "UpdateContributorInsights",
        "DescribeContributorInsights",
        "ListContributorInsights",
    ),
    *_family("resource_policies", "GetResourcePolicy", "DeleteResourcePolicy"),
    *_family("global_tables", "ListGlobalTables", "DescribeGlobalTable", "DescribeGlobalTableSettings"),
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
    *_family("time_to_live", "UpdateTimeToLive", "DescribeTimeToLive"),
    # Exports and imports
    *_family("exports", "ExportTableToPointInTime", "DescribeExport", "ListExports"),
    *_family("imports", "ImportTable", "DescribeImport", "ListImports"),
    *_family(
        "bulk_operations",
        "StartBulkPutItems",
        "DescribeBulkOperation",
        "ListBulkOperations",
        "CancelBulkOperation",
    ),
    # Backups
    *_family(
        "backups", "CreateBackup", "DescribeBackup", "ListBackups", "DeleteBackup", "RestoreTableFromBackup"
    ),
    *_family(
        "point_in_time_recovery",
        "UpdateContinuousBackups",
        "DescribeContinuousBackups",
        "RestoreTableToPointInTime",
    ),
    # Kinesis
    *_family(
        "kinesis_destinations",
        "EnableKinesisStreamingDestination",
        "DisableKinesisStreamingDestination",
        "UpdateKinesisStreamingDestination",
        "DescribeKinesisStreamingDestination",
    ),
    # Streams
    *_family("streams", "ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _LIST}
