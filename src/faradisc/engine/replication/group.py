"""The life of replicas: added, filled, changed and removed in steps, each of which a crash may follow.

A request changes the group in the table that it names (operations/replica_updates.py): a replica is CREATING,
UPDATING or DELETING from then on, and the revision rises. This job does what follows, for the regions of this
server; those of other servers are only looked at (peers.py):

    spread     every replica gets the group of the highest rank, and the settings that all have in common
    CREATING   its table is created, and filled from an ACTIVE replica; then it is ACTIVE
    UPDATING   ACTIVE, once it has its settings
    DELETING   its table is deleted, and it leaves the group; so does one that DeleteTable has deleted

How a replica is created and filled is in creating.py, what replicas have in common in sharing.py. Source:
new-features.md section 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from faradisc.clock import Clock
from faradisc.engine.derived.replication import Replication
from faradisc.engine.encryption.encryption import Encryption
from faradisc.engine.replication.answering import PeerAnswers
from faradisc.engine.replication.creating import OWNER, NewReplicas
from faradisc.engine.replication.delivery import ReplicaDelivery, reported, waiting
from faradisc.engine.replication.links import Links
from faradisc.engine.replication.peers import PeerClient, Peers
from faradisc.engine.replication.pulling import PeerPulls, check_fitting, greeting
from faradisc.engine.replication.scaling import ReplicaScaling
from faradisc.engine.replication.sharing import share_settings
from faradisc.engine.replication.tombstones import Tombstones
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.replicas import Replica, ReplicaGroup
from faradisc.engine.tables.state import (
    TableState,
)
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import INACCESSIBLE
from faradisc.errors import (
    ResourceInUseException,
    ResourceNotFoundException,
)
from faradisc.storage.api import Store

PEER_PAUSE_S = 0.25


class Replicas:
    """All global tables of a database."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        clock: Clock,
        links: Links,
        *,
        regions: tuple[str, ...],
        encryption: Encryption,
        peers: Mapping[str, PeerClient] | None = None,
        peer_pause_s: float = PEER_PAUSE_S,
    ) -> None:
        """regions: those of this server; none: all. peers: the ways to other regions' servers, by region.
        peer_pause_s: between two questions to a peer while nothing happens."""
        self._store = store
        self._clock = clock
        self._catalog = catalog
        self.delivery = ReplicaDelivery(store, clock, links)
        self._tombstones = Tombstones(store, clock)
        self.links = links
        self.own_regions = regions
        self.peers = Peers(clock, peers or {})
        self.scaling = ReplicaScaling(self.peers, self._ask)
        self._new = NewReplicas(store, catalog, encryption, self.peers, self.scaling)

        def replicas() -> list[tuple[Table, Replication]]:
            return list(catalog.tables.background_index.having(Replication))

        self.answers = PeerAnswers(
            store,
            clock,
            links,
            self.peers,
            regions,
            scaling=self.scaling,
            table_at=self._table_at,
            replicas=replicas,
            failed=self._failed,
            follow=self._follow,
        )
        self.pulls = PeerPulls(
            store,
            clock,
            self.delivery,
            self.peers,
            regions,
            pause_s=peer_pause_s,
            table_at=self._table_at,
            replicas=replicas,
        )

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions that replicas can be in; none: all."""
        return (*self.own_regions, *self.peers.by_region)

    def _table_at(self, region: str, account: str, name: str) -> Table | None:
        return self._catalog.tables.at((self._catalog.tables.namespace(region, account), name))

    def at(self, table: TableState, region: str) -> Table | None:
        """Returns the table of the same name and account in a region of this server, also one that is no
        replica."""
        return None if region in self.peers else self._table_at(region, table.account, table.name)

    async def prepare(self, state: TableState, region: str) -> bool:
        """Asks the server of another region whether it can have a replica of a table; returns whether it has
        a table of that name. Raises PeerUnusable."""
        answer = await self._ask(region, {"prepare": {"account": state.account, "table": state.name}})
        return bool(answer.get("taken"))

    async def _ask(self, region: str, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Asks the server of another region at once. Raises PeerUnusable."""
        peer, asked_ns = self.peers.by_region[region], self._clock.now_ns()
        answer = await peer.ask({**greeting(self.own_regions, region), **question})
        check_fitting(peer, answer, asked_ns, self._clock.now_ns())
        return answer

    def copies(self, state: TableState, group: ReplicaGroup) -> dict[str, Table]:
        """Returns the replicas that exist at this server, by region."""
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
        """Whether every replica here exists and has the same group and settings, and none at another server
        is known to have newer ones."""
        groups = [ReplicaGroup.of(table.state) for table in self.copies(state, group).values()]
        if any(_rank(seen) > group.rank for seen in self.peers.states(state, group).values()):
            return False
        return not any(each is None or each.is_changing or each != groups[0] for each in groups)

    # --- Steps -----------------------------------------------------------------------------------

    async def step(self) -> bool:
        """Does some of what is to be done; returns False if there is nothing."""
        busy = False
        if self.peers:
            busy = await self.pulls.step()
            busy = await self._begin() or busy
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
                receiving = [
                    each
                    for each in replication.group.replicas
                    if each.region != table.state.region
                    and each.status not in ("DELETING", "CREATION_FAILED")
                ]
                targets = [
                    _accessible(copies.get(each.region))
                    for each in receiving
                    if each.region not in self.peers
                ]
                elsewhere = [each for each in receiving if each.region in self.peers]
                busy = await self.delivery.step(table.newest, targets, elsewhere) or busy
                if self.peers.is_quiet(table.state, replication.group):
                    busy = await self._tombstones.step(table, replication, copies.values()) or busy
        return busy

    async def look_at_peers(self) -> bool:
        """Keeps up with what the peers show, where another node of a shared store replicates. Never returns
        True: another step has nothing to do."""
        await self.pulls.look()
        return False

    async def spread(self, table: Table) -> None:
        """Gives the others at once what a request has changed in a replica."""
        group = ReplicaGroup.of(table.newest.state)
        if group is None:
            return
        with suppress(ResourceNotFoundException, ResourceInUseException):
            while await self._spread(table.newest.state, self.copies(table.state, group)):
                pass

    async def _live(self, table: Table, copies: Mapping[str, Table]) -> bool:
        """Does a step in the life of the group, if this table is the one here that does it: one with the
        newest state, or the first one while that is at another server."""
        group = ReplicaGroup.of(table.state)
        if group is None:
            return False
        states = {region: copy.state for region, copy in copies.items()} | self.peers.states(
            table.state, group
        )
        newest = max(map(_rank, states.values()), default=(0, ""))
        leaders = [region for region, state in states.items() if _rank(state) == newest and _stays(state)]
        leader = next(iter(leaders), None)
        if leader is None:
            return await self._abandon(table, group)
        if (leader if leader in copies else next(iter(copies), None)) != table.state.region:
            return False
        if await self._spread(states[leader], copies):
            return True
        for replica in group.replicas:
            if replica.region in self.peers:
                advanced = await self._look(table, group, replica)
            else:
                advanced = await self._advance(table, replica, copies)
            if advanced:
                return True
        if any(status != "ACTIVE" for status in group.witnesses.values()):
            await self._change(table, table.state.region, _advance_witnesses)
            return True
        return False

    async def _spread(self, leader: TableState, copies: Mapping[str, Table]) -> bool:
        group = ReplicaGroup.of(leader)
        for copy in copies.values():
            if group is not None and _rank(copy.state) < group.rank:

                def change(state: TableState, group: ReplicaGroup = group) -> bool:
                    group.put(state)
                    return share_settings(leader, state, group)

                await self._catalog.update(copy, change, while_in_use=True)
                return True
        return False

    async def _advance(self, table: Table, replica: Replica, copies: Mapping[str, Table]) -> bool:
        """Does what follows from the status of one replica here; returns False if nothing does."""
        copy = copies.get(replica.region)
        if copy is None and replica.status != "DELETING" and self._is_elsewhere(replica.region):
            return False  # at a server that this one was started without
        if replica.status == "CREATING":
            if copy is None:
                sealed = table.state.sealing is not None and table.state.sealing.enabled
                text = await self._new.create(table.state, replica, encrypted=sealed)
                if text:
                    await self._failed(table, replica.region, text)
            elif copy.state.owner_job == OWNER:
                return await self._new.fill(copies, copy)
            else:
                await self._change(table, replica.region, _active(copy.state))
            return True
        if replica.status == "UPDATING":
            await self._change(table, replica.region, _active(None if copy is None else copy.state))
            return True
        if replica.status == "DELETING" and copy is not None:
            await self._catalog.delete(copy, while_in_use=True)
            return True
        if copy is None and replica.status != "CREATION_FAILED":
            await self._change(table, replica.region, lambda group, gone: group.replicas.remove(gone))
            return True
        return False

    def _is_elsewhere(self, region: str) -> bool:
        return bool(self.own_regions) and region not in self.own_regions

    async def _change(
        self, table: Table, region: str, change: Callable[[ReplicaGroup, Replica], None]
    ) -> None:
        def changed(state: TableState) -> bool:
            change_group(state, region, change)
            return False

        await self._catalog.update(table, changed, while_in_use=True)

    async def _follow(self) -> None:
        if self._store.shared:
            await self._catalog.follower.refresh()
            await self.links.load()

    async def _failed(self, table: Table, region: str, text: str) -> None:
        def change(group: ReplicaGroup, replica: Replica) -> None:
            replica.status, replica.text = "CREATION_FAILED", text

        await self._change(table, region, change)

    # --- Replicas at other servers ---------------------------------------------------------------

    async def _begin(self) -> bool:
        """Creates the replicas here that other servers have asked for; returns whether it did."""
        busy = False
        refused = {}
        for peer in self.peers.by_region.values():
            for name, state in peer.states.items():
                group = ReplicaGroup.of(state)
                if group is None:
                    continue
                copies = self.copies(state, group)
                known = [*self.peers.states(state, group).values(), *(copy.state for copy in copies.values())]
                if group.rank < max(map(_rank, known)):
                    continue
                for replica in group.replicas:
                    region = replica.region
                    if replica.status != "CREATING" or region not in self.own_regions or region in copies:
                        continue
                    before = self.peers.refused.get((region, name), (0, ""))
                    text = before[1] if before[0] == replica.since_ns else ""
                    if not text:
                        text = await self._new.create(state, replica, encrypted=name in peer.encrypted)
                        busy = True
                    if text:
                        refused[region, name] = (replica.since_ns, text)
        self.peers.refused = refused
        return busy

    async def _look(self, table: Table, group: ReplicaGroup, replica: Replica) -> bool:
        """Takes over what a peer has removed; returns whether there was something."""
        region = replica.region
        if replica.status in ("CREATING", "CREATION_FAILED"):
            return False
        if self.peers.is_gone(table.state, group, region):
            await self._change(table, region, lambda group, gone: group.replicas.remove(gone))
            return True
        return False

    async def _abandon(self, table: Table, group: ReplicaGroup) -> bool:
        """Deletes a replica that is still to be filled when all others are gone, so that no half of one
        stays; returns whether it did."""
        others = [each.region for each in group.replicas if each.region != table.state.region]
        if table.state.owner_job != OWNER or not all(region in self.peers for region in others):
            return False
        if not all(self.peers.is_gone(table.state, group, region) for region in others):
            return False
        await self._catalog.delete(table, while_in_use=True)
        return True

    # --- What there is to see --------------------------------------------------------------------

    async def status(self, now_ns: int) -> list[dict[str, Any]]:
        """Returns every link between two replicas, with what waits for it."""
        links = []
        await self.links.follow()
        for table, replication in list(self._catalog.tables.background_index.having(Replication)):
            copies = self.copies(table.state, replication.group)
            for replica in replication.group.replicas:
                region, copy = replica.region, copies.get(replica.region)
                if copy is table or (copy is None and region not in self.peers):
                    continue
                link = (table.state.region, region)
                if copy is None:
                    has = await reported(self._store, replication, replica)
                else:
                    has = await self.delivery.has(table, copy)
                count, oldest_ns = await waiting(self._store, replication, has)
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


def _rank(state: TableState) -> tuple[int, str]:
    group = ReplicaGroup.of(state)
    return (0, "") if group is None else group.rank


def _stays(state: TableState) -> bool:
    """Whether a replica is complete, and not being removed, as far as it knows itself."""
    group = ReplicaGroup.of(state)
    own = None if group is None else group.find(state.region)
    return own is not None and own.status in ("ACTIVE", "UPDATING")


def _accessible(table: Table | None) -> Table | None:
    return None if table is None or table.state.status == INACCESSIBLE else table


GroupChange = Callable[[ReplicaGroup, Replica], None]


def _active(state: TableState | None) -> GroupChange:
    """state: of the replica's table."""

    def change(group: ReplicaGroup, replica: Replica) -> None:
        replica.status = "ACTIVE"
        if state is not None and state.sealing is not None and state.sealing.enabled:
            replica.key_arn = state.sealing.key_arn

    return change


def _advance_witnesses(group: ReplicaGroup, replica: Replica) -> None:
    group.witnesses = {region: "ACTIVE" for region, status in group.witnesses.items() if status != "DELETING"}


def change_group(state: TableState, region: str, change: Callable[[ReplicaGroup, Replica], None]) -> None:
    """Changes one replica in the group of a table, if both exist."""
    group = ReplicaGroup.of(state)
    replica = None if group is None else group.find(region)
    if group is not None and replica is not None:
        change(group, replica)
        group.raise_revision(state.region)
        group.put(state)
