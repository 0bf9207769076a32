"""Manifests are read in bounded pieces, and used only if their checksum is correct."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from faradisc.engine.formats import manifests
from faradisc.engine.formats.compression import InputDamaged
from faradisc.engine.formats.manifests import CheckedFile, DataFile, Manifests, checksum
from faradisc.engine.objects.api import Object
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.storage.immediate import run
from fixtures.exchanging import Exchanging, lines, listed, some_items, zipped


class Bucket:
    def __init__(self, root: Path) -> None:
        self.root = root / "bucket"
        self.root.mkdir()
        self.buckets = DirectoryStorage(root)

    def write(self, key: str, content: bytes) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def manifest(self, directory: str, files: dict[str, bytes], more: bytes = b"") -> None:
        """Writes a manifest of files with contents, and the files that are not empty."""
        content = b"".join(DataFile(key, 1, checksum(each), "").line() for key, each in files.items()) + more
        self.write(f"{directory}/manifest-files.json", content)
        self.write(f"{directory}/manifest-files.md5", checksum(content).encode())
        for key, each in files.items():
            if each:
                self.write(key, each)

    def opened(self, prefix: str = "") -> Manifests:
        found = run(listed(self.buckets, "bucket", prefix))
        return Manifests(self.buckets, "bucket", found)


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


def read_all(read: Manifests) -> int:
    """Reads all manifests and returns the number of pieces."""
    pieces = 0
    try:
        while run(read.read_on()):
            pieces += 1
    finally:
        read.close()
    return pieces


def is_known(read: Manifests, key: str) -> bool:
    """Returns whether an object is checked against a manifest."""
    file = run(read.fetch(key))
    file.close()
    return isinstance(file, CheckedFile)


def test_large_manifest_is_read_in_pieces(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 5 * manifests.LINES_AT_ONCE
    named = {f"AWSDynamoDB/1/data/{number}.gz": b"" for number in range(count)}
    bucket.manifest("AWSDynamoDB/1", {**named, "AWSDynamoDB/1/data/here.gz": b"content"})
    parsed = 0
    parse = manifests.data_file_of

    def counted(line: bytes, key: str) -> DataFile:
        nonlocal parsed
        parsed += 1
        return parse(line, key)

    monkeypatch.setattr(manifests, "data_file_of", counted)
    read = bucket.opened()
    lines_of_steps = []
    while run(read.read_on()):
        lines_of_steps.append(parsed)
        parsed = 0
    assert sum(lines_of_steps) == count + 1 and max(lines_of_steps) <= manifests.LINES_AT_ONCE
    assert lines_of_steps[:2] == [0, 0]  # the first two steps open the manifest and compare its checksum
    assert set(read.checksums) == {each.key for each in run(listed(bucket.buckets, "bucket", ""))}
    assert is_known(read, "AWSDynamoDB/1/data/here.gz")


def test_many_manifests_are_read_one_after_another(bucket: Bucket) -> None:
    for number in range(20):
        bucket.manifest(f"e{number}", {f"e{number}/data/a.gz": b"content"})
    read = bucket.opened()
    data = read.data_only()
    assert [each.key for each in data] == sorted(f"e{number}/data/a.gz" for number in range(20))
    assert read_all(read) >= 20 * 3
    assert all(is_known(read, each.key) for each in data)


def test_manifest_of_the_export_is_read_on_request(bucket: Bucket) -> None:
    bucket.manifest("moved", {"before/data/a.gz": b"", "before/data/b.gz": b""})
    bucket.write("moved/data/a.gz", b"content")
    read = bucket.opened("moved/data/")
    assert not read_all(read)
    assert read.want("moved/data/a.gz") and not read.want("moved/data/a.gz")
    assert read_all(read)
    file = run(read.fetch("moved/data/a.gz"))
    assert file.read() == b"content"
    with pytest.raises(InputDamaged):  # the manifest has the checksum of an empty file
        file.read()
    file.close()
    bucket.write("other/data/a.gz", b"content")
    alone = bucket.opened("other/data/")
    assert alone.want("other/data/a.gz")
    read_all(alone)
    assert not is_known(alone, "other/data/a.gz")


LONG = orjson.dumps({"dataFileS3Key": "a", "itemCount": 1, "md5Checksum": "a", "etag": "a" * 1_000_000})


@pytest.mark.parametrize("more", [b"\n\n", b"x\n", b"[]\n", b'{"dataFileS3Key":"a"}\n', LONG])
def test_invalid_manifest_lines(bucket: Bucket, more: bytes) -> None:
    bucket.manifest("e", {"e/data/a.gz": b"content"}, more)
    with pytest.raises(InputDamaged, match="names no data file"):
        read_all(bucket.opened())


def test_altered_manifest_is_damaged(bucket: Bucket) -> None:
    bucket.manifest("e", {"e/data/a.gz": b"content"})
    path = bucket.root / "e/manifest-files.json"
    path.write_bytes(path.read_bytes().replace(b'itemCount":1', b'itemCount":2'))
    read = bucket.opened()
    with pytest.raises(InputDamaged, match="its MD5 is not the one beside it"):
        read_all(read)
    assert not any(read.checksums.values())


def test_an_import_of_many_small_objects_with_a_manifest(exchanging: Exchanging) -> None:
    items = some_items(60)
    bucket = Bucket.__new__(Bucket)
    bucket.root = exchanging.root / "bucket"
    bucket.manifest("e", {f"e/data/{n}.gz": zipped(lines(items[n : n + 3])) for n in range(0, 60, 3)})
    described = exchanging.import_all("e/", InputCompressionType="GZIP")
    assert (described["ImportStatus"], described["ImportedItemCount"]) == ("COMPLETED", 60)
    assert described["ProcessedSizeBytes"] == len(lines(items))


def test_objects_without_a_manifest_are_data(bucket: Bucket) -> None:
    bucket.write("a/manifest-summary.json", b"x")
    found = [Object("a/manifest-summary.json", 1)]
    assert bucket.opened().data_only() == found
