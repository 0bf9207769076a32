"""The alarms that a table needs, as code: throttling, utilization, failing conditions, late consumers."""

from __future__ import annotations

from typing import Any

CONSUMERS = "Faradisc/Consumers"
"""Namespace of the metrics of `faradisc streams run --publish`; AWS/Lambda has IteratorAge too."""

THROTTLED = 10
"""Requests a minute. A few are normal where keys meet by chance, and SDKs repeat them."""


def table_alarms(table: str, *, reads: int | None = None, writes: int | None = None) -> list[dict[str, Any]]:
    """Returns requests of PutMetricAlarm. reads, writes: units of a provisioned table, alarmed at 80 %."""
    alarms = [
        _alarm(f"{table}-throttled-writes", table, "WriteThrottleEvents", threshold=THROTTLED),
        _alarm(f"{table}-throttled-reads", table, "ReadThrottleEvents", threshold=THROTTLED),
        _alarm(f"{table}-failed-conditions", table, "ConditionalCheckFailedRequests", threshold=60),
    ]
    for units, metric in ((reads, "ConsumedReadCapacityUnits"), (writes, "ConsumedWriteCapacityUnits")):
        if units is not None:
            alarms.append(_alarm(f"{table}-{metric}", table, metric, threshold=0.8 * 60 * units))
    return alarms


def consumer_alarms(table: str, group: str, *, behind_s: int = 60) -> list[dict[str, Any]]:
    """Returns requests of PutMetricAlarm. behind_s: the age of a record that is too late."""
    dimensions = [{"Name": "ConsumerGroup", "Value": group}, {"Name": "TableName", "Value": table}]
    watched = {"Namespace": CONSUMERS, "Dimensions": dimensions, "Statistic": "Maximum"}
    return [
        _alarm(f"{group}-behind", table, "IteratorAge", threshold=behind_s * 1000) | watched,
        _alarm(f"{group}-dead-letters", table, "DeadLetters", threshold=0) | watched,
    ]


def _alarm(name: str, table: str, metric: str, *, threshold: float) -> dict[str, Any]:
    """Two of the last three minutes above the threshold; minutes without data are good ones."""
    return {
        "AlarmName": name,
        "Namespace": "AWS/DynamoDB",
        "MetricName": metric,
        "Dimensions": [{"Name": "TableName", "Value": table}],
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": 2,
        "Threshold": threshold,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
    }
