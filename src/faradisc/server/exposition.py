"""The metrics in Prometheus's format.

First the process itself: its build, processor time, memory and open files, the queue of its clients
(load.py), and, of a store on this disk, sizes, compactions and syncs; all as of now. Then the counters and
gauges that CloudWatch has (metrics/metric_catalog.py), under Prometheus's naming conventions:
ConsumedReadCapacityUnits of a table becomes faradisc_consumed_read_capacity_units_total{table=...}. They are
as old as the last full minute; latencies are as of now.
"""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from faradisc import __version__
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.metrics.metric_store import Dimensions
from faradisc.server.load import Load

if TYPE_CHECKING:
    from faradisc.database import CopyOfStore
    from faradisc.services.administration.places import Places
    from faradisc.storage.figures import StoreFigures

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"

_LABELS: Final = {
    "TableName": "table",
    "GlobalSecondaryIndexName": "index",
    "Operation": "operation",
    "StreamLabel": "stream",
    "Verb": "verb",
    "OperationType": "operation_type",
}
_LABEL_NAMES: Final = ("namespace", *_LABELS.values())
_GAUGES: Final = re.compile(
    r"Provisioned(Read|Write)CapacityUnits|OnDemandMax.*|Account.*|MaxProvisioned.*|.*Progress"
)
_BOUNDS: Final = [1 << exponent for exponent in range(4, 25)]
"""Microseconds: from 16 us to 17 s."""
_LATENCY: Final = "SuccessfulRequestLatency"


def exposition(
    accounts: Iterable[tuple[str, ResourceRegistry]],
    load: Load,
    store: StoreFigures | None = None,
    places: Places | None = None,
    copy: CopyOfStore | None = None,
) -> bytes:
    """Returns the metrics of the process, of these accounts by namespace, and of its store.

    store: figures of a store on this disk. places: of a store of several PostgreSQLs. copy: a continuous one.
    """
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    registry.register(_Metrics(load, list(accounts)))
    if store is not None:
        registry.register(_StoreMetrics(store))
    if places is not None:
        registry.register(_PlaceMetrics(places))
    if copy is not None:
        registry.register(_CopyMetrics(copy))
    text: bytes = generate_latest(registry)
    return text


class _CopyMetrics(Collector):
    def __init__(self, copy: CopyOfStore) -> None:
        self._copy = copy

    def collect(self) -> Iterator[Metric]:
        document = self._copy.document()
        shown = {name: float(each) for name, each in document.items() if not isinstance(each, str)}
        late = "Seconds by which the copy is behind this server, or this standby behind the copy."
        yield GaugeMetricFamily("faradisc_copy_lag_seconds", late, shown.get("lag_s", shown.get("late_s")))
        yield GaugeMetricFamily(
            "faradisc_copy_group", "Number of the newest group of commits.", shown["number"]
        )
        stored = "When the newest group was made, in seconds since 1970; 0: none since the start."
        yield GaugeMetricFamily("faradisc_copy_group_timestamp_seconds", stored, shown["time_ns"] / 1e9)
        fault = "1 while something is wrong with the copy."
        yield GaugeMetricFamily("faradisc_copy_fault", fault, int(bool(document["fault"])))


class _Metrics(Collector):
    def __init__(self, load: Load, accounts: list[tuple[str, ResourceRegistry]]) -> None:
        self._load = load
        self._accounts = accounts

    def collect(self) -> Iterator[Metric]:
        shed = "Connections and requests rejected because the process was overloaded."
        yield CounterMetricFamily("faradisc_shed", shed, self._load.shed)
        build = InfoMetricFamily("faradisc_build", "What runs.")
        build.add_metric((), {"version": __version__, "python": platform.python_version()})
        yield build
        connections, waiting = self._load.now()
        yield GaugeMetricFamily("faradisc_connections", "Open connections of clients.", connections)
        yield GaugeMetricFamily("faradisc_waiting_requests", "Requests that wait for the store.", waiting)
        held = "Bytes of unfinished bodies and unsent answers of all connections."
        yield GaugeMetricFamily("faradisc_held_bytes", held, self._load.held_bytes)
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for namespace, account in self._accounts:
            for (name, which), series in account.metrics.series.items():
                if name == _LATENCY or not series.points or ("Source", "Customer") in which:
                    continue  # the last duplicates another series
                gauge = _GAUGES.fullmatch(name) is not None
                family = families.get(name)
                if family is None:
                    kind = GaugeMetricFamily if gauge else CounterMetricFamily
                    family = families[name] = kind(_snake(name), f"CloudWatch's {name}.", labels=_LABEL_NAMES)
                value = series.points[-1][1].maximum if gauge else series.total
                family.add_metric(_labels(namespace, which), value)
        yield from families.values()
        yield self._latency()

    def _latency(self) -> HistogramMetricFamily:
        family = HistogramMetricFamily(
            "faradisc_request_latency_seconds",
            "Successful requests, from the operation's begin to its answer.",
            labels=("namespace", "table", "operation"),
        )
        for namespace, account in self._accounts:
            for (table, operation), (micros, counts) in _latencies(account).items():
                family.add_metric((namespace, table, operation), _buckets(counts), micros / 1e6)
        return family


class _StoreMetrics(Collector):
    def __init__(self, store: StoreFigures) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        for name, (value, text) in self._store.gauges.items():
            yield GaugeMetricFamily(f"faradisc_{name}", text, value)
        syncs = HistogramMetricFamily(
            "faradisc_sync_seconds", "Syncs of the log, each for all waiting writes."
        )
        syncs.add_metric((), _buckets(self._store.syncs.counts), self._store.syncs.seconds)
        yield syncs


class _PlaceMetrics(Collector):
    def __init__(self, places: Places) -> None:
        self._places = places

    def collect(self) -> Iterator[Metric]:
        labels = ("place", "address")
        up = GaugeMetricFamily("faradisc_place_up", "1: this server reaches the place.", labels=labels)
        old = "Prepared transactions that no server has ended for seconds."
        left = GaugeMetricFamily("faradisc_place_prepared_transactions", old, labels=labels)
        age = "Age of the oldest of them."
        oldest = GaugeMetricFamily("faradisc_place_oldest_prepared_seconds", age, labels=labels)
        load = GaugeMetricFamily("faradisc_place_load", "Units per second of its tables.", labels=labels)
        for state in self._places.states():
            which = (str(state.number), state.address)
            up.add_metric(which, float(not state.failure))
            left.add_metric(which, len(state.prepared))
            oldest.add_metric(which, max((each.age_s for each in state.prepared), default=0.0))
            load.add_metric(which, state.load)
        yield from (up, left, oldest, load)


def _buckets(counts: Mapping[int, int]) -> list[tuple[str, float]]:
    """Returns how many of the counts, by microseconds that they are at most, are within each bound."""
    buckets: list[tuple[str, float]] = [
        (f"{bound / 1e6:g}", sum(count for upto, count in counts.items() if upto <= bound))
        for bound in _BOUNDS
    ]
    return [*buckets, ("+Inf", sum(counts.values()))]


def _latencies(account: ResourceRegistry) -> dict[tuple[str, str], tuple[int, Counter[int]]]:
    """Returns the sum of microseconds and their counts by table and operation, over all other dimensions."""
    found: dict[tuple[str, str], tuple[int, Counter[int]]] = {}
    for meter in account.requests.operations():
        micros, counts = meter.lifetime()
        before, merged = found.get((meter.table, meter.operation), (0, Counter()))
        merged.update(counts)
        found[meter.table, meter.operation] = before + micros, merged
    return found


def _snake(name: str) -> str:
    return "faradisc_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _labels(namespace: str, which: Dimensions) -> list[str]:
    given = {_LABELS[name]: value for name, value in which if name in _LABELS}
    return [namespace, *(given.get(label, "") for label in _LABELS.values())]
