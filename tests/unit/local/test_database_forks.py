"""`LocalDatabase.fork` and `LocalDatabase.seed`: many tests share a prepared database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase
from fixtures.schemas import item, schema


def prepared(**settings: Any) -> LocalDatabase:
    database = LocalDatabase(**settings)
    client = database.client()
    client.create_table(
        TableName="things",
        **schema("pk:S", gsi={"index": ("kind:S", "", "ALL")}),
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    for number in range(20):
        client.put_item(TableName="things", Item=item(pk=str(number), kind="a"))
    return database


def count(database: LocalDatabase, **query: Any) -> int:
    return int(database.client().scan(TableName="things", Select="COUNT", **query)["Count"])


def records(database: LocalDatabase) -> int:
    streams = database.client("dynamodbstreams")
    arn = streams.list_streams()["Streams"][0]["StreamArn"]
    found = 0
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        found += len(streams.get_records(ShardIterator=iterator)["Records"])
    return found


def test_fork_and_original_do_not_see_changes_of_each_other() -> None:
    with prepared() as original, original.fork() as first, original.fork() as second, first.fork() as third:
        databases = (original, first, second, third)
        for number, database in enumerate(databases):
            client = database.client()
            for extra in range(number + 1):
                client.put_item(TableName="things", Item=item(pk=f"new {extra}", kind="b"))
            client.delete_item(TableName="things", Key=item(pk="3"))
            client.create_table(TableName=f"own-{number}", **schema("pk:S"))
        for number, database in enumerate(databases):
            assert count(database) == 20 + number
            assert count(database, IndexName="index") == 20 + number
            assert records(database) == 22 + number
            assert database.client().list_tables()["TableNames"] == [f"own-{number}", "things"]
            assert database.client().describe_table(TableName="things")["Table"]["ItemCount"] == 20 + number
        original.close()
        assert count(third) == 23


def test_fork_has_the_backups_and_throughput_of_the_original() -> None:
    with prepared(throughput="aws") as original:
        client = original.client()
        arn = client.create_backup(TableName="things", BackupName="first")["BackupDetails"]["BackupArn"]
        original.change_capacity("things", {"partitions": 6})
        with original.fork() as fork:
            assert len(fork.capacity("things")["resources"][""]["partitions"]) == 6
            fork.client().restore_table_from_backup(TargetTableName="restored", BackupArn=arn)
            assert fork.client().scan(TableName="restored", Select="COUNT")["Count"] == 20
            fork.client().delete_backup(BackupArn=arn)
        assert client.list_backups()["BackupSummaries"][0]["BackupArn"] == arn
        assert client.list_tables()["TableNames"] == ["things"]


def test_fork_has_the_clock_of_the_original_or_its_own() -> None:
    clock = ManualClock()
    with prepared(clock=clock) as original:
        own = ManualClock(2_000_000_000)
        with original.fork() as same, original.fork(clock=own) as other:
            clock.advance(5)
            for database, expected in ((same, clock), (other, own)):
                client = database.client()
                client.create_table(TableName="now", **schema("pk:S"))
                created = client.describe_table(TableName="now")["Table"]["CreationDateTime"].timestamp()
                assert created == expected.now_ns() / 1e9


def test_only_an_open_database_in_memory_can_be_forked(tmp_path: Path) -> None:
    with LocalDatabase(tmp_path / "data") as database, pytest.raises(ValueError, match="in memory"):
        database.fork()
    closed = LocalDatabase()
    closed.close()
    with pytest.raises(RuntimeError, match="closed"):
        closed.fork()


def test_seed_creates_tables_and_items(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(json.dumps({"TableName": "things", **schema("pk:S")}))
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "things.json").write_text('[{"pk": "a"}, {"pk": "b"}]')
    with LocalDatabase() as database:
        database.seed(tmp_path)
        assert count(database) == 2
        database.seed(str(tmp_path))
        (tmp_path / "items" / "things.json").write_text('[{"pk": 1}]')
        with LocalDatabase() as other, pytest.raises(ValueError, match=r"things\.json:1"):
            other.seed(tmp_path)
        with pytest.raises(ValueError, match="does not exist"):
            database.seed(tmp_path / "missing")
