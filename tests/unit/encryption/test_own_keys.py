"""SSESpecification without a key file or KMS: a key of the data directory's own, or in memory."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner

from faradisc.cli.main import cli
from faradisc.clock import SystemEntropy
from faradisc.database import Database
from faradisc.engine.encryption.key_file import KeyFile
from faradisc.errors import ApiError
from faradisc.local import LocalDatabase
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema

SECRET = "a-secret-that-no-file-may-have"
KEY = {"p": {"S": "a"}}
ITEM = {**KEY, "v": {"S": SECRET}}
MANAGED = {"Enabled": True}


def encrypted(database: LocalDatabase) -> Any:
    """Returns a client of the database, with an encrypted table that has an item."""
    dynamodb = database.client()
    dynamodb.create_table(TableName="table", **schema("p:S"), SSESpecification=MANAGED)
    dynamodb.put_item(TableName="table", Item=ITEM)
    return dynamodb


def item(database: LocalDatabase) -> Any:
    return database.client().get_item(TableName="table", Key=KEY, ConsistentRead=True)["Item"]


def test_table_in_a_data_directory_is_encrypted_under_its_own_key(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with LocalDatabase(data) as database:
        assert not (data / "keys").exists()
        dynamodb = encrypted(database)
        described = dynamodb.describe_table(TableName="table")["Table"]["SSEDescription"]
        assert described["Status"] == "ENABLED"
        assert described["KMSMasterKeyArn"].startswith("arn:aws:kms:us-east-1:000000000000:key/")
    files = sorted((data / "keys").iterdir())
    assert [each.name for each in files] == ["master.json", "master.json.key"]
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE((data / "keys").stat().st_mode) == 0o700
    assert not [file for file in data.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    with LocalDatabase(data) as database:
        assert item(database) == ITEM
        database.client().create_table(TableName="second", **schema("p:S"), SSESpecification=MANAGED)
        arns = {
            database.client().describe_table(TableName=name)["Table"]["SSEDescription"]["KMSMasterKeyArn"]
            for name in ("table", "second")
        }
        assert arns == {described["KMSMasterKeyArn"]}


def test_backups_of_it_are_restored(tmp_path: Path) -> None:
    with LocalDatabase(tmp_path / "data") as database:
        dynamodb = encrypted(database)
        backup = dynamodb.create_backup(TableName="table", BackupName="backup")["BackupDetails"]["BackupArn"]
    with LocalDatabase(tmp_path / "data") as database:
        database.client().restore_table_from_backup(TargetTableName="restored", BackupArn=backup)
        database.client().get_waiter("table_exists").wait(TableName="restored")
        assert database.client().scan(TableName="restored")["Items"] == [ITEM]


@pytest.mark.parametrize("command", [["check"], ["inspect", "--table", "table"]])
def test_commands_on_the_directory_find_the_key(tmp_path: Path, command: list[str]) -> None:
    data = tmp_path / "data"
    with LocalDatabase(data) as database:
        encrypted(database)
    result = CliRunner().invoke(cli, [*command, str(data)])
    assert result.exit_code == 0, result.output
    assert SECRET in result.output or command == ["check"]


def test_directory_without_its_key_cannot_be_read_until_the_key_is_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with LocalDatabase(data) as database:
        encrypted(database)
    shutil.move(data / "keys", tmp_path / "keys")
    with LocalDatabase(data) as database, pytest.raises(ClientError, match="AccessDenied"):
        item(database)
    assert "Error Code: AccessDeniedException" in CliRunner().invoke(cli, ["check", str(data)]).output
    shutil.move(tmp_path / "keys", data / "keys")
    with LocalDatabase(data) as database:
        assert item(database) == ITEM


def test_forks_of_data_in_memory_have_its_key() -> None:
    with LocalDatabase() as database:
        encrypted(database)
        with database.fork() as fork, fork.fork() as another:
            assert (item(fork), item(another)) == (ITEM, ITEM)
        assert item(database) == ITEM


def test_key_that_is_named_needs_a_key_file(tmp_path: Path) -> None:
    named = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/orders"}
    with LocalDatabase(tmp_path / "data") as database, pytest.raises(ClientError, match="does not exist"):
        database.client().create_table(TableName="table", **schema("p:S"), SSESpecification=named)
    assert not (tmp_path / "data" / "keys").exists()


def test_key_file_comes_first_for_new_tables_and_own_key_stays(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "master.json"
    KeyFile(file, {}).create(0, SystemEntropy(), region="us-east-1", account="000000000000")
    with LocalDatabase(data) as database:
        dynamodb = encrypted(database)
        before = dynamodb.describe_table(TableName="table")["Table"]["SSEDescription"]["KMSMasterKeyArn"]
    with LocalDatabase(data, keys=file) as database:
        assert item(database) == ITEM
        dynamodb = database.client()
        dynamodb.create_table(TableName="new", **schema("p:S"), SSESpecification=MANAGED)
        after = dynamodb.describe_table(TableName="new")["Table"]["SSEDescription"]["KMSMasterKeyArn"]
        assert after != before
        dynamodb.update_table(
            TableName="table",
            SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": after},
        )
    shutil.rmtree(data / "keys")
    with LocalDatabase(data, keys=file) as database:
        assert item(database) == ITEM, "the table was switched to the key of the file"


def test_store_of_several_servers_needs_keys_that_they_share() -> None:
    database = run(Database.open(MemoryStore()))
    creation = database.backend.encryption.of_new_table(MANAGED, "table", "us-east-1", "000000000000")
    with pytest.raises(ApiError, match="has no keys; start it with --keys or --kms-endpoint"):
        run(creation)
    run(database.close())


def test_damaged_key_file_is_one_sentence(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with LocalDatabase(data) as database:
        encrypted(database)
    (data / "keys" / "master.json").write_text("{")
    result = CliRunner().invoke(cli, ["check", str(data)])
    assert result.exit_code != 0
    assert "is damaged: it is not JSON" in result.output
