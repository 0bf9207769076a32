"""The expressions of a request, or the legacy parameters in their place, bound and checked.

Both end in the same trees. The order inside one request, wherever a table is not needed yet:
mixing of both kinds -> placeholders -> legacy conditions -> expressions -> unused placeholders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.errors import RequestRuleError, ValidationException
from faradisc.expressions import (
    Condition,
    Placeholders,
    Projection,
    Update,
    bind_condition,
    bind_projection,
    bind_update,
    check_placeholders,
    legacy,
)
from faradisc.operations.call import Call
from faradisc.values.checks import Wording, check_value

_WRITE_LEGACY = ("Expected", "ConditionalOperator")


def placeholders_of(call: Call, request: Mapping[str, Any], expressions: tuple[str, ...]) -> Placeholders:
    """ExpressionAttributeNames and -Values of a request whose expression parameters are named.

    Raises ValidationException, for example when there is no expression to use them in.
    """
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    if names is not None or values is not None:
        used = any(parameter in request for parameter in expressions)
        if names is not None and not used:
            raise RequestRuleError("ExpressionAttributeNames can only be specified when using expressions")
        if values is not None and not used:
            raise RequestRuleError(_values_without_expression(call, expressions))
        check_placeholders(names, values)
        if values is not None and not call.values_ok:
            _check_placeholder_values(call, values)
    return Placeholders(names, values)


def _values_without_expression(call: Call, expressions: tuple[str, ...]) -> str:
    missing = [name for name in expressions if name != "ProjectionExpression"]
    text = "ExpressionAttributeValues can only be specified when using expressions"
    if call.operation == "DeleteItem" or not missing:
        return text
    return f"{text}: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} null"


def _check_placeholder_values(call: Call, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        try:
            check_value(value, call.wording)
        except ValidationException as fault:
            if call.wording is Wording.NEW:
                raise
            raise RequestRuleError(
                f"ExpressionAttributeValues contains invalid value: {fault.message} for key {name}"
            ) from None


def _check_legacy_values(call: Call, conditions: Mapping[str, Any]) -> None:
    """Values inside Expected, AttributeUpdates, KeyConditions and filters."""
    if call.values_ok:
        return
    for condition in conditions.values():
        if "Value" in condition:
            check_value(condition["Value"], call.wording)
        for value in condition.get("AttributeValueList", ()):
            check_value(value, call.wording)


def check_return_values(call: Call) -> None:
    """PutItem and DeleteItem know two modes only."""
    if call.request.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise RequestRuleError("ReturnValues can only be ALL_OLD or NONE")


def bind_write_condition(call: Call) -> Condition | None:
    """The condition of PutItem or DeleteItem. Raises ValidationException."""
    request = call.request
    legacy.check_mixed(request, ("ConditionExpression",), _WRITE_LEGACY)
    placeholders = placeholders_of(call, request, ("ConditionExpression",))
    condition = _condition(call, placeholders)
    placeholders.check_all_used()
    return condition


def _condition(call: Call, placeholders: Placeholders) -> Condition | None:
    request = call.request
    if "ConditionExpression" in request:
        return bind_condition(request["ConditionExpression"], "ConditionExpression", placeholders)
    if "Expected" in request:
        _check_legacy_values(call, request["Expected"])
        return legacy.bind_expected(request["Expected"], request.get("ConditionalOperator", "AND"))
    return None


def bind_update_clauses(call: Call) -> tuple[Update | None, Condition | None]:
    """Update and condition of UpdateItem. Raises ValidationException."""
    request = call.request
    expressions = ("UpdateExpression", "ConditionExpression")
    legacy.check_mixed(request, expressions, ("AttributeUpdates", *_WRITE_LEGACY))
    placeholders = placeholders_of(call, request, expressions)
    update: Update | None = None
    if "AttributeUpdates" in request:
        _check_legacy_values(call, request["AttributeUpdates"])
        update = legacy.bind_attribute_updates(request["AttributeUpdates"])
    if "UpdateExpression" in request:
        update = bind_update(request["UpdateExpression"], placeholders)
    condition = _condition(call, placeholders)
    placeholders.check_all_used()
    return update, condition


def bind_read_projection(call: Call, part: Mapping[str, Any] | None = None) -> Projection | None:
    """The projection of GetItem, or of one table of BatchGetItem. Raises ValidationException."""
    request = call.request if part is None else part
    if "ProjectionExpression" in request:
        legacy.check_mixed(request, ("ProjectionExpression",), ("AttributesToGet",))
        placeholders = placeholders_of(call, request, ("ProjectionExpression",))
        projection = bind_projection(request["ProjectionExpression"], placeholders)
        placeholders.check_all_used()
        return projection
    if "ExpressionAttributeNames" in request:
        placeholders_of(call, request, ("ProjectionExpression",))
    if "AttributesToGet" in request:
        return legacy.bind_attributes_to_get(request["AttributesToGet"])
    return None


def bind_filter(call: Call, placeholders: Placeholders, legacy_parameter: str) -> Condition | None:
    """The filter of Query or Scan: FilterExpression, or QueryFilter / ScanFilter."""
    request = call.request
    if "FilterExpression" in request:
        return bind_condition(request["FilterExpression"], "FilterExpression", placeholders)
    if legacy_parameter in request:
        conditions = request[legacy_parameter]
        _check_legacy_values(call, conditions)
        return legacy.bind_filter(conditions, request.get("ConditionalOperator", "AND"))
    return None


def bind_search_projection(call: Call, placeholders: Placeholders) -> Projection | None:
    """The projection of Query or Scan."""
    request = call.request
    if "ProjectionExpression" in request:
        return bind_projection(request["ProjectionExpression"], placeholders)
    if "AttributesToGet" in request:
        return legacy.bind_attributes_to_get(request["AttributesToGet"])
    return None
