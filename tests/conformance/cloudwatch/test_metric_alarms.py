"""Alarms: put, described, evaluated on the clock, moved by hand, deleted; their history and rejections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.clock import ManualClock
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.alarms import Alarms
from fixtures.other_services import MIDNIGHT_S, MONITORING, Services
from fixtures.schemas import refused

TABLE = [{"Name": "TableName", "Value": "Orders"}]
READS = {"Namespace": MONITORING, "MetricName": "ConsumedReadCapacityUnits", "Dimensions": TABLE}
ALARM: dict[str, Any] = {
    "AlarmName": "busy",
    **READS,
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 2,
    "Threshold": 100.0,
    "ComparisonOperator": "GreaterThanThreshold",
}
TOPIC = "arn:aws:sns:us-east-1:000000000000:topic"


def described(services: Services, name: str = "busy") -> dict[str, Any]:
    (alarm,) = services.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return dict(alarm)


def history(services: Services, **more: Any) -> list[str]:
    """Summaries, oldest first."""
    events = services.cloudwatch.describe_alarm_history(ScanBy="TimestampAscending", **more)[
        "AlarmHistoryItems"
    ]
    return [event["HistorySummary"] for event in events]


def test_an_alarm_is_reported_as_it_was_put(services: Services) -> None:
    services.cloudwatch.put_metric_alarm(**ALARM, AlarmDescription="too many", OKActions=[TOPIC])
    alarm = described(services)
    assert alarm == {
        **ALARM,
        "AlarmDescription": "too many",
        "AlarmArn": "arn:aws:cloudwatch:us-east-1:000000000000:alarm:busy",
        "AlarmConfigurationUpdatedTimestamp": services.now(),
        "ActionsEnabled": True,
        "OKActions": [TOPIC],
        "AlarmActions": [],
        "InsufficientDataActions": [],
        "StateValue": "INSUFFICIENT_DATA",
        "StateReason": "Unchecked: Initial alarm creation",
        "StateUpdatedTimestamp": services.now(),
        "StateTransitionedTimestamp": services.now(),
    }


def test_states_follow_the_metric(services: Services) -> None:
    """Two minutes above 100 and back; each minute is looked at a minute after its end."""
    services.create()
    services.cloudwatch.put_metric_alarm(**ALARM)
    states = []
    for units in (120, 120, 50, 50, 0, 0):
        services.read(units)
        services.work(60)
        states.append(described(services)["StateValue"])
    services.work(60)
    states.append(described(services)["StateValue"])
    assert states == ["INSUFFICIENT_DATA", "INSUFFICIENT_DATA", "ALARM", "OK", "OK", "OK", "OK"]
    assert history(services, AlarmName="busy", HistoryItemType="StateUpdate") == [
        "Alarm updated from INSUFFICIENT_DATA to ALARM",
        "Alarm updated from ALARM to OK",
    ]
    alarm = described(services)
    assert alarm["StateReason"] == (
        "Threshold Crossed: 1 out of the last 2 datapoints [50.0 (15/11/23 00:02:00)] was not greater than "
        "the threshold (100.0) (minimum 1 datapoint for ALARM -> OK transition)."
    )
    assert orjson.loads(alarm["StateReasonData"]) == {
        "version": "1.0",
        "queryDate": "2023-11-15T00:04:00.000+0000",
        "startDate": "2023-11-15T00:01:00.000+0000",
        "statistic": "Sum",
        "period": 60,
        "recentDatapoints": [120.0, 50.0],
        "threshold": 100.0,
    }


@pytest.mark.parametrize(
    ("missing", "state"),
    [("breaching", "ALARM"), ("notBreaching", "OK"), ("missing", "INSUFFICIENT_DATA"), ("ignore", "OK")],
)
def test_missing_data_is_treated_as_asked(services: Services, missing: str, state: str) -> None:
    metric = {"Namespace": "Mine", "MetricName": "m", "Dimensions": []}
    services.cloudwatch.put_metric_alarm(**{**ALARM, **metric}, TreatMissingData=missing)
    for _ in range(3):
        services.cloudwatch.put_metric_data(Namespace="Mine", MetricData=[{"MetricName": "m", "Value": 1}])
        services.work(60)
    assert described(services)["StateValue"] == "OK"
    services.work(300)
    assert described(services)["StateValue"] == state


@pytest.mark.parametrize(
    ("missing", "states", "reason"),
    [
        (
            "ignore",
            ["ALARM"] * 6,
            "Threshold Crossed: 2 out of the last 2 datapoints [200.0 (15/11/23 00:01:00), 200.0 (15/11/23 "
            "00:00:00)] were greater than the threshold (100.0) (minimum 2 datapoints for "
            "INSUFFICIENT_DATA -> ALARM transition).",
        ),
        (
            "notBreaching",
            ["ALARM"] * 3 + ["OK"] * 3,
            "Threshold Crossed: 1 datapoint was received for 2 periods and 1 missing datapoint was treated "
            "as [NonBreaching].",
        ),
        (
            "missing",
            ["ALARM"] * 4 + ["INSUFFICIENT_DATA"] * 2,
            "Insufficient Data: 2 datapoints were unknown.",
        ),
    ],
)
def test_alarm_after_the_metric_has_ended(
    services: Services, missing: str, states: list[str], reason: str
) -> None:
    """Real points of a range of four come first; what is missing counts only where they are too few."""
    metric = {"Namespace": "Mine", "MetricName": "m", "Dimensions": []}
    services.cloudwatch.put_metric_alarm(**{**ALARM, **metric}, TreatMissingData=missing)
    for _ in range(3):
        services.cloudwatch.put_metric_data(Namespace="Mine", MetricData=[{"MetricName": "m", "Value": 200}])
        services.work(60)
    found = []
    for _ in range(6):
        services.work(60)
        found.append(described(services)["StateValue"])
    assert found == states
    assert described(services)["StateReason"] == reason


def test_alarm_on_a_table_ignores_missing_data_by_default(services: Services) -> None:
    metric = {"MetricName": "ReadThrottleEvents"}
    services.create()
    services.cloudwatch.put_metric_alarm(**{**ALARM, **metric})
    services.cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="drill")
    services.work(900)
    assert described(services)["StateValue"] == "ALARM"


def test_some_of_the_last_points(services: Services) -> None:
    services.create()
    services.cloudwatch.put_metric_alarm(**{**ALARM, "EvaluationPeriods": 5}, DatapointsToAlarm=2)
    services.minutes(6, lambda minute: 2 if minute in (1, 4) else 1)
    services.work(60)
    assert described(services)["StateValue"] == "ALARM"


def test_an_alarm_on_an_expression(services: Services) -> None:
    """Utilisation: consumed over 60 seconds by provisioned."""
    services.create(units=10)
    gauge = {**READS, "MetricName": "ProvisionedReadCapacityUnits"}
    services.cloudwatch.put_metric_alarm(
        AlarmName="used",
        EvaluationPeriods=1,
        Threshold=70.0,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        Metrics=[
            {"Id": "c", "MetricStat": {"Metric": READS, "Period": 300, "Stat": "Sum"}, "ReturnData": False},
            {
                "Id": "p",
                "MetricStat": {"Metric": gauge, "Period": 300, "Stat": "Average"},
                "ReturnData": False,
            },
            {"Id": "used", "Expression": "100 * c / PERIOD(c) / p", "Label": "%"},
        ],
    )
    services.work(300)
    services.minutes(5, 7)
    services.work(60)
    assert described(services, "used")["StateValue"] == "ALARM"
    services.minutes(9, 1)
    assert described(services, "used")["StateValue"] == "OK"


def test_a_jump_of_hours_has_every_state_in_its_history(services: Services) -> None:
    services.create()
    services.cloudwatch.put_metric_alarm(**ALARM)
    services.minutes(2, 3)
    services.work(6 * 3600)
    assert history(services, HistoryItemType="StateUpdate") == [
        "Alarm updated from INSUFFICIENT_DATA to ALARM",
        "Alarm updated from ALARM to OK",
    ]
    assert described(services)["StateTransitionedTimestamp"] < services.now(-5 * 3600)


def test_states_survive_a_restart(open_services: Callable[..., Services], tmp_path: Path) -> None:
    """Metrics do not: the state stays until all that the alarm looks at lies after the start."""
    clock = ManualClock(MIDNIGHT_S)
    services = open_services(tmp_path, clock=clock)
    services.create()
    services.cloudwatch.put_metric_alarm(**ALARM)
    services.minutes(3, 3)
    before = described(services)
    assert before["StateValue"] == "ALARM"
    summaries = history(services)
    services.close()
    services = open_services(tmp_path, clock=clock)
    services.minutes(2, 3)
    assert (described(services), history(services)) == (before, summaries)
    services.minutes(2, 0)
    assert described(services)["StateValue"] == "OK"


def test_an_alarm_that_is_deleted_while_another_is_looked_at_stays_deleted(
    open_services: Callable[..., Services], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock(MIDNIGHT_S)
    services = open_services(tmp_path, clock=clock)
    services.create()
    for name in ("busy", "other"):
        services.cloudwatch.put_metric_alarm(**{**ALARM, "AlarmName": name})
    move = Alarms.move

    async def move_and_delete(alarms: Alarms, alarm: Alarm, *change: Any) -> None:
        if len(alarms.all()) == 2:
            await alarms.delete([each for each in alarms.all() if each is not alarm])
        await move(alarms, alarm, *change)

    monkeypatch.setattr(Alarms, "move", move_and_delete)
    services.minutes(3, 3)
    services.close()
    services = open_services(tmp_path, clock=clock)
    (left,) = services.cloudwatch.describe_alarms()["MetricAlarms"]
    (deleted,) = {"busy", "other"} - {left["AlarmName"]}
    assert history(services, AlarmName=deleted)[-1] == f'Alarm "{deleted}" deleted'


def test_set_by_hand_until_the_next_look(services: Services) -> None:
    services.create()
    services.cloudwatch.put_metric_alarm(**ALARM, AlarmActions=[TOPIC])
    reason = {"StateReason": "drill", "StateReasonData": '{"by": "hand"}'}
    services.cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", **reason)
    alarm = described(services)
    assert (alarm["StateValue"], alarm["StateReason"]) == ("ALARM", "drill")
    assert history(services, AlarmName="busy")[1:] == [
        "Alarm updated from INSUFFICIENT_DATA to ALARM",
        f"Failed to execute action {TOPIC}",
    ], "only a webhook receives actions, and the history says so"
    services.minutes(3, 1)
    assert described(services)["StateValue"] == "OK"


def test_actions_are_switched(services: Services) -> None:
    services.cloudwatch.put_metric_alarm(**ALARM, AlarmActions=[TOPIC])
    services.cloudwatch.disable_alarm_actions(AlarmNames=["busy", "unknown"])
    assert described(services)["ActionsEnabled"] is False
    services.cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="drill")
    assert f"Failed to execute action {TOPIC}" not in history(services)
    services.cloudwatch.enable_alarm_actions(AlarmNames=["busy"])
    assert described(services)["ActionsEnabled"] is True


def test_filters_and_pages(services: Services) -> None:
    for number in range(7):
        more = {"AlarmActions": [TOPIC]} if number == 3 else {}
        services.cloudwatch.put_metric_alarm(**{**ALARM, "AlarmName": f"a{number}"}, **more)
    services.cloudwatch.put_metric_alarm(**{**ALARM, "AlarmName": "b", "Period": 300})
    services.cloudwatch.set_alarm_state(AlarmName="a5", StateValue="OK", StateReason="")

    def names(**request: Any) -> list[str]:
        pages = services.cloudwatch.get_paginator("describe_alarms").paginate(**request)
        return [alarm["AlarmName"] for page in pages for alarm in page["MetricAlarms"]]

    assert names(PaginationConfig={"PageSize": 3}) == [*(f"a{number}" for number in range(7)), "b"]
    assert names(AlarmNamePrefix="a")[-1] == "a6"
    assert names(StateValue="OK") == ["a5"]
    assert names(ActionPrefix="arn:aws:sns") == ["a3"]
    assert names(AlarmNames=["b", "unknown"]) == ["b"]
    for_metric = services.cloudwatch.describe_alarms_for_metric(**READS, Period=300)["MetricAlarms"]
    assert [alarm["AlarmName"] for alarm in for_metric] == ["b"]
    assert len(services.cloudwatch.describe_alarms_for_metric(**READS)["MetricAlarms"]) == 8
    page = services.cloudwatch.describe_alarm_history(MaxRecords=2)
    assert [event["AlarmName"] for event in page["AlarmHistoryItems"]] == ["a5", "b"]
    rest = services.cloudwatch.describe_alarm_history(NextToken=page["NextToken"])
    assert len(rest["AlarmHistoryItems"]) == 7


def test_settings_are_replaced_and_the_state_stays(services: Services) -> None:
    services.cloudwatch.put_metric_alarm(**ALARM, AlarmDescription="first")
    services.cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="drill")
    services.cloudwatch.put_metric_alarm(**{**ALARM, "Threshold": 5.0})
    alarm = described(services)
    assert (alarm["Threshold"], alarm["StateValue"], "AlarmDescription" in alarm) == (5.0, "ALARM", False)


def test_deleting_is_all_or_nothing(services: Services) -> None:
    for name in "ab":
        services.cloudwatch.put_metric_alarm(**{**ALARM, "AlarmName": name})
    with refused("ResourceNotFound"):
        services.cloudwatch.delete_alarms(AlarmNames=["a", "unknown"])
    assert len(services.cloudwatch.describe_alarms()["MetricAlarms"]) == 2
    services.cloudwatch.delete_alarms(AlarmNames=["a", "b", "a"])
    assert services.cloudwatch.describe_alarms()["MetricAlarms"] == []
    assert history(services)[-1] == 'Alarm "b" deleted'


def test_tags_of_alarms(services: Services) -> None:
    services.cloudwatch.put_metric_alarm(**ALARM, Tags=[{"Key": "team", "Value": "sound"}])
    arn = described(services)["AlarmArn"]
    services.cloudwatch.tag_resource(ResourceARN=arn, Tags=[{"Key": "stage", "Value": ""}])
    services.cloudwatch.untag_resource(ResourceARN=arn, TagKeys=["team"])
    assert services.cloudwatch.list_tags_for_resource(ResourceARN=arn)["Tags"] == [
        {"Key": "stage", "Value": ""}
    ]
    with refused("ResourceNotFoundException"):
        services.cloudwatch.list_tags_for_resource(ResourceARN=arn + "x")


METRIC = ("MetricName", "Namespace", "Dimensions", "Period", "Statistic")

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no threshold": (
        {"Threshold": None},
        "PutMetricAlarm request should have valid Threshold parameter",
    ),
    "anomalies": (
        {"ComparisonOperator": "LessThanLowerThreshold"},
        "LessThanLowerThreshold needs anomaly detection, which is not offered by this version of Faradisc.",
    ),
    "a warm-up": (
        {"WarmUpConfiguration": {"WarmUpPeriodDurationInMinutes": 5}},
        "WarmUpConfiguration is not offered by this version of Faradisc.",
    ),
    "more than a day": (
        {"Period": 3600, "EvaluationPeriods": 25},
        "An alarm over more than a day is not offered by this version of Faradisc, which keeps metrics for "
        "a day.",
    ),
    "more than a day of minutes": (
        {"Period": 60, "EvaluationPeriods": 1441},
        "Metrics cannot be checked across more than a day (EvaluationPeriods * Period must be <= 86400).",
    ),
    "more than a week": (
        {"Period": 3600, "EvaluationPeriods": 169},
        "Metrics cannot be checked across more than a week (EvaluationPeriods * Period must be <= 604800).",
    ),
    "an unknown service": ({"AlarmActions": ["arn:aws:foo:us-east-1:1:x"]}, "Unsupported AWS vendor foo"),
    "another region": (
        {"OKActions": [TOPIC.replace("us-east-1", "eu-west-1")]},
        "Invalid region eu-west-1 specified. Only us-east-1 is supported.",
    ),
    "an umlaut": ({"Namespace": "Ümlaut"}, "Namespace must not contain Non-ASCII characters."),
    "Metrics Insights": (
        {**dict.fromkeys(METRIC), "Metrics": [{"Id": "a", "Expression": "SELECT MAX(x) FROM y"}]},
        "Metrics Insights (SELECT) is not offered by this version of Faradisc.",
    ),
    "a search": (
        {**dict.fromkeys(METRIC), "Metrics": [{"Id": "a", "Expression": "SEARCH('a', 'Sum', 60)"}]},
        "SEARCH is not supported on Metric Alarms.",
    ),
    "odd seconds": ({"Period": 45}, "Period must be 10, 20, 30 or a multiple of 60"),
    "seconds": (
        {"Period": 10},
        "A Period below a minute is not offered by this version of Faradisc.",
    ),
    "more points than periods": (
        {"DatapointsToAlarm": 3},
        "DatapointsToAlarm must be less than or equal to EvaluationPeriods",
    ),
    "no statistic": (
        {"Statistic": None},
        "Exactly one of Statistic and ExtendedStatistic must be specified",
    ),
    "a strange silence": (
        {"TreatMissingData": "guess"},
        "TreatMissingData must be one of [breaching, notBreaching, ignore, missing]",
    ),
    "a metric and an expression": (
        {"Metrics": [{"Id": "a", "Expression": "1"}]},
        "MetricName cannot be specified together with Metrics",
    ),
    "low samples": (
        {"EvaluateLowSampleCountPercentile": "ignore"},
        "Option evaluateLowSampleCountPercentile can not be applied with statistic Sum.",
    ),
}


@pytest.mark.parametrize(("change", "text"), REFUSED.values(), ids=REFUSED)
def test_refused_alarms(services: Services, change: dict[str, Any], text: str) -> None:
    request = {name: value for name, value in {**ALARM, **change}.items() if value is not None}
    with refused("ValidationError", text):
        services.cloudwatch.put_metric_alarm(**request)
    assert services.cloudwatch.describe_alarms()["MetricAlarms"] == []


def test_an_expression_without_meaning_is_refused_at_once(services: Services) -> None:
    for expression in ("m +", "unknown * 2", "SUM(m)", "[m, m]", "SUM(SEARCH('reads', 'Sum', 60))"):
        with refused("ValidationError"):
            services.cloudwatch.put_metric_alarm(
                AlarmName="x",
                EvaluationPeriods=1,
                Threshold=1,
                ComparisonOperator="GreaterThanThreshold",
                Metrics=[
                    {
                        "Id": "m",
                        "MetricStat": {"Metric": READS, "Period": 60, "Stat": "Sum"},
                        "ReturnData": False,
                    },
                    {"Id": "e", "Expression": expression},
                ],
            )


def test_refused_states(services: Services) -> None:
    with refused("ResourceNotFound"):
        services.cloudwatch.set_alarm_state(AlarmName="busy", StateValue="OK", StateReason="")
    services.cloudwatch.put_metric_alarm(**ALARM)
    with refused("InvalidFormat"):
        services.cloudwatch.set_alarm_state(
            AlarmName="busy", StateValue="OK", StateReason="", StateReasonData="{"
        )
    with refused("InvalidNextToken"):
        services.cloudwatch.describe_alarms(NextToken="foreign")


def test_an_expression_that_is_no_series_at_times_is_missing_data(services: Services) -> None:
    """Its kind depends on the values: a number while there are some, nothing before."""
    mine = {"Namespace": "Mine", "MetricName": "m", "Dimensions": []}
    services.cloudwatch.put_metric_alarm(
        AlarmName="odd",
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="breaching",
        Metrics=[
            {"Id": "m", "MetricStat": {"Metric": mine, "Period": 60, "Stat": "Sum"}, "ReturnData": False},
            {"Id": "e", "Expression": "IF(SUM(m) > 0, 5)"},
        ],
    )
    services.cloudwatch.put_metric_alarm(**ALARM)
    services.cloudwatch.put_metric_data(Namespace="Mine", MetricData=[{"MetricName": "m", "Value": 1}])
    services.work(120)
    assert described(services, "odd")["StateValue"] == "ALARM"
    services.create()
    services.minutes(3, 3)
    assert described(services)["StateValue"] == "ALARM", "other alarms are looked at all the same"
