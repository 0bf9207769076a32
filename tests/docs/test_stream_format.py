"""The examples of docs/formats/stream-records.md agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

from faradisc.clock import ManualClock
from faradisc.engine.streams.records import ChangeRecorder, shard_end
from faradisc.engine.streams.shards import sequence_number
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement, parts_of
from faradisc.model.values.schema import KeySchema

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "stream-records.md").read_text()
KEY = KeySchema(("pk",), ("sk",), {"pk": "S", "sk": "N"})
ITEM = {"pk": {"S": "a"}, "sk": {"N": "12"}, "x": {"BOOL": True}}


def _example(label: str) -> bytes:
    (line,) = re.findall(rf"^    {label} +([0-9a-f ]+)$", PAGE, re.M)
    return bytes.fromhex(line)


def test_entries_of_the_page_are_encoded_by_the_code() -> None:
    clock = ManualClock()
    stored = item_record.encode(ITEM, 8)
    row_key = Placement(7, 4, KEY).row_key(ITEM)
    recorder = ChangeRecorder(parts_of(9, 4), "NEW_AND_OLD_IMAGES", clock)
    part = bytes.fromhex("0000000903")
    assert recorder.entry(row_key, None, stored, by_service=False) == (part, _example("insert"))
    assert recorder.entry(row_key, stored, None, by_service=True) == (part, _example("expire"))
    assert shard_end(clock.now_ns()) == _example("end")


def test_sequence_number_of_the_page_is_that_of_the_code() -> None:
    (number,) = re.findall("Log sequence 5 of slot 3 is `([0-9]+)`", PAGE)
    assert sequence_number(3, 5) == number
