"""A scalable target with its policy and scheduled actions: plain data, stored as one JSON document."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from faradisc.capacity.autoscaling import Policy, Rescale, Tracking
from faradisc.capacity.schedules import next_time, parse_schedule
from faradisc.clock import epoch_seconds
from faradisc.records import asdict, dataclass, field
from faradisc.services.autoscaling.dimension import Scaled, scaled_by
from faradisc.services.cloudwatch.documents import from_document, to_document

SERVICE_NAMESPACE = "dynamodb"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ScheduledAction:
    name: str
    id: str
    schedule: str
    timezone: str | None
    start_ns: int | None
    end_ns: int | None
    minimum: int | None
    maximum: int | None
    created_ns: int
    next_ns: int | None = None
    """When it runs next; None: never again."""

    def plan(self, after_ns: int) -> None:
        """Sets `next_ns` to the first time after `after_ns` at which the action is due."""
        self.next_ns = next_time(
            parse_schedule(self.schedule),
            after_ns,
            created_ns=self.created_ns,
            start_ns=self.start_ns,
            end_ns=self.end_ns,
            zone=ZoneInfo(self.timezone or "UTC"),
        )


@dataclass(slots=True)
class ScalingPolicy:
    name: str
    id: str
    configuration: dict[str, Any]
    """TargetTrackingScalingPolicyConfiguration as given."""
    created_ns: int
    alarm_ids: dict[str, str]
    """By kind of alarm: the last part of its name."""
    tracking: Tracking
    decided: Rescale | None = None
    """A change that waits for its time, or for the table to be ACTIVE."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ScalingPolicy:
        """A decided change is not stored: the alarm decides it again."""
        tracking = Tracking.from_json(stored["tracking"])
        return cls(**{**stored, "tracking": tracking, "decided": None})

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "id": self.id,
            "configuration": self.configuration,
            "created_ns": self.created_ns,
            "alarm_ids": self.alarm_ids,
            "tracking": self.tracking.to_json(),
        }


def policy_of(configuration: Mapping[str, Any]) -> Policy:
    """Returns a configuration as the capacity model needs it."""
    return Policy(
        configuration["TargetValue"],
        configuration.get("ScaleOutCooldown", 0),
        configuration.get("ScaleInCooldown", 0),
        configuration.get("DisableScaleIn", False),
    )


@dataclass(slots=True)
class Target:
    scope: str
    """Namespace of the catalog, for an account and a region."""
    region: str
    account: str
    resource_id: str
    dimension: str
    minimum: int
    maximum: int
    role_arn: str
    created_ns: int
    id: str
    suspended: dict[str, bool] = field(default_factory=dict)
    """SuspendedState: members that are true stop what they name."""
    tags: dict[str, str] = field(default_factory=dict)
    policy: ScalingPolicy | None = None
    actions: dict[str, ScheduledAction] = field(default_factory=dict)
    limits_new: bool = False
    """Whether the capacity is still to be moved into new limits."""
    changing: int | None = None
    """Number of the activity whose UpdateTable is under way."""

    @property
    def name(self) -> tuple[str, str, str]:
        return self.scope, self.resource_id, self.dimension

    @property
    def scaled(self) -> Scaled:
        return scaled_by(self.resource_id, self.dimension)

    @property
    def arn(self) -> str:
        return f"arn:aws:application-autoscaling:{self.region}:{self.account}:scalable-target/{self.id}"

    def _arn_of(self, kind: str, id_: str, named: str) -> str:
        return (
            f"arn:aws:autoscaling:{self.region}:{self.account}:{kind}:{id_}:"
            f"resource/{SERVICE_NAMESPACE}/{self.resource_id}:{named}"
        )

    def policy_arn(self, policy: ScalingPolicy) -> str:
        return self._arn_of("scalingPolicy", policy.id, f"policyName/{policy.name}")

    def action_arn(self, action: ScheduledAction) -> str:
        return self._arn_of("scheduledAction", action.id, f"scheduledActionName/{action.name}")

    def set_limits(self, minimum: int | None, maximum: int | None) -> None:
        """Sets limits; None: the present one stays. The next step moves the capacity into them. A change that
        was decided within the old limits is decided again."""
        self.minimum = self.minimum if minimum is None else minimum
        self.maximum = self.maximum if maximum is None else maximum
        self.limits_new = True
        if self.policy is not None:
            self.policy.tracking.minimum = self.minimum
            self.policy.tracking.maximum = self.maximum
            self.policy.decided = None

    def names(self) -> dict[str, str]:
        """Returns the members that name the target in descriptions."""
        return {
            "ServiceNamespace": SERVICE_NAMESPACE,
            "ResourceId": self.resource_id,
            "ScalableDimension": self.dimension,
        }

    def describe(self) -> dict[str, Any]:
        suspended = ("DynamicScalingInSuspended", "DynamicScalingOutSuspended", "ScheduledScalingSuspended")
        return {
            **self.names(),
            "MinCapacity": self.minimum,
            "MaxCapacity": self.maximum,
            "RoleARN": self.role_arn,
            "CreationTime": epoch_seconds(self.created_ns),
            "SuspendedState": {member: self.suspended.get(member, False) for member in suspended},
            "ScalableTargetARN": self.arn,
        }

    def to_json(self) -> dict[str, Any]:
        return {
            **to_document({name: getattr(self, name) for name in self.__slots__}),
            "policy": None if self.policy is None else self.policy.to_json(),
            "actions": {name: asdict(action) for name, action in self.actions.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Target:
        policy = stored["policy"]
        if policy is not None and "CustomizedMetricSpecification" in policy["configuration"]:
            # Such policies were accepted before November 2026. The service has none for tables.
            log.warning("%s: the policy of a customized metric is left out", stored["resource_id"])
            policy = None
        actions = {name: ScheduledAction(**action) for name, action in stored["actions"].items()}
        return cls(
            **{
                **from_document(stored),
                "policy": None if policy is None else ScalingPolicy.from_json(policy),
                "actions": actions,
            }
        )
