"""The examples of docs/formats/backup.md agree with the code."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from faradisc.engine.backups.files import HEAD_BYTES, block_of, records_of
from faradisc.engine.derived.history import change_key, history_part, split_change_key
from faradisc.engine.tables.state import DAY_NS
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "backup.md").read_text()
KEY = KeySchema(("p",), (), {"p": "S"})
ITEMS = [{"p": {"S": name}} for name in "ab"]


def _example(label: str) -> bytes:
    (line,) = re.findall(rf"^    {label} +([0-9a-f ]+)$", PAGE, re.M)
    return bytes.fromhex(line)


def test_block_of_the_page_is_encoded_by_the_code() -> None:
    records = [item_record.encode(item, item_size(item)) for item in ITEMS]
    head, raw = _example("head"), _example("raw")
    block = block_of(records)
    assert block[4:12] == head[4:12]
    assert zlib.decompress(block[HEAD_BYTES:]) == raw
    body = zlib.compress(raw, 1)
    if len(body) == int.from_bytes(head[:4], "big"):  # the zlib that made the page
        assert records_of(head, body) == records


def test_change_of_the_page_is_encoded_by_the_code() -> None:
    at_ns = 1_700_000_000 * 10**9 + 1
    placement = Placement(7, 4, KEY)
    row_key = placement.row_key(ITEMS[0])
    slot = placement.part_of(row_key)[4]
    assert history_part(9, slot, at_ns // DAY_NS) == _example("part")
    key = change_key(row_key, at_ns, 7)
    assert key == _example("key")
    assert split_change_key(key) == (row_key, at_ns)
