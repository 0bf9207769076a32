"""Scan: all items of a table or an index in hash order, or those of one of several segments.

Checks: mixing -> placeholders -> start key values -> filter and projection -> Select -> segments -> table ->
index -> start key.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.paging import KeyRange
from faradisc.errors import INVALID_START, ValidationException
from faradisc.language.expressions.clauses import (
    bind_search,
    check_paths_into_keys,
    check_select,
    search_placeholders,
)
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.search import Search, find_index, needs_items, run, start_position

_EXPRESSIONS = ("ProjectionExpression", "FilterExpression")
_LEGACY = ("AttributesToGet", "ScanFilter", "ConditionalOperator")


async def scan(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    placeholders = search_placeholders(call, _EXPRESSIONS, _LEGACY)
    condition, projection = bind_search(call, placeholders, "ScanFilter")
    placeholders.check_all_used()
    check_select(request)
    segment, total = _segment(request)
    table = backend.table_for_data(call, request["TableName"])
    index = find_index(table, request, call.operation)
    check_paths_into_keys(table.schema, condition, projection)
    placement = index.placement if index is not None else table.placement
    key_ranges = [KeyRange(*bounds) for bounds in placement.hash_ranges(segment, total)]
    fetches_items = needs_items(request, index, projection, None)
    if "ExclusiveStartKey" in request:
        start = start_position(call, table, index)
        key_ranges = _behind(key_ranges, placement.part_of(start), start, segment, total)
    search = Search(
        store=backend.store,
        table=table,
        index=index,
        key_ranges=key_ranges,
        condition=condition,
        projection=projection,
        consistent=request.get("ConsistentRead", False),
        limit=request.get("Limit"),
        reverse=False,
        count_only=request.get("Select") == "COUNT",
        fetches_items=fetches_items,
        scans=True,
    )
    return await run(call, search)


def _segment(request: dict[str, Any]) -> tuple[int, int]:
    """Returns Segment and TotalSegments, (0, 1) when absent. Raises ValidationException."""
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is None and total is None:
        return 0, 1
    if total is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if segment is None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present"
        )
    if segment >= total:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments"
        )
    return segment, total


def _behind(
    key_ranges: list[KeyRange], part: bytes, row_key: bytes, segment: int, total: int
) -> list[KeyRange]:
    """Returns the part of a segment after a start key. Raises ValidationException."""
    for position, key_range in enumerate(key_ranges):
        inside = (key_range.low is None or row_key >= key_range.low) and (
            key_range.high is None or row_key < key_range.high
        )
        if key_range.part == part and inside:
            return [key_range.starting_after(row_key, reverse=False), *key_ranges[position + 1 :]]
    raise ValidationException(
        f"{INVALID_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
        f"TotalSegments: {total} Segment: {segment}"
    )
