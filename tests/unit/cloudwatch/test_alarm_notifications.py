"""Actions of alarms: the notification that is sent, retries by the clock, and what is not sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from faradisc.clock import ManualClock, SystemEntropy
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.notifications import TRIES, WAITING_MAX, Notifier

TOPIC = "arn:aws:sns:us-east-1:000000000000:on-call"
SETTINGS: dict[str, Any] = {
    "Namespace": "AWS/DynamoDB",
    "MetricName": "ReadThrottleEvents",
    "Dimensions": [{"Name": "TableName", "Value": "Orders"}],
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 2,
    "Threshold": 5.0,
    "ComparisonOperator": "GreaterThanThreshold",
    "AlarmActions": [TOPIC],
}


def alarm() -> Alarm:
    second = 10**9
    made = Alarm("", "us-east-1", "000000000000", "busy", SETTINGS, second, second, second)
    made.state, made.reason = "ALARM", "Threshold Crossed"
    return made


class Listener:
    """Takes requests, and fails for a number of them."""

    def __init__(self, failures: int = 0) -> None:
        self.clock = ManualClock(100.0)
        self.failures = failures
        self.received: list[tuple[dict[str, Any], Mapping[str, str]]] = []
        self.times: list[float] = []
        self.notifier = Notifier(self.post, self.clock, SystemEntropy(), self.run)

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        self.times.append(self.clock.now_ns() / 1e9 - 100)
        if len(self.times) <= self.failures:
            raise ConnectionRefusedError("refused")
        self.received.append((json.loads(body), headers))

    @staticmethod
    def run(work: Callable[[], None]) -> Future[None]:
        done: Future[None] = Future()
        try:
            done.set_result(work())
        except OSError as error:
            done.set_exception(error)
        return done

    def seconds(self, number: int) -> list[str]:
        """Lets seconds pass, with some steps in each; returns the ends of notifications."""
        ended = []
        for _ in range(number):
            for _ in range(3):
                ended += [error for _, error in self.notifier.step()]
            self.clock.advance(1)
        return ended


def test_notification_has_the_shape_of_the_service() -> None:
    listener = Listener()
    assert listener.notifier.add(alarm(), "OK", TOPIC, 70 * 10**9)
    assert listener.seconds(1) == [""]
    ((document, headers),) = listener.received
    assert headers == {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": "Notification",
        "x-amz-sns-message-id": document["MessageId"],
        "x-amz-sns-topic-arn": TOPIC,
    }
    message = json.loads(document.pop("Message"))
    assert document == {
        "Type": "Notification",
        "MessageId": document["MessageId"],
        "TopicArn": TOPIC,
        "Subject": 'ALARM: "busy" in us-east-1',
        "Timestamp": "1970-01-01T00:01:10.000Z",
    }
    assert message == {
        "AlarmName": "busy",
        "AlarmDescription": None,
        "AWSAccountId": "000000000000",
        "AlarmConfigurationUpdatedTimestamp": "1970-01-01T00:00:01.000+0000",
        "NewStateValue": "ALARM",
        "NewStateReason": "Threshold Crossed",
        "StateChangeTime": "1970-01-01T00:01:10.000+0000",
        "Region": "us-east-1",
        "AlarmArn": "arn:aws:cloudwatch:us-east-1:000000000000:alarm:busy",
        "OldStateValue": "OK",
        "OKActions": [],
        "AlarmActions": [TOPIC],
        "InsufficientDataActions": [],
        "Trigger": {
            "MetricName": "ReadThrottleEvents",
            "Namespace": "AWS/DynamoDB",
            "StatisticType": "Statistic",
            "Statistic": "SUM",
            "Unit": None,
            "Dimensions": [{"value": "Orders", "name": "TableName"}],
            "Period": 60,
            "EvaluationPeriods": 2,
            "DatapointsToAlarm": 2,
            "ComparisonOperator": "GreaterThanThreshold",
            "Threshold": 5.0,
            "TreatMissingData": "ignore",
            "EvaluateLowSampleCountPercentile": "",
        },
    }


def test_failed_request_is_tried_again_later_and_later() -> None:
    listener = Listener(failures=3)
    listener.notifier.add(alarm(), "OK", TOPIC, 0)
    assert listener.seconds(30) == [""]
    assert listener.times == [0, 1, 3, 7]


def test_last_attempt_ends_with_the_error() -> None:
    listener = Listener(failures=100)
    listener.notifier.add(alarm(), "OK", TOPIC, 0)
    assert listener.seconds(100) == ["refused"]
    assert len(listener.times) == TRIES


def test_what_is_no_topic_or_too_much_is_not_taken() -> None:
    listener = Listener()
    assert not listener.notifier.add(alarm(), "OK", "arn:aws:lambda:us-east-1:1:function:f", 0)
    assert all(listener.notifier.add(alarm(), "OK", TOPIC, 0) for _ in range(WAITING_MAX))
    assert not listener.notifier.add(alarm(), "OK", TOPIC, 0)


def test_alarm_on_an_expression_shows_its_queries() -> None:
    listener = Listener()
    queries = [{"Id": "a", "Expression": "1"}]
    made = alarm()
    made.settings = {
        name: value
        for name, value in {**SETTINGS, "Metrics": queries}.items()
        if name not in ("Namespace", "MetricName", "Dimensions", "Statistic", "Period")
    }
    listener.notifier.add(made, "OK", TOPIC, 0)
    listener.seconds(1)
    trigger = json.loads(listener.received[0][0]["Message"])["Trigger"]
    assert (trigger["Metrics"], "MetricName" in trigger) == (queries, False)
