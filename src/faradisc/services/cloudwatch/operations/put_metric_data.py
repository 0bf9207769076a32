"""PutMetricData: points of a client's own metrics, kept in memory for 15 days."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from faradisc.capacity.config import DAY_NS, HOUR_NS
from faradisc.metrics.metric_store import Statistic
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.custom import TooManySeries
from faradisc.services.cloudwatch.errors import (
    InvalidParameterCombinationException,
    InvalidParameterValueException,
    MissingRequiredParameterException,
)
from faradisc.services.cloudwatch.operations.moments import moment_ns
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.services.cloudwatch.sources import dimensions_of

DATA_MAX: Final = 1000
VALUES_MAX: Final = 150
PAST_NS_MAX: Final = 14 * DAY_NS
FUTURE_NS_MAX: Final = 2 * HOUR_NS
_MAGNITUDE_MAX: Final = 2.0**360
"""Documentation of PutMetricData: values lie between -2^360 and 2^360."""
_COUNT_MAX: Final = 2**53


async def put_metric_data(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    """Checks all points before the first is added."""
    request = call.request
    namespace = request["Namespace"]
    if namespace.startswith("AWS/"):
        raise InvalidParameterValueException("The value AWS/ for parameter Namespace is invalid.")
    for member in ("EntityMetricData", "StrictEntityValidation"):
        if member in request:
            raise InvalidParameterValueException(f"{member} is not offered by this version of Faradisc.")
    data = request.get("MetricData", [])
    if not data:
        raise MissingRequiredParameterException("The parameter MetricData is required.")
    if len(data) > DATA_MAX:
        raise InvalidParameterValueException(f"MetricData has at most {DATA_MAX} elements.")
    scope, now_ns = cloudwatch.scope(call), cloudwatch.clock.now_ns()
    checked = [(datum, *_checked(datum, now_ns)) for datum in data]
    for datum, at_ns, statistic in checked:
        name = (scope, namespace, datum["MetricName"], dimensions_of(datum.get("Dimensions", ())))
        try:
            cloudwatch.sources.custom.add(name, at_ns, statistic, datum.get("Unit", "None"))
        except TooManySeries:
            raise InvalidParameterValueException("There are too many metrics to take another one.") from None
    return {}


def _checked(datum: Mapping[str, Any], now_ns: int) -> tuple[int, Statistic]:
    at_ns = now_ns if "Timestamp" not in datum else moment_ns(datum["Timestamp"], "Timestamp")
    if not now_ns - PAST_NS_MAX <= at_ns <= now_ns + FUTURE_NS_MAX:
        raise InvalidParameterValueException(
            "The parameter Timestamp must specify a time no more than two weeks in the past and no more than "
            "two hours in the future."
        )
    if datum.get("StorageResolution", 60) != 60:
        raise InvalidParameterValueException(
            "A StorageResolution other than 60 is not offered by this version of Faradisc."
        )
    return at_ns, _statistic(datum)


def _statistic(datum: Mapping[str, Any]) -> Statistic:
    given = [member for member in ("Value", "Values", "StatisticValues") if member in datum]
    if len(given) != 1:
        raise InvalidParameterCombinationException(
            "Exactly one of the parameters Value, Values and StatisticValues must be specified."
        )
    if "Counts" in datum and "Values" not in datum:
        raise InvalidParameterCombinationException("The parameter Counts needs the parameter Values.")
    if given == ["StatisticValues"]:
        values = datum["StatisticValues"]
        for member in ("Sum", "Minimum", "Maximum"):
            _check_magnitude(values[member], member)
        count = _whole(values["SampleCount"])
        return Statistic(values["Sum"], count, values["Minimum"], values["Maximum"])
    statistic = Statistic(values={})
    values = [datum["Value"]] if given == ["Value"] else datum["Values"]
    counts = datum.get("Counts", [1] * len(values))
    if not 1 <= len(values) <= VALUES_MAX or len(counts) != len(values):
        raise InvalidParameterValueException(
            f"Values has 1 to {VALUES_MAX} elements, and Counts as many as Values."
        )
    for value, count in zip(values, counts, strict=True):
        _check_magnitude(value, given[0])
        statistic.add(float(value), _whole(count))
    return statistic


def _check_magnitude(value: float, member: str) -> None:
    if not math.isfinite(value) or abs(value) > _MAGNITUDE_MAX:
        raise InvalidParameterValueException(f"The value {value} for parameter {member} is invalid.")


def _whole(count: float) -> int:
    """Returns a number of samples. Fractions are rejected: points count values."""
    if not 1 <= count <= _COUNT_MAX or count != int(count):
        raise InvalidParameterValueException(
            f"A count of {count} samples is not offered by this version of Faradisc."
        )
    return int(count)
