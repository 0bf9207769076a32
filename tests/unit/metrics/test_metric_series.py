"""Series of metrics over long times: what was nothing, what is no longer known, and what it costs to ask."""

from __future__ import annotations

from faradisc.capacity.config import MINUTE_NS, profile
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.metrics.metric_store import RETENTION_MINUTES, MetricStore, dimensions
from unit.capacity.worlds import START

NAME, WHICH = "ConsumedReadCapacityUnits", (("TableName", "T"),)


def test_minutes_without_consumption_are_zeros_in_their_period() -> None:
    store = MetricStore()
    for minute in range(10):
        if minute in (3, 7):
            store.add(NAME, WHICH, minute * MINUTE_NS, 5, 2)
        store.report(NAME, WHICH, minute * MINUTE_NS)
    (first, second) = store.get(NAME, WHICH, 2 * MINUTE_NS, 9 * MINUTE_NS, 300)
    assert (first[0], first[1].sum, first[1].count) == (0, 10, 2 + 2)  # minutes 2, 3 and 4
    assert (second[0], second[1].sum, second[1].count) == (5 * MINUTE_NS, 10, 2 + 3)  # 5 to 8
    assert (second[1].minimum, second[1].maximum) == (0, 5)


def test_minutes_that_were_forgotten_are_not_zeros() -> None:
    store = MetricStore(retention_minutes=3)
    for minute in range(10):
        store.add(NAME, WHICH, minute * MINUTE_NS, 1)
        store.report(NAME, WHICH, minute * MINUTE_NS)
    points = store.get(NAME, WHICH, 0, 20 * MINUTE_NS, 60)
    assert [(at // MINUTE_NS, point.sum) for at, point in points] == [(7, 1), (8, 1), (9, 1)]


def test_thousand_years_without_values_take_few_steps() -> None:
    store = MetricStore()
    years = 1000 * 365 * 1440
    store.report(NAME, WHICH, 0)
    store.report(NAME, WHICH, (years - 1) * MINUTE_NS)
    # Minute by minute this would take more memory than there is.
    ((_, point),) = store.get(NAME, WHICH, 0, years * MINUTE_NS, years * 60)
    assert (point.sum, point.count) == (0, years)


def test_a_clock_that_jumps_leaves_a_gauge_for_every_five_minutes() -> None:
    registry = ResourceRegistry(profile("aws"), START)
    registry.add("T", None, "arn", START, read_units=7, write_units=9)

    def gauges() -> list[tuple[int, float]]:
        series = registry.metrics.series.get(("ProvisionedReadCapacityUnits", dimensions(TableName="T")))
        points = series.points if series is not None else ()
        return [((at - START) // MINUTE_NS, statistic.maximum) for at, statistic in points]

    registry.advance(START + 4 * MINUTE_NS)
    assert gauges() == []
    registry.advance(START + 62 * MINUTE_NS)
    assert gauges() == [(minute, 7) for minute in range(5, 61, 5)]
    registry.advance(START + 100 * 24 * 60 * MINUTE_NS)
    assert len(gauges()) == 12 + RETENTION_MINUTES // 5, "no more than are kept"
