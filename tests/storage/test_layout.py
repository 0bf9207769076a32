"""docs/formats/storage.md shows the bytes that the engine writes."""

from __future__ import annotations

import re
from pathlib import Path

from faradisc.storage.api import Batch
from faradisc.storage.format import FORMAT_VERSION
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore
from faradisc.storage.rocks_files import open_files
from faradisc.storage.testing.contract import applied

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "storage.md"


def _example() -> list[tuple[bytes, bytes]]:
    [block] = re.findall(r"<!-- example: key value -->\n```\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [(bytes.fromhex(key), bytes.fromhex(value)) for key, value in map(str.split, block.splitlines())]


def test_the_example_of_the_page_is_what_the_engine_writes(tmp_path: Path) -> None:
    db = open_files(tmp_path)
    store = RocksStore(db, "inline")
    part = b"\x01p"
    run(applied(store, Batch(part, puts=[(b"k", b"v")], log=[b"a1", b"a2"], items_delta=1, bytes_delta=9)))
    run(applied(store, Batch(part, puts=[(b"", b"")], bytes_delta=-10)))
    assert list(db.items()) == _example()
    run(store.close())


def test_the_page_and_its_ladder_name_the_current_format() -> None:
    text = PAGE.read_text()
    assert f"Storage format **{FORMAT_VERSION}**" in text
    assert re.findall(r"^\| (\d+) \|", text, re.MULTILINE) == [
        str(version) for version in range(1, FORMAT_VERSION + 1)
    ]
