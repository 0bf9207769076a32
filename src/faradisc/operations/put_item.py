"""PutItem: store one item, replacing any item with the same key.

Checks, in the order that clients see: parameters -> ReturnValues -> item values -> condition -> table -> key
attributes -> index key attributes -> size -> (in the write) condition.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.change import PUT_TOO_LARGE, Change, is_too_large
from faradisc.engine.tables.keys import check_index_keys, check_item_keys, check_paths_into_keys
from faradisc.engine.tables.table import Table
from faradisc.errors import ValidationException
from faradisc.language.expressions.clauses import bind_write_condition
from faradisc.model.values.attribute import Item
from faradisc.operations.call import Backend, Call
from faradisc.operations.item_writes import answer_of, check_return_values, write_item


async def put_item(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    item = request["Item"]
    if "ReturnValues" in request:
        check_return_values(call)
    if not call.values_ok:
        call.check_values(item)
    condition = bind_write_condition(call)
    table = backend.table_for_data(call, request["TableName"])
    check_put_keys(item, table)
    check_paths_into_keys(table.schema, condition)
    size = call.size_of(item)
    if is_too_large(table, item, size):
        raise ValidationException(PUT_TOO_LARGE)
    change = Change(table, item, item, condition, size=size)
    outcome = await write_item(backend, call, change)
    return answer_of(call, outcome)


def check_put_keys(item: Item, table: Table) -> None:
    """Checks the key attributes of the table and its indexes in a new item. Raises ValidationException."""
    if not table.key.is_plain(item):
        check_item_keys(item, table.key)
    for index in table.indexes:
        check_index_keys(item, index.schema)
