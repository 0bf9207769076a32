"""The AWS CLI against a real server: tables, items, queries, batches, tags, waiters, pages.

What it proves: the botocore of the CLI, its paginators, waiters and output work unchanged.
Slow: each command is a process of half a second or more, and the CLI is not a dependency of the project.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.served import Server

AWS = shutil.which(
    "aws", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(AWS is None, reason="the AWS CLI is not installed; `pip install awscli` brings it"),
]

Aws = Callable[..., Any]

REFUSED = (254, 255)
"""Exit codes after an error of the service, of versions 2 and 1."""


@pytest.fixture
def run_aws(server: Server, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_PAGER": "",
    }

    def run_aws(*words: str, service: str = "dynamodb") -> subprocess.CompletedProcess[str]:
        command = [AWS or "aws", "--endpoint-url", server.url, "--output", "json", service, *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run_aws


@pytest.fixture
def aws(run_aws: Callable[..., subprocess.CompletedProcess[str]]) -> Aws:
    """Returns a function: aws("get-item", "--table-name", "t", ...) returns the output parsed as JSON."""

    def aws(*words: str) -> Any:
        done = run_aws(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return aws


def _create(aws: Aws, name: str) -> Any:
    return aws(
        *("create-table", "--table-name", name),
        *(
            "--attribute-definitions",
            "AttributeName=Artist,AttributeType=S",
            "AttributeName=Song,AttributeType=S",
        ),
        *("--key-schema", "AttributeName=Artist,KeyType=HASH", "AttributeName=Song,KeyType=RANGE"),
        *("--billing-mode", "PAY_PER_REQUEST"),
    )


def _item(artist: str, song: str, **more: Any) -> dict[str, Any]:
    return {"Artist": {"S": artist}, "Song": {"S": song}, **more}


def test_create_describe_update_and_delete_a_table(aws: Aws) -> None:
    created = _create(aws, "Music")["TableDescription"]
    assert created["TableArn"] == "arn:aws:dynamodb:us-east-1:000000000000:table/Music"
    aws("wait", "table-exists", "--table-name", "Music")
    assert "Music" in aws("list-tables")["TableNames"]
    described = aws("describe-table", "--table-name", "Music")["Table"]
    assert (described["TableStatus"], described["ItemCount"]) == ("ACTIVE", 0)
    arn = described["TableArn"]
    aws("tag-resource", "--resource-arn", arn, "--tags", "Key=team,Value=sound", "Key=stage,Value=")
    tags = aws("list-tags-of-resource", "--resource-arn", arn)["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"team": "sound", "stage": ""}
    aws("untag-resource", "--resource-arn", arn, "--tag-keys", "team")
    assert len(aws("list-tags-of-resource", "--resource-arn", arn)["Tags"]) == 1
    aws("delete-table", "--table-name", "Music")
    aws("wait", "table-not-exists", "--table-name", "Music")
    assert "Music" not in aws("list-tables")["TableNames"]


def test_items(aws: Aws, run_aws: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    _create(aws, "Items")
    item = _item("Nina", "Mississippi", Plays={"N": "7"}, Tags={"SS": ["live", "1964"]}, Note={"S": ""})
    key = json.dumps(_item("Nina", "Mississippi"))
    aws("put-item", "--table-name", "Items", "--item", json.dumps(item))
    found = aws("get-item", "--table-name", "Items", "--key", key, "--consistent-read")["Item"]
    assert found == {**item, "Tags": {"SS": ["1964", "live"]}}
    updated = aws(
        *("update-item", "--table-name", "Items", "--key", key),
        *("--update-expression", "SET Plays = Plays + :one, #y = :y REMOVE Note"),
        *("--expression-attribute-names", '{"#y": "Year"}'),
        *("--expression-attribute-values", '{":one": {"N": "1"}, ":y": {"N": "1964"}}'),
        *("--return-values", "ALL_NEW", "--return-consumed-capacity", "TOTAL"),
    )
    assert updated["Attributes"]["Plays"] == {"N": "8"}
    assert "Note" not in updated["Attributes"]
    assert updated["ConsumedCapacity"]["CapacityUnits"] == 1.0
    rejected = run_aws(
        *("delete-item", "--table-name", "Items", "--key", key),
        *(
            "--condition-expression",
            "Plays > :many",
            "--expression-attribute-values",
            '{":many": {"N": "100"}}',
        ),
    )
    assert rejected.returncode in REFUSED
    assert "(ConditionalCheckFailedException) when calling the DeleteItem operation" in rejected.stderr
    aws("delete-item", "--table-name", "Items", "--key", key)
    assert not aws("get-item", "--table-name", "Items", "--key", key)


def test_batches_queries_and_pages(aws: Aws) -> None:
    _create(aws, "Pages")
    for start in (0, 25):
        puts = [
            {"PutRequest": {"Item": _item("Band", f"song-{number:02}", Plays={"N": str(number)})}}
            for number in range(start, start + 25)
        ]
        answer = aws("batch-write-item", "--request-items", json.dumps({"Pages": puts}))
        assert answer["UnprocessedItems"] == {}
    queried = aws(
        *("query", "--table-name", "Pages", "--page-size", "7"),
        *("--key-condition-expression", "Artist = :a AND Song >= :s"),
        *("--expression-attribute-values", '{":a": {"S": "Band"}, ":s": {"S": "song-10"}}'),
    )
    assert [item["Song"]["S"] for item in queried["Items"]] == [
        f"song-{number:02}" for number in range(10, 50)
    ]
    scanned = aws("scan", "--table-name", "Pages", "--page-size", "9", "--max-items", "20")
    assert len(scanned["Items"]) == 20
    rest = aws("scan", "--table-name", "Pages", "--starting-token", scanned["NextToken"])
    songs = {item["Song"]["S"] for item in scanned["Items"] + rest["Items"]}
    assert len(songs) == len(scanned["Items"]) + len(rest["Items"]) == 50
    keys = {"Pages": {"Keys": [_item("Band", "song-03"), _item("Band", "missing")]}}
    got = aws("batch-get-item", "--request-items", json.dumps(keys))["Responses"]["Pages"]
    assert got == [_item("Band", "song-03", Plays={"N": "3"})]


def test_error_message_is_printed(
    run_aws: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = run_aws("describe-table", "--table-name", "Nowhere")
    assert done.returncode in REFUSED
    assert "(ResourceNotFoundException) when calling the DescribeTable operation" in done.stderr
    assert "Requested resource not found: Table: Nowhere not found" in done.stderr


def test_all_other_commands(aws: Aws, run_aws: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Calls each supported command that the other tests do not use."""
    arn = _create(aws, "Rest")["TableDescription"]["TableArn"]
    aws("wait", "table-exists", "--table-name", "Rest")
    key = json.dumps(_item("Nina", "Four Women"))

    updated = aws("update-table", "--table-name", "Rest", "--deletion-protection-enabled")
    assert updated["TableDescription"]["DeletionProtectionEnabled"] is True
    rejected = run_aws("delete-table", "--table-name", "Rest")
    assert rejected.returncode in REFUSED and "protected against deletion" in rejected.stderr
    aws("update-table", "--table-name", "Rest", "--no-deletion-protection-enabled")
    assert aws("describe-limits")["TableMaxReadCapacityUnits"] == 40_000
    assert aws("describe-endpoints")["Endpoints"][0]["CachePeriodInMinutes"] == 1440

    expiry = "Enabled=true,AttributeName=until"
    aws("update-time-to-live", "--table-name", "Rest", "--time-to-live-specification", expiry)
    described = aws("describe-time-to-live", "--table-name", "Rest")["TimeToLiveDescription"]
    assert described["AttributeName"] == "until"

    put = {"Put": {"TableName": "Rest", "Item": _item("Nina", "Four Women", Year={"N": "1966"})}}
    aws("transact-write-items", "--transact-items", json.dumps([put]))
    get = {"Get": {"TableName": "Rest", "Key": json.loads(key)}}
    (answer,) = aws("transact-get-items", "--transact-items", json.dumps([get]))["Responses"]
    assert answer["Item"]["Year"] == {"N": "1966"}

    parameters = json.dumps([{"S": "Nina"}, {"S": "Four Women"}])
    statement = 'SELECT "Year" FROM "Rest" WHERE Artist = ? AND Song = ?'
    (found,) = aws("execute-statement", "--statement", statement, "--parameters", parameters)["Items"]
    assert found == {"Year": {"N": "1966"}}
    both = json.dumps([{"Statement": statement, "Parameters": json.loads(parameters)}])
    (response,) = aws("batch-execute-statement", "--statements", both)["Responses"]
    assert response["Item"] == {"Year": {"N": "1966"}}
    (response,) = aws("execute-transaction", "--transact-statements", both)["Responses"]
    assert response["Item"] == {"Year": {"N": "1966"}}

    kinesis = aws("describe-kinesis-streaming-destination", "--table-name", "Rest")
    assert kinesis["KinesisDataStreamDestinations"] == []
    stream = "arn:aws:kinesis:us-east-1:000000000000:stream/none"
    for command in ("enable", "disable", "update"):
        words = (f"{command}-kinesis-streaming-destination", "--table-name", "Rest", "--stream-arn", stream)
        done = run_aws(*words)
        assert done.returncode in REFUSED, command
        assert "Exception" in done.stderr

    change = "StreamEnabled=true,StreamViewType=NEW_IMAGE"
    aws("update-table", "--table-name", "Rest", "--stream-specification", change)
    latest = aws("describe-table", "--table-name", "Rest")["Table"]["LatestStreamArn"]
    assert latest.startswith(arn + "/stream/")
    aws("delete-item", "--table-name", "Rest", "--key", key)


def test_streams(run_aws: Callable[..., subprocess.CompletedProcess[str]], aws: Aws) -> None:
    """`aws dynamodbstreams`: lists streams and reads a record."""
    _create(aws, "Streamed")
    aws("wait", "table-exists", "--table-name", "Streamed")
    change = "StreamEnabled=true,StreamViewType=KEYS_ONLY"
    aws("update-table", "--table-name", "Streamed", "--stream-specification", change)
    aws("put-item", "--table-name", "Streamed", "--item", json.dumps(_item("Nina", "Sinnerman")))

    def streams(*words: str) -> Any:
        done = run_aws(*words, service="dynamodbstreams")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    (listed,) = streams("list-streams", "--table-name", "Streamed")["Streams"]
    arn = listed["StreamArn"]
    shards = streams("describe-stream", "--stream-arn", arn)["StreamDescription"]["Shards"]
    keys = []
    for shard in shards:
        iterator = streams(
            *("get-shard-iterator", "--stream-arn", arn, "--shard-id", shard["ShardId"]),
            *("--shard-iterator-type", "TRIM_HORIZON"),
        )["ShardIterator"]
        records = streams("get-records", "--shard-iterator", iterator)["Records"]
        keys += [record["dynamodb"]["Keys"] for record in records]
    assert keys == [_item("Nina", "Sinnerman")]


def test_auto_scaling_and_cloudwatch(
    run_aws: Callable[..., subprocess.CompletedProcess[str]], aws: Aws
) -> None:
    """`aws application-autoscaling` and `aws cloudwatch`: a target, its alarms and metrics."""
    _create(aws, "Scaled")
    provisioned = ("--billing-mode", "PROVISIONED", "--provisioned-throughput")
    aws("update-table", "--table-name", "Scaled", *provisioned, "ReadCapacityUnits=5,WriteCapacityUnits=5")

    def call(service: str, *words: str) -> Any:
        done = run_aws(*words, service=service)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    target = (
        *("--service-namespace", "dynamodb", "--resource-id", "table/Scaled"),
        *("--scalable-dimension", "dynamodb:table:ReadCapacityUnits"),
    )
    limits = ("--min-capacity", "10", "--max-capacity", "100")
    call("application-autoscaling", "register-scalable-target", *target, *limits)
    for _ in range(60):  # the background job runs ten times a second
        described = aws("describe-table", "--table-name", "Scaled")["Table"]["ProvisionedThroughput"]
        if described["ReadCapacityUnits"] == 10:
            break
    assert described["ReadCapacityUnits"] == 10
    metric = {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}
    configuration = json.dumps({"TargetValue": 70.0, "PredefinedMetricSpecification": metric})
    put = call(
        *("application-autoscaling", "put-scaling-policy", *target, "--policy-name", "track"),
        *("--policy-type", "TargetTrackingScaling"),
        *("--target-tracking-scaling-policy-configuration", configuration),
    )
    names = [alarm["AlarmName"] for alarm in put["Alarms"]]
    alarms = call("cloudwatch", "describe-alarms", "--alarm-names", *names)["MetricAlarms"]
    assert sorted(alarm["AlarmName"] for alarm in alarms) == sorted(names)
    action = ("--scheduled-action-name", "night", "--schedule", "cron(0 22 * * ? *)")
    call(
        *("application-autoscaling", "put-scheduled-action", *target, *action),
        *("--scalable-target-action", "MinCapacity=1"),
    )
    answer = call("application-autoscaling", "describe-scaling-activities", "--service-namespace", "dynamodb")
    assert answer["ScalingActivities"][0]["Cause"] == "minimum capacity was set to 10"

    data = ("--namespace", "Mine", "--metric-name", "m", "--value", "4", "--unit", "Count")
    call("cloudwatch", "put-metric-data", *data)
    (listed,) = call("cloudwatch", "list-metrics", "--namespace", "Mine")["Metrics"]
    assert listed["MetricName"] == "m"
    rejected = run_aws("set-alarm-state", *_state("missing"), service="cloudwatch")
    assert rejected.returncode in REFUSED
    assert "(ResourceNotFound) when calling the SetAlarmState operation" in rejected.stderr


def _state(alarm: str) -> tuple[str, ...]:
    return ("--alarm-name", alarm, "--state-value", "OK", "--state-reason", "drill")
