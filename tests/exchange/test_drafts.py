"""Objects in directories are complete, synced with their directories, and written in bounded pieces."""

from __future__ import annotations

import os
from hashlib import md5
from pathlib import Path

import pytest

from faradisc.engine.objects import api
from faradisc.engine.objects.api import BucketFailed, Draft
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.storage.immediate import run

PIECE = 300_000


class Disk:
    """Records what is synced: paths, and the number of new bytes of files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        self.sizes: list[int] = []
        self._known: dict[int, int] = {}
        monkeypatch.setattr(os, "fsync", self._sync)
        monkeypatch.setattr(api, "sync_content", self._sync)

    def _sync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        self.synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        self.sizes.append(found.st_size - self._known.get(found.st_ino, 0))
        self._known[found.st_ino] = found.st_size


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    (tmp_path / "bucket").mkdir()
    return tmp_path / "bucket"


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="asks the kernel which file a descriptor is of"
)
def test_created_directories_are_synced(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    run(DirectoryStorage(bucket.parent).put("bucket", "a/b/c/key", b"content"))
    draft, *directories = (str(Path(path).relative_to(bucket)) for path in disk.synced)
    assert draft.startswith(api.DRAFT_PREFIX)
    assert directories == [".", "a", "a/b", "a/b/c"]  # the directory of a name, after the name exists
    disk.synced.clear()
    run(DirectoryStorage(bucket.parent).put("bucket", "a/b/other", b"content"))
    assert disk.synced[1:] == [str(bucket / "a/b")]


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="asks the kernel which file a descriptor is of"
)
def test_large_draft_is_synced_and_hashed_while_it_is_written(
    bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    stored = DirectoryStorage(bucket.parent)
    draft = stored.draft("bucket", "name")
    content = os.urandom(PIECE)
    for _ in range(40):
        draft.write(content)
    before = len(disk.sizes)
    assert before == 40 // -(-api.SYNC_BYTES // PIECE)
    assert max(disk.sizes) < api.SYNC_BYTES + PIECE
    etag = run(stored.store("bucket", "key", draft))
    assert disk.sizes[before] < api.SYNC_BYTES
    assert etag == draft.etag == md5(content * 40).hexdigest()
    assert (bucket / "key").read_bytes() == content * 40
    assert os.listdir(bucket) == ["key"]


def test_discarded_draft_is_deleted(bucket: Path) -> None:
    stored = DirectoryStorage(bucket.parent)
    draft = stored.draft("bucket", "name")
    draft.write(b"x")
    stored.discard(draft)
    assert not os.listdir(bucket)


def test_key_below_another_object_cannot_be_stored(bucket: Path) -> None:
    stored = DirectoryStorage(bucket.parent)
    run(stored.put("bucket", "a", b"x"))
    with pytest.raises(BucketFailed):
        run(stored.put("bucket", "a/b", b"x"))
    assert os.listdir(bucket) == ["a"]


def test_draft_that_is_not_durable_is_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    with (tmp_path / "file").open("wb") as file:
        draft = Draft(file, durable=False)
        draft.write(bytes(2 * api.SYNC_BYTES))
        draft.finish()
    assert not disk.synced
