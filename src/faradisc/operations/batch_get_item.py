"""BatchGetItem: up to 100 items of several tables by their keys.

Checks: sizes of the batch -> per table parameters, key values, duplicates -> tables -> keys. Keys of items
that exceed 16 MB of answer are returned as UnprocessedKeys.
"""

from __future__ import annotations

from typing import Any

import orjson

from faradisc.capacity import units
from faradisc.capacity.throttle import Throttle, batch_error
from faradisc.engine.tables.charging import charge_read
from faradisc.engine.tables.keys import check_key
from faradisc.engine.tables.reads import read_records
from faradisc.engine.tables.table import Table
from faradisc.errors import ValidationException
from faradisc.language.expressions.clauses import bind_read_projection, check_paths_into_keys
from faradisc.limits import BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX, KB
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.consumption import Charges

KEYS_PER_STEP = 16
"""Keys of a step of large records, 6 MB at most. After a small step the next one has more."""
STEP_BYTES = 256 * KB
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
        check_paths_into_keys(tables[name].schema, projections[name])

    responses: dict[str, list[Any]] = {}
    unprocessed: dict[str, Any] = {}
    charges = Charges()
    throttles: list[Throttle] = []
    room = BATCH_GET_BYTES_MAX
    for name, part in wanted.items():
        keys, projection = part["Keys"], projections[name]
        consistent = part.get("ConsistentRead", False)
        charge = charges[name]
        shown = responses[name] = []
        table, left_out = tables[name], []
        found = await _records(backend, table, keys, room, consistent=consistent)
        for position, record in enumerate(found):
            size = item_record.size_of(record) if record is not None else 0
            if size > room:
                left_out += keys[position:]
                room = 0
                break
            half_units = units.read_half_units(table.billed_size(record), consistent=consistent)
            key = keys[position]
            row_key = table.placement.row_key(key)
            throttle = charge_read(
                table, row_key, key, half_units, consistent=consistent, operation="BatchGetItem"
            )
            if throttle is not None:
                throttles.append(throttle)
                left_out.append(keys[position])
                continue
            room -= size
            charge.table += half_units
            if record is not None:
                shown.append(
                    item_record.json_of(record)
                    if projection is None
                    else projection.apply(item_record.decode(record))
                )
        else:
            left_out += keys[len(found) :]
        if left_out:
            unprocessed[name] = {**part, "Keys": left_out}
    if len(throttles) == sum(len(part["Keys"]) for part in wanted.values()):
        raise batch_error(throttles, writes=False)
    return {"Responses": responses, "UnprocessedKeys": unprocessed, **charges.report(call)}


async def _records(
    backend: Backend, table: Table, keys: list[Item], room: int, *, consistent: bool
) -> list[item_record.Record | None]:
    """Returns the records of the keys, or of the first ones if these exceed `room` bytes.

    Many large records are read in steps, with other requests in between.
    """
    store = backend.store if consistent or table.late is None else table.late.view(backend.store)
    found: list[item_record.Record | None] = []
    step = KEYS_PER_STEP
    while len(found) < len(keys) and room >= 0:
        if found:
            await backend.yield_control()
        read = await read_records(store, table, keys[len(found) : len(found) + step], consistent=consistent)
        found += read
        size = sum(item_record.size_of(record) for record in read if record is not None)
        room -= size
        step = 4 * step if size < STEP_BYTES else KEYS_PER_STEP
    return found


def check_distinct(keys: list[Item]) -> None:
    """Raises ValidationException when a key is requested twice; needs no schema."""
    seen = {orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in keys}
    if len(seen) != len(keys):
        raise ValidationException(DUPLICATE_KEYS)
