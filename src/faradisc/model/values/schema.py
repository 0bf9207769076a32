"""Key schemas, index schemas and projections: what reads and writes use of a table's definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from faradisc.limits import PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import value_size
from faradisc.records import dataclass, field

KeyType = Literal["S", "N", "B"]
ProjectionKind = Literal["ALL", "KEYS_ONLY", "INCLUDE"]


@dataclass(frozen=True, slots=True)
class KeySchema:
    """Key attributes in order. Tables and local indexes have 1 HASH and 0 or 1 RANGE attributes;
    global indexes have 1 to 4 HASH and 0 to 4 RANGE attributes."""

    hash: tuple[str, ...]
    range: tuple[str, ...]
    types: dict[str, KeyType]
    """Type of each key attribute named in `hash` and `range`."""
    names: tuple[str, ...] = field(init=False)
    """All key attributes, HASH first."""
    _plain: tuple[tuple[str, KeyType, int], ...] = field(init=False, repr=False, compare=False)
    """Name, type, and a number of characters that always fits the limit: a character has at most 4 bytes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.hash + self.range)
        limits = [(name, PARTITION_KEY_BYTES_MAX) for name in self.hash]
        limits += [(name, SORT_KEY_BYTES_MAX) for name in self.range]
        plain = tuple([(name, self.types[name], limit // 4) for name, limit in limits])
        object.__setattr__(self, "_plain", plain)

    @classmethod
    def of_elements(cls, elements: Iterable[tuple[str, str]], types: Mapping[str, Any]) -> KeySchema:
        """Returns the schema of (attribute name, HASH or RANGE) pairs. `types` may hold more names."""
        roles = dict(elements)
        return cls(
            hash=tuple(name for name, role in roles.items() if role == "HASH"),
            range=tuple(name for name, role in roles.items() if role == "RANGE"),
            types={name: types[name] for name in roles},
        )

    def is_plain(self, item: Item) -> bool:
        """Returns whether an item's key attributes exist, have their types, and are neither empty nor long.

        If so, the exact checks (engine/tables/keys.py) are unnecessary; if not, they decide.
        """
        for name, kind, characters in self._plain:
            value = item.get(name)
            if value is None:
                return False
            content = value.get(kind)
            if not content or len(content) > characters:
                return False
        return True

    def key_of(self, item: Item) -> Item:
        """Returns the key attributes of an item that has them all."""
        return {name: item[name] for name in self.names}


@dataclass(frozen=True, slots=True)
class IndexProjection:
    """The attributes of an index entry in addition to the keys of table and index."""

    kind: ProjectionKind
    non_key_attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """One secondary index.

    `entry_names` is None when entries hold the whole item; otherwise the names they hold.
    """

    name: str
    is_global: bool
    key: KeySchema
    projection: IndexProjection
    table_key: KeySchema
    entry_names: frozenset[str] | None = field(init=False)
    all_key_names: tuple[str, ...] = field(init=False)
    """Index key then table key, each name once: the members of LastEvaluatedKey."""
    checked_names: tuple[str, ...] = field(init=False)
    """The attributes whose values a write must check for this index."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "checked_names", self.key.names)
        names = tuple(dict.fromkeys(self.key.names + self.table_key.names))
        object.__setattr__(self, "all_key_names", names)
        whole = self.projection.kind == "ALL"
        entry_names = None if whole else frozenset(names + self.projection.non_key_attributes)
        object.__setattr__(self, "entry_names", entry_names)

    def has(self, item: Item) -> bool:
        """Returns whether the item has an entry: every key attribute, with a value that can be a key.

        Writes reject other values; items written before the index was added may have them.
        """
        types = self.key.types
        for name in self.key.names:
            value = item.get(name)
            if value is None or types[name] not in value:
                return False
            content = value[types[name]]
            if content == "" or (
                len(content) * 4 > SORT_KEY_BYTES_MAX and not self._fits(name, types[name], content)
            ):
                return False
        return True

    def _fits(self, name: str, kind: KeyType, content: str) -> bool:
        limit = PARTITION_KEY_BYTES_MAX if name in self.key.hash else SORT_KEY_BYTES_MAX
        return kind == "N" or value_size({kind: content}) <= limit

    def entry(self, item: Item) -> Item | None:
        """Returns the entry of an item; None when it has none."""
        return self.entry_of(item) if self.has(item) else None

    def entry_of(self, item: Item) -> Item:
        """Returns the attributes of an item that its index entry holds."""
        names = self.entry_names
        if names is None:
            return item
        return {name: value for name, value in item.items() if name in names}


@dataclass(frozen=True, slots=True)
class TableSchema:
    key: KeySchema
    local_indexes: tuple[IndexSchema, ...] = ()
    global_indexes: tuple[IndexSchema, ...] = ()

    def index(self, name: str) -> IndexSchema | None:
        for index in self.local_indexes + self.global_indexes:
            if index.name == name:
                return index
        return None
