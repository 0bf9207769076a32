"""A table of the running database: schema, key placement, settings, and what its writes maintain."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

from faradisc.engine.streams.records import ChangeRecorder
from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.history import History, history_parts
from faradisc.engine.tables.key_locks import KeyLocks
from faradisc.engine.tables.state import IndexState, TableState, Throughput, VectorIndexState
from faradisc.engine.throughput.meter import Provision, TableMeter
from faradisc.engine.vectors.memory import IndexVectors, VectorMemory
from faradisc.engine.vectors.schema import VectorSchema
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX
from faradisc.model.codec.keyspace import Placement, parts_of
from faradisc.model.values.schema import IndexSchema, KeySchema, Projection, TableSchema
from faradisc.storage.api import Batch, Part


@dataclass(frozen=True, slots=True)
class Index:
    """One secondary index of a table."""

    schema: IndexSchema
    placement: Placement
    throughput: Throughput | None = None
    """None for a local index, which uses the table's throughput."""
    status: str = "ACTIVE"
    """CREATING until its backfill is complete; DELETING while it is removed."""
    vectors: IndexVectors | None = None
    """Of a vector index: its vectors in memory."""

    @property
    def name(self) -> str:
        return self.schema.name


class TableLayout:
    """What follows from a table's state: its schema, its indexes and where its rows are."""

    __slots__ = (
        "arn",
        "collections",
        "epoch",
        "global_indexes",
        "hashed_keys",
        "indexes",
        "key",
        "local_indexes",
        "name",
        "named_placement",
        "placement",
        "schema",
        "state",
        "vector_indexes",
    )

    def __init__(self, state: TableState, vectors: VectorMemory | None = None) -> None:
        self.state = state
        self.epoch = state.epoch
        self.name = state.name
        self.arn = state.arn
        self.hashed_keys = state.sealing is not None and state.sealing.hashed_keys
        types = dict(state.definitions)
        self.key = KeySchema.of_elements(state.key_schema, types)
        self.local_indexes = [self._index(stored, types, is_global=False) for stored in state.local_indexes]
        self.global_indexes = [self._index(stored, types, is_global=True) for stored in state.global_indexes]
        memory = vectors or VectorMemory()
        self.vector_indexes = [
            self._vector_index(stored, types, memory.of(stored.resource)) for stored in state.vector_indexes
        ]
        online = self.global_indexes + self.vector_indexes
        self.indexes = self.local_indexes + [index for index in online if index.status != "DELETING"]
        """The indexes that writes maintain."""
        self.schema = TableSchema(
            self.key,
            tuple(index.schema for index in self.local_indexes),
            tuple(index.schema for index in online),
        )
        self.placement = Placement(state.resource, state.slots, self.key, hashed=self.hashed_keys)
        self.named_placement = replace(self.placement, hashed=False)
        """Makes the row keys of log entries, which have the values of keys in every table."""
        self.collections: Placement | None = None
        """Where the sizes of item collections are stored; only tables with local indexes have them."""
        if state.collections_resource is not None:
            hash_only = KeySchema(self.key.hash, (), self.key.types)
            self.collections = replace(self.placement, resource=state.collections_resource, key=hash_only)

    def _index(self, stored: IndexState, types: dict[str, str], *, is_global: bool) -> Index:
        key = KeySchema.of_elements(stored.key_schema, types)
        projection = Projection(stored.projection, tuple(stored.non_key_attributes))
        schema = IndexSchema(stored.name, is_global, key, projection, self.key)
        placement = Placement(stored.resource, self.state.slots, key, self.key, self.hashed_keys)
        return Index(schema, placement, stored.throughput if is_global else None, stored.status)

    def _vector_index(self, stored: VectorIndexState, types: dict[str, str], vectors: IndexVectors) -> Index:
        hash_name = next((name for name, kind in stored.search_schema if kind == "HASH"), None)
        key, table_key = self.key, None
        if hash_name is not None:
            key, table_key = KeySchema.of_elements([(hash_name, "HASH")], types), self.key
        schema = VectorSchema(
            stored.name,
            True,
            key,
            Projection(stored.projection, tuple(stored.non_key_attributes)),
            self.key,
            stored.vector_attribute,
            stored.dimensions,
            stored.distance_function,
            hash_name,
            tuple(name for name, kind in stored.search_schema if kind != "HASH"),
        )
        placement = Placement(stored.resource, self.state.slots, key, table_key, self.hashed_keys)
        return Index(schema, placement, None, stored.status, vectors)

    def item_batch(self, part: Part) -> Batch:
        """Returns an empty batch for one of the parts of items: every commit to these names the table's
        epoch, so that it cannot leave out an index or a stream that another node has added."""
        return Batch(part, epoch=self.epoch)

    def fences(self) -> list[Batch]:
        """Returns batches that give all parts of items and index entries the table's epoch."""
        indexes = self.local_indexes + self.global_indexes + self.vector_indexes
        placements = [self.placement, *(index.placement for index in indexes)]
        return [Batch(part, fence=self.epoch) for placement in placements for part in placement.parts]

    def index(self, name: str) -> Index | None:
        """Returns the local or global index of that name. Query and Scan read these."""
        return next((index for index in self.local_indexes + self.global_indexes if index.name == name), None)

    def vector_index(self, name: str) -> Index | None:
        return next((index for index in self.vector_indexes if index.name == name), None)

    @property
    def changing_index(self) -> Index | None:
        """The index that is being added or removed; there is at most one."""
        online = self.global_indexes + self.vector_indexes
        return next((index for index in online if index.status != "ACTIVE"), None)


class Table(TableLayout):
    """A table that serves reads and writes."""

    __slots__ = (
        "capture",
        "collection_bytes_max",
        "expiry",
        "history",
        "locks",
        "meter",
        "stream",
        "successor",
        "version",
    )

    def __init__(
        self,
        state: TableState,
        version: int,
        *,
        meter: TableMeter,
        vectors: VectorMemory,
        stream: ChangeRecorder | None = None,
        capture: ChangeRecorder | None = None,
        expiry: Expiry | None = None,
        history: History | None = None,
        collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX,
        locks: KeyLocks | None = None,
    ) -> None:
        super().__init__(state, vectors)
        self.version = version
        """Version of the catalog row; 0 until that row is committed."""
        self.meter = meter
        """Throughput and metrics."""
        self.stream = stream
        self.capture = capture
        self.expiry = expiry
        self.history = history
        self.collection_bytes_max = collection_bytes_max
        self.locks = locks
        """Of the items, on a shared store."""
        self.successor: Table | None = None
        """The same table after a change of its state. A request that has waited since it found the table
        continues with the newest one, so that it maintains new indexes and streams."""

    @property
    def newest(self) -> Table:
        """This table after the latest change of its state."""
        table = self
        while table.successor is not None:
            table = table.successor
        return table

    def with_state(self, state: TableState) -> Table:
        """Returns this table in another state that has the same schema and indexes."""
        table = copy(self)
        table.state, table.version, table.epoch = state, 0, state.epoch
        return table

    def parts(self) -> list[bytes]:
        """Returns every part that is cleared with the table. Its stream stays readable."""
        indexes = self.local_indexes + self.global_indexes + self.vector_indexes
        placements = [index.placement for index in indexes]
        if not self.state.retained_rows:
            placements.append(self.placement)
        if self.collections is not None:
            placements.append(self.collections)
        parts = [part for placement in placements for part in placement.parts]
        for destination in self.state.kinesis:
            if destination.resource is not None:
                parts += parts_of(destination.resource, self.state.slots)
        if self.expiry is not None:
            parts += self.expiry.parts
        if self.history is not None:
            parts += self.history.parts()
        return parts


def dropped_parts(table: TableLayout) -> list[bytes]:
    """Returns the parts of what was last deleted or disabled. A crash may have left rows in them."""
    state, index = table.state, table.changing_index
    parts = list(index.placement.parts) if index is not None and index.status == "DELETING" else []
    if state.ttl is not None and state.ttl.previous_resource is not None:
        parts += parts_of(state.ttl.previous_resource, state.slots)
    dropped = state.dropped_history
    if dropped is not None:
        parts += history_parts(dropped.resource, state.slots, range(dropped.first_day, dropped.end_day))
    return parts


def provisions_of(state: TableState) -> dict[str | None, Provision]:
    """Returns the throughput settings of a table (None) and of its global indexes by name."""

    def provision(of: TableState | IndexState, arn: str, local_parts: tuple[bytes, ...] = ()) -> Provision:
        return Provision(
            arn=arn,
            on_demand=state.on_demand,
            read_units=of.throughput.read_units,
            write_units=of.throughput.write_units,
            max_read=of.on_demand_maximum[0],
            max_write=of.on_demand_maximum[1],
            composite=any(role == "RANGE" for _, role in of.key_schema),
            warm=None if of.warm is None else (of.warm[0], of.warm[1]),
            parts=parts_of(of.resource, state.slots),
            local_parts=local_parts,
        )

    local_parts = [part for each in state.local_indexes for part in parts_of(each.resource, state.slots)]
    provisions: dict[str | None, Provision] = {None: provision(state, state.arn, tuple(local_parts))}
    for index in state.global_indexes:
        provisions[index.name] = provision(index, f"{state.arn}/index/{index.name}")
    return provisions
