"""The life of replicas: added, filled, changed and removed in steps, each of which a crash may follow.

A request changes the group in the table that it names (operations/replica_updates.py): a replica is CREATING,
UPDATING or DELETING from then on, and the revision rises. This job does what follows:

    spread     every replica gets the group of the highest revision, and the settings that all have in common
    CREATING   its table is created, and filled from an ACTIVE replica; then it is ACTIVE
    UPDATING   ACTIVE, once it has its settings
    DELETING   its table is deleted, and it leaves the group; so does one that DeleteTable has deleted

While a replica is filled, writes go on: they are in the logs, which it gets too. A filled item comes with the
stamp of its last writer, or the time 0, so whatever arrives later is right.

What replicas have in common is in sharing.py. Source: new-features.md section 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Protocol

from faradisc.clock import Clock
from faradisc.engine.backups.definitions import restored_definition
from faradisc.engine.derived.replication import Replication, replication_of, stamp_of
from faradisc.engine.encryption.encryption import Encryption
from faradisc.engine.jobs.walk import Walk
from faradisc.engine.replication.delivery import Arrival, ReplicaDelivery, apply_arrivals, waiting
from faradisc.engine.replication.links import Links
from faradisc.engine.replication.sharing import share_settings
from faradisc.engine.replication.tombstones import Tombstones
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.replicas import Replica, ReplicaGroup
from faradisc.engine.tables.state import (
    REPLICATION,
    UNASSIGNED,
    FeatureState,
    StreamSetting,
    TableState,
    TtlState,
)
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import INACCESSIBLE
from faradisc.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from faradisc.model.codec import item_record
from faradisc.storage.api import Store

OWNER = "replica"
"""The job that fills the table of a new replica."""
VIEW_TYPE = "NEW_AND_OLD_IMAGES"


class ReplicaScaling(Protocol):
    """Auto scaling of replicas, which is another service (services/autoscaling/replicas.py)."""

    def is_scaled(self, table: TableState, index: str | None, direction: str) -> bool:
        """Whether the units of a table (None) or global index are scaled. direction: Read or Write."""

    def describe(self, table: TableState, region: str, index: str | None, direction: str) -> dict[str, Any]:
        """Returns AutoScalingSettingsDescription of one replica."""

    async def update(
        self, table: TableState, region: str, index: str | None, direction: str, settings: Mapping[str, Any]
    ) -> None:
        """Applies AutoScalingSettingsUpdate to one replica. Raises ValidationException."""

    async def give(self, table: TableState, replica: Replica) -> None:
        """Gives a new replica the scaling of a table, but not of what the replica has of its own."""


class Replicas:
    """All global tables of a database."""

    scaling: Callable[[], ReplicaScaling]
    """Set by the database, which creates that service when it is first needed."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        clock: Clock,
        links: Links,
        *,
        regions: tuple[str, ...],
        encryption: Encryption,
    ) -> None:
        """regions: those that exist; none: all."""
        self._store = store
        self._catalog = catalog
        self._encryption = encryption
        self.delivery = ReplicaDelivery(store, clock, links)
        self._tombstones = Tombstones(store, clock)
        self.links = links
        self.regions = regions

    def at(self, table: TableState, region: str) -> Table | None:
        """Returns the table of the same name and account in a region, also one that is no replica."""
        return self._catalog.tables.at((self._catalog.tables.namespace(region, table.account), table.name))

    def copies(self, state: TableState, group: ReplicaGroup) -> dict[str, Table]:
        """Returns the replicas that exist, by region."""
        found: dict[str, Table] = {}
        for replica in group.replicas:
            table = self.at(state, replica.region)
            if table is None or table.state.status == "DELETING":
                continue
            own = ReplicaGroup.of(table.state)
            if own is not None and own.group == group.group:
                found[replica.region] = table
        return found

    def is_settled(self, state: TableState, group: ReplicaGroup) -> bool:
        """Whether every replica exists, and has the same group and settings."""
        groups = [ReplicaGroup.of(table.state) for table in self.copies(state, group).values()]
        return not any(each is None or each.is_changing or each != groups[0] for each in groups)

    # --- Steps -----------------------------------------------------------------------------------

    async def step(self) -> bool:
        """Does some of what is to be done; returns False if there is nothing."""
        busy = False
        replicas = list(self._catalog.tables.background_index.having(Replication))
        if replicas:
            await self.links.follow()
        for table, replication in replicas:
            if table.state.status == INACCESSIBLE:
                continue
            # A table that was deleted or changed meanwhile: the next step finds what it is then.
            # A key that cannot be used any more: its table waits.
            with suppress(ResourceNotFoundException, ResourceInUseException, KeyDenied):
                copies = self.copies(table.state, replication.group)
                busy = await self._live(table, copies) or busy
                targets = [
                    _accessible(copies.get(each.region))
                    for each in replication.group.replicas
                    if each.region != table.state.region
                    and each.status not in ("DELETING", "CREATION_FAILED")
                ]
                busy = await self.delivery.step(table.newest, targets) or busy
                busy = await self._tombstones.step(table, replication, copies.values()) or busy
        return busy

    async def spread(self, table: Table) -> None:
        """Gives the others at once what a request has changed in a replica."""
        group = ReplicaGroup.of(table.newest.state)
        if group is None:
            return
        with suppress(ResourceNotFoundException, ResourceInUseException):
            while await self._spread(table.newest, self.copies(table.state, group)):
                pass

    async def _live(self, table: Table, copies: Mapping[str, Table]) -> bool:
        """Does a step in the life of the group, if this table has its newest state."""
        group = ReplicaGroup.of(table.state)
        if group is None:
            return False
        newest = max(map(_revision, copies.values()), default=0)
        leaders = [region for region, copy in copies.items() if _revision(copy) == newest]
        staying = {each.region for each in group.replicas if each.status in ("ACTIVE", "UPDATING")}
        leader = next((region for region in leaders if region in staying), None)
        if leader != table.state.region:
            return False
        if await self._spread(table, copies):
            return True
        for replica in group.replicas:
            if await self._advance(table, replica, copies):
                return True
        if any(status != "ACTIVE" for status in group.witnesses.values()):
            await self._change(table, table.state.region, _advance_witnesses)
            return True
        return False

    async def _spread(self, leader: Table, copies: Mapping[str, Table]) -> bool:
        group = ReplicaGroup.of(leader.state)
        for copy in copies.values():
            if group is not None and _revision(copy) < group.revision:

                def change(state: TableState, group: ReplicaGroup = group) -> bool:
                    group.put(state)
                    return share_settings(leader.newest.state, state, group)

                await self._catalog.update(copy, change, while_in_use=True)
                return True
        return False

    async def _advance(self, table: Table, replica: Replica, copies: Mapping[str, Table]) -> bool:
        """Does what follows from the status of one replica; returns False if nothing does."""
        copy = copies.get(replica.region)
        if replica.status == "CREATING":
            if copy is None:
                await self._create(table, replica)
            elif copy.state.owner_job == OWNER:
                await self._fill(copies, copy)
            else:
                await self._change(table, replica.region, _activate)
            return True
        if replica.status == "UPDATING":
            await self._change(table, replica.region, _activate)
            return True
        if replica.status == "DELETING" and copy is not None and copy is not table:
            await self._catalog.delete(copy, while_in_use=True)
            return True
        if copy is None and replica.status != "CREATION_FAILED":
            await self._change(table, replica.region, lambda group, gone: group.replicas.remove(gone))
            return True
        return False

    async def _change(
        self, table: Table, region: str, change: Callable[[ReplicaGroup, Replica], None]
    ) -> None:
        def changed(state: TableState) -> bool:
            change_group(state, region, change)
            return False

        await self._catalog.update(table, changed, while_in_use=True)

    # --- A new replica ---------------------------------------------------------------------------

    async def _create(self, table: Table, replica: Replica) -> None:
        """Creates the table of a replica, which its filling makes ACTIVE."""
        state, group = table.state, ReplicaGroup.of(table.state)
        assert group is not None, "the table is a replica"
        settings: dict[str, Any] = {
            "stream": None if group.strong else StreamSetting(VIEW_TYPE),
            "owner_job": OWNER,
            "table_class": replica.table_class or state.table_class,
            "features": {REPLICATION: FeatureState(filled=True, settings=asdict(group))},
        }
        if state.ttl is not None and state.ttl.enabled:
            settings["ttl"] = TtlState(state.ttl.attribute, True, state.ttl.changed_ns, UNASSIGNED, False)
        definition = restored_definition(state, {})
        definition.maximum = [replica.max_read or definition.maximum[0], definition.maximum[1]]
        definition.units = (replica.read_units or definition.units[0], definition.units[1])
        for index in definition.global_indexes:
            own = replica.index_max_read.get(index.name)
            index.on_demand_maximum = [own or index.on_demand_maximum[0], index.on_demand_maximum[1]]
            reads = replica.index_read_units.get(index.name)
            index.throughput.read_units = reads or index.throughput.read_units
        if not state.on_demand:
            await self.scaling().give(state, replica)
        try:
            if replica.key_arn is not None:
                key = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": replica.key_arn}
                settings["sealing"] = await self._encryption.of_new_table(
                    key, table.name, replica.region, state.account
                )
            await self._catalog.create(table.name, replica.region, state.account, definition, settings)
        except (ResourceInUseException, LimitExceededException, ValidationException, KeyDenied) as error:
            text = error.message or error.wire_name()

            def failed(group: ReplicaGroup, failing: Replica) -> None:
                failing.status, failing.text = "CREATION_FAILED", text

            await self._change(table, replica.region, failed)

    async def _fill(self, copies: Mapping[str, Table], target: Table) -> None:
        """Gives a new replica a page of the items of another one, and makes it ACTIVE after the last."""
        into = replication_of(target)
        source = next((copy for copy in copies.values() if copy.state.owner_job is None), None)
        replication = None if source is None else replication_of(source)
        if into is None or source is None or replication is None:
            return
        walk = await Walk.load(self._store, into.job, into.resource, source.placement.parts)
        if walk.is_complete:
            await self._catalog.filled(target, also=walk.end)
            return
        page = await walk.page()
        (cursor,) = [batch for part, batch in page.batches.items() if part != page.part]
        keys = [key for key, _ in page.rows]
        stamps = replication.slot_parts[page.slot]
        # One view of items and stamps: what is written later is in the log.
        wanted = [*((page.part, key) for key in keys), *((stamps, key) for key in keys)]
        found = await self._store.read_many(wanted) if keys else []
        arrivals = []
        for item_row, stamp_row in zip(found[: len(keys)], found[len(keys) :], strict=True):
            if item_row is not None:
                stamp = stamp_of(0, source.state.region) if stamp_row is None else stamp_row[1]
                key = source.key.key_of(item_record.decode(item_row[1]))
                arrivals.append(Arrival(key, item_row[1], stamp))
        if arrivals:
            await apply_arrivals(self._store, target, arrivals, lambda _: cursor, charged=False)
        else:
            await self._store.commit([cursor])

    # --- What there is to see --------------------------------------------------------------------

    async def status(self, now_ns: int) -> list[dict[str, Any]]:
        """Returns every link between two replicas, with what waits for it."""
        links = []
        await self.links.follow()
        for table, replication in list(self._catalog.tables.background_index.having(Replication)):
            for region, copy in self.copies(table.state, replication.group).items():
                into = replication_of(copy)
                if copy is table or into is None:
                    continue
                link = (table.state.region, region)
                count, oldest_ns = await waiting(self._store, replication, into)
                traffic = self.links.of(table.arn, link)
                links.append(
                    {
                        "table": table.name,
                        "from": link[0],
                        "to": region,
                        "cut": self.links.is_cut(link),
                        "waiting": count,
                        "lag_ms": 0 if oldest_ns is None else max(now_ns - oldest_ns, 0) / 1e6,
                        "delivered": traffic.delivered,
                        "conflicts": traffic.superseded,
                    }
                )
        return links


def _revision(table: Table) -> int:
    group = ReplicaGroup.of(table.state)
    return 0 if group is None else group.revision


def _accessible(table: Table | None) -> Table | None:
    return None if table is None or table.state.status == INACCESSIBLE else table


def _activate(group: ReplicaGroup, replica: Replica) -> None:
    replica.status = "ACTIVE"


def _advance_witnesses(group: ReplicaGroup, replica: Replica) -> None:
    group.witnesses = {region: "ACTIVE" for region, status in group.witnesses.items() if status != "DELETING"}


def change_group(state: TableState, region: str, change: Callable[[ReplicaGroup, Replica], None]) -> None:
    """Changes one replica in the group of a table, if both exist."""
    group = ReplicaGroup.of(state)
    replica = None if group is None else group.find(region)
    if group is not None and replica is not None:
        change(group, replica)
        group.revision += 1
        group.put(state)
