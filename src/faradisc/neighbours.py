"""The other services on DynamoDB's port, over one database: Application Auto Scaling and CloudWatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faradisc.capacity.metrics import MetricStore
from faradisc.clock import Clock, Entropy
from faradisc.monitoring.service import Monitoring
from faradisc.protocol.neighbours.answering import Neighbour
from faradisc.protocol.neighbours.services import CLOUDWATCH, SCALING
from faradisc.scaling.service import Scaling
from faradisc.scaling.worker import Execute
from faradisc.storage.api import Store
from faradisc.tables.catalog import Catalog
from faradisc.workers import Job


class Neighbours:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        *,
        clock: Clock,
        entropy: Entropy,
        metrics_of: Callable[[str], MetricStore],
        execute: Execute,
    ) -> None:
        """`metrics_of` gives the metrics of a namespace's tables, `execute` runs an operation of DynamoDB."""
        self.monitoring = Monitoring(store, catalog, clock, metrics_of)
        self.scaling = Scaling(
            store,
            catalog,
            self.monitoring.alarms,
            clock=clock,
            entropy=entropy,
            metrics_of=metrics_of,
            execute=execute,
        )
        self._by_service: dict[str, Any] = {
            CLOUDWATCH.name: self.monitoring,
            SCALING.name: self.scaling,
        }
        self.jobs = (
            Job("auto scaling", self.scaling.scaler.step),
            Job("alarms", self.monitoring.evaluator.step),
        )
        """To run after the job that lets time pass for the metrics."""

    def of(self, service: str) -> Neighbour:
        neighbour: Neighbour = self._by_service[service]
        return neighbour

    async def load(self) -> None:
        """Read what a restart has left."""
        await self.monitoring.alarms.load()
        await self.scaling.targets.load()

    async def drop_all(self) -> None:
        """Forget every alarm, metric, target and activity."""
        await self.scaling.targets.drop_all()
        await self.monitoring.drop_all()
