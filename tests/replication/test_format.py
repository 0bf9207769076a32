"""The examples of docs/formats/replication.md agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

from faradisc.engine.derived.replication import entry_of, parse_sent, stamp_of
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "replication.md"
AT_NS = 1_700_000_000 * 10**9
ITEM = {"p": {"S": "a"}}


def example(label: str) -> bytes:
    (line,) = re.findall(rf"^    {label} +([0-9a-f ]+)$", PAGE.read_text(), re.M)
    return bytes.fromhex(line)


def test_the_examples_are_what_the_code_writes() -> None:
    row_key = Placement(1, 4, KeySchema(("p",), (), {"p": "S"})).row_key(ITEM)
    record = item_record.encode(ITEM, item_size(ITEM))
    assert example("put") == entry_of(row_key, AT_NS, record)
    assert example("delete") == entry_of(row_key, AT_NS, None)
    assert example("stamp") == stamp_of(AT_NS, "us-east-1")
    assert parse_sent(example("put")) == (row_key, AT_NS, record)
    assert parse_sent(example("delete")) == (row_key, AT_NS, b"")
