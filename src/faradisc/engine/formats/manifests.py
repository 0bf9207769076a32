"""The layout of an export in a bucket, its manifests and its checksums.

    <prefix>/AWSDynamoDB/<export id>/
        _started                    empty; shows that the bucket can be written
        manifest-summary.json       one object: what was exported, and how
        manifest-files.json         one line per data file: key, items, MD5 (base64), ETag
        manifest-*.md5              the MD5 of each, base64
        data/<name>.json.gz         data of a full export
    <prefix>/AWSDynamoDB/data/<name>.json.gz     data of all incremental exports

Source: new-features.md section 3; that checksum files end in .md5 and incremental exports share one data
directory, from listings of real exports, as recalled. Readers also accept `.checksum` and hex digits.
"""

from __future__ import annotations

import posixpath
from base64 import b32encode, b64encode
from collections.abc import Iterator, Sequence
from hashlib import md5
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from faradisc.engine.formats.compression import PIECE_BYTES, InputDamaged
from faradisc.engine.formats.json_lines import Malformed, lines
from faradisc.engine.objects.api import NoSuchKey, Object, ObjectStorage
from faradisc.records import dataclass

if TYPE_CHECKING:
    from hashlib import _Hash as HASH

ROOT = "AWSDynamoDB"
SUMMARY, FILES, STARTED = "manifest-summary.json", "manifest-files.json", "_started"
FULL_VERSION, INCREMENTAL_VERSION = "2020-06-30", "2023-08-01"
_CHECKSUM_SUFFIXES = (".md5", ".checksum")
CHECKSUM_BYTES_MAX = 1024
LINES_AT_ONCE = 1000
"""Lines of a manifest read in one step."""
LINE_BYTES_MAX = 64 * 1024
"""Largest line of a manifest; a usual one has a few hundred bytes, a key at most 1 KB."""
_ENDED = object()


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
    """Returns 26 letters and digits, the service's form of the names of data files."""
    digest = md5(seed.encode(), usedforsecurity=False).digest()
    return b32encode(digest).decode().rstrip("=").lower()


def checksum(content: bytes) -> str:
    return b64encode(md5(content, usedforsecurity=False).digest()).decode()


def data_file_key(directory: str, name: str, format_: str) -> str:
    """Returns the key of a data file of an export with its data under a directory."""
    suffix = ".json.gz" if format_ == "DYNAMODB_JSON" else ".ion.gz"
    return posixpath.join(directory, "data", name + suffix)


async def put_manifest(storage: ObjectStorage, bucket: str, key: str, content: bytes) -> None:
    """Writes the checksum of a manifest and then the manifest, so that a manifest can always be checked."""
    await storage.put(bucket, key.removesuffix(".json") + ".md5", checksum(content).encode())
    await storage.put(bucket, key, content)


class Manifests:
    """The manifests beside some objects of one bucket, read in pieces. Lines about other objects are
    dropped."""

    def __init__(self, storage: ObjectStorage, bucket: str, found: Sequence[Object]) -> None:
        self._storage = storage
        self._bucket = bucket
        self._found = found
        exports = {posixpath.dirname(each.key) for each in found if posixpath.basename(each.key) == FILES}
        self._waiting = sorted(exports, reverse=True)
        """Directories whose manifests are not read yet, the next one last."""
        self._known = set(exports)
        self._exports = exports
        self._file: BinaryIO | None = None
        """The manifest being read."""
        self._pieces: Iterator[None] = iter(())
        self.checksums: dict[str, str | None] = dict.fromkeys(each.key for each in found)
        """MD5 in base64 by key; None where no manifest contains it."""

    def data_only(self) -> list[Object]:
        """Returns the objects without manifests and the other files that an export has beside its data."""
        return [
            each
            for each in self._found
            if posixpath.dirname(each.key) not in self._exports
            or not _is_beside(posixpath.basename(each.key))
        ]

    def want(self, key: str) -> bool:
        """Requests the manifest that may list an object. Returns False if there can be none, or it was
        requested before."""
        directory = posixpath.dirname(key)
        export = posixpath.dirname(directory)
        if posixpath.basename(directory) != "data" or export in self._known:
            return False
        self._known.add(export)
        self._waiting.append(export)
        return True

    async def read_on(self) -> bool:
        """Reads a piece of the manifests; returns False at the end. Raises InputDamaged, BucketError."""
        if self._file is None:
            if not self._waiting:
                return False
            await self._open(self._waiting.pop())
        elif next(self._pieces, _ENDED) is _ENDED:
            self.close()
        return True

    async def _open(self, directory: str) -> None:
        key = posixpath.join(directory, FILES)
        try:
            self._file = await self._storage.fetch(self._bucket, key)
        except NoSuchKey:
            return
        expected = await _checksums_beside(self._storage, self._bucket, key)
        self._pieces = self._read(self._file, directory, expected)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    async def fetch(self, key: str) -> BinaryIO:
        """Returns the object as a file, which compares its MD5 with that of the manifest, if there is one.

        Raises BucketError.
        """
        expected = self.checksums.get(key)
        file = await self._storage.fetch(self._bucket, key)
        return file if expected is None else CheckedFile(file, expected)  # type: ignore[return-value]

    def _read(self, file: BinaryIO, directory: str, expected: list[str]) -> Iterator[None]:
        """Reads a manifest in pieces: its checksum, then its lines. Raises InputDamaged."""
        key = posixpath.join(directory, FILES)
        digest = md5(usedforsecurity=False)
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            yield
        _check(key, digest, expected)
        file.seek(0)
        pieces = iter(lambda: file.read(PIECE_BYTES), b"")
        for count, line in enumerate(lines(pieces, limit=LINE_BYTES_MAX, keep_empty=True), start=1):
            self._add_line(directory, line, key)
            if not count % LINES_AT_ONCE:
                yield

    def _add_line(self, directory: str, line: bytes | Malformed | None, key: str) -> None:
        """Adds the checksum of one line of a manifest. Raises InputDamaged."""
        if line is None:
            return
        if isinstance(line, Malformed):
            raise InputDamaged(f"{key}: one of its lines names no data file: {line.reason}")
        data_file = data_file_of(line, key)
        if data_file.key in self.checksums:
            self.checksums[data_file.key] = data_file.md5
        # An export that was copied to another prefix has the same file names.
        moved = posixpath.join(directory, "data", posixpath.basename(data_file.key))
        if moved in self.checksums and self.checksums[moved] is None:
            self.checksums[moved] = data_file.md5


class CheckedFile:
    """A file that compares its MD5 with the expected one when it is read to its end."""

    def __init__(self, file: BinaryIO, expected: str) -> None:
        self._file = file
        self._expected = expected
        self._digest = md5(usedforsecurity=False)

    def read(self, size: int = -1) -> bytes:
        """Raises InputDamaged at the end of a file with another MD5."""
        content = self._file.read(size)
        if content:
            self._digest.update(content)
            return content
        found = b64encode(self._digest.digest()).decode()
        if found != self._expected:
            raise InputDamaged(f"its MD5 is {found}, in the manifest it is {self._expected}")
        return b""

    def close(self) -> None:
        self._file.close()


def _is_beside(name: str) -> bool:
    return name in (SUMMARY, FILES, STARTED) or name.endswith(_CHECKSUM_SUFFIXES)


def data_files(content: bytes, key: str) -> list[DataFile]:
    """Returns the lines of a manifest-files.json. Raises InputDamaged."""
    return [data_file_of(line, key) for line in content.splitlines()]


def data_file_of(line: bytes, key: str) -> DataFile:
    try:
        each: dict[str, Any] = orjson.loads(line)
        return DataFile(
            str(each["dataFileS3Key"]),
            int(each["itemCount"]),
            str(each["md5Checksum"]),
            str(each.get("etag", "")),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputDamaged(f"{key}: one of its lines names no data file: {error}") from None


async def read_checked(storage: ObjectStorage, bucket: str, key: str) -> bytes | None:
    """Returns a manifest whose checksum is correct, None when there is no manifest. Raises InputDamaged."""
    content = await _read(storage, bucket, key)
    if content is not None:
        expected = await _checksums_beside(storage, bucket, key)
        _check(key, md5(content, usedforsecurity=False), expected)
    return content


async def _checksums_beside(storage: ObjectStorage, bucket: str, key: str) -> list[str]:
    """Returns the checksums stored beside a manifest."""
    found = []
    for suffix in _CHECKSUM_SUFFIXES:
        content = await _read(storage, bucket, key.removesuffix(".json") + suffix, CHECKSUM_BYTES_MAX)
        if content is not None:
            found.append(content.decode("ascii", "replace").strip())
    return found


def _check(key: str, digest: HASH, expected: list[str]) -> None:
    """Compares the digest of a manifest with the checksums beside it. Raises InputDamaged."""
    for each in expected:
        if each not in (b64encode(digest.digest()).decode(), digest.hexdigest()):
            raise InputDamaged(f"{key}: its MD5 is not the one beside it, {each}")


async def _read(storage: ObjectStorage, bucket: str, key: str, size: int = -1) -> bytes | None:
    try:
        file = await storage.fetch(bucket, key)
    except NoSuchKey:
        return None
    with file:
        return file.read(size)
