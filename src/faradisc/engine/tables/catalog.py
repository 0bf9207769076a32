"""The catalog: makes, changes and deletes tables. tables.py finds them by name.

All tables are in memory too (`Catalog.tables`). table_lifecycle.py has the states of a table,
catalog_store.py the stored rows, table_commits.py the commit of a change.

A deleted table's rows are cleared when its deletion is accepted; its catalog row is deleted by the next
commit of the catalog after the DELETING status has ended, or at the next start. Its stream is disabled in the
same commit and stays readable (engine/streams/registry.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from faradisc.clock import Clock, Entropy
from faradisc.engine.catalog_log import CatalogLog
from faradisc.engine.jobs.walk import clear_parts
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.streams.reading import not_found, parse_arn
from faradisc.engine.streams.registry import Streams
from faradisc.engine.streams.stream import Stream, StreamState
from faradisc.engine.tables.catalog_follower import CatalogFollower
from faradisc.engine.tables.catalog_store import CatalogStore
from faradisc.engine.tables.definition import TableDefinition
from faradisc.engine.tables.derived import DerivedKind, Kinds, LiveParts, removed
from faradisc.engine.tables.late import LateReads
from faradisc.engine.tables.moments import Moments
from faradisc.engine.tables.names import no_table
from faradisc.engine.tables.quotas import check_quotas
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_commits import TableCommits
from faradisc.engine.tables.table_lifecycle import (
    check_deletable,
    check_exists,
    new_table,
    start_index_deletions,
)
from faradisc.engine.tables.tables import Tables
from faradisc.engine.throughput.settings import ThroughputSettings
from faradisc.engine.throughput.throughput import Throughput
from faradisc.engine.vectors.memory import VectorMemory
from faradisc.errors import (
    LimitExceededException,
    ResourceInUseException,
)
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX, SHARD_LIFETIME_S, TABLES_MAX
from faradisc.model.codec.keyspace import STREAMS_PART
from faradisc.storage.api import Batch, Stale, Store


class Catalog:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        entropy: Entropy,
        kinds: Sequence[DerivedKind],
        *,
        per_region: bool,
        transition_ms: int,
        describe_lag_ms: int = 0,
        shard_lifetime_s: float = SHARD_LIFETIME_S,
        collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX,
        throughput: ThroughputSettings | None = None,
        sealers: Sealers | None = None,
        late: LateReads | None = None,
    ) -> None:
        """kinds: what tables can have beside their items.
        sealers: those that `store` uses; None: it seals nothing. late: None: no read is late."""
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self.sealers = sealers or Sealers(clock, entropy)
        self.log = CatalogLog(store)
        self.streams = Streams(
            store,
            self.log,
            clock,
            entropy,
            partitions=self._partitions_of,
            transition_ns=transition_ms * 1_000_000,
            shard_lifetime_s=shard_lifetime_s,
            sealers=self.sealers,
        )
        self.vectors = VectorMemory()
        self.throughput = Throughput(store, clock, entropy, throughput)
        self.moments = Moments(clock)
        live = LiveParts(
            clock, self.moments, store.shared, self.vectors, self.streams.recorder, collection_bytes_max
        )
        self.kinds = Kinds(kinds, live)
        self.tables = Tables(
            clock,
            self.kinds,
            self.throughput,
            self.sealers,
            late or LateReads(clock),
            per_region=per_region,
            transition_ms=transition_ms,
            describe_lag_ms=describe_lag_ms,
        )
        self._rows = CatalogStore(store, self.log, self.tables.ended)
        self._commits = TableCommits(
            store,
            entropy,
            tables=self.tables,
            rows=self._rows,
            streams=self.streams,
            throughput=self.throughput,
        )
        self.follower = CatalogFollower(self.log, self.tables, self._rows)

    async def load(self) -> None:
        """Reads every table, and finishes the deletions that a crash has interrupted."""
        await self.log.start()
        await self.throughput.load()
        rows = await self._rows.load()
        await self.streams.load()  # after the tables, so that none has a stream that is not known
        for state, version in rows:
            self.tables.put(state, version)
        for table in list(self.tables.by_name.values()):
            await clear_parts(self._store, self.kinds.dropped_parts(table), if_held=True)
            if table.state.status == "DELETING":
                await self._clear(table)
                self.tables.current(table)
        self.throughput.delete_unattached()

    # --- Streams ---

    def stream(self, arn: str) -> Stream:
        """Returns the stream with an ARN. Raises ValidationException, ResourceNotFoundException."""
        arn_region, arn_account, table_name, label = parse_arn(arn)
        stream = self.streams.find(self.tables.namespace(arn_region, arn_account), table_name, label)
        if stream is None:
            raise not_found(arn)
        return stream

    def _partitions_of(self, stream: StreamState) -> Sequence[bytes]:
        """Returns where the partitions of an open stream's table begin."""
        table = self.tables.at((stream.namespace, stream.table_name))
        return [b""] if table is None else table.meter.partition_bounds()

    # --- Changes ---

    async def create(
        self, name: str, region: str, account: str, definition: TableDefinition, settings: dict[str, Any]
    ) -> Table:
        """Creates a table; it is CREATING.

        settings: further fields of TableState. Raises ResourceInUseException, LimitExceededException.
        """

        async def attempt() -> Table:
            namespace = self.tables.namespace(region, account)
            present = self.tables.by_name.get((namespace, name))
            if present is not None and self.tables.current(present, end_early=self.tables.short) is not None:
                raise ResourceInUseException(f"Table already exists: {name}")
            # `names` is slow, but does not count tables whose deletion has ended.
            if len(self.tables.by_name) >= TABLES_MAX <= len(self.tables.names(region, account)):
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
                status_until_ns=now_ns + self.tables.transition_ns,
                **settings,
            )
            self.kinds.assign(state, numbers)
            check_quotas(
                state, None, self.tables.by_name.values(), self.throughput.registry(namespace).config
            )
            stream = self._commits.new_stream(state, numbers)
            version = self.tables.ended.get((namespace, name), 0)
            return await self._commits.commit(state, version, numbers, stream)

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
                until_ns = self.tables.transition_ns + self.throughput.ready_for(current.meter, raised)
                earlier = state.status == "UPDATING"
                state.status_until_ns = max(until_ns, state.status_until_ns if earlier else 0)
                state.status = "UPDATING"
            config = self.throughput.registry(state.namespace).config
            check_quotas(state, current.state, self.tables.by_name.values(), config)
            numbers = self._rows.unused_numbers()
            self.kinds.assign(state, numbers)
            start_index_deletions(state, now_ns + self.tables.transition_ns)
            stream = self._commits.new_stream(state, numbers)
            updated = await self._commits.commit_change(current, state, numbers, stream, also)
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
            state.status_until_ns = self._clock.now_ns() + self.tables.transition_ns
            state.stream = None
            numbers = self._rows.unused_numbers()
            deleting = await self._commits.commit_change(current, state, numbers, None, row_owner)
            await self._clear(deleting)
            return deleting

        return await self._at_its_turn(attempt)

    async def _at_its_turn(self, attempt: Callable[[], Awaitable[Table]]) -> Table:
        """Makes one change; again, from the tables as they are then, when another node was faster."""
        async with self.follower.change_lock:
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
        async with self.follower.change_lock:
            tables = list(self.tables.by_name.values())
            self.tables.by_name.clear()
            states = [
                replace(
                    table.state,
                    status="DELETING",
                    status_until_ns=0,
                    owner_job=None,
                    stream=None,
                    epoch=self._commits.new_epoch(),
                )
                for table in tables
            ]
            for table, state in zip(tables, states, strict=True):
                table.successor = table.with_state(state)
            self.tables.background_index.clear()
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
        present = self.tables.by_name.get((table.state.namespace, table.name))
        current = self.tables.current(present) if present is not None else None
        if current is None or current.state.table_id != table.state.table_id:
            raise no_table(table.name)
        return current

    async def _clear(self, table: Table) -> None:
        await clear_parts(self._store, table.parts())
        for each in table.derived:
            each.forget()

    async def _clear_removed(self, before: Table, after: Table) -> None:
        """Clears the parts of what a change has removed."""
        for each in removed(before.derived, after.derived):
            await clear_parts(self._store, each.parts())
            each.forget()
