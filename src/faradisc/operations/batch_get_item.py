"""BatchGetItem: up to 100 items of any tables by their keys.

Checks: sizes of the batch -> per table parameters, key values, duplicates -> tables -> keys.
Keys that no longer fit into 16 MB of answer come back as UnprocessedKeys.
"""

from __future__ import annotations

from typing import Any

import orjson

from faradisc.capacity import units
from faradisc.codec import record
from faradisc.errors import ValidationException
from faradisc.limits import BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX
from faradisc.operations.call import Backend, Call
from faradisc.operations.clauses import bind_read_projection
from faradisc.tables.keys import check_key
from faradisc.tables.reads import read_records
from faradisc.values.attribute import Item

DUPLICATE_KEYS = "Provided list of item keys contains duplicates"


async def batch_get_item(backend: Backend, call: Call) -> dict[str, Any]:
    wanted = call.request["RequestItems"]
    if sum(len(part["Keys"]) for part in wanted.values()) > BATCH_GET_KEYS_MAX:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    projections = {}
    for name, part in wanted.items():
        for key in part["Keys"]:
            call.check_values(key)
        projections[name] = bind_read_projection(call, part)
        check_distinct(part["Keys"])
    tables = {name: backend.table_for_data(call, name) for name in wanted}
    for name, part in wanted.items():
        for key in part["Keys"]:
            check_key(key, tables[name].key)

    responses: dict[str, list[Any]] = {}
    unprocessed: dict[str, Any] = {}
    consumed: list[units.Consumed] = []
    room = BATCH_GET_BYTES_MAX
    for name, part in wanted.items():
        keys, projection = part["Keys"], projections[name]
        consistent = part.get("ConsistentRead", False)
        charge = units.Consumed(name)
        shown = responses[name] = []
        found = await read_records(backend.store, tables[name], keys, consistent=consistent)
        for position, item_record in enumerate(found):
            size = record.size_of(item_record) if item_record is not None else 0
            if size > room:
                unprocessed[name] = {**part, "Keys": keys[position:]}
                room = 0
                break
            room -= size
            charge.table += units.read_half_units(size, consistent=consistent)
            if item_record is not None:
                shown.append(
                    record.json_of(item_record)
                    if projection is None
                    else projection.apply(record.decode(item_record))
                )
        consumed.append(charge)
    result: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    detail = call.request.get("ReturnConsumedCapacity", "NONE")
    if detail != "NONE":
        result["ConsumedCapacity"] = [charge.describe(detail) for charge in consumed]
    return result


def check_distinct(keys: list[Item]) -> None:
    """No key twice; found without a schema. Raises ValidationException."""
    seen = {orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in keys}
    if len(seen) != len(keys):
        raise ValidationException(DUPLICATE_KEYS)
