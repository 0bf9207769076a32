"""Vectors V120 to V128 of capacity.md section 4.7 on the wire: reads, minutes, alarms, UpdateTable.

The same vectors over the pure core stand in tests/unit/capacity/test_autoscaling_vectors.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.other_services import Services, target_of


@pytest.fixture
def scaled(services: Services) -> Services:
    """100 read units, target 70 %, limits 5 and 1,000."""
    services.create()
    services.track(services.register())
    return services


@pytest.mark.parametrize(("units", "high", "low"), [(5, 210, 150), (1, 42, 30)])
def test_v120_thresholds_of_the_alarms(services: Services, units: int, high: int, low: int) -> None:
    """V120, M2."""
    services.create(units=units)
    services.track(services.register(minimum=1))
    above, below = services.alarm("AlarmHigh"), services.alarm("AlarmLow")
    assert (above["Threshold"], above["Period"], above["EvaluationPeriods"]) == (high, 60, 2)
    assert (below["Threshold"], below["Period"], below["EvaluationPeriods"]) == (low, 60, 15)
    assert (above["ComparisonOperator"], above["Statistic"]) == ("GreaterThanThreshold", "Sum")
    assert (below["ComparisonOperator"], below["MetricName"]) == (
        "LessThanThreshold",
        "ConsumedReadCapacityUnits",
    )
    assert above["Dimensions"] == [{"Name": "TableName", "Value": "Orders"}]


def test_v121_two_minutes_above_the_target(scaled: Services) -> None:
    """V121, S3, X: to 129, a minute's delay and 30 seconds after the second full minute."""
    scaled.minutes(2, 90)
    scaled.work(89)
    assert scaled.units() == (100, 100)
    scaled.work(1)
    assert scaled.units() == (129, 100)
    (activity,) = scaled.activities()
    assert activity["StatusCode"] == "Successful"
    assert activity["Description"] == "Setting read capacity units to 129."
    assert "AlarmHigh" in activity["Cause"] and activity["Cause"].endswith("triggered policy track")


def test_v122_spikes_of_one_minute_never_scale(scaled: Services) -> None:
    """V122, S3."""
    scaled.minutes(20, lambda minute: 200 if minute % 2 == 0 else 10)
    scaled.work(120)
    assert (scaled.units(), scaled.activities()) == ((100, 100), [])


def test_v123_fifteen_quiet_minutes(scaled: Services) -> None:
    """V123, S3, X: to 50, one decrease used."""
    scaled.minutes(15, 35)
    scaled.work(89)
    assert scaled.units() == (100, 100)
    scaled.work(1)
    described = scaled.dynamodb.describe_table(TableName="Orders")["Table"]["ProvisionedThroughput"]
    assert (described["ReadCapacityUnits"], described["NumberOfDecreasesToday"]) == (50, 1)


def test_v124_one_busy_minute_among_quiet_ones(scaled: Services) -> None:
    """V124, S3."""
    scaled.minutes(29, lambda minute: 60 if minute == 14 else 10)
    scaled.work(30)
    assert scaled.units() == (100, 100)


def test_v125_a_spike_is_over_before_the_units_come(scaled: Services) -> None:
    """V125, S3, X: 400/s for 90 s, then nothing: to 286, after the spike."""
    scaled.read(24_000)
    scaled.work(60)
    scaled.read(12_000)
    scaled.work(60)
    assert scaled.units() == (100, 100)
    scaled.work(90)
    assert scaled.units() == (286, 100)


def test_v126_a_minimum_above_the_capacity_acts_at_once(services: Services) -> None:
    """V126, M2."""
    services.create(units=5)
    services.register(minimum=10)
    assert services.units() == (10, 5)
    (activity,) = services.activities()
    assert activity["Cause"] == "minimum capacity was set to 10"
    services.register(minimum=1, maximum=3)
    assert services.units() == (3, 5)
    assert services.activities()[0]["Cause"] == "maximum capacity was set to 3"


def test_v127_a_manual_raise_of_an_idle_table_is_reverted(services: Services) -> None:
    """V127, M2: within two minutes (82 s measured)."""
    services.create(units=5)
    services.track(services.register(minimum=5))
    services.minutes(20, 0)
    assert services.alarm("AlarmLow")["StateValue"] == "ALARM"
    raised = {"ReadCapacityUnits": 50, "WriteCapacityUnits": 5}
    services.dynamodb.update_table(TableName="Orders", ProvisionedThroughput=raised)
    assert services.units() == (50, 5)
    services.work(60)
    services.work(60)
    assert services.units() == (5, 5)


def test_v128_the_fifth_scale_in_waits_for_the_budget(scaled: Services) -> None:
    """V128, D, M2: skipped within an hour of the fourth, reported once as failed, done when it is allowed."""
    for units in (99, 98, 97, 96):
        lower = {"ReadCapacityUnits": 100, "WriteCapacityUnits": units}
        scaled.dynamodb.update_table(TableName="Orders", ProvisionedThroughput=lower)
    scaled.minutes(17, 35)
    scaled.work(120)
    assert scaled.units() == (100, 96)
    (failed,) = scaled.activities()
    assert failed["StatusCode"] == "Failed"
    assert failed["StatusMessage"].startswith(
        "Failed to set read capacity units to 50. Reason: Subscriber limit"
    )
    scaled.minutes(40, 35)
    assert scaled.units() == (100, 96)
    scaled.minutes(5, 35)
    assert scaled.units() == (50, 96)
    assert [activity["StatusCode"] for activity in scaled.activities()] == ["Successful", "Failed"]


# --- More of section 2.13 -------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [30, pytest.param(480, marks=pytest.mark.slow)])
def test_a_day_of_traffic(services: Services, minutes: int) -> None:
    """Quiet, busy and quiet again: capacity follows, and each change is an activity.

    400 units a minute are 6.7 a second and need 10 at 70 %; 100 a minute need 3.
    """
    services.create()
    services.track(services.register(minimum=1))
    for units in (100, 400, 100):
        services.minutes(minutes, units / 60)
    reported = [
        activity["Description"].split()[-1].rstrip(".") for activity in reversed(services.activities())
    ]
    assert reported == ["3", "10", "3"]
    assert services.units() == (3, 100)


def test_a_jump_of_a_day_is_caught_up_with(scaled: Services) -> None:
    """Nothing was consumed in it, so one scale-in to the minimum is what follows."""
    scaled.minutes(3, 60)
    scaled.work(86_400)
    assert scaled.units() == (5, 100)
    assert len(scaled.activities()) == 1


def test_a_global_index_scales_by_itself(services: Services) -> None:
    key = [{"AttributeName": "g", "KeyType": "HASH"}]
    ten = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10}
    index = {"IndexName": "by-g", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    names = [{"AttributeName": name, "AttributeType": "S"} for name in "pg"]
    services.create(
        AttributeDefinitions=names, GlobalSecondaryIndexes=[{**index, "ProvisionedThroughput": ten}]
    )
    names_of_target = target_of(index="by-g", direction="Write")
    services.track(services.register(minimum=1, **names_of_target))
    for minute in range(3):
        for number in range(120):
            item = {"p": {"S": f"{minute}.{number}"}, "g": {"S": "g"}, "d": {"S": "x" * 9_000}}
            services.dynamodb.put_item(TableName="Orders", Item=item)
        services.work(60)
    services.work(90)
    # 120 writes of 9 units in a minute are 18 a second: 26 at 70 %.
    assert services.units(index="by-g") == (10, 26)
    assert services.units() == (100, 100), "the table has no target"
    assert "TargetTracking-table/Orders/index/by-g-AlarmHigh-" in services.alarm("AlarmHigh")["AlarmName"]


def test_suspended_scaling_does_nothing(scaled: Services) -> None:
    scaled.register(SuspendedState={"DynamicScalingOutSuspended": True})
    scaled.minutes(4, 90)
    assert scaled.units() == (100, 100)
    scaled.register(SuspendedState={"DynamicScalingOutSuspended": False, "DynamicScalingInSuspended": True})
    scaled.minutes(3, 90)
    scaled.work(90)
    assert scaled.units() == (129, 100)
    scaled.minutes(20, 1)
    assert scaled.units() == (129, 100)


def test_cooldowns_and_disabled_scale_in(services: Services) -> None:
    services.create()
    names = services.register()
    services.track(names, ScaleOutCooldown=600)
    services.minutes(3, 90)
    services.work(90)
    assert services.units() == (129, 100)
    services.minutes(5, 200)
    assert services.units() == (286, 100), "a larger scale-out does not wait"
    services.track(names, DisableScaleIn=True)
    services.minutes(20, 1)
    assert services.units() == (286, 100)


def test_a_maximum_holds_and_is_reported_of(scaled: Services) -> None:
    scaled.register(maximum=100)
    scaled.minutes(4, 200)
    assert scaled.units() == (100, 100)
    assert scaled.activities() == []
    (reported,) = scaled.activities(IncludeNotScaledActivities=True)
    assert reported["NotScaledReasons"] == [
        {"Code": "AlreadyAtMaxCapacity", "MaxCapacity": 100, "CurrentCapacity": 100}
    ]


def test_states_of_the_alarms_are_seen_in_cloudwatch(scaled: Services) -> None:
    scaled.minutes(3, 90)
    high = scaled.alarm("AlarmHigh")
    assert (high["StateValue"], scaled.alarm("AlarmLow")["StateValue"]) == ("ALARM", "INSUFFICIENT_DATA")
    assert high["StateReason"].startswith(
        "Threshold Crossed: 2 out of the last 2 datapoints [5400.0 (15/11/23"
    )
    history = scaled.cloudwatch.describe_alarm_history(
        AlarmName=high["AlarmName"], HistoryItemType="StateUpdate"
    )
    assert [event["HistorySummary"] for event in history["AlarmHistoryItems"]] == [
        "Alarm updated from OK to ALARM",
        "Alarm updated from INSUFFICIENT_DATA to OK",
    ]
    scaled.work(90)
    assert scaled.alarm("AlarmHigh")["Threshold"] == pytest.approx(129 * 0.7 * 60)
    assert scaled.alarm("ProvisionedCapacityLow")["Threshold"] == 129


def test_a_foreign_change_is_seen_by_the_capacity_alarm(scaled: Services) -> None:
    """Three points of five minutes, section 2.13; the thresholds are redrawn then."""
    scaled.minutes(1, 60)
    raised = {"ReadCapacityUnits": 500, "WriteCapacityUnits": 100}
    scaled.dynamodb.update_table(TableName="Orders", ProvisionedThroughput=raised)
    scaled.minutes(14, 60)
    assert scaled.alarm("AlarmHigh")["Threshold"] == 4200
    scaled.minutes(3, 60)
    assert scaled.alarm("AlarmHigh")["Threshold"] == 21_000


def test_tables_that_cannot_be_scaled_rest(scaled: Services) -> None:
    """On demand, or gone: nothing happens, and nothing is counted for later."""
    scaled.minutes(2, 90)
    scaled.dynamodb.update_table(TableName="Orders", BillingMode="PAY_PER_REQUEST")
    scaled.work(300)
    assert scaled.units() == (0, 0)
    scaled.dynamodb.delete_table(TableName="Orders")
    scaled.work(300)
    assert scaled.activities() == []
    scaled.create()
    scaled.minutes(3, 90)
    scaled.work(90)
    assert scaled.units() == (129, 100), "the target is of the name"


def test_both_directions_of_a_table_scale_in_the_same_minute(open_services: Callable[..., Services]) -> None:
    """The UpdateTable of one makes the other wait for ACTIVE, not look at new minutes."""
    services = open_services(transition_ms=1000)
    units = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}
    services.dynamodb.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        ProvisionedThroughput=units,
    )
    services.work(60)
    for direction in ("Read", "Write"):
        services.track(services.register(1, 100, **target_of(direction=direction)))
    services.work(60)
    for _ in range(2):
        for number in range(108):
            services.dynamodb.put_item(TableName="Orders", Item={"p": {"S": f"{number}"}})
            services.dynamodb.get_item(TableName="Orders", Key={"p": {"S": f"{number}"}}, ConsistentRead=True)
        services.work(60)
    services.work(60)
    services.work(30)  # both UpdateTables are due: one is made
    services.work(1)
    services.work(1)
    assert services.units() == (3, 3)


def test_a_restart_keeps_targets_and_forgets_minutes(
    open_services: Callable[..., Services], tmp_path: Path
) -> None:
    """A busy table must not look idle after a restart: its history begins anew."""
    clock = ManualClock(1_700_006_400.0)
    services = open_services(tmp_path, clock=clock)
    services.create()
    names = services.register()
    arn = services.track(names)["PolicyARN"]
    services.minutes(20, 60)
    services.close()
    services = open_services(tmp_path, clock=clock)
    (policy,) = services.scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"]
    assert policy["PolicyARN"] == arn
    assert services.alarm("AlarmHigh")["StateValue"] == "OK"
    services.minutes(10, 60)
    assert (services.units(), services.activities()) == ((100, 100), [])
    services.minutes(3, 90)
    services.work(90)
    assert services.units() == (129, 100)


def test_a_slow_update_is_waited_for(open_services: Callable[..., Services]) -> None:
    """While the table is UPDATING the activity is in progress and nothing else is tried."""
    services = open_services(transition_ms=30_000)
    services.dynamodb.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )
    services.register(minimum=10)
    assert services.activities() == []
    services.work(30)
    (activity,) = services.activities()
    assert (activity["StatusCode"], services.units()) == ("InProgress", (5, 5))
    assert "EndTime" not in activity
    services.work(30)
    (activity,) = services.activities()
    assert (activity["StatusCode"], services.units()) == ("Successful", (10, 5))
    assert activity["EndTime"] > activity["StartTime"]


def test_a_refused_update_is_a_failed_activity(services: Services) -> None:
    services.create()
    services.register(minimum=50_000, maximum=60_000)
    (activity,) = services.activities()
    assert activity["StatusCode"] == "Failed"
    assert "Reason: " in activity["StatusMessage"]
    assert services.units() == (100, 100)


def test_regions_are_apart_when_they_are(open_services: Callable[..., Services]) -> None:
    def targets(services: Services, region: str) -> list[Any]:
        client = services.client("application-autoscaling", region)
        found: list[Any] = client.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
        return found

    together, apart = open_services(), open_services(per_region=True)
    for services in (together, apart):
        services.create()
        services.register()
    assert len(targets(together, "eu-west-1")) == 1
    assert (len(targets(apart, "eu-west-1")), len(targets(apart, "us-east-1"))) == (0, 1)
