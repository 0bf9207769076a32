"""Kinesis destinations: the delivered records, and that all changes are delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from consumers.kinesis_double import KinesisDouble
from faradisc.clock import ManualClock
from fixtures.clients import http_client
from fixtures.in_process import InProcess
from fixtures.schemas import invalid, item, new_name, refused, schema
from fixtures.served import Server

ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
OTHER = ARN + "-2"


class Captured:
    """A table with an enabled destination."""

    def __init__(self, process: InProcess, kinesis: KinesisDouble, **settings: Any) -> None:
        self.process = process
        self.client = process.client()
        self.kinesis = kinesis
        self.table = new_name()
        self.client.create_table(TableName=self.table, **schema("p:S", "r:N"))
        self.client.enable_kinesis_streaming_destination(TableName=self.table, StreamArn=ARN, **settings)

    def put(self, key: str, number: int = 0, **more: Any) -> None:
        self.client.put_item(TableName=self.table, Item=item(p=key, r=number, **more))

    def delete(self, key: str, number: int = 0) -> None:
        self.client.delete_item(TableName=self.table, Key=item(p=key, r=number))

    def look(self) -> list[dict[str, Any]]:
        """Delivers captured changes, and returns the destinations."""
        described: list[dict[str, Any]] = self.client.describe_kinesis_streaming_destination(
            TableName=self.table
        )["KinesisDataStreamDestinations"]
        return described

    def statuses(self) -> list[str]:
        return [destination["DestinationStatus"] for destination in self.look()]


@pytest.fixture
def process(bugs_surface: None, clock: ManualClock, kinesis: KinesisDouble) -> Iterator[InProcess]:
    process = InProcess(clock=clock, kinesis_endpoint_url=kinesis.url)
    yield process
    process.check()
    process.close()


@pytest.fixture
def captured(process: InProcess, kinesis: KinesisDouble) -> Captured:
    return Captured(process, kinesis)


def test_delivered_records(captured: Captured) -> None:
    captured.put("a", 1, data=b"\x00", text="x")
    captured.put("a", 1, data=b"\x00", text="y")
    captured.put("a", 1, data=b"\x00", text="y")  # changes nothing
    captured.delete("a", 1)
    captured.look()
    insert, modify, remove = captured.kinesis.records
    assert {name: value for name, value in insert.items() if name != "eventID"} == {
        "awsRegion": "us-east-1",
        "eventName": "INSERT",
        "userIdentity": None,
        "recordFormat": "application/json",
        "tableName": captured.table,
        "dynamodb": {
            "ApproximateCreationDateTime": 1_700_000_000_000,
            "ApproximateCreationDateTimePrecision": "MILLISECOND",
            "Keys": {"p": {"S": "a"}, "r": {"N": "1"}},
            "NewImage": {"p": {"S": "a"}, "r": {"N": "1"}, "data": {"B": "AA=="}, "text": {"S": "x"}},
            "SizeBytes": 20,
        },
        "eventSource": "aws:dynamodb",
    }
    assert (modify["eventName"], remove["eventName"]) == ("MODIFY", "REMOVE")
    assert modify["dynamodb"]["OldImage"] == insert["dynamodb"]["NewImage"]
    assert "NewImage" not in remove["dynamodb"]
    assert len({record["eventID"] for record in captured.kinesis.records}) == 3
    assert {request["StreamName"] for request in captured.kinesis.requests} == {"changes"}
    assert len(set(captured.kinesis.partition_keys)) == 1


def test_every_kind_of_write_is_captured(captured: Captured) -> None:
    """Changes are captured on the common write path: batches, transactions, updates, time to live."""
    client, table = captured.client, captured.table
    client.batch_write_item(
        RequestItems={table: [{"PutRequest": {"Item": item(p=f"b-{n}", r=n)}} for n in range(5)]}
    )
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": item(p="t", r=1)}},
            {"Delete": {"TableName": table, "Key": item(p="b-0", r=0)}},
        ]
    )
    client.update_item(
        TableName=table,
        Key=item(p="u", r=1),
        UpdateExpression="SET gone = :t",
        ExpressionAttributeValues=item(**{":t": 1_700_000_010}),
    )
    client.update_time_to_live(
        TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"}
    )
    captured.process.clock.advance(60)  # type: ignore[attr-defined]
    captured.look()
    captured.look()
    names = [(r["eventName"], r["dynamodb"]["Keys"]["p"]["S"]) for r in captured.kinesis.records]
    assert sorted(names) == sorted(
        [
            *[("INSERT", f"b-{n}") for n in range(5)],
            ("INSERT", "t"),
            ("REMOVE", "b-0"),
            ("INSERT", "u"),
            ("REMOVE", "u"),
        ]
    )
    (expired,) = [r for r in captured.kinesis.records if r["userIdentity"] is not None]
    assert expired["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_destination_is_independent_of_streams(captured: Captured) -> None:
    captured.put("a")
    described = captured.client.describe_table(TableName=captured.table)["Table"]
    assert "LatestStreamArn" not in described
    captured.client.update_table(
        TableName=captured.table,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    captured.put("b")
    captured.client.update_table(TableName=captured.table, StreamSpecification={"StreamEnabled": False})
    captured.put("c")
    captured.look()
    assert [r["dynamodb"]["NewImage"]["p"]["S"] for r in captured.kinesis.records] == ["a", "b", "c"]


def test_timestamps_in_microseconds(process: InProcess, clock: ManualClock, kinesis: KinesisDouble) -> None:
    captured = Captured(
        process,
        kinesis,
        EnableKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": "MICROSECOND"},
    )
    clock.advance(0.001234)
    captured.put("a")
    (destination,) = captured.look()
    assert destination == {
        "StreamArn": ARN,
        "DestinationStatus": "ACTIVE",
        "ApproximateCreationDateTimePrecision": "MICROSECOND",
    }
    (record,) = kinesis.records
    assert record["dynamodb"]["ApproximateCreationDateTime"] == 1_700_000_000_001_234


def test_precision_can_be_changed_three_times_a_day(captured: Captured, clock: ManualClock) -> None:
    def update(precision: str) -> Any:
        return captured.client.update_kinesis_streaming_destination(
            TableName=captured.table,
            StreamArn=ARN,
            UpdateKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": precision},
        )

    with invalid():
        update("MILLISECOND")
    assert update("MICROSECOND")["DestinationStatus"] == "UPDATING"
    update("MILLISECOND")
    update("MICROSECOND")
    with refused("LimitExceededException"):
        update("MILLISECOND")
    clock.advance(86_400)
    update("MILLISECOND")
    with invalid():
        captured.client.update_kinesis_streaming_destination(TableName=captured.table, StreamArn=ARN)


def test_failed_requests_are_retried(captured: Captured, clock: ManualClock) -> None:
    captured.kinesis.fail_requests = 2
    captured.put("a")
    (destination,) = captured.look()
    assert destination["DestinationStatus"] == "ACTIVE"
    assert "InternalFailure" in destination["DestinationStatusDescription"]
    captured.look()
    assert len(captured.kinesis.requests) == 1, "not before the pause is over"
    clock.advance(1)
    captured.look()
    clock.advance(2)
    (destination,) = captured.look()
    assert "DestinationStatusDescription" not in destination
    assert len(captured.kinesis.records) == 1


def test_failed_records_are_retried(captured: Captured, clock: ManualClock) -> None:
    """Records after a failed one are sent again too: completeness is guaranteed, uniqueness is not."""
    captured.kinesis.fail_requests = 1
    captured.put("a")
    captured.look()
    for number in range(1, 6):
        captured.put("a", number)
    captured.kinesis.fail_records = {2}
    clock.advance(1)
    captured.look()
    clock.advance(5)
    captured.look()
    numbers = [r["dynamodb"]["Keys"]["r"]["N"] for r in captured.kinesis.records]
    assert set(numbers) == {str(number) for number in range(6)}
    assert len(captured.kinesis.requests) == 3


def test_partial_success_is_retried_after_the_shortest_pause(captured: Captured, clock: ManualClock) -> None:
    """A busy shard accepts some records each time; the pause must not double up to a minute."""
    captured.kinesis.fail_requests = 1
    for number in range(8):
        captured.put("a", number)
    for taken in range(1, 9):
        captured.kinesis.fail_records = set(range(1, 8))
        clock.advance(1)
        captured.look()
        assert len(captured.kinesis.records) == taken


def test_rejected_record_is_skipped(captured: Captured, clock: ManualClock) -> None:
    captured.kinesis.never = "poison"
    captured.kinesis.fail_requests = 1
    captured.put("a")
    captured.look()
    for number in range(1, 20):
        captured.put("a", number, text="poison" if number == 7 else "")
    clock.advance(1)
    captured.look()
    numbers = {int(r["dynamodb"]["Keys"]["r"]["N"]) for r in captured.kinesis.records}
    assert numbers == set(range(20)) - {7}


def test_requests_with_large_items_keep_the_size_limit(captured: Captured, clock: ManualClock) -> None:
    captured.kinesis.fail_requests = 1
    for number in range(20):
        captured.put("a", number, text="x" * 380_000)
    numbers: set[str] = set()
    for _ in range(20):  # on a busy machine a request can take too long, and is sent again
        clock.advance(1)
        captured.look()
        numbers = {record["dynamodb"]["Keys"]["r"]["N"] for record in captured.kinesis.records}
        if len(numbers) == 20:
            break
    assert numbers == {str(number) for number in range(20)}
    assert all(len(request["Records"]) <= 14 for request in captured.kinesis.requests)


def test_records_are_dropped_after_24_hours(captured: Captured, clock: ManualClock) -> None:
    captured.kinesis.fail_requests = 1
    captured.put("a", 1)
    captured.look()
    clock.advance(86_400 + 2)
    captured.put("a", 2)
    captured.look()
    assert [r["dynamodb"]["Keys"]["r"]["N"] for r in captured.kinesis.records] == ["2"]


def test_disabled_destination_delivers_captured_changes(captured: Captured, clock: ManualClock) -> None:
    captured.kinesis.fail_requests = 1
    captured.put("a")
    answer = captured.client.disable_kinesis_streaming_destination(TableName=captured.table, StreamArn=ARN)
    assert answer["DestinationStatus"] == "DISABLING"
    captured.put("b")  # no longer captured
    assert captured.statuses() == ["DISABLING"]
    with invalid():
        captured.client.enable_kinesis_streaming_destination(TableName=captured.table, StreamArn=OTHER)
    clock.advance(1)
    assert captured.statuses() == ["DISABLED"]
    assert [r["dynamodb"]["Keys"]["p"]["S"] for r in captured.kinesis.records] == ["a"]
    captured.client.enable_kinesis_streaming_destination(TableName=captured.table, StreamArn=OTHER)
    captured.put("c")
    assert captured.statuses() == ["DISABLED", "ACTIVE"]
    assert captured.kinesis.requests[-1]["StreamName"] == "changes-2"


def test_a_destination_without_its_stream_has_failed(
    process: InProcess, clock: ManualClock, kinesis: KinesisDouble
) -> None:
    """Recorded: errors.md section 6.10. Another destination may follow, or the same once the stream exists; a
    stream that is deleted later is not looked for again."""
    kinesis.missing = {"changes"}
    captured = Captured(process, kinesis)
    captured.put("a")
    (destination,) = captured.look()
    assert destination == {
        "StreamArn": ARN,
        "DestinationStatus": "ENABLE_FAILED",
        "DestinationStatusDescription": "User does not have a permission to use kinesis stream",
    }
    with invalid():
        captured.client.disable_kinesis_streaming_destination(TableName=captured.table, StreamArn=ARN)
    process.check()
    captured.client.enable_kinesis_streaming_destination(TableName=captured.table, StreamArn=OTHER)
    captured.put("b")
    assert captured.statuses() == ["ENABLE_FAILED", "ACTIVE"]
    captured.client.disable_kinesis_streaming_destination(TableName=captured.table, StreamArn=OTHER)
    kinesis.missing = set()
    captured.look()
    captured.client.enable_kinesis_streaming_destination(TableName=captured.table, StreamArn=ARN)
    captured.put("c")
    assert captured.statuses() == ["DISABLED", "ACTIVE"]
    assert [r["dynamodb"]["Keys"]["p"]["S"] for r in kinesis.records] == ["b", "c"]
    kinesis.missing = {"changes"}
    clock.advance(1)
    captured.put("d")
    assert captured.statuses() == ["DISABLED", "ACTIVE"]


def test_rejected_requests(captured: Captured) -> None:
    client, table = captured.client, captured.table
    for method in (
        client.enable_kinesis_streaming_destination,
        client.disable_kinesis_streaming_destination,
    ):
        with invalid():
            method(TableName=table, StreamArn="arn:aws:dynamodb:eu-central-1:123456789012:table/changes")
        with refused("ResourceNotFoundException"):
            method(TableName="missing", StreamArn=ARN)
    with invalid():
        client.enable_kinesis_streaming_destination(TableName=table, StreamArn=ARN)
    with invalid():
        client.disable_kinesis_streaming_destination(TableName=table, StreamArn=OTHER)
    client.disable_kinesis_streaming_destination(TableName=table, StreamArn=ARN)
    with invalid():
        client.disable_kinesis_streaming_destination(TableName=table, StreamArn=ARN)
    with refused("ResourceNotFoundException"):
        client.describe_kinesis_streaming_destination(TableName="missing")


def test_enabling_needs_a_configured_endpoint(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S")
    with invalid():
        dynamodb.enable_kinesis_streaming_destination(TableName=table, StreamArn=ARN)
    described = dynamodb.describe_kinesis_streaming_destination(TableName=table)
    assert described["KinesisDataStreamDestinations"] == []


def test_captured_changes_survive_a_restart(
    bugs_surface: None, clock: ManualClock, kinesis: KinesisDouble, tmp_path: Path
) -> None:
    """Also without an endpoint for some time: nothing is delivered and nothing is lost."""
    process = InProcess(tmp_path, clock=clock, kinesis_endpoint_url=kinesis.url)
    kinesis.fail_requests = 1
    captured = Captured(process, kinesis)
    captured.put("a", 1)
    captured.look()
    process.close()
    process = InProcess(tmp_path, clock=clock)
    process.client().put_item(TableName=captured.table, Item=item(p="a", r=2))
    process.close()
    process = InProcess(tmp_path, clock=clock, kinesis_endpoint_url=kinesis.url)
    clock.advance(5)
    process.client().list_tables()
    assert {r["dynamodb"]["Keys"]["r"]["N"] for r in kinesis.records} == {"1", "2"}
    process.check()
    process.close()


def test_deleted_tables_and_reset_leave_no_data(captured: Captured) -> None:
    captured.put("a")
    captured.client.delete_table(TableName=captured.table)
    captured.client.create_table(TableName=captured.table, **schema("p:S", "r:N"))
    assert captured.look() == []
    captured.client.enable_kinesis_streaming_destination(TableName=captured.table, StreamArn=ARN)
    captured.process.local.reset()
    assert captured.client.list_tables()["TableNames"] == []


def test_server_delivers_in_the_background(kinesis: KinesisDouble) -> None:
    """Over HTTP on both sides, from a thread of the server; the SDK's waiter works."""
    with Server("--memory", "--kinesis-endpoint-url", kinesis.url) as server:
        client = http_client(server.url)
        table = new_name()
        client.create_table(TableName=table, **schema("p:S"))
        client.get_waiter("table_exists").wait(TableName=table)
        client.enable_kinesis_streaming_destination(TableName=table, StreamArn=ARN)
        soon = {"Delay": 1}
        client.get_waiter("kinesis_streaming_destination_active").wait(TableName=table, WaiterConfig=soon)
        for number in range(50):
            client.put_item(TableName=table, Item=item(p=f"key-{number}"))
        client.disable_kinesis_streaming_destination(TableName=table, StreamArn=ARN)
        status = ""
        while status != "DISABLED":
            (destination,) = client.describe_kinesis_streaming_destination(TableName=table)[
                "KinesisDataStreamDestinations"
            ]
            status = destination["DestinationStatus"]
        # At least once: after a slow answer of the endpoint a batch is sent again.
        assert {r["dynamodb"]["Keys"]["p"]["S"] for r in kinesis.records} == {f"key-{n}" for n in range(50)}
        client.close()
        assert server.stop() == 0
