"""Leases: of each kind of background job one node at a time runs the steps.

A lease is a row in a part of its own, so that commits under different leases do not wait for each other. Its
value names the owner and the *fence*, a number that rises with every change of owner. A lease lasts as long
as its owner is alive (nodes.py); then another node takes it over. All commits of a job's step check the row's
version in the same commit, so that a node that was stopped, and wakes up after another one has taken over,
cannot write: the store that `fenced` returns adds the check, and raises LeaseLost.

Which node should have a lease is the same for all nodes: the one with the highest hash of lease and node. So
jobs spread over the nodes, and a node that starts gets its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, cast

import orjson

from faradisc.clock import Clock
from faradisc.engine.cluster.nodes import BEAT_NS, DEAD_NS, Nodes
from faradisc.engine.jobs.runner import Job
from faradisc.errors import StorageError
from faradisc.model.codec.keyspace import LEASES_PREFIX
from faradisc.storage.api import Batch, Conflict, Part, Store

_KEY = b"lease"


class LeaseLost(StorageError):
    """Another node has taken over the job. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Lease:
    name: str
    fence: int
    version: int
    """Of the row."""

    @property
    def part(self) -> Part:
        return part_of(self.name)

    def check(self) -> Batch:
        """Returns a batch that fails once another node has the lease."""
        return Batch(self.part, checks=[(_KEY, self.version)])


def part_of(name: str) -> Part:
    return LEASES_PREFIX + name.encode()


_current: ContextVar[Lease | None] = ContextVar("lease", default=None)
"""The lease of the step that runs in this context."""


class _FencedStore:
    """A shared store whose commits check the lease of the job that makes them. Other calls go through."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        lease = _current.get()
        if lease is None:
            return await self._store.commit(batches, durable=durable)
        committed = await self._store.commit([*batches, lease.check()], durable=durable)
        if not isinstance(committed, Conflict):
            return committed[:-1]
        if committed.part == lease.part:
            raise LeaseLost(f"another node has taken over the job {lease.name!r}")
        return committed


def fenced(store: Store) -> Store:
    """Returns the store with commits that check the lease of the job that makes them."""
    return cast(Store, _FencedStore(store))


class Leases:
    """The leases that this node holds."""

    def __init__(self, store: Store, clock: Clock, nodes: Nodes) -> None:
        self._store = store
        self._clock = clock
        self._nodes = nodes
        self._held: dict[str, Lease] = {}
        self._tried_ns: dict[str, int] = {}
        """When a lease that another node has was last asked for."""

    def leased(self, job: Job) -> Job:
        """Returns the job with steps that do nothing unless this node has its lease."""

        async def step() -> bool:
            lease = await self._lease_for(job)
            if lease is None:
                return False
            context = _current.set(lease)
            try:
                return await job.step()
            except LeaseLost:
                await self._lost(job)
                return False
            finally:
                _current.reset(context)

        return replace(job, step=step)

    async def _lease_for(self, job: Job) -> Lease | None:
        """Returns the lease of a job, taken if it is this node's turn and no live node has it."""
        held = self._held.get(job.name)
        mine = self._nodes.id == self._wanted_owner(job.name)
        if held is None:
            return await self._take(job) if mine else None
        if not mine:
            await self._lost(job)
            await self._release(held)
            return None
        if self._clock.now_ns() - self._nodes.last_beat_ns > DEAD_NS // 2:
            await self._nodes.beat()
            (row,) = await self._store.get(held.part, [_KEY])
            if row is None or row[0] != held.version:
                await self._lost(job)
                return None
        return held

    def _wanted_owner(self, name: str) -> str:
        return max(self._nodes.alive, key=lambda node: blake2b(f"{name} {node}".encode()).digest())

    async def _take(self, job: Job) -> Lease | None:
        now_ns = self._clock.now_ns()
        if now_ns < self._tried_ns.get(job.name, 0) + BEAT_NS // 4:
            return None
        self._tried_ns[job.name] = now_ns
        part = part_of(job.name)
        (row,) = await self._store.get(part, [_KEY])
        version, (owner, fence) = (0, ("", 0)) if row is None else (row[0], orjson.loads(row[1]))
        if owner and owner not in self._nodes.alive:  # it may have joined since the last look
            await self._nodes.beat()
        if owner in self._nodes.alive and owner != self._nodes.id:
            return None
        value = orjson.dumps([self._nodes.id, fence + 1])
        if isinstance(await self._commit(part, version, value), Conflict):
            return None
        (row,) = await self._store.get(part, [_KEY])
        if row is None or row[1] != value:
            return None
        lease = self._held[job.name] = Lease(job.name, fence + 1, row[0])
        self._nodes.held.append(job.name)
        if job.taken is not None:
            context = _current.set(lease)
            try:
                await job.taken()
            except LeaseLost:
                await self._lost(job)
                return None
            finally:
                _current.reset(context)
        return lease

    async def _lost(self, job: Job) -> None:
        del self._held[job.name]
        self._nodes.held.remove(job.name)
        if job.lost is not None:
            await job.lost()

    async def _release(self, lease: Lease) -> None:
        """Leaves the lease to others at once; does nothing if one has taken it."""
        await self._commit(lease.part, lease.version, orjson.dumps(["", lease.fence]))

    async def _commit(self, part: Part, version: int, value: bytes) -> list[int] | Conflict:
        return await self._store.commit([Batch(part, checks=[(_KEY, version)], puts=[(_KEY, value)])])

    async def release_all(self) -> None:
        """Leaves all leases to others. Must be called after the last step."""
        held, self._held = self._held, {}
        self._nodes.held.clear()
        for lease in held.values():
            await self._release(lease)
