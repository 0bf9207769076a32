"""The handlers of CloudWatch's operations, by name. Other operations are not offered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from faradisc.operations.call import Call
from faradisc.services.cloudwatch.operations.alarm_states import (
    delete_alarms,
    disable_alarm_actions,
    enable_alarm_actions,
    set_alarm_state,
)
from faradisc.services.cloudwatch.operations.alarm_tags import (
    list_tags_for_resource,
    tag_resource,
    untag_resource,
)
from faradisc.services.cloudwatch.operations.describe_alarm_history import describe_alarm_history
from faradisc.services.cloudwatch.operations.describe_alarms import (
    describe_alarms,
    describe_alarms_for_metric,
)
from faradisc.services.cloudwatch.operations.get_metric_data import get_metric_data
from faradisc.services.cloudwatch.operations.get_metric_statistics import get_metric_statistics
from faradisc.services.cloudwatch.operations.list_metrics import list_metrics
from faradisc.services.cloudwatch.operations.put_metric_alarm import put_metric_alarm
from faradisc.services.cloudwatch.operations.put_metric_data import put_metric_data
from faradisc.services.cloudwatch.service import CloudWatch

Handler = Callable[[CloudWatch, Call], Awaitable[dict[str, Any]]]

OPERATIONS: Final[Mapping[str, Handler]] = {
    # Metrics
    "GetMetricData": get_metric_data,
    "GetMetricStatistics": get_metric_statistics,
    "ListMetrics": list_metrics,
    "PutMetricData": put_metric_data,
    # Alarms
    "PutMetricAlarm": put_metric_alarm,
    "DescribeAlarms": describe_alarms,
    "DescribeAlarmsForMetric": describe_alarms_for_metric,
    "DescribeAlarmHistory": describe_alarm_history,
    "SetAlarmState": set_alarm_state,
    "EnableAlarmActions": enable_alarm_actions,
    "DisableAlarmActions": disable_alarm_actions,
    "DeleteAlarms": delete_alarms,
    # Tags
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "ListTagsForResource": list_tags_for_resource,
}
