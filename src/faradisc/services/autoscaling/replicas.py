"""Auto scaling of the replicas of a global table, as DynamoDB's own operations show and change it.

A replica's table and indexes are scalable targets of its region, as if they had been registered there.
Source: botocore's model (DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling). Assumed: names of
policies, which are those of the service's console.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.engine.tables.state import TableState
from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.protocol.other_services.wire import ServiceError
from faradisc.services.autoscaling.dimension import scaled_by
from faradisc.services.autoscaling.operations.policies import POLICY_TYPE, put_scaling_policy
from faradisc.services.autoscaling.operations.targets import (
    deregister_scalable_target,
    register_scalable_target,
)
from faradisc.services.autoscaling.service import AutoScaling
from faradisc.services.autoscaling.target import SERVICE_NAMESPACE, Target

_CONFIGURATION = "TargetTrackingScalingPolicyConfiguration"
_SHOWN = ("DisableScaleIn", "ScaleInCooldown", "ScaleOutCooldown", "TargetValue")


class ReplicaAutoScaling:
    def __init__(self, autoscaling: AutoScaling) -> None:
        self._autoscaling = autoscaling

    def is_scaled(self, table: TableState, index: str | None, direction: str) -> bool:
        """Whether the units of a table (None) or global index are scaled. direction: Read or Write."""
        target = self._target(table, table.region, index, direction)
        return target is not None and target.policy is not None

    def _target(self, table: TableState, region: str, index: str | None, direction: str) -> Target | None:
        scope = self._autoscaling.catalog.tables.namespace(region, table.account)
        return self._autoscaling.targets.find(scope, *_names(table.name, index, direction))

    def describe(self, table: TableState, region: str, index: str | None, direction: str) -> dict[str, Any]:
        """Returns AutoScalingSettingsDescription of one replica."""
        target = self._target(table, region, index, direction)
        if target is None:
            return {"AutoScalingDisabled": True}
        described: dict[str, Any] = {
            "MinimumUnits": target.minimum,
            "MaximumUnits": target.maximum,
            "AutoScalingRoleArn": target.role_arn,
            "AutoScalingDisabled": False,
        }
        if target.policy is not None:
            given = target.policy.configuration
            shown = {member: given[member] for member in _SHOWN if member in given}
            described["ScalingPolicies"] = [{"PolicyName": target.policy.name, _CONFIGURATION: shown}]
        return described

    async def update(
        self, table: TableState, region: str, index: str | None, direction: str, settings: Mapping[str, Any]
    ) -> None:
        """Applies AutoScalingSettingsUpdate to one replica. Raises ValidationException."""
        resource_id, dimension = _names(table.name, index, direction)
        names = {
            "ServiceNamespace": SERVICE_NAMESPACE,
            "ResourceId": resource_id,
            "ScalableDimension": dimension,
        }

        def call(operation: str, members: Mapping[str, Any]) -> Call:
            return Call(operation, {**names, **members}, True, region, table.account)

        present = self._target(table, region, index, direction)
        if settings.get("AutoScalingDisabled"):
            if present is not None:
                await deregister_scalable_target(self._autoscaling, call("DeregisterScalableTarget", {}))
            return
        wanted = {
            "MinimumUnits": "MinCapacity",
            "MaximumUnits": "MaxCapacity",
            "AutoScalingRoleArn": "RoleARN",
        }
        limits = {name: settings[member] for member, name in wanted.items() if member in settings}
        try:
            await register_scalable_target(self._autoscaling, call("RegisterScalableTarget", limits))
            policy = settings.get("ScalingPolicyUpdate")
            if policy is None:  # of a target that has none
                return
            before = None if present is None or present.policy is None else present.policy.name
            named = before or f"DynamoDB{direction}CapacityUtilization:{resource_id}"
            metric = {"PredefinedMetricType": scaled_by(resource_id, dimension).predefined_metric}
            tracked = {
                "PolicyName": policy.get("PolicyName", named),
                "PolicyType": POLICY_TYPE,
                _CONFIGURATION: {**policy[_CONFIGURATION], "PredefinedMetricSpecification": metric},
            }
            await put_scaling_policy(self._autoscaling, call("PutScalingPolicy", tracked))
        except ServiceError as error:
            raise ValidationException(error.message) from error


def _names(table: str, index: str | None, direction: str) -> tuple[str, str]:
    """Returns resource id and dimension."""
    if index is None:
        return f"table/{table}", f"dynamodb:table:{direction}CapacityUnits"
    return f"table/{table}/index/{index}", f"dynamodb:index:{direction}CapacityUnits"
