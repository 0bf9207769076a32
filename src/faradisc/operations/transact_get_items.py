"""TransactGetItems: up to 100 items as of one moment.

Checks: per element, in request order: key values, projection -> tables -> those of
engine/transactions/reading.py. Source: errors.md sections 4 and 6.8; capacity.md section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faradisc.engine.transactions.reading import read_items
from faradisc.language.expressions.clauses import bind_read_projection
from faradisc.model.codec import item_record
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.consumption import Charges


async def transact_get_items(backend: Backend, call: Call) -> dict[str, Any]:
    gets = [element["Get"] for element in call.request["TransactItems"]]
    projections = []
    for get in gets:
        call.check_values(get["Key"])
        projections.append(bind_read_projection(call, get))
    tables = [backend.table_for_data(call, get["TableName"]) for get in gets]
    targets = [(table, get["Key"]) for table, get in zip(tables, gets, strict=True)]
    found = await read_items(backend.store, targets, backend.conflicts, projections, in_insights=True)
    responses: list[dict[str, Any]] = []
    for projection, (record, _) in zip(projections, found, strict=True):
        if record is None:
            responses.append({})
        elif projection is None:
            responses.append({"Item": item_record.json_of(record)})
        else:
            shown = projection.apply(item_record.decode(record))
            responses.append({"Item": shown} if shown else {})
    costs = [cost for _, cost in found]
    return {"Responses": responses, **report_reads(call, [get["TableName"] for get in gets], costs)}


def report_reads(call: Call, names: Sequence[str], half_units: Sequence[int]) -> dict[str, Any]:
    """Returns the ConsumedCapacity of a read transaction, by table as named; {} unless the request asks
    for it."""
    charges = Charges()
    for name, cost in zip(names, half_units, strict=True):
        charges[name].table += cost
    return charges.report(call, transaction="ReadCapacityUnits")
