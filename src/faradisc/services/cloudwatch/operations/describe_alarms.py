"""DescribeAlarms and DescribeAlarmsForMetric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.errors import InvalidNextToken, ResourceNotFound
from faradisc.services.cloudwatch.paging import page
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.services.cloudwatch.sources import dimensions_of

PAGE_SIZE: Final = 50
_LISTS: Final = {"MetricAlarm": "MetricAlarms", "CompositeAlarm": "CompositeAlarms", "LogAlarm": "LogAlarms"}


async def describe_alarms(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    request = call.request
    if "AlarmNames" in request and "AlarmNamePrefix" in request:
        raise ValidationException("AlarmNames and AlarmNamePrefix cannot be specified together")
    related = "ChildrenOfAlarmName" in request or "ParentsOfAlarmName" in request
    if related and set(request) - {"ChildrenOfAlarmName", "ParentsOfAlarmName", "MaxRecords", "NextToken"}:
        raise ValidationException("Children and parents of an alarm cannot be filtered")
    types = request.get("AlarmTypes") or (("MetricAlarm", "CompositeAlarm") if related else ("MetricAlarm",))
    if related:
        return _related(cloudwatch, call, types)
    found = [
        alarm
        for alarm in cloudwatch.alarms.of(cloudwatch.scope(call))
        if alarm.kind in types and _is_asked_for(alarm, request)
    ]
    size = request.get("MaxRecords", PAGE_SIZE if not request.get("AlarmNames") else 100)
    alarms, more = page(found, lambda alarm: [alarm.name], request.get("NextToken"), size, InvalidNextToken)
    # Both lists are there, whatever was asked for; without AlarmTypes that of composite alarms is empty.
    answer: dict[str, Any] = {_LISTS[kind]: [] for kind in (*types, "MetricAlarm", "CompositeAlarm")}
    for alarm in alarms:
        answer[_LISTS[alarm.kind]].append(alarm.describe())
    return {**answer, **more}


def _related(cloudwatch: CloudWatch, call: Call, types: Iterable[str]) -> dict[str, Any]:
    """Returns the alarms in the rule of a composite alarm, or the composite alarms whose rule has an alarm.
    Raises ResourceNotFound."""
    request = call.request
    scope = cloudwatch.scope(call)
    children = "ChildrenOfAlarmName" in request
    name = request["ChildrenOfAlarmName" if children else "ParentsOfAlarmName"]
    alarm = cloudwatch.alarms.find(scope, name)
    if alarm is None:
        raise ResourceNotFound(f"Alarm {name} does not exist")
    answer: dict[str, Any] = {_LISTS[kind]: [] for kind in types}
    if not children:
        for parent in cloudwatch.alarms.parents(scope, name):
            answer[_LISTS[parent.kind]].append({"AlarmName": parent.name, "AlarmArn": parent.arn})
    elif alarm.is_composite:
        found = (cloudwatch.alarms.find(scope, each) for each in alarm.composite_rule.names)
        for child in filter(None, found):
            shown = ("AlarmName", "AlarmArn", "StateValue", "StateUpdatedTimestamp", "ActionsEnabled")
            described = child.describe()
            answer[_LISTS[child.kind]].append({member: described[member] for member in shown})
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
