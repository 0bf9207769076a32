"""Tables that are created encrypted have no partition key in a file, of the table or of an index."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError
from click.testing import CliRunner

from faradisc.cli.main import cli
from faradisc.clock import ManualClock
from faradisc.engine.check import Check
from faradisc.engine.derived.expiry import expiry_of, index_key
from faradisc.model.codec.keyspace import HASH_BYTES, Placement
from faradisc.model.codec.sortkey import encode_component
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from fixtures.encrypted import Keys
from fixtures.in_process import InProcess
from fixtures.schemas import item, schema

Open = Callable[..., InProcess]
PARTITION, INDEXED, SORT = "PARTITION-KEY", "INDEX-KEY", "SORT-KEY"
ITEMS = 12


def filled(process: InProcess, arn: str | None, name: str = "table") -> Any:
    """A table with all kinds of indexes and everything that is derived from writes; the client."""
    dynamodb = process.client()
    specification = (
        {"SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn}} if arn else {}
    )
    dynamodb.create_table(
        TableName=name,
        **schema("p:S", "r:S", lsi={"local": ("l:S", "ALL")}, gsi={"global": ("g:S", "l:S", "KEYS_ONLY")}),
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        **specification,
    )
    dynamodb.update_continuous_backups(
        TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    dynamodb.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "x"}
    )
    for number in range(ITEMS):
        dynamodb.put_item(TableName=name, Item=item_of(process, number))
    return dynamodb


def item_of(process: InProcess, number: int) -> Item:
    expires = process.clock.now_ns() // 10**9 + 1000 + number
    return item(
        p=f"{PARTITION}-{number % 3}", r=f"{SORT}-{number:02}", l="l", g=f"{INDEXED}-{number % 2}", x=expires
    )


def files_with(directory: Path, text: str) -> list[str]:
    return [
        str(each) for each in directory.rglob("*") if each.is_file() and text.encode() in each.read_bytes()
    ]


def changed_keys(process: InProcess) -> list[tuple[str, Item]]:
    """Kind and key of every record of the newest stream."""
    streams = process.local.client("dynamodbstreams")
    arn = streams.list_streams()["Streams"][-1]["StreamArn"]
    found = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for each in streams.get_records(ShardIterator=iterator)["Records"]:
            found.append((each["eventName"], each["dynamodb"]["Keys"]))
    return found


# --- Row keys ------------------------------------------------------------------------------------

TABLE_KEY = KeySchema(("p",), ("r",), {"p": "S", "r": "S"})
INDEX_KEY = KeySchema(("g", "h"), ("l",), {"g": "S", "h": "N", "l": "S"})


def test_row_key_has_hashes_and_the_sort_keys() -> None:
    plain, hashed = Placement(7, 4, TABLE_KEY), Placement(7, 4, TABLE_KEY, hashed=True)
    row = item(p=PARTITION, r=SORT)
    row_key = hashed.row_key(row)
    assert row_key[:HASH_BYTES] == plain.row_key(row)[:HASH_BYTES]
    assert hashed.part_of(row_key) == plain.part_of(row_key)
    assert PARTITION.encode() not in row_key
    assert row_key[2 * HASH_BYTES :] == encode_component(row["r"])
    assert row_key.startswith(hashed.collection((row["p"],)))
    assert hashed.row_key(item(p=f"{PARTITION}2", r=SORT)) != row_key


def test_entry_of_an_index_has_hashes_of_both_partition_keys() -> None:
    placement = Placement(9, 4, INDEX_KEY, TABLE_KEY, hashed=True)
    row = item(p=PARTITION, r=SORT, g=INDEXED, h=5, l="l")
    row_key = placement.row_key(row)
    assert PARTITION.encode() not in row_key
    assert INDEXED.encode() not in row_key
    assert row_key.startswith(placement.collection((row["g"], row["h"])) + encode_component(row["l"]))
    assert row_key.endswith(encode_component(row["r"]))


# --- Files ---------------------------------------------------------------------------------------


def test_no_file_has_a_partition_key(
    open_encrypted: Open, keys: Keys, tmp_path: Path, clock: ManualClock
) -> None:
    process = open_encrypted()
    dynamodb = filled(process, keys.first)
    dynamodb.create_backup(TableName="table", BackupName="backup")
    dynamodb.update_table(
        TableName="table",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("p", "r", "l", "g")],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "inverted",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    key = {name: item_of(process, 1)[name] for name in ("p", "r")}
    dynamodb.delete_item(TableName="table", Key=key)
    clock.advance(1004)  # some items expire
    dynamodb.list_tables()
    assert files_with(tmp_path, PARTITION) == []
    process.close()
    assert files_with(tmp_path, PARTITION) == []
    assert files_with(tmp_path, INDEXED) == []
    assert files_with(tmp_path, SORT) != []


def test_partition_keys_from_before_the_encryption_stay(
    open_encrypted: Open, keys: Keys, tmp_path: Path
) -> None:
    process = open_encrypted()
    dynamodb = filled(process, None)
    dynamodb.update_table(
        TableName="table", SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first}
    )
    dynamodb.list_tables()
    assert dynamodb.scan(TableName="table")["Count"] == ITEMS
    assert files_with(tmp_path, PARTITION) != []


# --- What reads keys back ------------------------------------------------------------------------


def test_streams_and_expiry_know_the_keys(open_encrypted: Open, keys: Keys, clock: ManualClock) -> None:
    process = open_encrypted()
    dynamodb = filled(process, keys.first)
    expected = [{name: item_of(process, number)[name] for name in ("p", "r")} for number in range(ITEMS)]
    clock.advance(5000)
    dynamodb.list_tables()
    assert dynamodb.scan(TableName="table")["Count"] == 0
    records = changed_keys(process)
    by_key = {json.dumps(key): [kind for kind, of in records if of == key] for key in expected}
    assert list(by_key.values()) == [["INSERT", "REMOVE"]] * ITEMS
    process.check()


def test_expiry_row_without_an_item_is_deleted(open_encrypted: Open, keys: Keys, clock: ManualClock) -> None:
    process = open_encrypted()
    dynamodb = filled(process, keys.first)
    table = process.backend.tables.at(("", "table"))
    assert table is not None
    expiry = expiry_of(table)
    assert expiry is not None
    row_key = table.placement.row_key(item(p="absent", r="0"))
    slot = row_key[0] >> 6
    stray = index_key(clock.now_ns() // 10**9, row_key)
    run(process.store.commit([Batch(expiry.slot_parts[slot], puts=[(stray, b"")])]))
    expiry.hints.written(stray)
    clock.advance(10)
    dynamodb.list_tables()
    assert run(process.store.get(expiry.slot_parts[slot], (stray,))) == [None]
    assert dynamodb.scan(TableName="table")["Count"] == ITEMS


def test_restored_tables_hash_their_keys_where_they_are_encrypted(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = filled(process, None, "plain")
    filled(process, keys.first, "sealed")
    for source, specification in (
        ("plain", {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.second}),
        ("sealed", {"Enabled": False}),
    ):
        dynamodb.restore_table_to_point_in_time(
            SourceTableName=source,
            TargetTableName=f"{source}-restored",
            UseLatestRestorableTime=True,
            SSESpecificationOverride=specification,
        )
    hashed = {}
    for name in ("plain", "sealed", "plain-restored", "sealed-restored"):
        assert dynamodb.scan(TableName=name)["Count"] == ITEMS
        table = process.backend.tables.at(("", name))
        assert table is not None
        hashed[name] = table.placement.hashed
    assert hashed == {"plain": False, "sealed": True, "plain-restored": True, "sealed-restored": False}
    process.check()


def test_table_without_encryption_again_keeps_its_hashes(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    dynamodb = filled(process, keys.first)
    dynamodb.update_table(TableName="table", SSESpecification={"Enabled": False})
    dynamodb.list_tables()
    keys.delete(keys.first)
    process = open_encrypted()
    dynamodb = process.client()
    for number in range(ITEMS):
        wanted = item_of(process, number)
        key = {name: wanted[name] for name in ("p", "r")}
        assert dynamodb.get_item(TableName="table", Key=key)["Item"] == wanted
    found = dynamodb.query(
        TableName="table",
        IndexName="global",
        KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": f"{INDEXED}-1"}},
    )
    assert found["Count"] == ITEMS // 2
    process.check()


def test_pages_of_an_index_follow_one_another(open_encrypted: Open, keys: Keys) -> None:
    """Entries with one sort key are in the order of their hashes."""
    dynamodb = filled(open_encrypted(), keys.first)
    for forward in (True, False):
        found: list[str] = []
        start: dict[str, Any] = {}
        while True:
            page = dynamodb.query(
                TableName="table",
                IndexName="global",
                KeyConditionExpression="g = :g AND l = :l",
                ExpressionAttributeValues={":g": {"S": f"{INDEXED}-0"}, ":l": {"S": "l"}},
                ScanIndexForward=forward,
                Limit=2,
                **start,
            )
            found += [each["r"]["S"] for each in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        assert sorted(found) == [f"{SORT}-{number:02}" for number in range(0, ITEMS, 2)]


def test_incremental_export_has_the_keys(
    open_encrypted: Open, keys: Keys, clock: ManualClock, tmp_path: Path
) -> None:
    bucket = tmp_path / "buckets" / "bucket"
    bucket.mkdir(parents=True)
    process = open_encrypted(s3_root=bucket.parent)
    dynamodb = filled(process, keys.first)
    clock.advance(900)
    key = {name: item_of(process, 0)[name] for name in ("p", "r")}
    begun = clock.now_ns() // 10**9
    clock.advance(60)
    dynamodb.delete_item(TableName="table", Key=key)
    clock.advance(900)
    started = dynamodb.export_table_to_point_in_time(
        TableArn=dynamodb.describe_table(TableName="table")["Table"]["TableArn"],
        S3Bucket="bucket",
        ExportType="INCREMENTAL_EXPORT",
        IncrementalExportSpecification={
            "ExportFromTime": begun,
            "ExportToTime": begun + 900,
            "ExportViewType": "NEW_IMAGE",
        },
    )["ExportDescription"]
    dynamodb.list_tables()
    ended = dynamodb.describe_export(ExportArn=started["ExportArn"])["ExportDescription"]
    assert (ended["ExportStatus"], ended["ItemCount"]) == ("COMPLETED", 1)
    lines = []
    for file in bucket.rglob("data/*.json.gz"):
        opened = CliRunner().invoke(cli, ["keys", "open", str(file)], env={"FARADISC_KEYS": str(keys.path)})
        lines += gzip.decompress(opened.stdout_bytes).splitlines()
    (line,) = lines
    assert json.loads(line)["Keys"] == key


# --- What people read ----------------------------------------------------------------------------


def test_check_names_an_item_by_its_hash_and_sort_key(open_encrypted: Open, keys: Keys) -> None:
    process = open_encrypted()
    filled(process, keys.first)
    table = process.backend.tables.at(("", "table"))
    assert table is not None
    row_key = table.placement.row_key(item_of(process, 0))
    run(process.store.commit([Batch(table.placement.part_of(row_key), puts=[(row_key, b"no record")])]))
    sentences = "\n".join(run(Check(process.store, process.clock).finish()).sentences())
    assert f"hash {row_key[:HASH_BYTES].hex()}" in sentences
    assert f"{SORT}-00" in sentences
    assert PARTITION not in sentences


def test_inspect_shows_what_is_a_hash(open_encrypted: Open, keys: Keys, tmp_path: Path) -> None:
    process = open_encrypted()
    filled(process, keys.first)
    key = {name: item_of(process, 0)[name] for name in ("p", "r")}
    process.close()
    shown = CliRunner().invoke(
        cli,
        ["inspect", str(tmp_path / "data"), "--table", "table", "--key", json.dumps(key)],
        env={"FARADISC_KEYS": str(keys.path)},
    )
    assert shown.exit_code == 0, shown.output
    assert "as a hash" in shown.output


def test_hot_keys_are_read_from_their_rows(open_encrypted: Open, keys: Keys, clock: ManualClock) -> None:
    process = open_encrypted(throughput="aws:30/10")
    dynamodb = process.client()
    dynamodb.create_table(
        TableName="table",
        **schema("p:S", "r:S"),
        SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first},
    )
    row = item_of(process, 0)
    for _ in range(15):
        for _ in range(20):
            with suppress(ClientError):  # throttled
                dynamodb.put_item(TableName="table", Item=row)
        clock.advance(1)
        dynamodb.list_tables()

    def hot() -> set[tuple[str, str | None]]:
        partitions = process.local.capacity("table")["resources"][""]["partitions"]
        return {
            (each["key"] or each["instead"], each["sort_key"])
            for part in partitions
            for each in part["hot_keys"]
        }

    assert hot() == {(row["p"]["S"], row["r"]["S"])}
    keys.disable(keys.first)
    dynamodb.list_tables()
    table = process.backend.tables.at(("", "table"))
    assert table is not None
    hashed = table.placement.row_key(row)[:HASH_BYTES].hex()
    assert hot() == {(f"hash {hashed}", None)}
