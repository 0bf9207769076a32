"""The layout of an export in a bucket, its manifests and its checksums.

    <prefix>/AWSDynamoDB/<export id>/
        _started                    empty; shows that the bucket can be written
        manifest-summary.json       one object: what was exported, and how
        manifest-files.json         one line per data file: key, items, MD5 (base64), ETag
        manifest-*.md5              the MD5 of each, base64
        data/<name>.json.gz         of a full export
    <prefix>/AWSDynamoDB/data/<name>.json.gz     of all incremental exports

Source: new-features.md section 3; that checksum files end in .md5 and incremental exports share one data
directory, from listings of real exports, as recalled. A reader also takes `.checksum` and hex digits.
"""

from __future__ import annotations

import posixpath
from base64 import b32encode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import md5
from typing import Any, BinaryIO

import orjson

from faradisc.exchange.buckets import Buckets, NoSuchKey, Object
from faradisc.exchange.compression import Damaged

ROOT = "AWSDynamoDB"
SUMMARY, FILES, STARTED = "manifest-summary.json", "manifest-files.json", "_started"
FULL_VERSION, INCREMENTAL_VERSION = "2020-06-30", "2023-08-01"
_CHECKSUM_SUFFIXES = (".md5", ".checksum")


@dataclass(frozen=True, slots=True)
class DataFile:
    """One line of manifest-files.json."""

    key: str
    items: int
    md5: str
    """Base64."""
    etag: str

    def line(self) -> bytes:
        document = {
            "itemCount": self.items,
            "md5Checksum": self.md5,
            "etag": self.etag,
            "dataFileS3Key": self.key,
        }
        return orjson.dumps(document) + b"\n"


def export_directory(prefix: str | None, export_id: str) -> str:
    return posixpath.join(prefix or "", ROOT, export_id)


def data_file_name(seed: str) -> str:
    """26 letters and digits, like those the service gives its data files."""
    digest = md5(seed.encode(), usedforsecurity=False).digest()
    return b32encode(digest).decode().rstrip("=").lower()


def checksum(content: bytes) -> str:
    return b64encode(md5(content, usedforsecurity=False).digest()).decode()


def checksum_key(manifest: str) -> str:
    return manifest.removesuffix(".json") + ".md5"


class Manifests:
    """The manifests that lie beside the objects of one bucket, read when first needed."""

    def __init__(self, buckets: Buckets, bucket: str) -> None:
        self._buckets = buckets
        self._bucket = bucket
        self._checksums: dict[str, str] = {}
        """MD5 in base64 by key of a data file."""
        self._seen: set[str] = set()

    async def data_only(self, found: Sequence[Object]) -> list[Object]:
        """The objects without those that an export has beside its data."""
        exports = {posixpath.dirname(each.key) for each in found if posixpath.basename(each.key) == FILES}
        data = [
            each
            for each in found
            if posixpath.dirname(each.key) not in exports or not _is_beside(posixpath.basename(each.key))
        ]
        for directory in sorted(exports):
            await self._read(directory)
        return data

    async def fetch(self, key: str) -> BinaryIO:
        """The object as a file; where a manifest knows it, one that is held against that while it is read.

        Raises: Damaged, BucketError.
        """
        directory = posixpath.dirname(key)
        if posixpath.basename(directory) == "data":
            await self._read(posixpath.dirname(directory))
        expected = self._checksums.get(key)
        file = await self._buckets.fetch(self._bucket, key)
        return file if expected is None else Summed(file, expected)  # type: ignore[return-value]

    async def _read(self, directory: str) -> None:
        """Raises: Damaged when the manifest itself is."""
        if directory in self._seen:
            return
        self._seen.add(directory)
        content = await read_checked(self._buckets, self._bucket, posixpath.join(directory, FILES))
        if content is None:
            return
        for data_file in data_files(content, posixpath.join(directory, FILES)):
            self._checksums[data_file.key] = data_file.md5
            # An export that was copied elsewhere keeps the names of its files.
            moved = posixpath.join(directory, "data", posixpath.basename(data_file.key))
            self._checksums.setdefault(moved, data_file.md5)


class Summed:
    """A file to read to its end, where its MD5 must be the expected one."""

    def __init__(self, file: BinaryIO, expected: str) -> None:
        self._file = file
        self._expected = expected
        self._digest = md5(usedforsecurity=False)

    def read(self, size: int = -1) -> bytes:
        """Raises: Damaged at the end."""
        content = self._file.read(size)
        if content:
            self._digest.update(content)
            return content
        found = b64encode(self._digest.digest()).decode()
        if found != self._expected:
            raise Damaged(f"its MD5 is {found}, the manifest says {self._expected}")
        return b""

    def close(self) -> None:
        self._file.close()


def _is_beside(name: str) -> bool:
    return name in (SUMMARY, FILES, STARTED) or name.endswith(_CHECKSUM_SUFFIXES)


def data_files(content: bytes, key: str) -> list[DataFile]:
    """The lines of a manifest-files.json. Raises: Damaged."""
    files = []
    for line in content.splitlines():
        try:
            each: dict[str, Any] = orjson.loads(line)
            files.append(
                DataFile(
                    str(each["dataFileS3Key"]),
                    int(each["itemCount"]),
                    str(each["md5Checksum"]),
                    str(each.get("etag", "")),
                )
            )
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{key}: a line of it names no data file: {error}") from None
    return files


async def read_checked(buckets: Buckets, bucket: str, key: str) -> bytes | None:
    """A manifest, held against the checksum beside it; None when there is none. Raises: Damaged."""
    content = await _read(buckets, bucket, key)
    if content is None:
        return None
    for suffix in _CHECKSUM_SUFFIXES:
        expected = await _read(buckets, bucket, key.removesuffix(".json") + suffix)
        if expected is None:
            continue
        digest = md5(content, usedforsecurity=False)
        said = expected.decode("ascii", "replace").strip()
        if said not in (b64encode(digest.digest()).decode(), digest.hexdigest()):
            raise Damaged(f"{key}: its MD5 is not the one beside it, {said}")
    return content


async def _read(buckets: Buckets, bucket: str, key: str) -> bytes | None:
    try:
        file = await buckets.fetch(bucket, key)
    except NoSuchKey:
        return None
    with file:
        return file.read()
