"""kill -9 during an import and an export.

What it proves: the next process continues; the table is ACTIVE once the import is complete and not before;
every record is counted once; an export's files and manifests hold the table's content. Why a process: no code
of the server runs after SIGKILL.
"""

from __future__ import annotations

import gzip
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.engine.formats.manifests import data_files
from faradisc.local import LocalDatabase
from faradisc.tools.readers.inputs import find_input
from fixtures.clients import http_client
from fixtures.exchanging import BUCKET, lines, some_items, zipped
from fixtures.integrity import problems
from fixtures.schemas import schema
from fixtures.served import Server

ITEMS = 8_000
INDEXES = {"all": ("g:S", "n:N", "ALL")}


def _killed(data_dir: Path, arn: str, seed: int, ended: Any, kills_max: int) -> None:
    """Runs servers until the task has ended, and kills each of the first `kills_max` at a random time.

    The first kill follows the first description of the task, so that a fast machine has a kill too.
    """
    chance = random.Random(seed)
    options = ("--data-dir", str(data_dir), "--transition-ms", "0")
    kills = 0
    with ExitStack() as servers:
        while True:
            server = servers.enter_context(Server(*options))
            client = http_client(server.url)
            looks = chance.randrange(1, 12) if kills else 1
            while (looks or kills == kills_max) and not ended(client, arn):
                looks = max(looks - 1, 0)
            if kills and ended(client, arn):
                print(f"{kills} kills")
                return
            server.kill()
            kills += 1


def _kill_during_import(data_dir: Path, seed: int, kills_max: int = 1000) -> None:
    print(f"seed {seed}")
    items = some_items(ITEMS)
    for number in range(3):
        source = data_dir / "s3" / BUCKET / "in" / f"{number}.json.gz"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_bytes(zipped(lines(items[number::3]) + b"no record\n"))
    with LocalDatabase(data_dir) as database:
        begun = database.client().import_table(
            S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters={"TableName": "table", **schema("p:S", gsi=INDEXES)},
        )
    arn = begun["ImportTableDescription"]["ImportArn"]

    def ended(client: Any, arn: str) -> bool:
        before = client.describe_table(TableName="table")["Table"]["TableStatus"]
        shown = client.describe_import(ImportArn=arn)["ImportTableDescription"]
        after = client.describe_table(TableName="table")["Table"]["TableStatus"]
        if shown["ImportStatus"] == "IN_PROGRESS":
            assert before == "CREATING"
            return False
        assert after == "ACTIVE"
        return True

    _killed(data_dir, arn, seed, ended, kills_max)
    with LocalDatabase(data_dir) as database:
        shown = database.client().describe_import(ImportArn=arn)["ImportTableDescription"]
        assert shown["FailureCode"] == "ItemValidationError", shown
        assert (shown["ProcessedItemCount"], shown["ErrorCount"]) == (ITEMS + 3, 3)
        table = database.client().describe_table(TableName="table")["Table"]
        assert table["ItemCount"] == ITEMS
        assert problems(database.database.store) == []
    log = data_dir / "logs/aws-dynamodb/imports" / arn.rpartition("/")[2] / "error"
    assert len(log.read_bytes().splitlines()) == 3


def _kill_during_export(data_dir: Path, seed: int, kills_max: int = 1000) -> None:
    print(f"seed {seed}")
    items = some_items(ITEMS)
    (data_dir / "s3" / BUCKET).mkdir(parents=True)
    source = data_dir / "s3" / BUCKET / "in.json"
    source.write_bytes(lines(items))
    with LocalDatabase(data_dir) as database:
        client = database.client()
        client.import_table(
            S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in.json"},
            InputFormat="DYNAMODB_JSON",
            TableCreationParameters={"TableName": "table", **schema("p:S")},
        )
        recovery = {"PointInTimeRecoveryEnabled": True}
        client.update_continuous_backups(TableName="table", PointInTimeRecoverySpecification=recovery)
        table_arn = client.describe_table(TableName="table")["Table"]["TableArn"]
        begun = client.export_table_to_point_in_time(TableArn=table_arn, S3Bucket=BUCKET)
    arn = begun["ExportDescription"]["ExportArn"]

    def ended(client: Any, arn: str) -> bool:
        client.put_item(TableName="table", Item={"p": {"S": "later"}})
        status = client.describe_export(ExportArn=arn)["ExportDescription"]["ExportStatus"]
        return bool(status != "IN_PROGRESS")

    _killed(data_dir, arn, seed, ended, kills_max)
    with LocalDatabase(data_dir) as database:
        shown = database.client().describe_export(ExportArn=arn)["ExportDescription"]
    assert (shown["ExportStatus"], shown["ItemCount"]) == ("COMPLETED", ITEMS)
    directory = data_dir / "s3" / BUCKET / Path(shown["ExportManifest"]).parent
    given = find_input(directory)
    given.verify()
    found = [
        orjson.loads(line)["Item"]
        for file in given.files
        for line in gzip.decompress(file.path.read_bytes()).splitlines()
    ]
    assert sorted(found, key=lambda each: each["p"]["S"]) == items
    listed = data_files((directory / "manifest-files.json").read_bytes(), "")
    assert {Path(each.key).name for each in listed} == {path.name for path in (directory / "data").iterdir()}
    assert not list((data_dir / "s3" / BUCKET).glob(".draft-*"))


@pytest.mark.slow
def test_an_import_survives_kills(data_dir: Path) -> None:
    _kill_during_import(data_dir, seed=1, kills_max=4)


@pytest.mark.slow
def test_an_export_survives_kills(data_dir: Path) -> None:
    _kill_during_export(data_dir, seed=1, kills_max=4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_imports_survive_kills(data_dir: Path, seed: int) -> None:
    _kill_during_import(data_dir, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_exports_survive_kills(data_dir: Path, seed: int) -> None:
    _kill_during_export(data_dir, seed)
