"""The files of a finished export, read from its bucket as any client of S3 reads them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson

from faradisc.records import dataclass
from faradisc.tools.console.endpoint import S3_URL, ServerEndpoint

CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of items, packed with gzip."""

    key: str
    items: int

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]


def has_buckets(endpoint: ServerEndpoint) -> bool:
    """Returns whether the console knows the S3 endpoint: Amazon's, or the one that its environment names."""
    return endpoint.url is None or bool(os.environ.get(S3_URL))


def folder_of(export: Mapping[str, Any]) -> str:
    """Returns where the files of a described export are."""
    folder = str(export.get("ExportManifest", "")).rpartition("/")[0]
    return f"s3://{export['S3Bucket']}/{folder}"


def download_name(export: Mapping[str, Any], files: Sequence[ExportedFile]) -> str:
    """Returns the name of the file that has all files of an export: gzip allows to append them."""
    table, _, number = str(export["ExportArn"]).rpartition(":table/")[2].partition("/export/")
    kind = ".".join(files[0].name.split(".")[1:]) if files else "json.gz"
    return f"{table}-{number}.{kind}"


async def exported_files(endpoint: ServerEndpoint, export: Mapping[str, Any]) -> list[ExportedFile]:
    """Returns the files that the manifest of a described export names. Raises Failure."""
    bucket = export["S3Bucket"]
    summary = orjson.loads(await _object(endpoint, bucket, export["ExportManifest"]))
    lines = (await _object(endpoint, bucket, summary["manifestFilesS3Key"])).splitlines()
    found = [orjson.loads(line) for line in lines if line]
    return [ExportedFile(each["dataFileS3Key"], each["itemCount"]) for each in found]


async def _object(endpoint: ServerEndpoint, bucket: str, key: str) -> bytes:
    body = await endpoint.use(partial(_body, bucket, key), "s3")
    content: bytes = await asyncio.to_thread(body.read)
    return content


def _body(bucket: str, key: str, client: Any) -> Any:
    return client.get_object(Bucket=bucket, Key=key)["Body"]


async def contents(
    endpoint: ServerEndpoint, bucket: str, files: Sequence[ExportedFile]
) -> AsyncIterator[bytes]:
    """Yields the contents of files one after the other, at most CHUNK_BYTES at once. Raises Failure."""
    for file in files:
        body = await endpoint.use(partial(_body, bucket, file.key), "s3")
        try:
            while chunk := await asyncio.to_thread(body.read, CHUNK_BYTES):
                yield chunk
        finally:
            body.close()
