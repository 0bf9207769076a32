"""ExportTableToPointInTime: the items of a moment, data files and checksums."""

from __future__ import annotations

import random
from base64 import b64encode
from hashlib import md5
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.engine.derived.history import history_of
from faradisc.engine.exchange import exporting
from fixtures.exchanging import BUCKET, Exchanging, lines, some_items
from fixtures.in_process import Refused
from fixtures.schemas import item, schema

MINUTE = 60


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faradisc.engine.backups.history.PAGE_ROWS", 20)
    monkeypatch.setattr(exporting, "PAGES_PER_STEP", 1)


def files_of(exchanging: Exchanging, described: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the lines of the manifest of data files, after checking the checksum and count of each file."""
    directory = described["ExportManifest"].rpartition("/")[0]
    for name in ("manifest-summary", "manifest-files"):
        content = exchanging.content(f"{directory}/{name}.json")
    checksum = exchanging.content(f"{directory}/{name}.md5").decode()
    assert checksum == b64encode(md5(content).digest()).decode()
    assert exchanging.content(f"{directory}/_started") == b""
    files = [
        orjson.loads(line) for line in exchanging.content(f"{directory}/manifest-files.json").splitlines()
    ]
    for file in files:
        stored = (exchanging.root / BUCKET / file["dataFileS3Key"]).read_bytes()
        assert file["md5Checksum"] == b64encode(md5(stored).digest()).decode()
        assert file["etag"] == md5(stored).hexdigest()
        assert file["itemCount"] == len(exchanging.content(file["dataFileS3Key"]).splitlines())
    return files


def lines_of(exchanging: Exchanging, described: dict[str, Any]) -> list[dict[str, Any]]:
    found = [
        orjson.loads(line)
        for file in files_of(exchanging, described)
        for line in exchanging.content(file["dataFileS3Key"]).splitlines()
    ]
    assert len(found) == described["ItemCount"]
    return found


def exported(exchanging: Exchanging, described: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted((line["Item"] for line in lines_of(exchanging, described)), key=lambda i: i["p"]["S"])


def test_full_export_has_the_items_of_its_moment(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    items = some_items(200)
    exchanging.put(*items)
    exchanging.clock.advance(MINUTE)
    then = exchanging.clock.now_ns() / 1e9
    exchanging.clock.advance(MINUTE)
    for each in items[:50]:
        exchanging.call("DeleteItem", TableName="table", Key={"p": each["p"]})
    exchanging.put(*({**each, "n": {"N": "7"}} for each in items[50:100]), item(p="new"))
    described = exchanging.export(arn, ExportTime=then, S3Prefix="my/prefix")
    assert described["ExportStatus"] == "COMPLETED", described
    assert exported(exchanging, described) == items
    assert described["ExportTime"] == then
    directory = f"my/prefix/AWSDynamoDB/{described['ExportArn'].rpartition('/')[2]}"
    assert described["ExportManifest"] == f"{directory}/manifest-summary.json"
    keys = [file["dataFileS3Key"] for file in files_of(exchanging, described)]
    assert all(key.startswith(f"{directory}/data/") for key in keys)
    summary = orjson.loads(exchanging.content(described["ExportManifest"]))
    assert summary == {
        "version": "2020-06-30",
        "exportArn": described["ExportArn"],
        "startTime": "2023-11-14T22:15:20.000Z",
        "endTime": summary["endTime"],
        "tableArn": arn,
        "tableId": described["TableId"],
        "exportTime": "2023-11-14T22:14:20.000Z",
        "s3Bucket": BUCKET,
        "s3Prefix": "my/prefix",
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"{directory}/manifest-files.json",
        "billedSizeBytes": described["BilledSizeBytes"],
        "itemCount": 200,
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
    }
    assert exchanging.objects() == sorted(
        [f"{directory}/{name}" for name in ("_started", "manifest-files.json", "manifest-files.md5")]
        + [f"{directory}/manifest-summary.json", f"{directory}/manifest-summary.md5"]
        + keys
    )


def test_items_of_a_file_come_from_one_slot_and_large_files_are_divided(
    exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    arn = exchanging.create()
    exchanging.put(*some_items(200))
    assert len(files_of(exchanging, exchanging.export(arn))) == 4
    monkeypatch.setattr(exporting, "FILE_BYTES", 4000)
    described = exchanging.export(arn)
    assert len(files_of(exchanging, described)) > 10
    assert exported(exchanging, described) == some_items(200)


def test_writes_during_an_export_are_not_in_it(exchanging: Exchanging) -> None:
    chance = random.Random(1)
    arn = exchanging.create()
    items = some_items(200)
    exchanging.put(*items)
    begun = exchanging.call("ExportTableToPointInTime", TableArn=arn, S3Bucket=BUCKET)
    # The clock does not advance: a write must still be later than the export.
    while exchanging.export_of(begun["ExportDescription"]["ExportArn"])["ExportStatus"] == "IN_PROGRESS":
        chosen = chance.choice(items)
        exchanging.call("DeleteItem", TableName="table", Key={"p": chosen["p"]})
        exchanging.put({**chance.choice(items), "n": {"N": "0"}}, item(p=f"new{chance.random()}"))
        exchanging.step()
    described = exchanging.export_of(begun["ExportDescription"]["ExportArn"])
    assert exported(exchanging, described) == items


@pytest.mark.parametrize("format_", ["DYNAMODB_JSON", "ION"])
def test_exported_table_can_be_imported(exchanging: Exchanging, format_: str) -> None:
    arn = exchanging.create()
    exchanging.put(*some_items(100))
    described = exchanging.export(arn, ExportFormat=format_)
    exchanging.call("DeleteTable", TableName="table")
    exchanging.clock.advance(1)
    directory = described["ExportManifest"].rpartition("/")[0]
    for prefix, name in ((f"{directory}/data/", "table"), (directory, "another")):
        imported = exchanging.import_all(
            prefix,
            InputFormat=format_,
            InputCompressionType="GZIP",
            TableCreationParameters={"TableName": name, **schema("p:S")},
        )
        assert (imported["ImportStatus"], imported["ImportedItemCount"]) == ("COMPLETED", 100), imported
        assert sorted(exchanging.items(name), key=lambda i: i["p"]["S"]) == some_items(100)


@pytest.mark.parametrize("damaged", ["data", "manifest"])
def test_altered_export_is_not_imported(exchanging: Exchanging, damaged: str) -> None:
    arn = exchanging.create()
    exchanging.put(*some_items(50))
    described = exchanging.export(arn)
    exchanging.call("DeleteTable", TableName="table")
    exchanging.clock.advance(1)
    directory = described["ExportManifest"].rpartition("/")[0]
    files = files_of(exchanging, described)
    if damaged == "data":
        # A complete gzip file with other items: only the manifest detects it.
        name = files[1]["dataFileS3Key"]
        (exchanging.root / BUCKET / name).write_bytes(
            (exchanging.root / BUCKET / files[0]["dataFileS3Key"]).read_bytes()
        )
    else:
        name = f"{directory}/manifest-files.json"
        (exchanging.root / BUCKET / name).write_bytes(exchanging.content(name).replace(b"data", b"date"))
    imported = exchanging.import_all(f"{directory}/data/", InputCompressionType="GZIP")
    assert (imported["ImportStatus"], imported["FailureCode"]) == ("FAILED", "InputDamaged")
    assert name in imported["FailureMessage"]
    exchanging.clock.advance(1)
    assert exchanging.call("ListTables")["TableNames"] == []


# --- Incremental -----------------------------------------------------------------------------------


def changed_table(exchanging: Exchanging) -> tuple[str, float, float]:
    """Creates a table with every kind of change between two moments. Returns its ARN and the moments."""
    arn = exchanging.create()
    exchanging.put(*(item(p=name, v=0) for name in ("kept", "updated", "deleted", "back", "twice")))
    exchanging.clock.advance(MINUTE)
    start = exchanging.clock.now_ns() / 1e9
    exchanging.put(
        item(p="updated", v=1), item(p="inserted", v=1), item(p="brief", v=1), item(p="twice", v=1)
    )
    exchanging.clock.advance(10 * MINUTE)
    exchanging.put(item(p="twice", v=2))
    for name in ("deleted", "brief", "back"):
        exchanging.call("DeleteItem", TableName="table", Key=item(p=name))
    exchanging.clock.advance(10 * MINUTE)
    exchanging.put(item(p="back", v=3))
    exchanging.clock.advance(MINUTE)
    end = exchanging.clock.now_ns() / 1e9
    exchanging.put(item(p="kept", v=9), item(p="updated", v=9))
    exchanging.clock.advance(MINUTE)
    return arn, start, end


EXPECTED: dict[str, tuple[int, int | None, int | None]] = {
    # minutes after the start of the last write, new v, old v
    "updated": (0, 1, 0),
    "inserted": (0, 1, None),
    "twice": (10, 2, 0),
    "deleted": (10, None, 0),
    "back": (20, 3, 0),
}


@pytest.mark.parametrize("view", ["NEW_AND_OLD_IMAGES", "NEW_IMAGE", None])
def test_incremental_export_has_the_changes(exchanging: Exchanging, view: str | None) -> None:
    arn, start, end = changed_table(exchanging)
    specification = {"ExportFromTime": start, "ExportToTime": end}
    if view is not None:
        specification |= {"ExportViewType": view}
    described = exchanging.export(
        arn, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=specification
    )
    assert described["ExportStatus"] == "COMPLETED", described
    expected = []
    for name, (minutes, new, old) in EXPECTED.items():
        micros = str(int((start + minutes * MINUTE) * 1e6))
        line = {"Metadata": {"WriteTimestampMicros": {"N": micros}}, "Keys": item(p=name)}
        if new is not None:
            line["NewImage"] = item(p=name, v=new)
        if old is not None and view != "NEW_IMAGE":
            line["OldImage"] = item(p=name, v=old)
        expected.append(line)
    found = lines_of(exchanging, described)
    assert sorted(found, key=lambda each: each["Keys"]["p"]["S"]) == sorted(
        expected, key=lambda each: each["Keys"]["p"]["S"]
    )
    assert all(
        file["dataFileS3Key"].startswith("AWSDynamoDB/data/") for file in files_of(exchanging, described)
    )
    summary = orjson.loads(exchanging.content(described["ExportManifest"]))
    assert summary["version"] == "2023-08-01"
    assert summary["outputView"] == (view or "NEW_AND_OLD_IMAGES")
    assert (summary["exportFromTime"], summary["exportToTime"]) == (
        "2023-11-14T22:14:20.000Z",
        "2023-11-14T22:35:20.000Z",
    )


def test_window_includes_its_start_and_excludes_its_end(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    exchanging.clock.advance(MINUTE)
    start = exchanging.clock.now_ns() / 1e9
    exchanging.put(item(p="at the start"))
    exchanging.clock.advance(15 * MINUTE)
    end = exchanging.clock.now_ns() / 1e9
    exchanging.put(item(p="at the end"))
    described = exchanging.export(
        arn,
        ExportType="INCREMENTAL_EXPORT",
        IncrementalExportSpecification={"ExportFromTime": start, "ExportToTime": end},
    )
    assert [line["Keys"] for line in lines_of(exchanging, described)] == [item(p="at the start")]


def test_incremental_export_in_ion(exchanging: Exchanging) -> None:
    arn, start, end = changed_table(exchanging)
    described = exchanging.export(
        arn,
        ExportType="INCREMENTAL_EXPORT",
        ExportFormat="ION",
        IncrementalExportSpecification={"ExportFromTime": start, "ExportToTime": end},
    )
    found = b"".join(
        exchanging.content(file["dataFileS3Key"]) for file in files_of(exchanging, described)
    ).splitlines()
    micros = int(start * 1e6)
    assert (
        b'$ion_1_0 {Record:{Keys:{p:"updated"},Metadata:{WriteTimestampMicros:%d.},'
        b'NewImage:{p:"updated",v:1.},OldImage:{p:"updated",v:0.}}}' % micros
    ) in found


# --- Filters ---------------------------------------------------------------------------------------


def test_filter_and_projection(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    items = some_items(100)
    exchanging.put(*items)
    specification = {
        "FilterExpression": "#f = :yes AND p > :p",
        "ProjectionExpression": "p, #m.deep",
        "ExpressionAttributeNames": {"#f": "flag", "#m": "map"},
        "ExpressionAttributeValues": {":yes": {"BOOL": True}, ":p": {"S": "000050"}},
    }
    described = exchanging.export(arn, FilterSpecification=specification)
    assert described["FilterSpecification"] == specification
    assert exported(exchanging, described) == [
        {"p": {"S": f"{n:06}"}, "map": {"M": {"deep": {"M": {}}}}} for n in range(52, 100, 2)
    ]


def test_key_condition(exchanging: Exchanging) -> None:
    arn = exchanging.create(sort="r:N")
    exchanging.put(*(item(p=name, r=number) for name in "ab" for number in range(10)))
    specification = {
        "KeyConditionExpression": "p = :p AND r BETWEEN :low AND :high",
        "ExpressionAttributeValues": item(**{":p": "b", ":low": 3, ":high": 5}),
    }
    described = exchanging.export(arn, FilterSpecification=specification, ExportFormat="ION")
    assert described["ItemCount"] == 3


@pytest.mark.parametrize(
    "specification",
    [
        {"FilterExpression": "a ="},
        {"FilterExpression": "a = :missing"},
        {"FilterExpression": "attribute_exists(a)", "ExpressionAttributeValues": {":b": {"N": "1"}}},
        {"FilterExpression": "attribute_exists(a)", "ExpressionAttributeNames": {"#unused": "x"}},
        {"KeyConditionExpression": "r = :v", "ExpressionAttributeValues": {":v": {"S": "1"}}},
        {"KeyConditionExpression": "p > :v", "ExpressionAttributeValues": {":v": {"S": "1"}}},
        {"KeyConditionExpression": "p = :v", "ExpressionAttributeValues": {":v": {"N": "1"}}},
        {
            "KeyConditionExpression": "p = :v",
            "FilterExpression": "p = :v",
            "ExpressionAttributeValues": {":v": {"S": "1"}},
        },
        {"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": {"N": "x"}}},
    ],
)
def test_invalid_filter(exchanging: Exchanging, specification: dict[str, Any]) -> None:
    arn = exchanging.create()
    with pytest.raises(Refused) as refused:
        exchanging.export(arn, FilterSpecification=specification)
    assert refused.value.code == "ValidationException"
    assert exchanging.call("ListExports")["ExportSummaries"] == []


# --- Rejections, failures, restarts ------------------------------------------------------------------


def test_rejected_tables_and_times(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    exchanging.clock.advance(3 * 86_400)
    now = exchanging.clock.now_ns() / 1e9
    exchanging.call("CreateTable", TableName="plain", **schema("p:S"))

    def incremental(start: float, end: float) -> dict[str, Any]:
        specification = {"ExportFromTime": start, "ExportToTime": end}
        return {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": specification}

    for code, request in (
        ("TableNotFoundException", {"TableArn": arn + "x"}),
        ("PointInTimeRecoveryUnavailableException", {"TableArn": arn.replace("/table", "/plain")}),
        ("InvalidExportTimeException", {"ExportTime": now + 1}),
        ("InvalidExportTimeException", {"ExportTime": now - 4 * 86_400}),
        ("InvalidExportTimeException", {"ExportTime": 1e300}),
        ("InvalidExportTimeException", incremental(now - 14 * MINUTE, now)),
        ("InvalidExportTimeException", incremental(now - 86_401, now)),
        ("InvalidExportTimeException", incremental(now, now - 86_000)),
        ("InvalidExportTimeException", incremental(now - 3600, now + 1)),
        ("ValidationException", {"ExportType": "INCREMENTAL_EXPORT"}),
        ("ValidationException", {**incremental(now - 3600, now), "ExportTime": now}),
        ("ValidationException", {**incremental(now - 3600, now), "ExportType": "FULL_EXPORT"}),
        ("ValidationException", {"S3SseAlgorithm": "KMS"}),
        ("ValidationException", {"S3SseKmsKeyId": "key"}),
    ):
        with pytest.raises(Refused) as refused:
            exchanging.export(**{"arn": request.pop("TableArn", arn), **request})
        assert refused.value.code == code, request
    with pytest.raises(Refused) as refused:
        exchanging.export_of(f"{arn}/export/01700000000000-01234567")
    assert refused.value.code == "ExportNotFoundException"
    assert exchanging.export(arn, **incremental(now - 86_400, now))["ExportStatus"] == "COMPLETED"


def test_missing_bucket(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    (exchanging.root / BUCKET).rmdir()
    described = exchanging.export(arn)
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert "ExportManifest" not in described


def test_table_deleted_during_its_export(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    exchanging.put(*some_items(100))
    begun = exchanging.call("ExportTableToPointInTime", TableArn=arn, S3Bucket=BUCKET)
    exchanging.step()
    exchanging.step()
    exchanging.call("DeleteTable", TableName="table")
    exchanging.finish()
    described = exchanging.export_of(begun["ExportDescription"]["ExportArn"])
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "TableNotFound")
    assert not any(".draft" in key or "manifest" in key for key in exchanging.objects())


def days(process: Exchanging, *, period: int | None = None) -> int:
    """Sets the recovery period of the table and returns the first day of its history."""
    if period is not None:
        recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": period}
        process.call("UpdateContinuousBackups", TableName="table", PointInTimeRecoverySpecification=recovery)
    history = history_of(process.backend.tables.for_control("table", "", ""))
    assert history is not None
    return history.first_day


@pytest.mark.parametrize("kind", ["full", "incremental"])
@pytest.mark.parametrize("is_reopened", [False, True])
def test_history_is_retained_until_the_export_ends(tmp_path: Path, kind: str, is_reopened: bool) -> None:
    data, root = tmp_path / "data", tmp_path / "s3"
    process = Exchanging(root, path=data)
    clock = process.clock
    arn = process.create()
    days(process, period=1)
    items = some_items(200)
    process.put(*items)
    clock.advance(3600)
    from_s = clock.now_ns() / 1e9
    changed = [{**each, "n": {"N": "7"}} for each in items]
    process.put(*changed)
    clock.advance(3600)
    oldest_s = to_s = clock.now_ns() / 1e9
    request: dict[str, Any] = {}
    if kind == "incremental":
        oldest_s, window = from_s, {"ExportFromTime": from_s, "ExportToTime": to_s}
        request = {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": window}
    begun = process.call("ExportTableToPointInTime", TableArn=arn, S3Bucket=BUCKET, **request)
    process.put(*items[:20])
    process.step()
    if is_reopened:
        process.close()
        process = Exchanging(root, path=data, clock=clock)
    clock.advance(5 * 86_400)
    for _ in range(3):
        process.step()
        assert days(process) <= oldest_s // 86_400
    process.finish()
    described = process.export_of(begun["ExportDescription"]["ExportArn"])
    assert described["ExportStatus"] == "COMPLETED", described
    found = lines_of(process, described)
    images = [line["Item"] if kind == "full" else line["NewImage"] for line in found]
    assert sorted(images, key=lambda each: each["p"]["S"]) == changed
    assert days(process) == to_s // 86_400 + 4, "no export reads them"
    process.check()
    process.close()


def test_export_without_locations_retains_no_history(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    days(exchanging, period=1)
    exchanging.put(*some_items(100))
    begun = exchanging.call("ExportTableToPointInTime", TableArn=arn, S3Bucket=BUCKET)
    exchange = exchanging.backend.exchange
    places, exchange.locations = exchange.locations, None  # as after a start without --s3-root
    first_day = days(exchanging)
    exchanging.clock.advance(5 * 86_400)
    exchanging.finish()
    assert days(exchanging) == first_day + 4
    exchange.locations = places
    exchanging.finish()
    described = exchanging.export_of(begun["ExportDescription"]["ExportArn"])
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "InvalidExportTime")


def test_client_token_starts_one_export(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    first = exchanging.export(arn, ClientToken="t")["ExportArn"]
    assert exchanging.export(arn, ClientToken="t")["ExportArn"] == first
    with pytest.raises(Refused) as refused:
        exchanging.export(arn, ClientToken="t", S3Prefix="other")
    assert refused.value.code == "ExportConflictException"
    exchanging.clock.advance(8 * 3600 + 1)
    assert exchanging.export(arn, ClientToken="t", S3Prefix="other")["ExportArn"] != first
    listed = exchanging.call("ListExports", TableArn=arn, MaxResults=1)
    assert listed["ExportSummaries"][0]["ExportType"] == "FULL_EXPORT"
    following = exchanging.call("ListExports", NextToken=listed["NextToken"])
    assert [each["ExportArn"] for each in following["ExportSummaries"]] == [first]
    assert "NextToken" not in following


@pytest.mark.parametrize("stop_after", range(1, 14))
def test_export_continues_after_a_restart(tmp_path: Path, stop_after: int) -> None:
    data, root = tmp_path / "data", tmp_path / "s3"
    process = Exchanging(root, path=data)
    arn = process.create()
    process.put(*some_items(150))
    begun = process.call("ExportTableToPointInTime", TableArn=arn, S3Bucket=BUCKET)
    for _ in range(stop_after):
        process.step()
    process.close()
    process = Exchanging(root, path=data)
    process.finish()
    described = process.export_of(begun["ExportDescription"]["ExportArn"])
    assert described["ExportStatus"] == "COMPLETED", described
    assert exported(process, described) == some_items(150)
    assert described["ItemCount"] == 150
    size = described["BilledSizeBytes"]
    assert process.export(arn)["BilledSizeBytes"] == size
    process.close()


def test_lines_of_the_smallest_items(exchanging: Exchanging) -> None:
    arn = exchanging.create()
    exchanging.put(item(p="a"))
    described = exchanging.export(arn)
    (content,) = filter(
        None, (exchanging.content(f["dataFileS3Key"]) for f in files_of(exchanging, described))
    )
    assert content == lines([item(p="a")])
