"""PutMetricAlarm: an alarm on a metric, or on an expression over metrics.

Settings that are not implemented are rejected. Texts: of September 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from faradisc.errors import ValidationException
from faradisc.limits import TAGS_PER_RESOURCE_MAX
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarm import ACTIONS, Alarm
from faradisc.services.cloudwatch.errors import LimitExceededFault
from faradisc.services.cloudwatch.queries import queries_of, watched_series
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.services.cloudwatch.statistics import is_percentile

ALARMS_MAX: Final = 5000
"""Per account and region (quotas of CloudWatch)."""
HOUR_S: Final = 3600
DAY_S: Final = 86_400
WEEK_S: Final = 7 * DAY_S
METRICS_MAX: Final = 10
VENDORS: Final = frozenset(
    {"automate", "autoscaling", "lambda", "sns", "ssm", "ssm-incidents", "swf", "aiops"}
)
"""Services that an alarm can call, by the third part of an ARN."""

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
    _check(call.request, cloudwatch.scope(call), call.region, cloudwatch)
    await put_alarm(cloudwatch, call)
    return {}


async def put_alarm(cloudwatch: CloudWatch, call: Call) -> None:
    """Stores an alarm with the members of the request. Raises LimitExceededFault, ValidationException."""
    request = call.request
    scope = cloudwatch.scope(call)
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


def _check(request: Mapping[str, Any], scope: str, region: str, cloudwatch: CloudWatch) -> None:
    """Raises: ValidationException."""
    for member in _UNOFFERED:
        if member in request:
            raise ValidationException(f"{member} is not offered by this version of Faradisc.")
    for member in ("EvaluationPeriods", "ComparisonOperator"):
        if member not in request:
            raise ValidationException(f"{member} must be specified")
    if not request.get("Namespace", "").isascii():
        raise ValidationException("Namespace must not contain Non-ASCII characters.")
    for arn in chain.from_iterable(request.get(member, ()) for member in ACTIONS.values()):
        check_action(arn, region)
    if request["ComparisonOperator"] not in _COMPARISONS:
        raise ValidationException(
            f"{request['ComparisonOperator']} needs anomaly detection, which is not offered by this version "
            "of Faradisc."
        )
    if "Threshold" not in request:
        raise ValidationException("PutMetricAlarm request should have valid Threshold parameter")
    if request.get("TreatMissingData", "missing") not in _MISSING:
        raise ValidationException(f"TreatMissingData must be one of [{', '.join(_MISSING)}]")
    if request.get("DatapointsToAlarm", 1) > request["EvaluationPeriods"]:
        raise ValidationException("DatapointsToAlarm must be less than or equal to EvaluationPeriods")
    if "Metrics" in request:
        _check_queries(request, scope, cloudwatch)
    else:
        _check_metric(request)
    period_s = Alarm(scope, "", "", "", dict(request), 0, 0, 0).period_s
    span_s = period_s * request["EvaluationPeriods"]
    longest_s, words = (DAY_S, "a day") if period_s < HOUR_S else (WEEK_S, "a week")
    if span_s > longest_s:
        raise ValidationException(
            f"Metrics cannot be checked across more than {words} "
            f"(EvaluationPeriods * Period must be <= {longest_s})."
        )
    if span_s > DAY_S:
        raise ValidationException(
            "An alarm over more than a day is not offered by this version of Faradisc, which keeps metrics "
            "for a day."
        )


def check_action(arn: str, region: str) -> None:
    """Raises ValidationException."""
    _, _, vendor, where, *_ = [*arn.split(":"), "", "", "", ""]
    if vendor not in VENDORS:
        raise ValidationException(f"Unsupported AWS vendor {vendor}")
    if where not in ("", region):
        raise ValidationException(f"Invalid region {where} specified. Only {region} is supported.")


def _check_queries(request: Mapping[str, Any], scope: str, cloudwatch: CloudWatch) -> None:
    for member in _OF_ONE_METRIC:
        if member in request:
            raise ValidationException(f"{member} cannot be specified together with Metrics")
    if "EvaluateLowSampleCountPercentile" in request:
        raise ValidationException("EvaluateLowSampleCountPercentile needs an ExtendedStatistic")
    for query in request["Metrics"]:
        expression = query.get("Expression", "").lstrip().upper()
        if expression.startswith("SELECT"):
            raise ValidationException("Metrics Insights (SELECT) is not offered by this version of Faradisc.")
        if "SEARCH(" in expression.replace(" ", ""):
            raise ValidationException("SEARCH is not supported on Metric Alarms.")
    queries = queries_of(request["Metrics"], scope)
    if sum(query.metric is not None for query in queries) > METRICS_MAX:
        raise ValidationException(f"Too many metrics in alarm, maximum is {METRICS_MAX}")
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
    if low is not None and extended is None:
        raise ValidationException(
            "Option evaluateLowSampleCountPercentile can not be applied with statistic "
            f"{request['Statistic']}."
        )
    if low not in (None, "evaluate"):
        raise ValidationException(
            f"EvaluateLowSampleCountPercentile {low} is not offered by this version of Faradisc."
        )
    period_s = request["Period"]
    if period_s % 60 and period_s not in (10, 20, 30):
        raise ValidationException("Period must be 10, 20, 30 or a multiple of 60")
    if period_s % 60:
        raise ValidationException("A Period below a minute is not offered by this version of Faradisc.")
