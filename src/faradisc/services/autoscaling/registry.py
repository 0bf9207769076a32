"""The only list of Application Auto Scaling's operations. Those that are not in it are refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from faradisc.operations.call import Call
from faradisc.services.autoscaling.operations import activities, policies, scheduled_actions, tags, targets
from faradisc.services.autoscaling.service import Scaling

Handler = Callable[[Scaling, Call], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One API action."""

    name: str
    handler: Handler


_LIST = (
    # Targets
    Operation("RegisterScalableTarget", targets.register_scalable_target),
    Operation("DescribeScalableTargets", targets.describe_scalable_targets),
    Operation("DeregisterScalableTarget", targets.deregister_scalable_target),
    # Policies
    Operation("PutScalingPolicy", policies.put_scaling_policy),
    Operation("DescribeScalingPolicies", policies.describe_scaling_policies),
    Operation("DeleteScalingPolicy", policies.delete_scaling_policy),
    # Schedules
    Operation("PutScheduledAction", scheduled_actions.put_scheduled_action),
    Operation("DescribeScheduledActions", scheduled_actions.describe_scheduled_actions),
    Operation("DeleteScheduledAction", scheduled_actions.delete_scheduled_action),
    # What happened
    Operation("DescribeScalingActivities", activities.describe_scaling_activities),
    # Tags
    Operation("TagResource", tags.tag_resource),
    Operation("UntagResource", tags.untag_resource),
    Operation("ListTagsForResource", tags.list_tags_for_resource),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _LIST}
