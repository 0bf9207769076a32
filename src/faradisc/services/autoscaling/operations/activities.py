"""DescribeScalingActivities: what was done in the last six weeks, newest first."""

from __future__ import annotations

from typing import Any

from faradisc.operations.call import Call
from faradisc.services.autoscaling.operations.listing import check_filter, paged
from faradisc.services.autoscaling.service import AutoScaling
from faradisc.services.autoscaling.targets import Activity


async def describe_scaling_activities(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    check_filter(autoscaling, call)
    request = call.request
    with_not_scaled = request.get("IncludeNotScaledActivities", False)
    found = [
        activity
        for activity in autoscaling.targets.activities(autoscaling.scope(call))
        if request.get("ResourceId") in (None, activity.resource_id)
        and request.get("ScalableDimension") in (None, activity.dimension)
        and (with_not_scaled or not activity.not_scaled)
    ]
    return paged(call, "ScalingActivities", found, lambda activity: [-activity.number], Activity.describe)
