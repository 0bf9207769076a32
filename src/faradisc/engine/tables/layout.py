"""What follows from a table's state alone: its schema, its indexes, and where its rows are."""

from __future__ import annotations

from operator import attrgetter

from faradisc.engine.tables.state import IndexState, TableState, UnitsState, VectorIndexState
from faradisc.engine.vectors.memory import IndexVectors, VectorMemory
from faradisc.engine.vectors.schema import VectorSchema
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import IndexProjection, IndexSchema, KeySchema, TableSchema
from faradisc.model.values.size import value_size
from faradisc.records import dataclass, replace
from faradisc.storage.api import Batch, Part

VECTOR_ELEMENT_BYTES = 4
"""For which one element of a vector is charged."""


@dataclass(frozen=True, slots=True)
class Index:
    """One secondary index of a table."""

    schema: IndexSchema
    placement: Placement
    throughput: UnitsState | None = None
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
        "vectors",
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
        self.vectors = {
            (each.vector_attribute, each.dimensions)
            for each in state.vector_indexes
            if each.status != "DELETING"
        }
        """The attributes that vector indexes read, with their dimensions."""
        online = self.global_indexes + self.vector_indexes
        self.indexes = sorted(
            self.local_indexes + [index for index in online if index.status != "DELETING"],
            key=attrgetter("name"),
        )
        """The indexes that writes maintain, by name: an error of a key names the first."""
        self.schema = TableSchema(
            self.key,
            tuple(index.schema for index in self.local_indexes),
            tuple(index.schema for index in online),
        )
        self.placement = Placement(state.resource, state.slots, self.key, hashed=self.hashed_keys)
        self.named_placement = replace(self.placement, hashed=False)
        """Makes the row keys of log entries, which have the values of keys in every table."""

    def _index(self, stored: IndexState, types: dict[str, str], *, is_global: bool) -> Index:
        key = KeySchema.of_elements(stored.key_schema, types)
        projection = IndexProjection(stored.projection, tuple(stored.non_key_attributes))
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
            IndexProjection(stored.projection, tuple(stored.non_key_attributes)),
            self.key,
            stored.vector_attribute,
            stored.dimensions,
            stored.distance_function,
            hash_name,
            tuple(name for name, kind in stored.search_schema if kind != "HASH"),
        )
        placement = Placement(stored.resource, self.state.slots, key, table_key, self.hashed_keys)
        return Index(schema, placement, None, stored.status, vectors)

    # --- Sizes in units --------------------------------------------------------------------------

    def billed_size(self, record: item_record.Record | None) -> int:
        """Returns the bytes for which reads and writes charge the item of a record; None: no item."""
        if record is None:
            return 0
        size = item_record.size_of(record)
        return size + self.vector_bytes(item_record.decode(record)) if self.vectors else size

    def vector_bytes(self, item: Item) -> int:
        """Returns what its vectors add to the charged size of an item, mostly less than nothing: a vector is
        charged with 4 bytes per dimension and not by its numbers (new-features.md section 13)."""
        added = 0
        for name, dimensions in self.vectors:
            value = item.get(name, {})
            if len(value.get("L", ())) == dimensions:
                added += VECTOR_ELEMENT_BYTES * dimensions - value_size(value)
        return added

    @property
    def title(self) -> str:
        """`table music`, with account and region where the database separates them."""
        space = f" ({self.state.namespace})" if self.state.namespace else ""
        return f"table {self.name}{space}"

    def item_batch(self, part: Part) -> Batch:
        """Returns an empty batch for one of the parts of items: every commit to these names the table's
        epoch, so that it cannot leave out an index or a stream that another node has added."""
        return Batch(part, epoch=self.epoch)

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
