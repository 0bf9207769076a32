"""Publishes the age and the dead letters of a consumer as CloudWatch metrics, once a minute.

Namespace Faradisc/Consumers, dimensions ConsumerGroup and TableName:

    IteratorAge       milliseconds between the change and the delivery of the last record, of the shard with
                      the oldest one; grows while a handler fails, 0 when all are handled
    DeadLetters       records that have become dead letters in this minute, dropped ones among them
    DeadLetterDepth   items in the table of dead letters, where there is one

Every worker publishes its own: the maximum of IteratorAge and the sum of DeadLetters are those of the group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faradisc.clock import Clock
from faradisc.tools.consumers.statistics import Statistics

NAMESPACE = "Faradisc/Consumers"
_MINUTE_NS = 60_000_000_000


class ConsumerMetrics:
    def __init__(
        self, cloudwatch: Any, group: str, stream_arn: str, depth: Callable[[], int] | None = None
    ) -> None:
        """cloudwatch: a boto3 client. depth: returns the number of dead letters that are kept."""
        self._cloudwatch = cloudwatch
        self._dimensions = [
            {"Name": "ConsumerGroup", "Value": group},
            {"Name": "TableName", "Value": stream_arn.split("/")[1]},
        ]
        self._depth = depth
        self._due_ns = 0
        self._letters = 0

    def publish(self, statistics: Statistics, clock: Clock) -> None:
        """Publishes what is due. Raises exceptions of boto3; the next minute makes up for it."""
        now_ns = clock.now_ns()
        if now_ns < self._due_ns:
            return
        self._due_ns = now_ns + _MINUTE_NS
        counts = statistics.snapshot()
        letters = counts["dead_letters"] + counts["dropped"]
        values = [
            ("IteratorAge", "Milliseconds", counts["iterator_age_ms"]),
            ("DeadLetters", "Count", letters - self._letters),
        ]
        if self._depth is not None:
            values.append(("DeadLetterDepth", "Count", self._depth()))
        self._cloudwatch.put_metric_data(
            Namespace=NAMESPACE,
            MetricData=[
                {
                    "MetricName": name,
                    "Unit": unit,
                    "Value": value,
                    "Timestamp": now_ns / 1e9,
                    "Dimensions": self._dimensions,
                }
                for name, unit, value in values
            ],
        )
        self._letters = letters
