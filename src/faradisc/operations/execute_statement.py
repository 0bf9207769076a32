"""ExecuteStatement: one PartiQL statement.

A SELECT of one key is read like GetItem, of partitions like Query, of everything else like Scan
(language/partiql/planner.py decides). A write is one change through the write path.

Checks: those of statements.py -> NextToken -> index -> consistency -> ORDER BY -> key values -> attributes of
the index.

Facts (expressions.md section 7, limits.md section 4): Limit bounds evaluated items; a page may be empty and
still have a NextToken; partition keys given by IN are read in pages of up to 10 items.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any, Final

import orjson

from faradisc.capacity import units
from faradisc.engine.tables.change import ConditionFailed
from faradisc.engine.tables.keys import check_key, check_searched_key
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.paging import KeyRange, PageUsage
from faradisc.engine.tables.reads import Page, read_and_charge, read_page, shape_items
from faradisc.engine.tables.table import Table
from faradisc.errors import ValidationException
from faradisc.language.expressions import Condition
from faradisc.language.partiql import errors
from faradisc.language.partiql.planner import Selection, StatementPlan, check_key_types, plan_of
from faradisc.language.partiql.syntax import Order, Select
from faradisc.language.partiql.token import decode_token, encode_token
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.attribute import AttributeValue, Item, compare
from faradisc.model.values.schema import KeySchema
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.search import Search, answer_page, needs_items
from faradisc.operations.statement_ranges import key_ranges_of
from faradisc.operations.statements import (
    BoundStatement,
    apply_write,
    prepare,
    reject_exists,
    write_of,
)
from faradisc.storage.api import RowReads

LIST_PAGE_ITEMS_MAX: Final = 10
"""Evaluated items of one page of partition keys given by IN (limits.md section 4)."""


async def execute_statement(backend: Backend, call: Call) -> dict[str, Any]:
    prepared = prepare(backend, call, call.request)
    reject_exists(prepared)
    position: bytes | None = None
    if "NextToken" in call.request:
        position = decode_token(
            call.request["NextToken"], call.request["Statement"], _spelled(call, prepared)
        )
    if isinstance(prepared.statement.body, Select):
        return await _select(backend, call, prepared, prepared.statement.body, position)
    return await _write(backend, call, prepared)


def _spelled(call: Call, prepared: BoundStatement) -> list[AttributeValue]:
    """Returns the parameters, with numbers as they were sent."""
    parameters = prepared.parameters
    if call.body is None or not any("N" in parameter for parameter in parameters):
        return parameters
    sent: list[AttributeValue] = orjson.loads(call.body)["Parameters"]
    return [its if "N" in value else value for value, its in zip(parameters, sent, strict=True)]


async def _write(backend: Backend, call: Call, prepared: BoundStatement) -> dict[str, Any]:
    request = call.request
    write = write_of(prepared)
    try:
        outcome = await apply_write(backend, write)
    except ConditionFailed as failed:
        with_item = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        raise write.failure(failed, with_item=with_item) from None
    returned = write.returned(outcome)
    result: dict[str, Any] = {"Items": [] if returned is None else [returned]}
    detail = request.get("ReturnConsumedCapacity", "NONE")
    if detail != "NONE":
        consumed = units.Consumed(prepared.table_name)
        outcome.add_cost_to(consumed)
        result["ConsumedCapacity"] = consumed.describe(detail)
    return result


# --- SELECT --------------------------------------------------------------------------------------


async def _select(
    backend: Backend, call: Call, prepared: BoundStatement, select: Select, position: bytes | None
) -> dict[str, Any]:
    table = prepared.table
    index = _find_index(table, select, call)
    key = index.schema.key if index is not None else table.key
    if select.order:
        _check_order(select, key)
    if index is None and not select.order:
        one = prepared.one_item()
        if one is not None:
            return await _get(backend, call, prepared, *one)
    plan = plan_of(select.where, prepared.values, key)
    reading = _Reading(table, index, select, plan)
    if select.order:
        _check_order_fits(select, plan, key)
    for selection in plan.ranges or ():
        for condition in selection:
            check_searched_key(condition, key, measured=len(plan.ranges or ()) == 1)
    return await _search(backend, call, prepared, reading, position)


def _find_index(table: Table, select: Select, call: Call) -> Index | None:
    """Raises ValidationException."""
    name = select.source.index
    if name is None:
        return None
    index = table.index(name)
    if index is None or index.status == "DELETING":
        raise errors.StatementError(errors.NO_SUCH_INDEX)
    if index.status == "CREATING":
        raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    if index.schema.is_global and call.request.get("ConsistentRead"):
        raise errors.StatementError(errors.CONSISTENT_GLOBAL)
    return index


def _check_order(select: Select, key: KeySchema) -> None:
    """Raises StatementError."""
    for order in select.order:
        if order.name not in key.names:
            raise errors.StatementError(errors.ORDER_BY_OTHER.format(name=order.name))


def _check_order_fits(select: Select, plan: StatementPlan, key: KeySchema) -> None:
    """Raises StatementError for an order of rows that are not read by key, or of several partitions."""
    if not plan.ranges:
        raise errors.StatementError(errors.ORDER_WITHOUT_KEY)
    partitions = {str(selection[0].hash_values) for selection in plan.ranges}
    if len(partitions) > 1 and all(order.name not in key.hash for order in select.order):
        raise errors.StatementError(errors.ORDER_WITHOUT_HASH)


async def _get(
    backend: Backend, call: Call, prepared: BoundStatement, key: Item, rest: Condition | None
) -> dict[str, Any]:
    """Returns one item, read like GetItem. There is never a next page."""
    if "NextToken" in call.request:
        raise errors.StatementError(errors.TOKEN_INVALID)
    table = prepared.table
    check_key_types(key, table.key)
    check_key(key, table.key)
    consistent = call.request.get("ConsistentRead", False)
    found, half_units = await read_and_charge(
        backend.store, table, key, consistent=consistent, in_insights=False
    )
    records = [found] if found is not None else []
    result: dict[str, Any] = {"Items": shape_items(records, rest, prepared.columns)}
    call.record_returned(len(result["Items"]))
    detail = call.request.get("ReturnConsumedCapacity", "NONE")
    if detail != "NONE":
        result["ConsumedCapacity"] = units.Consumed(prepared.table_name, half_units).describe(detail)
    return result


class _Reading:
    """The rows that a SELECT reads, and their order.

    Partitions are read in the order of the WHERE clause, or sorted if ORDER BY names the partition key;
    inside a partition, rows are in the order of their sort keys. ORDER BY without the sort key reverses it
    (expressions.md section 7).
    """

    def __init__(self, table: Table, index: Index | None, select: Select, plan: StatementPlan) -> None:
        """Raises StatementError for ranges that overlap."""
        self.table = table
        self.index = index
        self.plan = plan
        self.placement: Placement = index.placement if index is not None else table.placement
        orders = {order.name: order for order in reversed(select.order)}
        key = self.placement.key
        by_range = orders.get(key.range[0]) if key.range else None
        self.reverse = by_range.descending if by_range is not None else bool(orders)
        self.key_ranges = self._key_ranges(orders.get(key.hash[0]))

    def _key_ranges(self, by_hash: Order | None) -> list[KeyRange]:
        """In reading order."""
        if self.plan.ranges is None:
            return [KeyRange(*bounds) for bounds in self.placement.hash_ranges(0, 1)]
        selections = self._sorted(self.plan.ranges, by_hash)
        return key_ranges_of(self.placement, selections, reverse=self.reverse)

    def _sorted(self, ranges: tuple[Selection, ...], by_hash: Order | None) -> Sequence[Selection]:
        if by_hash is None:
            return ranges

        def compared(one: Selection, other: Selection) -> int:
            return compare(one[0].hash_values[0], other[0].hash_values[0])

        return sorted(ranges, key=cmp_to_key(compared), reverse=by_hash.descending)

    def behind(self, position: bytes) -> list[KeyRange]:
        """Returns the key ranges after a row. Raises StatementError for a row that none of them holds."""
        at = self._find(self.key_ranges, position)
        if at is None:
            raise errors.StatementError(errors.TOKEN_INVALID)
        rest = self.key_ranges[at].starting_after(position, reverse=self.reverse)
        return [rest, *self.key_ranges[at + 1 :]]

    def _find(self, key_ranges: Sequence[KeyRange], row_key: bytes) -> int | None:
        """Returns the position of the key range that holds a row."""
        part = self.placement.part_of(row_key) if row_key else None
        for at, key_range in enumerate(key_ranges):
            above = key_range.low is None or row_key >= key_range.low
            if key_range.part == part and above and (key_range.high is None or row_key < key_range.high):
                return at
        return None

    def half_units(self, key_ranges: Sequence[KeyRange], page: Page, *, consistent: bool) -> int:
        """Returns the cost of a page of several partitions: each is rounded like a Query of its own."""
        sizes = [0] * len(key_ranges)
        size_of = self.table.billed_size if self.index is None else item_record.size_of
        count = len(key_ranges)
        for payload in page.records:
            at = self._find(key_ranges, self.placement.row_key(item_record.decode(payload)))
            assert at is not None, "a row lies where it was read"
            sizes[at] += size_of(payload)
            if page.ended_by_bound:
                count = at + 1
        return sum(units.read_half_units(size, consistent=consistent) for size in sizes[:count])

    async def read(
        self,
        store: RowReads,
        key_ranges: Sequence[KeyRange],
        limit: int | None,
        usage: PageUsage | None = None,
    ) -> Page:
        in_order = key_ranges[::-1] if self.reverse else key_ranges
        epoch = self.table.epoch
        return await read_page(store, in_order, epoch=epoch, limit=limit, reverse=self.reverse, usage=usage)


async def _search(
    backend: Backend, call: Call, prepared: BoundStatement, reading: _Reading, position: bytes | None
) -> dict[str, Any]:
    """Returns a page of a Query, of several, or of a Scan."""
    request, plan = call.request, reading.plan
    condition = prepared.conditions.of(plan.rest)
    keyed = plan.ranges is not None
    # Only keyed reads reject a filter on attributes outside the index (expressions.md section 7).
    fetches_items = needs_items({}, reading.index, prepared.columns, condition if keyed else None)
    consistent = request.get("ConsistentRead", False)
    strong = reading.table.strong
    if consistent and strong is not None:
        await strong.join(reading.table, None)
    limit: int | None = request.get("Limit")
    own_limit = plan.is_list and (limit is None or limit > LIST_PAGE_ITEMS_MAX)
    search = Search(
        store=backend.store,
        table=reading.table,
        index=reading.index,
        key_ranges=reading.key_ranges if position is None else reading.behind(position),
        condition=condition,
        projection=prepared.columns,
        consistent=consistent,
        limit=LIST_PAGE_ITEMS_MAX if own_limit else limit,
        reverse=reading.reverse,
        count_only=False,
        fetches_items=fetches_items,
        scans=not keyed,
    )
    page = await reading.read(search.store, list(search.key_ranges), search.limit, search.usage)
    if plan.ranges is not None and len(plan.ranges) > 1:
        search.minimum_half_units = reading.half_units(search.key_ranges, page, consistent=consistent)
    last: bytes | None = None
    if page.ended_by_bound:
        last = reading.placement.row_key(item_record.decode(page.records[-1]))
        if own_limit and not (await reading.read(search.store, reading.behind(last), 1)).records:
            # The request has no such limit, so NextToken is returned only if rows are left.
            page.ended_by_bound, last = False, None
    answer = await answer_page(call, search, page, prepared.table_name)
    del answer["Count"], answer["ScannedCount"]
    if last is not None:
        answer["NextToken"] = encode_token(request["Statement"], _spelled(call, prepared), last)
    return answer
