"""The background jobs of a database: which every node runs, and which one of several nodes.

The server's loop, the in-process client between its requests, and simulations call `step`; nothing else runs
a job. What a job is, and what happens after an error: engine/jobs/runner.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faradisc.engine.cluster.followed import Changed
from faradisc.engine.derived.filling import FILLING_JOBS, Filling
from faradisc.engine.jobs.runner import Job, Workers
from faradisc.engine.ttl.sweep import Sweeper
from faradisc.operations.backend import Backend
from faradisc.services.administration.checking import OnlineCheck
from faradisc.services.other_services import OtherServices
from faradisc.storage.api import Stale

if TYPE_CHECKING:
    from faradisc.engine.cluster.cluster import Cluster
    from faradisc.services.administration.places import Places


async def no_work() -> bool:
    """The step of a job whose lease says which node does something elsewhere."""
    return False


class DatabaseJobs:
    """The jobs of one database, in the order of their steps."""

    def __init__(
        self,
        backend: Backend,
        sweeper: Sweeper,
        checks: OnlineCheck,
        services: OtherServices,
        places: Places | None,
    ) -> None:
        """services: the other services, which have jobs too. places: on a store of several places."""
        self._catalog = backend.catalog
        self._cluster = cluster = backend.cluster
        own = [
            Job("encryption", backend.encryption.step),
            Job("deleted tables", self._catalog.tables.end_deletions),
            Job("throughput", self._catalog.throughput.step),
            Job("check", checks.step),
            Job("counts and sizes", backend.sizes.step),
            *services.own_jobs,
        ]
        leased = _leased(backend, sweeper, services)
        if places is not None:
            own.append(Job("loads of the places", places.step))
            leased.append(Job("moves of tables", places.mover.step, lost=places.mover.lost))
        jobs_of_nodes: list[Job] = []
        if cluster is not None:
            jobs_of_nodes = _jobs_of(cluster, backend)
            cluster.add_followers(
                backend.backups.follow,
                backend.exchange.tasks.follow,
                services.follow,
                self._catalog.throughput.follow,
                self._catalog.follower.refresh,  # last, so that the tables of all tasks are known
            )
            leased = [cluster.leased(job) for job in leased]
            if backend.replicas.peers:
                own.append(Job("other regions", backend.replicas.look_at_peers))
        self._keeping_up = Workers(jobs_of_nodes)
        self._workers = Workers([*jobs_of_nodes, *own, *leased])

    async def step(self) -> bool:
        """Runs one bounded step of each job. Returns False when there was nothing to do."""
        try:
            return await self._workers.step()
        except Stale:
            await self._catalog.follower.refresh()
            return True
        except Changed:
            if self._cluster is not None:
                await self._cluster.follow()
            return True

    async def keep_up(self) -> bool:
        """Runs the jobs by which a node knows of the others, if they are due. `step` does too; a server calls
        this as well, so that a long step does not make the others take it for dead."""
        return await self._keeping_up.step()


def _leased(backend: Backend, sweeper: Sweeper, services: OtherServices) -> list[Job]:
    """Returns the jobs that one of several nodes runs at a time, as a whole or each of its works."""
    store, catalog, clock = backend.store, backend.catalog, backend.clock
    throughput = catalog.throughput.background
    fillings = {name: Filling(store, catalog, clock, job) for name, job in FILLING_JOBS.items()}
    return [
        Job("partition splits", no_work, throughput.lead, throughput.follow),
        Job("deleted rows", store.sweep),
        Job("idempotency tokens", lambda: backend.tokens.forget_expired(clock.now_ns())),
        Job("stream retention", catalog.streams.step),
        *(Job(name, each.step, shared=(each.attempts,)) for name, each in fillings.items()),
        Job("expiry", sweeper.step, shared=(sweeper.attempts,)),
        Job("replication", backend.replicas.step),
        Job("Kinesis delivery", backend.kinesis.step, shared=(backend.kinesis.attempts,)),
        *services.jobs,
        Job("exports and imports", backend.exchange.step, shared=tuple(backend.exchange.attempts.values())),
        Job("backups", backend.backups.step, backend.backups.taken, backend.backups.lost),
        Job("restores", backend.restores.step, shared=(backend.restores.attempts,)),
        Job("recovery periods", backend.periods.step),
    ]


def _jobs_of(cluster: Cluster, backend: Backend) -> list[Job]:
    """Returns the jobs by which a node knows of the others."""
    # Few stores are shared.
    from faradisc.engine.throughput.shared_admission import SharedAdmission  # noqa: PLC0415
    from faradisc.engine.throughput.shared_metrics import SharedMetrics  # noqa: PLC0415

    throughput = backend.catalog.throughput
    admission = SharedAdmission(backend.store, cluster.nodes, throughput.tables)
    SharedMetrics(cluster.broadcast, throughput.registry, throughput.registries)
    return [
        Job("other nodes", cluster.step),
        Job("shared admission", admission.step),
        Job("shared metrics", cluster.broadcast.step),
    ]
