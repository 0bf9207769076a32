"""Buckets of an S3 endpoint, replaced by a small server with objects in memory.

What it proves: exports and imports work with an endpoint as with directories, and errors of the endpoint
become the FailureCode."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from hashlib import md5
from pathlib import Path
from typing import Any, TypeVar

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.objects.api import (
    BucketAccess,
    BucketDenied,
    BucketFailed,
    NoSuchBucket,
    NoSuchKey,
)
from faradisc.engine.objects.s3 import S3Storage
from faradisc.errors import ApiError
from faradisc.operations.call import Call
from faradisc.storage.memory import MemoryStore
from fixtures.exchanging import lines, listed, some_items, zipped
from fixtures.s3 import OPTIONS, FakeS3
from fixtures.schemas import schema

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def test_objects_are_stored_listed_read_and_removed(s3: tuple[type[FakeS3], S3Storage]) -> None:
    handler, buckets = s3
    assert run(buckets.put("bucket", "a/small", b"x")) == md5(b"x").hexdigest()
    draft = buckets.draft("bucket", "name")
    draft.write(b"large" * 1000)
    assert run(buckets.store("bucket", "a/large", draft)) == md5(b"large" * 1000).hexdigest()
    assert [(each.key, each.size) for each in run(listed(buckets, "bucket", "a/"))] == [
        ("a/large", 5000),
        ("a/small", 1),
    ]
    with run(buckets.fetch("bucket", "a/large")) as file:
        assert file.read() == b"large" * 1000
    run(buckets.remove("bucket", "a/large"))
    assert list(handler.objects) == ["a/small"]


def test_access_parameters_are_sent(s3: tuple[type[FakeS3], S3Storage]) -> None:
    handler, buckets = s3
    run(buckets.opened(BucketAccess("123456789012", "KMS", "key")).put("bucket", "a", b"x"))
    _, _, headers = handler.seen[-1]
    assert headers["x-amz-expected-bucket-owner"] == "123456789012"
    assert headers["x-amz-server-side-encryption"] == "aws:kms"
    assert headers["x-amz-server-side-encryption-aws-kms-key-id"] == "key"


def test_errors_of_s3(s3: tuple[type[FakeS3], S3Storage]) -> None:
    _, buckets = s3
    with pytest.raises(NoSuchBucket):
        run(listed(buckets, "nowhere", ""))
    with pytest.raises(BucketDenied):
        run(listed(buckets, "forbidden", ""))
    with pytest.raises(NoSuchKey):
        run(buckets.fetch("bucket", "nothing"))
    with pytest.raises(BucketFailed):
        run(listed(S3Storage("http://127.0.0.1:1", options=OPTIONS), "bucket", ""))


def test_export_and_import_of_a_table(s3: tuple[type[FakeS3], S3Storage], tmp_path: Path) -> None:
    handler, buckets = s3
    items = some_items(120)
    handler.objects["in/a.json.gz"] = zipped(lines(items))

    async def scene() -> None:
        database = await Database.open(
            MemoryStore(),
            settings=Settings(transition_ms=0),
            clock=ManualClock(),
            entropy=SeededEntropy(1),
            locations=Locations(buckets, tmp_path),
        )

        async def call(operation: str, **request: Any) -> dict[str, Any]:
            return await database.execute(Call(operation, request, False, "us-east-1", "000000000000"))

        async def import_(prefix: str, name: str) -> dict[str, Any]:
            begun = await call(
                "ImportTable",
                S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": prefix},
                InputFormat="DYNAMODB_JSON",
                InputCompressionType="GZIP",
                TableCreationParameters={"TableName": name, **schema("p:S")},
            )
            while await database.work():
                pass
            arn = begun["ImportTableDescription"]["ImportArn"]
            return dict((await call("DescribeImport", ImportArn=arn))["ImportTableDescription"])

        first = await import_("in/", "first")
        assert (first["ImportStatus"], first["ImportedItemCount"]) == ("COMPLETED", 120), first
        recovery = {"PointInTimeRecoveryEnabled": True}
        await call("UpdateContinuousBackups", TableName="first", PointInTimeRecoverySpecification=recovery)
        table = (await call("DescribeTable", TableName="first"))["Table"]
        begun = await call("ExportTableToPointInTime", TableArn=table["TableArn"], S3Bucket="bucket")
        while await database.work():
            pass
        arn = begun["ExportDescription"]["ExportArn"]
        exported = (await call("DescribeExport", ExportArn=arn))["ExportDescription"]
        assert (exported["ExportStatus"], exported["ItemCount"]) == ("COMPLETED", 120), exported
        directory = exported["ExportManifest"].rpartition("/")[0]
        second = await import_(directory, "second")
        assert (second["ImportStatus"], second["ImportedItemCount"]) == ("COMPLETED", 120), second
        # One data file differs from the manifest.
        name = next(key for key in handler.objects if "/data/" in key)
        handler.objects[name] = zipped(lines(items[:5]))
        third = await import_(f"{directory}/data/", "third")
        assert third["FailureCode"] == "InputDamaged" and name in third["FailureMessage"]
        with pytest.raises(ApiError):
            await call("Scan", TableName="third")
        await database.close()

    run(scene())
