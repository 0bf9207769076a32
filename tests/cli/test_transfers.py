"""`faradisc export`, `import` and `copy`, against servers and against data directories."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from faradisc.cli.main import cli
from faradisc.local import LocalDatabase
from fixtures.clients import http_client
from fixtures.exchanging import BUCKET, Exchanging, lines, some_items, zipped
from fixtures.integrity import problems
from fixtures.schemas import item, schema
from fixtures.served import Server

INDEXES = {"all": ("g:S", "n:N", "ALL")}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("--memory", "--transition-ms", "0") as running:
        yield running


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def items_of(client: Any, table: str) -> list[dict[str, Any]]:
    import base64  # noqa: PLC0415 - of this helper only

    def wire(value: Any) -> Any:
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if isinstance(value, dict):
            return {name: wire(each) for name, each in value.items()}
        return [wire(each) for each in value] if isinstance(value, list) else value

    pages = client.get_paginator("scan").paginate(TableName=table)
    return sorted((wire(each) for page in pages for each in page["Items"]), key=lambda i: i["p"]["S"])


def test_exported_table_can_be_imported(server: Server, tmp_path: Path) -> None:
    client = http_client(server.url)
    client.create_table(TableName="there", **schema("p:S", gsi=INDEXES))
    source = tmp_path / "items.jsonl.gz"
    source.write_bytes(zipped(lines(some_items(300))))
    result = run("import", source, "there", "--url", server.url).output
    assert "300 imported, 0 rejected" in result
    assert items_of(client, "there") == some_items(300)
    for format_ in ("json", "ion"):
        out = tmp_path / format_
        run("export", "there", out, "--url", server.url, "--format", format_, "--segments", 3)
        run("import", out, f"back-{format_}", "--url", server.url, "--key", "p:S")
        assert items_of(client, f"back-{format_}") == some_items(300)
        data = tmp_path / f"data-{format_}"
        run("import", out, "table", "--data-dir", data, "--key", "p:S")
        with LocalDatabase(data) as database:
            assert items_of(database.client(), "table") == some_items(300)
            assert problems(database.database.store) == []


def test_export_of_a_server_is_imported_after_its_checksums_are_verified(tmp_path: Path) -> None:
    process = Exchanging(tmp_path / "s3")
    arn = process.create()
    process.put(*some_items(60))
    described = process.export(arn)
    process.close()
    result = run("import", tmp_path / "s3" / BUCKET, "table", "--data-dir", tmp_path / "data", "--key", "p:S")
    assert "60 imported" in result.output
    # An altered file is reported by name, and no table is created.
    data_file = next((tmp_path / "s3" / BUCKET).rglob("*.json.gz"))
    content = gzip.decompress(data_file.read_bytes())
    data_file.write_bytes(zipped(content + lines([item(p="more")])))
    result = run("import", tmp_path / "s3", "again", "--data-dir", tmp_path / "data", "--key", "p:S", code=1)
    assert data_file.name in result.output
    with LocalDatabase(tmp_path / "data") as database:
        assert database.client().list_tables()["TableNames"] == ["table"]
    assert described["ItemCount"] == 60


def test_incremental_export_puts_and_deletes_items(server: Server, tmp_path: Path) -> None:
    process = Exchanging(tmp_path / "s3")
    arn = process.create()
    process.put(item(p="kept"), item(p="gone"), item(p="changed", v=1))
    start = process.clock.now_ns() / 1e9 + 60
    process.clock.advance(120)
    process.call("DeleteItem", TableName="table", Key=item(p="gone"))
    process.put(item(p="changed", v=2), item(p="new"))
    process.clock.advance(1200)
    specification = {"ExportFromTime": start}
    process.export(arn, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=specification)
    process.close()
    client = http_client(server.url)
    client.create_table(TableName="mirror", **schema("p:S"))
    for each in (item(p="kept"), item(p="gone"), item(p="changed", v=1)):
        client.put_item(TableName="mirror", Item=each)
    run("import", tmp_path / "s3", "mirror", "--url", server.url)
    assert items_of(client, "mirror") == [item(p="changed", v=2), item(p="kept"), item(p="new")]


@pytest.mark.parametrize("target", ["server", "directory"])
def test_rejected_records_are_reported_and_others_imported(
    server: Server, tmp_path: Path, target: str
) -> None:
    source = tmp_path / "items.jsonl"
    source.write_bytes(lines(some_items(100)) + b'{"Item": {"q": {"S": "no key"}}}\nnot JSON\n')
    errors = tmp_path / "errors.jsonl"
    location = ("--url", server.url) if target == "server" else ("--data-dir", tmp_path / "data")
    result = run("import", source, f"some-{target}", *location, "--key", "p:S", "--errors", errors, code=3)
    assert "100 imported, 2 rejected" in result.output
    found = [json.loads(line) for line in errors.read_text().splitlines()]
    assert [each["record"] for each in found] == [100, 101]
    assert found[0]["reason"] == "One or more parameter values were invalid: Missing the key p in the item"


def test_truncated_file_changes_nothing(server: Server, tmp_path: Path) -> None:
    source = tmp_path / "items.jsonl.gz"
    source.write_bytes(zipped(lines(some_items(300)))[:-5])
    result = run("import", source, "nothing", "--url", server.url, "--key", "p:S", code=1)
    assert "items.jsonl.gz" in result.output and "truncated" in result.output
    assert "nothing" not in http_client(server.url).list_tables()["TableNames"]
    run("import", source, "nothing", "--data-dir", tmp_path / "data", "--key", "p:S", code=1)
    with LocalDatabase(tmp_path / "data") as database:
        assert database.client().list_tables()["TableNames"] == []


def test_csv_with_quotes_and_empty_fields(server: Server, tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text('p,n,note\na,1,"two\nlines, one ""quoted"""\nb,2,\n')
    run("import", source, "people", "--url", server.url, "--key", "p:S", "--sort-key", "n:N")
    assert items_of(http_client(server.url), "people") == [
        {"p": {"S": "a"}, "n": {"N": "1"}, "note": {"S": 'two\nlines, one "quoted"'}},
        {"p": {"S": "b"}, "n": {"N": "2"}, "note": {"S": ""}},
    ]


DOCUMENTS: dict[str, str] = {
    "scan.json": json.dumps({"Items": [{"p": {"S": "a"}}, {"p": {"S": "b"}}], "Count": 2}, indent=2),
    "batch.json": json.dumps(
        {"docs": [{"PutRequest": {"Item": {"p": {"S": each}}}} for each in "ab"]}, indent=2
    ),
    "plain.json": json.dumps([{"p": "a"}, {"p": "b"}], indent=2),
    "plain.jsonl": '{"p": "a"}\n{"p": "b"}\n',
    "model.json": json.dumps(
        {
            "ModelName": "m",
            "DataModel": [
                {
                    "TableName": "docs",
                    "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}},
                    "TableData": [{"p": {"S": each}} for each in "ab"],
                }
            ],
        }
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_of_items_are_recognised_by_their_content(tmp_path: Path, name: str) -> None:
    source = tmp_path / name
    source.write_text(DOCUMENTS[name])
    key = () if name == "model.json" else ("--key", "p:S")
    result = run("import", source, "docs", "--data-dir", tmp_path / "data", *key)
    assert "2 imported, 0 rejected" in result.output
    with LocalDatabase(tmp_path / "data") as database:
        assert items_of(database.client(), "docs") == [{"p": {"S": "a"}}, {"p": {"S": "b"}}]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{\n"Resources": {}}', "is a CloudFormation template: `faradisc seed` reads it."),
        ('{"MetricDataResults": []}', "is metrics of CloudWatch: `faradisc plan --trace` reads it."),
        ("PAR1...", "is a Parquet or Arrow file: `faradisc import` reads DynamoDB JSON, Ion and CSV."),
        ('[{"p": "a"},\n{"p": "b"},\n"c"]', "in.json:3: an item must be an object."),
        ('{"Items": [{"p": "a"},\n{"p": "b"', "in.json:2: not valid JSON"),
    ],
)
def test_files_that_are_no_items_create_nothing(tmp_path: Path, content: str, text: str) -> None:
    source = tmp_path / "in.json"
    source.write_text(content)
    result = run("import", source, "docs", "--data-dir", tmp_path / "data", "--key", "p:S", code=1)
    assert text in result.output
    if (tmp_path / "data").exists():
        with LocalDatabase(tmp_path / "data") as database:
            assert database.client().list_tables()["TableNames"] == []


def test_import_into_a_missing_table_says_what_makes_one(server: Server, tmp_path: Path) -> None:
    source = tmp_path / "items.jsonl"
    source.write_bytes(lines(some_items(1)))
    result = run("import", source, "missing", "--url", server.url, code=1)
    assert "There is no table missing; --key and --sort-key, or --definition, make one." in result.output


# --- Copies and masks ------------------------------------------------------------------------------


def test_copy_with_masks_gives_the_same_values_twice(server: Server, tmp_path: Path) -> None:
    client = http_client(server.url)
    client.create_table(TableName="source", **schema("p:S", gsi=INDEXES))
    people = [
        item(p=f"user{n}@corp.example", g="same", n=n, name=f"Real Name {n}", ssn=str(n), keep="me")
        for n in range(70)
    ]
    for each in people:
        client.put_item(TableName="source", Item=each)
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "salt: a long secret\n"
        "rules:\n"
        "  - {attribute: p, action: fake, kind: email}\n"
        "  - {attribute: name, action: hash}\n"
        "  - {attribute: ssn, action: drop}\n"
        "  - {table: other*, attribute: keep, action: drop}\n"
    )
    data = tmp_path / "data"
    for name in ("first", "second"):
        run(
            *("copy", "source", "--as", name, "--from-url", server.url, "--to-data-dir", data),
            *("--mask", rules, "--segments", 2),
        )
    with LocalDatabase(data) as database:
        first, second = (items_of(database.client(), name) for name in ("first", "second"))
        described = database.client().describe_table(TableName="first")["Table"]
        assert [i["IndexName"] for i in described["GlobalSecondaryIndexes"]] == ["all"]
        assert problems(database.database.store) == []
    assert first == second and len(first) == 70
    result = json.dumps(first)
    assert "corp.example" not in result and "Real Name" not in result and "ssn" not in result
    assert all(each["p"]["S"].endswith("@example.com") and each["keep"] == {"S": "me"} for each in first)


def test_interrupted_copy_continues(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = http_client(server.url)
    client.create_table(TableName="long", **schema("p:S"))
    source = tmp_path / "items.jsonl"
    source.write_bytes(lines([item(p=f"{n:04}", x="x" * 20_000) for n in range(200)]))
    run("import", source, "long", "--url", server.url)
    from faradisc.tools.transfer import scanning  # noqa: PLC0415 - patched below

    pages = {"left": 2}
    reached = scanning.State.reached

    def interrupted(self: scanning.State, segment: int, key: Any) -> None:
        reached(self, segment, key)
        pages["left"] -= 1
        if not pages["left"]:
            raise OSError("interrupted")

    call = ("copy", "long", "--from-url", server.url, "--to-data-dir", tmp_path / "data", "--segments", 1)
    with monkeypatch.context() as patched:
        patched.setattr(scanning.State, "reached", interrupted)
        result = run(*call, "--resume", tmp_path / "state", code=1)
    assert "interrupted" in result.output
    with LocalDatabase(tmp_path / "data") as database:
        before = len(items_of(database.client(), "long"))
    assert 0 < before < 200
    result = run(*call, "--resume", tmp_path / "state")
    assert f"{200 - before} items" in result.output
    assert list((tmp_path / "state").iterdir()) == []
    with LocalDatabase(tmp_path / "data") as database:
        assert len(items_of(database.client(), "long")) == 200


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ("[]", "must be a map"),
        ('{"rules": [{"attribute": "a", "action": "hash"}]}', "salt"),
        ('{"salt": "s", "rules": [{"attribute": "a", "action": "hide"}]}', "action"),
        ('{"salt": "s", "rules": [{"attribute": "a..b", "action": "hash"}]}', "not a path"),
        (
            '{"salt": "s", "rules": [{"attribute": "a", "action": "fake", "kind": "x"}]}',
            "the kind 'x' is unknown",
        ),
        ('{"rules": [{"attribute": "p", "action": "drop"}]}', "cannot be dropped"),
        ("{", "not valid JSON"),
    ],
)
def test_invalid_masking_rules(server: Server, tmp_path: Path, rules: str, text: str) -> None:
    source = tmp_path / "items.jsonl"
    source.write_bytes(lines(some_items(1)))
    path = tmp_path / "rules.json"
    path.write_text(rules)
    result = run("import", source, "masked", "--url", server.url, "--key", "p:S", "--mask", path, code=1)
    assert text in result.output


def test_missing_sources_and_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faradisc.tools.transfer.endpoints.ATTEMPTS_MAX", 2)
    assert "contains no file" in run("import", tmp_path / "nothing", "t", code=1).output
    (tmp_path / "x.unknown").write_text("x")
    assert "--format" in run("import", tmp_path / "x.unknown", "t", code=1).output
    (tmp_path / "x.json").write_bytes(lines(some_items(1)))
    run("import", tmp_path / "x.json", "t", "--data-dir", tmp_path / "data", code=1)  # no table, no key
    run("copy", "t", "--from-data-dir", tmp_path / "data", code=2)
    result = run("export", "t", tmp_path / "out", "--url", "http://127.0.0.1:1", code=1).output
    assert result == "faradisc: http://127.0.0.1:1/ does not answer: [Errno 111] Connection refused\n"


def test_address_without_scheme(server: Server, tmp_path: Path) -> None:
    short = server.url.removeprefix("http://")
    text = "ResourceNotFoundException: Requested resource not found: Table: missing not found"
    for call in (
        ("export", "missing", tmp_path / "out", "--url"),
        ("copy", "missing", "--to-url", short, "--from-url"),
        ("streams", "tail", "missing", "--url"),
    ):
        assert run(*call, short, code=1).output == f"faradisc: {text}\n"
        assert "'ftp://x' is not an http:// or https:// address." in run(*call, "ftp://x", code=2).output


def test_missing_directory_is_not_created(server: Server, tmp_path: Path) -> None:
    typo = tmp_path / "dta"
    for call in (
        ("export", "t", tmp_path / "out", "--data-dir", typo),
        ("copy", "t", "--from-data-dir", typo, "--to-url", server.url),
    ):
        assert f"{typo} is no data directory" in run(*call, code=1).output
        assert not typo.exists()
    typo.mkdir()
    assert "is no data directory" in run("backup", "list", "--data-dir", typo, code=1).output
    assert list(typo.iterdir()) == []
