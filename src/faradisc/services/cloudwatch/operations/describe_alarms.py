"""DescribeAlarms and DescribeAlarmsForMetric. There are metric alarms only."""

from __future__ import annotations

from typing import Any, Final

from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.errors import InvalidNextToken
from faradisc.services.cloudwatch.paging import page
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.services.cloudwatch.sources import dimensions_of

PAGE_SIZE: Final = 50
_LISTS: Final = {"MetricAlarm": "MetricAlarms", "CompositeAlarm": "CompositeAlarms", "LogAlarm": "LogAlarms"}


async def describe_alarms(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    request = call.request
    if "AlarmNames" in request and "AlarmNamePrefix" in request:
        raise ValidationException("AlarmNames and AlarmNamePrefix cannot be specified together")
    if "ChildrenOfAlarmName" in request or "ParentsOfAlarmName" in request:
        raise ValidationException("Composite alarms are not offered by this version of Faradisc.")
    found = [alarm for alarm in cloudwatch.alarms.of(cloudwatch.scope(call)) if _is_asked_for(alarm, request)]
    size = request.get("MaxRecords", PAGE_SIZE if not request.get("AlarmNames") else 100)
    alarms, more = page(found, lambda alarm: [alarm.name], request.get("NextToken"), size, InvalidNextToken)
    types = request.get("AlarmTypes") or ("MetricAlarm", "CompositeAlarm")
    answer: dict[str, Any] = {_LISTS[kind]: [] for kind in types}
    if "MetricAlarm" in types:
        answer |= {"MetricAlarms": [alarm.describe() for alarm in alarms], **more}
    return answer


def _is_asked_for(alarm: Alarm, request: dict[str, Any]) -> bool:
    prefix = request.get("ActionPrefix")
    kinds = ("OKActions", "AlarmActions", "InsufficientDataActions")
    return (
        (not request.get("AlarmNames") or alarm.name in request["AlarmNames"])
        and alarm.name.startswith(request.get("AlarmNamePrefix", ""))
        and request.get("StateValue") in (None, alarm.state)
        and (
            prefix is None
            or any(action.startswith(prefix) for kind in kinds for action in alarm.settings.get(kind, ()))
        )
    )


async def describe_alarms_for_metric(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    """Returns alarms of this metric, and of its statistic, period and unit if the request has them."""
    request = call.request
    dimensions = dimensions_of(request.get("Dimensions", ()))
    found = [
        alarm.describe()
        for alarm in cloudwatch.alarms.of(cloudwatch.scope(call))
        if alarm.settings.get("MetricName") == request["MetricName"]
        and alarm.settings["Namespace"] == request["Namespace"]
        and dimensions_of(alarm.settings.get("Dimensions", ())) == dimensions
        and all(
            request[member] == alarm.settings.get(member)
            for member in ("Statistic", "ExtendedStatistic", "Period", "Unit")
            if member in request
        )
    ]
    return {"MetricAlarms": found}
