"""Finds tables and streams by name, in the state that they have at present.

All tables are in memory. A look-up after the end of a CREATING, UPDATING or DELETING status first changes the
table to its next state (table_lifecycle.py). catalog.py makes all other changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import orjson

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock, Entropy
from faradisc.engine.catalog_log import CatalogLog, Followed
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.streams.reading import not_found, parse_arn
from faradisc.engine.streams.registry import Streams
from faradisc.engine.streams.stream import Stream, StreamState
from faradisc.engine.tables.background_index import BackgroundIndex
from faradisc.engine.tables.catalog_store import LAST_RESOURCE_KEY, CatalogStore
from faradisc.engine.tables.derived import Derived, DerivedKind, Kinds, LiveParts
from faradisc.engine.tables.key_locks import KeyLocks
from faradisc.engine.tables.moments import Moments
from faradisc.engine.tables.names import NsName, name_of_row, parse_table_arn, row_key
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table, provisions_of
from faradisc.engine.tables.table_lifecycle import (
    SHORT_TRANSITION_MS_MAX,
    transition_has_ended,
    without_deleted_indexes,
)
from faradisc.engine.throughput.settings import ThroughputSettings
from faradisc.engine.throughput.throughput import Throughput
from faradisc.engine.vectors.memory import VectorMemory
from faradisc.errors import InternalServerError, ResourceNotFoundException, ValidationException
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX, SHARD_LIFETIME_S
from faradisc.model.codec.keyspace import CATALOG_PART
from faradisc.storage.api import Row, Stale, Store

T = TypeVar("T")

ATTEMPTS_MAX = 20
"""Attempts of a request whose tables other nodes keep changing."""


class TableLookup:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        entropy: Entropy,
        kinds: Sequence[DerivedKind],
        *,
        per_region: bool,
        transition_ms: int,
        shard_lifetime_s: float = SHARD_LIFETIME_S,
        collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX,
        throughput: ThroughputSettings | None = None,
        sealers: Sealers | None = None,
    ) -> None:
        """kinds: what tables can have beside their items.
        sealers: those that `store` uses; None: it seals nothing."""
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._per_region = per_region
        self.transition_ns = transition_ms * 1_000_000
        """Length of a change of state."""
        self.short = transition_ms <= SHORT_TRANSITION_MS_MAX
        """Whether requests complete changes of state (docs/decisions/0006)."""
        self.sealers = sealers or Sealers(clock, entropy)
        self.log = CatalogLog(store)
        self.streams = Streams(
            store,
            self.log,
            clock,
            entropy,
            partitions=self._partitions_of,
            transition_ns=self.transition_ns,
            shard_lifetime_s=shard_lifetime_s,
            sealers=self.sealers,
        )
        self.vectors = VectorMemory()
        self.throughput = Throughput(store, clock, entropy, throughput)
        self.moments = Moments(clock)
        self.kinds = Kinds(
            kinds,
            LiveParts(
                clock,
                self.moments,
                store.shared,
                self.vectors,
                self.streams.recorder,
                collection_bytes_max,
            ),
        )
        self._locks = KeyLocks() if store.shared else None
        self._rows = CatalogStore(store, self.log)
        self._tables: dict[NsName, Table] = {}
        self.background_index = BackgroundIndex(self._tables.get)
        self.change_lock = asyncio.Lock()
        """Held during a change of the catalog, and while changes of other nodes are taken over."""
        self._refreshes = 0
        """Number of refreshes that have ended."""
        self.log.add(Followed(CATALOG_PART, self._row_keys, self._take_over))

    @property
    def per_region(self) -> bool:
        """Whether each region and account has tables of its own."""
        return self._per_region

    def namespace(self, region: str, account: str) -> str:
        """Returns the namespace of requests of a region and an account."""
        return f"{account}/{region}" if self._per_region else ""

    def resolve(self, name_or_arn: str, region: str, account: str) -> NsName:
        """Returns namespace and name of a table named by name or by ARN. Raises ValidationException."""
        name = name_or_arn
        if name.startswith("arn:"):
            region, account, name = parse_table_arn(name)
        return self.namespace(region, account), name

    # --- Other nodes ---

    async def refresh(self) -> None:
        """Takes over what other nodes have changed before this call."""
        # Requests that wait together share one: that of the first of them to get the lock.
        sufficient = self._refreshes + (2 if self.change_lock.locked() else 1)
        async with self.change_lock:
            if self._refreshes < sufficient:
                await self.log.follow()
                self._refreshes += 1

    async def with_newest(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Returns what `attempt` returns; again, when it has used tables that another node had changed.

        `attempt` must commit at most once. A repeated one is charged again.
        """
        for _ in range(ATTEMPTS_MAX):
            known = self.log.changes
            try:
                return await attempt()
            except Stale:
                await self.refresh()
            except (ResourceNotFoundException, ValidationException):
                await self.refresh()
                if self.log.changes == known:
                    raise
        raise InternalServerError

    def _row_keys(self) -> Iterator[bytes]:
        """Returns the keys of the catalog's rows that are in memory."""
        yield LAST_RESOURCE_KEY
        yield from map(row_key, [*self._tables, *self._rows.deleted])

    def _take_over(self, rows: Sequence[tuple[bytes, Row | None]]) -> None:
        """Takes over rows of the catalog that another node may have changed. Requires: the change lock."""
        for key, row in rows:
            if key == LAST_RESOURCE_KEY:
                if row is not None:
                    self._rows.note_last_resource(*row)
                continue
            name = name_of_row(key)
            self._rows.deleted.pop(name, None)
            present = self._tables.get(name)
            if row is not None and present is not None and present.version == row[0]:
                continue
            state = None if row is None else TableState.from_json(orjson.loads(row[1]))
            if present is not None and (state is None or state.table_id != present.state.table_id):
                del self._tables[name]
                present.successor = present.with_state(replace(present.state, status="DELETING"))
                self.throughput.detach(present.state.table_id)
            if row is not None and state is not None:
                self._replace(self._attach(state, row[0]))

    # --- Finding tables ---

    def registry_of(self, region: str, account: str) -> ResourceRegistry:
        """Returns the throughput and metrics of the tables that requests of a region and account see."""
        return self.throughput.registry(self.namespace(region, account))

    def for_data(self, name_or_arn: str, region: str, account: str) -> Table:
        """Returns a table that can be read and written. Raises ResourceNotFoundException."""
        if self._per_region or name_or_arn.startswith("arn:"):
            table = self._tables.get(self.resolve(name_or_arn, region, account))
        else:
            table = self._tables.get(("", name_or_arn))
        if table is None:
            raise ResourceNotFoundException
        if table.state.status != "ACTIVE":
            end_early = self.short and table.state.status == "CREATING"
            table = self._current_state_of(table, end_early=end_early)
            if table is None or table.state.status in ("CREATING", "DELETING"):
                raise ResourceNotFoundException
        return table

    def for_control(self, name_or_arn: str, region: str, account: str) -> Table:
        """Returns a table in any state, after the end of a short transition.

        Raises ResourceNotFoundException.
        """
        namespace, name = self.resolve(name_or_arn, region, account)
        table = self._tables.get((namespace, name))
        if table is not None:
            table = self._current_state_of(table, end_early=self.short)
        if table is None:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
        return table

    def find(self, name_or_arn: str, region: str, account: str) -> Table | None:
        """Returns a table in any state, if there is one. Raises ValidationException."""
        return self.at(self.resolve(name_or_arn, region, account))

    def named(self, name_or_arn: str, region: str, account: str) -> Table | None:
        """As `find`, without a change of the table's state that is due. Raises ValidationException."""
        if self._per_region or name_or_arn.startswith("arn:"):
            return self._tables.get(self.resolve(name_or_arn, region, account))
        return self._tables.get(("", name_or_arn))

    def at(self, name: NsName) -> Table | None:
        table = self._tables.get(name)
        return None if table is None else self._current_state_of(table, end_early=self.short)

    def names(self, region: str, account: str) -> list[str]:
        """Returns the names of all tables of a namespace, sorted."""
        namespace = self.namespace(region, account)
        for table in list(self._tables.values()):
            self._current_state_of(table, end_early=self.short)
        return sorted(name for space, name in self._tables if space == namespace)

    def tables(self) -> list[Table]:
        """Returns the tables of all accounts and regions."""
        return list(self._tables.values())

    def owned_by(self, job: str) -> list[Table]:
        """Returns the tables that a job fills."""
        return [table for table in self._tables.values() if table.state.owner_job == job]

    def filling(self, job: bytes) -> Iterator[tuple[Table, Derived]]:
        """Yields what a kind of job is to fill, with its table."""
        for noted in self.background_index.unfilled():
            end_early = self.short and noted.state.status == "UPDATING"
            table = self._current_state_of(noted, end_early=end_early)
            if table is None:
                continue
            for each in table.derived:
                if each.job == job and not each.is_filled and table.state.status in each.filled_while:
                    yield table, each

    def stream(self, arn: str) -> Stream:
        """Returns the stream with an ARN. Raises ValidationException, ResourceNotFoundException."""
        arn_region, arn_account, table_name, label = parse_arn(arn)
        stream = self.streams.find(self.namespace(arn_region, arn_account), table_name, label)
        if stream is None:
            raise not_found(arn)
        return stream

    def streams_of(self, table_name: str | None, region: str, account: str) -> list[Stream]:
        """Returns the streams of a namespace, or of the tables of one name, by ARN."""
        return self.streams.listed(self.namespace(region, account), table_name)

    def _partitions_of(self, stream: StreamState) -> Sequence[bytes]:
        """Returns where the partitions of an open stream's table begin."""
        table = self.at((stream.namespace, stream.table_name))
        return [b""] if table is None else table.meter.partition_bounds()

    # --- States that the clock changes ---

    async def end_deletions(self) -> bool:
        """Removes the tables whose DELETING status has ended, with their throughput."""
        for table in [each for each in self._tables.values() if each.state.status == "DELETING"]:
            self._current_state_of(table)
        return False

    def _current_state_of(self, table: Table, *, end_early: bool = False) -> Table | None:
        """Returns the table in its present state; None when its deletion has ended.

        end_early: end a short transition now. A change whose commit is on the way to the disk does not end,
        whatever the time: it has no version yet that the next change could be checked against.
        """
        state = table.state
        if table.version == 0:
            return table
        now_ns = self._clock.now_ns()
        if transition_has_ended(state, now_ns, self.transition_ns, end_early=end_early):
            if state.status == "DELETING":
                name = (state.namespace, state.name)
                self._tables.pop(name, None)
                self._rows.deleted[name] = table.version
                self.throughput.detach(state.table_id)
                self.sealers.forget(state.table_id)
                return None
            state.apply_pending()
            state.status = "ACTIVE"
            table = self._replace(self._attach(state, table.version, min(now_ns, state.status_until_ns)))
        changing = table.changing_index
        if changing is None or changing.status != "DELETING":
            return table
        rest = without_deleted_indexes(state, now_ns)
        return table if rest is None else self._replace(self._attach(rest, table.version))

    def _replace(self, table: Table) -> Table:
        """Makes a table the present one of its name, and the successor of the same table before."""
        name = (table.state.namespace, table.state.name)
        before = self._tables.get(name)
        if before is not None and before.state.table_id == table.state.table_id:
            before.successor = table
        self._tables[name] = table
        return table

    def _attach(self, state: TableState, version: int, since_ns: int | None = None) -> Table:
        """Returns a table with its throughput and what its writes maintain.

        since_ns: when the table got this state; None: now.
        """
        name = (state.namespace, state.name)
        self.moments.begin_after(state.changes_after_ns)
        provisions = provisions_of(state)
        table = Table(
            state,
            version,
            meter=self.throughput.attach(state.table_id, *name, provisions, since=since_ns),
            vectors=self.vectors,
            derive=self.kinds.of,
            locks=self._locks,
        )
        if state.sealing is not None:
            self.sealers.attach(state.table_id, state.sealing, table.resources(), name)
        before = self._tables.get(name)
        known = {} if before is None else {each.resource: each for each in before.derived}
        for each in table.derived:
            if each.resource in known:
                each.continues(known[each.resource])
        self.background_index.note(name, table)
        return table
