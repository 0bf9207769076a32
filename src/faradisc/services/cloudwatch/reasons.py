"""The reason of an alarm's state, in CloudWatch's words and as its JSON.

Source: the examples in the documentation of DescribeAlarms and DescribeAlarmHistory; for missing points,
published notifications of 2020 to 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from faradisc.capacity.config import SECOND_NS
from faradisc.metrics.alarm_rule import AlarmRule, State, Value
from faradisc.services.cloudwatch.alarm import Alarm

Points = Sequence[tuple[int, Value | None]]
"""(beginning of the period in nanoseconds, value or None), oldest first."""

_SHOWN_MAX = 5
_COMPARED = {
    "GreaterThanThreshold": "greater than",
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "LessThanThreshold": "less than",
    "LessThanOrEqualToThreshold": "less than or equal to",
}


def reason(rule: AlarmRule, points: Points, before: State, after: State) -> str:
    """points: of the rule's range."""
    if after == "INSUFFICIENT_DATA":
        return f"Insufficient Data: {_count(rule.periods, 'datapoint')} {_were(rule.periods)} unknown."
    known = evaluated(rule, points)
    filled = rule.periods - len(known)
    missing = _filled(rule, filled) if filled else ""
    breaching = after == "ALARM"
    relevant = [(at, value) for at, value in known if rule.breaches(value) == breaching]
    if not relevant:
        number = _count(len(known), "datapoint") if known else "no datapoints"
        received = f"{number} {_were(len(known))} received for {_count(rule.periods, 'period')}"
        return f"Threshold Crossed: {received}{missing}."
    shown = ", ".join(f"{float(value)} ({_date(at)})" for at, value in reversed(relevant[-_SHOWN_MAX:]))
    needed = rule.needed or rule.periods
    minimum = needed if breaching else rule.periods - needed + 1
    of = f"{len(relevant)} out of the last {_count(rule.periods, 'datapoint')}"
    transition = f" (minimum {_count(minimum, 'datapoint')} for {before} -> {after} transition)"
    if filled and (rule.needed is None or not missing):
        of, transition = _count(len(relevant), "datapoint"), ""
    negation = "" if breaching else "not "
    return (
        f"Threshold Crossed: {of} [{shown}] {_were(len(relevant))} {negation}{_COMPARED[rule.comparison]} "
        f"the threshold ({float(rule.threshold)}){missing}{transition}."
    )


def evaluated(rule: AlarmRule, points: Points) -> list[tuple[int, Value]]:
    """Returns the real ones among the points that decide about the state, oldest first."""
    known = [(at, value) for at, value in points if value is not None]
    return known[-len(rule.evaluated([value for _, value in points])) or len(known) :]


def _filled(rule: AlarmRule, number: int) -> str:
    treated = {"breaching": "Breaching", "notBreaching": "NonBreaching"}.get(rule.missing)
    if treated is None:
        return ""
    return f" and {_count(number, 'missing datapoint')} {_were(number)} treated as [{treated}]"


def reason_data(
    rule: AlarmRule, points: Points, looked_ns: int, statistic: str | None, unit: str | None
) -> str:
    """Returns the reason as JSON."""
    known = evaluated(rule, points)
    data: dict[str, Any] = {
        "version": "1.0",
        "queryDate": iso_time(looked_ns),
        "startDate": iso_time((known or points[-rule.periods :])[0][0]),
        **({} if statistic is None else {"statistic": statistic}),
        **({} if unit is None else {"unit": unit}),
        "period": rule.period_s,
        "recentDatapoints": [float(value) for _, value in known][-_SHOWN_MAX:],
        "threshold": float(rule.threshold),
    }
    return orjson.dumps(data).decode()


def composite_reason(
    alarm: Alarm, state: State, trigger: Alarm | None, children: Sequence[Alarm]
) -> tuple[str, str]:
    """Returns the reason of a composite alarm's new state, as words and as JSON.

    trigger: the alarm whose state has changed; None for the first state. Source: the notifications and events
    in the documentation of composite alarms.
    """
    if trigger is None:
        words = f"{alarm.arn} was created and its alarm rule evaluates to {state}"
    else:
        moment = datetime.fromtimestamp(trigger.transitioned_ns // SECOND_NS, UTC)
        words = f"{trigger.arn} transitioned to {trigger.state} at {moment:%A %d %B, %Y %H:%M:%S} UTC"
    named = children if trigger is None else [trigger]
    triggering = [
        {"arn": each.arn, "state": {"value": each.state, "timestamp": iso_time(each.transitioned_ns)}}
        for each in named
    ]
    return words, orjson.dumps({"triggeringAlarms": triggering}).decode()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _date(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns // SECOND_NS, UTC).strftime("%d/%m/%y %H:%M:%S")


def iso_time(at_ns: int, zone: str = "+0000") -> str:
    milliseconds = at_ns // 1_000_000 % 1000
    moment = datetime.fromtimestamp(at_ns // SECOND_NS, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds:03}{zone}"
