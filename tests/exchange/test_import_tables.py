"""ImportTable: imported and rejected records, and when the table becomes visible."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from faradisc.engine.exchange import importing, intake
from faradisc.engine.exchange.task_store import TaskStore
from faradisc.engine.tables import loading
from faradisc.storage.api import IOFailed
from fixtures.exchanging import BUCKET, Exchanging, lines, some_items, zipped
from fixtures.in_process import Refused
from fixtures.schemas import schema

INDEXES = {"all": ("g:S", "n:N", "ALL"), "keys": ("n:N", "", "KEYS_ONLY")}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "STEP_RECORDS", 50)


def by_key(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: item["p"]["S"])


def test_items_of_every_type_with_their_index_entries(exchanging: Exchanging) -> None:
    items = some_items(300)
    exchanging.object("in/a.json", lines(items[:120]))
    exchanging.object("in/b.json", lines(items[120:]))
    exchanging.object("other/c.json", b"not a word of it\n")
    described = exchanging.import_all("in/", gsi=INDEXES)
    assert described["ImportStatus"] == "COMPLETED"
    assert described["ProcessedItemCount"] == described["ImportedItemCount"] == 300
    assert described["ErrorCount"] == 0
    assert described["ProcessedSizeBytes"] == len(lines(items))
    assert by_key(exchanging.items()) == items
    table = exchanging.call("DescribeTable", TableName="table")["Table"]
    assert table["TableStatus"] == "ACTIVE" and table["ItemCount"] == 300
    assert [i["ItemCount"] for i in table["GlobalSecondaryIndexes"]] == [270, 300]


@pytest.mark.parametrize("compression", ["GZIP", "ZSTD"])
def test_compressed_objects_of_several_members(exchanging: Exchanging, compression: str) -> None:
    import zstandard  # noqa: PLC0415 - of this test only

    pack = zipped if compression == "GZIP" else zstandard.ZstdCompressor(write_checksum=True).compress
    items = some_items(200)
    exchanging.object("in/a", pack(lines(items[:70])) + pack(b"") + pack(lines(items[70:])))
    described = exchanging.import_all("in/", InputCompressionType=compression)
    assert described["ImportStatus"] == "COMPLETED", described
    assert by_key(exchanging.items()) == items
    assert described["ProcessedSizeBytes"] == len(lines(items))


def test_table_is_not_visible_before_it_is_complete(exchanging: Exchanging) -> None:
    exchanging.object("in/a.json", lines(some_items(300)))
    arn = exchanging.begin_import("in/")
    for _ in range(4):
        exchanging.step()
    shown = exchanging.import_of(arn)
    assert shown["ImportStatus"] == "IN_PROGRESS" and 0 < shown["ProcessedItemCount"] < 300
    assert "EndTime" not in shown
    assert exchanging.call("DescribeTable", TableName="table")["Table"]["TableStatus"] == "CREATING"
    for operation, more in (
        ("Scan", {}),
        ("PutItem", {"Item": {"p": {"S": "x"}}}),
    ):
        with pytest.raises(Refused) as refused:
            exchanging.call(operation, TableName="table", **more)
        assert refused.value.code == "ResourceNotFoundException"
    with pytest.raises(Refused) as refused:
        exchanging.call("DeleteTable", TableName="table")
    assert refused.value.code == "ResourceInUseException"
    exchanging.finish()
    assert exchanging.import_of(arn)["EndTime"] >= exchanging.import_of(arn)["StartTime"]
    assert len(exchanging.items()) == 300


def test_table_is_active_when_the_import_is_completed(
    exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table and import agree between any two commits."""
    exchanging.object("in/a.json", lines(some_items(300)))
    arn = exchanging.begin_import("in/")
    store, backend = exchanging.store, exchanging.backend
    commit, seen = store.commit, set()

    async def looked_at(*args: Any, **named: Any) -> Any:
        table, task = backend.tables.find("table", "", ""), backend.exchange.tasks.find("import", arn)
        assert table is not None and task is not None
        seen.add((table.state.status, task.status))
        return await commit(*args, **named)

    monkeypatch.setattr(store, "commit", looked_at)
    exchanging.finish()
    assert seen == {("CREATING", "IN_PROGRESS"), ("ACTIVE", "COMPLETED")}


def test_last_item_with_a_key_is_stored(exchanging: Exchanging) -> None:
    items = some_items(120)
    later = [{**item, "g": {"S": "later"}, "n": {"N": "1"}} for item in items[:60]]
    exchanging.object("in/a.json", lines(items + items[:3]))
    exchanging.object("in/b.json", lines(later))
    described = exchanging.import_all("in/", gsi=INDEXES)
    assert described["ImportedItemCount"] == 183
    assert by_key(exchanging.items()) == later + items[60:]


@pytest.mark.parametrize("hashes", [1, 16, 1 << 23])
def test_items_with_one_key_in_one_page_or_in_many(
    exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch, hashes: int
) -> None:
    """Holds for any share of keys that share a hash with others and have to be looked up."""
    monkeypatch.setattr(loading, "HASHES", hashes)
    monkeypatch.setattr(importing, "PAGE_ROWS", 7)
    items = some_items(100)
    changed = [{**item, "n": {"N": str(number)}} for number, item in enumerate(items)]
    content = [each for pair in zip(items, changed, strict=True) for each in pair]
    exchanging.object("in/a.json", lines(content + items[50:] + changed[50:]))
    described = exchanging.import_all("in/", gsi=INDEXES)
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (300, 0)
    assert by_key(exchanging.items()) == changed
    table = exchanging.call("DescribeTable", TableName="table")["Table"]
    assert table["ItemCount"] == 100
    exchanging.check()


@pytest.mark.parametrize("failing", range(1, 7))
def test_repeated_step_is_counted_once(
    exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Some pages of the step are already stored, and are stored again."""
    monkeypatch.setattr(importing, "PAGE_ROWS", 20)
    honest, calls = importing.load_rows, 0

    async def once_not(*args: Any, **named: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise RuntimeError("half way")
        await honest(*args, **named)

    monkeypatch.setattr(importing, "load_rows", once_not)
    items = some_items(120)
    exchanging.object("in/a.json", lines(items) + b"no item\n")
    described = exchanging.import_all("in/", gsi=INDEXES)
    assert described["FailureCode"] == "ItemValidationError", described
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (120, 1)
    assert len(exchanging.errors_of(described)) == 1
    assert by_key(exchanging.items()) == items
    assert calls > failing
    exchanging.check()


def test_invalid_lines_are_counted_and_logged(exchanging: Exchanging) -> None:
    good = some_items(1000)
    bad = {
        "no item": b'{"Key": {"p": {"S": "x"}}}',
        "a list": b'[{"Item": {}}]',
        "no key": b'{"Item": {"q": {"S": "x"}}}',
        "another type": b'{"Item": {"p": {"N": "1"}}}',
        "empty key": b'{"Item": {"p": {"S": ""}}}',
        "no number": b'{"Item": {"p": {"S": "x"}, "n": {"N": "one"}}}',
        "wrong JSON type": b'{"Item": {"p": {"S": "x"}, "n": {"L": {"S": "x"}}}}',
        "too large": b'{"Item": {"p": {"S": "x"}, "q": {"S": "' + b"x" * 409_600 + b'"}}}',
    }
    content = lines(good).splitlines()
    for position, line in enumerate(bad.values()):
        content.insert(position * 100, line)
    exchanging.object("in/a.json", b"\n".join(content) + b"\n\n")
    described = exchanging.import_all("in/")
    assert described["FailureCode"] == "ItemValidationError"
    assert described["ErrorCount"] == len(bad)
    assert described["ImportedItemCount"] == 1000
    assert described["ProcessedItemCount"] == 1000 + len(bad)
    assert by_key(exchanging.items()) == good
    errors = exchanging.errors_of(described)
    assert [each["itemS3Pointer"] for each in errors] == [
        {"bucket": BUCKET, "key": "in/a.json", "itemIndex": position * 100} for position in range(len(bad))
    ]
    assert {each["importArn"] for each in errors} == {described["ImportArn"]}
    texts = dict(zip(bad, (each["errorMessages"][0] for each in errors), strict=True))
    assert texts["no key"] == "One or more parameter values were invalid: Missing the key p in the item"
    assert texts["another type"] == (
        "One or more parameter values were invalid: Type mismatch for key p expected: S actual: N"
    )
    assert texts["too large"] == "Item size has exceeded the maximum allowed size"
    assert texts["no number"] == "The parameter cannot be converted to a numeric value: one"


@pytest.mark.parametrize("step_records", [1, 3, 2000])
@pytest.mark.parametrize(
    ("form", "bad"),
    [
        ("DYNAMODB_JSON", "no JSON"),
        ("DYNAMODB_JSON", '{"Item": {"p": {"S": "x"'),
        ("DYNAMODB_JSON", '{"Item":{"p":{"S":"x"}'),
        ("ION", "$ion_1_0 {Item:{p:"),
    ],
)
def test_a_line_that_cannot_be_parsed_ends_its_object(
    exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch, step_records: int, form: str, bad: str
) -> None:
    """Recorded: the sixth line of ten (errors.md section 6.10). The next object is read."""
    monkeypatch.setattr(intake, "STEP_RECORDS", step_records)
    good = '$ion_1_0 {Item:{p:"%s"}}' if form == "ION" else '{"Item":{"p":{"S":"%s"}}}'
    first = [good % f"a{number}" for number in range(10)]
    first[5] = bad
    exchanging.object("in/a", "\n".join(first).encode())
    exchanging.object("in/b", (good % "b" + "\n").encode())
    described = exchanging.import_all("in/", InputFormat=form)
    assert (described["ImportStatus"], described["FailureCode"]) == ("FAILED", "ItemValidationError")
    counts = [described[f"{what}Count"] for what in ("ProcessedItem", "ImportedItem", "Error")]
    assert counts == [7, 6, 1]
    assert len(exchanging.errors_of(described)) == 1
    assert [item["p"]["S"] for item in by_key(exchanging.items())] == ["a0", "a1", "a2", "a3", "a4", "b"]


@pytest.mark.parametrize("compression", ["GZIP", "ZSTD"])
@pytest.mark.parametrize("damage", ["cut off", "altered", "trailing", "not compressed"])
def test_damaged_object_fails_the_import_without_a_table(
    exchanging: Exchanging, compression: str, damage: str
) -> None:
    import zstandard  # noqa: PLC0415 - of this test only

    pack = zipped if compression == "GZIP" else zstandard.ZstdCompressor(write_checksum=True).compress
    whole = pack(lines(some_items(400)))
    middle = len(whole) // 2
    content = {
        "cut off": whole[:-9],
        "altered": whole[:middle] + bytes([whole[middle] ^ 0x10]) + whole[middle + 1 :],
        "trailing": whole + b"something else",
        "not compressed": lines(some_items(10)),
    }[damage]
    exchanging.object("in/a", pack(lines(some_items(60))))
    exchanging.object("in/b", content)
    described = exchanging.import_all("in/", InputCompressionType=compression)
    assert described["ImportStatus"] == "FAILED"
    assert described["FailureCode"] == "InputDamaged"
    assert "in/b" in described["FailureMessage"]
    exchanging.clock.advance(1)
    assert exchanging.call("ListTables")["TableNames"] == []
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))  # the name is available again
    assert exchanging.items() == []


@pytest.mark.parametrize(
    ("bucket", "prefix", "code"),
    [
        ("nowhere", "", "S3NoSuchBucket"),
        (BUCKET, "a/../b/", "S3InvalidKey"),
    ],
)
def test_missing_source(exchanging: Exchanging, bucket: str, prefix: str, code: str) -> None:
    described = exchanging.import_all(S3BucketSource={"S3Bucket": bucket, "S3KeyPrefix": prefix})
    assert (described["ImportStatus"], described["FailureCode"]) == ("FAILED", code)
    exchanging.clock.advance(1)
    assert exchanging.call("ListTables")["TableNames"] == []


def test_existing_table_name(exchanging: Exchanging) -> None:
    exchanging.call("CreateTable", TableName="table", **schema("p:S"))
    with pytest.raises(Refused) as refused:
        exchanging.begin_import()
    assert refused.value.code == "ResourceInUseException"
    assert exchanging.call("ListImports")["ImportSummaryList"] == []


def test_an_import_without_a_client_token_gets_one(exchanging: Exchanging) -> None:
    """Recorded October 2026."""
    exchanging.object("a.json", lines(some_items(1)))
    arn = exchanging.begin_import()
    shown = exchanging.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]
    assert len(shown["ClientToken"]) == 36


def test_client_token_starts_one_import(exchanging: Exchanging) -> None:
    exchanging.object("a.json", lines(some_items(10)))
    first = exchanging.begin_import(ClientToken="t")
    assert exchanging.begin_import(ClientToken="t") == first
    exchanging.finish()
    assert exchanging.begin_import(ClientToken="t") == first
    with pytest.raises(Refused) as refused:
        exchanging.begin_import("other", ClientToken="t")
    assert refused.value.code == "ImportConflictException"
    exchanging.clock.advance(8 * 3600 + 1)
    with pytest.raises(Refused) as refused:  # a new request, with an existing name
        exchanging.begin_import(ClientToken="t")
    assert refused.value.code == "ResourceInUseException"


def test_list_imports_in_pages(exchanging: Exchanging) -> None:
    arns = []
    for number in range(5):
        parameters = {"TableName": f"table{number}", **schema("p:S")}
        arns.append(exchanging.begin_import(TableCreationParameters=parameters))
        exchanging.clock.advance(1)
    exchanging.finish()
    page = exchanging.call("ListImports", PageSize=2)
    found = page["ImportSummaryList"]
    while "NextToken" in page:
        page = exchanging.call("ListImports", PageSize=2, NextToken=page["NextToken"])
        found += page["ImportSummaryList"]
    assert [each["ImportArn"] for each in found] == arns[::-1]
    (one,) = exchanging.call("ListImports", TableArn=found[0]["TableArn"])["ImportSummaryList"]
    assert one["ImportArn"] == arns[-1]
    with pytest.raises(Refused) as refused:
        exchanging.call("ListImports", NextToken="0123456789abcdef" * 7)
    assert refused.value.code == "ValidationException"
    exchanging.clock.advance(91 * 86_400)
    exchanging.finish()
    assert exchanging.call("ListImports")["ImportSummaryList"] == []
    with pytest.raises(Refused) as refused:
        exchanging.import_of(arns[0])
    assert refused.value.code == "ImportNotFoundException"


def test_import_without_locations_is_rejected(raw: Any) -> None:
    with pytest.raises(Refused) as refused:
        raw.call(
            "ImportTable",
            S3BucketSource={"S3Bucket": BUCKET},
            InputFormat="ION",
            TableCreationParameters={"TableName": "table", **schema("p:S")},
        )
    assert "--s3-root" in refused.value.text


@pytest.mark.parametrize("stop_after", range(1, 12))
def test_import_continues_after_a_restart(tmp_path: Path, stop_after: int) -> None:
    items = some_items(300)
    data, root = tmp_path / "data", tmp_path / "s3"
    process = Exchanging(root, path=data)
    process.object("in/a.json.gz", zipped(lines(items[:170]) + b"bad\n"))
    process.object("in/b.json.gz", zipped(lines(items[170:]) + b"bad\n"))
    arn = process.begin_import("in/", InputCompressionType="GZIP", gsi=INDEXES)
    for _ in range(stop_after):
        process.step()
    process.close()
    process = Exchanging(root, path=data)
    process.finish()
    described = process.import_of(arn)
    assert described["FailureCode"] == "ItemValidationError", described
    assert described["ProcessedItemCount"] == 302 and described["ErrorCount"] == 2
    logged = (data / "logs/aws-dynamodb/imports" / arn.rpartition("/")[2] / "error").read_bytes()
    assert len(logged.splitlines()) == 2
    assert by_key(process.items()) == items
    process.check()
    process.close()


def test_crash_between_the_commits_of_table_and_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process completes the import before the first request."""
    data, root = tmp_path / "data", tmp_path / "s3"
    process = Exchanging(root, path=data)
    process.object("in/a.json", lines(some_items(60)))
    arn = process.begin_import("in/")

    async def crash(*_: Any) -> None:
        raise IOFailed("the process is gone")

    with monkeypatch.context() as patched:
        patched.setattr(TaskStore, "end", crash)
        with pytest.raises(Exception, match="gone"):
            process.finish()
    process.close()
    process = Exchanging(root, path=data)
    described = process.import_of(arn)
    assert (described["ImportStatus"], described["ImportedItemCount"]) == ("COMPLETED", 60)
    assert process.call("DescribeTable", TableName="table")["Table"]["TableStatus"] == "ACTIVE"
    assert len(process.items()) == 60
    process.check()
    process.close()


def test_source_deleted_before_a_restart(tmp_path: Path) -> None:
    data, root = tmp_path / "data", tmp_path / "s3"
    process = Exchanging(root, path=data)
    process.object("in/a.json", lines(some_items(300)))
    arn = process.begin_import("in/")
    for _ in range(4):
        process.step()
    process.close()
    shutil.rmtree(root / BUCKET / "in")
    process = Exchanging(root, path=data)
    process.finish()
    assert process.import_of(arn)["FailureCode"] == "S3NoSuchKey"
    process.clock.advance(1)
    assert process.call("ListTables")["TableNames"] == []
    process.check()
    process.close()
