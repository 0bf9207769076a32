"""Finds tables and streams by name, in the state that they have at present.

All tables are in memory. A look-up after the end of a CREATING, UPDATING or DELETING status first changes the
table to its next state (table_lifecycle.py). catalog.py makes all other changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock, Entropy
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.streams.capture import capture
from faradisc.engine.streams.reading import not_found, parse_arn
from faradisc.engine.streams.registry import Streams
from faradisc.engine.streams.stream import Stream, StreamState
from faradisc.engine.tables.background_index import BackgroundIndex
from faradisc.engine.tables.catalog_store import CatalogStore
from faradisc.engine.tables.history import History, Moments
from faradisc.engine.tables.names import NsName, parse_table_arn
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
from faradisc.errors import (
    ResourceNotFoundException,
)
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX, SHARD_LIFETIME_S
from faradisc.storage.api import Store


class TableLookup:
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
        sealers: Sealers | None = None,
    ) -> None:
        """sealers: those that `store` uses; None: it seals nothing."""
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._per_region = per_region
        self.transition_ns = transition_ms * 1_000_000
        """Length of a change of state."""
        self.short = transition_ms <= SHORT_TRANSITION_MS_MAX
        """Whether requests complete changes of state (docs/decisions/0006)."""
        self._collection_bytes_max = collection_bytes_max
        self.sealers = sealers or Sealers(clock, entropy)
        self.streams = Streams(
            store,
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
        self._rows = CatalogStore(store)
        self._tables: dict[NsName, Table] = {}
        self.background_index = BackgroundIndex(self._tables.get, clock)
        self.change_lock = asyncio.Lock()
        """Held during a change of the catalog."""

    def namespace(self, region: str, account: str) -> str:
        """Returns the namespace of requests of a region and an account."""
        return f"{account}/{region}" if self._per_region else ""

    def resolve(self, name_or_arn: str, region: str, account: str) -> NsName:
        """Returns namespace and name of a table named by name or by ARN. Raises ValidationException."""
        name = name_or_arn
        if name.startswith("arn:"):
            region, account, name = parse_table_arn(name)
        return self.namespace(region, account), name

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

    def owned_by(self, job: str) -> list[Table]:
        """Returns the tables that a job fills."""
        return [table for table in self._tables.values() if table.state.owner_job == job]

    def backfilling(self) -> Table | None:
        """Returns a table that has an index to be backfilled, if there is one."""
        for table in list(self._tables.values()):
            changing = table.changing_index
            if changing is not None and changing.status == "CREATING":
                current = self._current_state_of(table)
                if current is not None and current.state.status == "ACTIVE":
                    return current
        return None

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
        provisions = provisions_of(state)
        if state.sealing is not None:
            self.sealers.attach(state.table_id, state.sealing, state.resources(), name)
        captured = next((each.resource for each in state.kinesis if each.enabled), None)
        table = Table(
            state,
            version,
            meter=self.throughput.attach(state.table_id, *name, provisions, since=since_ns),
            vectors=self.vectors,
            stream=None if state.stream is None else self.streams.recorder(state.stream.resource),
            capture=None if captured is None else capture(captured, state.slots, self._clock),
            expiry=self.background_index.expiry_of(state),
            history=None if state.pitr is None else History(state.pitr, state.slots, self.moments),
            collection_bytes_max=self._collection_bytes_max,
        )
        self.background_index.note(name, table)
        return table
