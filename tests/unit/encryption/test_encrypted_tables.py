"""Encrypted tables through boto3: answers, and what becomes of a table with its key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.engine.check import Check
from faradisc.engine.sealing.sealed_store import SealedStore
from faradisc.engine.sealing.sealer import SEALED
from faradisc.operations.call import Call
from faradisc.storage.api import Batch, Corruption
from faradisc.storage.immediate import run
from fixtures.encrypted import SECRET, Keys
from fixtures.in_process import InProcess
from fixtures.kms import denied, invalid_key
from fixtures.schemas import invalid, item, refused, schema

Open = Callable[..., InProcess]
INACCESSIBLE = "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
KEY = {"p": {"S": "a"}, "r": {"S": "0"}}


def encrypted(process: InProcess, arn: str | None, name: str = "table", **members: Any) -> Any:
    """A table with two kinds of indexes, a stream, recovery and some items; the client."""
    dynamodb = process.client()
    specification = (
        {"Enabled": True} if arn is None else {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn}
    )
    dynamodb.create_table(
        TableName=name,
        **schema("p:S", "r:S", lsi={"local": ("l:S", "ALL")}, gsi={"global": ("g:S", "", "ALL")}),
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        **({} if arn == "" else {"SSESpecification": specification}),
        **members,
    )
    dynamodb.update_continuous_backups(
        TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    for number in range(30):
        row = item(p="abc"[number % 3], r=str(number), l="l", g="g", v=f"{SECRET} {number}")
        dynamodb.put_item(TableName=name, Item=row)
    return dynamodb


def described(dynamodb: Any, name: str = "table") -> dict[str, Any]:
    table: dict[str, Any] = dynamodb.describe_table(TableName=name)["Table"]
    return table


def count(dynamodb: Any, name: str = "table") -> int:
    found = dynamodb.scan(TableName=name)["Items"]
    assert all(each["v"]["S"].startswith(SECRET) for each in found)
    return len(found)


def stored(process: InProcess, name: str = "table") -> list[bytes]:
    """The payloads of all rows of a table, as the engine has them."""
    table = process.backend.tables.at(("", name))
    assert table is not None
    store = process.store
    assert isinstance(store, SealedStore)
    rows = [run(store.inner.range(part, None, None, limit=1000)) for part in table.parts()]
    return [payload for part in rows for _, (_, payload) in part if payload]


def files_with(directory: Path, text: str = SECRET) -> list[str]:
    return [
        str(each) for each in directory.rglob("*") if each.is_file() and text.encode() in each.read_bytes()
    ]


def stream_records(process: InProcess, dynamodb: Any) -> list[str]:
    """The new values in all records of the newest stream."""
    streams = process.local.client("dynamodbstreams")
    arn = streams.list_streams()["Streams"][-1]["StreamArn"]
    found = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        found += streams.get_records(ShardIterator=iterator)["Records"]
    return [each["dynamodb"]["NewImage"]["v"]["S"] for each in found]


# --- Specifications ------------------------------------------------------------------------------


def test_specification_without_a_key_uses_the_managed_key(open_encrypted: Open, keys: Keys) -> None:
    dynamodb = encrypted(open_encrypted(), None)
    shown = described(dynamodb)["SSEDescription"]
    assert (shown["Status"], shown["SSEType"]) == ("ENABLED", "KMS")
    managed = next(each for each in keys.file.read()["keys"].values() if each["aliases"])
    assert shown["KMSMasterKeyArn"] == managed["arn"]


def test_table_without_encryption_has_no_description(open_encrypted: Open) -> None:
    dynamodb = open_encrypted().client()
    dynamodb.create_table(TableName="table", **schema("p:S"), SSESpecification={"Enabled": False})
    assert "SSEDescription" not in described(dynamodb)


@pytest.mark.parametrize(
    "specification",
    [
        {"Enabled": True, "SSEType": "AES256"},
        {"Enabled": False, "KMSMasterKeyId": "alias/x"},
        {"Enabled": True, "KMSMasterKeyId": "alias/x"},
    ],
)
def test_contradictory_specification_is_rejected(open_encrypted: Open, specification: dict[str, Any]) -> None:
    with invalid():
        open_encrypted().client().create_table(
            TableName="table", **schema("p:S"), SSESpecification=specification
        )


def test_unknown_key_is_rejected(open_encrypted: Open) -> None:
    with denied("refers to a customer master key that does not exist"):
        encrypted(open_encrypted(), "unknown")


def test_server_without_keys_has_no_key_that_is_named(open_encrypted: Open, keys: Keys) -> None:
    with denied("refers to a customer master key that does not exist"):
        encrypted(open_encrypted(keys=None), keys.first)


# --- What is stored ------------------------------------------------------------------------------


def test_no_file_has_a_secret(
    open_encrypted: Open, keys: Keys, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, keys.first)
    dynamodb.create_backup(TableName="table", BackupName="backup")
    dynamodb.transact_write_items(
        TransactItems=[{"Put": {"TableName": "table", "Item": item(p="t", r="1", v=SECRET)}}],
        ClientRequestToken="token",
    )
    dynamodb.update_item(
        TableName="table",
        Key=KEY,
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues={":v": {"S": SECRET + "!"}},
    )
    dynamodb.list_tables()  # background work is done before each request
    assert files_with(tmp_path) == []  # with the log, before RocksDB has written its files
    process = open_encrypted()
    assert count(process.client()) == 31
    keys.disable(keys.first)
    with denied("is disabled"):
        process.client().scan(TableName="table")
    process.close()
    assert files_with(tmp_path) == []
    assert SECRET not in caplog.text


def test_every_payload_of_the_table_is_sealed(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    encrypted(process, keys.first)
    payloads = stored(process)
    assert len(payloads) == 30 + 60 + 3  # items, entries, collections; a history without images has none
    assert {each[0] for each in payloads} == {SEALED}
    process.check()


def test_changed_row_fails_its_read_and_is_reported(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, keys.first)
    table = process.backend.tables.at(("", "table"))
    assert table is not None
    row_key = table.placement.row_key(KEY)
    store = process.store
    assert isinstance(store, SealedStore)
    part = table.placement.part_of(row_key)
    ((_, payload),) = [row for row in run(store.inner.get(part, [row_key])) if row is not None]
    run(store.inner.commit([Batch(part, puts=[(row_key, payload[:-1] + bytes([payload[-1] ^ 1]))])]))
    with pytest.raises(Corruption, match="cannot be opened with the table's data key"):
        run(store.get(part, [row_key]))
    sentences = "\n".join(run(Check(store, process.clock).finish()).sentences())
    assert "cannot be read to its end" in sentences
    assert "cannot be opened with the table's data key" in sentences
    assert SECRET not in sentences
    dynamodb.delete_table(TableName="table")


# --- A key that goes away ------------------------------------------------------------------------


def test_disabled_key_makes_the_table_inaccessible_and_enabled_it_is_back(
    open_encrypted: Open, keys: Keys, clock: ManualClock
) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, keys.first)
    other = encrypted(process, keys.second, "other")
    keys.disable(keys.first)
    clock.advance(1)
    for use in (
        lambda: dynamodb.get_item(TableName="table", Key=KEY),
        lambda: dynamodb.query(
            TableName="table",
            IndexName="global",
            KeyConditionExpression="g = :g",
            ExpressionAttributeValues={":g": {"S": "g"}},
        ),
        lambda: dynamodb.put_item(TableName="table", Item=item(p="new", r="1", v=SECRET)),
        lambda: dynamodb.delete_item(TableName="table", Key=KEY),
        lambda: dynamodb.batch_get_item(RequestItems={"table": {"Keys": [KEY]}}),
        lambda: dynamodb.transact_get_items(TransactItems=[{"Get": {"TableName": "table", "Key": KEY}}]),
        lambda: dynamodb.execute_statement(Statement='SELECT * FROM "table"'),
        lambda: dynamodb.update_table(TableName="table", DeletionProtectionEnabled=True),
        lambda: stream_records(process, dynamodb),
    ):
        with denied(f"DisabledException: {keys.first} is disabled."):
            use()
    shown = described(dynamodb)
    assert shown["TableStatus"] == INACCESSIBLE
    assert shown["ItemCount"] == 30
    assert shown["SSEDescription"]["InaccessibleEncryptionDateTime"].timestamp() == clock.now_ns() // 10**9
    assert count(other, "other") == 30
    keys.enable(keys.first)
    assert count(dynamodb) == 30
    assert described(dynamodb)["TableStatus"] == "ACTIVE"
    assert "InaccessibleEncryptionDateTime" not in described(dynamodb)["SSEDescription"]


def test_start_without_the_keys_leaves_the_table_inaccessible(open_encrypted: Open, keys: Keys) -> None:
    encrypted(open_encrypted(), keys.first)
    dynamodb = open_encrypted(keys=None).client()
    with refused("AccessDeniedException"):
        dynamodb.get_item(TableName="table", Key=KEY)
    assert described(dynamodb)["TableStatus"] == INACCESSIBLE
    dynamodb = open_encrypted().client()
    assert count(dynamodb) == 30
    assert described(dynamodb)["TableStatus"] == "ACTIVE"


def test_deleted_key_leaves_a_table_that_can_only_be_deleted(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, keys.first)
    dynamodb.create_backup(TableName="table", BackupName="backup")
    dynamodb.list_tables()
    (backup,) = dynamodb.list_backups()["BackupSummaries"]
    keys.delete(keys.first)
    with denied("refers to a customer master key that does not exist"):
        dynamodb.scan(TableName="table")
    with denied("does not exist"):
        dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=backup["BackupArn"])
    with denied("does not exist"):
        dynamodb.restore_table_to_point_in_time(
            SourceTableName="table", TargetTableName="target", UseLatestRestorableTime=True
        )
    dynamodb.delete_table(TableName="table")
    assert dynamodb.list_tables()["TableNames"] == []


def test_background_jobs_of_other_tables_go_on_while_a_key_is_away(
    open_encrypted: Open, keys: Keys, clock: ManualClock
) -> None:
    process = open_encrypted(shard_lifetime_s=60)
    dynamodb = encrypted(process, keys.first)
    encrypted(process, keys.second, "other")
    for name in ("table", "other"):
        dynamodb.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "x"}
        )
        row = item(p="e", r="1", v=SECRET, x=clock.now_ns() // 10**9 + 60)
        dynamodb.put_item(TableName=name, Item=row)
    keys.disable(keys.first)
    clock.advance(3600)
    assert count(dynamodb, "other") == 30
    assert described(dynamodb)["ItemCount"] == 31
    keys.enable(keys.first)
    assert count(dynamodb) == 30


# --- Changes of keys -----------------------------------------------------------------------------


def test_switch_to_another_key_frees_the_first(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, keys.first)
    answer = dynamodb.update_table(
        TableName="table", SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.second}
    )["TableDescription"]
    assert (answer["TableStatus"], answer["SSEDescription"]["Status"]) == ("ACTIVE", "UPDATING")
    assert described(dynamodb)["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": keys.second,
    }
    keys.delete(keys.first)
    dynamodb.put_item(TableName="table", Item=item(p="new", r="1", v=SECRET))
    assert count(dynamodb) == 31
    assert len(stream_records(process, dynamodb)) == 31
    assert count(open_encrypted().client()) == 31


def test_rotated_key_wraps_the_data_keys_again(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, keys.first)
    table = process.backend.tables.at(("", "table"))
    assert table is not None and table.state.sealing is not None
    before = table.state.sealing.keys
    keys.rotate(keys.first)
    assert count(dynamodb) == 30
    sealing = table.newest.state.sealing
    assert sealing is not None
    assert sealing.keys != before
    assert count(open_encrypted().client()) == 30


def test_enabled_on_a_table_with_items_every_row_is_sealed(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, "")
    assert {each[0] for each in stored(process)} != {SEALED}
    dynamodb.update_table(
        TableName="table", SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first}
    )
    shown = described(dynamodb)
    assert (shown["TableStatus"], shown["SSEDescription"]["Status"]) == ("ACTIVE", "ENABLED")
    assert {each[0] for each in stored(process)} == {SEALED}
    assert count(dynamodb) == 30
    assert len(stream_records(process, dynamodb)) == 30
    process.check()
    dynamodb.update_table(TableName="table", SSESpecification={"Enabled": False})
    assert "SSEDescription" not in described(dynamodb)
    assert SEALED not in {each[0] for each in stored(process)}
    keys.delete(keys.first)
    assert count(dynamodb) == 30
    process.check()


@pytest.mark.parametrize("steps", range(1, 12, 2))
def test_start_after_a_crash_in_a_conversion_ends_it(
    open_encrypted: Open, keys: Keys, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """The steps are counted from the commit of the change on."""
    process = open_encrypted()
    dynamodb = encrypted(process, "")
    with monkeypatch.context() as patched:
        patched.setattr("faradisc.engine.jobs.walk.ROWS_PER_STEP", 7)
        dynamodb.update_table(TableName="table", SSESpecification={"Enabled": True})
        for _ in range(steps):
            run(process.backend.encryption.step())
    process = open_encrypted()
    dynamodb = process.client()
    assert described(dynamodb)["TableStatus"] == "ACTIVE"
    assert count(dynamodb) == 30
    assert {each[0] for each in stored(process)} == {SEALED}
    process.check()


def test_writes_during_a_conversion_are_sealed_and_kept(
    open_encrypted: Open, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, "")
    monkeypatch.setattr("faradisc.engine.jobs.walk.ROWS_PER_STEP", 3)
    dynamodb.update_table(TableName="table", SSESpecification={"Enabled": True})
    run(process.backend.encryption.step())
    assert described_without_work(process)["SSEDescription"]["Status"] == "UPDATING"
    dynamodb.put_item(TableName="table", Item=item(p="new", r="1", l="l", g="g", v=SECRET))
    assert count(dynamodb) == 31
    assert {each[0] for each in stored(process)} == {SEALED}


def described_without_work(process: InProcess) -> dict[str, Any]:
    call = Call("DescribeTable", {"TableName": "table"}, True, "us-east-1", "000000000000")
    table: dict[str, Any] = run(process.database.execute(call))["Table"]
    return table


# --- Backups, restores, streams of deleted tables ------------------------------------------------


def test_restored_tables_have_the_key_of_the_source_or_their_own(open_encrypted: Open, keys: Keys) -> None:
    dynamodb = encrypted(open_encrypted(), keys.first)
    dynamodb.create_backup(TableName="table", BackupName="backup")
    dynamodb.list_tables()
    (summary,) = dynamodb.list_backups()["BackupSummaries"]
    backup = dynamodb.describe_backup(BackupArn=summary["BackupArn"])["BackupDescription"]
    assert backup["SourceTableFeatureDetails"]["SSEDescription"]["KMSMasterKeyArn"] == keys.first
    dynamodb.restore_table_from_backup(TargetTableName="same", BackupArn=summary["BackupArn"])
    dynamodb.restore_table_from_backup(
        TargetTableName="plain", BackupArn=summary["BackupArn"], SSESpecificationOverride={"Enabled": False}
    )
    dynamodb.restore_table_to_point_in_time(
        SourceTableName="table",
        TargetTableName="past",
        UseLatestRestorableTime=True,
        SSESpecificationOverride={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.second},
    )
    shown = {name: described(dynamodb, name).get("SSEDescription") for name in ("same", "plain", "past")}
    assert [each and each["KMSMasterKeyArn"] for each in shown.values()] == [keys.first, None, keys.second]
    assert [count(dynamodb, name) for name in shown] == [30, 30, 30]


DISABLED = "KMS key disabled error: com.amazonaws.services.kms.model.DisabledException: "
NO_ALIAS = "KMS validation error: com.amazonaws.services.kms.model.NotFoundException: Alias "


def test_disabled_keys_and_unknown_aliases_are_invalid(open_encrypted: Open, keys: Keys) -> None:
    """errors.md section 11. The table keeps its key."""
    dynamodb = encrypted(open_encrypted(), keys.first)
    before = dynamodb.describe_table(TableName="table")["Table"]["SSEDescription"]

    def change(key: str) -> None:
        specification = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
        dynamodb.update_table(TableName="table", SSESpecification=specification)

    keys.disable(keys.second)
    with invalid_key(f"{DISABLED}{keys.second} is disabled."):
        change(keys.second)
    region = keys.first.rpartition(":")[0]
    with invalid_key(f"{NO_ALIAS}{region}:alias/none is not found."):
        change("alias/none")
    with denied("does not exist"):
        change(keys.first[:-4] + "0000")
    with denied("not authorized to perform: kms:DescribeKey on this resource because the resource does not"):
        change(keys.first.replace("000000000000", "999999999999"))
    assert dynamodb.describe_table(TableName="table")["Table"]["SSEDescription"] == before


def test_backup_keeps_the_key_of_its_time(open_encrypted: Open, keys: Keys) -> None:
    dynamodb = encrypted(open_encrypted(), keys.first)
    dynamodb.create_backup(TableName="table", BackupName="backup")
    dynamodb.update_table(
        TableName="table", SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.second}
    )
    dynamodb.list_tables()
    (backup,) = dynamodb.list_backups()["BackupSummaries"]
    keys.disable(keys.first)
    with invalid_key(f"{DISABLED}{keys.first} is disabled."):
        dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=backup["BackupArn"])
    keys.enable(keys.first)
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=backup["BackupArn"])
    assert count(dynamodb, "target") == 30


def test_deleted_table_leaves_a_readable_stream_and_system_backup(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = encrypted(process, keys.first)
    dynamodb.delete_table(TableName="table")
    assert len(stream_records(process, dynamodb)) == 30
    process = open_encrypted()
    dynamodb = process.client()
    assert len(stream_records(process, dynamodb)) == 30
    (backup,) = dynamodb.list_backups(BackupType="SYSTEM")["BackupSummaries"]
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=backup["BackupArn"])
    assert count(dynamodb, "target") == 30
    process.check()
