"""Buckets of an S3 endpoint, Amazon's or any other with its protocol. Needs boto3, an extra.

Objects pass through local files, one at a time: downloaded completely before they are read, uploaded when
they are complete. So an interrupted transfer is detected by its length before its content is used. Calls from
an event loop run in threads: the database's thread never waits for the network.

Credentials and region come from boto3's usual sources.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeVar

from faradisc.engine.objects.api import (
    ABSENT,
    BucketAccess,
    BucketDenied,
    BucketError,
    BucketFailed,
    BucketUnable,
    Draft,
    InvalidKey,
    Listing,
    NoSuchBucket,
    NoSuchKey,
    Object,
    ObjectStorage,
    PutRefused,
)

T = TypeVar("T")
AWS = "aws"
_ALGORITHMS = {"AES256": "AES256", "KMS": "aws:kms"}
_CODES: dict[str, type[BucketError]] = {
    "NoSuchBucket": NoSuchBucket,
    "NoSuchKey": NoSuchKey,
    "404": NoSuchKey,
    "AccessDenied": BucketDenied,
    "403": BucketDenied,
    "KeyTooLongError": InvalidKey,
    "PreconditionFailed": PutRefused,
    "412": PutRefused,
    "ConditionalRequestConflict": PutRefused,
    "NotImplemented": BucketUnable,
    "501": BucketUnable,
}


class S3Connection:
    """A client, created at its first use and shared by all users of an endpoint."""

    def __init__(self, url: str | None, options: dict[str, Any], timeout_s: float = 60.0) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._options = options
        self._client: Any = None

    @property
    def client(self) -> Any:
        """Raises BucketFailed when boto3 is not installed."""
        if self._client is None:
            try:
                import boto3  # noqa: PLC0415 - an extra, and slow to import
            except ImportError:
                raise BucketFailed("S3 needs a library: pip install 'faradisc[exchange]'") from None
            from botocore.config import Config  # noqa: PLC0415

            # Newer clients send checksums in trailers by default, which not every S3 server understands.
            config = Config(
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                connect_timeout=self._timeout_s,
                read_timeout=self._timeout_s,
                s3={"addressing_style": "path"} if self._url is not None else {},
            )
            self._client = boto3.client("s3", endpoint_url=self._url, config=config, **self._options)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class _S3Listing:
    def __init__(self, connection: S3Connection, request: dict[str, str]) -> None:
        self._connection = connection
        self._request = request
        self._answers: Iterator[dict[str, Any]] | None = None

    async def page(self) -> list[Object] | None:
        def listed() -> list[Object] | None:
            if self._answers is None:
                paginator = self._connection.client.get_paginator("list_objects_v2")
                self._answers = iter(paginator.paginate(**self._request))
            answer = next(self._answers, None)
            if answer is None:
                return None
            return [Object(each["Key"], each["Size"]) for each in answer.get("Contents", ())]

        return await _in_thread(listed)


class S3Storage:
    encrypts = True

    def __init__(self, url: str, *, options: dict[str, Any] | None = None, timeout_s: float = 60.0) -> None:
        """url: of the endpoint, or `aws`; options: more of boto3's client; timeout_s: of each wait."""
        self._connection = S3Connection(None if url == AWS else url, options or {}, timeout_s)
        self._reading: dict[str, str] = {}
        """Parameters of every request."""
        self._writing: dict[str, str] = {}
        """More parameters of requests that write objects."""

    def opened(self, access: BucketAccess) -> ObjectStorage:
        opened = S3Storage("")
        opened._connection = self._connection
        if access.owner is not None:
            opened._reading["ExpectedBucketOwner"] = access.owner
        if access.sse_algorithm is not None:
            opened._writing["ServerSideEncryption"] = _ALGORITHMS[access.sse_algorithm]
        if access.sse_key is not None:
            opened._writing["SSEKMSKeyId"] = access.sse_key
        return opened

    @property
    def _client(self) -> Any:
        return self._connection.client

    def close(self) -> None:
        self._connection.close()

    def objects(self, bucket: str, prefix: str) -> Listing:
        return _S3Listing(self._connection, {"Bucket": bucket, "Prefix": prefix, **self._reading})

    async def fetch(self, bucket: str, key: str) -> BinaryIO:
        def fetched() -> BinaryIO:
            file = _temporary_file()
            try:
                self._client.download_fileobj(bucket, key, file, ExtraArgs=self._reading)
                file.seek(0)
            except BaseException:
                file.close()
                raise
            return file

        return await _in_thread(fetched)

    def draft(self, bucket: str, name: str) -> Draft:
        return Draft(_temporary_file(), durable=False)

    def discard(self, draft: Draft) -> None:
        draft.file.close()

    async def store(self, bucket: str, key: str, draft: Draft) -> str:
        def stored() -> str:
            with draft.file as file:
                draft.finish()
                file.seek(0)
                # `upload_fileobj` closes the file, and sends large files in parts.
                self._client.upload_fileobj(file, bucket, key, ExtraArgs={**self._reading, **self._writing})
            tag: str = self._client.head_object(Bucket=bucket, Key=key, **self._reading)["ETag"]
            return tag.strip('"')

        return await _in_thread(stored)

    async def get(self, bucket: str, key: str) -> tuple[bytes, str]:
        def got() -> tuple[bytes, str]:
            answer = self._client.get_object(Bucket=bucket, Key=key, **self._reading)
            return answer["Body"].read(), answer["ETag"].strip('"')

        return await _in_thread(got)

    async def read(self, bucket: str, key: str, at: int, size: int) -> bytes:
        def read() -> bytes:
            from botocore.exceptions import ClientError  # noqa: PLC0415 - slow to import

            asked = f"bytes={at}-{at + size - 1}"
            try:
                answer = self._client.get_object(Bucket=bucket, Key=key, Range=asked, **self._reading)
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") == "InvalidRange":  # it begins at the end
                    return b""
                raise
            content: bytes = answer["Body"].read()
            return content

        return await _in_thread(read)

    async def size(self, bucket: str, key: str) -> int:
        def size() -> int:
            return int(self._client.head_object(Bucket=bucket, Key=key, **self._reading)["ContentLength"])

        return await _in_thread(size)

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        def put() -> str:
            more = {**self._reading, **self._writing}
            if expected is not None:
                more |= {"IfNoneMatch": "*"} if expected == ABSENT else {"IfMatch": f'"{expected}"'}
            tag: str = self._client.put_object(Bucket=bucket, Key=key, Body=content, **more)["ETag"]
            return tag.strip('"')

        try:
            return await _in_thread(put)
        except NoSuchKey as error:  # S3's answer to If-Match where there is no object
            raise PutRefused(str(error)) from error

    async def remove(self, bucket: str, key: str) -> None:
        await _in_thread(lambda: self._client.delete_object(Bucket=bucket, Key=key, **self._reading))

    def free_bytes(self, bucket: str) -> int | None:
        return None


def _temporary_file() -> BinaryIO:
    return tempfile.TemporaryFile(prefix="faradisc-")


async def _in_thread(call: Callable[[], T]) -> T:
    """Runs a call that may wait for the network: in a thread, unless no loop waits. Raises BucketError."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _translated(call)
    return await asyncio.to_thread(_translated, call)


def _translated(call: Callable[[], T]) -> T:
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - slow to import

    try:
        return call()
    except ClientError as error:
        answer = error.response.get("Error", {})
        kind = _CODES.get(answer.get("Code", ""), BucketFailed)
        raise kind(answer.get("Message") or str(error)) from error
    except (BotoCoreError, OSError) as error:
        raise BucketFailed(str(error)) from error
