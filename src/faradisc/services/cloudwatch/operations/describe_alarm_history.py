"""DescribeAlarmHistory: settings, states and actions of 30 days, deleted alarms included."""

from __future__ import annotations

from typing import Any, Final

from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarms import HistoryItem
from faradisc.services.cloudwatch.errors import InvalidNextToken
from faradisc.services.cloudwatch.operations.moments import SECONDS_MAX, moment_ns
from faradisc.services.cloudwatch.paging import page
from faradisc.services.cloudwatch.service import CloudWatch

PAGE_SIZE: Final = 100


async def describe_alarm_history(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    request = call.request
    if "AlarmContributorId" in request:
        raise ValidationException("AlarmContributorId is not offered by this version of Faradisc.")
    types = request.get("AlarmTypes") or ("MetricAlarm",)
    since = moment_ns(request.get("StartDate", 0), "StartDate")
    until = moment_ns(request.get("EndDate", SECONDS_MAX), "EndDate")
    sign = 1 if request.get("ScanBy") == "TimestampAscending" else -1

    def key(event: HistoryItem) -> list[int]:
        return [sign * event.at_ns, sign * event.number]

    found = sorted(
        (
            event
            for event in cloudwatch.alarms.history(cloudwatch.scope(call))
            if event.alarm_type in types
            and request.get("AlarmName") in (None, event.alarm_name)
            and request.get("HistoryItemType") in (None, event.kind)
            and since <= event.at_ns <= until
        ),
        key=key,
    )
    size = request.get("MaxRecords", PAGE_SIZE)
    events, more = page(found, key, request.get("NextToken"), size, InvalidNextToken)
    return {"AlarmHistoryItems": [event.describe() for event in events], **more}
