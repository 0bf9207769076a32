"""The catalog: which tables there are, in which state, and how they change.

The catalog is one part of the store (resource 0): a row per table, key `namespace 00 name`, value the
table's state as JSON; and one row, key FF, with the last resource number given out. All of it is held
in memory too; every change is committed first, checked against the version in memory.

Names live in namespaces. By default there is one, whatever region or access key a request is signed
with; with `per_region` each account and region has its own (design.md section 6).

A deleted table's rows are cleared when its deletion is accepted; its catalog row goes with the next
commit of the catalog after the DELETING state has ended, or at the next start.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import orjson

from faradisc.clock import Clock, Entropy
from faradisc.codec.keyspace import CATALOG_PART, EMBEDDED_SLOTS
from faradisc.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.limits import TABLES_MAX
from faradisc.storage.api import Batch, Conflict, Store
from faradisc.tables.definition import IndexDefinition, TableDefinition
from faradisc.tables.table import Table, TableState, Throughput

_LAST_RESOURCE_KEY = b"\xff"
_ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([A-Za-z0-9_.-]+)")

HURRIED_TRANSITION_MS_MAX = 50
"""Transitions no longer than this are finished by the first data call that meets a table still being
created, and by DescribeTable: SDK waiters look at once and then sleep for 20 seconds. Whoever sets a
delay that can be noticed sees the service's states and errors (docs/decisions/0006)."""

NsName = tuple[str, str]


class Catalog:
    def __init__(
        self, store: Store, clock: Clock, entropy: Entropy, *, per_region: bool, transition_ms: int
    ) -> None:
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._per_region = per_region
        self._transition_ns = transition_ms * 1_000_000
        self._hurry = transition_ms <= HURRIED_TRANSITION_MS_MAX
        self._tables: dict[NsName, Table] = {}
        self._gone: dict[NsName, int] = {}
        """Tables whose deletion has ended but whose row is still there, with the row's version."""
        self._last_resource = 0
        self._last_resource_version = 0
        self._changing = asyncio.Lock()
        """Held by the one change of the catalog that is on its way to the disk."""

    # --- Start ---

    async def load(self) -> None:
        """Read every table; finish the deletions a crash may have interrupted."""
        low: bytes | None = b""
        while low is not None:
            rows = await self._store.range(CATALOG_PART, low, None, limit=1000)
            for key, (version, payload) in rows:
                if key == _LAST_RESOURCE_KEY:
                    self._last_resource = int.from_bytes(payload, "big")
                    self._last_resource_version = version
                    continue
                table = Table(TableState.from_json(orjson.loads(payload)), version)
                self._tables[(table.state.namespace, table.name)] = table
            low = rows[-1][0] + b"\x00" if rows else None
        for table in [t for t in self._tables.values() if t.state.status == "DELETING"]:
            await self._clear(table)
            self._settled(table)

    # --- Finding tables ---

    def _namespace(self, region: str, account: str) -> str:
        return f"{account}/{region}" if self._per_region else ""

    def resolve(self, name_or_arn: str, region: str, account: str) -> NsName:
        """Namespace and name of a table named by name or by ARN. Raises ValidationException."""
        if not name_or_arn.startswith("arn:"):
            return self._namespace(region, account), name_or_arn
        match = _ARN.fullmatch(name_or_arn)
        if match is None:
            raise ValidationException(
                f"Invalid TableArn: Invalid ResourceArn provided as input {name_or_arn}"
            )
        arn_region, arn_account, name = match.groups()
        return self._namespace(arn_region, arn_account), name

    def for_data(self, name_or_arn: str, region: str, account: str) -> Table:
        """A table that can be read and written. Raises ResourceNotFoundException."""
        if self._per_region or name_or_arn.startswith("arn:"):
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

    def names(self, region: str, account: str) -> list[str]:
        """Names of all tables of a namespace, sorted."""
        namespace = self._namespace(region, account)
        for table in list(self._tables.values()):
            self._settled(table)
        return sorted(name for space, name in self._tables if space == namespace)

    def _settled(self, table: Table, *, at_once: bool = False) -> Table | None:
        """The table in the state it has now; None when its deletion has ended.

        `at_once` ends the present transition now. A change still on its way to the disk has not
        ended, whatever the time: it has no version yet that the next change could be checked against.
        """
        state = table.state
        if table.version == 0:
            return table
        if state.status == "ACTIVE" or (not at_once and self._clock.now_ns() < state.status_until_ns):
            return self._without_deleted_indexes(table)
        place = (state.namespace, state.name)
        if state.status == "DELETING":
            self._tables.pop(place, None)
            self._gone[place] = table.version
            return None
        for member, value in state.pending.items():
            if member == "index_throughput":
                state.set_index_throughput(value)
            else:
                setattr(state, member, Throughput(**value) if member == "throughput" else value)
        state.pending = {}
        state.status = "ACTIVE"
        settled = self._tables[place] = Table(state, table.version)
        return self._without_deleted_indexes(settled)

    def _without_deleted_indexes(self, table: Table) -> Table:
        """The table without the indexes whose DELETING state has ended, and the definitions only they
        needed."""
        changing = table.changing_index
        if changing is None or changing.status != "DELETING":
            return table
        state = table.state
        now = self._clock.now_ns()
        kept = [i for i in state.global_indexes if i.get("status") != "DELETING" or now < i["until_ns"]]
        if len(kept) == len(state.global_indexes):
            return table
        state.global_indexes = kept
        state.definitions = used_definitions(state)
        settled = self._tables[(state.namespace, state.name)] = Table(state, table.version)
        return settled

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
                (self._namespace(region, account), name), region, account, definition, settings
            )

    async def _create(
        self, place: NsName, region: str, account: str, definition: TableDefinition, settings: dict[str, Any]
    ) -> Table:
        namespace, name = place
        present = self._tables.get(place)
        if present is not None and self._settled(present) is not None:
            raise ResourceInUseException(f"Table already exists: {name}")
        if len(self._tables) >= TABLES_MAX:
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
            billing_mode=definition.billing_mode,
            ever_on_demand_ns=now if definition.billing_mode == "PAY_PER_REQUEST" else None,
            on_demand_switches_ns=[now] if definition.billing_mode == "PAY_PER_REQUEST" else [],
            throughput=Throughput(*definition.units),
            status="CREATING",
            status_until_ns=now + self._transition_ns,
            **settings,
        )
        return await self._commit(state, self._gone.get(place, 0), last_resource=next(numbers) - 1)

    async def update(
        self, table: Table, change: Callable[[TableState], bool], *, while_in_use: bool = False
    ) -> Table:
        """Apply a change to a copy of the table's state and commit it.

        `change` says whether the table becomes UPDATING: what it put into `pending` then takes
        effect when that ends. It may raise to refuse.
        Raises: ResourceInUseException while the table is not ACTIVE, unless `while_in_use`.
        """
        async with self._changing:
            current = self._current(table)
            if not while_in_use:
                check_not_in_use(current)
            state = TableState.from_json(current.state.to_json())
            until_ns = self._clock.now_ns() + self._transition_ns
            if change(state):
                state.status = "UPDATING"
                state.status_until_ns = until_ns
            last_resource: int | None = None
            for index in state.global_indexes:
                if index.get("resource") is None:
                    last_resource = index["resource"] = self._last_resource + 1
                if index.get("status") == "DELETING":
                    index.setdefault("until_ns", until_ns)
            updated = await self._commit(state, current.version, last_resource=last_resource)
            leaving = updated.changing_index
            if leaving is not None and leaving.status == "DELETING":
                for part in leaving.placement.parts:
                    await self._store.clear(part)
            return updated

    async def delete(self, table: Table) -> Table:
        """Begin to delete a table: it is DELETING, and its rows are gone at once.

        Raises: ResourceInUseException while the table is not ACTIVE.
        """
        async with self._changing:
            current = self._current(table)
            check_not_in_use(current)
            state = TableState.from_json(current.state.to_json())
            state.status = "DELETING"
            state.status_until_ns = self._clock.now_ns() + self._transition_ns
            deleting = await self._commit(state, current.version)
            await self._clear(deleting)
            return deleting

    async def drop_all(self) -> None:
        """Forget every table at once, whatever its state or protection."""
        async with self._changing:
            batch = Batch(CATALOG_PART, deletes=[_row_key(place) for place in {*self._tables, *self._gone}])
            tables, self._tables, self._gone = list(self._tables.values()), {}, {}
            if batch.deletes:
                await self._store.commit([batch])
            for table in tables:
                await self._clear(table)

    def _current(self, table: Table) -> Table:
        """The table as it is now that the change before this one is done."""
        current = self._tables.get((table.state.namespace, table.name))
        settled = self._settled(current) if current is not None else None
        if settled is None or settled.state.table_id != table.state.table_id:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {table.name} not found")
        return settled

    async def _clear(self, table: Table) -> None:
        for part in table.parts():
            await self._store.clear(part)

    async def _commit(self, state: TableState, version: int, *, last_resource: int | None = None) -> Table:
        place = (state.namespace, state.name)
        key = _row_key(place)
        batch = Batch(CATALOG_PART, checks=[(key, version)], puts=[(key, orjson.dumps(state.to_json()))])
        if last_resource is not None:
            batch.checks.append((_LAST_RESOURCE_KEY, self._last_resource_version))
            batch.puts.append((_LAST_RESOURCE_KEY, last_resource.to_bytes(4, "big")))
        for gone in self._gone:
            if gone != place:
                batch.deletes.append(_row_key(gone))
        # In memory first: on an event loop another request may run while this commit reaches the disk.
        table = self._tables[place] = Table(state, 0)
        forgotten, self._gone = self._gone, {}
        before = self._last_resource
        self._last_resource = last_resource or before
        if isinstance(await self._store.commit([batch]), Conflict):
            del self._tables[place]
            self._gone = forgotten
            self._last_resource = before
            raise ResourceInUseException(
                f"Attempt to change a resource which is still in use: Table is being updated: {state.name}"
            )
        table.version = await self._version(key)
        if last_resource is not None:
            self._last_resource_version = max(self._last_resource_version, table.version)
        return table

    async def _version(self, key: bytes) -> int:
        (row,) = await self._store.get(CATALOG_PART, (key,))
        return row[0] if row is not None else 0


def used_definitions(state: TableState) -> list[tuple[str, str]]:
    """The attribute definitions that some key of the table or of its indexes needs."""
    used = {name for name, _ in state.key_schema}
    for index in state.local_indexes + state.global_indexes:
        used.update(name for name, _ in index["key_schema"])
    return [(name, kind) for name, kind in state.definitions if name in used]


def _row_key(place: NsName) -> bytes:
    namespace, name = place
    return namespace.encode() + b"\x00" + name.encode()


def stored_index(definition: IndexDefinition, resource: int | None) -> dict[str, Any]:
    """An index as TableState keeps it. Without a resource number it gets one in `Catalog.update`."""
    return {
        "name": definition.name,
        "resource": resource,
        "key_schema": definition.key_schema,
        "projection": definition.projection,
        "non_key_attributes": definition.non_key_attributes,
        "throughput": {"read_units": definition.units[0], "write_units": definition.units[1]},
    }


def check_not_in_use(table: Table) -> None:
    """Control-plane calls wait for each other. Raises ResourceInUseException."""
    status = table.state.status
    doing = {"CREATING": "created", "UPDATING": "updated", "DELETING": "deleted"}.get(status)
    if doing is not None:
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being {doing}: {table.name}"
        )
