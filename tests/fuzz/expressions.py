"""Expressions of all five kinds, with the placeholders they need."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from .values import NAMES, key_scalar, scalar, value

_PLAIN_NAMES = ("pk", "sk", "id", "title", "tags", "doc", "n", "kind")
_TYPES = ("S", "SS", "N", "NS", "B", "BS", "BOOL", "NULL", "L", "M")


class Expressions:
    """Writes the expressions of one request, and collects their names and values."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def placeholders(self) -> dict[str, Any]:
        """The request's members for what the expressions have used."""
        members: dict[str, Any] = {}
        if self.names:
            members["ExpressionAttributeNames"] = self.names
        if self.values:
            members["ExpressionAttributeValues"] = self.values
        return members

    # --- Operands --------------------------------------------------------------------------------

    def name(self, attribute: str) -> str:
        """An attribute's name, behind a placeholder or as it is."""
        if attribute in _PLAIN_NAMES and self._rng.random() < 0.5:
            return attribute
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, typed: dict[str, Any]) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = typed
        return placeholder

    def path(self, top: str | None = None) -> str:
        text = self.name(top or self._rng.choice(NAMES))
        while self._rng.random() < 0.3:
            text += (
                f".{self.name(self._rng.choice(NAMES))}" if self._rng.random() < 0.6 else f"[{self._index()}]"
            )
        return text

    def _index(self) -> int:
        return self._rng.choice((0, 0, 1, 2, 7))

    def _operand(self) -> str:
        if self._rng.random() < 0.15:
            return f"size({self.path()})"
        return self.path() if self._rng.random() < 0.7 else self.value(self._scalar())

    def _scalar(self) -> dict[str, Any]:
        return scalar(self._rng, self._rng.choice("SNB"))

    # --- Conditions ------------------------------------------------------------------------------

    def condition(self, depth: int = 3) -> str:
        rng = self._rng
        if depth and rng.random() < 0.5:
            match rng.randrange(4):
                case 0:
                    return f"{self.condition(depth - 1)} AND {self.condition(depth - 1)}"
                case 1:
                    return f"{self.condition(depth - 1)} or {self.condition(depth - 1)}"
                case 2:
                    return f"NOT {self.condition(depth - 1)}"
                case _:
                    return f"({self.path()} <> {self.value(value(rng))} AND {self.condition(depth - 1)})"
        return self._predicate()

    def _predicate(self) -> str:
        rng = self._rng
        match rng.randrange(9):
            case 0 | 1 | 2:
                return f"{self.path()} {rng.choice(('=', '<>', '<', '<=', '>', '>='))} {self._operand()}"
            case 3:
                return f"{self._operand()} BETWEEN {self.path()} AND {self.path()}"
            case 4:
                return f"{self.path()} IN ({', '.join(self._operand() for _ in range(rng.randrange(1, 4)))})"
            case 5:
                return f"attribute_exists({self.path()})"
            case 6:
                return f"attribute_not_exists ( {self.path()} )"
            case 7:
                return f"attribute_type({self.path()}, {self.value({'S': rng.choice(_TYPES)})})"
            case _:
                function = rng.choice(("begins_with", "contains"))
                return f"{function}({self.path()}, {self.value({'S': rng.choice(('a', 'x', ''))})})"

    # --- Updates, keys, projections --------------------------------------------------------------

    def update(self, free: tuple[str, ...]) -> str:
        """An update of some of the attributes in `free`, each written once."""
        rng = self._rng
        targets = rng.sample(free, rng.randrange(1, min(5, len(free)) + 1))
        sections: dict[str, list[str]] = {}
        for target in targets:
            verb, write = rng.choice(self._writes)
            sections.setdefault(verb, []).append(write(self, target))
        return " ".join(f"{verb} {', '.join(writes)}" for verb, writes in sections.items())

    def _set(self, target: str) -> str:
        rng = self._rng
        path = self.path(target) if rng.random() < 0.3 else self.name(target)
        match rng.randrange(5):
            case 0:
                return f"{path} = {self.path()} {rng.choice('+-')} {self.value({'N': '1'})}"
            case 1:
                return f"{path} = if_not_exists({self.path()}, {self.value(value(rng))})"
            case 2:
                empty = self.value({"L": []})
                return (
                    f"{path} = list_append({self.value({'L': [value(rng)]})}, if_not_exists({path}, {empty}))"
                )
            case 3:
                return f"{path} = {self.path()}"
            case _:
                return f"{path} = {self.value(value(rng))}"

    def _remove(self, target: str) -> str:
        return self.path(target)

    def _add(self, target: str) -> str:
        added = self._rng.choice(({"N": "1.5"}, {"SS": ["a", "q"]}, {"NS": ["1"]}, {"BS": ["AA=="]}))
        return f"{self.name(target)} {self.value(added)}"

    def _delete(self, target: str) -> str:
        return f"{self.name(target)} {self.value(self._rng.choice(({'SS': ['a']}, {'NS': ['1', '2']})))}"

    _writes: tuple[tuple[str, Callable[[Expressions, str], str]], ...] = (
        ("SET", _set),
        ("SET", _set),
        ("REMOVE", _remove),
        ("ADD", _add),
        ("delete", _delete),
    )

    def key_condition(self, hash_: dict[str, str], range_: dict[str, str]) -> str:
        """Equality of every hash attribute, and a condition on none to all of the range attributes."""
        rng = self._rng
        clauses = [f"{self.name(name)} = {self.value(key_scalar(rng, kind))}" for name, kind in hash_.items()]
        constrained = list(range_.items())[: rng.randrange(len(range_) + 1)]
        for position, (name, kind) in enumerate(constrained):
            last = position == len(constrained) - 1
            clauses.append(self._range_clause(name, kind) if last else self._equals(name, kind))
        return " AND ".join(clauses)

    def _equals(self, name: str, kind: str) -> str:
        return f"{self.name(name)} = {self.value(key_scalar(self._rng, kind))}"

    def _range_clause(self, name: str, kind: str) -> str:
        rng = self._rng
        match rng.randrange(4):
            case 0:
                return self._equals(name, kind)
            case 1 if kind != "N":
                return f"begins_with({self.name(name)}, {self.value(key_scalar(rng, kind))})"
            case 2:
                bound = key_scalar(rng, kind)
                return f"{self.name(name)} BETWEEN {self.value(bound)} AND {self.value(dict(bound))}"
            case _:
                operator = rng.choice(("<", "<=", ">", ">="))
                return f"{self.name(name)} {operator} {self.value(key_scalar(rng, kind))}"

    def projection(self) -> str:
        """Paths of different attributes, so that none overlap."""
        tops = self._rng.sample(NAMES, self._rng.randrange(1, 5))
        return ", ".join(self.path(top) for top in tops)
