"""PutScalingPolicy, DescribeScalingPolicies, DeleteScalingPolicy: target tracking of utilization.

The service itself offers DynamoDB no step scaling, no predictive scaling (documentation of PolicyType) and no
other metric (measured in September 2026 for tables, assumed for indexes). So a target has one policy. Texts
are of September 2026.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from faradisc.capacity.autoscaling import Tracking
from faradisc.capacity.config import MINUTE_NS
from faradisc.clock import epoch_seconds
from faradisc.operations.call import Call
from faradisc.services.autoscaling import tracking_alarms
from faradisc.services.autoscaling.dimension import Scaled
from faradisc.services.autoscaling.errors import ObjectNotFoundException, ValidationException
from faradisc.services.autoscaling.operations.listing import chosen_targets, paged
from faradisc.services.autoscaling.service import AutoScaling, names_of
from faradisc.services.autoscaling.target import ScalingPolicy, Target, policy_of

POLICY_TYPE: Final = "TargetTrackingScaling"
TARGET_PERCENT: Final = (10.0, 90.0)
COOLDOWN_S_MAX: Final = 86_400 * 7
"""Assumed."""

PREDEFINED: Final = "PredefinedMetricSpecification"
CUSTOMIZED: Final = "CustomizedMetricSpecification"
_CONFIGURATION: Final = "TargetTrackingScalingPolicyConfiguration"
_OTHER_CONFIGURATIONS: Final = {"StepScalingPolicyConfiguration", "PredictiveScalingPolicyConfiguration"}


async def put_scaling_policy(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    request = call.request
    target = autoscaling.target(call)
    present = target.policy
    if present is not None and present.name != request["PolicyName"]:
        raise ValidationException(
            "Only one TargetTrackingScaling policy for a given metric specification is allowed."
        )
    configuration = _checked_configuration(request, target.scaled, new=present is None)
    if configuration is None:
        assert present is not None
        configuration = present.configuration
    now_ns = autoscaling.clock.now_ns()
    if present is None:
        tracking = Tracking(
            target.minimum, target.maximum, policy_of(configuration), looked_ns=now_ns - now_ns % MINUTE_NS
        )
        policy = ScalingPolicy(
            request["PolicyName"],
            autoscaling.entropy.uuid(),
            configuration,
            now_ns,
            tracking_alarms.new_ids(autoscaling.entropy),
            tracking,
        )
        target.policy = policy
    else:
        policy = present
        policy.configuration = configuration
        policy.tracking.points = []  # they may be of another metric
        policy.tracking.policy = policy_of(configuration)
        policy.decided = None
    capacity = autoscaling.autoscaler.present(target)
    if capacity is not None:
        policy.tracking.draw(capacity.capacity)
    await autoscaling.targets.save(target)
    await tracking_alarms.sync(autoscaling.alarms, target, now_ns)
    return {
        "PolicyARN": target.policy_arn(policy),
        "Alarms": tracking_alarms.references(target, policy),
    }


def _checked_configuration(request: Mapping[str, Any], scaled: Scaled, *, new: bool) -> dict[str, Any] | None:
    """Returns the configuration; None when the present one stays. Raises ValidationException."""
    policy_type = request.get("PolicyType", None if new else POLICY_TYPE)
    if policy_type is None:
        raise ValidationException("PolicyType must be specified for a new scaling policy")
    if policy_type != POLICY_TYPE:
        raise ValidationException(f"{policy_type} is not supported for service namespace: dynamodb")
    configuration: dict[str, Any] | None = request.get(_CONFIGURATION)
    if configuration is None and (new or _OTHER_CONFIGURATIONS & request.keys()):
        raise ValidationException(f"{POLICY_TYPE} policy configuration must be specified")
    if configuration is None:
        return None
    if _OTHER_CONFIGURATIONS & request.keys():
        raise ValidationException(
            "You must only provide a single scaling policy configuration, which must match the scaling "
            "policy type specified."
        )
    if CUSTOMIZED in configuration and PREDEFINED in configuration:
        raise ValidationException(
            f"Only one of {PREDEFINED} or {CUSTOMIZED} can be set for target tracking scaling."
        )
    if CUSTOMIZED in configuration:
        raise ValidationException(f"Scalable dimension {scaled.dimension} does not support {CUSTOMIZED}.")
    if PREDEFINED not in configuration:
        raise ValidationException(f"{PREDEFINED} or {CUSTOMIZED} must be set for target tracking scaling.")
    _check_metric(configuration[PREDEFINED], scaled)
    _check_numbers(configuration)
    return configuration


def _check_metric(specification: Mapping[str, Any], scaled: Scaled) -> None:
    metric = specification["PredefinedMetricType"]
    if metric != scaled.predefined_metric:
        raise ValidationException(
            f"Scalable dimension {scaled.dimension} only supports the following predefined metric types: "
            f"{scaled.predefined_metric}"
        )
    if "ResourceLabel" in specification:
        raise ValidationException(f"ResourceLabel cannot be specified for predefined metric type {metric}")


def _check_numbers(configuration: Mapping[str, Any]) -> None:
    low, high = TARGET_PERCENT
    target = configuration["TargetValue"]
    if not math.isfinite(target) or not low <= target <= high:
        metric = configuration[PREDEFINED]["PredefinedMetricType"]
        raise ValidationException(
            f"For predefined metric type {metric}, target value must be between '{low}' and '{high}', but "
            f"was '{float(target)}'."
        )
    for member in ("ScaleOutCooldown", "ScaleInCooldown"):
        seconds = configuration.get(member, 0)
        if not 0 <= seconds <= COOLDOWN_S_MAX:
            raise ValidationException(f"{member} must be between 0 and {COOLDOWN_S_MAX}, not {seconds}")


async def describe_scaling_policies(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    names = call.request.get("PolicyNames")
    found = [
        target
        for target in chosen_targets(autoscaling, call)
        if target.policy is not None and (not names or target.policy.name in names)
    ]
    return paged(call, "ScalingPolicies", found, lambda target: list(target.name), _describe)


def _describe(target: Target) -> dict[str, Any]:
    policy = target.policy
    assert policy is not None
    return {
        **target.names(),
        "PolicyARN": target.policy_arn(policy),
        "PolicyName": policy.name,
        "PolicyType": POLICY_TYPE,
        _CONFIGURATION: policy.configuration,
        "Alarms": tracking_alarms.references(target, policy),
        "CreationTime": epoch_seconds(policy.created_ns),
    }


async def delete_scaling_policy(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    target = autoscaling.target(call)
    policy = target.policy
    if policy is None or policy.name != call.request["PolicyName"]:
        raise ObjectNotFoundException(
            f"No scaling policy found for {names_of(call)}, policy name: {call.request['PolicyName']}"
        )
    target.policy = None
    await autoscaling.targets.save(target)
    await tracking_alarms.remove(autoscaling.alarms, target, policy)
    return {}
