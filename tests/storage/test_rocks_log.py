"""The log of a RocksDB store is read commit by commit, as the library wrote it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from rocksdict import Rdict, WriteBatch

from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_files import ROCKS_DIRECTORY, options
from faradisc.storage.rocks_log import Commit, LogGone, LogReader, replay, write_sequence

PART = b"\x00\x00\x00\x09\x00"


def read_all(reader: LogReader, upto: int, size: int = 50_000) -> list[Commit]:
    found: list[Commit] = []
    while commits := reader.read(upto, size):
        found += commits
    return found


def contents(db: Rdict) -> dict[bytes, bytes]:
    return dict(db.items())


def write_some(store: RocksStore, chance: random.Random, commits: int) -> None:
    for _ in range(commits):
        kind = chance.random()
        batch = Batch(PART)
        if kind < 0.05:
            run(store.clear(PART))
            continue
        batch.puts = [
            (b"%d" % chance.randrange(300), chance.randbytes(chance.choice([0, 20, 300, 40_000, 100_000])))
        ]
        if kind < 0.3:
            batch.deletes = [b"d%d" % chance.randrange(50)]
            batch.log = [b"entry"]
        run(store.commit([batch], durable=kind < 0.9))
        if kind > 0.97:
            run(store.trim(PART, chance.randrange(20)))
    run(store.flush())


@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_makes_the_same_store_with_the_same_numbers(tmp_path: Path, seed: int) -> None:
    """Across files of the log that RocksDB has left, starts, and records of many blocks."""
    chance = random.Random(seed)
    twin = Rdict(str(tmp_path / "twin"), options())
    reader = LogReader(tmp_path / "data" / ROCKS_DIRECTORY, 0)
    for _ in range(3):
        store = open_rocks(tmp_path / "data", durability="inline", keep_log=True)
        for _ in range(3):
            write_some(store, chance, 60)
            for commit in read_all(reader, store.synced_sequence):
                write = WriteBatch(raw_mode=True)
                replay(commit, write)
                twin.write(write)
                assert twin.latest_sequence_number() == commit.last
            if chance.random() < 0.5:
                store._db.flush()
        assert reader.after == store.synced_sequence
        assert contents(twin) == contents(store._db)
        run(store.close())
        reader.forget()
    twin.close()


def test_a_log_that_is_gone_is_no_end_of_the_log(tmp_path: Path) -> None:
    store = open_rocks(tmp_path, durability="inline")
    run(store.commit([Batch(PART, puts=[(b"a", b"1")])]))
    run(store.close())
    store = open_rocks(tmp_path, durability="inline", keep_log=True)
    run(store.commit([Batch(PART, puts=[(b"b", b"1")])]))
    reader = LogReader(tmp_path / ROCKS_DIRECTORY, 0)
    with pytest.raises(LogGone):
        reader.read(store.synced_sequence, 1000)
    (commit,) = LogReader(tmp_path / ROCKS_DIRECTORY, 1).read(store.synced_sequence, 1000)
    assert (commit.first, commit.last) == (2, 2)
    run(store.close())


def test_only_what_is_synced_is_read(tmp_path: Path) -> None:
    store = open_rocks(tmp_path, durability="inline", keep_log=True)
    reader = LogReader(tmp_path / ROCKS_DIRECTORY, 0)
    run(store.commit([Batch(PART, puts=[(b"a", b"1")])], durable=False))
    assert reader.read(store.synced_sequence, 1000) == []
    run(store.flush())
    assert len(reader.read(store.synced_sequence, 1000)) == 1
    run(store.close())


def test_a_store_continues_after_a_sequence_number(tmp_path: Path) -> None:
    files = tmp_path / "db"
    db = Rdict(str(files), options())
    db.put(b"a", b"1")
    db.close()
    write_sequence(files, 10**12)
    for number in range(3):
        db = Rdict(str(files), options())
        assert db.latest_sequence_number() == 10**12 + number
        assert db.get(b"a") == b"1"
        db.put(b"b", b"%d" % number)
        db.close()
