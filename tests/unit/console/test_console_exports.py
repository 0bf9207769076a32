"""Files of exports, read from an S3 endpoint piece by piece."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest

from faradisc.tools.console import exports
from faradisc.tools.console.endpoint import S3_URL, Failure, Key, ServerEndpoint
from faradisc.tools.console.exports import (
    ExportedFile,
    contents,
    download_name,
    exported_files,
    folder_of,
    has_buckets,
)
from fixtures.s3 import FakeS3

FOLDER = "kept/AWSDynamoDB/01-ab"
EXPORT = {
    "ExportArn": "arn:aws:dynamodb:us-east-1:000000000000:table/music/export/01-ab",
    "S3Bucket": "bucket",
    "ExportManifest": f"{FOLDER}/manifest-summary.json",
}
PIECE = 7


@pytest.fixture
def endpoint(
    s3_endpoint: tuple[type[FakeS3], str], monkeypatch: pytest.MonkeyPatch
) -> tuple[type[FakeS3], ServerEndpoint]:
    handler, url = s3_endpoint
    monkeypatch.setenv(S3_URL, url)
    monkeypatch.setattr(exports, "CHUNK_BYTES", PIECE)
    return handler, ServerEndpoint("http://127.0.0.1:1", "us-east-1", Key("a", "b"))


def test_files_of_an_export_are_read_as_one(endpoint: tuple[type[FakeS3], ServerEndpoint]) -> None:
    handler, asked = endpoint
    names = [f"{FOLDER}/data/{name}.json.gz" for name in "xy"]
    lines = [{"itemCount": 2, "dataFileS3Key": name} for name in names]
    handler.objects.update({name: gzip.compress(f"{name}\n".encode() * 2) for name in names})
    handler.objects[f"{FOLDER}/manifest-files.json"] = "\n".join(map(json.dumps, lines)).encode()
    summary = json.dumps({"manifestFilesS3Key": f"{FOLDER}/manifest-files.json"})
    handler.objects[EXPORT["ExportManifest"]] = summary.encode()

    async def read() -> list[bytes]:
        files = await exported_files(asked, EXPORT)
        assert files == [ExportedFile(name, 2) for name in names]
        assert download_name(EXPORT, files) == "music-01-ab.json.gz"
        return [piece async for piece in contents(asked, "bucket", files)]

    pieces = asyncio.run(read())
    assert max(map(len, pieces)) == PIECE
    assert gzip.decompress(b"".join(pieces)).decode().split() == [name for name in names for _ in range(2)]
    assert folder_of(EXPORT) == f"s3://bucket/{FOLDER}"


def test_a_missing_file_is_an_error_of_the_bucket(endpoint: tuple[type[FakeS3], ServerEndpoint]) -> None:
    _, asked = endpoint
    with pytest.raises(Failure, match="NoSuchKey"):
        asyncio.run(exported_files(asked, EXPORT))


def test_buckets_are_read_where_an_endpoint_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(S3_URL, raising=False)
    assert has_buckets(ServerEndpoint(None, "us-east-1", None))
    local = ServerEndpoint("http://127.0.0.1:1", "us-east-1", None)
    assert not has_buckets(local)
    monkeypatch.setenv(S3_URL, "http://127.0.0.1:2")
    assert has_buckets(local)
