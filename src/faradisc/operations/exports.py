"""ExportTableToPointInTime, DescribeExport and ListExports."""

from __future__ import annotations

import math
from typing import Any

from faradisc.clock import epoch_seconds
from faradisc.engine.derived.history import history_of, recovery_is_off
from faradisc.engine.exchange.task_store import EXPORT
from faradisc.engine.tables.names import table_not_found
from faradisc.engine.tables.table import Table
from faradisc.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.limits import (
    EXPORTS_RUNNING_MAX,
    INCREMENTAL_EXPORT_S_MAX,
    INCREMENTAL_EXPORT_S_MIN,
)
from faradisc.model.values.schema import KeySchema
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.echo import FILTER, echoed
from faradisc.operations.exchanges import (
    PAGE_SIZE,
    begin,
    begun_before,
    check_encryption,
    check_running,
    check_task_arn,
    describe,
    locations_of,
    names_of,
    page_of,
)

_SECOND_NS = 1_000_000_000
_SECONDS_MAX = 1 << 40
_ECHOED = ("S3Bucket", "S3BucketOwner", "S3Prefix", "S3SseAlgorithm", "S3SseKmsKeyId")
_OUTSIDE = "The specified ExportTime is outside of the point in time recovery window."


async def export_table_to_point_in_time(backend: Backend, call: Call) -> dict[str, Any]:
    """Starts to export a table at a point in time, or its changes between two, to a bucket.

    Checks: object storage exists -> client token -> table -> point-in-time recovery -> members that
    exclude each other -> times -> filter -> encryption -> running exports. The job finds errors of the
    bucket (engine/exchange/exporting.py), and DescribeExport shows them.
    """
    request = call.request
    locations = locations_of(backend)
    before = begun_before(backend, call, EXPORT, ExportConflictException)
    if before is not None:
        return {"ExportDescription": describe(before)}
    table = _table_of(backend, call)
    shown: dict[str, Any] = {
        "TableId": table.state.table_id,
        **{name: request[name] for name in _ECHOED if name in request},
        "ExportFormat": request.get("ExportFormat", "DYNAMODB_JSON"),
        "ExportType": request.get("ExportType", "FULL_EXPORT"),
    }
    progress = _window(backend, table, request, shown)
    if "FilterSpecification" in request:
        shown["FilterSpecification"] = _checked_filter(call, table.key)
    check_encryption(locations, request)
    check_running(backend, EXPORT, EXPORTS_RUNNING_MAX)
    # A later change must not get the exported time.
    await backend.catalog.end_past(table, progress["to_ns"])
    task = await begin(backend, call, EXPORT, table.arn, shown, progress=progress)
    return {"ExportDescription": describe(task)}


def _table_of(backend: Backend, call: Call) -> Table:
    """Raises TableNotFoundException, PointInTimeRecoveryUnavailableException."""
    arn = call.request["TableArn"]
    if not arn:
        raise ValidationException("Invalid TableArn: Invalid Table ARN")
    try:
        table = backend.tables.for_control(arn, call.region, call.account)
    except ResourceNotFoundException:
        raise table_not_found(arn) from None
    if table.state.status in ("CREATING", "DELETING"):
        raise table_not_found(arn)
    if history_of(table) is None:
        raise recovery_is_off(table)
    return table


def _window(backend: Backend, table: Table, request: dict[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
    """Returns the times to export, in nanoseconds; adds to `shown` what the description shows of them.

    Raises ValidationException, InvalidExportTimeException.
    """
    now_ns = backend.catalog.moments.now_ns()
    specification = request.get("IncrementalExportSpecification")
    if shown["ExportType"] == "FULL_EXPORT":
        if specification is not None:
            raise ValidationException(
                "IncrementalExportSpecification can only be specified when ExportType is INCREMENTAL_EXPORT"
            )
        at_ns = _moment(request.get("ExportTime"), now_ns)
        at_ns = _inside(table, at_ns, now_ns)
        shown["ExportTime"] = epoch_seconds(at_ns)
        return {"to_ns": at_ns}
    if specification is None or "ExportFromTime" not in specification:
        raise ValidationException(
            "IncrementalExportSpecification with ExportFromTime is required when ExportType is "
            "INCREMENTAL_EXPORT"
        )
    if "ExportTime" in request:
        raise ValidationException("ExportTime can only be specified when ExportType is FULL_EXPORT")
    from_ns = _moment(specification["ExportFromTime"], now_ns)
    to_ns = _moment(specification.get("ExportToTime"), now_ns)
    from_ns, to_ns = _inside(table, from_ns, now_ns), _inside(table, to_ns, now_ns)
    length_s = (to_ns - from_ns) / _SECOND_NS
    if not INCREMENTAL_EXPORT_S_MIN <= length_s <= INCREMENTAL_EXPORT_S_MAX:
        raise InvalidExportTimeException(
            "The export period must be at least 15 minutes and at most 24 hours long"
        )
    shown["IncrementalExportSpecification"] = {
        "ExportFromTime": epoch_seconds(from_ns),
        "ExportToTime": epoch_seconds(to_ns),
        "ExportViewType": specification.get("ExportViewType", "NEW_AND_OLD_IMAGES"),
    }
    return {"from_ns": from_ns, "to_ns": to_ns}


def _moment(seconds: float | None, now_ns: int) -> int:
    """Returns epoch seconds in nanoseconds, to the millisecond; the present for None."""
    if seconds is None:
        return now_ns
    if not math.isfinite(seconds) or abs(seconds) > _SECONDS_MAX:
        raise InvalidExportTimeException(_OUTSIDE)
    return round(seconds * 1000) * 1_000_000


def _inside(table: Table, at_ns: int, now_ns: int) -> int:
    """Returns a time that can be exported. Raises InvalidExportTimeException.

    Descriptions show the earliest time to the millisecond, so a request may name a time slightly before it.
    """
    history = history_of(table)
    assert history is not None
    earliest_ns = history.earliest_ns(now_ns)
    if not earliest_ns // 1_000_000 * 1_000_000 <= at_ns <= now_ns:
        raise InvalidExportTimeException(_OUTSIDE)
    return max(at_ns, earliest_ns)


def _checked_filter(call: Call, key: KeySchema) -> dict[str, Any]:
    """Returns the filter as it is stored and shown. Raises ValidationException."""
    from faradisc.engine.exchange.filtering import bind_filter  # noqa: PLC0415 - few exports have one

    specification: dict[str, Any] = echoed(call.request["FilterSpecification"], FILTER)
    if not specification:
        raise ValidationException(
            "Invalid Request: Invalid FilterSpecification: The specification can not be empty"
        )
    call.check_values(specification.get("ExpressionAttributeValues", {}))
    bind_filter(specification, key)
    return specification


async def describe_export(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the progress or result of an export."""
    arn = call.request["ExportArn"]
    region = check_task_arn(backend, call, EXPORT, arn)
    if backend.tables.namespace(region, "") != backend.tables.namespace(call.region, ""):
        raise ExportNotFoundException("Export not found: Invalid export arn")
    task = backend.exchange.tasks.find(EXPORT, arn)
    if task is None:
        raise ExportNotFoundException(f"Export not found: Export not found: {arn}")
    return {"ExportDescription": describe(task)}


async def list_exports(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the exports of the last 90 days, newest first."""
    table = call.request.get("TableArn")
    if table is not None and backend.tables.find(table, call.region, call.account) is None:
        return {"ExportSummaries": []}
    page, more = page_of(backend, call, EXPORT, call.request.get("MaxResults", PAGE_SIZE))
    return {
        "ExportSummaries": [{**names_of(task), "ExportType": task.shown["ExportType"]} for task in page],
        **more,
    }
