"""Files of backups are compared with their checksums; damaged and missing ones are reported."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from faradisc.engine.backups.storage import BACKUPS_DIRECTORY, directory_backups
from faradisc.engine.check import Check, Report
from faradisc.model.codec.keyspace import BACKUPS_PART
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from fixtures.check_world import world
from fixtures.in_process import InProcess


@pytest.fixture
def process(tmp_path: Path) -> Iterator[InProcess]:
    made = world(tmp_path)
    yield made
    made.close()


def look(process: InProcess, directory: Path) -> Report:
    storage = directory_backups(directory / BACKUPS_DIRECTORY, blocking=False)
    return run(Check(process.store, process.clock, storage).finish())


def files(directory: Path) -> Path:
    (backup,) = (directory / BACKUPS_DIRECTORY).iterdir()
    return backup


def test_intact_files_are_counted(process: InProcess, tmp_path: Path) -> None:
    report = look(process, tmp_path)
    assert report.sentences() == []
    (tally,) = [each for each in report.tallies if each.kind == "backups"]
    assert (tally.rows, tally.bytes) == (1, (files(tmp_path) / "rows").stat().st_size)


@pytest.mark.parametrize("name", ["rows", "manifest.json"])
def test_flipped_byte_and_missing_file_are_reported(process: InProcess, tmp_path: Path, name: str) -> None:
    file = files(tmp_path) / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    (sentence,) = look(process, tmp_path).sentences()
    assert sentence.startswith("backups: the files of a backup are damaged: first of table music (")
    file.unlink()
    assert len(look(process, tmp_path).sentences()) == 1


def test_missing_files_are_reported(process: InProcess, tmp_path: Path) -> None:
    shutil.rmtree(files(tmp_path))
    report = look(process, tmp_path)
    assert len(report.sentences()) == 1
    assert not report.repairs


def test_unreadable_row_is_reported(process: InProcess, tmp_path: Path) -> None:
    run(process.store.commit([Batch(BACKUPS_PART, puts=[(b"00-x", b"{}")])]))
    assert look(process, tmp_path).sentences() == ["backups: the row of a backup cannot be read: 00-x"]
