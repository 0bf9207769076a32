"""RegisterScalableTarget, DescribeScalableTargets, DeregisterScalableTarget, DescribeScalingActivities.

Checks of a registration: names -> table or index exists -> limits -> tags. A capacity outside the limits is
moved into them by the worker's next step (V126).
"""

from __future__ import annotations

from typing import Any, Final

from faradisc.operations.call import Call
from faradisc.services.autoscaling import tracking_alarms
from faradisc.services.autoscaling.errors import LimitExceededException, ValidationException
from faradisc.services.autoscaling.operations.listing import check_filter, paged
from faradisc.services.autoscaling.operations.tags import checked_tags
from faradisc.services.autoscaling.service import AutoScaling
from faradisc.services.autoscaling.target import Target
from faradisc.services.autoscaling.targets import Activity

TARGETS_MAX: Final = 5000
"""Per account and region (quotas of Application Auto Scaling: DynamoDB)."""
CAPACITY_MAX: Final = (1 << 31) - 1


async def register_scalable_target(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    request = call.request
    scaled = autoscaling.scaled(call)
    autoscaling.check_exists(call, scaled)
    scope = autoscaling.scope(call)
    target = autoscaling.targets.find(scope, request["ResourceId"], request["ScalableDimension"])
    minimum, maximum = request.get("MinCapacity"), request.get("MaxCapacity")
    if target is None:
        target = _new(autoscaling, call, scope)
    elif "Tags" in request:
        raise ValidationException(
            "Tags can be given when a scalable target is registered for the first time only"
        )
    minimum = target.minimum if minimum is None else minimum
    maximum = target.maximum if maximum is None else maximum
    check_limits(minimum, maximum)
    target.set_limits(minimum, maximum)
    target.role_arn = request.get("RoleARN", target.role_arn)
    target.suspended = {**target.suspended, **request.get("SuspendedState", {})}
    await autoscaling.targets.save(target)
    return {"ScalableTargetARN": target.arn}


def _new(autoscaling: AutoScaling, call: Call, scope: str) -> Target:
    request = call.request
    if "MinCapacity" not in request or "MaxCapacity" not in request:
        raise ValidationException(
            "MinCapacity and MaxCapacity are required to register a new scalable target"
        )
    if len(autoscaling.targets.of(scope)) >= TARGETS_MAX:
        raise LimitExceededException(f"The limit of {TARGETS_MAX} scalable targets is reached")
    role = "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
    return Target(
        scope,
        call.region,
        call.account,
        request["ResourceId"],
        request["ScalableDimension"],
        request["MinCapacity"],
        request["MaxCapacity"],
        f"arn:aws:iam::{call.account}:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/{role}",
        autoscaling.clock.now_ns(),
        autoscaling.entropy.uuid().replace("-", ""),
        tags=checked_tags(request.get("Tags", {}), {}),
    )


def check_limits(minimum: int | None, maximum: int | None) -> None:
    """Raises: ValidationException."""
    for which, value in (("Minimum", minimum), ("Maximum", maximum)):
        if value is not None and value < 1:
            raise ValidationException(f"{which} capacity cannot be less than 1")
        if value is not None and value > CAPACITY_MAX:
            raise ValidationException(f"{which} capacity cannot be greater than {CAPACITY_MAX}")
    if minimum is not None and maximum is not None and maximum < minimum:
        raise ValidationException("Maximum capacity cannot be less than minimum capacity")


async def describe_scalable_targets(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    check_filter(autoscaling, call)
    request = call.request
    wanted = request.get("ResourceIds")
    found = [
        target
        for target in autoscaling.targets.of(autoscaling.scope(call))
        if (not wanted or target.resource_id in wanted)
        and request.get("ScalableDimension") in (None, target.dimension)
    ]
    return paged(call, "ScalableTargets", found, lambda target: list(target.name), Target.describe)


async def deregister_scalable_target(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    """Deletes a target with its policy, the policy's alarms and its scheduled actions."""
    target = autoscaling.target(call)
    await autoscaling.targets.delete(target)
    if target.policy is not None:
        await tracking_alarms.remove(autoscaling.alarms, target, target.policy)
    return {}


async def describe_scaling_activities(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    """Returns what was done in the last six weeks, newest first."""
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
