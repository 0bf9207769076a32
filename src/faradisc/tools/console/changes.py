"""Changes of items before they are written: what differs, and the write that needs what was read.

An edited item is written by UpdateItem of the attributes that differ, on the condition that those attributes
are still as they were read. A new key is a transaction: the new item, and the deletion of the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from faradisc.tools.console.values import Item, Value

Call = tuple[str, dict[str, Any]]
"""An operation and its request."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One attribute that differs; None where it is absent."""

    name: str
    before: Value | None
    after: Value | None

    @property
    def kind(self) -> str:
        return "added" if self.before is None else "removed" if self.after is None else "changed"


def differences(before: Item | None, after: Item | None) -> list[Difference]:
    """Returns the attributes that differ, by name."""
    old, new = before or {}, after or {}
    names = sorted(old.keys() | new.keys())
    return [Difference(n, old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n)]


def write_of(table: str, key_names: Sequence[str], before: Item | None, after: Item | None) -> Call | None:
    """Returns the request that turns `before` into `after`; None when they are equal."""
    if before == after:
        return None
    if before is None:
        assert after is not None
        return "PutItem", _put(table, key_names, after)
    key = {name: before[name] for name in key_names}
    if after is None:
        return "DeleteItem", {
            "TableName": table,
            "Key": key,
            **_unchanged(differences(before, None), key_names),
        }
    changed = differences(before, after)
    if any(each.name in key_names for each in changed):
        delete = {"TableName": table, "Key": key, **_unchanged(differences(before, None), key_names)}
        put = _put(table, key_names, after)
        return "TransactWriteItems", {"TransactItems": [{"Put": put}, {"Delete": delete}]}
    return "UpdateItem", {"TableName": table, "Key": key, **_update(changed, key_names)}


def _put(table: str, key_names: Sequence[str], item: Item) -> dict[str, Any]:
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#key)",
        "ExpressionAttributeNames": {"#key": key_names[0]},
    }


CHECKED_MAX = 40
"""Attributes whose earlier values a deletion checks; an expression may have 300 operators."""


def _unchanged(attributes: list[Difference], key_names: Sequence[str]) -> dict[str, Any]:
    names, values, conditions = {"#key": key_names[0]}, {}, ["attribute_exists(#key)"]
    for at, each in enumerate([a for a in attributes if a.name not in key_names][:CHECKED_MAX]):
        names[f"#n{at}"] = each.name
        values[f":was{at}"] = each.before
        conditions.append(f"#n{at} = :was{at}")
    request: dict[str, Any] = {
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": names,
    }
    if values:
        request["ExpressionAttributeValues"] = values
    return request


def _update(changed: list[Difference], key_names: Sequence[str]) -> dict[str, Any]:
    names, values = {"#key": key_names[0]}, {}
    sets, removes, conditions = [], [], ["attribute_exists(#key)"]
    for at, each in enumerate(changed):
        names[f"#n{at}"] = each.name
        if each.after is None:
            removes.append(f"#n{at}")
        else:
            sets.append(f"#n{at} = :new{at}")
            values[f":new{at}"] = each.after
        if each.before is None:
            conditions.append(f"attribute_not_exists(#n{at})")
        else:
            conditions.append(f"#n{at} = :was{at}")
            values[f":was{at}"] = each.before
    parts = [f"SET {', '.join(sets)}"] * bool(sets) + [f"REMOVE {', '.join(removes)}"] * bool(removes)
    return {
        "UpdateExpression": " ".join(parts),
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }
