"""docs/formats/capture.md: its examples against the code."""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from faradisc.clock import ManualClock
from faradisc.engine.derived.capture import capture_recorder
from faradisc.engine.streams.records import parse_entry
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement, key_of_row, parts_of
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size

PAGE = Path(__file__).parents[3] / "docs" / "formats" / "capture.md"
KEY = KeySchema(("p",), (), {"p": "S"})
ITEM = {"p": {"S": "a"}}


def _example(label: str) -> bytes:
    (line,) = re.findall(rf"^    {label} +([0-9a-f ]+)$", PAGE.read_text(), re.M)
    return bytes.fromhex(line)


def test_examples_of_the_format() -> None:
    clock = ManualClock(1_700_000_000.000001)
    recorder = capture_recorder(parts_of(7, 4), clock)
    placement = Placement(1, 4, KEY)
    row_key = placement.row_key(ITEM)
    stored = item_record.encode(ITEM, item_size(ITEM))
    part, entry = recorder.entry(row_key, None, stored, by_service=False)
    assert part == parts_of(7, 4)[placement.parts.index(placement.part_of(row_key))]
    assert entry == _example("insert")
    assert recorder.entry(row_key, stored, None, by_service=True)[1] == _example("expire")


def test_written_entry_is_read() -> None:
    insert, expire = parse_entry(_example("insert")), parse_entry(_example("expire"))
    assert (insert.name, insert.by_service, insert.at) == ("INSERT", False, 1_700_000_000_000_001)
    assert (expire.name, expire.by_service, key_of_row(expire.row_key, KEY)) == ("REMOVE", True, ITEM)
    assert orjson.loads(orjson.dumps(item_record.json_of(insert.new))) == ITEM
    assert (insert.old, expire.new) == (b"", b"")
    assert expire.old == insert.new
