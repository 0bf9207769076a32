"""TransactGetItems: up to 100 items as of one moment.

Checks: per element, in request order: key values, projection -> tables -> keys -> no item twice.
Source: errors.md sections 4 and 6.8; capacity.md section 2.2.
"""

from __future__ import annotations

from typing import Any

from faradisc.capacity import units
from faradisc.codec import record
from faradisc.errors import ValidationException
from faradisc.limits import TRANSACTION_BYTES_MAX
from faradisc.operations.call import Backend, Call
from faradisc.operations.clauses import PROJECTING, bind_read_projection
from faradisc.operations.transact_write_items import DUPLICATE_TARGET, TOO_LARGE
from faradisc.tables.keys import check_key, has_empty_key
from faradisc.transactions.writing import NO_REASON, cancelled_by, validation_reason


async def transact_get_items(backend: Backend, call: Call) -> dict[str, Any]:
    gets = [element["Get"] for element in call.request["TransactItems"]]
    projections = []
    for get in gets:
        call.check_values(get["Key"])
        projecting = {name: get[name] for name in PROJECTING if name in get}
        projections.append(bind_read_projection(call, projecting))
    tables = [backend.table_for_data(call, get["TableName"]) for get in gets]
    places: list[tuple[bytes, bytes]] = []
    for position, (get, table) in enumerate(zip(gets, tables, strict=True)):
        try:
            check_key(get["Key"], table.key)
        except ValidationException as refusal:
            if has_empty_key(get["Key"], table.schema):
                raise
            reasons = [NO_REASON] * len(gets)
            reasons[position] = validation_reason(refusal)
            raise cancelled_by(reasons) from None
        row_key = table.placement.row_key(get["Key"])
        places.append((table.placement.part_of(row_key), row_key))
    if len(set(places)) != len(places):
        raise ValidationException(DUPLICATE_TARGET)

    if backend.conflicts is not None:
        backend.conflicts.check_transaction(len(gets))
    rows = await backend.store.read_many(places)
    if sum(record.size_of(row[1]) for row in rows if row is not None) > TRANSACTION_BYTES_MAX:
        raise ValidationException(TOO_LARGE)
    responses: list[dict[str, Any]] = []
    consumed: dict[str, units.Consumed] = {}
    for get, projection, row in zip(gets, projections, rows, strict=True):
        size = record.size_of(row[1]) if row is not None else 0
        charge = consumed.setdefault(get["TableName"], units.Consumed(get["TableName"]))
        charge.table += 2 * units.read_half_units(size, consistent=True)
        if row is None:
            responses.append({})
        elif projection is None:
            responses.append({"Item": record.json_of(row[1])})
        else:
            shown = projection.apply(record.decode(row[1]))
            responses.append({"Item": shown} if shown else {})
    result: dict[str, Any] = {"Responses": responses}
    detail = call.request.get("ReturnConsumedCapacity", "NONE")
    if detail != "NONE":
        result["ConsumedCapacity"] = [
            charge.describe(detail, transaction="ReadCapacityUnits") for charge in consumed.values()
        ]
    return result
