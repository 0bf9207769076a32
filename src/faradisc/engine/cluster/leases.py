"""Leases: of each background job, or of each work of a job, one node at a time runs the steps.

A lease is a row. Its value names the owner and the *fence*, a number that rises with every change of owner.
A lease lasts as long as its owner is alive (nodes.py); then another node takes it over. All commits of a step
check the row's version in the same commit, so that a node that was stopped, and wakes up after another one
has taken over, cannot write: the store that `fenced` returns adds the check, and raises LeaseLost.

    lease of       its row                                                   its end
    a job          in a part of its own                                      never
    a work         in one of 64 parts: its name chooses                      with the work

Commits that check rows of one part wait for each other, so each job has a part. Works come and go, and the
row that a store keeps of a part does not: therefore works share a fixed number of parts.

Which node should have a lease is the same for all nodes: the one with the highest hash of lease and node. So
jobs and works spread over the nodes, and a node that starts gets its share. An example, two exports and a
table with expired items, on three nodes:

    lease                        node A   B     C
    exports: the first task               has
    exports: the second task     has
    expiry: expiry of table t             has            A and C delete nothing of t
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, cast

import orjson

from faradisc.clock import Clock
from faradisc.engine.cluster.nodes import BEAT_NS, DEAD_NS, LEASES_OF_WORKS, Nodes
from faradisc.engine.jobs.runner import Job, Work
from faradisc.errors import StorageError
from faradisc.model.codec.keyspace import LEASES_PREFIX, WORKS_MARK
from faradisc.records import dataclass, replace
from faradisc.storage.api import Batch, Conflict, Part, Store

_KEY = b"lease"
WORK_PARTS = 64
"""Parts of the leases of works."""
IDLE_NS = 30_000_000_000
"""How long a node keeps the lease of a work that has nothing to do."""
NAMES_MAX = 10_000
"""Leases of which it is remembered who should have them, and when this node last looked for them."""


class LeaseLost(StorageError):
    """Another node has taken over the job. Nothing was written."""


class LeaseRow(NamedTuple):
    """Where a lease is stored."""

    part: Part
    key: bytes


@dataclass(frozen=True, slots=True)
class Lease:
    name: str
    row: LeaseRow
    fence: int
    version: int
    """Of the row."""

    def check(self) -> Batch:
        """Returns a batch that fails once another node has the lease."""
        return Batch(self.row.part, checks=[(self.row.key, self.version)])


RowOf = Callable[[str], LeaseRow]


def row_of_job(name: str) -> LeaseRow:
    return LeaseRow(LEASES_PREFIX + name.encode(), _KEY)


def row_of_work(name: str) -> LeaseRow:
    number = int.from_bytes(blake2b(name.encode()).digest()[:8], "big") % WORK_PARTS
    return LeaseRow(LEASES_PREFIX + WORKS_MARK + bytes([number]), name.encode())


class Subject(Protocol):
    """What has a lease: a job, or a work of one."""

    @property
    def taken(self) -> Callable[[], Awaitable[None]] | None: ...

    @property
    def lost(self) -> Callable[[], Awaitable[None]] | None: ...

    @property
    def stays(self) -> bool: ...


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
        if (committed.part, committed.key) == lease.row:
            raise LeaseLost(f"another node has taken over {lease.name!r}")
        return committed


def fenced(store: Store) -> Store:
    """Returns the store with commits that check the lease of the job that makes them."""
    return cast(Store, _FencedStore(store))


class Leases:
    """The leases that this node holds."""

    def __init__(self, store: Store, clock: Clock, nodes: Nodes) -> None:
        self._store = store
        self.clock = clock
        self._nodes = nodes
        self._held: dict[str, Lease] = {}
        self._tried_ns: dict[str, int] = {}
        """When a lease that another node has was last asked for."""
        self._chosen: dict[str, str] = {}
        """The nodes that should have leases, among `_chosen_among`."""
        self._chosen_among: frozenset[str] = frozenset()
        self._divided: set[str] = set()
        """Names of jobs that no older node runs as a whole any more."""

    def leased(self, job: Job) -> Job:
        """Returns the job with steps that do nothing unless this node has its lease, or, of a job that nodes
        share, with works whose steps do nothing unless this node has theirs."""
        for attempts in job.shared:
            attempts.turns = SharedWorks(self, job.name)

        async def step() -> bool:
            if job.shared:
                return await job.step() if await self._is_divided(job.name) else False
            return await self.step(job.name, row_of_job, job, job.step) or False

        return replace(job, step=step)

    async def step(
        self, name: str, row_of: RowOf, subject: Subject, do: Callable[[], Awaitable[bool]]
    ) -> bool | None:
        """Returns what `do` returns; None without the lease."""
        lease = await self._lease_for(name, row_of, subject)
        if lease is None:
            return None
        context = _current.set(lease)
        try:
            return await do()
        except LeaseLost:
            await self._lost(name, subject)
            return None
        finally:
            _current.reset(context)

    async def leave(self, name: str, subject: Subject) -> None:
        """Gives back the lease of a work, and deletes its row."""
        lease = self._held.get(name)
        if lease is not None:
            await self._lost(name, subject)
            await self._release(lease)

    async def _is_divided(self, job: str) -> bool:
        """Returns whether nodes share a job.

        Nodes of older releases know only its own lease: its works wait until the last of them has gone. Then
        its row is deleted, so that one that was stopped cannot write.
        """
        if self._nodes.features < LEASES_OF_WORKS:
            self._divided.clear()
            return False
        if job not in self._divided:
            whole = row_of_job(job)
            (row,) = await self._store.get(whole.part, [whole.key])
            if row is not None:
                gone = Batch(whole.part, checks=[(whole.key, row[0])], deletes=[whole.key])
                await self._store.commit([gone])
            self._divided.add(job)
        return True

    async def _lease_for(self, name: str, row_of: RowOf, subject: Subject) -> Lease | None:
        """Returns a lease, taken if it is this node's turn and no live node has it."""
        held = self._held.get(name)
        mine = self._nodes.id == self._wanted_owner(name)
        if held is None:
            return await self._take(name, row_of(name), subject) if mine else None
        if not mine and not subject.stays:
            await self._lost(name, subject)
            await self._release(held)
            return None
        if self.clock.now_ns() - self._nodes.last_beat_ns > DEAD_NS // 2:
            await self._nodes.beat()
            (found,) = await self._store.get(held.row.part, [held.row.key])
            if found is None or found[0] != held.version:
                await self._lost(name, subject)
                return None
        return held

    def _wanted_owner(self, name: str) -> str:
        alive = self._nodes.alive
        if alive.keys() != self._chosen_among or len(self._chosen) > NAMES_MAX:
            self._chosen_among = frozenset(alive)
            self._chosen.clear()
        chosen = self._chosen.get(name)
        if chosen is None:
            chosen = max(alive, key=lambda node: blake2b(f"{name} {node}".encode()).digest())
            self._chosen[name] = chosen
        return chosen

    async def _take(self, name: str, row: LeaseRow, subject: Subject) -> Lease | None:
        now_ns = self.clock.now_ns()
        if now_ns < self._tried_ns.get(name, 0) + BEAT_NS // 4:
            return None
        if len(self._tried_ns) > NAMES_MAX:
            self._tried_ns.clear()
        self._tried_ns[name] = now_ns
        (found,) = await self._store.get(row.part, [row.key])
        version, (owner, fence) = (0, ("", 0)) if found is None else (found[0], orjson.loads(found[1]))
        if owner and owner not in self._nodes.alive:  # it may have joined since the last look
            await self._nodes.beat()
        if owner in self._nodes.alive and owner != self._nodes.id:
            return None
        value = orjson.dumps([self._nodes.id, fence + 1])
        taken = Batch(row.part, checks=[(row.key, version)], puts=[(row.key, value)])
        if isinstance(await self._store.commit([taken]), Conflict):
            return None
        (found,) = await self._store.get(row.part, [row.key])
        if found is None or found[1] != value:
            return None
        lease = self._held[name] = Lease(name, row, fence + 1, found[0])
        self._nodes.held.append(name)
        if subject.taken is not None:
            context = _current.set(lease)
            try:
                await subject.taken()
            except StorageError as error:
                await self._lost(name, subject)
                if isinstance(error, LeaseLost):
                    return None
                raise
            finally:
                _current.reset(context)
        return lease

    async def _lost(self, name: str, subject: Subject) -> None:
        del self._held[name]
        self._nodes.held.remove(name)
        if subject.lost is not None:
            await subject.lost()

    async def _release(self, lease: Lease) -> None:
        """Leaves the lease to others at once; does nothing if one has taken it."""
        batch = lease.check()
        if lease.row.key == _KEY:
            batch.puts.append((_KEY, orjson.dumps(["", lease.fence])))
        else:
            batch.deletes.append(lease.row.key)
        await self._store.commit([batch])

    async def release_all(self) -> None:
        """Leaves all leases to others. Must be called after the last step."""
        held, self._held = self._held, {}
        self._nodes.held.clear()
        for lease in held.values():
            await self._release(lease)


class SharedWorks:
    """The works of one job that this node has the leases of: the `WorkTurns` of its attempts."""

    def __init__(self, leases: Leases, job: str) -> None:
        self._leases = leases
        self._job = job
        self._mine: dict[str, tuple[Work, int]] = {}
        """By name of the lease: the work, and when it last had a step."""

    async def step(self, work: Work, attempt: Callable[[Work], Awaitable[bool]]) -> bool | None:
        """Returns what an attempt returns; None if another node works on it, or is about to."""
        name = f"{self._job}: {work.name}"
        done = await self._leases.step(name, row_of_work, work, partial(attempt, work))
        if done is None:
            self._mine.pop(name, None)
        else:
            self._mine[name] = work, self._leases.clock.now_ns()
        return done

    async def settle(self) -> None:
        """Gives back the leases of works that have had no step for a while."""
        before_ns = self._leases.clock.now_ns() - IDLE_NS
        for name in [name for name, (_, at_ns) in self._mine.items() if at_ns < before_ns]:
            await self._leases.leave(name, self._mine.pop(name)[0])
