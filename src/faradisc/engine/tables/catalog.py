"""The catalog: makes, changes and deletes tables. table_lookup.py finds them by name.

All tables are in memory too. A change is visible in memory while its commit is on the way to the disk, since
other requests run meanwhile; when the commit fails, the change is undone. table_lifecycle.py has the states
of a table, catalog_store.py the stored rows.

A deleted table's rows are cleared when its deletion is accepted; its catalog row is deleted by the next
commit of the catalog after the DELETING status has ended, or at the next start. Its stream is disabled in the
same commit and stays readable (engine/streams/registry.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from faradisc.engine.streams.registry import StreamedTable
from faradisc.engine.streams.stream import StreamState
from faradisc.engine.tables.catalog_store import ResourceNumbers
from faradisc.engine.tables.clearing import clear_parts
from faradisc.engine.tables.definition import TableDefinition
from faradisc.engine.tables.derived import removed
from faradisc.engine.tables.quotas import check_quotas
from faradisc.engine.tables.state import UNASSIGNED, TableState
from faradisc.engine.tables.table import Table, provisions_of
from faradisc.engine.tables.table_lifecycle import (
    being_updated,
    check_deletable,
    check_exists,
    new_table,
    start_index_deletions,
)
from faradisc.engine.tables.table_lookup import TableLookup
from faradisc.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    StorageError,
    ValidationException,
)
from faradisc.limits import TABLES_MAX
from faradisc.model.codec.keyspace import STREAMS_PART, parts_of
from faradisc.storage.api import Batch, Stale

EPOCH_BYTES = 7


class Catalog(TableLookup):
    async def load(self) -> None:
        """Reads every table, and finishes the deletions that a crash has interrupted."""
        await self.log.start()
        await self.throughput.load()
        rows = await self._rows.load()
        await self.streams.load()  # after the tables, so that none has a stream that is not known
        for state, version in rows:
            self._tables[state.namespace, state.name] = self._attach(state, version)
        for table in list(self._tables.values()):
            await clear_parts(self._store, self.kinds.dropped_parts(table), if_held=True)
            if table.state.status == "DELETING":
                await self._clear(table)
                self._current_state_of(table)
        self.throughput.delete_unattached()

    # --- Changes ---

    async def create(
        self, name: str, region: str, account: str, definition: TableDefinition, settings: dict[str, Any]
    ) -> Table:
        """Creates a table; it is CREATING.

        settings: further fields of TableState. Raises ResourceInUseException, LimitExceededException.
        """

        async def attempt() -> Table:
            namespace = self.namespace(region, account)
            present = self._tables.get((namespace, name))
            if present is not None and self._current_state_of(present, end_early=self.short) is not None:
                raise ResourceInUseException(f"Table already exists: {name}")
            # `names` is slow, but does not count tables whose deletion has ended.
            if len(self._tables) >= TABLES_MAX <= len(self.names(region, account)):
                raise LimitExceededException(
                    "Subscriber limit exceeded: Number of tables exceeds the limit of "
                    f"{TABLES_MAX} tables per account"
                )
            now_ns = self._clock.now_ns()
            numbers = self._rows.unused_numbers()
            state = new_table(
                definition,
                next(numbers),
                slots=self._store.slots,
                name=name,
                namespace=namespace,
                table_id=self._entropy.uuid(),
                region=region,
                account=account,
                created_ns=now_ns,
                status_until_ns=now_ns + self.transition_ns,
                **settings,
            )
            self.kinds.assign(state, numbers)
            check_quotas(state, None, self._tables.values(), self.throughput.registry(namespace).config)
            stream = self._new_stream(state, numbers)
            version = self._rows.deleted.get((namespace, name), 0)
            return await self._commit(state, version, numbers, stream)

        return await self._at_its_turn(attempt)

    async def update(
        self,
        table: Table,
        change: Callable[[TableState], bool],
        *,
        while_in_use: bool = False,
        also: Batch | None = None,
    ) -> Table:
        """Applies a change to a copy of the table's state and commits it, together with `also`.

        `change` returns whether the table becomes UPDATING: what it has put into `pending` takes effect when
        that status ends, a transition after the partitions for it exist. It may raise an ApiError.
        Raises ResourceInUseException while the table is CREATING or DELETING, unless `while_in_use`.
        """

        async def attempt() -> Table:
            current = self._present(table)
            if not while_in_use:
                check_exists(current.state)
            state = current.state.copy()
            self.kinds.settle(state)  # rows were cleared after the last change, or at the start
            now_ns = self._clock.now_ns()
            raised: dict[str | None, tuple[int, int]] = {}
            if change(state):
                raised = state.pending_units()
                until_ns = self.transition_ns + self.throughput.ready_for(current.meter, raised)
                earlier = state.status == "UPDATING"
                state.status_until_ns = max(until_ns, state.status_until_ns if earlier else 0)
                state.status = "UPDATING"
            config = self.throughput.registry(state.namespace).config
            check_quotas(state, current.state, self._tables.values(), config)
            numbers = self._rows.unused_numbers()
            self.kinds.assign(state, numbers)
            start_index_deletions(state, now_ns + self.transition_ns)
            stream = self._new_stream(state, numbers)
            updated = await self._commit_change(current, state, numbers, stream, also)
            self.throughput.prepare(updated.meter, raised, now_ns)
            await self._clear_removed(current, updated)
            return updated

        return await self._at_its_turn(attempt)

    async def end_past(self, table: Table, at_ns: int) -> None:
        """Makes changes of a table's items happen after a moment from now on, on all nodes."""
        self.moments.begin_after(at_ns)

        def later(state: TableState) -> bool:
            state.changes_after_ns = max(state.changes_after_ns, at_ns)
            return False

        if self._store.shared:
            await self.update(table, later, while_in_use=True)

    async def raise_warm(self, table: Table, index: str | None, units: tuple[int, int]) -> None:
        """Starts to raise the warm throughput of a table (None) or global index. It is available a transition
        after the partitions for it; the table stays ACTIVE."""
        await self.throughput.raise_warm(table.meter, index, units, self.transition_ns)

    async def filled(self, table: Table, also: Batch | None = None) -> None:
        """Makes a table ACTIVE that its owner job has filled; committed together with `also`.

        Raises ResourceNotFoundException.
        """

        def complete(state: TableState) -> bool:
            state.owner_job = None
            return False

        # The throughput is measured before the commit: before other writes, and before a crash that would
        # lose it.
        await self.throughput.finish_load(table.meter)
        await self.update(table, complete, while_in_use=True, also=also)

    async def delete(
        self,
        table: Table,
        *,
        while_in_use: bool = False,
        check: Callable[[], None] | None = None,
        row_owner: Batch | None = None,
    ) -> Table:
        """Starts to delete a table: it is DELETING, and its rows are cleared at once.

        check: called at the turn of this change; may raise an ApiError.
        row_owner: committed with the deletion; takes over the table's own rows, which then stay.
        Raises ResourceInUseException while the table is not ACTIVE, unless `while_in_use`.
        """

        async def attempt() -> Table:
            current = self._present(table)
            if not while_in_use:
                check_deletable(current.state)
            if check is not None:
                check()
            state = current.state.copy()
            state.owner_job = None
            state.retained_rows = row_owner is not None
            state.status = "DELETING"
            state.status_until_ns = self._clock.now_ns() + self.transition_ns
            state.stream = None
            numbers = self._rows.unused_numbers()
            deleting = await self._commit_change(current, state, numbers, None, row_owner)
            await self._clear(deleting)
            return deleting

        return await self._at_its_turn(attempt)

    async def _at_its_turn(self, attempt: Callable[[], Awaitable[Table]]) -> Table:
        """Makes one change; again, from the tables as they are then, when another node was faster."""
        async with self.change_lock:
            while True:
                try:
                    return await attempt()
                except Stale:
                    if not await self.log.follow():
                        raise

    async def drop_all(self) -> None:
        """Deletes every table at once, whatever its state or protection, and every stream.

        The catalog's rows are deleted last: a start after a crash in between finds deleted tables and ended
        streams, and clears them.
        """
        async with self.change_lock:
            tables = list(self._tables.values())
            self._tables.clear()
            states = [
                replace(
                    table.state,
                    status="DELETING",
                    status_until_ns=0,
                    owner_job=None,
                    stream=None,
                    epoch=self._new_epoch(),
                )
                for table in tables
            ]
            for table, state in zip(tables, states, strict=True):
                table.successor = table.with_state(state)
            self.background_index.clear()
            self.throughput.drop_all()
            deleted, without_rows = self._rows.batches_to_drop(states)
            ended_streams, without_streams, stream_parts = self.streams.drop_all()
            if not without_rows.deletes and not without_streams.deletes:
                return
            fences = (
                [fence for table in tables for fence in table.newest.fences()] if self._store.shared else []
            )
            gone = self.log.batches(STREAMS_PART, *without_streams.deletes)
            await self._store.commit([deleted, ended_streams, *gone, *fences])
            for table in tables:
                await self._clear(table)
            for part in stream_parts:
                await self._store.clear(part)
            await self._store.commit([without_rows, without_streams, *gone])

    def _present(self, table: Table) -> Table:
        """Returns the table after all earlier changes. Raises ResourceNotFoundException."""
        present = self._tables.get((table.state.namespace, table.name))
        current = self._current_state_of(present) if present is not None else None
        if current is None or current.state.table_id != table.state.table_id:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {table.name} not found")
        return current

    def _new_stream(self, state: TableState, numbers: ResourceNumbers) -> StreamState | None:
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
            self.throughput.partition_bounds(state.table_id, state.name, provisions_of(state)[None]),
        )
        stream = self.streams.beginning(streamed, next(numbers), state.stream.view_type)
        state.stream.resource = stream.resource
        state.latest_stream_label = stream.label
        return stream

    # --- Commits ---

    async def _commit_change(
        self,
        current: Table,
        state: TableState,
        numbers: ResourceNumbers,
        stream: StreamState | None,
        also: Batch | None,
    ) -> Table:
        """Commits a changed state, together with the end of the table's stream if the change disables it."""
        before = current.state.stream
        ended = self.streams.stream(before.resource) if before is not None and state.stream is None else None
        async with ended.rolling if ended is not None else nullcontext():
            stream = self.streams.ending(ended, current.state.sealing) if ended is not None else stream
            return await self._commit(state, current.version, numbers, stream, also)

    async def _commit(
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
            further += self.streams.batches_for(stream)
            stream_before = self.streams.state_of(stream.resource)
            self.streams.put(stream)
        before = self._tables.get((state.namespace, state.name))
        state.epoch = self._new_epoch()
        table = self._replace(self._attach(state, 0))
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
                    await self.streams.committed(stream)
                return table
            failure = being_updated(state.name)
            if self._store.shared:
                failure = Stale()
        except StorageError as error:
            failure = error
        if stream is not None:
            self.streams.take_back(stream.resource, stream_before)
        self._undo(table, before)
        raise failure

    def _new_epoch(self) -> int:
        """Returns an epoch that no other change has; 0 on the store of one process, which has no epochs."""
        return int.from_bytes(self._entropy.token_bytes(EPOCH_BYTES), "big") if self._store.shared else 0

    def _undo(self, table: Table, before: Table | None) -> None:
        """Puts back the table before a change whose commit has failed."""
        name = (table.state.namespace, table.name)
        del self._tables[name]
        if before is None or before.state.table_id != table.state.table_id:
            self.throughput.detach(table.state.table_id)
            self.sealers.forget(table.state.table_id)
        if before is not None:
            self._tables[name] = table.successor = self._attach(before.state, before.version)

    async def _clear(self, table: Table) -> None:
        await clear_parts(self._store, table.parts())
        for each in table.derived:
            each.forget()

    async def _clear_removed(self, before: Table, after: Table) -> None:
        """Clears the parts of what a change has removed."""
        for each in removed(before.derived, after.derived):
            await clear_parts(self._store, each.parts())
            each.forget()
