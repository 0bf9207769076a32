"""Timestamps beyond every clock: refused by the rule of each member, never an internal error.

Source: the service model, whose timestamps are JSON numbers of any size.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from fixtures.in_process import InProcess
from fixtures.schemas import schema

HUGE = (1e308, -1e308, 1e30, 9e15)
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/things"
EXPORT = {"TableArn": ARN, "S3Bucket": "bucket"}

REQUESTS: list[tuple[str, Any]] = [
    (
        "RestoreTableToPointInTime",
        lambda at: {"SourceTableName": "things", "TargetTableName": "copy", "RestoreDateTime": at},
    ),
    ("ExportTableToPointInTime", lambda at: {**EXPORT, "ExportTime": at}),
    (
        "ExportTableToPointInTime",
        lambda at: {
            **EXPORT,
            "ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": {"ExportFromTime": at, "ExportToTime": at},
        },
    ),
    ("ListBackups", lambda at: {"TimeRangeLowerBound": at}),
    ("ListBackups", lambda at: {"TimeRangeUpperBound": at}),
]


@pytest.mark.parametrize("at", HUGE)
@pytest.mark.parametrize(("operation", "request_of"), REQUESTS)
def test_huge_timestamps_are_no_internal_errors(
    raw: InProcess, dynamodb: Any, operation: str, request_of: Any, at: float
) -> None:
    dynamodb.create_table(TableName="things", **schema("p:S"))
    dynamodb.update_continuous_backups(
        TableName="things", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    answer = raw.post(operation, orjson.dumps(request_of(at)))
    assert answer.status in (200, 400)


@pytest.mark.parametrize("at", HUGE)
def test_huge_timestamps_of_iterators_are_in_the_future_or_before_all_records(
    raw: InProcess, at: float
) -> None:
    view = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    made = raw.call("CreateTable", TableName="things", **schema("p:S"), StreamSpecification=view)
    arn = made["TableDescription"]["LatestStreamArn"]
    streams = raw.local.client("dynamodbstreams")
    (shard, *_) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    request = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "AT_TIMESTAMP"}
    answer = raw.post(
        "GetShardIterator",
        orjson.dumps({**request, "Timestamp": at}),
        {"x-amz-target": "DynamoDBStreams_20120810.GetShardIterator"},
    )
    if at > 0:
        assert (answer.status, orjson.loads(answer.body)["message"]) == (
            400,
            "Timestamp must not be in the future",
        )
    else:
        assert answer.status == 200
