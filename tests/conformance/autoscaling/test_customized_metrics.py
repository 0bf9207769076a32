"""Target tracking of a metric that is no utilization: CustomizedMetricSpecification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.other_services import Services, target_of
from fixtures.schemas import refused

QUEUE = {"Namespace": "Shop", "MetricName": "Backlog", "Dimensions": [{"Name": "Queue", "Value": "q"}]}
AVERAGE = {**QUEUE, "Statistic": "Average"}
READS = {
    "Namespace": "AWS/DynamoDB",
    "MetricName": "ConsumedReadCapacityUnits",
    "Dimensions": [{"Name": "TableName", "Value": "Orders"}],
}


def put(services: Services, specification: dict[str, Any], target: float = 100, **more: Any) -> Any:
    return services.scaling.put_scaling_policy(
        **target_of(),
        PolicyName="own",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": target,
            "CustomizedMetricSpecification": specification,
            **more,
        },
    )


def minutes(services: Services, count: int, backlog: float | None) -> None:
    for _ in range(count):
        if backlog is not None:
            services.cloudwatch.put_metric_data(
                Namespace=QUEUE["Namespace"],
                MetricData=[
                    {
                        "MetricName": QUEUE["MetricName"],
                        "Dimensions": QUEUE["Dimensions"],
                        "Value": backlog,
                        "Timestamp": services.now(),
                    }
                ],
            )
        services.work(60)


@pytest.fixture
def shop(services: Services) -> Services:
    """A table of 10 units whose reads follow the backlog of a queue, of which 100 is right."""
    services.create(units=10)
    services.register(1, 1000)
    put(services, AVERAGE)
    return services


def test_units_follow_the_ratio_of_value_and_target(shop: Services) -> None:
    minutes(shop, 2, 250)
    minutes(shop, 2, 50)
    shop.work(90)
    assert shop.units() == (10, 10), "two minutes above the target are not three"
    minutes(shop, 3, 250)
    shop.work(90)
    assert shop.units() == (25, 10)
    minutes(shop, 15, 40)
    shop.work(150)
    assert shop.units() == (10, 10)


def test_a_little_below_the_target_is_no_reason_to_scale_in(shop: Services) -> None:
    minutes(shop, 20, 95)
    shop.work(150)
    assert shop.units() == (10, 10)


def test_minutes_without_data_decide_nothing(shop: Services) -> None:
    minutes(shop, 3, 250)
    shop.work(90)
    assert shop.units() == (25, 10)
    minutes(shop, 30, None)
    assert shop.units() == (25, 10)
    assert {shop.alarm(kind)["StateValue"] for kind in ("AlarmHigh", "AlarmLow")} == {"INSUFFICIENT_DATA"}


def test_limits_cooldowns_and_scale_in_hold(services: Services) -> None:
    services.create(units=10)
    services.register(5, 12)
    put(services, AVERAGE, DisableScaleIn=True)
    minutes(services, 5, 1e12)
    assert services.units() == (12, 10)
    minutes(services, 20, 1)
    assert services.units() == (12, 10)


def test_metric_math_over_metrics_of_the_table(services: Services) -> None:
    """90 units a second, of which 30 for each of three are right."""
    services.create(units=100)
    services.register(1, 1000)
    specification = {
        "Metrics": [
            {"Id": "used", "MetricStat": {"Metric": READS, "Stat": "Sum"}, "ReturnData": False},
            {"Id": "rate", "Expression": "used / PERIOD(used)", "ReturnData": True},
        ]
    }
    put(services, specification, target=30)
    services.minutes(3, 90)
    services.work(90)
    assert services.units() == (300, 100)
    high = services.alarm("AlarmHigh")
    assert [query["Id"] for query in high["Metrics"]] == ["used", "rate"]
    (policy,) = services.scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"]
    reported = policy["TargetTrackingScalingPolicyConfiguration"]
    assert reported == {"TargetValue": 30, "CustomizedMetricSpecification": specification}


def test_alarms_stand_at_the_target_and_a_tenth_below(shop: Services) -> None:
    (policy,) = shop.scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"]
    assert len(policy["Alarms"]) == len(shop.cloudwatch.describe_alarms()["MetricAlarms"]) == 2
    high, low = shop.alarm("AlarmHigh"), shop.alarm("AlarmLow")
    assert (high["Threshold"], high["EvaluationPeriods"]) == (100, 3)
    assert (low["Threshold"], low["EvaluationPeriods"]) == (90, 15)
    assert {name: high[name] for name in AVERAGE} == AVERAGE
    minutes(shop, 4, 250)
    assert shop.alarm("AlarmHigh")["StateValue"] == "ALARM"


def test_a_policy_may_change_from_one_metric_to_another(shop: Services) -> None:
    minutes(shop, 1, 250)
    names = target_of()
    predefined = {
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}
    }
    request = {**names, "PolicyName": "own", "PolicyType": "TargetTrackingScaling"}
    member = "TargetTrackingScalingPolicyConfiguration"
    shop.scaling.put_scaling_policy(**request, **{member: {"TargetValue": 70, **predefined}})
    assert len(shop.cloudwatch.describe_alarms()["MetricAlarms"]) == 4
    put(shop, AVERAGE)
    alarms = shop.cloudwatch.describe_alarms()["MetricAlarms"]
    assert {alarm["MetricName"] for alarm in alarms} == {"Backlog"} and len(alarms) == 2
    with refused("ValidationException", SECOND):
        shop.scaling.put_scaling_policy(
            **{**request, "PolicyName": "second"}, **{member: {"TargetValue": 70, **predefined}}
        )
    shop.scaling.deregister_scalable_target(**names)
    assert shop.cloudwatch.describe_alarms()["MetricAlarms"] == []


def test_a_restart_keeps_the_policy(open_services: Callable[..., Services], tmp_path: Path) -> None:
    clock = ManualClock(1_700_006_400.0)
    services = open_services(tmp_path, clock=clock)
    services.create(units=10)
    services.register(1, 1000)
    put(services, AVERAGE)
    minutes(services, 2, None)
    minutes(services, 1, 50)
    services.close()
    services = open_services(tmp_path, clock=clock)
    minutes(services, 3, 250)
    services.work(150)
    assert services.units() == (25, 10)


EITHER = "Either a predefined or a customized metric specification must be specified"
SECOND = "A second scaling policy of a scalable target is not offered by this version of Faradisc."
_METRIC = {"Id": "m", "MetricStat": {"Metric": READS, "Stat": "Sum"}}

REFUSED: dict[str, tuple[dict[str, Any], float, str]] = {
    "no statistic": (QUEUE, 1, "Statistic must be specified in a CustomizedMetricSpecification"),
    "nothing": ({}, 1, "MetricName must be specified in a CustomizedMetricSpecification"),
    "both": (
        {**AVERAGE, "Metrics": [_METRIC]},
        1,
        "Metrics cannot be specified together with MetricName, Namespace, Statistic, Dimensions, Unit",
    ),
    "two returned": (
        {"Metrics": [_METRIC, {**_METRIC, "Id": "n"}]},
        1,
        "Exactly one element of the metrics list should return data",
    ),
    "a number": (
        {"Metrics": [{**_METRIC, "ReturnData": False}, {"Id": "e", "Expression": "SUM(m)"}]},
        1,
        "Id e is a number, not a time series",
    ),
    "a search": (
        {"Metrics": [{"Id": "e", "Expression": "SUM(SEARCH('reads', 'Sum', 60))"}]},
        1,
        "Error in expression \"SUM(SEARCH('reads', 'Sum', 60))\": the function SEARCH is not "
        "offered by this version of Faradisc",
    ),
    "too many": (
        {"Metrics": [{**_METRIC, "Id": f"m{n}", "ReturnData": not n} for n in range(11)]},
        1,
        "A CustomizedMetricSpecification has 10 metrics at most",
    ),
    "no target": (AVERAGE, 0, "TargetValue must be greater than 0, not 0"),
}


@pytest.mark.parametrize(("specification", "target", "text"), REFUSED.values(), ids=REFUSED)
def test_refused_specifications(
    services: Services, specification: dict[str, Any], target: float, text: str
) -> None:
    services.create(units=10)
    services.register(1, 1000)
    with refused("ValidationException", text):
        put(services, specification, target)
    both = {"PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}}
    with refused("ValidationException", EITHER):
        put(services, AVERAGE, **both)
    assert services.scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"] == []
