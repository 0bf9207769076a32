"""The expressions of a request, or the legacy parameters in their place, parsed and bound to its values.

Both give the same trees. The order of checks that need no table: mixing of both kinds -> placeholders ->
legacy conditions -> expressions -> unused placeholders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from faradisc.errors import (
    EMPTY_NAME,
    INVALID_START,
    SELECTIONS,
    RequestRuleError,
    ValidationException,
)
from faradisc.language.expressions import (
    TABLE_CLAUSES_MAX,
    Condition,
    KeyClauses,
    Placeholders,
    Projection,
    Update,
    bind_condition,
    bind_key_clauses,
    bind_projection,
    bind_update,
    check_placeholder_bytes,
    check_placeholders,
    legacy,
)
from faradisc.language.expressions.errors import ExpressionTooLarge, KeyConditionError
from faradisc.language.expressions.key_condition import INDEX_CLAUSES_MAX
from faradisc.limits import PLACEHOLDERS_BYTES_MAX
from faradisc.model.values.checks import NESTED_CONTAINERS_MAX, NESTING_EXCEEDED, Wording, check_value
from faradisc.model.values.parameters import Parameters
from faradisc.model.values.schema import TableSchema

_PROJECTION = ("ProjectionExpression",)
_ACTION_EXPRESSIONS = ("UpdateExpression", "ConditionExpression")
_ACTION_CLAUSES = frozenset((*_ACTION_EXPRESSIONS, "ExpressionAttributeNames", "ExpressionAttributeValues"))
_NAME_USERS = frozenset(("Query", "Scan"))
_WRITE_LEGACY = ("Expected", "ConditionalOperator")


def check_mixed(
    request: Mapping[str, Any], expression_params: Sequence[str], legacy_params: Sequence[str]
) -> None:
    """Raises RequestRuleError for a request that uses both kinds.

    Both lists name parameters in the order in which the service prints them. KeyConditions is allowed with
    expressions other than KeyConditionExpression (expressions.md section 6).
    """
    given = request.keys()
    if given.isdisjoint(legacy_params) or given.isdisjoint(expression_params):
        return
    expressions = [name for name in expression_params if name in request]
    legacy = [name for name in legacy_params if name in request]
    if "KeyConditions" in legacy and "KeyConditionExpression" not in request:
        legacy.remove("KeyConditions")
    if legacy:
        raise RequestRuleError(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(legacy)}}} "
            f"Expression parameters: {{{', '.join(expressions)}}}"
        )


def check_placeholders_wanted(
    request: Mapping[str, Any], expression_params: Sequence[str], *, names_values_users: bool = True
) -> None:
    """Raises RequestRuleError for names or values in a request without an expression that could use them.

    names_values_users: False leaves out which expressions are missing, as PutItem and DeleteItem do.
    """
    used = False
    for name in expression_params:
        if name in request:
            used = True
            if name != "ProjectionExpression":
                return
    if not used and "ExpressionAttributeNames" in request:
        raise RequestRuleError("ExpressionAttributeNames can only be specified when using expressions")
    if "ExpressionAttributeValues" not in request:
        return
    users = [name for name in expression_params if name != "ProjectionExpression"]
    text = "ExpressionAttributeValues can only be specified when using expressions"
    if names_values_users and users:
        text += f": {' and '.join(users)} {'are' if len(users) > 1 else 'is'} null"
    raise RequestRuleError(text)


def placeholders_of(
    parameters: Parameters, request: Mapping[str, Any], expressions: tuple[str, ...]
) -> Placeholders:
    """Returns ExpressionAttributeNames and -Values of a request that may have these expression parameters.

    Raises ValidationException, for example when the request has placeholders and no expression.
    """
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    if names is not None or values is not None:
        if "ProjectionExpression" in request or request.keys().isdisjoint(expressions):
            check_placeholders_wanted(
                request, expressions, names_values_users=parameters.operation in _NAME_USERS
            )
        check_placeholders(names, values)
        if values is not None and not parameters.values_ok:
            _check_placeholder_values(parameters, values)
        # Values never have more bytes than the text of the request.
        if parameters.body_bytes is None or parameters.body_bytes > PLACEHOLDERS_BYTES_MAX:
            check_placeholder_bytes(names, values)
    return Placeholders(names, values)


def _check_placeholder_values(parameters: Parameters, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        try:
            check_value(value, parameters.wording)
        except ValidationException as error:
            if parameters.wording is Wording.NEW:
                raise
            raise RequestRuleError(
                f"ExpressionAttributeValues contains invalid value: {error.message} for key {name}"
            ) from None


def _check_legacy_values(parameters: Parameters, parameter: str) -> None:
    """Checks values in Expected, AttributeUpdates, KeyConditions and filters. Raises ValidationException.

    Filters take attributes without a name, and values of a level more than items (errors.md section 11).
    """
    conditions = parameters.request[parameter]
    is_filter = parameter.endswith("Filter")
    if "" in conditions and not is_filter:
        raise RequestRuleError(EMPTY_NAME)
    if parameters.values_ok:
        return
    levels = NESTED_CONTAINERS_MAX + is_filter
    for condition in conditions.values():
        if "Value" in condition:
            check_value(condition["Value"], parameters.wording, levels)
        for value in condition.get("AttributeValueList", ()):
            check_value(value, parameters.wording, levels)


def bind_write_condition(parameters: Parameters) -> Condition | None:
    """Returns the condition of a PutItem or DeleteItem. Raises ValidationException."""
    request = parameters.request
    is_legacy = not request.keys().isdisjoint(_WRITE_LEGACY)
    if is_legacy:
        check_mixed(request, ("ConditionExpression",), _WRITE_LEGACY)
    placeholders = placeholders_of(parameters, request, ("ConditionExpression",))
    if "ConditionExpression" in request:
        condition = bind_condition(request["ConditionExpression"], "ConditionExpression", placeholders)
        placeholders.check_all_used()
        return condition
    return _expected(parameters) if is_legacy else None


def bind_action(
    parameters: Parameters, action: Mapping[str, Any], *, updates: bool
) -> tuple[Update | None, Condition | None]:
    """Returns update and condition of one action of a transaction. Raises ValidationException."""
    if _ACTION_CLAUSES.isdisjoint(action):
        return None, None
    condition_text = action.get("ConditionExpression")
    if condition_text is None and not updates:
        placeholders_of(parameters, action, ())
        return None, None
    placeholders = placeholders_of(parameters, action, _ACTION_EXPRESSIONS)
    update = None
    if updates:
        try:
            update = bind_update(action["UpdateExpression"], placeholders)
        except ExpressionTooLarge as error:
            # Captured: transactions leave out the size (errors.md section 6.8).
            raise RequestRuleError(str(error.message).partition(" expression size")[0]) from None
    condition = None
    if condition_text is not None:
        condition = bind_condition(condition_text, "ConditionExpression", placeholders)
    placeholders.check_all_used()
    return update, condition


def _expected(parameters: Parameters) -> Condition | None:
    """Returns the condition of the legacy parameters. Raises ValidationException."""
    request = parameters.request
    _check_conditional_operator(request, "Expected")
    if "Expected" in request:
        _check_legacy_values(parameters, "Expected")
        try:
            return legacy.expected(request["Expected"], request.get("ConditionalOperator"))
        except ValidationException as error:
            raise RequestRuleError(error.message) from None
    return None


def _check_conditional_operator(request: Mapping[str, Any], conditions: str) -> None:
    """Raises RequestRuleError for an unknown operator, or one without conditions to join."""
    if "ConditionalOperator" not in request:
        return
    if not request.get(conditions):
        raise RequestRuleError("ConditionalOperator cannot be used without Filter or Expected")
    if len(request[conditions]) == 1:
        raise RequestRuleError(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )
    if request["ConditionalOperator"] not in ("AND", "OR"):
        # ALL is the service's spelling.
        raise RequestRuleError("Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]")


def bind_update_clauses(parameters: Parameters) -> tuple[Update | None, Condition | None]:
    """Returns update and condition of an UpdateItem. Raises ValidationException."""
    request = parameters.request
    expressions = ("UpdateExpression", "ConditionExpression")
    check_mixed(request, expressions, ("AttributeUpdates", *_WRITE_LEGACY))
    placeholders = placeholders_of(parameters, request, expressions)
    update: Update | None = None
    if "AttributeUpdates" in request:
        _check_legacy_values(parameters, "AttributeUpdates")
        update = legacy.attribute_updates(request["AttributeUpdates"])
    if "UpdateExpression" in request:
        update = bind_update(request["UpdateExpression"], placeholders)
    condition = None
    if "ConditionExpression" in request:
        condition = bind_condition(request["ConditionExpression"], "ConditionExpression", placeholders)
    elif not request.keys().isdisjoint(_WRITE_LEGACY):
        condition = _expected(parameters)
    placeholders.check_all_used()
    return update, condition


def bind_read_projection(parameters: Parameters, part: Mapping[str, Any] | None = None) -> Projection | None:
    """Returns the projection of GetItem, or of one table of BatchGetItem. Raises ValidationException."""
    request = parameters.request if part is None else part
    if "ProjectionExpression" in request:
        check_mixed(request, ("ProjectionExpression",), ("AttributesToGet",))
        placeholders = placeholders_of(parameters, request, _PROJECTION)
        projection = bind_projection(request["ProjectionExpression"], placeholders)
        placeholders.check_all_used()
        return projection
    if "ExpressionAttributeNames" in request:
        placeholders_of(parameters, request, _PROJECTION)
    if "AttributesToGet" in request:
        return legacy.attributes_to_get(request["AttributesToGet"])
    return None


def search_placeholders(
    parameters: Parameters, expressions: tuple[str, ...], legacy_parameters: tuple[str, ...]
) -> Placeholders:
    """Returns the placeholders of a Query or Scan. Checks mixing, placeholders and start key values, in this
    order. Raises ValidationException."""
    request = parameters.request
    check_mixed(request, expressions, legacy_parameters)
    placeholders = placeholders_of(parameters, request, expressions)
    if "ExclusiveStartKey" in request:
        try:
            parameters.check_values(request["ExclusiveStartKey"])
        except RequestRuleError as error:
            if parameters.operation == "Scan" and error.message == NESTING_EXCEEDED:
                raise ValidationException(f"{INVALID_START}: {error.message}") from None
            raise
    return placeholders


def bind_search(
    parameters: Parameters, placeholders: Placeholders, legacy_filter: Literal["QueryFilter", "ScanFilter"]
) -> tuple[Condition | None, Projection | None]:
    """Returns filter and projection of a Query or Scan. Query's Select is checked before, Scan's is not.

    Raises ValidationException.
    """
    request = parameters.request
    if legacy_filter == "QueryFilter":
        _check_conditional_operator(request, legacy_filter)
        check_select(request)
    condition = projection = None
    if "FilterExpression" in request:
        condition = bind_condition(request["FilterExpression"], "FilterExpression", placeholders)
    if "ProjectionExpression" in request:
        projection = bind_projection(request["ProjectionExpression"], placeholders)
    elif "AttributesToGet" in request:
        projection = legacy.attributes_to_get(request["AttributesToGet"])
    _check_conditional_operator(request, legacy_filter)
    if legacy_filter in request:
        _check_legacy_values(parameters, legacy_filter)
        condition = legacy.filter_condition(request[legacy_filter], request.get("ConditionalOperator"))
    return condition, projection


def check_select(request: Mapping[str, Any]) -> None:
    """Checks Select, also against the projection parameters. Raises ValidationException."""
    select = request.get("Select")
    envelope = "1 validation error detected: "
    if select is not None and select not in SELECTIONS:
        raise ValidationException(
            f"{envelope}Value '{select}' at 'select' failed to satisfy constraint: "
            f"Member must satisfy enum value set: [{', '.join(SELECTIONS)}]"
        )
    for parameter in ("AttributesToGet", "ProjectionExpression"):
        if parameter in request and select not in (None, "SPECIFIC_ATTRIBUTES"):
            chosen = "only the Count" if select == "COUNT" else select
            raise ValidationException(
                f"{envelope}Cannot specify the {parameter} when choosing to get {chosen}"
            )
    if select == "SPECIFIC_ATTRIBUTES" and not (
        "AttributesToGet" in request or "ProjectionExpression" in request
    ):
        raise ValidationException(
            f"{envelope}Must specify the AttributesToGet or ProjectionExpression "
            "when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and "IndexName" not in request:
        raise ValidationException(
            f"{envelope}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


def bind_key_clauses_of(parameters: Parameters, placeholders: Placeholders) -> KeyClauses:
    """Returns the key condition of a Query, not yet compared with a schema. Raises ValidationException."""
    request = parameters.request
    if "KeyConditionExpression" in request:
        try:
            return bind_key_clauses(request["KeyConditionExpression"], placeholders)
        except KeyConditionError:
            placeholders.check_all_used()
            raise
    if "KeyConditions" in request:
        _check_legacy_values(parameters, "KeyConditions")
        clauses_max = INDEX_CLAUSES_MAX if "IndexName" in request else TABLE_CLAUSES_MAX
        return legacy.key_conditions(request["KeyConditions"], clauses_max=clauses_max)
    raise ValidationException(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    )


def check_paths_into_keys(schema: TableSchema, *expressions: Condition | Projection | Update | None) -> None:
    """Rejects expressions with paths into key attributes of the table or its indexes.

    None is an expression that the request does not have. Raises ValidationException for the first one.
    """
    for expression in expressions:
        nested = expression.nested if expression is not None else None
        if not nested:
            continue
        for name in schema.key.names:
            if name in nested:
                raise ValidationException(f"{_NOT_SCALAR}: Key: {name}")
        for index in schema.local_indexes + schema.global_indexes:
            for name in index.key.names:
                if name in nested:
                    raise ValidationException(f"{_NOT_SCALAR}: IndexKey: {name}")


_NOT_SCALAR = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed"
