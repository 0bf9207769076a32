"""GetMetricStatistics: several statistics of one series, at most 1,440 points."""

from __future__ import annotations

from typing import Any, Final

from faradisc.capacity.config import SECOND_NS
from faradisc.clock import epoch_seconds
from faradisc.metrics.metric_store import Statistic
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.errors import (
    InvalidParameterCombinationException,
    InvalidParameterValueException,
    MissingRequiredParameterException,
)
from faradisc.services.cloudwatch.operations.moments import moment_ns
from faradisc.services.cloudwatch.queries import SHORT_PERIODS_S
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.services.cloudwatch.sources import MetricName, dimensions_of
from faradisc.services.cloudwatch.statistics import is_percentile, value_of

DATAPOINTS_MAX: Final = 1440


async def get_metric_statistics(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    """The text on too many points is the service's."""
    request = call.request
    plain, extended = request.get("Statistics"), request.get("ExtendedStatistics")
    if plain is None and extended is None:
        raise MissingRequiredParameterException("Must specify either Statistics or ExtendedStatistics")
    if plain is not None and extended is not None:
        raise InvalidParameterCombinationException(
            "Statistics and ExtendedStatistics cannot be specified together"
        )
    for name in extended or ():
        if not is_percentile(name):
            raise InvalidParameterValueException(
                f"The statistic {name} is not offered by this version of Faradisc."
            )
    start_ns, end_ns = moment_ns(request["StartTime"], "StartTime"), moment_ns(request["EndTime"], "EndTime")
    if start_ns >= end_ns:
        raise InvalidParameterValueException(
            "The parameter StartTime must be less than the parameter EndTime."
        )
    period_s = _period(request["Period"])
    asked = -(-(end_ns - start_ns) // (request["Period"] * SECOND_NS))
    if asked > DATAPOINTS_MAX:
        raise InvalidParameterCombinationException(
            f"You have requested up to {asked:,} datapoints, which exceeds the limit of {DATAPOINTS_MAX:,}. "
            "You may reduce the datapoints requested by increasing Period, or decreasing the time range."
        )
    metric = MetricName(
        cloudwatch.scope(call),
        request["Namespace"],
        request["MetricName"],
        dimensions_of(request.get("Dimensions", ())),
    )
    unit = cloudwatch.sources.unit(metric) or "None"
    points = cloudwatch.sources.points(metric, start_ns, end_ns, period_s)
    if request.get("Unit", unit) != unit:
        points = []
    paged = [_datapoint(at, point, plain or (), extended or (), unit) for at, point in points]
    return {"Label": metric.name, "Datapoints": [point for point in paged if point is not None]}


def _period(seconds: int) -> int:
    if seconds in SHORT_PERIODS_S:
        return 60
    if seconds % 60:
        raise InvalidParameterValueException(
            "The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60."
        )
    return seconds


def _datapoint(
    at_ns: int, point: Statistic, plain: list[str] | tuple[()], extended: list[str] | tuple[()], unit: str
) -> dict[str, Any] | None:
    """Returns a Datapoint; None if no requested statistic is known."""
    values = {name: value_of(point, name) for name in plain}
    percentiles = {name: value_of(point, name) for name in extended}
    known = {name: value for name, value in percentiles.items() if value is not None}
    if extended and not known:
        return None
    datapoint: dict[str, Any] = {"Timestamp": epoch_seconds(at_ns), **values, "Unit": unit}
    if extended:
        datapoint["ExtendedStatistics"] = known
    return datapoint
