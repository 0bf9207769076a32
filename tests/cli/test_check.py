"""`faradisc check`: exit codes, output, repairs and rejected arguments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from fixtures.check_world import world
from fixtures.doubles import QuietRequests, serving

ORPHAN = b"\x00\x00\x00\x63\x00"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    process = world(tmp_path / "data")
    process.close()
    return tmp_path / "data"


def damage(data: Path) -> None:
    """Damages a store: one orphan, one wrong counter, one missing index entry."""
    store = open_rocks(data, durability="inline")
    index = b"\x00\x00\x00\x05"
    part = next(name for name, _ in run(store.parts()) if name[:4] == index)
    ((key, _),) = run(store.range(part, None, None, limit=1))
    run(store.commit([Batch(ORPHAN, puts=[(b"k", b"v")]), Batch(part, deletes=[key])]))
    run(store.commit([Batch(b"\x00\x00\x00\x01\x00", items_delta=1)]))
    run(store.close())


def files_of(data: Path) -> dict[str, tuple[int, int]]:
    return {
        str(each): (each.stat().st_size, each.stat().st_mtime_ns)
        for each in data.rglob("*")
        if each.is_file()
    }


def test_directory_without_problems_exits_0_and_is_unchanged(command: Any, data: Path) -> None:
    before = files_of(data)
    result = command("check", "data")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("data, storage format ")
    assert re.search(r"^  table music +39 items ", result.stdout, re.MULTILINE)
    assert re.search(r"^    index by.genre +20 entries ", result.stdout, re.MULTILINE)
    assert re.search(r"no problems in \d+ rows and log entries \(", result.stdout)
    assert files_of(data) == before


def test_problems_exit_1_and_describe_the_repair(command: Any, data: Path) -> None:
    damage(data)
    before = files_of(data)
    result = command("check", FARADISC_DATA_DIR="data")
    assert (result.returncode, result.stderr) == (1, "")
    assert (
        "PROBLEM orphans: a part belongs to no table, index or stream\n      resource 99, slot 0\n"
        "      --repair removes it\n"
    ) in result.stdout
    assert "PROBLEM table music: the counters differ from the rows\n      slot 0 holds" in result.stdout
    assert "PROBLEM table music, index by.genre: an entry is missing\n      {" in result.stdout
    assert re.search(r"^3 problems in ", result.stdout, re.MULTILINE)
    assert files_of(data) == before


def test_repair_of_all_problems_exits_0(command: Any, data: Path) -> None:
    damage(data)
    result = command("check", "data", "--repair", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert (document["problems"], document["repaired"]["done"]) == (3, 3)
    assert document["repaired"]["left"]["clean"]
    assert command("check", "data").returncode == 0
    again = json.loads(command("check", "data", "--repair", "--json").stdout)
    assert again["clean"]
    assert "repaired" not in again


def test_repair_with_remaining_problems_exits_1(command: Any, data: Path) -> None:
    damage(data)
    store = open_rocks(data, durability="inline")
    part = b"\x00\x00\x00\x01\x01"
    ((key, (_, payload)),) = run(store.range(part, None, None, limit=1))
    run(store.commit([Batch(part, puts=[(key, payload[:9] + b"\x00" + payload[10:])])]))
    run(store.close())
    result = command("check", "data", "--repair")
    assert result.returncode == 1
    assert "repaired: 3 done; result of a second check:" in result.stdout
    assert "no repair: it cannot be derived from other data: restore it from a backup" in result.stdout


def test_check_while_a_server_runs_reads_only(start_server: Any, command: Any, data: Path) -> None:
    server = start_server("--data-dir", "data")
    assert command("check", "data").returncode == 0
    refused = command("check", "data", "--repair")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"is in use by process {server.process.pid};" in refused.stderr
    assert "Stop it before a repair" in refused.stderr


@pytest.mark.parametrize(
    ("prepare", "text"),
    [
        (lambda data: None, "missing is no data directory: it has no FORMAT file"),
        (
            lambda data: data.joinpath("FORMAT").write_text("faradisc storage format 999\n"),
            "has storage format 999; this release knows formats up to",
        ),
        (lambda data: data.joinpath("FORMAT").write_text("faradisc storage format 1\n"), "cannot be read"),
    ],
)
def test_invalid_directory_exits_2(command: Any, tmp_path: Path, prepare: Any, text: str) -> None:
    (tmp_path / "missing").mkdir()
    prepare(tmp_path / "missing")
    before = files_of(tmp_path)
    result = command("check", "missing")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert text in result.stderr
    assert files_of(tmp_path) == before


def test_missing_directory_is_not_created(command: Any, tmp_path: Path) -> None:
    assert command("check", "nowhere", "--repair").returncode == 2
    assert not (tmp_path / "nowhere").exists()


# --- Through a server ----------------------------------------------------------------------------


def through(command: Any, answers: list[tuple[int, Any]], *arguments: str) -> tuple[Any, list[str]]:
    """Returns the command's result with a server that gives these answers, and the requests of the
    command."""
    asked: list[str] = []

    class Requests(QuietRequests):
        def do_POST(self) -> None:
            asked.append(f"{self.command} {self.path}")
            status, document = answers.pop(0)
            self.answer(status, json.dumps(document).encode())

        do_GET = do_POST

    with serving(Requests) as port:
        return command("check", "--url", f"http://127.0.0.1:{port}", *arguments), asked


DONE = {
    "status": "done",
    "seconds": 2.0,
    "rows": 100,
    "clean": True,
    "problems": 0,
    "found": [],
    "looked_at": [{"where": "table t", "kind": "table", "rows": 1, "bytes": 20_000_000}],
    "notes": ["table u is being filled"],
}


def test_check_of_a_server_is_polled_until_done(command: Any) -> None:
    result, asked = through(command, [(202, {}), (200, {"status": "running"}), (200, DONE)])
    assert (result.returncode, result.stderr) == (0, "")
    assert asked == ["POST /_faradisc/check", "GET /_faradisc/check", "GET /_faradisc/check"]
    assert "no problems in 100 rows and log entries (2.0 s, 50 a second)" in result.stdout
    assert "20 MB" in result.stdout
    assert "note: table u is being filled" in result.stdout


def test_problems_of_a_server_exit_1(command: Any) -> None:
    group = {
        "where": "table t",
        "what": "it leaks",
        "remedy": "repairs it",
        "repairable": True,
        "count": 30,
        "details": [f"drop {number}" for number in range(30)],
    }
    found = {**DONE, "clean": False, "problems": 30, "found": [group]}
    result, _ = through(command, [(409, {}), (200, found)])
    assert result.returncode == 1
    assert "PROBLEM table t: it leaks (30 times)\n      drop 0\n" in result.stdout
    assert "      drop 9\n      and 20 more\n      --repair repairs it\n" in result.stdout


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([(404, {})], "answered 404 to POST /_faradisc/check: it is not a Faradisc server"),
        ([(202, {}), (500, {})], "answered 500 to GET /_faradisc/check"),
        ([(202, {}), (200, {"status": "failed", "reason": "the disk is gone"})], "the disk is gone"),
        ([(202, {}), (200, {"status": "none"})], "could not check its data: none"),
        ([(202, {}), (200, {})], "did not answer like a Faradisc server"),
        ([(202, {}), (200, [])], "did not answer like a Faradisc server"),
    ],
)
def test_server_without_a_report_exits_2(command: Any, answers: list[tuple[int, Any]], text: str) -> None:
    result, _ = through(command, answers)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert text in result.stderr


@pytest.mark.parametrize("arguments", [("data",), ("--repair",)])
def test_url_excludes_other_arguments(command: Any, arguments: tuple[str, ...]) -> None:
    result = command("check", "--url", "http://127.0.0.1:1", *arguments)
    assert result.returncode == 2
    assert "--url excludes DIRECTORY" in result.stderr


def test_url_overrides_the_directory_of_the_environment(command: Any) -> None:
    result = command("check", "--url", "http://127.0.0.1:1", FARADISC_DATA_DIR="data")
    assert "does not answer" in result.stderr


def test_invalid_address_and_unreachable_server(command: Any) -> None:
    assert "is not an http:// or https:// address" in command("check", "--url", "ftp://x").stderr
    assert "does not answer" in command("check", "--url", "127.0.0.1:1").stderr
    for environment, what in (
        ({"AWS_PROFILE": "missing"}, "profile (missing) could not be found"),
        ({"AWS_ACCESS_KEY_ID": "half", "AWS_SECRET_ACCESS_KEY": ""}, "missing: AWS_SECRET_ACCESS_KEY"),
    ):
        result = command("check", "--url", "127.0.0.1:1", **environment)
        assert what in result.stderr and "Traceback" not in result.stderr
