"""Query: items with one partition key value, in sort-key order, from a table or an index.

Checks: mixing -> placeholders -> start key values -> Select -> filter, projection, key condition -> table ->
index -> key condition against the schema -> filter without key attributes -> start key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from faradisc.capacity.throttle import Throttled
from faradisc.engine.tables.keys import check_filter_names, check_searched_key
from faradisc.engine.tables.paging import KeyRange
from faradisc.engine.tables.usage_recording import record_query
from faradisc.errors import ValidationException
from faradisc.language.expressions import KeyCondition
from faradisc.language.expressions.clauses import (
    bind_key_clauses_of,
    bind_search,
    check_paths_into_keys,
    search_placeholders,
)
from faradisc.model.codec.keyspace import Placement
from faradisc.model.codec.sortkey import after_prefix, encode_component, encode_prefix
from faradisc.model.values.attribute import Item
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.search import Search, find_index, needs_items, run, start_position

_EXPRESSIONS = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
_LEGACY = ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions")


async def query(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    placeholders = search_placeholders(call, _EXPRESSIONS, _LEGACY)
    condition, projection = bind_search(call, placeholders, "QueryFilter")
    clauses = bind_key_clauses_of(call, placeholders)
    placeholders.check_all_used()
    table = backend.table_for_data(call, request["TableName"])
    index = find_index(table, request, call.operation)
    key = index.schema.key if index is not None else table.key
    key_condition = clauses.resolve(key)
    check_searched_key(key_condition, key)
    if condition is not None:
        check_filter_names(
            condition, key, "Filter Expression" if "FilterExpression" in request else "QueryFilter"
        )
    check_paths_into_keys(table.schema, condition, projection)
    placement = index.placement if index is not None else table.placement
    key_range = key_range_of(placement, key_condition)
    reverse = not request.get("ScanIndexForward", True)
    fetches_items = needs_items(request, index, projection, condition)
    one_row = index is None and not table.key.range
    if "ExclusiveStartKey" in request:
        start = start_position(call, table, index)
        _check_start(placement, key_condition, request["ExclusiveStartKey"], start, one_row=one_row)
        key_range = key_range.starting_after(start, reverse=reverse)
    consistent = request.get("ConsistentRead", False)
    search = Search(
        store=backend.store,
        table=table,
        index=index,
        key_ranges=(key_range,),
        condition=condition,
        projection=projection,
        consistent=consistent,
        # Without a start key to continue from, no LastEvaluatedKey may be returned.
        limit=None if one_row else request.get("Limit"),
        reverse=reverse,
        count_only=request.get("Select") == "COUNT",
        fetches_items=fetches_items,
    )
    if not table.meter.insights:
        return await run(call, search)
    return await _run_noted(call, search, dict(zip(key.hash, key_condition.hash_values, strict=True)))


async def _run_noted(call: Call, search: Search, hash_key: Item) -> dict[str, Any]:
    """Reads one page, and counts its partition key in Contributor Insights."""
    try:
        answer = await run(call, search)
    except Throttled:
        record_query(search.table, search.index, hash_key, None)
        raise
    record_query(search.table, search.index, hash_key, search.charged)
    return answer


def key_range_of(placement: Placement, condition: KeyCondition) -> KeyRange:
    """Returns the key range that a key condition selects."""
    prefix = placement.collection(condition.hash_values)
    part = placement.part_of(prefix)
    for value in condition.range_equal:
        prefix += encode_component(value)
    operator, operands = condition.operator, condition.operands
    if operator is None:
        return KeyRange(part, prefix, after_prefix(prefix))
    if operator == "begins_with":
        low = prefix + encode_prefix(operands[0])
        return KeyRange(part, low, after_prefix(low))
    first = prefix + encode_component(operands[0])
    match operator:
        case "=":
            return KeyRange(part, first, after_prefix(first))
        case "<":
            return KeyRange(part, prefix, first)
        case "<=":
            return KeyRange(part, prefix, after_prefix(first))
        case ">":
            return KeyRange(part, after_prefix(first), after_prefix(prefix))
        case ">=":
            return KeyRange(part, first, after_prefix(prefix))
        case _:
            return KeyRange(part, first, after_prefix(prefix + encode_component(operands[1])))


_ONE_ROW = "The query can return at most one row and cannot be restarted"


def _check_start(
    placement: Placement, condition: KeyCondition, start: Item, row_key: bytes, *, one_row: bool
) -> None:
    """Raises ValidationException for an ExclusiveStartKey outside the key range of the query."""
    hash_values = tuple(start[name] for name in placement.key.hash)
    other = hash_values != condition.hash_values
    if one_row:
        raise ValidationException("The provided exclusive start key is invalid" if other else _ONE_ROW)
    if other and condition.operator is None:
        raise ValidationException(
            "The provided starting key is outside query boundaries based on provided conditions"
        )
    key_range = key_range_of(placement, replace(condition, hash_values=hash_values))
    assert key_range.low is not None and key_range.high is not None
    if not key_range.low <= row_key < key_range.high:
        raise ValidationException("The provided starting key does not match the range key predicate")
    if other:
        raise ValidationException(_ONE_ROW)
