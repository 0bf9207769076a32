"""What single-item writes share: conflicts, failed conditions, and the members of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faradisc.capacity import units
from faradisc.engine.tables.change import Change, ConditionFailed, Outcome
from faradisc.engine.tables.writes import apply_change
from faradisc.errors import ONLY_OLD_VALUES, RequestRuleError
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.operations.call import Backend, Call
from faradisc.operations.consumption import Charges

_GB = 1024**3


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
