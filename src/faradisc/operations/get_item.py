"""GetItem: one item by its key.

Checks: key values -> parameters and projection -> table -> key.
"""

from __future__ import annotations

from typing import Any

from faradisc.capacity import units
from faradisc.engine.tables.keys import check_key
from faradisc.engine.tables.reads import read_and_charge
from faradisc.language.expressions.clauses import bind_read_projection, check_paths_into_keys
from faradisc.model.codec import item_record
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call


async def get_item(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    key = request["Key"]
    if not call.values_ok:
        call.check_values(key)
    projection = bind_read_projection(call)
    table = backend.table_for_data(call, request["TableName"])
    check_key(key, table.key)
    check_paths_into_keys(table.schema, projection)
    consistent = request.get("ConsistentRead", False)
    found, half_units = await read_and_charge(backend.store, table, key, consistent=consistent)
    result: dict[str, Any] = {}
    if found is not None:
        shown = (
            item_record.json_of(found) if projection is None else projection.apply(item_record.decode(found))
        )
        result["Item"] = shown
    detail = request.get("ReturnConsumedCapacity", "NONE")
    if detail != "NONE":
        consumed = units.Consumed(request["TableName"], half_units)
        result["ConsumedCapacity"] = consumed.describe(detail)
    return result
