"""The reference model: a table is a dictionary, an index is a sorted list made for every question.

It shares no code with the database: order, projection, sparseness and sizes are implemented again, as simply
as possible. Values are DynamoDB JSON.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Value = dict[str, Any]
Item = dict[str, Value]


@dataclass(frozen=True)
class Source:
    """A table or an index: its key, and the attributes of its entries."""

    name: str | None
    hash: tuple[str, ...]
    range: tuple[str, ...] = ()
    projection: str | tuple[str, ...] = "ALL"
    is_global: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        return self.hash + self.range


@dataclass
class Model:
    """One table and its indexes."""

    types: dict[str, str]
    table: Source
    indexes: tuple[Source, ...] = ()
    items: dict[tuple[Any, ...], Item] = field(default_factory=dict)

    def key_of(self, item: Item) -> tuple[Any, ...]:
        return tuple(sort_key(item[name]) for name in self.table.key)

    def get(self, key: Item) -> Item | None:
        return self.items.get(self.key_of(key))

    def put(self, item: Item) -> None:
        self.items[self.key_of(item)] = item

    def delete(self, key: Item) -> None:
        self.items.pop(self.key_of(key), None)

    def fits(self, item: Item) -> bool:
        """Whether every key attribute the item has is of its type and not empty."""
        return all(
            self.types[name] in item[name] and item[name] != {"S": ""}
            for source in (self.table, *self.indexes)
            for name in source.key
            if name in item
        )

    def entries(self, source: Source) -> list[Item]:
        """Returns all entries in the order of the source's RANGE attributes, then of the table's key."""
        whole = [item for item in self.items.values() if all(name in item for name in source.key)]
        names = source.range + self.table.key
        whole.sort(key=lambda item: [sort_key(item[name]) for name in names])
        return [self.shown(source, item) for item in whole]

    def shown(self, source: Source, item: Item) -> Item:
        if source.projection == "ALL":
            return item
        more = () if source.projection == "KEYS_ONLY" else source.projection
        held = {*source.key, *self.table.key, *more}
        return {name: value for name, value in item.items() if name in held}

    def query(
        self, source: Source, hashes: Iterable[Value], test: Callable[[Item], bool] | None = None
    ) -> list[Item]:
        wanted = list(hashes)
        return [
            entry
            for entry in self.entries(source)
            if [entry[name] for name in source.hash] == wanted and (test is None or test(entry))
        ]

    def start_key(self, source: Source, entry: Item) -> Item:
        return {name: entry[name] for name in {*source.key, *self.table.key}}

    def bytes_of(self, source: Source) -> int:
        return sum(item_bytes(entry) + 100 for entry in self.entries(source))


def sort_key(value: Value) -> Any:
    """Returns a Python value that sorts as DynamoDB sorts values of one type."""
    ((kind, content),) = value.items()
    if kind == "N":
        return Decimal(content)
    return content.encode() if kind == "S" else b64decode(content)


def item_bytes(item: Item) -> int:
    """Size of an item of strings, binaries, whole numbers below 100 and number sets."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Value) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "B":
            return len(b64decode(content))
        case "N":
            return _number_bytes(int(content))
        case "NS":
            return sum(_number_bytes(int(member)) for member in content)
        case _:
            raise AssertionError(f"the model has no values of type {kind}")


def _number_bytes(number: int) -> int:
    """capacity.md section 2.1, for the numbers that occur here."""
    assert abs(number) < 100
    return 1 if number == 0 else 2 + (number < 0)
