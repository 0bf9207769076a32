"""Backups in a bucket of an S3 endpoint: `<prefix>/<name>/rows` and `manifest.json`, as in a directory.

Rows are collected in a local file and uploaded at the end, before the manifest, whose object makes the backup
visible. They are read in pieces larger than a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

from faradisc.engine.backups.files import Damaged
from faradisc.engine.backups.storage import MANIFEST_FILE, ROWS_FILE, BackupStorageError
from faradisc.engine.objects.object_storage import BucketError, NoSuchKey
from faradisc.engine.objects.s3 import AWS, S3Connection, temporary_file, translated

T = TypeVar("T")
PIECE_BYTES = 4 * 1024 * 1024
PIECES_MAX = 8
"""Kept in memory: one of each backup that is read."""


class S3BackupStorage:
    blocking = True

    def __init__(self, url: str, place: str, *, options: dict[str, Any] | None = None) -> None:
        """url: of the endpoint, or `aws`. place: a bucket, or bucket/prefix. options: of boto3's client."""
        self.kind = f"s3://{place.strip('/')}"
        self._bucket, _, prefix = place.strip("/").partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._connection = S3Connection(None if url == AWS else url, options or {})
        self._drafts: dict[str, BinaryIO] = {}
        """The rows of unfinished backups."""
        self._pieces: dict[str, tuple[int, bytes]] = {}
        """The rows of a backup that were read last, and where they begin."""

    def names(self) -> list[str]:
        return sorted(name for name, files in self._files().items() if MANIFEST_FILE in files)

    def append(self, name: str, data: bytes) -> None:
        try:
            if name not in self._drafts:
                self._drafts[name] = temporary_file()
            self._drafts[name].write(data)
        except OSError as error:
            raise BackupStorageError(f"backup {name}, in a temporary file: {error.strerror}") from error

    def finish(self, name: str, manifest: bytes) -> None:
        def finish() -> None:
            with self._drafts.pop(name) as file:
                file.seek(0)
                self._connection.client.upload_fileobj(file, self._bucket, self._key(name, ROWS_FILE))
            self._connection.client.put_object(
                Bucket=self._bucket, Key=self._key(name, MANIFEST_FILE), Body=manifest
            )

        self._call(name, finish)

    def remove(self, name: str) -> None:
        self._pieces.pop(name, None)
        draft = self._drafts.pop(name, None)
        if draft is not None:
            draft.close()
        for file in (MANIFEST_FILE, ROWS_FILE):  # invisible after the first
            self._call(name, lambda file=file: self._delete(name, file))  # type: ignore[misc]

    def remove_unfinished(self) -> None:
        for name, files in self._files().items():
            if MANIFEST_FILE not in files:
                self._call(name, lambda name=name: self._delete(name, ROWS_FILE))  # type: ignore[misc]

    def manifest(self, name: str) -> bytes:
        def got() -> bytes:
            answer = self._connection.client.get_object(
                Bucket=self._bucket, Key=self._key(name, MANIFEST_FILE)
            )
            content: bytes = answer["Body"].read()
            return content

        return self._call(name, got)

    def size(self, name: str) -> int:
        def size() -> int:
            answer = self._connection.client.head_object(Bucket=self._bucket, Key=self._key(name, ROWS_FILE))
            return int(answer["ContentLength"])

        self._pieces.pop(name, None)  # a verification begins, perhaps of files that were put back
        return self._call(name, size)

    def read(self, name: str, at: int, size: int) -> bytes:
        start, piece = self._pieces.get(name, (0, b""))
        if not start <= at <= at + size <= start + len(piece):
            start, piece = at, self._call(name, lambda: self._got(name, at, max(size, PIECE_BYTES)))
            self._pieces[name] = start, piece
            for other in list(self._pieces)[:-PIECES_MAX]:
                self._pieces.pop(other, None)
        return piece[at - start : at - start + size]

    def free_bytes(self) -> int | None:
        return None

    def close(self) -> None:
        for file in self._drafts.values():
            file.close()
        self._drafts.clear()
        self._pieces.clear()

    def _key(self, name: str, file: str) -> str:
        return f"{self._prefix}{name}/{file}"

    def _files(self) -> dict[str, set[str]]:
        """Returns the names of the files of each backup."""

        def listed() -> dict[str, set[str]]:
            found: dict[str, set[str]] = {}
            paginator = self._connection.client.get_paginator("list_objects_v2")
            for answer in paginator.paginate(Bucket=self._bucket, Prefix=self._prefix):
                for each in answer.get("Contents", ()):
                    name, _, file = each["Key"].removeprefix(self._prefix).partition("/")
                    if file in (MANIFEST_FILE, ROWS_FILE):
                        found.setdefault(name, set()).add(file)
            return found

        return self._call("list", listed)

    def _delete(self, name: str, file: str) -> None:
        self._connection.client.delete_object(Bucket=self._bucket, Key=self._key(name, file))

    def _got(self, name: str, at: int, size: int) -> bytes:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - slow to import

        try:
            answer = self._connection.client.get_object(
                Bucket=self._bucket, Key=self._key(name, ROWS_FILE), Range=f"bytes={at}-{at + size - 1}"
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "InvalidRange":  # it begins at the end
                return b""
            raise
        content: bytes = answer["Body"].read()
        return content

    def _call(self, name: str, call: Callable[[], T]) -> T:
        """Raises Damaged when an object is missing, BackupStorageError."""
        try:
            return translated(call)
        except NoSuchKey as error:
            raise Damaged(f"its files are gone from {self.kind}/{name}") from error
        except BucketError as error:
            raise BackupStorageError(f"backup {name} in {self.kind}: {error}") from error
