"""PutItem and DeleteItem, and what single-item writes share: conflicts, failed conditions, and the members of
their answers.

Checks, in the order that clients see:

    PutItem      parameters -> ReturnValues -> item values -> condition -> table -> key attributes
                 -> index key attributes -> size -> (in the write) condition
    DeleteItem   parameters -> ReturnValues -> key values -> condition -> table -> key
                 -> (in the write) condition

A missing item is no error of DeleteItem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faradisc.capacity import units
from faradisc.engine.tables.change import PUT_TOO_LARGE, Change, ConditionFailed, Outcome, is_too_large
from faradisc.engine.tables.keys import check_index_keys, check_item_keys, check_key
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import apply_change
from faradisc.errors import ONLY_OLD_VALUES, RequestRuleError, ValidationException
from faradisc.language.expressions.clauses import bind_write_condition, check_paths_into_keys
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.consumption import Charges

_GB = 1024**3


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
    size = call.item_sizes.get(id(item)) or item_size(item)
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


def check_return_values(call: Call) -> None:
    """Checks ReturnValues of PutItem or DeleteItem, which have two modes. Raises RequestRuleError."""
    if call.request.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise RequestRuleError(ONLY_OLD_VALUES)


async def write_item(backend: Backend, call: Call, change: Change) -> Outcome:
    """Makes the change of a single-item write durable.

    Raises ConditionalCheckFailedException, with the item if the request asks for it;
    TransactionConflictException for an injected conflict; and what `apply_change` raises.
    """
    if backend.conflicts is not None:
        backend.conflicts.check_write()
    try:
        return await apply_change(backend.store, change)
    except ConditionFailed as failed:
        with_item = call.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        raise failed.as_api_error(with_item=with_item) from None


def answer_of(call: Call, outcome: Outcome) -> dict[str, Any]:
    """Returns the answer of a PutItem or DeleteItem: the old item and the cost, as far as wanted."""
    request, old = call.request, outcome.old.record
    result: dict[str, Any] = {}
    if old is not None and request.get("ReturnValues") == "ALL_OLD":
        result["Attributes"] = item_record.json_of(old)
    if "ReturnConsumedCapacity" in request or "ReturnItemCollectionMetrics" in request:
        add_consumption(result, call, outcome)
    return result


def add_consumption(result: dict[str, Any], call: Call, outcome: Outcome) -> None:
    """Adds ConsumedCapacity and ItemCollectionMetrics, as far as the request asks for them."""
    request = call.request
    detail = request.get("ReturnConsumedCapacity", "NONE")
    if detail != "NONE":
        consumed = units.Consumed(request["TableName"])
        outcome.add_cost_to(consumed)
        result["ConsumedCapacity"] = consumed.describe(detail)
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics = collection_metrics(outcome)
        if metrics is not None:
            result["ItemCollectionMetrics"] = metrics


def report_writes(
    call: Call, outcomes: Sequence[tuple[str, Outcome]], *, transaction: bool = False
) -> dict[str, Any]:
    """Returns ConsumedCapacity and ItemCollectionMetrics of several writes, as far as the request asks for
    them. outcomes: with the table as named in the request."""
    result: dict[str, Any] = {}
    if call.request.get("ReturnConsumedCapacity", "NONE") != "NONE":
        charges = Charges()
        for name, outcome in outcomes:
            outcome.add_cost_to(charges[name], transaction=transaction)
        result = charges.report(call, transaction="WriteCapacityUnits" if transaction else None)
    if call.request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics: dict[str, list[dict[str, Any]]] = {}
        for name, outcome in outcomes:
            described = collection_metrics(outcome)
            if described is not None and described not in metrics.setdefault(name, []):
                metrics[name].append(described)
        if metrics:
            result["ItemCollectionMetrics"] = metrics
    return result


def collection_metrics(outcome: Outcome) -> dict[str, Any] | None:
    """Returns ItemCollectionMetrics of a write; None for tables without local indexes."""
    if outcome.collection_bytes is None:
        return None
    table = outcome.change.table
    key: Item = {name: outcome.change.key[name] for name in table.key.hash}
    whole_gb = outcome.collection_bytes // _GB
    return {"ItemCollectionKey": key, "SizeEstimateRangeGB": [float(whole_gb), float(whole_gb + 1)]}
