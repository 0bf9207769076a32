"""The commit of a table's state: one commit with its stream that begins or ends, and on all nodes or none.

A change is visible in memory while its commit is on the way to the disk, since other requests run meanwhile;
when the commit fails, the change is undone.
"""

from __future__ import annotations

from contextlib import nullcontext

from faradisc.clock import Entropy
from faradisc.engine.streams.registry import StreamedTable, Streams
from faradisc.engine.streams.stream import StreamState
from faradisc.engine.tables.catalog_store import CatalogStore, ResourceNumbers
from faradisc.engine.tables.state import UNASSIGNED, TableState
from faradisc.engine.tables.table import Table, provisions_of
from faradisc.engine.tables.table_lifecycle import being_updated
from faradisc.engine.tables.tables import Tables
from faradisc.engine.throughput.throughput import Throughput
from faradisc.errors import StorageError, ValidationException
from faradisc.model.codec.keyspace import parts_of
from faradisc.storage.api import Batch, Stale, Store

EPOCH_BYTES = 7


class TableCommits:
    """Makes the commits of one catalog, one at a time."""

    def __init__(
        self,
        store: Store,
        entropy: Entropy,
        *,
        tables: Tables,
        rows: CatalogStore,
        streams: Streams,
        throughput: Throughput,
    ) -> None:
        self._store = store
        self._entropy = entropy
        self._tables = tables
        self._rows = rows
        self._streams = streams
        self._throughput = throughput

    def new_stream(self, state: TableState, numbers: ResourceNumbers) -> StreamState | None:
        """Assigns a stream to a table that has just enabled one; returns the stream's state."""
        if state.stream is None or state.stream.resource != UNASSIGNED:
            return None
        streamed = StreamedTable(
            state.namespace,
            state.name,
            state.region,
            state.account,
            state.key_schema,
            {name: kind for name, kind in state.definitions if name in dict(state.key_schema)},
            self._throughput.partition_bounds(state.table_id, state.name, provisions_of(state)[None]),
        )
        stream = self._streams.beginning(streamed, next(numbers), state.stream.view_type)
        state.stream.resource = stream.resource
        state.latest_stream_label = stream.label
        return stream

    async def commit_change(
        self,
        current: Table,
        state: TableState,
        numbers: ResourceNumbers,
        stream: StreamState | None,
        also: Batch | None,
    ) -> Table:
        """Commits a changed state, together with the end of the table's stream if the change disables it."""
        before = current.state.stream
        ended = self._streams.stream(before.resource) if before is not None and state.stream is None else None
        async with ended.rolling if ended is not None else nullcontext():
            stream = self._streams.ending(ended, current.state.sealing) if ended is not None else stream
            return await self.commit(state, current.version, numbers, stream, also)

    async def commit(
        self,
        state: TableState,
        version: int,
        numbers: ResourceNumbers,
        stream: StreamState | None,
        also: Batch | None = None,
    ) -> Table:
        """Commits a table's state, together with the state of a stream that begins or ends, and `also`.

        On a shared store the table gets another epoch, so that other nodes cannot use it without the change;
        and this node not before the change is made. Raises Stale there when another node was faster.
        """
        if state.vector_indexes and self._store.shared:
            raise ValidationException("Vector indexes are not supported by servers with --store")
        further = [] if also is None else [also]
        stream_before = None
        if stream is not None:
            further += self._streams.batches_for(stream)
            stream_before = self._streams.state_of(stream.resource)
            self._streams.put(stream)
        before = self._tables.by_name.get((state.namespace, state.name))
        state.epoch = self.new_epoch()
        table = self._tables.put(state, 0)
        if self._store.shared:
            further += table.fences()
            if stream is not None:  # so that a store of several places puts it beside the table
                further.append(Batch(parts_of(stream.resource, 1)[0]))
        failure: Exception | None = None
        try:
            new_version = await self._rows.commit(state, version, numbers, further)
            if new_version is not None:
                table.version = new_version
                if stream is not None:
                    await self._streams.committed(stream)
                return table
            failure = being_updated(state.name)
            if self._store.shared:
                failure = Stale()
        except StorageError as error:
            failure = error
        if stream is not None:
            self._streams.take_back(stream.resource, stream_before)
        self._tables.put_back(table, before)
        raise failure

    def new_epoch(self) -> int:
        """Returns an epoch that no other change has; 0 on the store of one process, which has no epochs."""
        return int.from_bytes(self._entropy.token_bytes(EPOCH_BYTES), "big") if self._store.shared else 0
