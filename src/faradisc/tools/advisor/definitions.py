"""Tables as DescribeTable, CreateTable or a trace describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.capacity.topology import needed_partitions, on_demand_partitions
from faradisc.records import dataclass
from faradisc.tools.traces.trace_format import Described

SAMPLES = 32
"""Items of a sample, each the first one of as many equal parts of the keys' hashes."""


@dataclass(frozen=True, slots=True)
class KeySample:
    """The partition keys of items from all over a table or an index."""

    items: int
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    name: str
    is_global: bool = True
    keys: tuple[str, ...] = ()
    """Names of its key attributes."""
    projection: str | None = None
    """ALL, INCLUDE or KEYS_ONLY; None: not known."""
    read_units: int = 0
    write_units: int = 0
    """Provisioned per second; 0 on demand."""
    items: int = 0
    hash_attributes: int = 1
    """Of its keys, so many are the partition key."""
    sample: KeySample | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    on_demand: bool = True
    read_units: int = 0
    write_units: int = 0
    """Provisioned per second; 0 on demand."""
    keys: tuple[str, ...] = ()
    indexes: tuple[IndexDefinition, ...] = ()
    items: int = 0
    size_bytes: int = 0
    infrequent: bool = False
    """Whether its table class is STANDARD_INFREQUENT_ACCESS."""
    recovery: bool | None = None
    """Whether it has point-in-time recovery; None: not known."""
    expiry: bool | None = None
    """Whether it has time to live; None: not known."""
    hash_attributes: int = 1
    sample: KeySample | None = None

    def index(self, name: str | None) -> IndexDefinition | None:
        return next((index for index in self.indexes if index.name == name), None)

    def partitions(self, name: str | None) -> int:
        """Returns how many partitions the table or an index begins with, as a plan assumes it."""
        if self.on_demand:
            return on_demand_partitions(12_000, 4_000)
        rates = self if name is None else self.index(name) or self
        return needed_partitions(rates.read_units, rates.write_units, self.size_bytes if name is None else 0)

    @property
    def hash_key(self) -> str:
        """Returns the name of its partition key, `pk` where it is not known."""
        return self.keys[0] if self.keys else "pk"


def of_document(
    table: Mapping[str, Any], *, recovery: bool | None = None, expiry: bool | None = None
) -> Definition:
    """Returns the definition in a TableDescription or a CreateTable request."""
    mode = table.get("BillingMode") or table.get("BillingModeSummary", {}).get("BillingMode")
    table_class = table.get("TableClass") or table.get("TableClassSummary", {}).get("TableClass")
    on_demand = mode == "PAY_PER_REQUEST"
    read, write = _units(table)
    return Definition(
        str(table["TableName"]),
        on_demand,
        read,
        write,
        _names(table["KeySchema"]),
        tuple(
            IndexDefinition(
                str(index["IndexName"]),
                kind == "GlobalSecondaryIndexes",
                _names(index["KeySchema"]),
                index.get("Projection", {}).get("ProjectionType"),
                *_units(index),
                index.get("ItemCount", 0),
                _hash_attributes(index["KeySchema"]),
            )
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for index in table.get(kind) or ()
        ),
        table.get("ItemCount", 0),
        table.get("TableSizeBytes", 0),
        table_class == "STANDARD_INFREQUENT_ACCESS",
        recovery,
        expiry,
        _hash_attributes(table["KeySchema"]),
    )


def of_trace(table: Described) -> Definition:
    """Returns the definition in a trace, which knows no key names, projections or settings of backups."""
    indexes = (IndexDefinition(name, read_units=r, write_units=w) for name, (r, w) in table.indexes.items())
    units = (0, 0) if table.on_demand else (table.read_units, table.write_units)
    held = (table.items, table.size_bytes)
    return Definition(table.name, table.on_demand, *units, (), tuple(indexes), *held)


def _names(schema: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(str(each["AttributeName"]) for each in schema)


def _hash_attributes(schema: Sequence[Mapping[str, Any]]) -> int:
    return sum(each.get("KeyType") == "HASH" for each in schema)


def _units(resource: Mapping[str, Any]) -> tuple[int, int]:
    units = resource.get("ProvisionedThroughput") or {}
    return units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)
