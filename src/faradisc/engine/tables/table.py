"""A table of the running database: its rows, and what is derived from them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy

from faradisc.engine.tables.derived import Derived
from faradisc.engine.tables.key_locks import KeyLocks
from faradisc.engine.tables.late import EarlierImages
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import IndexState, TableState
from faradisc.engine.throughput.meter import Provision, TableMeter
from faradisc.engine.vectors.memory import VectorMemory
from faradisc.model.codec.keyspace import parts_of
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch

Written = tuple[bytes, bytes]
"""Account and table, and the row key of an item with the values of its key."""
StampCheck = tuple[bytes, bytes, int, int]
"""Part, row key, version and time of the stamp of an item in another replica; 0 and 0 where there is none."""


class Strong:
    """How strongly consistent replicas reach each other; of one catalog."""

    def __init__(self) -> None:
        self.join: Callable[[Table, Sequence[Item] | None], Awaitable[Sequence[Table]]]
        """Returns the other replicas that a replica reaches, once it has all that was acknowledged elsewhere
        of the items with some keys; None: of all. Raises InternalServerError without a majority. Set by the
        database (engine/replication/strong.py)."""
        self.stamps: Callable[[Table, Sequence[Item]], Awaitable[list[list[StampCheck]]]]
        """Returns the stamps of items in all other replicas, in the order of the keys. Set likewise."""
        self.writing: dict[Written, list[str]] = {}
        """The regions of the writes of an item that have not ended; all are of the first one's region, but
        those that are being refused."""


class Table(TableLayout):
    """A table that serves reads and writes."""

    __slots__ = (
        "derived",
        "late",
        "locks",
        "maintained",
        "meter",
        "reading",
        "strong",
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
        derive: Callable[[TableLayout], Iterable[Derived]],
        strong: Strong,
        locks: KeyLocks | None = None,
        late: EarlierImages | None = None,
    ) -> None:
        """derive: returns what is derived from the items of a table."""
        super().__init__(state, vectors)
        self.version = version
        """Version of the catalog row; 0 until that row is committed."""
        self.meter = meter
        """Throughput and metrics."""
        self.locks = locks
        """Of the items, on a shared store."""
        self.late = late
        """What eventually consistent reads see; None: the store."""
        self.strong = strong if state.is_strong else None
        """Of a replica of a strongly consistent global table."""
        self.derived = tuple(derive(self))
        """All that has rows or log entries beside the items, what is being removed included."""
        self.maintained = tuple(each for each in self.derived if each.is_maintained)
        """What each commit of an item adds to; empty for most tables."""
        self.reading = tuple(each for each in self.maintained if each.reads)
        """What reads the store before a commit."""
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

    def resources(self) -> list[int]:
        """Returns the resources of its rows and logs."""
        return [self.state.resource, *(each.resource for each in self.derived)]

    def parts(self) -> list[bytes]:
        """Returns every part that is cleared with the table. Its stream stays readable."""
        parts = [] if self.state.retained_rows else list(self.placement.parts)
        for each in self.derived:
            parts += each.parts()
        return parts

    def fences(self) -> list[Batch]:
        """Returns batches that give the parts that requests read the table's epoch."""
        parts = list(self.placement.parts)
        for each in self.derived:
            if each.fenced:
                parts += each.parts()
        return [Batch(part, fence=self.epoch) for part in parts]


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
            is_filled=isinstance(of, TableState) or of.status != "CREATING",
        )

    local_parts = [part for each in state.local_indexes for part in parts_of(each.resource, state.slots)]
    provisions: dict[str | None, Provision] = {None: provision(state, state.arn, tuple(local_parts))}
    for index in state.global_indexes:
        provisions[index.name] = provision(index, f"{state.arn}/index/{index.name}")
    return provisions
