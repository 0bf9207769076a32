"""The objects of a prefix are listed in pages.

What it proves: a step reads a bounded number of names, whatever they are, and every object is listed once. A
step with a million names would delay all requests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faradisc.engine.objects import directory
from faradisc.engine.objects.api import (
    DRAFT_PREFIX,
    BucketDenied,
    NoSuchBucket,
    Object,
)
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.storage.immediate import run
from fixtures.exchanging import BUCKET, Exchanging, lines, listed, some_items

NAMES = 7


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "LISTED_NAMES", NAMES)


def test_directory_is_listed_in_pages(tmp_path: Path) -> None:
    keys = [f"in/{n % 5}/deep/{n}" for n in range(40)] + ["in/a"]
    for key in [*keys, "other/x", "in/0/" + DRAFT_PREFIX + "x", *(f"in/none/{n}" for n in range(30))]:
        path = tmp_path / BUCKET / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"xy")
    os.symlink(tmp_path / BUCKET / "other", tmp_path / BUCKET / "in/link")
    buckets = DirectoryStorage(tmp_path)
    assert run(listed(buckets, BUCKET, "in/")) == sorted(
        (Object(key, 2) for key in [*keys, *(f"in/none/{n}" for n in range(30))]), key=lambda each: each.key
    )
    assert [each.key for each in run(listed(buckets, BUCKET, "in/a"))] == ["in/a"]
    assert run(listed(buckets, BUCKET, "nothing/here")) == []
    with pytest.raises(NoSuchBucket):
        run(listed(buckets, "nowhere", ""))


@pytest.mark.parametrize(("prefix", "matching"), [("", 100), ("5", 11), ("x", 0)])
def test_page_counts_all_names_of_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, matching: int
) -> None:
    (tmp_path / BUCKET).mkdir()
    for n in range(100):
        (tmp_path / BUCKET / str(n)).touch()
    listing = DirectoryStorage(tmp_path).objects(BUCKET, prefix)
    pages = []
    while (page := run(listing.page())) is not None:
        pages.append(len(page))
    assert len(pages) == -(-100 // NAMES)
    assert (sum(pages), max(pages) <= NAMES) == (matching, True)


def test_import_of_many_objects_lists_in_several_steps(exchanging: Exchanging) -> None:
    items = some_items(60)
    for number, each in enumerate(items):
        exchanging.object(f"in/{number}", lines([each]))
    arn = exchanging.begin_import("in/")
    for _ in range(len(items) // NAMES):
        assert exchanging.step()
        assert exchanging.import_of(arn)["ProcessedItemCount"] == 0
    exchanging.finish()
    shown = exchanging.import_of(arn)
    assert (shown["ImportStatus"], shown["ImportedItemCount"]) == ("COMPLETED", 60)
    assert sorted(exchanging.items(), key=lambda each: each["p"]["S"]) == items


def test_failed_listing_is_repeated(exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch) -> None:
    """An incomplete listing must not count as a complete one."""
    items = some_items(40)
    for number, each in enumerate(items):
        exchanging.object(f"in/{number}", lines([each]))
    before, errors = directory.Object, iter([None] * 20 + [RuntimeError("a bug")])

    def broken(*args: object) -> Object:
        error = next(errors, None)
        if error is not None:
            raise error
        return before(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(directory, "Object", broken)
    assert exchanging.import_all("in/")["ImportedItemCount"] == 40
    assert next(errors, "all raised") == "all raised"


def test_symbolic_links_that_lead_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "in").mkdir(parents=True)
    (outside / "in" / "secret").write_bytes(b"xy")
    root = tmp_path / "root"
    (root / BUCKET).mkdir(parents=True)
    (root / "linked").symlink_to(outside)
    (root / BUCKET / "in").symlink_to(outside / "in")
    (root / BUCKET / "file").symlink_to(outside / "in" / "secret")
    buckets = DirectoryStorage(root)
    with pytest.raises(NoSuchBucket):
        run(listed(buckets, "linked", ""))
    assert run(listed(buckets, BUCKET, "")) == []
    with pytest.raises(BucketDenied):
        run(listed(buckets, BUCKET, "in/"))
    for key in ("in/secret", "file"):
        with pytest.raises(BucketDenied):
            run(buckets.fetch(BUCKET, key))
        with pytest.raises(BucketDenied):
            run(buckets.put(BUCKET, key, b"overwritten"))
        with pytest.raises(BucketDenied):
            run(buckets.remove(BUCKET, key))
    assert (outside / "in" / "secret").read_bytes() == b"xy"
