"""The CloudWatch alarms of a target tracking policy, with names and settings as in the service.

AlarmHigh and AlarmLow drive the policy, which sets their states (capacity/autoscaling.py). The other two
follow the provisioned capacity, which clients may change.

Source: capacity.md section 2.13; V120.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from faradisc.capacity.autoscaling import LOW_POINTS
from faradisc.capacity.config import MINUTE_NS, SECOND_NS
from faradisc.clock import Entropy
from faradisc.metrics.alarm_rule import State
from faradisc.metrics.metric_catalog import NAMESPACE
from faradisc.services.autoscaling.target import ScalingPolicy, Target
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.alarms import Alarms
from faradisc.services.cloudwatch.reasons import reason, reason_data

HIGH: Final = "AlarmHigh"
LOW: Final = "AlarmLow"
CAPACITY_HIGH: Final = "ProvisionedCapacityHigh"
CAPACITY_LOW: Final = "ProvisionedCapacityLow"
KINDS: Final = (HIGH, LOW, CAPACITY_HIGH, CAPACITY_LOW)

_MAINTENANCE: Final = {"Statistic": "Average", "Period": 300, "EvaluationPeriods": 3}


def new_ids(entropy: Entropy) -> dict[str, str]:
    return {kind: entropy.uuid() for kind in KINDS}


def alarm_name(target: Target, policy: ScalingPolicy, kind: str) -> str:
    return f"TargetTracking-{target.resource_id}-{kind}-{policy.alarm_ids[kind]}"


def references(target: Target, policy: ScalingPolicy) -> list[dict[str, str]]:
    """Returns the alarms as members of a scaling policy."""
    names = [alarm_name(target, policy, kind) for kind in KINDS]
    arn = f"arn:aws:cloudwatch:{target.region}:{target.account}:alarm"
    return [{"AlarmName": name, "AlarmARN": f"{arn}:{name}"} for name in names]


async def sync(alarms: Alarms, target: Target, now_ns: int) -> None:
    """Brings the alarms to the settings and states of the target's policy. Writes only changes."""
    policy = target.policy
    if policy is None or not policy.tracking.drawn_for:
        return
    for kind, settings in _settings(target, policy):
        name = alarm_name(target, policy, kind)
        alarm = alarms.find(target.scope, name)
        if alarm is None or alarm.settings != settings:
            where = (target.scope, target.region, target.account)
            made = Alarm(*where, name, settings, now_ns, now_ns, now_ns)
            made.owner, made.driven = target.policy_arn(policy), kind in (HIGH, LOW)
            await alarms.put(made)
    tracking = policy.tracking
    for kind, state in ((HIGH, tracking.high_state), (LOW, tracking.low_state)):
        alarm = alarms.find(target.scope, alarm_name(target, policy, kind))
        # Redrawing an alarm leaves its state, until the first new points decide.
        undecided = state == "INSUFFICIENT_DATA" and len(tracking.points) < LOW_POINTS
        if alarm is not None and alarm.state != state and not undecided:
            await _move(alarms, alarm, state, policy)


async def _move(alarms: Alarms, alarm: Alarm, state: State, policy: ScalingPolicy) -> None:
    tracking = policy.tracking
    rule = alarm.rule
    count = len(tracking.points)
    points = [
        (tracking.looked_ns - (count - position) * MINUTE_NS, point)
        for position, point in enumerate(tracking.points)
    ][-rule.range :]
    looked_ns = tracking.looked_ns + tracking.timing.metric_delay_s * SECOND_NS
    why = reason(rule, points, alarm.state, state)
    statistic = alarm.settings.get("Statistic")
    await alarms.move(alarm, state, why, reason_data(rule, points, looked_ns, statistic, None), looked_ns)


async def remove(alarms: Alarms, target: Target, policy: ScalingPolicy) -> None:
    names = [alarm_name(target, policy, kind) for kind in KINDS]
    found = [alarm for alarm in (alarms.find(target.scope, name) for name in names) if alarm is not None]
    if found:
        await alarms.delete(found)


def _settings(target: Target, policy: ScalingPolicy) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the kind of each alarm with its members of PutMetricAlarm."""
    scaled, capacity = target.scaled, policy.tracking.drawn_for
    arn = target.policy_arn(policy)
    common = {
        "AlarmDescription": f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {arn}.",
        "ActionsEnabled": True,
        "AlarmActions": [arn],
    }
    of_table = {
        "Namespace": NAMESPACE,
        "Dimensions": [{"Name": name, "Value": value} for name, value in reversed(scaled.metric_dimensions)],
    }
    metric = {**of_table, "MetricName": scaled.consumed_metric, "Statistic": "Sum", "Period": 60}
    for kind, rule in zip((HIGH, LOW), policy.tracking.rules(), strict=True):
        driving = {
            **metric,
            "EvaluationPeriods": rule.periods,
            "Threshold": float(rule.threshold),
            "ComparisonOperator": rule.comparison,
        }
        yield kind, {**common, **driving}
    common |= of_table
    for kind, comparison in ((CAPACITY_HIGH, "GreaterThanThreshold"), (CAPACITY_LOW, "LessThanThreshold")):
        watching = {"MetricName": scaled.provisioned_metric, "Threshold": float(capacity)}
        yield kind, {**common, **_MAINTENANCE, **watching, "ComparisonOperator": comparison}
