"""The reason of an alarm's state, in CloudWatch's words and as its JSON.

Source: the examples in the documentation of DescribeAlarms and DescribeAlarmHistory.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from faradisc.capacity.config import SECOND_NS
from faradisc.metrics.alarm_rule import AlarmRule, State, Value

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
    if after == "INSUFFICIENT_DATA":
        return f"Insufficient Data: {_count(len(points), 'datapoint')} {_were(len(points))} unknown."
    known = [(at, value) for at, value in points if value is not None]
    if not known:
        count = _count(len(points), "missing datapoint")
        treated = "Breaching" if rule.missing == "breaching" else "NonBreaching"
        received = f"no datapoints were received for {count}"
        return f"Threshold Crossed: {received} and they were treated as [{treated}]."
    breaching = after == "ALARM"
    relevant = [(at, value) for at, value in known if rule.breaches(value) == breaching] or known
    shown = ", ".join(f"{float(value)} ({_date(at)})" for at, value in reversed(relevant[-_SHOWN_MAX:]))
    negation = "" if breaching else "not "
    needed = rule.needed or rule.periods
    minimum = needed if breaching else rule.periods - needed + 1
    return (
        f"Threshold Crossed: {len(relevant)} out of the last {_count(rule.periods, 'datapoint')} [{shown}] "
        f"{_were(len(relevant))} {negation}{_COMPARED[rule.comparison]} the threshold "
        f"({float(rule.threshold)}) "
        f"(minimum {_count(minimum, 'datapoint')} for {before} -> {after} transition)."
    )


def reason_data(
    rule: AlarmRule, points: Points, looked_ns: int, statistic: str | None, unit: str | None
) -> str:
    """Returns the reason as JSON."""
    data: dict[str, Any] = {
        "version": "1.0",
        "queryDate": _iso(looked_ns),
        "startDate": _iso(points[0][0]),
        **({} if statistic is None else {"statistic": statistic}),
        **({} if unit is None else {"unit": unit}),
        "period": rule.period_s,
        "recentDatapoints": [float(value) for _, value in points if value is not None][-_SHOWN_MAX:],
        "threshold": float(rule.threshold),
    }
    return orjson.dumps(data).decode()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _date(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns // SECOND_NS, UTC).strftime("%d/%m/%y %H:%M:%S")


def _iso(at_ns: int) -> str:
    milliseconds = at_ns // 1_000_000 % 1000
    moment = datetime.fromtimestamp(at_ns // SECOND_NS, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds:03}+0000"
