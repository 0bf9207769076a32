"""The handlers of Application Auto Scaling's operations, by name. Other operations are not offered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from faradisc.operations.call import Call
from faradisc.services.autoscaling.operations import policies, scheduled_actions, tags, targets
from faradisc.services.autoscaling.service import AutoScaling

Handler = Callable[[AutoScaling, Call], Awaitable[dict[str, Any]]]

OPERATIONS: Final[Mapping[str, Handler]] = {
    # Targets
    "RegisterScalableTarget": targets.register_scalable_target,
    "DescribeScalableTargets": targets.describe_scalable_targets,
    "DeregisterScalableTarget": targets.deregister_scalable_target,
    # Policies
    "PutScalingPolicy": policies.put_scaling_policy,
    "DescribeScalingPolicies": policies.describe_scaling_policies,
    "DeleteScalingPolicy": policies.delete_scaling_policy,
    # Schedules
    "PutScheduledAction": scheduled_actions.put_scheduled_action,
    "DescribeScheduledActions": scheduled_actions.describe_scheduled_actions,
    "DeleteScheduledAction": scheduled_actions.delete_scheduled_action,
    # Activities
    "DescribeScalingActivities": targets.describe_scaling_activities,
    # Tags
    "TagResource": tags.tag_resource,
    "UntagResource": tags.untag_resource,
    "ListTagsForResource": tags.list_tags_for_resource,
}
