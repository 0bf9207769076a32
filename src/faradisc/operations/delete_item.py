"""DeleteItem: delete one item. A missing item is no error.

Checks: parameters -> ReturnValues -> key values -> condition -> table -> key -> (in the write) condition.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.change import Change
from faradisc.engine.tables.keys import check_key, check_paths_into_keys
from faradisc.language.expressions.clauses import bind_write_condition
from faradisc.operations.call import Backend, Call
from faradisc.operations.item_writes import answer_of, check_return_values, write_item


async def delete_item(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    key = request["Key"]
    if "ReturnValues" in request:
        check_return_values(call)
    if not call.values_ok:
        call.check_values(key)
    condition = bind_write_condition(call)
    table = backend.table_for_data(call, request["TableName"])
    check_key(key, table.key)
    check_paths_into_keys(table.schema, condition)
    outcome = await write_item(backend, call, Change(table, key, None, condition))
    return answer_of(call, outcome)
