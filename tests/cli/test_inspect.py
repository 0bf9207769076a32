"""`faradisc inspect`: stored data as text, with or without a running server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fixtures.check_world import world


@pytest.fixture
def data(tmp_path: Path) -> Path:
    world(tmp_path / "data").close()
    return tmp_path / "data"


def test_overview_lists_every_part(command: Any, data: Path) -> None:
    result = command("inspect", "data")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("data, storage format ")
    assert re.search(
        r"^0000000103 +items of table music \(16 rows counted, [\d,]+ bytes\)$", result.stdout, re.M
    )
    assert re.search(r"^0000000703 +stream .* of table music \(log up to \d+\)$", result.stdout, re.M)


def test_data_of_one_item(command: Any, data: Path) -> None:
    plain = command("inspect", "data", "--table", "music", "--key", '{"artist": "artist 2", "year": 1972}')
    typed = command(
        "inspect",
        "data",
        "--table",
        "music",
        "--key",
        '{"artist": {"S": "artist 2"}, "year": {"N": "1972.0"}}',
    )
    assert plain.stdout == typed.stdout
    headings = re.findall(r"^part \w+: (.*)$", plain.stdout, re.M)
    assert [re.sub(r"stream .* of", "stream of", each) for each in headings] == [
        "items of table music",
        "table music, index by.title",
        "table music, index by.price",
        "table music, index by.genre",
        "table music, time to live",
        "table music, sizes of item collections",
        "stream of table music",
    ]
    assert plain.stdout.count('{"artist":{"S":"artist 2"},"genre":{"S":"pop"}') == 4, (
        "item, two entries, record"
    )
    assert "| " not in plain.stdout


def test_raw_prints_the_bytes(command: Any, data: Path) -> None:
    result = command(
        "inspect", "data", "--table", "music", "--key", '{"artist": "artist 2", "year": 1972}', "--raw"
    )
    assert (
        '    artist         {"S":"artist 2"}\n                   | 61727469 73742032 0000\n' in result.stdout
    )


def test_missing_item(command: Any, data: Path) -> None:
    result = command("inspect", "data", "--table", "plain", "--key", '{"id": "eHl6"}')
    assert result.returncode == 0
    assert "  no row\n    hash " in result.stdout


def test_data_of_a_table_and_of_a_part(command: Any, data: Path) -> None:
    whole = command("inspect", "data", "--table", "plain").stdout
    assert "part 0000000000: the system's catalog" in whole
    assert whole.count("items of table plain") == 4
    part = command("inspect", "data", "--part", "0000000703", "--limit", "2").stdout
    assert "  log entry 2\n" in part
    assert "  more log entries follow; --limit shows more than 2\n" in part
    rows = command("inspect", "data", "--part", "0000000103", "--limit", "2").stdout
    assert rows.count("  row, version ") == 2
    assert "  more rows follow; --limit shows more than 2\n" in rows


def test_inspect_while_a_server_runs(start_server: Any, command: Any, data: Path) -> None:
    start_server("--data-dir", "data")
    before = set(data.rglob("*"))
    assert "items of table music" in command("inspect", "data").stdout
    assert set(data.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("nowhere",), "nowhere is no data directory"),
        (("data", "--key", "{}"), "--key needs --table."),
        (("data", "--table", "none"), "The table none does not exist; the tables are: music, plain."),
        (("data", "--table", "music", "--key", "{"), "--key is not valid JSON"),
        (
            ("data", "--table", "music", "--key", '{"artist": "x"}'),
            "must have the key attributes of music: artist, year",
        ),
        (
            ("data", "--table", "music", "--key", '{"artist": "x", "year": "old"}'),
            "--key: year must have the type N",
        ),
        (("data", "--table", "music", "--key", "[]"), "must have the key attributes of music"),
        (("data", "--part", "xyz"), "'xyz' is not a part"),
    ],
)
def test_wrong_arguments(command: Any, data: Path, arguments: tuple[str, ...], text: str) -> None:
    result = command("inspect", *arguments)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert text in result.stderr
