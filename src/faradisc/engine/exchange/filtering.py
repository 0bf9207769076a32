"""FilterSpecification of an export: which items are written, and which attributes.

A valid key condition is tested on each item like any other condition. Source: new-features.md section 3; the
error texts are Query's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.engine.tables.keys import check_searched_key
from faradisc.errors import ValidationException
from faradisc.language.expressions import (
    Condition,
    Placeholders,
    Projection,
    bind_condition,
    bind_key_condition,
    bind_projection,
    check_placeholders,
    check_placeholders_wanted,
)
from faradisc.model.values.attribute import Item
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


def bind_filter(specification: Mapping[str, Any], key: KeySchema) -> ItemFilter:
    """Raises ValidationException. Requires: values checked and canonical."""
    check_placeholders_wanted(specification, _EXPRESSIONS)
    names, values = (specification.get(f"ExpressionAttribute{each}") for each in ("Names", "Values"))
    check_placeholders(names, values)
    placeholders = Placeholders(names, values)
    conditions = []
    keyed = "KeyConditionExpression" in specification
    if "FilterExpression" in specification:
        wanted = bind_condition(specification["FilterExpression"], "FilterExpression", placeholders)
        for name in key.names if keyed else ():
            if name in wanted.top_level:
                raise ValidationException(
                    "Filter Expression can only contain non-primary key attributes: "
                    f"Primary key attribute: {name}"
                )
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
