"""The metrics of tables, and those that clients put."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from faradisc.metrics.metric_catalog import METRICS, NAMESPACE
from faradisc.metrics.metric_store import Dimensions, MetricStore, Statistic
from faradisc.records import dataclass
from faradisc.services.cloudwatch.custom import CustomMetrics

MetricsOf = Callable[[str], MetricStore]
"""Returns the metrics of the tables of a namespace of the catalog."""


@dataclass(frozen=True, slots=True)
class MetricName:
    """One series of a scope (an account and a region)."""

    scope: str
    namespace: str
    name: str
    dimensions: Dimensions

    @property
    def key(self) -> tuple[str, str, str, Dimensions]:
        return self.scope, self.namespace, self.name, self.dimensions

    def describe(self) -> dict[str, Any]:
        """Returns a Metric of the model."""
        return {
            "Namespace": self.namespace,
            "MetricName": self.name,
            "Dimensions": [{"Name": name, "Value": value} for name, value in self.dimensions],
        }


def dimensions_of(listed: Sequence[Mapping[str, str]]) -> Dimensions:
    """Returns the dimensions of a request as the metrics have them."""
    return tuple(sorted((each["Name"], each["Value"]) for each in listed))


class Sources:
    def __init__(self, metrics_of: MetricsOf) -> None:
        self._metrics_of = metrics_of
        self.custom = CustomMetrics()

    def points(
        self, metric: MetricName, start_ns: int, end_ns: int, period_s: int
    ) -> list[tuple[int, Statistic]]:
        """Returns one point per period that has data, from start (inclusive) to end (exclusive).

        Periods begin at multiples of their length since the epoch. Only the complete set of dimensions of a
        series finds it (metrics.md).
        """
        if metric.namespace == NAMESPACE:
            store = self._metrics_of(metric.scope)
            return store.get(metric.name, metric.dimensions, start_ns, end_ns, period_s)
        return self.custom.get(metric.key, start_ns, end_ns, period_s)

    def unit(self, metric: MetricName) -> str | None:
        """Returns the unit; None for an unknown metric."""
        if metric.namespace == NAMESPACE:
            known = METRICS.get(metric.name)
            return None if known is None else known.unit
        return self.custom.unit(metric.key)

    def listed(self, scope: str) -> Iterator[tuple[MetricName, int]]:
        """Yields every series of a scope with the beginning of its last minute, in no order."""
        for (name, which), series in self._metrics_of(scope).series.items():
            yield MetricName(scope, NAMESPACE, name, which), series.last_ns
        for (_, namespace, name, which), last in self.custom.listed(scope):
            yield MetricName(scope, namespace, name, which), last

    def drop_all(self) -> None:
        """Deletes the metrics that clients put."""
        self.custom.clear()
