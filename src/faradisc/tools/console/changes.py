"""Changes of items before they are written: what differs, and the write that needs what was read.

An edited item is written by UpdateItem of the attributes that differ, on the condition that those attributes
are still as they were read. A new key is a transaction: the new item, and the deletion of the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faradisc.records import dataclass
from faradisc.tools.console.values import Item, Value

Path = tuple[str | int, ...]
"""Where a value stands in an item: names of attributes and of members of maps, positions in lists."""
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


@dataclass(frozen=True, slots=True)
class PathChange:
    """A value inside an item that differs; None where it is absent."""

    path: Path
    before: Value | None
    after: Value | None

    @property
    def kind(self) -> str:
        return "added" if self.before is None else "removed" if self.after is None else "changed"


def path_text(path: Path) -> str:
    """Returns a path as expressions write it: `address.lines[2]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def path_changes(before: Item | None, after: Item | None, *, lists: bool = True) -> list[PathChange]:
    """Returns the innermost values that differ, in order of their paths. lists: also inside lists."""
    found: list[PathChange] = []

    def compare(path: Path, old: Value | None, new: Value | None) -> None:
        if old == new:
            return
        if old is not None and new is not None and old.keys() == new.keys():
            if "M" in old:
                for name in dict.fromkeys((*old["M"], *new["M"])):
                    compare((*path, name), old["M"].get(name), new["M"].get(name))
                return
            if "L" in old and lists:
                ours, theirs = old["L"], new["L"]
                for at in range(max(len(ours), len(theirs))):
                    compare(
                        (*path, at),
                        ours[at] if at < len(ours) else None,
                        theirs[at] if at < len(theirs) else None,
                    )
                return
        found.append(PathChange(path, old, new))

    compare((), {"M": before or {}}, {"M": after or {}})
    return found


def applied(changes: Sequence[PathChange], item: Item) -> Item:
    """Returns an item with changes made in it; missing maps are made, lists are replaced whole."""
    root: Value = {"M": dict(item)}
    for change in changes:
        holder = root["M"]
        for step in change.path[:-1]:
            inner = holder.get(step)
            holder[step] = {"M": dict(inner["M"]) if inner and "M" in inner else {}}
            holder = holder[step]["M"]
        if change.after is None:
            holder.pop(change.path[-1], None)
        else:
            holder[change.path[-1]] = change.after
    made: Item = root["M"]
    return made


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
