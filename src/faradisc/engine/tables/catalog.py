"""The catalog: which tables there are, in which state, and how they change.

The catalog is one part of the store (resource 0): a row per table, key `namespace 00 name`, value the
table's state as JSON; and one row, key FF, with the last resource number given out. All of it is held
in memory too; every change is committed first, checked against the version in memory.

A deleted table's rows are cleared when its deletion is accepted; its catalog row goes with the next
commit of the catalog after the DELETING state has ended, or at the next start. Its stream stays
(engine/streams/registry.py): it is switched off in the same commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import orjson

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock, Entropy
from faradisc.engine.streams.capture import capture_of
from faradisc.engine.streams.reading import not_found, parse_arn
from faradisc.engine.streams.registry import StreamedTable, Streams
from faradisc.engine.streams.stream import Stream, StreamState
from faradisc.engine.tables.background_index import BackgroundIndex
from faradisc.engine.tables.clearing import clear_parts
from faradisc.engine.tables.definition import TableDefinition, stored_index
from faradisc.engine.tables.expiry import expiry_of
from faradisc.engine.tables.history import Moments, history_of
from faradisc.engine.tables.names import Names, NsName, row_key
from faradisc.engine.tables.quotas import check_quotas
from faradisc.engine.tables.table import (
    IN_USE,
    Table,
    TableState,
    Throughput,
    check_not_in_use,
    used_definitions,
)
from faradisc.engine.throughput.meter import Meter
from faradisc.engine.throughput.settings import ThroughputSettings
from faradisc.engine.vectors.memory import VectorMemory
from faradisc.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    StorageError,
)
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX, SHARD_LIFETIME_S, TABLES_MAX
from faradisc.model.codec.keyspace import CATALOG_PART, EMBEDDED_SLOTS
from faradisc.storage.api import Batch, Conflict, Store

_LAST_RESOURCE_KEY = b"\xff"

HURRIED_TRANSITION_MS_MAX = 50
"""Transitions no longer than this are finished by the first data call that meets a table still being
created, and by DescribeTable: SDK waiters look at once and then sleep for 20 seconds. Whoever sets a
delay that can be noticed sees the service's states and errors (docs/decisions/0006)."""


class Catalog:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        entropy: Entropy,
        *,
        per_region: bool,
        transition_ms: int,
        shard_lifetime_s: float = SHARD_LIFETIME_S,
        collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX,
        throughput: ThroughputSettings | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._entropy = entropy
        names = Names(per_region=per_region)
        self.namespace = names.namespace
        self.resolve = names.resolve
        self._apart = per_region
        self._transition_ns = transition_ms * 1_000_000
        self._collection_bytes_max = collection_bytes_max
        self._hurry = transition_ms <= HURRIED_TRANSITION_MS_MAX
        self.streams = Streams(
            store, clock, entropy, transition_ns=self._transition_ns, shard_lifetime_s=shard_lifetime_s
        )
        self.vectors = VectorMemory()
        self.meter = Meter(store, clock, entropy, throughput)
        self.moments = Moments(clock)
        self._tables: dict[NsName, Table] = {}
        self._gone: dict[NsName, int] = {}
        """Tables whose deletion has ended but whose row is still there, with the row's version."""
        self.background_index = BackgroundIndex(self._tables.get)
        self._last_resource = 0
        self._last_resource_version = 0
        self._changing = asyncio.Lock()
        """Held by the one change of the catalog that is on its way to the disk."""

    @property
    def transition_ns(self) -> int:
        """How long a change of state takes."""
        return self._transition_ns

    # --- Start ---

    async def load(self) -> None:
        """Read every table; finish the deletions a crash may have interrupted."""
        await self.streams.load()
        await self.meter.load()
        low: bytes | None = b""
        while low is not None:
            rows = await self._store.range(CATALOG_PART, low, None, limit=1000)
            for key, (version, payload) in rows:
                if key == _LAST_RESOURCE_KEY:
                    self._last_resource = int.from_bytes(payload, "big")
                    self._last_resource_version = version
                    continue
                table = self._live(TableState.from_json(orjson.loads(payload)), version)
                self._tables[(table.state.namespace, table.name)] = table
            low = rows[-1][0] + b"\x00" if rows else None
        for table in list(self._tables.values()):
            await clear_parts(self._store, table.leaving_parts(), if_held=True)
            if table.state.status == "DELETING":
                await self._clear(table)
                self._settled(table)
        self.meter.all_attached()

    # --- Finding tables ---

    def registry_of(self, region: str, account: str) -> ResourceRegistry:
        """The throughput and metrics of all tables that a client of this region and account sees."""
        return self.meter.registry(self.namespace(region, account))

    def for_data(self, name_or_arn: str, region: str, account: str) -> Table:
        """A table that can be read and written. Raises ResourceNotFoundException."""
        if self._apart or name_or_arn.startswith("arn:"):
            table = self._tables.get(self.resolve(name_or_arn, region, account))
        else:
            table = self._tables.get(("", name_or_arn))
        if table is None:
            raise ResourceNotFoundException
        if table.state.status != "ACTIVE":
            creating = table.state.status == "CREATING"
            settled = self._settled(table, at_once=creating and self._hurry)
            if settled is None or settled.state.status in ("CREATING", "DELETING"):
                raise ResourceNotFoundException
            return settled
        return table

    def for_control(self, name_or_arn: str, region: str, account: str, *, describing: bool = False) -> Table:
        """A table in whatever state. Raises ResourceNotFoundException.

        `describing`: whoever only looks finishes a short transition by looking.
        """
        namespace, name = self.resolve(name_or_arn, region, account)
        table = self._tables.get((namespace, name))
        if table is not None:
            table = self._settled(table, at_once=describing and self._hurry)
        if table is None:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
        return table

    def find(self, name_or_arn: str, region: str, account: str) -> Table | None:
        """A table in whatever state, if there is one. Raises ValidationException."""
        return self.at(self.resolve(name_or_arn, region, account))

    def at(self, place: NsName) -> Table | None:
        table = self._tables.get(place)
        return None if table is None else self._settled(table, at_once=self._hurry)

    def names(self, region: str, account: str) -> list[str]:
        """Names of all tables of a namespace, sorted."""
        namespace = self.namespace(region, account)
        for table in list(self._tables.values()):
            self._settled(table)
        return sorted(name for space, name in self._tables if space == namespace)

    async def end_deletions(self) -> bool:
        """Let go of tables whose deletion has ended and nobody asks for, with all that is counted of them."""
        for table in [each for each in self._tables.values() if each.state.status == "DELETING"]:
            self._settled(table)
        return False

    def _settled(self, table: Table, *, at_once: bool = False) -> Table | None:
        """The table in the state it has now; None when its deletion has ended.

        `at_once` ends the present transition now. A change still on its way to the disk has not
        ended, whatever the time: it has no version yet that the next change could be checked against.
        """
        state = table.state
        if table.version == 0 or (state.owner_job is not None and state.status == "CREATING"):
            return table
        now = self._clock.now_ns()
        # One that waits for partitions is not short until they are there.
        soon = state.status != "UPDATING" or now >= state.status_until_ns - self._transition_ns
        if state.status == "ACTIVE" or (now < state.status_until_ns and not (at_once and soon)):
            return self._without_deleted_indexes(table)
        place = (state.namespace, state.name)
        if state.status == "DELETING":
            self._tables.pop(place, None)
            self._gone[place] = table.version
            self.meter.detach(state.table_id)
            return None
        for member, value in state.pending.items():
            if member in ("index_throughput", "index_maximum"):
                state.set_of_indexes(member, value)
            else:
                setattr(state, member, Throughput(**value) if member == "throughput" else value)
        state.pending = {}
        state.status = "ACTIVE"
        since = min(now, state.status_until_ns)
        return self._without_deleted_indexes(self._replace(self._live(state, table.version, since)))

    def _without_deleted_indexes(self, table: Table) -> Table:
        """The table without the indexes whose DELETING state has ended, and the definitions only they
        needed."""
        changing = table.changing_index
        if changing is None or changing.status != "DELETING":
            return table
        state = table.state
        now = self._clock.now_ns()
        gone = [i for i in state.online_indexes() if i.get("status") == "DELETING" and now >= i["until_ns"]]
        if not gone:
            return table
        # A new state: whoever is describing the table has the old one in hand.
        state = replace(
            state,
            global_indexes=[i for i in state.global_indexes if i not in gone],
            vector_indexes=[i for i in state.vector_indexes if i not in gone],
        )
        state.definitions = used_definitions(state)
        return self._replace(self._live(state, table.version))

    def _replace(self, table: Table) -> Table:
        """Put a table in the place of what it was; who holds that is led to it."""
        place = (table.state.namespace, table.name)
        before = self._tables.get(place)
        if before is not None and before.state.table_id == table.state.table_id:
            before.successor = table
        self._tables[place] = table
        return table

    def _live(self, state: TableState, version: int, since: int | None = None) -> Table:
        """A table with what its writes need beside it: its stream, and its expiry index.

        since: when it came to be as it is; None: now.
        """
        table = Table(state, version, collection_bytes_max=self._collection_bytes_max)
        provisions = table.provisions()
        table.meter = self.meter.attach(state.table_id, state.namespace, state.name, provisions, since=since)
        if state.stream is not None:
            table.stream = self.streams.recorder(state.stream["resource"])
        for index in table.vector_indexes:
            index.vectors = self.vectors.of(index.placement.resource)
        table.capture = capture_of(state.kinesis, state.slots, self._clock)
        table.history = history_of(state.pitr, state.slots, self.moments)
        table.expiry = expiry_of(state.ttl, state.slots, self._clock)
        self.background_index.note((state.namespace, state.name), table)
        return table

    def stream(self, arn: str) -> Stream:
        """The stream of that ARN. Raises ValidationException, ResourceNotFoundException."""
        arn_region, arn_account, table_name, label = parse_arn(arn)
        stream = self.streams.find(self.namespace(arn_region, arn_account), table_name, label)
        if stream is None:
            raise not_found(arn)
        return stream

    def streams_of(self, table_name: str | None, region: str, account: str) -> list[Stream]:
        """The streams of a namespace, or of the tables of one name, by ARN."""
        return self.streams.listed(self.namespace(region, account), table_name)

    def backfilling(self) -> Table | None:
        """A table one of whose indexes waits to be filled, if any."""
        for table in list(self._tables.values()):
            changing = table.changing_index
            if changing is None or changing.status != "CREATING":
                continue
            settled = self._settled(table)
            if settled is not None and settled.state.status == "ACTIVE":
                return settled
        return None

    # --- Changing tables ---

    async def create(
        self, name: str, region: str, account: str, definition: TableDefinition, settings: dict[str, Any]
    ) -> Table:
        """Make a table; it is CREATING. `settings` are further members of TableState.

        Raises: ResourceInUseException, LimitExceededException.
        """
        async with self._changing:
            return await self._create(
                (self.namespace(region, account), name), region, account, definition, settings
            )

    async def _create(
        self, place: NsName, region: str, account: str, definition: TableDefinition, settings: dict[str, Any]
    ) -> Table:
        namespace, name = place
        present = self._tables.get(place)
        if present is not None and self._settled(present) is not None:
            raise ResourceInUseException(f"Table already exists: {name}")
        if len(self._tables) >= TABLES_MAX <= len(self.names(region, account)):  # which forgets the deleted
            raise LimitExceededException(
                "Subscriber limit exceeded: Number of tables exceeds the limit of "
                f"{TABLES_MAX} tables per account"
            )
        now = self._clock.now_ns()
        numbers = iter(range(self._last_resource + 1, 1 << 32))
        state = TableState(
            name=name,
            namespace=namespace,
            table_id=self._entropy.uuid(),
            region=region,
            account=account,
            created_ns=now,
            resource=next(numbers),
            collections_resource=next(numbers) if definition.local_indexes else None,
            slots=EMBEDDED_SLOTS,
            definitions=definition.definitions,
            key_schema=definition.key_schema,
            local_indexes=[stored_index(i, next(numbers)) for i in definition.local_indexes],
            global_indexes=[stored_index(i, next(numbers)) for i in definition.global_indexes],
            vector_indexes=[i.stored(next(numbers)) for i in definition.vector_indexes],
            billing_mode=definition.billing_mode,
            ever_on_demand_ns=now if definition.billing_mode == "PAY_PER_REQUEST" else None,
            on_demand_switches_ns=[now] if definition.billing_mode == "PAY_PER_REQUEST" else [],
            throughput=Throughput(*definition.units),
            on_demand_maximum=definition.maximum,
            warm=list(definition.warm) if definition.warm is not None else None,
            status="CREATING",
            status_until_ns=now + self._transition_ns,
            **settings,
        )
        check_quotas(state, None, self._tables.values(), self.meter.registry(namespace).config)
        opened = self._open_stream(state, numbers)
        return await self._commit(
            state, self._gone.get(place, 0), last_resource=next(numbers) - 1, stream=opened
        )

    async def update(
        self,
        table: Table,
        change: Callable[[TableState], bool],
        *,
        while_in_use: bool = False,
        also: Batch | None = None,
    ) -> Table:
        """Apply a change to a copy of the table's state and commit it, together with `also`.

        `change` says whether the table becomes UPDATING: what it put into `pending` then takes
        effect when that ends, a transition after the partitions for it are there. It may raise to refuse.
        Raises: ResourceInUseException while the table is not ACTIVE, unless `while_in_use`.
        """
        async with self._changing:
            current = self._current(table)
            if not while_in_use:
                check_not_in_use(current, for_update=True)
            state = TableState.from_json(current.state.to_json())
            state.left_history = None  # cleared after the change that left it, or at the start
            now = self._clock.now_ns()
            until_ns = now + self._transition_ns
            raised: dict[str | None, tuple[int, int]] = {}
            if change(state):
                raised = state.pending_units()
                state.status = "UPDATING"
                state.status_until_ns = self._transition_ns + self.meter.ready_for(current.meter, raised)
            config = self.meter.registry(state.namespace).config
            check_quotas(state, current.state, self._tables.values(), config)
            numbers = iter(range(self._last_resource + 1, 1 << 32))
            state.number_what_is_new(numbers)
            for index in state.online_indexes():
                if index.get("status") == "DELETING":
                    index.setdefault("until_ns", until_ns)
            opened = self._open_stream(state, numbers)
            updated = await self._commit_with_stream(current, state, opened, next(numbers) - 1, also)
            self.meter.prepare(updated.meter, raised, now)
            leaving = updated.changing_index
            if leaving is not None and leaving.status == "DELETING":
                await clear_parts(self._store, leaving.placement.parts)
                self.vectors.forget(leaving.placement.resource)
            if current.expiry is not None and updated.expiry is not current.expiry:
                await clear_parts(self._store, current.expiry.parts)
            if current.history is not None and updated.history is None:
                await clear_parts(self._store, current.history.parts())
            return updated

    async def raise_warm(self, table: Table, index: str | None, units: tuple[int, int]) -> None:
        """Begin to raise the warm throughput of a table (None) or global index; it is there a transition
        after the partitions for it, and the table is ACTIVE meanwhile."""
        await self.meter.raise_warm(table.meter, index, units, self._transition_ns)

    def _open_stream(self, state: TableState, numbers: Iterator[int]) -> StreamState | None:
        """Give a table that is to have a stream, and has none yet, a new one; the stream's state."""
        if state.stream is None or state.stream.get("resource") is not None:
            return None
        streamed = StreamedTable(
            state.namespace,
            state.name,
            state.region,
            state.account,
            state.slots,
            state.key_schema,
            {name: kind for name, kind in state.definitions if name in dict(state.key_schema)},
        )
        opened = self.streams.beginning(streamed, next(numbers), state.stream["view_type"])
        state.stream["resource"] = opened.resource
        state.latest_stream_label = opened.label
        return opened

    async def _commit_with_stream(
        self,
        current: Table,
        state: TableState,
        opened: StreamState | None,
        last_resource: int,
        also: Batch | None = None,
    ) -> Table:
        """Commit a changed state, together with the end of the table's stream if it loses it."""
        before = current.state.stream
        ends = before is not None and state.stream is None
        stream = self.streams.stream(before["resource"]) if before is not None and ends else None
        async with stream.rolling if stream is not None else nullcontext():
            changed = self.streams.ending(stream) if stream is not None else opened
            return await self._commit(
                state, current.version, last_resource=last_resource, stream=changed, also=also
            )

    def owned_by(self, owner_job: str) -> list[Table]:
        """The tables that wait for `owner_job` to say that they are complete."""
        return [table for table in self._tables.values() if table.state.owner_job == owner_job]

    async def filled(self, table: Table, also: Batch | None = None) -> None:
        """A table that something filled is complete, and ACTIVE; committed together with `also`.

        Raises ResourceNotFoundException.
        """

        def complete(state: TableState) -> bool:
            state.owner_job = None
            return False

        # Before anyone writes to it, and before a crash that would forget it. So who waits for this and then
        # says that the table is complete, says it as soon as the table is seen.
        await self.meter.filled(table.meter)
        await self.update(table, complete, while_in_use=True, also=also)

    async def delete(
        self,
        table: Table,
        *,
        while_in_use: bool = False,
        check: Callable[[], None] | None = None,
        row_owner: Batch | None = None,
    ) -> Table:
        """Begin to delete a table: it is DELETING, and its rows are gone at once.

        check: raises to refuse, when it is this change's turn.
        row_owner: committed with it; takes over the table's own rows, which then stay.
        Raises: ResourceInUseException while the table is not ACTIVE, unless `while_in_use`.
        """
        async with self._changing:
            current = self._current(table)
            if not while_in_use:
                check_not_in_use(current)
            if check is not None:
                check()
            state = TableState.from_json(current.state.to_json())
            state.owner_job = None
            state.retained_rows = row_owner is not None
            state.status = "DELETING"
            state.status_until_ns = self._clock.now_ns() + self._transition_ns
            state.stream = None
            deleting = await self._commit_with_stream(current, state, None, self._last_resource, row_owner)
            await self._clear(deleting)
            return deleting

    async def drop_all(self) -> None:
        """Forget every table at once, whatever its state or protection, and every stream.

        Their rows go last: a start after a crash in between finds tables being deleted and streams whose time
        is over, and clears what they have.
        """
        async with self._changing:
            doomed = Batch(CATALOG_PART)
            gone = Batch(CATALOG_PART, deletes=[row_key(place) for place in {*self._tables, *self._gone}])
            tables, self._gone = list(self._tables.values()), {}
            self._tables.clear()
            for table in tables:
                state = replace(
                    table.state, status="DELETING", status_until_ns=0, owner_job=None, stream=None
                )
                table.successor = Table(state, 0)
                place = (state.namespace, state.name)
                doomed.puts.append((row_key(place), orjson.dumps(state.to_json())))
            self.background_index.clear()
            self.meter.drop_all()
            ended_streams, gone_streams, stream_parts = self.streams.drop_all()
            if not gone.deletes and not gone_streams.deletes:
                return
            await self._store.commit([doomed, ended_streams])
            for table in tables:
                await self._clear(table)
            for part in stream_parts:
                await self._store.clear(part)
            await self._store.commit([gone, gone_streams])

    def _current(self, table: Table) -> Table:
        """The table as it is now that the change before this one is done."""
        current = self._tables.get((table.state.namespace, table.name))
        settled = self._settled(current) if current is not None else None
        if settled is None or settled.state.table_id != table.state.table_id:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {table.name} not found")
        return settled

    async def _clear(self, table: Table) -> None:
        await clear_parts(self._store, table.parts())
        for index in table.vector_indexes:
            self.vectors.forget(index.placement.resource)

    async def _commit(
        self,
        state: TableState,
        version: int,
        *,
        last_resource: int,
        stream: StreamState | None = None,
        also: Batch | None = None,
    ) -> Table:
        """Commit a table's state, with the state of the stream that begins or ends with it, and `also`."""
        place = (state.namespace, state.name)
        key = row_key(place)
        batch = Batch(CATALOG_PART, checks=[(key, version)], puts=[(key, orjson.dumps(state.to_json()))])
        if last_resource != self._last_resource:
            batch.checks.append((_LAST_RESOURCE_KEY, self._last_resource_version))
            batch.puts.append((_LAST_RESOURCE_KEY, last_resource.to_bytes(4, "big")))
        for gone in self._gone:
            if gone != place:
                batch.deletes.append(row_key(gone))
        batches = [batch] if also is None else [batch, also]
        stream_before = None
        if stream is not None:
            batches.append(await self.streams.batch_for(stream))
            stream_before = self.streams.state_of(stream.resource)
            self.streams.put(stream)
        # In memory first: on an event loop another request may run while this commit reaches the disk.
        table_before = self._tables.get(place)
        table = self._replace(self._live(state, 0))
        forgotten, self._gone = self._gone, {}
        before, self._last_resource = self._last_resource, last_resource
        failure: Exception | None = None
        try:
            if isinstance(await self._store.commit(batches), Conflict):
                failure = ResourceInUseException(IN_USE.format("updated", state.name))
        except StorageError as error:
            failure = error  # nobody knows whether it was made: what was before is all that can be told
        if failure is not None:
            self._gone = forgotten
            self._last_resource = before
            if stream is not None:
                self.streams.take_back(stream.resource, stream_before)
            self._take_back(place, table_before)
            raise failure
        table.version = await self._version(key)
        if last_resource != before:
            self._last_resource_version = max(self._last_resource_version, table.version)
        return table

    def _take_back(self, place: NsName, before: Table | None) -> None:
        """A commit did nothing, or failed: the table is what it was before, as far as anyone is told."""
        taken = self._tables.pop(place)
        self.background_index.forget_expiry(place)
        if before is None or before.state.table_id != taken.state.table_id:
            self.meter.detach(taken.state.table_id)
        if before is not None:
            self._tables[place] = taken.successor = self._live(before.state, before.version)

    async def _version(self, key: bytes) -> int:
        (row,) = await self._store.get(CATALOG_PART, (key,))
        return row[0] if row is not None else 0
