"""A CustomizedMetricSpecification: the metric that a policy tracks in place of utilization.

One metric with a statistic, or metric math over several, by the minute. Its value falls as capacity rises: at
twice the target, twice the capacity is needed (documentation of the member).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from faradisc import errors
from faradisc.capacity.config import MINUTE_NS
from faradisc.services.autoscaling.errors import ValidationException
from faradisc.services.autoscaling.target import CUSTOMIZED
from faradisc.services.cloudwatch.queries import Query, queries_of, watched_series
from faradisc.services.cloudwatch.sources import Sources

PERIOD_S: Final = 60
METRICS_MAX: Final = 10
"""Assumed: as of an alarm."""

_ONE: Final = ("MetricName", "Namespace", "Statistic")
_OF_ONE: Final = (*_ONE, "Dimensions", "Unit")


def check(specification: Mapping[str, Any], sources: Sources, scope: str, now_ns: int) -> None:
    """Raises ValidationException if the specification names no metric, or no single series."""
    several = "Metrics" in specification
    if several and any(member in specification for member in _OF_ONE):
        raise ValidationException(f"Metrics cannot be specified together with {', '.join(_OF_ONE)}")
    missing = [member for member in _ONE if member not in specification]
    if not several and missing:
        raise ValidationException(f"{missing[0]} must be specified in a {CUSTOMIZED}")
    try:
        queries = _queries(specification, scope)
        if sum(query.metric is not None for query in queries) > METRICS_MAX:
            raise ValidationException(f"A {CUSTOMIZED} has {METRICS_MAX} metrics at most")
        if sum(query.returned for query in queries) != 1:
            raise ValidationException("Exactly one element of the metrics list should return data")
        watched_series(sources, queries, now_ns - 1, now_ns)
    except errors.ValidationException as mistake:
        raise ValidationException(mistake.message) from None


def value_of(specification: Mapping[str, Any], sources: Sources, scope: str, minute_ns: int) -> float | None:
    """Returns the value of the minute that began at `minute_ns`; None without data."""
    try:
        series = watched_series(sources, _queries(specification, scope), minute_ns, minute_ns + MINUTE_NS)
    except errors.ValidationException:
        return None  # the expression has no series for the values of this minute
    return series.get(minute_ns)


def alarm_members(specification: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members of PutMetricAlarm that name the metric."""
    if "Metrics" in specification:
        return {"Metrics": _by_minute(specification)}
    named = {member: specification[member] for member in _OF_ONE if member in specification}
    return {**named, "Period": PERIOD_S}


def _queries(specification: Mapping[str, Any], scope: str) -> list[Query]:
    return queries_of(_by_minute(specification), scope)


def _by_minute(specification: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the specification as CloudWatch's metric queries, with a period of a minute."""
    if "Metrics" in specification:
        return [
            {**query, "MetricStat": {**query["MetricStat"], "Period": PERIOD_S}}
            if "MetricStat" in query
            else dict(query)
            for query in specification["Metrics"]
        ]
    metric = {
        name: specification[name]
        for name in ("MetricName", "Namespace", "Dimensions")
        if name in specification
    }
    stat = {"Metric": metric, "Period": PERIOD_S, "Stat": specification["Statistic"]}
    unit = {"Unit": specification["Unit"]} if "Unit" in specification else {}
    return [{"Id": "m1", "MetricStat": {**stat, **unit}}]
