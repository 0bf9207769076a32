"""PutMetricAlarm: an alarm on a metric, or on an expression over metrics.

Settings that are not implemented are rejected. Actions are stored and returned; when one is due, the alarm's
history has an entry that it was not carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from faradisc.errors import ValidationException
from faradisc.limits import TAGS_PER_RESOURCE_MAX
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.errors import LimitExceededFault
from faradisc.services.cloudwatch.queries import queries_of, watched_series
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.services.cloudwatch.statistics import is_percentile

ALARMS_MAX: Final = 5000
"""Per account and region (quotas of CloudWatch)."""
SPAN_S_MAX: Final = 86_400
METRICS_MAX: Final = 10

_UNOFFERED: Final = (
    *("ThresholdMetricId", "EvaluationWindow", "WarmUpConfiguration", "EvaluationCriteria"),
    *("EvaluationInterval", "ActionConfiguration"),
)
_COMPARISONS: Final = (
    *("GreaterThanThreshold", "GreaterThanOrEqualToThreshold"),
    *("LessThanThreshold", "LessThanOrEqualToThreshold"),
)
_MISSING: Final = ("breaching", "notBreaching", "ignore", "missing")
_OF_ONE_METRIC: Final = (
    *("MetricName", "Namespace", "Dimensions", "Period", "Unit", "Statistic", "ExtendedStatistic"),
)


async def put_metric_alarm(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    request = call.request
    scope = cloudwatch.scope(call)
    _check(request, scope, cloudwatch)
    present = cloudwatch.alarms.find(scope, request["AlarmName"])
    if present is None and len(cloudwatch.alarms.of(scope)) >= ALARMS_MAX:
        raise LimitExceededFault(f"The limit of {ALARMS_MAX} alarms is reached")
    now_ns = cloudwatch.clock.now_ns()
    tags = {tag["Key"]: tag["Value"] for tag in request.get("Tags", ())}
    if len(tags) > TAGS_PER_RESOURCE_MAX:
        raise ValidationException(f"An alarm has {TAGS_PER_RESOURCE_MAX} tags at most")
    settings = {name: value for name, value in request.items() if name not in ("AlarmName", "Tags")}
    moments = (now_ns, now_ns, now_ns)
    alarm = Alarm(scope, call.region, call.account, request["AlarmName"], settings, *moments, tags=tags)
    await cloudwatch.alarms.put(alarm)
    return {}


def _check(request: Mapping[str, Any], scope: str, cloudwatch: CloudWatch) -> None:
    """Raises: ValidationException."""
    for member in _UNOFFERED:
        if member in request:
            raise ValidationException(f"{member} is not offered by this version of Faradisc.")
    for member in ("EvaluationPeriods", "ComparisonOperator", "Threshold"):
        if member not in request:
            raise ValidationException(f"{member} must be specified")
    if request["ComparisonOperator"] not in _COMPARISONS:
        raise ValidationException(
            f"{request['ComparisonOperator']} needs anomaly detection, which is not offered by this version "
            "of Faradisc."
        )
    if request.get("TreatMissingData", "missing") not in _MISSING:
        raise ValidationException(f"TreatMissingData must be one of [{', '.join(_MISSING)}]")
    if request.get("DatapointsToAlarm", 1) > request["EvaluationPeriods"]:
        raise ValidationException("DatapointsToAlarm must not be greater than EvaluationPeriods")
    if "Metrics" in request:
        _check_queries(request, scope, cloudwatch)
    else:
        _check_metric(request)
    period_s = Alarm(scope, "", "", "", dict(request), 0, 0, 0).period_s
    if period_s * request["EvaluationPeriods"] > SPAN_S_MAX:
        raise ValidationException(
            "Metrics cannot be checked across more than a day "
            f"(EvaluationPeriods * Period must be <= {SPAN_S_MAX})."
        )


def _check_queries(request: Mapping[str, Any], scope: str, cloudwatch: CloudWatch) -> None:
    for member in _OF_ONE_METRIC:
        if member in request:
            raise ValidationException(f"{member} cannot be specified together with Metrics")
    if "EvaluateLowSampleCountPercentile" in request:
        raise ValidationException("EvaluateLowSampleCountPercentile needs an ExtendedStatistic")
    queries = queries_of(request["Metrics"], scope)
    if sum(query.metric is not None for query in queries) > METRICS_MAX:
        raise ValidationException(f"An alarm watches {METRICS_MAX} metrics at most")
    if sum(query.returned for query in queries) != 1:
        raise ValidationException("Exactly one element of the metrics list should return data")
    # Calculated once, so that an invalid expression is rejected here.
    now_ns = cloudwatch.clock.now_ns()
    watched_series(cloudwatch.sources, queries, now_ns - 1, now_ns)


def _check_metric(request: Mapping[str, Any]) -> None:
    for member in ("MetricName", "Namespace", "Period"):
        if member not in request:
            raise ValidationException(f"{member} must be specified")
    if ("Statistic" in request) == ("ExtendedStatistic" in request):
        raise ValidationException("Exactly one of Statistic and ExtendedStatistic must be specified")
    extended = request.get("ExtendedStatistic")
    if extended is not None and not is_percentile(extended):
        raise ValidationException(f"The statistic {extended} is not offered by this version of Faradisc.")
    low = request.get("EvaluateLowSampleCountPercentile")
    if low is not None and (extended is None or low != "evaluate"):
        raise ValidationException(
            "EvaluateLowSampleCountPercentile is offered with an ExtendedStatistic and as 'evaluate' only"
        )
    if request["Period"] % 60:
        raise ValidationException(
            "A Period that is no multiple of 60 seconds is not offered by this version of Faradisc."
        )
