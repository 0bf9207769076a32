"""The objects of one copy, in a bucket or a directory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from faradisc.engine.copying.format import (
    LOG,
    MANIFEST,
    SNAPSHOTS,
    CopyDamaged,
    CopyError,
    CopySegment,
    CopySnapshot,
    read_segment,
    read_snapshot,
)
from faradisc.engine.objects.api import BucketError, NoSuchKey, ObjectStorage
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.storage.immediate import run

TIMEOUT_S = 10.0
"""Of a bucket that does not answer: a copy tries again."""
_SEGMENT = re.compile(LOG + r"([0-9]{16})(?:-([0-9]{16}))?")
_SNAPSHOT = re.compile(SNAPSHOTS + r"[0-9]{20}-[0-9]{16}/" + re.escape(MANIFEST))


class Span(NamedTuple):
    """A segment: the numbers of its groups."""

    first: int
    last: int

    @property
    def name(self) -> str:
        last = "" if self.first == self.last else f"-{self.last:016d}"
        return f"{LOG}{self.first:016d}{last}"


class CopyPlace:
    """Used by threads without an event loop, where calls wait for the network. Methods raise BucketError."""

    def __init__(self, storage: ObjectStorage, bucket: str, prefix: str, shown: str) -> None:
        """shown: the place, for people."""
        self._storage = storage
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self.shown = shown

    def get(self, name: str) -> tuple[bytes, str]:
        """Returns an object and its ETag. Raises NoSuchKey."""
        return run(self._storage.get(self._bucket, self._prefix + name))

    def put(self, name: str, content: bytes, *, expected: str | None = None) -> str:
        """Returns its ETag. Raises PutRefused."""
        return run(self._storage.put(self._bucket, self._prefix + name, content, expected=expected))

    def remove(self, name: str) -> None:
        run(self._storage.remove(self._bucket, self._prefix + name))

    def names(self, prefix: str) -> list[str]:
        async def listed() -> list[str]:
            found: list[str] = []
            listing = self._storage.objects(self._bucket, self._prefix + prefix)
            while (page := await listing.page()) is not None:
                found += [each.key.removeprefix(self._prefix) for each in page]
            return sorted(found)

        return run(listed())

    def close(self) -> None:
        self._storage.close()

    # --- What is there ---

    def spans(self, *, every: bool = False) -> list[Span]:
        """Returns the segments in order; unless `every`, without those whose groups a larger one has."""
        found = []
        for name in self.names(LOG):
            if match := _SEGMENT.fullmatch(name):
                found.append(Span(int(match[1]), int(match[2] or match[1])))
        chosen: list[Span] = []
        for span in sorted(found, key=lambda each: (each.first, -each.last)):
            if every or not chosen or span.last > chosen[-1].last:
                chosen.append(span)
        return chosen

    def segment(self, span: Span) -> CopySegment:
        """Raises CopyError, NoSuchKey."""
        where = f"{self.shown}/{span.name}"
        segment = read_segment(self.get(span.name)[0], where)
        numbers = [each.number for each in segment.groups]
        if numbers != list(range(span.first, span.last + 1)):
            raise CopyDamaged(f"{where} is damaged: it has other groups than its name says.")
        return segment

    def snapshots(self) -> list[CopySnapshot]:
        """Returns the complete snapshots, oldest first. Raises CopyError."""
        names = [name for name in self.names(SNAPSHOTS) if _SNAPSHOT.fullmatch(name)]
        found = []
        for name in names:
            try:
                found.append(read_snapshot(self.get(name)[0], f"{self.shown}/{name}"))
            except NoSuchKey:  # it has expired just now
                continue
        return found


def open_place(address: str, endpoint: str = "", *, options: dict[str, Any] | None = None) -> CopyPlace:
    """Opens s3://bucket/prefix, or a directory. endpoint: of S3, if it is not Amazon's. Raises CopyError."""
    if address.startswith("s3://"):
        bucket, _, prefix = address.removeprefix("s3://").strip("/").partition("/")
        if not bucket:
            raise CopyError(f"{address} names no bucket: a copy is at s3://bucket/prefix, or in a directory.")
        from faradisc.engine.objects.s3 import AWS, S3Storage  # noqa: PLC0415 - few servers

        storage = S3Storage(endpoint or AWS, options=options, timeout_s=TIMEOUT_S)
        return CopyPlace(storage, bucket, prefix, address.rstrip("/"))
    if "://" in address:
        raise CopyError(f"{address} is no place for a copy: give s3://bucket/prefix, or a directory.")
    directory = Path(address).absolute()
    if directory.exists() and not directory.is_dir():
        raise CopyError(f"{directory} is a file; a copy is at s3://bucket/prefix, or in a directory.")
    return CopyPlace(DirectoryStorage(directory.parent, owned=True), directory.name, "", str(directory))


def unreachable(place: CopyPlace, error: BucketError) -> CopyError:
    """Returns the error of a command for one of a bucket."""
    return CopyError(f"{place.shown} cannot be used: {error}.")
