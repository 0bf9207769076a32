"""Targets, policies, scheduled actions, activities and tags: kept, reported, changed, deleted, refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.services.autoscaling.target import Target
from faradisc.services.autoscaling.worker import AutoScaler
from fixtures.other_services import Services, target_of
from fixtures.schemas import refused

NAMES = target_of()
TRACKING = {
    "TargetValue": 70,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
}
POLICY = {
    "PolicyName": "track",
    "PolicyType": "TargetTrackingScaling",
    "TargetTrackingScalingPolicyConfiguration": TRACKING,
}
ACTION = {
    "ScheduledActionName": "morning",
    "Schedule": "cron(0 8 * * ? *)",
    "ScalableTargetAction": {"MinCapacity": 50},
}


def test_a_target_is_reported_as_it_was_registered(services: Services) -> None:
    services.create()
    names = services.register(
        5, 50, Tags={"team": "sound"}, SuspendedState={"ScheduledScalingSuspended": True}
    )
    (target,) = services.scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    arn = target.pop("ScalableTargetARN")
    assert arn.startswith("arn:aws:application-autoscaling:us-east-1:000000000000:scalable-target/")
    assert target == {
        **names,
        "MinCapacity": 5,
        "MaxCapacity": 50,
        "RoleARN": "arn:aws:iam::000000000000:role/aws-service-role/"
        "dynamodb.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable",
        "CreationTime": services.now(),
        "SuspendedState": {
            "DynamicScalingInSuspended": False,
            "DynamicScalingOutSuspended": False,
            "ScheduledScalingSuspended": True,
        },
    }
    assert services.scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"team": "sound"}
    again = services.scaling.register_scalable_target(**names, MaxCapacity=60)
    assert again["ScalableTargetARN"] == arn
    (target,) = services.scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (5, 60)


def test_pages_and_filters(services: Services) -> None:
    tables = [services.create(f"Table{number}") for number in range(3)]
    for table in tables:
        for direction in ("Read", "Write"):
            services.register(**target_of(table, direction=direction))
    client = services.scaling
    pages = client.get_paginator("describe_scalable_targets").paginate(
        ServiceNamespace="dynamodb", PaginationConfig={"PageSize": 4}
    )
    sizes, found = [], []
    for page in pages:
        sizes.append(len(page["ScalableTargets"]))
        found += [(each["ResourceId"], each["ScalableDimension"]) for each in page["ScalableTargets"]]
    assert (sizes, len(set(found))) == ([4, 2], 6)
    some = client.describe_scalable_targets(
        ServiceNamespace="dynamodb",
        ResourceIds=["table/Table1"],
        ScalableDimension="dynamodb:table:WriteCapacityUnits",
    )
    assert len(some["ScalableTargets"]) == 1


def test_policies(services: Services) -> None:
    services.create()
    names = services.register()
    put = services.track(names)
    (policy,) = services.scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"]
    assert policy["PolicyARN"] == put["PolicyARN"]
    assert ":resource/dynamodb/table/Orders:policyName/track" in policy["PolicyARN"]
    assert policy["TargetTrackingScalingPolicyConfiguration"] == TRACKING
    assert policy["Alarms"] == put["Alarms"]
    kinds = ["AlarmHigh", "AlarmLow", "ProvisionedCapacityHigh", "ProvisionedCapacityLow"]
    assert [alarm["AlarmName"].split("-")[2] for alarm in put["Alarms"]] == kinds
    assert services.track(names, percent=50)["PolicyARN"] == put["PolicyARN"]
    assert services.alarm("AlarmHigh")["Threshold"] == 3000
    services.scaling.delete_scaling_policy(**names, PolicyName="track")
    assert services.cloudwatch.describe_alarms()["MetricAlarms"] == []
    assert services.scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"] == []


def test_deregistering_takes_everything_along(services: Services) -> None:
    services.create()
    names = services.register()
    services.track(names)
    services.scaling.put_scheduled_action(**names, **ACTION)
    services.scaling.deregister_scalable_target(**names)
    assert services.cloudwatch.describe_alarms()["MetricAlarms"] == []
    assert services.scaling.describe_scheduled_actions(ServiceNamespace="dynamodb")["ScheduledActions"] == []
    with refused("ObjectNotFoundException"):
        services.scaling.deregister_scalable_target(**names)


def test_tags_come_and_go(services: Services) -> None:
    services.create()
    arn = services.scaling.register_scalable_target(**NAMES, MinCapacity=1, MaxCapacity=9)[
        "ScalableTargetARN"
    ]
    services.scaling.tag_resource(ResourceARN=arn, Tags={"a": "1", "b": "2"})
    services.scaling.untag_resource(ResourceARN=arn, TagKeys=["a", "c"])
    assert services.scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"b": "2"}
    with refused("TooManyTagsException"):
        services.scaling.tag_resource(ResourceARN=arn, Tags={str(number): "" for number in range(50)})
    with refused("ResourceNotFoundException"):
        services.scaling.list_tags_for_resource(ResourceARN=arn[:-1] + "z")


# --- Schedules ------------------------------------------------------------------------------------


def test_scheduled_actions_set_limits_at_their_times(services: Services) -> None:
    """From midnight: 50 at 8:00, 20 at most at 20:00; the next day again."""
    services.create(units=10)
    names = services.register(5, 1000)
    services.scaling.put_scheduled_action(**names, **ACTION)
    services.scaling.put_scheduled_action(
        **names,
        ScheduledActionName="evening",
        Schedule="cron(0 20 * * ? *)",
        ScalableTargetAction={"MinCapacity": 5, "MaxCapacity": 20},
    )
    seen = []
    for _ in range(24):
        services.work(3600)
        seen.append(services.units()[0])
    assert seen == [10] * 7 + [50] * 12 + [20] * 5
    assert [(each["Description"], each["Cause"]) for each in reversed(services.activities())] == [
        ("Setting min capacity to 50", "scheduled action name morning was triggered"),
        ("Setting read capacity units to 50.", "minimum capacity was set to 50"),
        ("Setting min capacity to 5 and max capacity to 20", "scheduled action name evening was triggered"),
        ("Setting read capacity units to 20.", "maximum capacity was set to 20"),
    ]
    (target,) = services.scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (5, 20)


def test_zones_starts_and_ends(services: Services) -> None:
    """8:00 in New York is 13:00 UTC in November; not before the start, not after the end."""
    services.create(units=10)
    names = services.register(5, 1000)
    start, end = services.now() + timedelta(days=1), services.now() + timedelta(days=2)
    services.scaling.put_scheduled_action(
        **names, **ACTION, Timezone="America/New_York", StartTime=start, EndTime=end
    )
    (action,) = services.scaling.describe_scheduled_actions(ServiceNamespace="dynamodb")["ScheduledActions"]
    assert (action["Timezone"], action["StartTime"], action["EndTime"]) == ("America/New_York", start, end)
    services.work(86_400 + 13 * 3600 - 1)
    assert services.units()[0] == 10
    services.work(1)
    assert services.units()[0] == 50
    lower = {"ReadCapacityUnits": 7, "WriteCapacityUnits": 10}
    services.dynamodb.update_table(TableName="Orders", ProvisionedThroughput=lower)
    services.work(3 * 86_400)
    assert services.units()[0] == 7, "over"


def test_moments_missed_count_once(services: Services) -> None:
    services.create(units=10)
    names = services.register(5, 1000)
    services.scaling.put_scheduled_action(**names, **{**ACTION, "Schedule": "rate(1 hour)"})
    services.work(86_400)
    causes = [each["Cause"] for each in services.activities()]
    assert causes.count("scheduled action name morning was triggered") == 1


def test_a_rate_is_counted_from_the_start_of_its_action(services: Services) -> None:
    """As the user guide says it: "every 5 hours, starting on" a date."""
    services.create(units=10)
    names = services.register(5, 1000)
    services.scaling.put_scheduled_action(
        **names,
        **{**ACTION, "Schedule": "rate(5 hours)"},
        StartTime=services.now(1800),
        EndTime=services.now(36_000),
    )
    acted = []
    for minute in range(0, 12 * 60, 10):
        before = len(services.activities())
        services.scaling.register_scalable_target(**names, MinCapacity=5)
        services.work(600)
        acted += [minute + 10] * any(
            "scheduled" in activity["Cause"]
            for activity in services.activities()[: len(services.activities()) - before]
        )
    assert acted == [30, 330]


def test_suspended_schedules_and_single_moments(services: Services) -> None:
    services.create(units=10)
    names = services.register(5, 1000, SuspendedState={"ScheduledScalingSuspended": True})
    services.scaling.put_scheduled_action(**names, **{**ACTION, "Schedule": "at(2023-11-15T08:00:00)"})
    services.work(9 * 3600)
    assert (services.units()[0], services.activities()) == (10, [])


def test_target_deleted_during_a_step_is_skipped(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("Orders", "Others"):
        services.create(table)
        suspended = {"ScheduledScalingSuspended": True}
        names = services.register(5, 1000, ResourceId=f"table/{table}", SuspendedState=suspended)
        services.scaling.put_scheduled_action(**names, **{**ACTION, "Schedule": "at(2023-11-15T08:00:00)"})
    process = AutoScaler._process
    processed: list[Any] = []

    async def process_and_deregister(scaler: AutoScaler, target: Target) -> bool:
        processed.append(target.name)
        for other in scaler.targets.all():
            if other is not target:
                await scaler.targets.delete(other)
        return await process(scaler, target)

    monkeypatch.setattr(AutoScaler, "_process", process_and_deregister)
    services.work(9 * 3600)
    (left,) = services.scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert {name[1] for name in processed} == {left["ResourceId"]}


def test_actions_are_changed_and_deleted(open_services: Callable[..., Services], tmp_path: Path) -> None:
    clock = ManualClock(1_700_006_400.0)
    services = open_services(tmp_path, clock=clock)
    services.create(units=10)
    names = services.register(5, 1000)
    services.scaling.put_scheduled_action(**names, **ACTION)
    services.scaling.put_scheduled_action(
        **names, ScheduledActionName="morning", ScalableTargetAction={"MinCapacity": 60}
    )
    services.close()
    services = open_services(tmp_path, clock=clock)
    services.work(8 * 3600)
    assert services.units()[0] == 60
    services.scaling.delete_scheduled_action(**names, ScheduledActionName="morning")
    with refused("ObjectNotFoundException"):
        services.scaling.delete_scheduled_action(**names, ScheduledActionName="morning")


# --- Rejections -------------------------------------------------------------------------------------

INVALID: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such service": (
        "register_scalable_target",
        {**NAMES, "ServiceNamespace": "trains", "MinCapacity": 1, "MaxCapacity": 2},
        "1 validation error detected: Value 'trains' at 'serviceNamespace' failed to satisfy constraint: "
        "Member must satisfy enum value set: [",
    ),
    "another service": (
        "register_scalable_target",
        {**NAMES, "ServiceNamespace": "ecs", "MinCapacity": 1, "MaxCapacity": 2},
        "Unsupported service namespace, resource type or scalable dimension",
    ),
    "an index's dimension for a table": (
        "register_scalable_target",
        {
            **NAMES,
            "ScalableDimension": "dynamodb:index:ReadCapacityUnits",
            "MinCapacity": 1,
            "MaxCapacity": 2,
        },
        "Unsupported service namespace, resource type or scalable dimension",
    ),
    "no such table": (
        "register_scalable_target",
        {**target_of("Nowhere"), "MinCapacity": 1, "MaxCapacity": 2},
        "DynamoDB table does not exist: table/Nowhere",
    ),
    "no such index": (
        "register_scalable_target",
        {**target_of(index="none"), "MinCapacity": 1, "MaxCapacity": 2},
        "DynamoDB index does not exist: table/Orders/index/none",
    ),
    "no limits": (
        "register_scalable_target",
        target_of(direction="Write"),
        "MinCapacity and MaxCapacity are required",
    ),
    "upside down": (
        "register_scalable_target",
        {**NAMES, "MinCapacity": 3, "MaxCapacity": 2},
        "Maximum capacity cannot be less than minimum capacity",
    ),
    "nothing at least": (
        "register_scalable_target",
        {**NAMES, "MinCapacity": 0, "MaxCapacity": 2},
        "Minimum capacity cannot be less than 1",
    ),
    "no members": (
        "register_scalable_target",
        {},
        "3 validation errors detected: Value null at 'serviceNamespace' failed to satisfy constraint: "
        "Member must not be null; ",
    ),
    "too large a page": (
        "describe_scalable_targets",
        {"ServiceNamespace": "dynamodb", "MaxResults": 51},
        "MaxResults must be between 1 and 50, not 51",
    ),
    "a dimension of nothing": (
        "describe_scalable_targets",
        {"ServiceNamespace": "dynamodb", "ScalableDimension": NAMES["ScalableDimension"]},
        "Resource ID must be specified if scalable dimension is specified",
    ),
    "an end that no counter of nanoseconds holds": (
        "put_scheduled_action",
        {**NAMES, **ACTION, "EndTime": datetime(9999, 12, 31, tzinfo=UTC)},
        "Start and end times lie between the years 1970 and 2500",
    ),
    "a moment that no counter of nanoseconds holds": (
        "put_scheduled_action",
        {**NAMES, **ACTION, "Schedule": "at(9999-12-31T23:59:59)"},
        "The schedule names no moment before the year 2501",
    ),
    "step scaling": (
        "put_scaling_policy",
        {**NAMES, **POLICY, "PolicyType": "StepScaling"},
        "StepScaling is not supported for service namespace: dynamodb",
    ),
    "no type": ("put_scaling_policy", {**NAMES, "PolicyName": "p"}, "PolicyType must be specified"),
    "too low a target": (
        "put_scaling_policy",
        {**NAMES, **POLICY, "TargetTrackingScalingPolicyConfiguration": {**TRACKING, "TargetValue": 9.9}},
        "For predefined metric type DynamoDBReadCapacityUtilization, target value must be between '10.0' and "
        "'90.0', but was '9.9'.",
    ),
    "the other metric": (
        "put_scaling_policy",
        {
            **NAMES,
            **POLICY,
            "TargetTrackingScalingPolicyConfiguration": {
                "TargetValue": 70,
                "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
            },
        },
        "Scalable dimension dynamodb:table:ReadCapacityUnits only supports the following predefined metric "
        "types: DynamoDBReadCapacityUtilization",
    ),
    "a metric of one's own": (
        "put_scaling_policy",
        {
            **NAMES,
            **POLICY,
            "TargetTrackingScalingPolicyConfiguration": {
                "TargetValue": 70,
                "CustomizedMetricSpecification": {},
            },
        },
        "Scalable dimension dynamodb:table:ReadCapacityUnits does not support CustomizedMetricSpecification.",
    ),
    "both metrics": (
        "put_scaling_policy",
        {
            **NAMES,
            **POLICY,
            "TargetTrackingScalingPolicyConfiguration": {**TRACKING, "CustomizedMetricSpecification": {}},
        },
        "Only one of PredefinedMetricSpecification or CustomizedMetricSpecification can be set for target "
        "tracking scaling.",
    ),
    "no metric": (
        "put_scaling_policy",
        {**NAMES, **POLICY, "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70}},
        "PredefinedMetricSpecification or CustomizedMetricSpecification must be set for target tracking "
        "scaling.",
    ),
    "two kinds of policies": (
        "put_scaling_policy",
        {**NAMES, **POLICY, "StepScalingPolicyConfiguration": {}},
        "You must only provide a single scaling policy configuration, which must match the scaling policy "
        "type specified.",
    ),
    "a cooldown before its time": (
        "put_scaling_policy",
        {**NAMES, **POLICY, "TargetTrackingScalingPolicyConfiguration": {**TRACKING, "ScaleInCooldown": -1}},
        "ScaleInCooldown must be between 0 and",
    ),
    "no schedule": (
        "put_scheduled_action",
        {**NAMES, "ScheduledActionName": "a", "ScalableTargetAction": {"MinCapacity": 1}},
        "Schedule must be specified",
    ),
    "what schedule": (
        "put_scheduled_action",
        {**NAMES, **ACTION, "Schedule": "often"},
        "Invalid schedule expression: ",
    ),
    "never": (
        "put_scheduled_action",
        {**NAMES, **ACTION, "Schedule": "at(2001-01-01T00:00:00)"},
        "The schedule names no moment in the future",
    ),
    "nowhere": (
        "put_scheduled_action",
        {**NAMES, **ACTION, "Timezone": "../../etc/passwd"},
        "Invalid timezone: ../../etc/passwd",
    ),
    "no change": (
        "put_scheduled_action",
        {**NAMES, **ACTION, "ScalableTargetAction": {}},
        "At least one of minimum capacity and maximum capacity should be provided",
    ),
    "over before it begins": (
        "put_scheduled_action",
        {
            **NAMES,
            **ACTION,
            "StartTime": datetime(2030, 1, 2, tzinfo=UTC),
            "EndTime": datetime(2030, 1, 1, tzinfo=UTC),
        },
        "StartTime must be before EndTime",
    ),
    "a name that is none": (
        "put_scheduled_action",
        {**NAMES, **ACTION, "ScheduledActionName": "a:b"},
        "1 validation error detected: Value 'a:b' at 'scheduledActionName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: ",
    ),
    "forecasts": (
        "get_predictive_scaling_forecast",
        {**NAMES, "PolicyName": "p", "StartTime": 0, "EndTime": 1},
        "GetPredictiveScalingForecast is not offered by this version of Faradisc.",
    ),
}


@pytest.fixture(scope="module")
def refusing(
    on_engine: Callable[[], AbstractContextManager[None]], request: pytest.FixtureRequest
) -> Iterator[Services]:
    """A table with a registered target; refused requests change nothing, so one serves all."""
    if request.config.getoption("--endpoint") is not None:
        pytest.skip("needs a database in this process")
    with on_engine():
        services = Services()
        services.create()
        services.register()
    yield services
    with on_engine():
        services.close()


@pytest.mark.parametrize(("operation", "request_", "text"), INVALID.values(), ids=INVALID)
def test_invalid_requests(refusing: Services, operation: str, request_: dict[str, Any], text: str) -> None:
    with refused("ValidationException") as failure:
        getattr(refusing.scaling, operation)(**request_)
    assert failure.value.response["Error"]["Message"].startswith(text)


def test_what_is_not_there(refusing: Services) -> None:
    writes = target_of(direction="Write")
    for operation, more in (
        ("deregister_scalable_target", {}),
        ("put_scaling_policy", POLICY),
        ("delete_scaling_policy", {"PolicyName": "track"}),
        ("put_scheduled_action", ACTION),
        ("delete_scheduled_action", {"ScheduledActionName": "morning"}),
    ):
        with refused(
            "ObjectNotFoundException",
            "No scalable target registered for service namespace: dynamodb, resource ID: table/Orders, "
            "scalable dimension: dynamodb:table:WriteCapacityUnits",
        ):
            getattr(refusing.scaling, operation)(**writes, **more)
    with refused("ObjectNotFoundException"):
        refusing.scaling.delete_scaling_policy(**NAMES, PolicyName="other")
    with refused("InvalidNextTokenException"):
        refusing.scaling.describe_scalable_targets(ServiceNamespace="dynamodb", NextToken="foreign")


def test_one_policy_per_metric(services: Services) -> None:
    services.create()
    names = services.register()
    services.track(names)
    with refused(
        "ValidationException",
        "Only one TargetTrackingScaling policy for a given metric specification is allowed.",
    ):
        services.scaling.put_scaling_policy(**names, **{**POLICY, "PolicyName": "second"})


def test_reset_forgets_targets_and_alarms(services: Services) -> None:
    services.create()
    services.track(services.register())
    services.process.local.reset()
    assert services.scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"] == []
    assert services.cloudwatch.describe_alarms()["MetricAlarms"] == []
    assert services.cloudwatch.describe_alarm_history()["AlarmHistoryItems"] == []
