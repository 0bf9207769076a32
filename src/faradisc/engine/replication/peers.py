"""The servers of other regions: what each of them shows of its replicas, and how it is asked.

Every server owns its regions: it creates, fills and deletes their replicas, and asks the peers for what they
have. A question and its answer are one authenticated POST to /_faradisc/peers of the peer. The answer has
the peer's replicas with their groups, the next entries of their logs, and a page for a replica that is being
filled; the question says which entries have arrived, so that the peer can trim its logs. Both have
PEER_FORMAT; the question has the regions, the answer the time: servers that do not fit do not replicate.

    peers.py      what is known of the peers
    answering.py  answers the questions of a peer
    pulling.py    asks, and applies what has come

Nothing of it is stored but what has arrived, here and there (delivery.py); after a start the peers are asked
again. Of several nodes over one store the one with the lease of the replication asks for entries and pages,
and the others look at what the peers show. Any of them answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from faradisc.clock import Clock
from faradisc.engine.jobs.walk import WalkPosition
from faradisc.engine.replication.filling import FillPage
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.state import TableState
from faradisc.records import dataclass, field

PEER_FORMAT = 1
"""Of questions and answers."""
APART_MAX_S = 5.0
"""How far the clocks of two servers may be apart: the last writer is found by time."""
QUIET_S = 10.0
"""A peer that has not answered for so long may have writes that have not arrived."""
LISTS_MISSING = 2
"""A replica is gone when this many lists of its server lack it that were asked for after it was known."""

PeerTable = tuple[str, str]
"""Account and name."""


class PeerUnusable(Exception):
    """A peer does not answer, or does not fit; the text is one sentence."""


class PeerClient(Protocol):
    """The way to one peer."""

    url: str
    received_bytes: int
    """Of all answers."""

    def ask(self, question: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Returns what the peer answers. Fails with PeerUnusable."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class WantedPage:
    """The next page that a replica is filled with."""

    table: PeerTable
    table_id: str
    position: WalkPosition


@dataclass(slots=True)
class PeerRegion:
    """The server of one other region."""

    region: str
    client: PeerClient
    problem: str = ""
    """Why nothing comes from it; one sentence."""
    answered_ns: int = 0
    """When it has last answered; 0: not since the start."""
    apart_ms: float = 0.0
    """How far its clock is ahead."""
    tag: str = ""
    """Of the list that `states` is made of."""
    states: dict[PeerTable, TableState] = field(default_factory=dict)
    """Its replicas, as they were last seen."""
    encrypted: set[PeerTable] = field(default_factory=set)
    """Those that have a key of their own."""
    scaling: dict[PeerTable, list[tuple[str | None, str, dict[str, Any]]]] = field(default_factory=dict)
    """How their provisioned units are scaled (scaling.py)."""
    lists: int = 0
    """How many lists have come."""
    missing: dict[tuple[PeerTable, str], int] = field(default_factory=dict)
    """By table and group: how many lists had come when it was first found to be missing."""
    idle: set[PeerTable] = field(default_factory=set)
    """Tables of which the last answer had everything."""
    wanted: WantedPage | None = None
    page: FillPage | None = None
    """The answer to `wanted`."""

    async def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Asks at once. Raises PeerUnusable."""
        asked = self.client.ask(question)
        return asked.result() if asked.done() else await asyncio.wrap_future(asked)

    def document(self) -> dict[str, Any]:
        return {
            "region": self.region,
            "url": self.client.url,
            "problem": self.problem,
            "answered_ns": self.answered_ns,
            "clock_ahead_ms": round(self.apart_ms, 1),
            "received_bytes": self.client.received_bytes,
            "tables": sorted(name for _, name in self.states),
        }


class Peers:
    """Those of one database, by region."""

    def __init__(self, clock: Clock, clients: Mapping[str, PeerClient]) -> None:
        self._clock = clock
        self.by_region = {region: PeerRegion(region, client) for region, client in clients.items()}
        self.refused: dict[tuple[str, PeerTable], tuple[int, str]] = {}
        """By region: the replicas that cannot be created here, when each was added, and why."""

    def __contains__(self, region: str) -> bool:
        return region in self.by_region

    def __bool__(self) -> bool:
        return bool(self.by_region)

    def states(self, state: TableState, group: ReplicaGroup) -> dict[str, TableState]:
        """Returns the replicas at other servers, as they were last seen."""
        found: dict[str, TableState] = {}
        for replica in group.replicas:
            seen = self._seen(state, group, replica.region)
            if seen is not None:
                found[replica.region] = seen
        return found

    def _seen(self, state: TableState, group: ReplicaGroup, region: str) -> TableState | None:
        peer = self.by_region.get(region)
        seen = None if peer is None else peer.states.get((state.account, state.name))
        own = None if seen is None else ReplicaGroup.of(seen)
        return seen if own is not None and own.group == group.group else None

    def is_gone(self, state: TableState, group: ReplicaGroup, region: str) -> bool:
        """Whether the server of a replica has it no more."""
        peer, name = self.by_region[region], (state.account, state.name)
        noted = (name, group.group)
        if self._seen(state, group, region) is not None:
            peer.missing.pop(noted, None)
            return False
        return peer.lists >= peer.missing.setdefault(noted, peer.lists) + LISTS_MISSING

    def is_quiet(self, state: TableState, group: ReplicaGroup) -> bool:
        """Whether every write of other servers that is older than a day has arrived."""
        for replica in group.replicas:
            peer = self.by_region.get(replica.region)
            if peer is None:
                continue
            since_s = (self._clock.now_ns() - peer.answered_ns) / 1e9
            if peer.problem or since_s > QUIET_S or (state.account, state.name) not in peer.idle:
                return False
        return True

    def page(self, region: str, wanted: WantedPage) -> FillPage | None:
        """Returns the next page for a replica, if it has come; else it is asked for."""
        peer = self.by_region[region]
        if peer.wanted != wanted:
            peer.wanted, peer.page = wanted, None
        page, peer.page = peer.page, None
        if page is not None:
            peer.wanted = None
        return page

    def problems(self) -> list[str]:
        """Returns a sentence for each peer that nothing comes from."""
        return [peer.problem for peer in self.by_region.values() if peer.problem]

    def close(self) -> None:
        for peer in self.by_region.values():
            peer.client.close()
