"""Metric queries: metrics and expressions over them, of GetMetricData and of alarms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from faradisc.capacity.config import SECOND_NS
from faradisc.errors import ValidationException
from faradisc.records import dataclass
from faradisc.services.cloudwatch.arithmetic import Surroundings, calculate
from faradisc.services.cloudwatch.series_math import Array, Series, Value, ValueBudget
from faradisc.services.cloudwatch.sources import MetricName, Sources, dimensions_of
from faradisc.services.cloudwatch.statistics import is_statistic, value_of
from faradisc.services.cloudwatch.tokens import names_in

QUERIES_MAX: Final = 500
SHORT_PERIODS_S: Final = (1, 5, 10, 20, 30)
"""Of metrics of high resolution, which there are none of here: points lie a minute apart."""

_ID: Final = re.compile(r"[a-z][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Query:
    id: str
    label: str
    returned: bool
    labelled: bool = False
    """Whether the request gave the label."""
    metric: MetricName | None = None
    statistic: str = ""
    period_s: int = 60
    unit: str | None = None
    expression: str | None = None
    needs: frozenset[str] = frozenset()
    """Ids of the queries that the expression names."""


def checked_period(seconds: int) -> int:
    """Returns the period of the points. Raises ValidationException."""
    if seconds in SHORT_PERIODS_S:
        return 60
    if seconds % 60:
        raise ValidationException(
            f"Period must be 1, 5, 10, 20, 30 or a multiple of 60 seconds, not {seconds}"
        )
    return seconds


def queries_of(listed: Sequence[Mapping[str, Any]], scope: str) -> list[Query]:
    """Returns the queries, each after those it needs. Raises ValidationException."""
    if not 1 <= len(listed) <= QUERIES_MAX:
        raise ValidationException(
            f"The collection MetricDataQueries must have between 1 and {QUERIES_MAX} elements"
        )
    ids = [query["Id"] for query in listed]
    if len(set(ids)) < len(ids):
        raise ValidationException("The values of parameter Id in MetricDataQueries must be unique")
    queries = [_query(query, scope, set(ids)) for query in listed]
    return _in_order(queries)


def _query(raw: Mapping[str, Any], scope: str, ids: set[str]) -> Query:
    id_ = raw["Id"]
    if not _ID.fullmatch(id_):
        raise ValidationException(
            f"The value {id_} for parameter Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$"
        )
    if "AccountId" in raw:
        raise ValidationException("AccountId is not offered by this version of Faradisc.")
    label = raw.get("Label")
    if label is not None and "${" in label:
        raise ValidationException("Dynamic labels are not offered by this version of Faradisc.")
    returned = raw.get("ReturnData", True)
    if ("MetricStat" in raw) == ("Expression" in raw):
        raise ValidationException(f"Exactly one of MetricStat and Expression must be specified for Id {id_}")
    if "Expression" in raw:
        text = raw["Expression"]
        named = names_in(text)
        if "Period" in raw:
            checked_period(raw["Period"])
        return Query(
            id_,
            label or id_,
            returned,
            bool(label),
            expression=text,
            needs=frozenset(named & ids),
        )
    return _metric_query(raw["MetricStat"], id_, label, returned, scope)


def _metric_query(stat: Mapping[str, Any], id_: str, label: str | None, returned: bool, scope: str) -> Query:
    metric = stat["Metric"]
    for member in ("Namespace", "MetricName"):
        if member not in metric:
            raise ValidationException(f"{member} must be specified for Id {id_}")
    if not is_statistic(stat["Stat"]):
        raise ValidationException(f"The statistic {stat['Stat']} is not offered by this version of Faradisc.")
    named = MetricName(
        scope, metric["Namespace"], metric["MetricName"], dimensions_of(metric.get("Dimensions", ()))
    )
    return Query(
        id_,
        metric["MetricName"] if label is None else label,
        returned,
        label is not None,
        named,
        stat["Stat"],
        checked_period(stat["Period"]),
        stat.get("Unit"),
    )


def _in_order(queries: list[Query]) -> list[Query]:
    """Returns the queries, each after those it needs. Raises ValidationException for a circle."""
    done = {query.id for query in queries if query.metric is not None}
    ordered = [query for query in queries if query.metric is not None]
    waiting = [query for query in queries if query.metric is None]
    while waiting:
        ready = [query for query in waiting if query.needs <= done]
        if not ready:
            raise ValidationException("The expressions of MetricDataQueries depend on each other")
        ordered += ready
        done.update(query.id for query in ready)
        waiting = [query for query in waiting if query.id not in done]
    return ordered


def times_between(start_ns: int, end_ns: int, period_s: int) -> list[int]:
    """Returns the beginnings of the periods from start (rounded down) to end."""
    period_ns = period_s * SECOND_NS
    return list(range(start_ns - start_ns % period_ns, end_ns, period_ns))


def evaluate(
    sources: Sources, queries: Sequence[Query], start_ns: int, end_ns: int
) -> dict[str, Series | Array]:
    """Returns the points of every returned query by id, oldest first. Raises ValidationException."""
    values: dict[str, Value] = {}
    periods = {query.id: query.period_s for query in queries if query.metric is not None}
    times = times_between(start_ns, end_ns, min(periods.values(), default=60))
    work = ValueBudget()
    for query in queries:
        if query.metric is not None:
            values[query.id] = _points(sources, query, start_ns, end_ns)
        else:
            assert query.expression is not None
            surroundings = Surroundings(values, periods, times)
            values[query.id] = calculate(query.expression, surroundings, work)
    found: dict[str, Series | Array] = {}
    for query in queries:
        value = values[query.id]
        if not query.returned:
            continue
        if isinstance(value, float):
            raise ValidationException(f"Id {query.id} is a number, not a time series")
        found[query.id] = value
    return found


def watched_series(sources: Sources, queries: Sequence[Query], start_ns: int, end_ns: int) -> Series:
    """Returns the series that an alarm watches. Raises ValidationException."""
    ((id_, value),) = evaluate(sources, queries, start_ns, end_ns).items()
    if isinstance(value, Array):
        raise ValidationException(f"Id {id_} is an array, not a time series")
    return value


def _points(sources: Sources, query: Query, start_ns: int, end_ns: int) -> Series:
    metric = query.metric
    assert metric is not None
    if query.unit is not None and query.unit != sources.unit(metric):
        return {}
    points = sources.points(metric, start_ns, end_ns, query.period_s)
    values = ((at, value_of(point, query.statistic)) for at, point in points)
    return {at: value for at, value in values if value is not None}
