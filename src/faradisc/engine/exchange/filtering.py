"""FilterSpecification of an export: which items are written, and which attributes.

A valid key condition is tested on each item like any other condition. Source: new-features.md section 3; the
error texts are Query's.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.keys import check_filter_names, check_searched_key
from faradisc.language.expressions import (
    Condition,
    Projection,
    bind_condition,
    bind_key_condition,
    bind_projection,
)
from faradisc.language.expressions.clauses import placeholders_of
from faradisc.model.values.attribute import Item
from faradisc.model.values.parameters import Parameters
from faradisc.model.values.schema import KeySchema

_EXPRESSIONS = ("KeyConditionExpression", "FilterExpression", "ProjectionExpression")


class ItemFilter:
    def __init__(self, conditions: list[Condition], projection: Projection | None) -> None:
        self._conditions = conditions
        self._projection = projection

    def matches(self, item: Item) -> bool:
        return all(condition.matches(item) for condition in self._conditions)

    def projected(self, item: Item) -> Item:
        return item if self._projection is None else self._projection.apply(item)


def bind_filter(specification: dict[str, Any], key: KeySchema) -> ItemFilter:
    """Raises ValidationException. Requires: values checked and canonical."""
    parameters = Parameters("ExportTableToPointInTime", specification, values_ok=True)
    placeholders = placeholders_of(parameters, specification, _EXPRESSIONS)
    conditions = []
    keyed = "KeyConditionExpression" in specification
    if "FilterExpression" in specification:
        wanted = bind_condition(specification["FilterExpression"], "FilterExpression", placeholders)
        if keyed:
            check_filter_names(wanted, key)
        conditions.append(wanted)
    projection = None
    if "ProjectionExpression" in specification:
        projection = bind_projection(specification["ProjectionExpression"], placeholders)
    if keyed:
        text = specification["KeyConditionExpression"]
        key_condition = bind_key_condition(text, placeholders, key)
        check_searched_key(key_condition, key)
        conditions.append(bind_condition(text, "FilterExpression", placeholders))
    placeholders.check_all_used()
    return ItemFilter(conditions, projection)
