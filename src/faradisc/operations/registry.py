"""The only list of operations. Dispatch, documentation and tests read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from faradisc.operations.batch_execute_statement import batch_execute_statement
from faradisc.operations.batch_get_item import batch_get_item
from faradisc.operations.batch_write_item import batch_write_item
from faradisc.operations.call import Backend, Call
from faradisc.operations.cancel_bulk_operation import cancel_bulk_operation
from faradisc.operations.contributor_insights import (
    describe_contributor_insights,
    list_contributor_insights,
    update_contributor_insights,
)
from faradisc.operations.create_backup import create_backup
from faradisc.operations.create_table import create_table
from faradisc.operations.delete_backup import delete_backup
from faradisc.operations.delete_item import delete_item
from faradisc.operations.delete_table import delete_table
from faradisc.operations.describe_backup import describe_backup
from faradisc.operations.describe_bulk_operation import describe_bulk_operation
from faradisc.operations.describe_continuous_backups import describe_continuous_backups
from faradisc.operations.describe_endpoints import describe_endpoints
from faradisc.operations.describe_export import describe_export
from faradisc.operations.describe_import import describe_import
from faradisc.operations.describe_kinesis_streaming_destination import describe_kinesis_streaming_destination
from faradisc.operations.describe_limits import describe_limits
from faradisc.operations.describe_stream import describe_stream
from faradisc.operations.describe_table import describe_table
from faradisc.operations.describe_time_to_live import describe_time_to_live
from faradisc.operations.disable_kinesis_streaming_destination import disable_kinesis_streaming_destination
from faradisc.operations.enable_kinesis_streaming_destination import enable_kinesis_streaming_destination
from faradisc.operations.execute_statement import execute_statement
from faradisc.operations.execute_transaction import execute_transaction
from faradisc.operations.export_table_to_point_in_time import export_table_to_point_in_time
from faradisc.operations.get_item import get_item
from faradisc.operations.get_records import get_records
from faradisc.operations.get_shard_iterator import get_shard_iterator
from faradisc.operations.import_table import import_table
from faradisc.operations.list_backups import list_backups
from faradisc.operations.list_bulk_operations import list_bulk_operations
from faradisc.operations.list_exports import list_exports
from faradisc.operations.list_imports import list_imports
from faradisc.operations.list_streams import list_streams
from faradisc.operations.list_tables import list_tables
from faradisc.operations.put_item import put_item
from faradisc.operations.query import query
from faradisc.operations.restore_table_from_backup import restore_table_from_backup
from faradisc.operations.restore_table_to_point_in_time import restore_table_to_point_in_time
from faradisc.operations.scan import scan
from faradisc.operations.search_vectors import search_vectors
from faradisc.operations.start_bulk_put_items import start_bulk_put_items
from faradisc.operations.tag_resource import list_tags_of_resource, tag_resource, untag_resource
from faradisc.operations.transact_get_items import transact_get_items
from faradisc.operations.transact_write_items import transact_write_items
from faradisc.operations.update_continuous_backups import update_continuous_backups
from faradisc.operations.update_item import update_item
from faradisc.operations.update_kinesis_streaming_destination import update_kinesis_streaming_destination
from faradisc.operations.update_table import update_table
from faradisc.operations.update_time_to_live import update_time_to_live
from faradisc.values.checks import Wording

Handler = Callable[[Backend, Call], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One API action.

    `wording` and `enveloped` say in which of the service's two validation layers the operation lives
    (errors.md section 3, "Two layers in 2026").
    """

    name: str
    handler: Handler
    wording: Wording = Wording.OLD
    enveloped: bool = False


_LIST = (
    # Tables
    Operation("CreateTable", create_table),
    Operation("DescribeTable", describe_table),
    Operation("ListTables", list_tables),
    Operation("UpdateTable", update_table),
    Operation("DeleteTable", delete_table),
    Operation("TagResource", tag_resource),
    Operation("UntagResource", untag_resource),
    Operation("ListTagsOfResource", list_tags_of_resource),
    Operation("DescribeLimits", describe_limits),
    Operation("UpdateContributorInsights", update_contributor_insights),
    Operation("DescribeContributorInsights", describe_contributor_insights),
    Operation("ListContributorInsights", list_contributor_insights),
    Operation("DescribeEndpoints", describe_endpoints),
    # Items
    Operation("PutItem", put_item, wording=Wording.NEW, enveloped=True),
    Operation("GetItem", get_item, wording=Wording.NEW),
    Operation("UpdateItem", update_item, wording=Wording.NEW, enveloped=True),
    Operation("DeleteItem", delete_item, wording=Wording.NEW, enveloped=True),
    Operation("Query", query, wording=Wording.NEW),
    Operation("Scan", scan),
    Operation("SearchVectors", search_vectors, wording=Wording.NEW),
    Operation("BatchGetItem", batch_get_item, wording=Wording.NEW),
    Operation("BatchWriteItem", batch_write_item),
    Operation("TransactGetItems", transact_get_items),
    Operation("TransactWriteItems", transact_write_items),
    # PartiQL
    Operation("ExecuteStatement", execute_statement),
    Operation("BatchExecuteStatement", batch_execute_statement),
    Operation("ExecuteTransaction", execute_transaction),
    # Time to live
    Operation("UpdateTimeToLive", update_time_to_live),
    Operation("DescribeTimeToLive", describe_time_to_live),
    # Exports and imports
    Operation("ExportTableToPointInTime", export_table_to_point_in_time),
    Operation("DescribeExport", describe_export),
    Operation("ListExports", list_exports),
    Operation("ImportTable", import_table),
    Operation("DescribeImport", describe_import),
    Operation("ListImports", list_imports),
    Operation("StartBulkPutItems", start_bulk_put_items),
    Operation("DescribeBulkOperation", describe_bulk_operation),
    Operation("ListBulkOperations", list_bulk_operations),
    Operation("CancelBulkOperation", cancel_bulk_operation),
    # Backups
    Operation("CreateBackup", create_backup),
    Operation("DescribeBackup", describe_backup),
    Operation("ListBackups", list_backups),
    Operation("DeleteBackup", delete_backup),
    Operation("RestoreTableFromBackup", restore_table_from_backup),
    Operation("UpdateContinuousBackups", update_continuous_backups),
    Operation("DescribeContinuousBackups", describe_continuous_backups),
    Operation("RestoreTableToPointInTime", restore_table_to_point_in_time),
    # Kinesis
    Operation("EnableKinesisStreamingDestination", enable_kinesis_streaming_destination),
    Operation("DisableKinesisStreamingDestination", disable_kinesis_streaming_destination),
    Operation("UpdateKinesisStreamingDestination", update_kinesis_streaming_destination),
    Operation("DescribeKinesisStreamingDestination", describe_kinesis_streaming_destination),
    # Streams
    Operation("ListStreams", list_streams),
    Operation("DescribeStream", describe_stream),
    Operation("GetShardIterator", get_shard_iterator),
    Operation("GetRecords", get_records),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _LIST}
