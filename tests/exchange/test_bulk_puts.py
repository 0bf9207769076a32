"""StartBulkPutItems: puts the records of objects into a table in use."""

from __future__ import annotations

from errno import ENOSPC
from io import FileIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.engine.exchange import bulk_outputs, bulk_putting, intake
from faradisc.engine.exchange.error_log import ErrorLog
from faradisc.engine.objects.api import Draft
from faradisc.engine.objects.directory import DirectoryStorage
from fixtures.exchanging import BUCKET, Exchanging, lines, some_items, zipped
from fixtures.in_process import Refused
from fixtures.schemas import item, schema

INDEXES = {"all": ("g:S", "n:N", "ALL")}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "STEP_RECORDS", 40)


def begin(exchanging: Exchanging, prefix: str = "in/", **more: Any) -> str:
    compression = {"InputCompressionType": more.pop("compression")} if "compression" in more else {}
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": prefix, "InputFormat": "DYNAMODB_JSON", **compression}
    output = {"S3Bucket": BUCKET, "S3KeyPrefix": "out", "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"]}
    request = {"TableName": "table", "InputS3Configuration": source, "OutputS3Configuration": output, **more}
    begun = exchanging.call("StartBulkPutItems", **request)["BulkOperationDescription"]
    arn: str = begun["BulkOperationArn"]
    return arn


def described(exchanging: Exchanging, arn: str) -> dict[str, Any]:
    shown: dict[str, Any] = exchanging.call("DescribeBulkOperation", BulkOperationArn=arn)[
        "BulkOperationDescription"
    ]
    return shown


def run_all(exchanging: Exchanging, **more: Any) -> dict[str, Any]:
    arn = begin(exchanging, **more)
    exchanging.finish()
    return described(exchanging, arn)


def output(exchanging: Exchanging, shown: dict[str, Any], name: str) -> list[dict[str, Any]]:
    key = f"out/{shown['BulkOperationArn'].rpartition('/')[2]}/{name}.jsonl"
    return [orjson.loads(line) for line in exchanging.content(key).splitlines()]


def by_key(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda each: each["p"]["S"])


def test_items_are_put_and_their_bytes_counted(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S", gsi=INDEXES))
    exchanging.put(item(p="000001", old=1), item(p="kept"))
    items = some_items(100)
    exchanging.object("in/a", zipped(lines(items[:30])))
    exchanging.object("in/b", zipped(lines(items[30:])))
    shown = run_all(exchanging, compression="GZIP")
    assert shown["BulkOperationStatus"] == "COMPLETED", shown
    assert by_key(exchanging.items()) == [*items, item(p="kept")]
    assert shown["ProcessedItemCount"] == 100 and shown["FailedItemCount"] == 0
    assert shown["ProcessedInputBytes"] == len(lines(items))
    stored = sum((exchanging.root / BUCKET / "in" / name).stat().st_size for name in "ab")
    assert shown["TotalInputBytes"] == stored
    (usage,) = shown["BulkOperationUsage"]
    table = exchanging.call("DescribeTable", TableName="table")["Table"]
    assert usage["Table"]["BulkPutBytes"] == table["TableSizeBytes"] - 101 * 100 - len("pkept")
    (index,) = table["GlobalSecondaryIndexes"]
    indexed = usage["GlobalSecondaryIndexes"]["all"]["BulkPutBytes"]
    assert indexed == index["IndexSizeBytes"] - index["ItemCount"] * 100
    assert usage["BulkPutBytes"] == usage["Table"]["BulkPutBytes"] + indexed
    assert exchanging.objects() == ["in/a", "in/b"]


def test_streams_and_history_contain_bulk_puts(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    exchanging.call("UpdateTable", TableName="table", StreamSpecification=stream)
    exchanging.put(item(p="000003", old=1))
    exchanging.clock.advance(1)
    then = exchanging.clock.now_ns() / 1e9
    exchanging.clock.advance(60)
    exchanging.object("in/a", lines(some_items(5)))
    run_all(exchanging)
    kept = exchanging.export(arn, ExportTime=then)
    assert kept["ItemCount"] == 1
    streams = exchanging.local.client("dynamodbstreams")
    (listed,) = streams.list_streams()["Streams"]
    shards = streams.describe_stream(StreamArn=listed["StreamArn"])["StreamDescription"]["Shards"]
    seen = []
    for shard in shards:
        iterator = streams.get_shard_iterator(
            StreamArn=listed["StreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        seen += streams.get_records(ShardIterator=iterator)["Records"]
    names = sorted(record["eventName"] for record in seen)
    assert names == ["INSERT"] * 5 + ["MODIFY"]


def test_conditions_of_single_records(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.put(item(p="a", v=1), item(p="b", v=1))

    def record(p: str, v: int, **more: Any) -> bytes:
        return orjson.dumps({"Item": item(p=p, v=v), **more}) + b"\n"

    absent = {"ConditionExpression": "attribute_not_exists(p)"}
    older = {
        "ConditionExpression": "#v < :v",
        "ExpressionAttributeNames": {"#v": "v"},
        "ExpressionAttributeValues": {":v": {"N": "5"}},
    }
    exchanging.object(
        "in/a",
        record("a", 2, **absent)
        + record("new", 2, **absent)
        + record("new", 3, **absent)  # the record before was written
        + record("b", 5, **older)
        + record("b", 6, **older)
        + record("c", 1, ConditionExpression="a b c")
        + record("c", 1, ConditionExpression=7)
        + record("c", 1, ConditionExpression="v = :v", ExpressionAttributeValues={":v": 7})
        + record("c", 1, ExpressionAttributeValues={":v": {"N": "7"}}),
    )
    shown = run_all(exchanging)
    assert shown["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert (shown["ProcessedItemCount"], shown["FailedItemCount"]) == (9, 4)
    assert by_key(exchanging.items()) == [item(p="a", v=1), item(p="b", v=5), item(p="new", v=2)]
    failures = output(exchanging, shown, "condition_check_failures")
    assert [(f["itemS3Pointer"]["itemIndex"], f["Item"], f["ExistingItem"]) for f in failures] == [
        (0, item(p="a", v=2), item(p="a", v=1)),
        (2, item(p="new", v=3), item(p="new", v=2)),
        (4, item(p="b", v=6), item(p="b", v=5)),
    ]
    errors = output(exchanging, shown, "errors")
    assert [each["itemS3Pointer"]["itemIndex"] for each in errors] == [5, 6, 7, 8]


def test_failed_conditions_are_not_errors(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.object(
        "in/a", orjson.dumps({"Item": item(p="a"), "ConditionExpression": "attribute_exists(p)"})
    )
    shown = run_all(exchanging)
    assert shown["BulkOperationStatus"] == "COMPLETED" and shown["ProcessedItemCount"] == 1
    assert exchanging.items() == []


def test_table_is_usable_and_cancelling_keeps_written_items(
    exchanging: Exchanging,
) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.object("in/a", lines(some_items(200)))
    arn = begin(exchanging)
    for _ in range(4):
        exchanging.step()
    assert 0 < len(exchanging.items()) < 200
    exchanging.put(item(p="mine"))
    cancelled = exchanging.call("CancelBulkOperation", BulkOperationArn=arn)
    assert cancelled == {"BulkOperationArn": arn, "BulkOperationStatus": "CANCELLING"}
    written = len(exchanging.items())
    exchanging.finish()
    shown = described(exchanging, arn)
    assert (shown["BulkOperationStatus"], shown["FailureCode"]) == ("CANCELLED", "Cancelled")
    assert len(exchanging.items()) == written == shown["ProcessedItemCount"] + 1
    with pytest.raises(Refused) as refused:
        exchanging.call("CancelBulkOperation", BulkOperationArn=arn)
    assert refused.value.code == "ValidationException"


def test_max_write_request_units_limits_the_rate(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.object("in/a", lines([item(p=f"{n}", x="x" * 40_000) for n in range(80)]))
    arn = begin(exchanging, MaxWriteRequestUnits=1024)
    exchanging.finish()
    # An item takes 40 units, and a step reads 256 KB of text: the first step alone exceeds the limit.
    hundredths = 0
    while described(exchanging, arn)["BulkOperationStatus"] == "IN_PROGRESS":
        exchanging.clock.advance(0.01)
        hundredths += 1
        exchanging.finish()
    assert 280 <= hundredths <= 330  # 80 items of 40 units at 1,024 a second, some of them on credit


def test_damaged_object_fails_the_operation(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.object("in/a", zipped(lines(some_items(50)))[:-4])
    shown = run_all(exchanging, compression="GZIP")
    assert (shown["BulkOperationStatus"], shown["FailureCode"]) == ("FAILED", "InputDamaged")
    assert "in/a" in shown["FailureMessage"]


def test_rejected_requests(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    for code, request in (
        ("ResourceNotFoundException", {"TableName": "nothing"}),
        ("ValidationException", {"MaxWriteRequestUnits": 1023}),
        ("ValidationException", {"OutputS3Configuration": {"OutputType": ["ERROR"]}}),
        ("ValidationException", {"OutputS3Configuration": {"S3Bucket": BUCKET, "OutputType": []}}),
    ):
        with pytest.raises(Refused) as refused:
            begin(exchanging, **request)
        assert refused.value.code == code, request
    first = begin(exchanging, ClientToken="t")
    assert begin(exchanging, ClientToken="t") == first
    with pytest.raises(Refused) as refused:
        begin(exchanging, ClientToken="t", prefix="other")
    assert refused.value.code == "IdempotentParameterMismatchException"
    with pytest.raises(Refused) as refused:
        begin(exchanging)
    assert refused.value.code == "ResourceInUseException"
    with pytest.raises(Refused) as refused:
        described(exchanging, first + "x")
    assert refused.value.code == "ResourceNotFoundException"
    exchanging.finish()
    (listed,) = exchanging.call("ListBulkOperations")["BulkOperationsSummaryList"]
    assert listed["BulkOperationArn"] == first and listed["BulkOperationStatus"] == "COMPLETED"


def test_missing_output_bucket(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.object("in/a", b"bad\n")
    shown = run_all(exchanging, OutputS3Configuration={"S3Bucket": "nowhere", "OutputType": ["ERROR"]})
    assert (shown["BulkOperationStatus"], shown["FailureCode"]) == ("FAILED", "S3NoSuchBucket")


class _Full(FileIO):
    """A file on a full disk."""

    def write(self, piece: Any) -> int:
        raise OSError(ENOSPC, "No space left on device")


def test_full_disk_at_the_delivery_of_outputs(
    exchanging: Exchanging, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operation fails with a reason instead of being retried forever."""
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.object("in/a", b"bad\n")
    draft = tmp_path / "draft"
    monkeypatch.setattr(
        DirectoryStorage, "draft", lambda self, bucket, name: Draft(_Full(draft, "wb"), durable=True)
    )
    shown = run_all(exchanging)
    assert (shown["BulkOperationStatus"], shown["FailureCode"]) == ("FAILED", "InternalServerError")
    assert "No space left on device" in shown["FailureMessage"]
    assert not draft.exists()


def test_truncated_log_is_not_padded(tmp_path: Path) -> None:
    """After a power failure a file can be shorter than its committed length."""
    path = tmp_path / "error"
    log = ErrorLog(path)
    log.add({"a": 1})
    length, lines = log.write()
    ErrorLog(path, length + 100, lines + 1)
    assert path.read_bytes() == b'{"a":1}\n'


@pytest.mark.parametrize("failing", range(1, 16))
def test_each_record_is_reported_once_when_commits_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """One step of many commits: records of one key, and collections that grow too large."""
    process = Exchanging(tmp_path / "s3", collection_bytes_max=1200)
    process.call("CreateTable", TableName="table", **schema("p:S", "r:N", lsi={"by-x": ("x:S", "KEYS_ONLY")}))
    before, count = bulk_putting.commit_outcomes, 0

    async def commit(*args: Any, **named: Any) -> bool:
        nonlocal count
        count += 1
        if count == failing:
            raise RuntimeError("a bug")
        return await before(*args, **named)

    puts = [item(p=f"{n % 5}", r=n % 7, x="x" * (500 if n % 9 == 4 else 10)) for n in range(36)]
    lines_of = [orjson.dumps({"Item": p, "ConditionExpression": "attribute_not_exists(p)"}) for p in puts]
    mixed = [line for n, record in enumerate(lines_of) for line in ([record, b"bad"] if n % 4 else [record])]
    # Blank lines, so that the commits of a step are in different pieces of the input.
    process.object("in/a", b"\n".join(b" " * 9_000 + line for line in mixed))
    monkeypatch.setattr(bulk_putting, "commit_outcomes", commit)
    shown = run_all(process)
    assert count > failing, "there were fewer commits"
    assert shown["ProcessedItemCount"] == len(mixed)
    assert shown["ProcessedInputBytes"] == shown["TotalInputBytes"]
    reported = output(process, shown, "errors")
    positions = [each["itemS3Pointer"]["itemIndex"] for each in reported]
    assert len(set(positions)) == len(positions) == shown["FailedItemCount"]
    assert {n for n, line in enumerate(mixed) if line == b"bad"} < set(positions), (
        "the item that is too large is missing"
    )
    again = [
        each["itemS3Pointer"]["itemIndex"] for each in output(process, shown, "condition_check_failures")
    ]
    assert len(set(again)) == len(again)
    assert len(process.items()) + len(again) + len(positions) == len(mixed)
    process.check()
    process.close()


@pytest.mark.parametrize("stop_after", range(1, 11))
def test_records_are_put_once_after_a_stop_at_any_step(tmp_path: Path, stop_after: int) -> None:
    data, root = tmp_path / "data", tmp_path / "s3"
    process = Exchanging(root, path=data)
    process.call("CreateTable", TableName="table", **schema("p:S", gsi=INDEXES))
    records = [
        orjson.dumps({"Item": each, "ConditionExpression": "attribute_not_exists(p)"})
        for each in some_items(150)
    ]
    process.object("in/a", b"\n".join([*records[:90], *records[:5], b"bad"]))
    process.object("in/b", b"\n".join(records[90:]))
    arn = begin(process)
    for _ in range(stop_after):
        process.step()
    process.close()
    process = Exchanging(root, path=data)
    process.finish()
    shown = described(process, arn)
    assert shown["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS", shown
    assert (shown["ProcessedItemCount"], shown["FailedItemCount"]) == (156, 1)
    assert by_key(process.items()) == some_items(150)
    assert len(output(process, shown, "condition_check_failures")) == 5
    assert len(output(process, shown, "errors")) == 1
    process.check()
    process.close()


def test_large_output_is_delivered_in_pieces(exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other work may run between two pieces."""
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    exchanging.object("in/a", b"bad\n" * 100)
    monkeypatch.setattr(bulk_outputs, "PIECE_BYTES", 500)
    yields = 0

    async def yield_control() -> None:
        nonlocal yields
        yields += 1

    monkeypatch.setattr(exchanging.backend.exchange, "yield_control", yield_control)
    shown = run_all(exchanging)
    key = f"out/{shown['BulkOperationArn'].rpartition('/')[2]}/errors.jsonl"
    assert len(exchanging.content(key).splitlines()) == 100
    assert yields == -(-len(exchanging.content(key)) // 500)
