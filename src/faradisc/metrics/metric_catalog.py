"""The CloudWatch metrics of namespace AWS/DynamoDB: names, units, dimensions, statistics, periods.

Metrics of Kinesis, vectors and error injection are left out.

Source: metrics.md; capacity.md section 2.14.
"""

from __future__ import annotations

from faradisc.records import dataclass

NAMESPACE = "AWS/DynamoDB"

TABLE = ("TableName",)
INDEX = ("TableName", "GlobalSecondaryIndexName")
OPERATION = ("TableName", "Operation")
STREAM = ("TableName", "Operation", "StreamLabel")
REPLICA = ("TableName", "ReceivingRegion")
ACCOUNT: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    unit: str
    dimensions: tuple[tuple[str, ...], ...]
    """The sets of dimensions that the metric is published with. A query with another set finds no points."""
    statistics: frozenset[str]
    """The meaningful ones of Sum, SampleCount, Minimum, Maximum, Average and p (percentiles)."""
    period_s: int


_LETTERS = {
    "S": "Sum",
    "N": "SampleCount",
    "m": "Minimum",
    "M": "Maximum",
    "A": "Average",
    "p": "p",
}

# Name, unit, dimension sets, statistics (letters as in metrics.md), period.
_ROWS: tuple[tuple[str, str, tuple[tuple[str, ...], ...], str, int], ...] = (
    ("AccountMaxReads", "Count", (ACCOUNT,), "M", 300),
    ("AccountMaxWrites", "Count", (ACCOUNT,), "M", 300),
    ("AccountMaxTableLevelReads", "Count", (ACCOUNT,), "M", 300),
    ("AccountMaxTableLevelWrites", "Count", (ACCOUNT,), "M", 300),
    ("AccountProvisionedReadCapacityUtilization", "Percent", (ACCOUNT,), "MmA", 300),
    ("AccountProvisionedWriteCapacityUtilization", "Percent", (ACCOUNT,), "MmA", 300),
    ("ConditionalCheckFailedRequests", "Count", (TABLE,), "mMANS", 60),
    ("ConsumedReadCapacityUnits", "Count", (TABLE, INDEX), "mMASN", 60),
    (
        "ConsumedWriteCapacityUnits",
        "Count",
        (TABLE, INDEX, (*TABLE, "Source"), (*INDEX, "Source")),
        "mMASN",
        60,
    ),
    ("MaxProvisionedTableReadCapacityUtilization", "Percent", (ACCOUNT,), "MmA", 300),
    ("MaxProvisionedTableWriteCapacityUtilization", "Percent", (ACCOUNT,), "MmA", 300),
    ("OnDemandMaxReadRequestUnits", "Count", (TABLE, INDEX), "mMA", 300),
    ("OnDemandMaxWriteRequestUnits", "Count", (TABLE, INDEX), "mMA", 300),
    ("OnlineIndexConsumedWriteCapacity", "Count", (INDEX,), "mMANS", 300),
    ("OnlineIndexPercentageProgress", "Count", (INDEX,), "mMANS", 300),
    ("OnlineIndexThrottleEvents", "Count", (INDEX,), "mMANS", 300),
    ("ProvisionedReadCapacityUnits", "Count", (TABLE, INDEX), "mMA", 300),
    ("ProvisionedWriteCapacityUnits", "Count", (TABLE, INDEX), "mMA", 300),
    ("ReadAccountLimitThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("ReadKeyRangeThroughputThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("ReadMaxOnDemandThroughputThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("ReadProvisionedThroughputThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("ReadThrottleEvents", "Count", (TABLE, INDEX), "NS", 60),
    ("ReplicationLatency", "Milliseconds", (REPLICA,), "AmM", 60),
    ("ReturnedBytes", "Bytes", (STREAM,), "mMANS", 60),
    ("ReturnedItemCount", "Count", (OPERATION,), "mMANS", 60),
    ("ReturnedRecordsCount", "Count", (STREAM,), "mMANS", 60),
    ("SuccessfulRequestLatency", "Milliseconds", (OPERATION, STREAM), "mMSApN", 60),
    ("SystemErrors", "Count", (OPERATION,), "SN", 60),
    (
        "ThrottledRequests",
        "Count",
        (OPERATION, (*OPERATION, "Verb"), (*OPERATION, "OperationType")),
        "SN",
        60,
    ),
    ("TimeToLiveDeletedItemCount", "Count", (TABLE,), "S", 60),
    ("TransactionConflict", "Count", (TABLE,), "SNmMA", 60),
    ("UserErrors", "Count", (ACCOUNT,), "SN", 60),
    ("WriteAccountLimitThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("WriteKeyRangeThroughputThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("WriteMaxOnDemandThroughputThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("WriteProvisionedThroughputThrottleEvents", "Count", (TABLE, INDEX), "SNmM", 60),
    ("WriteThrottleEvents", "Count", (TABLE, INDEX), "SN", 60),
)

METRICS: dict[str, Metric] = {
    name: Metric(name, unit, dimensions, frozenset(_LETTERS[letter] for letter in letters), period_s)
    for name, unit, dimensions, letters, period_s in _ROWS
}
