"""This process among the nodes of a shared store.

Every node has a row in one part: key its id, value JSON. It writes the row every two seconds, with the time
of the store; a node whose row is older than ten seconds counts as dead. The row has what other nodes have to
agree with: a node that disagrees with a live one does not start. Source: many-nodes.md section 1.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from faradisc.clock import Clock
from faradisc.errors import StorageError
from faradisc.model.codec.keyspace import NODES_PART
from faradisc.records import asdict, dataclass, replace
from faradisc.storage.api import Batch, ReadOnlyStore, Store

log = logging.getLogger("faradisc.engine.cluster")

FEATURES = 2
"""What this release knows of what nodes share; rises with every change that older nodes would not understand.
A change is used once `Nodes.features` has reached it: when the last older node has gone."""
LEASES_OF_WORKS = 2
"""The feature that several nodes share a job (leases.py)."""
BEAT_NS = 2_000_000_000
DEAD_NS = 10_000_000_000
FORGOTTEN_NS = 86_400_000_000_000
"""Rows of nodes that have been dead for a day are deleted."""
SKEW_NS_MAX = 1_000_000_000
NODES_MAX = 1000
SEVERAL_PLACES = "several places"
"""The setting that says whether a node was told that the store has several places, or may get them."""


class Disagreement(StorageError):
    """A node does not agree with the store or with a node that serves it, and must not start."""


@dataclass(frozen=True, slots=True)
class Node:
    """What a node shows of itself."""

    id: str
    address: str
    version: str
    settings: Mapping[str, Any]
    """Those that all nodes must have in common."""
    started_ns: int = 0
    beat_ns: int = 0
    """When it last wrote its row, by the store's time."""
    features: int = FEATURES
    leases: tuple[str, ...] = ()
    """The jobs that it runs, and the works that it has of jobs that nodes share."""
    alone: bool = False
    """Whether it excludes all others: a repair."""

    def __str__(self) -> str:
        return f"node {self.id} at {self.address}"

    def is_alive(self, now_ns: int) -> bool:
        return now_ns - self.beat_ns < DEAD_NS

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Node:
        known = {name: value for name, value in stored.items() if name in cls.__slots__}
        return cls(**{**known, "leases": tuple(stored.get("leases", ()))})


class Nodes:
    """This node, and those that it last saw alive."""

    def __init__(self, store: Store, clock: Clock, me: Node) -> None:
        self._store = store
        self._clock = clock
        self._me = me
        self._offset_ns = 0
        """Time of the store minus that of the clock."""
        self._due_ns = 0
        self._writing = asyncio.Lock()
        self.alive: dict[str, Node] = {me.id: me}
        """By id, with this node."""
        self.last_beat_ns = 0
        """By the clock."""
        self.held: list[str] = []
        """The names of the leases that this node holds; shown in its row."""

    @property
    def id(self) -> str:
        return self._me.id

    @property
    def features(self) -> int:
        """The newest feature that every live node knows."""
        return min(node.features for node in self.alive.values())

    def now_ns(self) -> int:
        """Returns the store's time, as of the last heartbeat and the clock since."""
        return self._clock.now_ns() + self._offset_ns

    async def join(self) -> None:
        """Writes this node's row. Raises Disagreement, StorageError."""
        await self._check_clock()
        self._me = replace(self._me, started_ns=self.now_ns())
        await self.beat()
        try:
            for node in self.alive.values():
                self._check_company(node)
                self._check_settings(node)
        except Disagreement:
            await self.leave()
            raise

    async def _check_clock(self) -> None:
        """Raises Disagreement for a clock that differs from the store's by more than the reading took."""
        took_ns = await self._read_clock()
        if abs(self._offset_ns) > SKEW_NS_MAX + took_ns:
            word = "behind" if self._offset_ns > 0 else "ahead of"
            raise Disagreement(
                f"The clock of {self._me} is {abs(self._offset_ns) / 1e9:.1f} s {word} the store's; at most "
                f"{SKEW_NS_MAX / 1e9:.0f} s is allowed. Let a time service set it."
            )

    async def _read_clock(self) -> int:
        """Compares the clock with the store's. Returns how long that took."""
        before_ns = self._clock.now_ns()
        store_ns = await self._store.now_ns()
        after_ns = self._clock.now_ns()
        if store_ns is not None:
            self._offset_ns = store_ns - (before_ns + after_ns) // 2
        return after_ns - before_ns

    def _check_company(self, other: Node) -> None:
        """Raises Disagreement when one of two nodes excludes the other."""
        if other.id != self.id and self._me.alone:
            raise Disagreement(f"{other} serves this store; stop all servers before a repair.")
        if other.id != self.id and other.alone:
            raise Disagreement(f"{other} repairs this store; start servers when it has ended.")

    def _check_settings(self, other: Node) -> None:
        # A release that does not know of places has one.
        for name in sorted(self._me.settings.keys() & other.settings.keys() | {SEVERAL_PLACES}):
            mine, theirs = self._me.settings.get(name, False), other.settings.get(name, False)
            if mine != theirs:
                raise Disagreement(
                    f"{other} serves this store with {name}={theirs!r}, and {self._me} was started with "
                    f"{name}={mine!r}: all nodes need the same."
                )

    async def step(self) -> bool:
        """Writes the row if it is due. Never returns True: another step has nothing to do."""
        if self._clock.now_ns() >= self._due_ns:
            await self.beat()
        return False

    async def beat(self) -> None:
        """Writes this node's row, and reads those of the others."""
        async with self._writing:
            self._due_ns = self._clock.now_ns() + BEAT_NS
            await self._read_clock()
            now_ns = self.now_ns()
            self._me = replace(self._me, beat_ns=now_ns, leases=tuple(sorted(self.held)))
            row = (self.id.encode(), orjson.dumps(asdict(self._me)))
            await self._store.commit([Batch(NODES_PART, puts=[row])])
            self.last_beat_ns = self._clock.now_ns()
            found = await all_nodes(self._store)
            before = self.alive.keys()
            self.alive = {node.id: node for node in found if node.is_alive(now_ns)}
            for name in before - self.alive.keys():
                log.warning("node %s is gone", name)
            old = [node.id.encode() for node in found if now_ns - node.beat_ns > FORGOTTEN_NS]
            if old:
                await self._store.commit([Batch(NODES_PART, deletes=old)])

    async def leave(self) -> None:
        """Deletes this node's row."""
        await self._store.commit([Batch(NODES_PART, deletes=[self.id.encode()])])


async def all_nodes(store: ReadOnlyStore) -> list[Node]:
    """Returns the nodes of a store, dead ones included, oldest first."""
    rows = await store.range(NODES_PART, None, None, limit=NODES_MAX)
    nodes = [Node.from_json(orjson.loads(payload)) for _, (_, payload) in rows]
    return sorted(nodes, key=lambda node: (node.started_ns, node.id))


async def described_nodes(store: Store, clock: Clock) -> list[dict[str, Any]]:
    """Returns the nodes of a store for people, oldest first.

    age_s: seconds since the last heartbeat. leases: names of jobs; of a job that nodes share also the number
    of works that the node has, as in "expiry (3)".
    """
    now_ns = await store.now_ns() or clock.now_ns()
    return [
        {
            "id": node.id,
            "address": node.address,
            "version": node.version,
            "status": "alive" if node.is_alive(now_ns) else "dead",
            "age_s": round(max(now_ns - node.beat_ns, 0) / 1e9, 1),
            "leases": _counted(node.leases),
        }
        for node in await all_nodes(store)
    ]


def _counted(leases: Sequence[str]) -> list[str]:
    works = Counter(job for job, colon, _ in (name.partition(": ") for name in leases) if colon)
    whole = [name for name in leases if ": " not in name]
    return sorted([*whole, *(f"{job} ({count})" for job, count in works.items())])
