"""The service of CloudWatch, with which its operations work."""

from __future__ import annotations

from faradisc.clock import Clock
from faradisc.engine.tables.catalog import Catalog
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarms import Alarms
from faradisc.services.cloudwatch.evaluation import Evaluator
from faradisc.services.cloudwatch.sources import MetricsOf, Sources
from faradisc.storage.api import Store


class CloudWatch:
    def __init__(self, store: Store, catalog: Catalog, clock: Clock, metrics_of: MetricsOf) -> None:
        self.clock = clock
        self.alarms = Alarms(store, clock)
        self.sources = Sources(metrics_of)
        self.evaluator = Evaluator(self.alarms, self.sources, clock)
        self._catalog = catalog

    def scope(self, call: Call) -> str:
        """Returns the namespace of the caller's tables, in which names of alarms are unique."""
        return self._catalog.tables.resolve("-", call.region, call.account)[0]

    async def drop_all(self) -> None:
        self.sources.drop_all()
        await self.alarms.drop_all()
