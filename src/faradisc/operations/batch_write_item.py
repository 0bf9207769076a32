"""BatchWriteItem: up to 25 puts and deletes in several tables.

Checks: shape of each request and its values -> size of the batch -> no key deleted twice -> tables -> keys
and index keys -> no item twice -> sizes. Source: errors.md sections 4 and 6.7.

All writes that are not throttled are made in one commit, which is more than the service promises. Throttled
ones are returned as UnprocessedItems (capacity.md section 2.11).
"""

from __future__ import annotations

from typing import Any

from faradisc.capacity.throttle import Throttle, batch_error
from faradisc.engine.tables.change import Change, Outcome
from faradisc.engine.tables.keys import check_batch_put_keys, check_index_keys, check_key
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import apply_batch
from faradisc.errors import ValidationException
from faradisc.limits import BATCH_WRITE_REQUESTS_MAX
from faradisc.model.values.attribute import Item
from faradisc.model.values.checks import SEVERAL_TYPES
from faradisc.operations.backend import Backend
from faradisc.operations.batch_get_item import DUPLICATE_KEYS, check_distinct
from faradisc.operations.call import Call
from faradisc.operations.item_writes import report_writes


async def batch_write_item(backend: Backend, call: Call) -> dict[str, Any]:
    wanted = call.request["RequestItems"]
    for requests in wanted.values():
        for request in requests:
            _check_values(call, request)
    if sum(map(len, wanted.values())) > BATCH_WRITE_REQUESTS_MAX:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    for requests in wanted.values():
        check_distinct(
            [request["DeleteRequest"]["Key"] for request in requests if "DeleteRequest" in request]
        )
    tables = {name: backend.table_for_data(call, name) for name in wanted}
    changes: list[Change] = []
    names: list[str] = []
    for name, requests in wanted.items():
        for request in requests:
            changes.append(_change(call, tables[name], request))
            names.append(name)
    if len({(change.part, change.row_key) for change in changes}) != len(changes):
        raise ValidationException(DUPLICATE_KEYS)
    answers = await apply_batch(backend.store, changes)
    throttles = [answer for answer in answers if isinstance(answer, Throttle)]
    if len(throttles) == len(answers):
        raise batch_error(throttles, writes=True)
    unprocessed: dict[str, list[Any]] = {}
    requests_in_order = [request for requests in wanted.values() for request in requests]
    for name, request, answer in zip(names, requests_in_order, answers, strict=True):
        if isinstance(answer, Throttle):
            unprocessed.setdefault(name, []).append(request)
    named = zip(names, answers, strict=True)
    outcomes = [(name, answer) for name, answer in named if isinstance(answer, Outcome)]
    return {"UnprocessedItems": unprocessed, **report_writes(call, outcomes)}


def _check_values(call: Call, request: dict[str, Any]) -> None:
    """Exactly one of PutRequest and DeleteRequest; other members are ignored."""
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    if (put is None) == (delete is None):
        raise ValidationException(SEVERAL_TYPES)
    call.check_values(put["Item"] if put is not None else request["DeleteRequest"]["Key"])


def _change(call: Call, table: Table, request: dict[str, Any]) -> Change:
    if "PutRequest" in request:
        item: Item = request["PutRequest"]["Item"]
        check_batch_put_keys(item, table.key)
        for index in table.indexes:
            check_index_keys(item, index.schema)
        return Change(table, item, item, size=call.size_of(item))
    key: Item = request["DeleteRequest"]["Key"]
    check_key(key, table.key)
    return Change(table, key, None)
