"""The data directory: format, owner, damage, a full or read-only disk."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from faradisc.storage import format as data_format
from faradisc.storage.api import Batch, Conflict, Corruption, Full, InUse, IOFailed, NewerFormat, Unwritable
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_files import translated
from faradisc.storage.testing.contract import OTHER, PART, applied, contents, put, row_of


def _open(place: Path) -> RocksStore:
    return open_rocks(place, durability="inline")


def test_a_new_directory_gets_a_format_file_and_its_parents(tmp_path: Path) -> None:
    place = tmp_path / "some" / "where"
    run(_open(place).close())
    assert (place / "FORMAT").read_bytes() == b"faradisc storage format 2\nwith sync record\n"
    assert sorted(each.name for each in place.iterdir()) == ["FORMAT", "OWNER", "SYNCED", "rocks"]


def test_every_start_has_the_cache_that_it_asks_for(tmp_path: Path) -> None:
    for megabytes in (64, 3, 200):
        store = open_rocks(tmp_path, durability="inline", cache_bytes=megabytes << 20)
        assert store.figures().gauges["storage_cache_capacity_bytes"][0] == megabytes << 20
        run(store.close())


@pytest.mark.parametrize(("allowed", "tables"), [(1024, 512), (65_536, 8192), (-1, 8192)])
def test_half_of_the_files_that_may_be_open_are_for_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: int, tables: int
) -> None:
    resource = pytest.importorskip("resource", reason="POSIX only")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (allowed, allowed))
    run(_open(tmp_path).close())
    (stored,) = (tmp_path / "rocks").glob("OPTIONS-*")
    assert f"max_open_files={tables}\n" in stored.read_text()


def test_a_newer_format_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("faradisc storage format 3\n")
    with pytest.raises(NewerFormat, match="storage format 3; this release knows formats up to 2"):
        _open(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["FORMAT"]


@pytest.mark.parametrize(
    "text",
    [b"", b"something else\n", b"faradisc storage format x\n", b"faradisc storage format 0\n", b"\xff\x00"],
)
def test_a_damaged_format_file_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "FORMAT").write_bytes(text)
    with pytest.raises(Corruption, match="FORMAT"):
        _open(tmp_path)


def test_data_without_a_format_file_is_refused(tmp_path: Path) -> None:
    run(_open(tmp_path).close())
    (tmp_path / "FORMAT").unlink()
    with pytest.raises(Corruption, match="no FORMAT file"):
        _open(tmp_path)


def test_foreign_files_in_the_directory_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    run(_open(tmp_path).close())
    assert (tmp_path / "lost+found").exists()


def test_one_process_owns_the_directory(tmp_path: Path) -> None:
    store = _open(tmp_path)
    with pytest.raises(InUse, match="in use by this process"):
        _open(tmp_path)
    script = (
        "import sys; from faradisc.storage.rocks import open_rocks; from faradisc.storage.api import InUse\n"
        "try: open_rocks(sys.argv[1], durability='inline')\n"
        "except InUse as error: print(error)"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == (
        f"The data directory {tmp_path} is in use by process {os.getpid()}; only one process can own it."
    )
    run(put(store, b"a", b"still mine"))
    run(store.close())
    run(_open(tmp_path).close())


def test_error_for_a_directory_in_use_does_not_need_the_owner_file(tmp_path: Path) -> None:
    store = _open(tmp_path)
    (tmp_path / "OWNER").unlink()
    with pytest.raises(InUse, match="in use by another process"):
        _open(tmp_path)
    run(store.close())


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(Unwritable, match="a file is in the way"):
            _open(place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can change its user")
def test_error_for_a_directory_of_another_user_names_the_owner(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as visible:
        os.chmod(visible, 0o755)
        place = Path(visible) / "data"
        run(_open(place).close())
        os.seteuid(65534)
        try:
            with pytest.raises(
                Unwritable, match=r"data belongs to user root and this process runs as user \w+"
            ):
                _open(place)
            with pytest.raises(Unwritable, match=r"data belongs to user root"):
                _open(place / "rocks" / "deeper")
            with pytest.raises(Unwritable, match="belongs to user root"):
                _open(tmp_path / "hidden")  # its parent cannot even be looked into
        finally:
            os.seteuid(0)
        os.chmod(place, 0o777)
        os.seteuid(65534)
        try:
            with pytest.raises(Unwritable, match=r"rocks belongs to user root"):
                _open(place)
        finally:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, Full, "No space left"),
        (errno.EROFS, Unwritable, "read-only file system"),
        (errno.EACCES, Unwritable, "Change the owner"),
        (errno.EIO, IOFailed, "cannot be used"),
    ],
)
def test_each_error_of_the_system_has_its_kind(
    tmp_path: Path, number: int, kind: type[Exception], words: str
) -> None:
    error = data_format.unwritable(tmp_path / "data", OSError(number, os.strerror(number)))
    assert type(error) is kind
    assert words in str(error)
    assert str(tmp_path / "data") in str(error)


def test_our_own_mistakes_are_not_called_storage_errors() -> None:
    with pytest.raises(TypeError):
        translated(TypeError("a mistake"))


def test_a_part_needs_a_name_of_the_right_length(tmp_path: Path) -> None:
    store = _open(tmp_path)
    for part in (b"", b"x" * 256):
        with pytest.raises(ValueError, match="1 to 255 bytes"):
            run(store.get(part, [b"k"]))
    run(store.close())


def test_a_damaged_block_is_an_error_and_never_a_short_page(tmp_path: Path) -> None:
    """RocksDB finds the damage by checksum; a range that just ended there would lose items silently."""
    store = _open(tmp_path)
    keys = [b"%05d" % number for number in range(2000)]
    run(applied(store, Batch(PART, puts=[(key, os.urandom(200)) for key in keys], log=[b"e"] * 2000)))
    run(store.close())
    [table] = (tmp_path / "rocks").glob("*.sst")
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 0xFF
    table.write_bytes(content)

    store = _open(tmp_path)
    snapshot = run(store.snapshot())
    for view in (store, snapshot):
        for reverse in (False, True):
            with pytest.raises(Corruption, match="damaged"):
                run(view.range(PART, None, None, limit=5000, reverse=reverse))
            with pytest.raises(Corruption, match="damaged"):
                run(view.range(PART, None, None, limit=5000, reverse=reverse, max_bytes=10**9))
        with pytest.raises(Corruption):
            for key in keys:
                run(row_of(view, key))
    assert len(run(store.range(PART, None, None, limit=100))) == 100
    run(store.close())


def test_a_damaged_manifest_is_refused(tmp_path: Path) -> None:
    run(_open(tmp_path).close())
    for manifest in (tmp_path / "rocks").glob("MANIFEST*"):
        manifest.write_bytes(b"not a manifest")
    with pytest.raises(Corruption):
        _open(tmp_path)


def test_a_write_the_system_refuses_stops_all_writing_until_reopened(tmp_path: Path) -> None:
    """A write fails in the middle: a limit on file sizes stops the log."""
    resource = pytest.importorskip("resource")
    store = _open(tmp_path)
    run(put(store, b"before", b"1"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises((IOFailed, Full)):
            run(applied(store, Batch(PART, puts=[(b"large", b"x" * 400_000)], log=[b"e"], items_delta=1)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises((IOFailed, Full), match="until it is opened again"):
        run(put(store, b"after", b"2"))
    assert run(contents(store)) == {b"before": b"1"}
    run(store.close())

    store = _open(tmp_path)
    assert run(contents(store)) == {b"before": b"1"}
    assert run(store.usage(PART)) == (0, 0)
    assert run(applied(store, Batch(PART, puts=[(b"after", b"2")], log=[b"e"]))) == [1]
    run(store.close())


def test_a_check_after_a_read_for_update_reads_nothing_again(tmp_path: Path) -> None:
    """Exact work per operation: one look-up for read, check and write."""
    store = _open(tmp_path)
    run(applied(store, Batch(PART, puts=[(b"k", b"")]), Batch(OTHER)))
    looked_up: list[bytes] = []
    find = store._find

    def counting(physical: bytes) -> bytes | None:
        looked_up.append(physical)
        found: bytes | None = find(physical)
        return found

    store._find = counting
    for expected in ([1, 0], [0, 1]):
        looked_up.clear()
        [row] = run(store.get(PART, [b"k"], for_update=True))
        assert row is not None
        assert len(looked_up) == 1
        if expected == [0, 1]:
            run(put(store, b"another", b""))  # anything in between empties the memo
        looked_up.clear()
        answer = run(store.commit([Batch(PART, checks=[(b"k", row[0])], puts=[(b"k", b"x")])]))
        assert not isinstance(answer, Conflict)
        assert len(looked_up) == expected[1]
    run(store.close())
