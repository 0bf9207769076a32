"""One node of a shared store, as its database sees it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from faradisc.clock import Clock, Entropy
from faradisc.engine.cluster.leases import Leases
from faradisc.engine.cluster.nodes import Node, Nodes
from faradisc.engine.workers import Job
from faradisc.errors import StorageError
from faradisc.storage.api import Store


class Cluster:
    def __init__(self, store: Store, clock: Clock, nodes: Nodes) -> None:
        self.nodes = nodes
        self.leases = Leases(store, clock, nodes)

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

    def leased(self, job: Job) -> Job:
        """Returns the job as one that only one node runs at a time."""
        return self.leases.leased(job)

    async def leave(self) -> None:
        """Leaves jobs and store to the others. Must be called after the last step."""
        with suppress(StorageError):
            await self.leases.release_all()
            await self.nodes.leave()
