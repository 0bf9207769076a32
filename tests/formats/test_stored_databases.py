"""A database that an older release stored is opened, whole, by this one; how a directory climbs the ladder.

What it proves: nothing that format N wrote is lost or misread. The archives were made by the release that
wrote the format first (make_database.py), a log that only a killed process leaves included.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rocksdict import Rdict

from faradisc.clock import ManualClock
from faradisc.engine.check import Check
from faradisc.storage import format as data_format
from faradisc.storage import rocks_files, upgrade
from faradisc.storage.api import Batch, IOFailed
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from faradisc.storage.rocks_reading import read_only_rocks
from faradisc.storage.testing.contract import contents
from fixtures.in_process import InProcess

HERE = Path(__file__).parent
FORMATS = sorted(
    int(each.parent.name.removeprefix("format-")) for each in HERE.glob("format-*/database.tar.xz")
)


def unpacked(version: int, place: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of the stored database, and what is in it."""
    home = HERE / f"format-{version}"
    with tarfile.open(home / "database.tar.xz") as archive:
        # Debian 12's Python 3.11.2 has no filters yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(place)
    return place, json.loads((home / "contents.json").read_text())


@pytest.fixture(params=FORMATS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    return unpacked(request.param, tmp_path)


@pytest.fixture
def opened(stored: tuple[Path, dict[str, Any]]) -> Iterator[InProcess]:
    process = InProcess(stored[0], clock=ManualClock(stored[1]["now_s"]))
    yield process
    process.close()


def test_the_archives_are_small() -> None:
    for each in HERE.glob("format-*/*"):
        assert each.stat().st_size < 200_000


def test_every_item_is_there(opened: InProcess, stored: tuple[Path, dict[str, Any]]) -> None:
    for name, items in stored[1]["tables"].items():
        found = opened.call("Scan", TableName=name)["Items"]
        assert sorted(json.dumps(item, sort_keys=True) for item in found) == items
    opened.check()


def test_it_is_upgraded_once_and_stays_so(stored: tuple[Path, dict[str, Any]]) -> None:
    for _ in range(2):
        run(open_rocks(stored[0], durability="inline").close())
        assert data_format.found(stored[0]) == data_format.FORMAT_VERSION


def test_it_is_checked_and_read_without_being_upgraded(stored: tuple[Path, dict[str, Any]]) -> None:
    before = data_format.found(stored[0])
    with read_only_rocks(stored[0]) as store:
        report = run(Check(store, ManualClock(stored[1]["now_s"])).finish())
    assert report.sentences() == []
    assert report.rows > 800
    assert data_format.found(stored[0]) == before


def test_what_was_half_done_is_finished(opened: InProcess) -> None:
    """The index that was being filled, and the writes of all kinds go on."""
    while run(opened.database.work()):
        pass
    (index,) = opened.call("DescribeTable", TableName="later")["Table"]["GlobalSecondaryIndexes"]
    assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", 250)
    opened.call("PutItem", TableName="music", Item={"artist": {"S": "new"}, "year": {"N": "1"}})
    opened.call("DeleteItem", TableName="later", Key={"id": {"S": "later 1"}})
    opened.check()


def test_its_stream_is_read(opened: InProcess) -> None:
    streams = opened.local.client("dynamodbstreams")
    arn = opened.call("DescribeTable", TableName="music")["Table"]["LatestStreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    assert len(shards) == 8
    records = []
    for shard in shards:
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        records += streams.get_records(ShardIterator=iterator)["Records"]
    names = [record["eventName"] for record in records]
    assert (names.count("INSERT"), names.count("MODIFY"), names.count("REMOVE")) == (41, 8, 1)


def test_its_items_expire(opened: InProcess) -> None:
    assert isinstance(opened.clock, ManualClock)
    opened.clock.advance(100_000)
    while run(opened.database.work()):
        pass
    left = opened.call("Scan", TableName="music")["Items"]
    assert left
    assert not any("until" in item for item in left)
    opened.check()


# --- The ladder ----------------------------------------------------------------------------------


def a_store(place: Path) -> None:
    store = open_rocks(place, durability="inline")
    run(store.commit([Batch(b"p", puts=[(b"k", b"old"), (b"l", b"old")])]))
    run(store.close())


def rewrite(db: Rdict) -> None:
    """A step that changes every payload; done twice it changes nothing more."""
    for key, value in list(db.items()):
        if value.endswith(b"old"):
            db[key] = value[:-3] + b"new"


def test_steps_run_in_order_and_only_those_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    steps = {version: lambda db, version=version: ran.append(version) for version in range(2, 6)}
    a_store(tmp_path)
    data_format.write(tmp_path, 3)
    monkeypatch.setattr(data_format, "FORMAT_VERSION", 5)
    monkeypatch.setattr(rocks_files, "upgrade", lambda *each: upgrade.upgrade(*each, steps=steps))
    run(open_rocks(tmp_path, durability="inline").close())
    assert ran == [4, 5]
    assert data_format.found(tmp_path) == 5


def test_a_step_rewrites_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_store(tmp_path)
    data_format.write(tmp_path, 1)
    steps = {2: rewrite}
    monkeypatch.setattr(rocks_files, "upgrade", lambda *each: upgrade.upgrade(*each, steps=steps))
    store = open_rocks(tmp_path, durability="inline")
    assert run(contents(store, b"p")) == {b"k": b"new", b"l": b"new"}
    run(store.close())


def test_an_upgrade_that_is_cut_short_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_store(tmp_path)
    data_format.write(tmp_path, 1)

    def half(db: Rdict) -> None:
        key, value = next(iter(db.items()))
        db[key] = value[:-3] + b"new"
        raise Exception("IO error: the disk has gone")

    monkeypatch.setattr(rocks_files, "upgrade", lambda *each: upgrade.upgrade(*each, steps={2: half}))
    with pytest.raises(IOFailed, match="the disk has gone"):
        open_rocks(tmp_path, durability="inline")
    assert data_format.found(tmp_path) == 1
    monkeypatch.setattr(rocks_files, "upgrade", lambda *each: upgrade.upgrade(*each, steps={2: rewrite}))
    store = open_rocks(tmp_path, durability="inline")
    assert run(contents(store, b"p")) == {b"k": b"new", b"l": b"new"}
    run(store.close())
    assert data_format.found(tmp_path) == 2


def test_every_rung_has_its_step_and_every_earlier_format_its_stored_database() -> None:
    assert sorted(upgrade.STEPS) == list(range(2, data_format.FORMAT_VERSION + 1))
    assert set(range(1, data_format.FORMAT_VERSION)) <= set(FORMATS)


def test_a_format_that_is_not_read_any_more_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_store(tmp_path)
    monkeypatch.setattr("faradisc.storage.rocks_reading.READABLE_FROM", 3)
    with pytest.raises(Exception, match="open it once with `faradisc serve`"), read_only_rocks(tmp_path):
        pass
