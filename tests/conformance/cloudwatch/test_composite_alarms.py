"""Composite alarms: put, described, moved by the alarms of their rule, deleted; rejections of rules.

Facts: PutCompositeAlarm and DescribeAlarms in the API reference; texts of events in the guide of CloudWatch.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from faradisc.metrics.alarm_rule import State
from faradisc.services.cloudwatch.composite import ELEMENTS_MAX, parse_rule
from fixtures.other_services import Services
from fixtures.schemas import refused

ARN = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:"
TOPIC = "arn:aws:sns:us-east-1:000000000000:topic"


@pytest.fixture
def alarms(services: Services) -> Services:
    for name in ("throttled", "behind"):
        services.cloudwatch.put_metric_alarm(
            AlarmName=name,
            Namespace="Mine",
            MetricName=name,
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
            TreatMissingData="ignore",
        )
        put_state(services, name, "OK")
    return services


def put_state(services: Services, name: str, state: str) -> None:
    services.cloudwatch.set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test")


def composite(services: Services, name: str = "both") -> dict[str, Any]:
    found = services.cloudwatch.describe_alarms(AlarmNames=[name], AlarmTypes=["CompositeAlarm"])
    return dict(found["CompositeAlarms"][0])


def put(services: Services, rule: str, name: str = "both", **more: Any) -> None:
    services.cloudwatch.put_composite_alarm(AlarmName=name, AlarmRule=rule, **more)
    services.work(1)


def test_a_composite_alarm_follows_its_rule(alarms: Services) -> None:
    put(alarms, f'ALARM("throttled") AND ALARM({ARN}behind)', AlarmActions=[TOPIC])
    assert composite(alarms)["StateValue"] == "OK"
    assert composite(alarms)["StateReason"] == f"{ARN}both was created and its alarm rule evaluates to OK"
    put_state(alarms, "throttled", "ALARM")
    alarms.work(1)
    assert composite(alarms)["StateValue"] == "OK"
    put_state(alarms, "behind", "ALARM")
    alarms.work(1)
    found = composite(alarms)
    assert found["StateValue"] == "ALARM"
    assert found["StateReason"].startswith(
        f"{ARN}behind transitioned to ALARM at Wednesday 15 November, 2023"
    )
    assert orjson.loads(found["StateReasonData"])["triggeringAlarms"][0]["arn"] == f"{ARN}behind"
    put_state(alarms, "throttled", "OK")
    alarms.work(1)
    assert composite(alarms)["StateValue"] == "OK"
    events = alarms.cloudwatch.describe_alarm_history(
        AlarmName="both", AlarmTypes=["CompositeAlarm"], HistoryItemType="StateUpdate"
    )["AlarmHistoryItems"]
    assert [event["AlarmType"] for event in events] == ["CompositeAlarm"] * 3


def test_composite_alarms_build_on_each_other(alarms: Services) -> None:
    put(alarms, "ALARM(throttled) OR ALARM(behind)", "any")
    put(alarms, "ALARM(any) AND NOT OK(behind)", "page")
    put_state(alarms, "behind", "ALARM")
    alarms.work(1)
    assert [composite(alarms, name)["StateValue"] for name in ("any", "page")] == ["ALARM", "ALARM"]


def test_composite_alarms_are_listed_when_asked_for(alarms: Services) -> None:
    put(alarms, "ALARM(throttled)", AlarmDescription="wake somebody")
    found = alarms.cloudwatch.describe_alarms()
    assert [alarm["AlarmName"] for alarm in found["MetricAlarms"]] == ["behind", "throttled"]
    assert found["CompositeAlarms"] == []
    described = composite(alarms)
    assert described["AlarmRule"] == "ALARM(throttled)" and "Dimensions" not in described
    assert described["AlarmDescription"] == "wake somebody" and described["ActionsEnabled"]
    parents = alarms.cloudwatch.describe_alarms(ParentsOfAlarmName="throttled")["CompositeAlarms"]
    assert parents == [{"AlarmName": "both", "AlarmArn": f"{ARN}both"}]
    children = alarms.cloudwatch.describe_alarms(ChildrenOfAlarmName="both")["MetricAlarms"]
    assert [child["AlarmName"] for child in children] == ["throttled"]


def test_an_alarm_that_a_rule_names_stays(alarms: Services) -> None:
    put(alarms, "ALARM(throttled)")
    text = "Cannot delete throttled as there are composite alarm(s) depending on it."
    with refused("ValidationError", text):
        alarms.cloudwatch.delete_alarms(AlarmNames=["throttled"])
    alarms.cloudwatch.delete_alarms(AlarmNames=["throttled", "both"])
    assert alarms.cloudwatch.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"] == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("ALARM(none)", "Could not save the composite alarm as alarms [none] in the alarm rule do not exist"),
        ("ALARM(throttled", "The alarm rule is not valid near: ALARM(throttled"),
        ("ALARM(throttled) ALARM(behind)", "The alarm rule is not valid near: ALARM(behind)"),
        ("ALARM(throttled) AND", "The alarm rule is not valid near: its end"),
        ("(TRUE", "The alarm rule is not valid near: its end"),
        ("NOT " * (ELEMENTS_MAX + 1) + "TRUE", "An alarm rule has 500 elements at most"),
    ],
)
def test_rules_that_mean_nothing_are_rejected(alarms: Services, rule: str, text: str) -> None:
    with refused("ValidationError", text):
        alarms.cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule=rule)


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("TRUE OR FALSE AND FALSE", "ALARM"),
        ("(TRUE OR FALSE) AND FALSE", "OK"),
        ("NOT FALSE AND TRUE", "ALARM"),
        ("not alarm(a) and ok( b )", "ALARM"),
        ("INSUFFICIENT_DATA(c)", "ALARM"),
        ("OK(gone)", "INSUFFICIENT_DATA"),
        ("TRUE OR OK(gone)", "ALARM"),
    ],
)
def test_values_of_rules(rule: str, state: State) -> None:
    states: dict[str, State] = {"a": "OK", "b": "OK", "c": "INSUFFICIENT_DATA"}
    assert parse_rule(rule).state(states.get) == state
