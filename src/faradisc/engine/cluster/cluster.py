"""One node of a shared store, as its database sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from faradisc.clock import Clock, Entropy
from faradisc.engine.cluster.broadcast import Broadcast
from faradisc.engine.cluster.leases import Leases
from faradisc.engine.cluster.nodes import Node, Nodes
from faradisc.engine.jobs.runner import Job
from faradisc.errors import StorageError
from faradisc.storage.api import Store

FOLLOW_NS = 1_000_000_000
"""Within this time background jobs know what other nodes have changed; requests that depend on it ask."""


class Cluster:
    def __init__(self, store: Store, clock: Clock, nodes: Nodes) -> None:
        self._clock = clock
        self.nodes = nodes
        self._followers: list[Callable[[], Awaitable[object]]] = []
        self._following = asyncio.Lock()
        self._follow_due_ns = 0
        self.leases = Leases(store, clock, nodes)
        self.broadcast = Broadcast(store, clock, nodes.id)

    @classmethod
    async def join(
        cls,
        store: Store,
        clock: Clock,
        entropy: Entropy,
        *,
        address: str,
        version: str,
        settings: Mapping[str, Any],
    ) -> Cluster:
        """Returns this node among those of a shared store. Raises Disagreement, StorageError.

        settings: those that all nodes must have in common.
        """
        me = Node(entropy.token_bytes(4).hex(), address, version, settings)
        nodes = Nodes(store, clock, me)
        await nodes.join()
        return cls(store, clock, nodes)

    def add_followers(self, *followers: Callable[[], Awaitable[object]]) -> None:
        """followers: take over what other nodes have changed; called in this order."""
        self._followers += followers

    async def follow(self) -> None:
        """Takes over what other nodes have changed."""
        async with self._following:
            self._follow_due_ns = self._clock.now_ns() + FOLLOW_NS
            for follower in self._followers:
                await follower()

    async def step(self) -> bool:
        """Writes the heartbeat and takes over changes, if they are due. Never returns True: another step has
        nothing to do."""
        await self.nodes.step()
        if self._clock.now_ns() >= self._follow_due_ns:
            await self.follow()
        return False

    def leased(self, job: Job) -> Job:
        """Returns the job as one that only one node runs at a time."""
        return self.leases.leased(job)

    async def leave(self) -> None:
        """Leaves jobs and store to the others. Must be called after the last step."""
        with suppress(StorageError):
            await self.leases.release_all()
            await self.nodes.leave()
