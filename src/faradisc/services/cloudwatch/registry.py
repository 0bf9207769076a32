"""The only list of CloudWatch's operations. Those that are not in it are refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

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
from faradisc.services.cloudwatch.service import Monitoring

Handler = Callable[[Monitoring, Call], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One API action."""

    name: str
    handler: Handler


_LIST = (
    # Metrics
    Operation("GetMetricData", get_metric_data),
    Operation("GetMetricStatistics", get_metric_statistics),
    Operation("ListMetrics", list_metrics),
    Operation("PutMetricData", put_metric_data),
    # Alarms
    Operation("PutMetricAlarm", put_metric_alarm),
    Operation("DescribeAlarms", describe_alarms),
    Operation("DescribeAlarmsForMetric", describe_alarms_for_metric),
    Operation("DescribeAlarmHistory", describe_alarm_history),
    Operation("SetAlarmState", set_alarm_state),
    Operation("EnableAlarmActions", enable_alarm_actions),
    Operation("DisableAlarmActions", disable_alarm_actions),
    Operation("DeleteAlarms", delete_alarms),
    # Tags
    Operation("TagResource", tag_resource),
    Operation("UntagResource", untag_resource),
    Operation("ListTagsForResource", list_tags_for_resource),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _LIST}
