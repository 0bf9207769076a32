"""The metrics of all nodes: each sends what it has counted in a minute, and adds what the others send.

So alarms, auto scaling, GetMetricData and the Prometheus page have the counts of all, whichever node answers.
Settings that are published as metrics are every node's own, and equal. Source: many-nodes.md section 3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.engine.cluster.broadcast import Broadcast

KIND = "metrics"


class SharedMetrics:
    def __init__(
        self,
        broadcast: Broadcast,
        registry_of: Callable[[str], ResourceRegistry],
        registries: Callable[[], Iterable[tuple[str, ResourceRegistry]]],
    ) -> None:
        """registry_of: returns the registry of a namespace; registries: all of them, by namespace."""
        self._broadcast = broadcast
        self._registry_of = registry_of
        self._registries = registries
        broadcast.collectors.append(self._collect)
        broadcast.on(KIND, self._receive)

    def _collect(self) -> None:
        for namespace, registry in self._registries():
            counted: dict[tuple[Any, ...], dict[float, int]] = defaultdict(dict)
            for name, which, minute_ns, value, count in registry.metrics.take_added():
                values = counted[name, which, minute_ns]
                values[value] = values.get(value, 0) + count
            if counted:
                series = [[*key, list(values.items())] for key, values in counted.items()]
                self._broadcast.send(KIND, [namespace, series])

    def _receive(self, message: Any) -> None:
        namespace, series = message
        metrics = self._registry_of(namespace).metrics
        for name, which, minute_ns, values in series:
            for value, count in values:
                metrics.add(name, tuple(map(tuple, which)), minute_ns, value, count, own=False)
