"""ListMetrics: all series, 500 on a page.

The service lists a metric for two weeks after its last point; Faradisc, while it is in memory.
"""

from __future__ import annotations

from typing import Any, Final

from faradisc.capacity.config import HOUR_NS
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.errors import InvalidParameterValueException
from faradisc.services.cloudwatch.paging import page
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.services.cloudwatch.sources import MetricName

PAGE_MAX: Final = 500
RECENT_NS: Final = 3 * HOUR_NS


class _ForeignToken(InvalidParameterValueException):
    code = "InvalidParameterValueException"
    default_text = "Invalid NextToken"


async def list_metrics(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    request = call.request
    if request.get("IncludeLinkedAccounts", False) or "OwningAccount" in request:
        raise InvalidParameterValueException(
            "IncludeLinkedAccounts and OwningAccount are not offered by this version of Faradisc."
        )
    since = cloudwatch.clock.now_ns() - RECENT_NS if "RecentlyActive" in request else 0
    wanted = [(each["Name"], each.get("Value")) for each in request.get("Dimensions", ())]
    found = sorted(
        (
            metric
            for metric, last in cloudwatch.sources.listed(cloudwatch.scope(call))
            if request.get("Namespace") in (None, metric.namespace)
            and request.get("MetricName") in (None, metric.name)
            and last >= since
            and all(_has(metric, name, value) for name, value in wanted)
        ),
        key=_key,
    )
    metrics, more = page(found, _key, request.get("NextToken"), PAGE_MAX, _ForeignToken)
    return {"Metrics": [metric.describe() for metric in metrics], **more}


def _key(metric: MetricName) -> list[Any]:
    return [metric.namespace, metric.name, [list(pair) for pair in metric.dimensions]]


def _has(metric: MetricName, name: str, value: str | None) -> bool:
    return any(name == held and value in (None, content) for held, content in metric.dimensions)
