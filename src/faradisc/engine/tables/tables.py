"""The tables of a database in memory: by name, each in its present state.

A table's state follows the clock without a job: whoever looks at a table sees a change of state that is due,
such as the end of CREATING or of DELETING (table_lifecycle.py). catalog.py makes all other changes.

An example, a table that is deleted at 10:00 and whose deletion takes 5 s:

    10:00:00   the catalog has committed DELETING; `find` returns it so, `for_data` raises
    10:00:05   the next look, at any table of that name, finds that it has ended: the table leaves the memory,
               and its row is in `ended`, for the next commit of the catalog
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import orjson

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.tables.background_index import BackgroundIndex
from faradisc.engine.tables.derived import Derived, Kinds
from faradisc.engine.tables.key_locks import KeyLocks
from faradisc.engine.tables.late import LateReads
from faradisc.engine.tables.names import NsName, name_of_row, no_table, parse_table_arn
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Strong, Table, provisions_of
from faradisc.engine.tables.table_lifecycle import (
    SHORT_TRANSITION_MS_MAX,
    transition_has_ended,
    without_deleted_indexes,
)
from faradisc.engine.throughput.throughput import Throughput
from faradisc.errors import ResourceNotFoundException
from faradisc.storage.api import Row


class Tables:
    def __init__(
        self,
        clock: Clock,
        kinds: Kinds,
        throughput: Throughput,
        sealers: Sealers,
        late: LateReads,
        *,
        per_region: bool,
        transition_ms: int,
        describe_lag_ms: int = 0,
    ) -> None:
        """per_region: whether each region and account has tables of its own."""
        self._clock = clock
        self._kinds = kinds
        self._throughput = throughput
        self._sealers = sealers
        self.late = late
        """How late the reads of each table may be."""
        self.per_region = per_region
        self.transition_ns = transition_ms * 1_000_000
        """Length of a change of state."""
        self.describe_lag_ns = describe_lag_ms * 1_000_000
        """How long DescribeTable does not find a new table."""
        self.short = transition_ms <= SHORT_TRANSITION_MS_MAX
        """Whether requests complete changes of state (docs/decisions/0006)."""
        self.by_name: dict[NsName, Table] = {}
        self.ended: dict[NsName, int] = {}
        """Tables whose deletion has ended but whose row is still stored, with the version of the row. The
        next commit of the catalog deletes these rows."""
        self.background_index = BackgroundIndex(self.by_name.get)
        self.strong = Strong()
        self._locks = KeyLocks() if kinds.live.shared else None

    def namespace(self, region: str, account: str) -> str:
        """Returns the namespace of requests of a region and an account."""
        return f"{account}/{region}" if self.per_region else ""

    def resolve(self, name_or_arn: str, region: str, account: str) -> NsName:
        """Returns namespace and name of a table named by name or by ARN. Raises ValidationException."""
        name = name_or_arn
        if name.startswith("arn:"):
            region, account, name = parse_table_arn(name)
        return self.namespace(region, account), name

    # --- Finding tables ---

    def registry_of(self, region: str, account: str) -> ResourceRegistry:
        """Returns the throughput and metrics of the tables that requests of a region and account see."""
        return self._throughput.registry(self.namespace(region, account))

    def for_data(self, name_or_arn: str, region: str, account: str) -> Table:
        """Returns a table that can be read and written. Raises ResourceNotFoundException."""
        if self.per_region or name_or_arn.startswith("arn:"):
            table = self.by_name.get(self.resolve(name_or_arn, region, account))
        else:
            table = self.by_name.get(("", name_or_arn))
        if table is None:
            raise ResourceNotFoundException
        if table.state.status != "ACTIVE":
            end_early = self.short and table.state.status == "CREATING"
            table = self.current(table, end_early=end_early)
            if table is None or table.state.status in ("CREATING", "DELETING"):
                raise ResourceNotFoundException
        return table

    def for_control(self, name_or_arn: str, region: str, account: str) -> Table:
        """Returns a table in any state, after the end of a short transition.

        Raises ResourceNotFoundException.
        """
        namespace, name = self.resolve(name_or_arn, region, account)
        table = self.by_name.get((namespace, name))
        if table is not None:
            table = self.current(table, end_early=self.short)
        if table is None:
            raise no_table(name)
        return table

    def for_description(self, name_or_arn: str, region: str, account: str) -> Table:
        """Returns a table as `for_control` does, but none that is younger than the lag of descriptions."""
        table = self.for_control(name_or_arn, region, account)
        if self.describe_lag_ns and self._clock.now_ns() < table.state.created_ns + self.describe_lag_ns:
            raise no_table(table.name)
        return table

    def find(self, name_or_arn: str, region: str, account: str) -> Table | None:
        """Returns a table in any state, if there is one. Raises ValidationException."""
        return self.at(self.resolve(name_or_arn, region, account))

    def named(self, name_or_arn: str, region: str, account: str) -> Table | None:
        """As `find`, without a change of the table's state that is due. Raises ValidationException."""
        if self.per_region or name_or_arn.startswith("arn:"):
            return self.by_name.get(self.resolve(name_or_arn, region, account))
        return self.by_name.get(("", name_or_arn))

    def at(self, name: NsName) -> Table | None:
        table = self.by_name.get(name)
        return None if table is None else self.current(table, end_early=self.short)

    def names(self, region: str, account: str) -> list[str]:
        """Returns the names of all tables of a namespace, sorted."""
        namespace = self.namespace(region, account)
        for table in list(self.by_name.values()):
            self.current(table, end_early=self.short)
        return sorted(name for space, name in self.by_name if space == namespace)

    def all(self) -> list[Table]:
        """Returns the tables of all accounts and regions."""
        return list(self.by_name.values())

    def owned_by(self, job: str) -> list[Table]:
        """Returns the tables that a job fills."""
        return [table for table in self.by_name.values() if table.state.owner_job == job]

    def filling(self, job: bytes) -> Iterator[tuple[Table, Derived]]:
        """Yields what a kind of job is to fill, with its table."""
        for noted in self.background_index.unfilled():
            end_early = self.short and noted.state.status == "UPDATING"
            table = self.current(noted, end_early=end_early)
            if table is None:
                continue
            for each in table.derived:
                if each.job == job and not each.is_filled and table.state.status in each.filled_while:
                    yield table, each

    # --- States that the clock changes ---

    async def end_deletions(self) -> bool:
        """Removes the tables whose DELETING status has ended, with their throughput."""
        for table in [each for each in self.by_name.values() if each.state.status == "DELETING"]:
            self.current(table)
        return False

    def current(self, table: Table, *, end_early: bool = False) -> Table | None:
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
                self.by_name.pop(name, None)
                self.ended[name] = table.version
                self._throughput.detach(state.table_id)
                self._sealers.forget(state.table_id)
                return None
            state.apply_pending()
            state.status = "ACTIVE"
            table = self.put(state, table.version, min(now_ns, state.status_until_ns))
        changing = table.changing_index
        if changing is None or changing.status != "DELETING":
            return table
        rest = without_deleted_indexes(state, now_ns)
        return table if rest is None else self.put(rest, table.version)

    # --- Changes ---

    def set_late_reads(self, lag_ms: float, by_table: Mapping[str, float], seed: int | None) -> None:
        """Changes how late reads are, from the next request on (late.py). Raises ValueError."""
        self.late.set(lag_ms, by_table, seed)
        for table in self.by_name.values():
            table.late = self.late.of(table.state.table_id, table.name)

    # --- Changes, made by the catalog ---

    def put(self, state: TableState, version: int, since_ns: int | None = None) -> Table:
        """Makes a state the present one of its name, and the successor of the same table before.

        version: of the stored row; 0: its commit is on the way. since_ns: when the table got this state;
        None: now.
        """
        table = self._attach(state, version, since_ns)
        name = (state.namespace, state.name)
        before = self.by_name.get(name)
        if before is not None and before.state.table_id == state.table_id:
            before.successor = table
        self.by_name[name] = table
        return table

    def put_back(self, table: Table, before: Table | None) -> None:
        """Undoes a `put` whose commit has failed. before: the table that the name had."""
        name = (table.state.namespace, table.name)
        del self.by_name[name]
        if before is None or before.state.table_id != table.state.table_id:
            self._throughput.detach(table.state.table_id)
            self._sealers.forget(table.state.table_id)
        if before is not None:
            self.by_name[name] = table.successor = self._attach(before.state, before.version)

    def take_over(self, key: bytes, row: Row | None) -> None:
        """Takes over a row of the catalog that another node may have changed; None: it was deleted."""
        name = name_of_row(key)
        self.ended.pop(name, None)
        present = self.by_name.get(name)
        if row is not None and present is not None and present.version == row[0]:
            return
        state = None if row is None else TableState.from_json(orjson.loads(row[1]))
        if present is not None and (state is None or state.table_id != present.state.table_id):
            del self.by_name[name]
            present.successor = present.with_state(replace(present.state, status="DELETING"))
            self._throughput.detach(present.state.table_id)
        if row is not None and state is not None:
            self.put(state, row[0])

    def _attach(self, state: TableState, version: int, since_ns: int | None = None) -> Table:
        """Returns a table with its throughput and what its writes maintain."""
        name = (state.namespace, state.name)
        self._kinds.live.moments.begin_after(state.changes_after_ns)
        provisions = provisions_of(state)
        table = Table(
            state,
            version,
            meter=self._throughput.attach(state.table_id, *name, provisions, since=since_ns),
            vectors=self._kinds.live.vectors,
            derive=self._kinds.of,
            locks=self._locks,
            late=self.late.of(state.table_id, state.name),
            strong=self.strong,
        )
        if state.sealing is not None:
            self._sealers.attach(state.table_id, state.sealing, table.resources(), name)
        before = self.by_name.get(name)
        known = {} if before is None else {each.resource: each for each in before.derived}
        for each in table.derived:
            if each.resource in known:
                each.continues(known[each.resource])
        self.background_index.note(name, table)
        return table
