"""The handlers of CloudWatch's operations, by name. Other operations are not offered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from faradisc.operations.call import Call
from faradisc.services.cloudwatch.operations import (
    alarm_states,
    alarm_tags,
    describe_alarm_history,
    describe_alarms,
    get_metric_data,
    get_metric_statistics,
    list_metrics,
    put_composite_alarm,
    put_metric_alarm,
    put_metric_data,
)
from faradisc.services.cloudwatch.service import CloudWatch

Handler = Callable[[CloudWatch, Call], Awaitable[dict[str, Any]]]

OPERATIONS: Final[Mapping[str, Handler]] = {
    # Metrics
    "GetMetricData": get_metric_data.get_metric_data,
    "GetMetricStatistics": get_metric_statistics.get_metric_statistics,
    "ListMetrics": list_metrics.list_metrics,
    "PutMetricData": put_metric_data.put_metric_data,
    # Alarms
    "PutMetricAlarm": put_metric_alarm.put_metric_alarm,
    "PutCompositeAlarm": put_composite_alarm.put_composite_alarm,
    "DescribeAlarms": describe_alarms.describe_alarms,
    "DescribeAlarmsForMetric": describe_alarms.describe_alarms_for_metric,
    "DescribeAlarmHistory": describe_alarm_history.describe_alarm_history,
    "SetAlarmState": alarm_states.set_alarm_state,
    "EnableAlarmActions": alarm_states.enable_alarm_actions,
    "DisableAlarmActions": alarm_states.disable_alarm_actions,
    "DeleteAlarms": alarm_states.delete_alarms,
    # Tags
    "TagResource": alarm_tags.tag_resource,
    "UntagResource": alarm_tags.untag_resource,
    "ListTagsForResource": alarm_tags.list_tags_for_resource,
}
