"""Sends the actions of alarms to a webhook, as SNS sends a notification to an HTTP endpoint.

A server posts from a thread, and tries again after 1, 2, 4 ... seconds. What waits is in memory: a restart
loses it. Each action ends as an entry in the alarm's history. Signatures are left out: there is no such key.

Sources: Amazon SNS Developer Guide, "HTTP/HTTPS notification JSON format"; the message of an alarm: published
notifications.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

import orjson

from faradisc.capacity.config import SECOND_NS
from faradisc.clock import Clock, Entropy
from faradisc.engine.jobs.threads import WaitingThreads
from faradisc.metrics.alarm_rule import State
from faradisc.records import dataclass
from faradisc.services.cloudwatch.alarm import ACTIONS, Alarm
from faradisc.services.cloudwatch.reasons import iso_time

log = logging.getLogger("faradisc.services.cloudwatch")

TRIES: Final = 6
"""The last one half a minute after the first, without the time of the requests."""
TIMEOUT_S: Final = 5.0
WAITING_MAX: Final = 1000
_THREADS: Final = 2

Post = Callable[[bytes, Mapping[str, str]], None]
"""Sends a body with headers. Raises OSError, or any other exception when it was not accepted."""


Run = Callable[[Callable[[], None]], Future[None]]


@dataclass(slots=True)
class Notification:
    """One action of one change of an alarm's state."""

    alarm: Alarm
    action: str
    at_ns: int
    """When the state changed."""
    body: bytes
    headers: Mapping[str, str]
    tries: int = 0
    due_ns: int = 0
    sent: Future[None] | None = None


class Notifier:
    """Delivers notifications; the database's work calls `step`."""

    def __init__(self, post: Post, clock: Clock, entropy: Entropy, run: Run | None = None) -> None:
        """run: runs a request; by default in threads."""
        self._post = post
        self._clock = clock
        self._entropy = entropy
        self._threads = WaitingThreads("faradisc-alarms", _THREADS)
        self._run = run or self._threads.run
        self._waiting: list[Notification] = []

    def add(self, alarm: Alarm, before: State, action: str, at_ns: int) -> bool:
        """Returns False when the action is none that is sent, or too many wait."""
        if not action.startswith("arn:aws:sns:") or len(self._waiting) >= WAITING_MAX:
            return False
        number = self._entropy.uuid()
        document = {
            "Type": "Notification",
            "MessageId": number,
            "TopicArn": action,
            "Subject": f'{alarm.state}: "{alarm.name}" in {alarm.region}',
            "Message": orjson.dumps(message(alarm, before, at_ns)).decode(),
            "Timestamp": iso_time(at_ns, "Z"),
        }
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "x-amz-sns-message-type": "Notification",
            "x-amz-sns-message-id": number,
            "x-amz-sns-topic-arn": action,
        }
        self._waiting.append(Notification(alarm, action, at_ns, orjson.dumps(document), headers))
        return True

    def step(self) -> list[tuple[Notification, str]]:
        """Sends what is due. Returns what has ended since the last step: with "", or the last error."""
        now_ns = self._clock.now_ns()
        ended = []
        for each in self._waiting:
            if each.sent is None:
                if now_ns >= each.due_ns:
                    each.tries += 1
                    each.sent = self._run(partial(self._post, each.body, each.headers))
            elif each.sent.done():
                error, each.sent = each.sent.exception(), None
                if error is None or each.tries >= TRIES:
                    ended.append((each, "" if error is None else str(error) or type(error).__name__))
                else:
                    each.due_ns = now_ns + 2 ** (each.tries - 1) * SECOND_NS
                if error is not None:
                    words = "alarm %s: %s was not sent (attempt %d of %d): %s"
                    log.warning(words, each.alarm.name, each.action, each.tries, TRIES, error)
        for notification, _ in ended:
            self._waiting.remove(notification)
        return ended

    def close(self) -> None:
        self._threads.close(TIMEOUT_S)


def message(alarm: Alarm, before: State, at_ns: int) -> dict[str, Any]:
    """Returns what CloudWatch publishes to a topic for an alarm that has just changed its state."""
    settings = alarm.settings
    common = {
        "AlarmName": alarm.name,
        "AlarmDescription": settings.get("AlarmDescription"),
        "AWSAccountId": alarm.account,
        "AlarmConfigurationUpdatedTimestamp": iso_time(alarm.configured_ns),
        "NewStateValue": alarm.state,
        "NewStateReason": alarm.reason,
        "StateChangeTime": iso_time(at_ns),
        "Region": alarm.region,
        "AlarmArn": alarm.arn,
        "OldStateValue": before,
        **{member: settings.get(member, []) for member in ACTIONS.values()},
    }
    if alarm.is_composite:
        return {**common, "AlarmRule": settings["AlarmRule"]}
    dimensions = [{"value": each["Value"], "name": each["Name"]} for each in settings.get("Dimensions", ())]
    of_metric: dict[str, Any] = {}
    if "Metrics" in settings:
        of_metric["Metrics"] = settings["Metrics"]
    else:
        is_extended = "ExtendedStatistic" in settings
        of_metric = {
            "MetricName": settings["MetricName"],
            "Namespace": settings["Namespace"],
            "StatisticType": "ExtendedStatistic" if is_extended else "Statistic",
            **({"ExtendedStatistic": settings["ExtendedStatistic"]} if is_extended else {}),
            **({} if is_extended else {"Statistic": settings["Statistic"].upper()}),
            "Unit": settings.get("Unit"),
            "Dimensions": dimensions,
        }
    return {
        **common,
        "Trigger": {
            **of_metric,
            "Period": alarm.period_s,
            "EvaluationPeriods": settings["EvaluationPeriods"],
            "DatapointsToAlarm": settings.get("DatapointsToAlarm", settings["EvaluationPeriods"]),
            "ComparisonOperator": settings["ComparisonOperator"],
            "Threshold": settings["Threshold"],
            "TreatMissingData": alarm.rule.missing,
            "EvaluateLowSampleCountPercentile": settings.get("EvaluateLowSampleCountPercentile", ""),
        },
    }


def webhook(url: str) -> Post:
    """Returns what posts to a URL; answers other than 2xx are errors."""

    def post(body: bytes, headers: Mapping[str, str]) -> None:
        from urllib.request import Request, urlopen  # noqa: PLC0415 - few servers have a webhook

        with urlopen(Request(url, body, dict(headers), method="POST"), timeout=TIMEOUT_S):
            pass  # urlopen raises HTTPError, which is an OSError, for other answers

    return post
