"""Scaling and alarms that other resources define for a table, as requests for the time when it is there.

A request is one of Application Auto Scaling or CloudWatch; `SERVICES` has the service that answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.protocol.other_services.services import CLOUDWATCH, SCALING
from faradisc.tools.readers.seed import Location, Seed, SeedError, TableSeed, select
from faradisc.tools.readers.shapes import fitted

SERVICES = {
    "RegisterScalableTarget": SCALING,
    "PutScalingPolicy": SCALING,
    "PutScheduledAction": SCALING,
    "PutMetricAlarm": CLOUDWATCH,
}
"""What answers the requests that DynamoDB does not."""
_TARGET = ("ServiceNamespace", "ResourceId", "ScalableDimension")
_REGISTERED = frozenset(
    {*_TARGET, "MinCapacity", "MaxCapacity", "SuspendedState", "RoleARN", "ScheduledActions"}
)
_POLICY = (*_TARGET, "PolicyName", "PolicyType", "TargetTrackingScalingPolicyConfiguration")
_ACTIONS = ("AlarmActions", "OKActions", "InsufficientDataActions")


def scaling_requests(kind: str, name: str, body: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Returns the requests of a scalable target or a scaling policy. kind: `target` or `policy`; body: with
    the members of the API, or those that CloudFormation has besides. Raises SeedError."""
    if kind == "target":
        unknown = sorted(set(body) - _REGISTERED)
        if unknown:
            raise SeedError(f"a scalable target has no property {', '.join(unknown)}.")
        wanted = select(dict(body), *_TARGET, "MinCapacity", "MaxCapacity", "SuspendedState")
        found = [("RegisterScalableTarget", wanted)]
        for action in body.get("ScheduledActions") or ():
            found.append(("PutScheduledAction", {**select(dict(body), *_TARGET), **action}))
    else:
        unknown = sorted(set(body) - {*_POLICY, "ScalingTargetId", "StepScalingPolicyConfiguration"})
        if unknown:
            raise SeedError(f"a scaling policy has no property {', '.join(unknown)}.")
        policy = {"PolicyName": name, **select(dict(body), *_POLICY)}
        if "ScalingTargetId" in body:
            parts = str(body["ScalingTargetId"]).split("|")
            if len(parts) != 3:
                raise SeedError("ScalingTargetId must be the reference to a scalable target.")
            policy |= dict(zip(("ResourceId", "ScalableDimension", "ServiceNamespace"), parts, strict=True))
        found = [("PutScalingPolicy", policy)]
    return [(operation, fitted(operation, request)) for operation, request in found]


def alarm_request(name: str, body: Mapping[str, Any], notes: list[str]) -> tuple[str, dict[str, Any]]:
    """Returns the request of a metric alarm. Adds a note for actions of other services, which are left out.
    Raises SeedError."""
    request = {"AlarmName": name, **body}
    for each in _ACTIONS:
        if request.pop(each, None):
            notes.append(f"{each} of the alarm {name} are ignored")
    return "PutMetricAlarm", fitted("PutMetricAlarm", request)


def table_of_target(seed: Seed, resource_id: Any) -> TableSeed | None:
    """Returns the table of a scalable target: table/NAME or table/NAME/index/INDEX."""
    parts = str(resource_id).split("/")
    return seed.table(parts[1]) if len(parts) in (2, 4) and parts[0] == "table" else None


def table_of_alarm(seed: Seed, body: Mapping[str, Any]) -> TableSeed | None:
    """Returns the table whose metric an alarm watches."""
    dimensions = body.get("Dimensions")
    if body.get("Namespace") != "AWS/DynamoDB" or not isinstance(dimensions, list):
        return None
    for each in dimensions:
        if isinstance(each, Mapping) and each.get("Name") == "TableName":
            return seed.table(str(each.get("Value")))
    return None


def attach(seed: Seed, kind: str, name: str, body: Mapping[str, Any], location: Location) -> None:
    """Adds the requests of a `target`, a `policy` or an `alarm` to its table. What concerns no table of the
    seed is left out, with a note unless it is plainly of another service. Raises SeedError."""
    if kind == "alarm":
        table = table_of_alarm(seed, body)
        if table is not None:
            table.later.append(alarm_request(name, body, table.notes))
        elif body.get("Namespace") == "AWS/DynamoDB" or "Metrics" in body:
            seed.note(location, f"the alarm {name} is ignored: it watches no table that is defined here")
        return
    target = body.get("ResourceId") or str(body.get("ScalingTargetId", "")).partition("|")[0]
    table = table_of_target(seed, target)
    if table is not None:
        table.later += scaling_requests(kind, name, body)
    elif str(target).startswith("table/"):
        seed.note(location, f"the scaling of {target} is ignored: no such table is defined here")
