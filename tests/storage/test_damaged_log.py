"""A log damaged after a crash: what was acknowledged is there, or the store refuses to open."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from faradisc.cli.check import check
from faradisc.storage import format as data_format
from faradisc.storage.api import Batch, Corruption
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from faradisc.storage.rocks_reading import read_only_rocks
from faradisc.storage.sync_record import SLOTS, SYNC_RECORD_FILE, Position, SyncRecord, lost_commits

PART = b"part"
COMMITS = 300

WRITER = """
import os, sys
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
store = open_rocks(sys.argv[1], durability="inline")
for n in range(int(sys.argv[2])):
    run(store.commit([Batch(b"part", puts=[(b"%06d" % n, b"x" * 400)])], durable=n % 10 != 5))
for n in range(int(sys.argv[3])):
    run(store.commit([Batch(b"other", puts=[(b"%06d" % n, b"x" * 400)])], durable=False))
os._exit(9)
"""


def crashed(directory: Path, *, commits: int = COMMITS, unlogged_at_the_end: int = 0) -> None:
    """Leaves in `directory` the store of a process that was killed after its last commit."""
    arguments = [str(directory), str(commits), str(unlogged_at_the_end)]
    ended = subprocess.run([sys.executable, "-c", WRITER, *arguments], check=False, timeout=60)
    assert ended.returncode == 9


def the_log(directory: Path) -> Path:
    (log,) = [file for file in (directory / "rocks").glob("*.log") if file.stat().st_size]
    return log


def flip_a_bit(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)


def zero_a_page(log: Path) -> None:
    content = bytearray(log.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = bytes(4096)
    log.write_bytes(content)


def cut_half(log: Path) -> None:
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def cut_a_byte(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-1])


def acknowledged_keys(commits: int = COMMITS) -> set[bytes]:
    return {b"%06d" % number for number in range(commits) if number % 10 != 5}


def stored_keys(directory: Path) -> set[bytes]:
    store = open_rocks(directory, durability="inline")
    rows = run(store.range(PART, None, None, limit=1000))
    run(store.close())
    return {key for key, _ in rows}


DAMAGES = (flip_a_bit, zero_a_page, cut_half, cut_a_byte, Path.unlink)


@pytest.mark.parametrize("damage", DAMAGES)
def test_open_refuses_a_log_that_lost_acknowledged_commits(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    crashed(tmp_path)
    damage(the_log(tmp_path))
    before = {file.name: file.read_bytes() for file in (tmp_path / "rocks").glob("*.log")}
    for _ in range(2):
        with pytest.raises(
            Corruption, match=r"commits .* are lost, .* Nothing was changed.* check --recover"
        ):
            open_rocks(tmp_path, durability="inline")
        with pytest.raises(Corruption, match="are lost"), read_only_rocks(tmp_path):
            pass
    assert {file.name: file.read_bytes() for file in (tmp_path / "rocks").glob("*.log")} == before


def test_a_whole_log_is_recovered_after_a_crash(tmp_path: Path) -> None:
    crashed(tmp_path, unlogged_at_the_end=50)
    with read_only_rocks(tmp_path) as store:
        assert {key for key, _ in run(store.range(PART, None, None, limit=1000))} >= acknowledged_keys()
    assert stored_keys(tmp_path) >= acknowledged_keys()


def test_a_torn_tail_that_was_never_acknowledged_is_no_damage(tmp_path: Path) -> None:
    crashed(tmp_path)
    with open(the_log(tmp_path), "ab") as log:
        log.write(b"\x13\x57\x9b\xdf" * 500)
    assert stored_keys(tmp_path) >= acknowledged_keys()


def torn(record: Path) -> None:
    record.write_bytes(b"\0" * 10)


def emptied(record: Path) -> None:
    record.write_bytes(b"")


def zeroed(record: Path) -> None:
    record.write_bytes(bytes(record.stat().st_size))


@pytest.mark.parametrize("damage", [Path.unlink, torn, emptied, zeroed])
def test_missing_record_is_refused_until_it_is_accepted(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Without the record nothing would miss what is cut off the log."""
    crashed(tmp_path, commits=20)
    cut_half(the_log(tmp_path))
    damage(tmp_path / SYNC_RECORD_FILE)
    for _ in range(2):
        with pytest.raises(Corruption, match=r"SYNCED is missing or damaged.*check --recover"):
            open_rocks(tmp_path, durability="inline")
        with pytest.raises(Corruption, match="SYNCED is missing"), read_only_rocks(tmp_path):
            pass
    recovered = CliRunner().invoke(check, ["--recover", str(tmp_path)])
    assert recovered.exit_code == 0, recovered.output
    assert "nothing says whether commits are lost" in recovered.output
    run(open_rocks(tmp_path, durability="inline").close())


def test_directory_of_an_earlier_release_gets_its_record(tmp_path: Path) -> None:
    crashed(tmp_path, commits=20)
    (tmp_path / "FORMAT").write_text("faradisc storage format 2\n")
    (tmp_path / SYNC_RECORD_FILE).unlink()
    with read_only_rocks(tmp_path):
        pass
    assert stored_keys(tmp_path) >= acknowledged_keys(20)
    (tmp_path / SYNC_RECORD_FILE).unlink()
    with pytest.raises(Corruption, match="SYNCED is missing"):
        open_rocks(tmp_path, durability="inline")


def test_start_that_was_killed_before_there_were_data_is_repeated(tmp_path: Path) -> None:
    data_format.prepare(tmp_path, data=tmp_path / "rocks" / "CURRENT")
    run(open_rocks(tmp_path, durability="inline").close())
    assert stored_keys(tmp_path) == set()


def test_check_recover_accepts_the_loss_and_reports_its_range(tmp_path: Path) -> None:
    crashed(tmp_path)
    cut_half(the_log(tmp_path))
    refused = CliRunner().invoke(check, [str(tmp_path)])
    assert refused.exit_code == 2
    assert "are lost" in refused.output
    recovered = CliRunner().invoke(check, ["--recover", str(tmp_path)])
    assert recovered.exit_code == 0, recovered.output
    assert "of the acknowledged commits " in recovered.output
    assert CliRunner().invoke(check, ["--recover", str(tmp_path)]).output.count("missing") == 0
    store = open_rocks(tmp_path, durability="inline")
    rows = run(store.range(PART, None, None, limit=1000))
    assert 0 < len(rows) < COMMITS
    run(store.commit([Batch(PART, puts=[(b"again", b"x")])]))
    run(store.close())
    run(open_rocks(tmp_path, durability="inline").close())


def test_the_record_names_the_lost_commits(tmp_path: Path) -> None:
    record = SyncRecord(tmp_path)
    for number in range(1, 2 * SLOTS):
        record.write(Position(number * 3, number))
    record.close()
    newest = 2 * SLOTS - 1
    assert lost_commits(tmp_path, newest * 3) is None
    lost = lost_commits(tmp_path, newest * 3 - 7)
    assert lost is not None
    assert (lost.recovered.version, lost.acknowledged.version, lost.changes) == (newest - 3, newest, 7)
    everything = lost_commits(tmp_path, 3)
    assert everything is not None
    assert everything.recovered.version == 0
