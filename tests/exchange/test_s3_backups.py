"""Backups in a bucket of an S3 endpoint: stored, read in pieces, removed; shared by several servers."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.engine.backups import storage as backup_storage
from faradisc.engine.backups.files import Damaged
from faradisc.engine.backups.storage import BackupStorageError, s3_backups
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from fixtures.clients import http_client
from fixtures.s3 import OPTIONS, FakeS3
from fixtures.schemas import item, schema
from fixtures.served import Server

Endpoint = tuple[type[FakeS3], str]


def test_a_backup_is_visible_with_its_manifest_and_gone_when_removed(
    s3_endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_storage, "PIECE_BYTES", 10)
    handler, url = s3_endpoint
    storage = s3_backups(url, "bucket/some/where", options=OPTIONS)
    rows = bytes(range(30))
    storage.append("first", rows[:7])
    storage.append("first", rows[7:])
    assert (storage.names(), handler.objects) == ([], {})
    storage.finish("first", b"{}")
    assert handler.objects == {"some/where/first/rows": rows, "some/where/first/manifest.json": b"{}"}
    handler.objects["some/where/cut/rows"] = b"x"
    assert storage.names() == ["first"]
    storage.remove_unfinished()
    assert len(handler.objects) == 2
    assert (storage.manifest("first"), storage.size("first")) == (b"{}", 30)
    asked = len(handler.seen)
    assert b"".join(storage.read("first", at, 4) for at in range(0, 28, 4)) == rows[:28]
    assert len(handler.seen) - asked == 4, "8 of every piece of 10 bytes are read"
    assert storage.read("first", 25, 20) == rows[25:]
    assert storage.read("first", 30, 20) == b""
    handler.objects["some/where/first/rows"] = b"put back"
    assert (storage.size("first"), storage.read("first", 0, 8)) == (8, b"put back")
    storage.append("second", b"x")
    storage.remove("second")
    storage.remove("first")
    assert handler.objects == {}
    for read in (storage.manifest, storage.size):
        with pytest.raises(Damaged, match="gone from s3://bucket/some/where/first"):
            read("first")
    storage.close()


def test_an_endpoint_that_fails_is_named(s3_endpoint: Endpoint) -> None:
    _, url = s3_endpoint
    for place, text in (
        ("nowhere", "backup b in s3://nowhere: NoSuchBucket"),
        ("forbidden", "backup b in s3://forbidden: "),
    ):
        storage = s3_backups(url, place, options=OPTIONS)
        with pytest.raises(BackupStorageError, match=text):
            storage.append("b", b"x")
            storage.finish("b", b"{}")
        with pytest.raises(BackupStorageError):
            storage.names()


def test_a_bucket_of_backups_needs_an_endpoint() -> None:
    with pytest.raises(SettingsError, match="give --s3-endpoint too"):
        ServerSettings(backup_bucket="bucket")


def _backup_of(client: Any, arn: str) -> dict[str, Any]:
    described: dict[str, Any] = client.describe_backup(BackupArn=arn)["BackupDescription"]
    return described


def test_servers_over_postgresql_share_a_bucket_of_backups(
    s3_endpoint: Endpoint, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, url = s3_endpoint
    for name, value in OPTIONS.items():
        monkeypatch.setenv(name.replace("region_name", "aws_default_region").upper(), value)
    options = ("--store", postgres_dsn, "--transition-ms", "0", "--s3-endpoint", url)
    with (
        Server(*options, "--backup-bucket", "bucket/one") as first,
        Server(*options, "--backup-bucket", "bucket/one") as second,
    ):
        here, there = http_client(first.url), http_client(second.url)
        here.create_table(TableName="things", **schema("p:S"))
        for number in range(50):
            here.put_item(TableName="things", Item=item(p=str(number)))
        arn = here.create_backup(TableName="things", BackupName="saved")["BackupDetails"]["BackupArn"]
        while _backup_of(there, arn)["BackupDetails"]["BackupStatus"] != "AVAILABLE":
            pass
        assert sorted(key.rpartition("/")[2] for key in handler.objects) == ["manifest.json", "rows"]
        there.restore_table_from_backup(TargetTableName="restored", BackupArn=arn)
        while there.describe_table(TableName="restored")["Table"]["TableStatus"] != "ACTIVE":
            pass
        assert here.scan(TableName="restored", Select="COUNT")["Count"] == 50
        there.delete_backup(BackupArn=arn)
        assert handler.objects == {}
        assert (first.stop(), second.stop()) == (0, 0)
