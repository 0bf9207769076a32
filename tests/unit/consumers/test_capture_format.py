"""docs/formats/capture.md: its examples against the code."""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from faradisc.clock import ManualClock
from faradisc.engine.streams.capture import Capture, read_entry
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size

PAGE = Path(__file__).parents[3] / "docs" / "formats" / "capture.md"
KEY = KeySchema(("p",), (), {"p": "S"})
ITEM = {"p": {"S": "a"}}


def _example(label: str) -> bytes:
    (line,) = re.findall(rf"^    {label} +([0-9a-f ]+)$", PAGE.read_text(), re.M)
    return bytes.fromhex(line)


def test_the_examples() -> None:
    clock = ManualClock(1_700_000_000.000001)
    capture = Capture(7, 4, clock)
    placement = Placement(1, 4, KEY)
    row_key = placement.row_key(ITEM)
    stored = item_record.encode(ITEM, item_size(ITEM))
    part, entry = capture.entry(row_key, None, stored, by_service=False)
    assert part == capture.parts[placement.parts.index(placement.part_of(row_key))]
    assert entry == _example("insert")
    assert capture.entry(row_key, stored, None, by_service=True)[1] == _example("expire")


def test_an_entry_is_read_back() -> None:
    insert, expire = read_entry(_example("insert"), KEY), read_entry(_example("expire"), KEY)
    assert (insert.name, insert.by_service, insert.at_us) == ("INSERT", False, 1_700_000_000_000_001)
    assert (expire.name, expire.by_service, expire.key) == ("REMOVE", True, ITEM)
    assert insert.new is not None
    assert orjson.loads(orjson.dumps(item_record.json_of(insert.new))) == ITEM
    assert (insert.old, expire.new) == (None, None)
    assert expire.old == insert.new
