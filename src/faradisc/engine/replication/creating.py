"""A new replica: its table, and the items that it begins with.

While a replica is filled, writes go on: they are in the logs, which it gets too. A filled item comes with the
stamp of its last writer, or the time 0, so whatever arrives later is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from faradisc.engine.backups.definitions import restored_definition
from faradisc.engine.derived.replication import replication_of
from faradisc.engine.encryption.encryption import Encryption
from faradisc.engine.jobs.walk import Walk
from faradisc.engine.replication.delivery import apply_arrivals
from faradisc.engine.replication.filling import FillPage, arrivals_of, page_after
from faradisc.engine.replication.peers import Peers, WantedPage
from faradisc.engine.replication.scaling import ReplicaScaling
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
from faradisc.errors import LimitExceededException, ResourceInUseException, ValidationException
from faradisc.storage.api import Part, Store

OWNER = "replica"
"""The job that fills the table of a new replica."""
VIEW_TYPE = "NEW_AND_OLD_IMAGES"


class NewReplicas:
    """Of one database."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        encryption: Encryption,
        peers: Peers,
        scaling: ReplicaScaling,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._encryption = encryption
        self._peers = peers
        self._scaling = scaling

    async def create(self, state: TableState, replica: Replica, *, encrypted: bool) -> str:
        """Creates the table of a replica, which its filling makes ACTIVE. Returns why it cannot, or "".

        state, encrypted: of another replica.
        """
        group = ReplicaGroup.of(state)
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
        try:
            if encrypted:
                key = {"Enabled": True, "SSEType": "KMS"}
                if replica.key_arn is not None:
                    key["KMSMasterKeyId"] = replica.key_arn
                settings["sealing"] = await self._encryption.of_new_table(
                    key, state.name, replica.region, state.account
                )
            await self._catalog.create(state.name, replica.region, state.account, definition, settings)
        except (ResourceInUseException, LimitExceededException, ValidationException, KeyDenied) as error:
            return error.message or error.wire_name()
        return ""

    async def fill(self, copies: Mapping[str, Table], target: Table) -> bool:
        """Gives a new replica a page of the items of another one, and makes it ACTIVE after the last. Returns
        False while it waits for another server."""
        into, group = replication_of(target), ReplicaGroup.of(target.state)
        if into is None or group is None:
            return False
        source = next((copy for copy in copies.values() if copy.state.owner_job is None), None)
        replication = None if source is None else replication_of(source)
        seen = self._peers.states(target.state, group)
        distant = next((state for state in seen.values() if state.owner_job is None), None)
        if source is not None:
            parts: Sequence[Part] = source.placement.parts
        elif distant is not None:
            parts = [b""] * distant.slots
        else:
            return False
        walk = await Walk.load(self._store, into.job, into.resource, parts)
        if walk.is_complete:
            replica, of = group.find(target.state.region), distant if source is None else source.state
            if replica is not None and of is not None:
                await self._scaling.give(of, target.state, replica)
            await self._catalog.filled(target, also=walk.end)
            return True
        page: FillPage | None = None
        if source is not None and replication is not None:
            page = await page_after(self._store, source, replication, walk.position)
        elif distant is not None:
            name = (distant.account, distant.name)
            page = self._peers.page(distant.region, WantedPage(name, distant.table_id, walk.position))
        if page is None:
            return False
        cursor = walk.moving(page.moved)
        arrivals = arrivals_of(page, target)
        if arrivals:
            await apply_arrivals(self._store, target, arrivals, lambda _: cursor, charged=False)
        else:
            await self._store.commit([cursor])
        return True
