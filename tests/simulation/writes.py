"""A write as data: its effect on an item by independent rules, and its forms as a request.

These rules are the simulation's reference, so they share no code with the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Item = dict[str, dict[str, Any]]
Key = tuple[str, str]
"""Values of `p` (a string) and `r` (a number), as on the wire."""


def key_item(key: Key) -> Item:
    return {"p": {"S": key[0]}, "r": {"N": key[1]}}


def key_of(item: Mapping[str, Any]) -> Key:
    return item["p"]["S"], item["r"]["N"]


def number(item: Item | None, name: str) -> int | None:
    value = (item or {}).get(name, {}).get("N")
    return int(value) if value is not None else None


@dataclass(frozen=True, slots=True)
class Condition:
    kind: str
    """exists, absent, seen (`w` is `value`), below (`n` is less than `value`)."""
    value: int = 0

    def holds(self, item: Item | None) -> bool:
        match self.kind:
            case "exists":
                return item is not None
            case "absent":
                return item is None
            case "seen":
                return number(item, "w") == self.value
            case _:
                found = number(item, "n")
                return found is not None and found < self.value

    def words(self) -> tuple[str, Item]:
        """Returns the expression and its values."""
        match self.kind:
            case "exists":
                return "attribute_exists(p)", {}
            case "absent":
                return "attribute_not_exists(p)", {}
            case "seen":
                return "w = :seen", {":seen": {"N": str(self.value)}}
            case _:
                return "n < :below", {":below": {"N": str(self.value)}}

    def statement(self) -> tuple[str, dict[str, Any]]:
        """Returns the condition as part of a PartiQL WHERE; possible for seen and below only."""
        return (" AND w = ?" if self.kind == "seen" else " AND n < ?"), {"N": str(self.value)}


@dataclass(frozen=True, slots=True)
class Write:
    table: str
    key: Key
    kind: str
    """put, update, delete, check."""
    number: int
    """Stands in the item as `w`: no two writes leave the same item behind."""
    condition: Condition | None = None
    attributes: Item = field(default_factory=dict)
    """Of a put, beside the key and `w`; what an update sets."""
    removed: tuple[str, ...] = ()
    added: int | None = None
    """What an update adds to `n`."""
    as_statement: bool = False
    """PartiQL: INSERT wants no item, UPDATE wants one, DELETE is content without."""

    # --- What it does ----------------------------------------------------------------------------

    def holds(self, old: Item | None) -> bool:
        if self.as_statement:
            if self.kind == "put":
                return old is None
            if old is None:
                return self.kind == "delete"
        return self.condition is None or self.condition.holds(old)

    def become(self, old: Item | None) -> Item | None:
        match self.kind:
            case "put":
                return {**key_item(self.key), "w": {"N": str(self.number)}, **self.attributes}
            case "delete":
                return None
            case "check":
                return old
        new = dict(old) if old is not None else key_item(self.key)
        new.update(self.attributes, w={"N": str(self.number)})
        for name in self.removed:
            new.pop(name, None)
        if self.added is not None:
            new["n"] = {"N": str((number(old, "n") or 0) + self.added)}
        return new

    # --- How it is said --------------------------------------------------------------------------

    def request(self) -> dict[str, Any]:
        """Returns the members of PutItem, UpdateItem, DeleteItem, or of one action of a transaction."""
        said: dict[str, Any] = {"TableName": self.table}
        values: Item = {}
        if self.kind == "put":
            said["Item"] = self.become(None)
        else:
            said["Key"] = key_item(self.key)
        if self.kind == "update":
            said["UpdateExpression"], values = self._update()
        if self.condition is not None:
            said["ConditionExpression"], more = self.condition.words()
            values = {**values, **more}
        if values:
            said["ExpressionAttributeValues"] = values
        return said

    def action(self) -> dict[str, Any]:
        kinds = {"put": "Put", "update": "Update", "delete": "Delete", "check": "ConditionCheck"}
        return {kinds[self.kind]: {**self.request(), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}

    def _update(self) -> tuple[str, Item]:
        values: Item = {":w": {"N": str(self.number)}}
        sets = ["w = :w"]
        for name, value in self.attributes.items():
            sets.append(f"{name} = :{name}")
            values[f":{name}"] = value
        text = "SET " + ", ".join(sets)
        if self.removed:
            text += " REMOVE " + ", ".join(self.removed)
        if self.added is not None:
            text += " ADD n :added"
            values[":added"] = {"N": str(self.added)}
        return text, values

    def statement(self) -> dict[str, Any]:
        """Returns the write as a PartiQL statement."""
        parameters: list[Any] = []
        if self.kind == "put":
            item = self.become(None) or {}
            text = f'INSERT INTO "{self.table}" VALUE {{' + ", ".join(f"'{name}': ?" for name in item) + "}"
            return {"Statement": text, "Parameters": list(item.values())}
        if self.kind == "delete":
            text = f'DELETE FROM "{self.table}"'
        else:
            text = f'UPDATE "{self.table}"'
            for name, value in {"w": {"N": str(self.number)}, **self.attributes}.items():
                text += f" SET {name} = ?"
                parameters.append(value)
            for name in self.removed:
                text += f" REMOVE {name}"
        text += " WHERE p = ? AND r = ?"
        parameters += list(key_item(self.key).values())
        if self.condition is not None:
            more, value = self.condition.statement()
            text += more
            parameters.append(value)
        return {"Statement": text, "Parameters": parameters}
