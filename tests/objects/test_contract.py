"""Every storage of objects keeps the contract of engine/objects/api.py: in directories, in memory, at an S3
endpoint that is not ours (moto's server)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faradisc.engine.objects.api import ABSENT, DRAFT_PREFIX, NoSuchKey, Object, ObjectStorage, PutRefused
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.engine.objects.memory import MemoryStorage
from faradisc.engine.objects.s3 import S3Storage
from faradisc.storage.immediate import run
from fixtures.exchanging import listed
from fixtures.s3 import MotoS3

BUCKET = "bucket"


@pytest.fixture(params=["directory", "owned directory", "memory", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStorage]:
    opened: ObjectStorage
    if request.param == "s3":
        moto: MotoS3 = request.getfixturevalue("moto_s3")
        opened = S3Storage(moto.url, options=moto.options)
    elif request.param == "memory":
        opened = MemoryStorage()
    else:
        opened = DirectoryStorage(tmp_path, owned=request.param != "directory")
        if request.param == "directory":
            (tmp_path / BUCKET).mkdir()
    yield opened
    opened.close()


def keys(storage: ObjectStorage, prefix: str = "") -> list[str]:
    return sorted(each.key for each in run(listed(storage, BUCKET, prefix)))


def test_objects_are_stored_listed_read_and_removed(storage: ObjectStorage) -> None:
    tag = run(storage.put(BUCKET, "a/small", b"x"))
    draft = storage.draft(BUCKET, "name")
    for _ in range(3):
        draft.write(b"0123456789" * 1000)
    assert keys(storage) == ["a/small"], "a draft is no object"
    run(storage.store(BUCKET, "a/b/large", draft))
    run(storage.put(BUCKET, "other", b""))
    assert sorted(run(listed(storage, BUCKET, "a/")), key=str) == [
        Object("a/b/large", 30_000),
        Object("a/small", 1),
    ]
    assert run(storage.get(BUCKET, "a/small")) == (b"x", tag)
    assert run(storage.size(BUCKET, "a/b/large")) == 30_000
    with run(storage.fetch(BUCKET, "a/b/large")) as file:
        assert file.read() == b"0123456789" * 3000
    assert run(storage.put(BUCKET, "a/small", b"y")) != tag
    assert run(storage.get(BUCKET, "a/small"))[0] == b"y"
    run(storage.remove(BUCKET, "a/b/large"))
    run(storage.remove(BUCKET, "a/b/large"))
    assert keys(storage) == ["a/small", "other"]


def test_ranges(storage: ObjectStorage) -> None:
    run(storage.put(BUCKET, "digits", b"0123456789"))
    found = [
        run(storage.read(BUCKET, "digits", at, size))
        for at, size in ((0, 4), (8, 1), (8, 50), (10, 1), (90, 9))
    ]
    assert found == [b"0123", b"8", b"89", b"", b""]


def test_what_is_missing_is_said(storage: ObjectStorage) -> None:
    for reading in (
        storage.fetch(BUCKET, "no/thing"),
        storage.get(BUCKET, "no/thing"),
        storage.read(BUCKET, "no/thing", 0, 1),
        storage.size(BUCKET, "no/thing"),
    ):
        with pytest.raises(NoSuchKey):
            run(reading)  # type: ignore[arg-type]
    assert keys(storage, "no/") == []


def test_a_put_with_a_condition_replaces_only_what_it_names(storage: ObjectStorage) -> None:
    first = run(storage.put(BUCKET, "in/lease", b"first", expected=ABSENT))
    with pytest.raises(PutRefused):
        run(storage.put(BUCKET, "in/lease", b"again", expected=ABSENT))
    second = run(storage.put(BUCKET, "in/lease", b"second", expected=first))
    with pytest.raises(PutRefused):
        run(storage.put(BUCKET, "in/lease", b"late", expected=first))
    assert run(storage.get(BUCKET, "in/lease")) == (b"second", second)
    run(storage.remove(BUCKET, "in/lease"))
    with pytest.raises(PutRefused):
        run(storage.put(BUCKET, "in/lease", b"gone", expected=second))
    assert keys(storage) == []
    run(storage.put(BUCKET, "in/lease", b"new", expected=ABSENT))


def test_of_many_puts_with_one_condition_one_succeeds(storage: ObjectStorage) -> None:
    """What a lease needs: the others learn that they have lost."""

    def attempt(content: bytes, expected: str) -> bool:
        try:
            run(storage.put(BUCKET, "lease", content, expected=expected))
        except PutRefused:
            return False
        return True

    expected = ABSENT
    for turn in range(3):
        contents = [b"%d of turn %d" % (number, turn) for number in range(6)]
        with ThreadPoolExecutor(6) as threads:
            won = [*threads.map(attempt, contents, [expected] * 6)]
        assert won.count(True) == 1
        content, expected = run(storage.get(BUCKET, "lease"))
        assert content == contents[won.index(True)]
    assert keys(storage) == ["lease"]


def test_drafts_of_a_crash_are_no_objects_and_can_be_removed(tmp_path: Path) -> None:
    storage = DirectoryStorage(tmp_path, owned=True)
    run(storage.put(BUCKET, "a/object", b"x"))
    storage.draft(BUCKET, "cut").file.close()
    assert keys(storage) == ["a/object"]
    storage.remove_drafts(BUCKET)
    assert [each.name for each in (tmp_path / BUCKET).iterdir() if each.name.startswith(DRAFT_PREFIX)] == []
    assert keys(storage) == ["a/object"]


def test_bytes_survive_by_the_syncs_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a condition, the content is synced before the name exists, and the name after."""
    events: list[str] = []
    fsync, link = os.fsync, os.link
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("sync"), fsync(fd))[1])
    monkeypatch.setattr(os, "link", lambda *names: (events.append("name"), link(*names))[1])
    (tmp_path / BUCKET).mkdir()
    run(DirectoryStorage(tmp_path).put(BUCKET, "key", b"content", expected=ABSENT))
    assert events == ["sync", "name", "sync"]
