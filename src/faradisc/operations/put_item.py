"""PutItem: store one item, replacing any item with the same key.

Checks, in the order that clients see: parameters -> item values -> ReturnValues -> condition -> table -> key
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
from faradisc.operations.item_writes import add_consumption, check_return_values, old_attributes, write_item


async def put_item(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    item = request["Item"]
    call.check_values(item)
    check_return_values(call)
    condition = bind_write_condition(call)
    table = backend.table_for_data(call, request["TableName"])
    check_put_keys(item, table)
    check_paths_into_keys(table.schema, condition)
    size = call.size_of(item)
    if is_too_large(table, item, size):
        raise ValidationException(PUT_TOO_LARGE)
    change = Change(table, item, lambda _: item, condition, size=size)
    outcome = await write_item(backend, call, change)
    result = old_attributes(call, outcome)
    add_consumption(result, call, outcome)
    return result


def check_put_keys(item: Item, table: Table) -> None:
    """Checks the key attributes of the table and its indexes in a new item. Raises ValidationException."""
    check_item_keys(item, table.key)
    for index in table.indexes:
        check_index_keys(item, index.schema)
