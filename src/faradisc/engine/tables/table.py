"""One table as the running database holds it: schema, placement, settings and state.

State changes are timed: a table that is CREATING, UPDATING or DELETING carries the moment at which it
leaves that state, and everyone who looks at it after that moment sees the state it then has. So a
transition needs no background job, survives a restart, and follows a virtual clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from faradisc.engine.streams.capture import Capture
from faradisc.engine.streams.records import Recorder
from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.history import History, history_parts
from faradisc.engine.throughput.table import Provision, TableMeter
from faradisc.engine.vectors.memory import IndexVectors
from faradisc.engine.vectors.schema import VectorSchema
from faradisc.errors import ResourceInUseException
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX
from faradisc.model.codec.keyspace import Placement, parts_of
from faradisc.model.values.schema import IndexSchema, KeySchema, Projection, TableSchema

DAY_NS = 86_400 * 1_000_000_000


@dataclass(slots=True)
class Throughput:
    """Provisioned units of a table or global index; zeros when on demand."""

    read_units: int = 0
    write_units: int = 0
    last_increase_ns: int | None = None
    last_decrease_ns: int | None = None
    decreases_ns: list[int] = field(default_factory=list)
    """Moments of the decreases of the day (UTC) on which the last one was made."""

    def decreases_today(self, now_ns: int) -> list[int]:
        day_start = now_ns - now_ns % DAY_NS
        return [at for at in self.decreases_ns if at >= day_start]


@dataclass(slots=True)
class Index:
    """One secondary index of a live table."""

    schema: IndexSchema
    placement: Placement
    throughput: Throughput | None = None
    """None for a local index: it lives on the table's throughput."""
    status: str = "ACTIVE"
    """CREATING until its backfill is complete; DELETING while it is on its way out."""
    vectors: IndexVectors | None = None
    """Of a vector index: what is in memory of it."""

    @property
    def name(self) -> str:
        return self.schema.name


_STORED_NAMES = {"retained_rows": "kept_rows", "owner_job": "filler"}
"""Names of fields in the catalog, where they differ: the stored format keeps its names."""
_FIELD_NAMES = {stored: name for name, stored in _STORED_NAMES.items()}


@dataclass(slots=True)
class TableState:
    """What is stored of a table: plain data, JSON in the catalog."""

    name: str
    namespace: str
    table_id: str
    region: str
    account: str
    created_ns: int
    resource: int
    collections_resource: int | None
    """Where item collection sizes are kept; only for tables with local indexes."""
    slots: int
    definitions: list[tuple[str, str]]
    key_schema: list[tuple[str, str]]
    local_indexes: list[dict[str, Any]]
    global_indexes: list[dict[str, Any]]
    billing_mode: str
    ever_on_demand_ns: int | None
    throughput: Throughput
    status: str
    status_until_ns: int
    on_demand_switches_ns: list[int] = field(default_factory=list)
    """Switches to on-demand mode in the last 24 hours, a creation in that mode included."""
    deletion_protection: bool = False
    table_class: str | None = None
    table_class_changes_ns: list[int] = field(default_factory=list)
    """Changes of the table class in the last 30 days."""
    tags: dict[str, str] = field(default_factory=dict)
    stream: dict[str, Any] | None = None
    """`view_type` and `resource` of the stream, while the table has one; without a resource number it
    gets a new stream in the catalog."""
    latest_stream_label: str | None = None
    """Of the stream the table has, or had last."""
    ttl: dict[str, Any] | None = None
    """Time to live, once it was switched on: `attribute`; `enabled`; `changed_ns`; `resource` of the expiry
    index while it is on, given by the catalog; `filled` once that knows of every item; `left`, the resource
    of the expiry index there was before."""
    kinesis: list[dict[str, Any]] = field(default_factory=list)
    """The Kinesis destination that is on, if one is, and those there were; engine/kinesis/destinations.py."""
    vector_indexes: list[dict[str, Any]] = field(default_factory=list)
    pitr: dict[str, Any] | None = None
    """Point-in-time recovery, while it is on: `enabled_ns`; `period_days`; `first_day`, the oldest whose
    changes may still be there; `resource` of the history, given by the catalog."""
    left_history: dict[str, int] | None = None
    """Of point-in-time recovery that the last change has switched off: its `resource`, and the days that may
    hold something, from `first_day` to before `end_day`. Cleared at once, unless a crash comes first."""
    restored: dict[str, Any] | None = None
    """What a table was made from, if from a backup or from another one's past:
    engine/backups/restoring.py."""
    retained_rows: bool = False
    """Of a table being deleted: its rows outlive it, until its system backup is made of them."""
    owner_job: str | None = None
    """What fills the table, an import for one: it is CREATING and nobody's until that says it is done."""
    on_demand_maximum: list[int | None] = field(default_factory=lambda: [None, None])
    """Configured maximum of read and write units per second while on demand; None: none."""
    warm: list[int] | None = None
    """Warm throughput the table was created with."""
    pending: dict[str, Any] = field(default_factory=dict)
    """Members of this class that take their new value when UPDATING ends, and `index_throughput` and
    `index_maximum`: those of global indexes by name."""

    def index(self, name: str) -> dict[str, Any]:
        """What is stored of a global index. Raises StopIteration for none of that name."""
        return next(index for index in self.global_indexes if index["name"] == name)

    def set_of_indexes(self, member: str, by_name: Mapping[str, Any]) -> None:
        """Give global indexes a pending `index_throughput` or `index_maximum`."""
        stored = {"index_throughput": "throughput", "index_maximum": "on_demand_maximum"}[member]
        for index in self.global_indexes:
            if index["name"] in by_name:
                index[stored] = by_name[index["name"]]

    def pending_units(self) -> dict[str | None, tuple[int, int]]:
        """The provisioned units that the table (None) and global indexes will have when UPDATING ends. None
        where the mode changes: what that needs begins when it has changed."""
        pending = dict(self.pending.get("index_throughput", {}))
        if "throughput" in self.pending:
            pending[None] = self.pending["throughput"]
        if "billing_mode" in self.pending:
            pending = {}
        return {index: (units["read_units"], units["write_units"]) for index, units in pending.items()}

    def online_indexes(self) -> list[dict[str, Any]]:
        """The indexes that come and go on a live table: global ones and vector indexes."""
        return self.global_indexes + self.vector_indexes

    def number_what_is_new(self, numbers: Iterator[int]) -> None:
        """Give a resource to every index, expiry index, Kinesis destination and history that has none yet."""
        for index in self.online_indexes():
            if index.get("resource") is None:
                index["resource"] = next(numbers)
        if self.ttl is not None and self.ttl["enabled"] and self.ttl["resource"] is None:
            self.ttl["resource"] = next(numbers)
        for destination in self.kinesis:
            if destination["enabled"] and destination["resource"] is None:
                destination["resource"] = next(numbers)
        if self.pitr is not None and self.pitr["resource"] is None:
            self.pitr["resource"] = next(numbers)

    def to_json(self) -> dict[str, Any]:
        return {_STORED_NAMES.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> TableState:
        state = cls(**{_FIELD_NAMES.get(name, name): value for name, value in stored.items()})
        state.throughput = Throughput(**stored["throughput"])
        state.definitions = [(name, kind) for name, kind in stored["definitions"]]
        state.key_schema = [(name, kind) for name, kind in stored["key_schema"]]
        return state


def _key_schema(elements: list[tuple[str, str]], types: dict[str, Any]) -> KeySchema:
    return KeySchema(
        hash=tuple(name for name, kind in elements if kind == "HASH"),
        range=tuple(name for name, kind in elements if kind == "RANGE"),
        types={name: types[name] for name, _ in elements},
    )


class Table:
    """A table's state with what follows from it, ready for reads and writes."""

    __slots__ = (
        "arn",
        "capture",
        "collection_bytes_max",
        "collections",
        "expiry",
        "global_indexes",
        "history",
        "indexes",
        "key",
        "local_indexes",
        "meter",
        "name",
        "placement",
        "schema",
        "state",
        "stream",
        "successor",
        "vector_indexes",
        "version",
    )

    def __init__(
        self, state: TableState, version: int, *, collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX
    ) -> None:
        self.state = state
        self.version = version
        """Version of the catalog row this was read from or written as."""
        self.successor: Table | None = None
        """The same table after a change of its state; set by the catalog. Who has waited since a table was
        looked up follows it, or would write without an index or a stream that has come meanwhile."""
        self.name = state.name
        self.arn = f"arn:aws:dynamodb:{state.region}:{state.account}:table/{state.name}"
        types = dict(state.definitions)
        self.key = _key_schema(state.key_schema, types)
        self.local_indexes = [self._index(stored, types, is_global=False) for stored in state.local_indexes]
        self.global_indexes = [self._index(stored, types, is_global=True) for stored in state.global_indexes]
        self.vector_indexes = [self._vector_index(stored, types) for stored in state.vector_indexes]
        online = self.global_indexes + self.vector_indexes
        maintained = [index for index in online if index.status != "DELETING"]
        self.indexes = self.local_indexes + maintained
        """The indexes that writes keep up."""
        self.schema = TableSchema(
            self.key,
            tuple(index.schema for index in self.local_indexes),
            tuple(index.schema for index in online),
        )
        self.placement = Placement(state.resource, state.slots, self.key)
        self.collection_bytes_max = collection_bytes_max
        self.collections: Placement | None = None
        if state.collections_resource is not None:
            hash_only = KeySchema(self.key.hash, (), self.key.types)
            self.collections = Placement(state.collections_resource, state.slots, hash_only)
        self.stream: Recorder | None = None
        self.capture: Capture | None = None
        self.expiry: Expiry | None = None
        self.history: History | None = None
        """What else writes keep up; set by the catalog."""
        self.meter: TableMeter
        """Its throughput; set by the catalog."""

    @property
    def newest(self) -> Table:
        """This table as it is now."""
        table = self
        while table.successor is not None:
            table = table.successor
        return table

    def leaving_parts(self) -> list[bytes]:
        """The parts of what was last deleted or switched off. They are cleared at once, but a crash may
        have come first."""
        index, ttl = self.changing_index, self.state.ttl
        parts = list(index.placement.parts) if index is not None and index.status == "DELETING" else []
        if ttl is not None and ttl.get("left") is not None:
            parts += parts_of(ttl["left"], self.state.slots)
        left = self.state.left_history
        if left is not None:
            days = range(left["first_day"], left["end_day"])
            parts += history_parts(left["resource"], self.state.slots, days)
        return parts

    def _index(self, stored: dict[str, Any], types: dict[str, Any], *, is_global: bool) -> Index:
        key = _key_schema([(name, kind) for name, kind in stored["key_schema"]], types)
        projection = Projection(stored["projection"], tuple(stored["non_key_attributes"]))
        schema = IndexSchema(stored["name"], is_global, key, projection, self.key)
        placement = Placement(stored["resource"], self.state.slots, key, self.key)
        throughput = Throughput(**stored["throughput"]) if is_global else None
        return Index(schema, placement, throughput, stored.get("status", "ACTIVE"))

    def _vector_index(self, stored: dict[str, Any], types: dict[str, Any]) -> Index:
        searched = [(name, kind) for name, kind in stored["search_schema"]]
        hash_name = next((name for name, kind in searched if kind == "HASH"), None)
        key, table_key = self.key, None
        if hash_name is not None:
            key, table_key = KeySchema((hash_name,), (), {hash_name: types[hash_name]}), self.key
        schema = VectorSchema(
            stored["name"],
            True,
            key,
            Projection(stored["projection"], tuple(stored["non_key_attributes"])),
            self.key,
            stored["vector_attribute"],
            stored["dimensions"],
            stored["distance_function"],
            hash_name,
            tuple(name for name, kind in searched if kind != "HASH"),
        )
        placement = Placement(stored["resource"], self.state.slots, key, table_key)
        return Index(schema, placement, None, stored.get("status", "ACTIVE"), IndexVectors())

    def vector_index(self, name: str) -> Index | None:
        for index in self.vector_indexes:
            if index.name == name:
                return index
        return None

    def index(self, name: str) -> Index | None:
        """The local or global index of that name: those that Query and Scan read."""
        for index in self.local_indexes + self.global_indexes:
            if index.name == name:
                return index
        return None

    def parts(self) -> list[bytes]:
        """Every part that goes with the table. A stream is not the table's: it outlives it."""
        indexes = self.local_indexes + self.global_indexes + self.vector_indexes
        placements = [index.placement for index in indexes]
        if not self.state.retained_rows:
            placements.append(self.placement)
        if self.collections is not None:
            placements.append(self.collections)
        parts = [part for placement in placements for part in placement.parts]
        for destination in self.state.kinesis:
            if destination["resource"] is not None:
                parts += parts_of(destination["resource"], self.state.slots)
        if self.expiry is not None:
            parts += self.expiry.parts
        if self.history is not None:
            parts += self.history.parts()
        return parts

    def provisions(self) -> dict[str | None, Provision]:
        """What the table (None) and its global indexes are set to, by name."""
        state = self.state
        wanted: dict[str | None, Provision] = {
            None: replace(
                self._provision(state.throughput, state.on_demand_maximum, state.warm, self.placement),
                arn=self.arn,
                local_parts=tuple(part for each in self.local_indexes for part in each.placement.parts),
            )
        }
        for index, stored in zip(self.global_indexes, state.global_indexes, strict=True):
            assert index.throughput is not None
            maximum, warm = stored.get("on_demand_maximum", [None, None]), stored.get("warm")
            wanted[index.name] = replace(
                self._provision(index.throughput, maximum, warm, index.placement),
                arn=f"{self.arn}/index/{index.name}",
            )
        return wanted

    def _provision(
        self,
        throughput: Throughput,
        maximum: list[int | None],
        warm: list[int] | None,
        placement: Placement,
    ) -> Provision:
        return Provision(
            arn="",
            on_demand=self.on_demand,
            read_units=throughput.read_units,
            write_units=throughput.write_units,
            max_read=maximum[0],
            max_write=maximum[1],
            composite=bool(placement.key.range),
            warm=None if warm is None else (warm[0], warm[1]),
            parts=placement.parts,
        )

    @property
    def changing_index(self) -> Index | None:
        """The index that is being added or removed; there is one at most."""
        for index in self.global_indexes + self.vector_indexes:
            if index.status != "ACTIVE":
                return index
        return None

    @property
    def on_demand(self) -> bool:
        return self.state.billing_mode == "PAY_PER_REQUEST"


def used_definitions(state: TableState) -> list[tuple[str, str]]:
    """The attribute definitions that some key of the table or of its indexes needs."""
    used = {name for name, _ in state.key_schema}
    for index in state.local_indexes + state.global_indexes:
        used.update(name for name, _ in index["key_schema"])
    for index in state.vector_indexes:
        used.update(name for name, _ in index["search_schema"])
    return [(name, kind) for name, kind in state.definitions if name in used]


IN_USE = "Attempt to change a resource which is still in use: Table is being {}: {}"


UNITS_IN_USE = (
    "Attempt to change a resource which is still in use: Table IOPS are currently being updated. Table: {}"
)


def check_not_in_use(table: Table, *, for_update: bool = False) -> None:
    """Control-plane calls wait for each other. Raises ResourceInUseException.

    An update that meets a change of provisioned units is told so (measured, capacity.md section 2.12).
    """
    status, pending = table.state.status, table.state.pending.keys()
    units = "billing_mode" not in pending and not pending.isdisjoint(("throughput", "index_throughput"))
    if for_update and status == "UPDATING" and units:
        raise ResourceInUseException(UNITS_IN_USE.format(table.name))
    doing = {"CREATING": "created", "UPDATING": "updated", "DELETING": "deleted"}.get(status)
    if doing is not None:
        raise ResourceInUseException(IN_USE.format(doing, table.name))
