"""Wrong places and damaged copies: one sentence each, and nothing is overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.format import CopyError
from faradisc.engine.copying.place import CopyPlace, open_place
from faradisc.engine.copying.restoring import restore, verify
from faradisc.engine.objects.memory import MemoryStorage
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_reading import read_only_rocks

PART = b"\x00\x00\x00\x07\x00"
START_S = 1_700_000_000


class Copied:
    """A store with a copy in memory: a group for each of some seconds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ManualClock(START_S)
        self.storage = MemoryStorage()
        self.place = CopyPlace(self.storage, "b", "p", "s3://b/p")
        self.store = open_rocks(directory, durability="inline", keep_log=True)
        self.copier = self.new_copier(self.store)
        self.copier.begin()
        for number in range(6):
            self.clock.advance(1)
            run(self.store.commit([Batch(PART, puts=[(b"k%d" % number, b"v")])]))
            for _ in range(3):
                self.copier.step()

    def new_copier(self, store: RocksStore, directory: Path | None = None) -> Copier:
        return Copier(self.place, directory or self.directory, store, self.clock, SeededEntropy(2))

    @property
    def objects(self) -> dict[str, bytes]:
        return self.storage.buckets["b"]

    def close(self) -> None:
        self.copier.release()
        run(self.store.close())


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Copied]:
    made = Copied(tmp_path / "data")
    yield made
    made.close()


def rows(directory: Path) -> int:
    with read_only_rocks(directory) as store:
        return len(run(store.range(PART, None, None, limit=100)))


def test_any_second_that_is_kept_is_restored(copied: Copied, tmp_path: Path) -> None:
    assert verify(copied.place).problems == []
    for number in range(1, 7):
        made = tmp_path / str(number)
        restored = restore(copied.place, made, at_ns=(START_S + number) * 10**9)
        assert (rows(made), restored.is_end) == (number, number == 6)
    with pytest.raises(CopyError, match="does not reach back"):
        restore(copied.place, tmp_path / "early", at_ns=(START_S - 1) * 10**9)
    with pytest.raises(CopyError, match="is not empty"):
        restore(copied.place, tmp_path / "1")
    assert rows(tmp_path / "1") == 1


def test_a_restore_of_an_earlier_moment_is_no_longer_this_copy(copied: Copied, tmp_path: Path) -> None:
    restore(copied.place, tmp_path / "old", at_ns=(START_S + 3) * 10**9)
    store = open_rocks(tmp_path / "old", durability="inline", keep_log=True)
    before = dict(copied.objects)
    with pytest.raises(CopyError, match="has the copy of another data directory"):
        copied.new_copier(store, tmp_path / "old").begin()
    assert copied.objects == before
    run(store.close())


def test_a_prefix_with_other_objects_is_refused(tmp_path: Path, copied: Copied) -> None:
    copied.objects.clear()
    copied.objects["p/somebody's"] = b"x"
    with pytest.raises(CopyError, match="has other objects"):
        copied.new_copier(copied.store).begin()
    assert copied.objects == {"p/somebody's": b"x"}
    with pytest.raises(CopyError, match=r"There is no copy at s3://b/p"):
        restore(copied.place, tmp_path / "none")


def test_what_is_missing_or_damaged_is_found(copied: Copied, tmp_path: Path) -> None:
    good = dict(copied.objects)
    logs = sorted(key for key in good if "/log/" in key)
    pieces = [key for key in good if "/snapshots/" in key and not key.endswith(".json")]
    assert len(logs) == 7 and pieces
    for key in (*logs[2:6], *pieces):
        copied.objects.clear()
        copied.objects.update({name: content for name, content in good.items() if name != key})
        assert len(verify(copied.place).problems) == 1
        with pytest.raises(CopyError, match=r"lacks|is missing"):
            restore(copied.place, tmp_path / "missing")
        copied.objects.update({key: good[key][:-1] + bytes([good[key][-1] ^ 1])})
        assert verify(copied.place).problems != []
        with pytest.raises(CopyError, match="is damaged"):
            restore(copied.place, tmp_path / "damaged")
    copied.objects.update(good)
    restore(copied.place, tmp_path / "missing")  # one that failed begins again
    assert rows(tmp_path / "missing") == 6


def test_places_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for address, text in (
        ("s3://", "names no bucket"),
        ("https://somewhere", "is no place for a copy"),
        (str(tmp_path / "file"), "is a file"),
    ):
        with pytest.raises(CopyError, match=text):
            open_place(address)
