"""The standing tables: every kind of key and index there is."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from .values import key_scalar, value

CANARY = "Canary"
"""A table that no generated request names: it must come through every round unharmed."""


@dataclass(frozen=True)
class Keys:
    """Attribute names and types of a table's or index's key."""

    hash: dict[str, str]
    range: dict[str, str] = field(default_factory=dict)

    def all(self) -> dict[str, str]:
        return self.hash | self.range

    def schema(self) -> list[dict[str, str]]:
        return [
            *({"AttributeName": name, "KeyType": "HASH"} for name in self.hash),
            *({"AttributeName": name, "KeyType": "RANGE"} for name in self.range),
        ]


@dataclass(frozen=True)
class Standing:
    """One table: name, key, indexes by name."""

    name: str
    keys: Keys
    local: dict[str, Keys] = field(default_factory=dict)
    globals_: dict[str, Keys] = field(default_factory=dict)
    projections: dict[str, Any] = field(default_factory=dict)
    provisioned: bool = False
    streamed: bool = False

    @property
    def indexes(self) -> dict[str, Keys]:
        return self.local | self.globals_

    def definition(self) -> dict[str, Any]:
        """CreateTable's request."""
        types: dict[str, str] = {}
        for keys in (self.keys, *self.indexes.values()):
            types |= keys.all()
        units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
        definition: dict[str, Any] = {
            "TableName": self.name,
            "KeySchema": self.keys.schema(),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
            ],
        }
        if self.streamed:
            view = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
            definition["StreamSpecification"] = view
        if self.provisioned:
            definition["ProvisionedThroughput"] = units
        else:
            definition["BillingMode"] = "PAY_PER_REQUEST"
        for member, indexes in (
            ("LocalSecondaryIndexes", self.local),
            ("GlobalSecondaryIndexes", self.globals_),
        ):
            if indexes:
                definition[member] = [self._index(name, keys) for name, keys in indexes.items()]
        if self.provisioned:
            for index in definition.get("GlobalSecondaryIndexes", ()):
                index["ProvisionedThroughput"] = units
        return definition

    def _index(self, name: str, keys: Keys) -> dict[str, Any]:
        return {
            "IndexName": name,
            "KeySchema": keys.schema(),
            "Projection": self.projections.get(name, {"ProjectionType": "ALL"}),
        }

    def key(self, rng: Random, keys: Keys | None = None) -> dict[str, Any]:
        """A valid primary key, one of few."""
        return {name: key_scalar(rng, kind) for name, kind in (keys or self.keys).all().items()}

    def item(self, rng: Random) -> dict[str, Any]:
        """A valid item: its key, often the keys of its indexes, and whatever else."""
        item = {name: value(rng) for name in rng.sample(("title", "tags", "doc", "n"), rng.randrange(4))}
        for keys in self.indexes.values():
            for name, kind in keys.all().items():
                if rng.random() < 0.7:
                    item[name] = key_scalar(rng, kind)
        return item | self.key(rng)


TABLES = (
    Standing("Flat", Keys({"id": "S"})),
    Standing(
        "Composite",
        Keys({"pk": "S"}, {"sk": "N"}),
        local={"ByRank": Keys({"pk": "S"}, {"rank": "N"})},
        globals_={
            "ByKind": Keys({"kind": "S"}, {"when": "B"}),
            "Multi": Keys({"a": "S", "b": "N"}, {"c": "S", "d": "B"}),
        },
        projections={
            "ByRank": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title", "tags"]},
            "ByKind": {"ProjectionType": "KEYS_ONLY"},
        },
        streamed=True,
    ),
    Standing(
        "Binary",
        Keys({"h": "B"}, {"r": "S"}),
        globals_={"Inverted": Keys({"r": "S"}, {"h": "B"})},
        provisioned=True,
    ),
)

BY_NAME = {table.name: table for table in TABLES}
