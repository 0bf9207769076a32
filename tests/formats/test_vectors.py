"""The code of today writes the bytes that each format's first release wrote, and reads them back.

A difference here is a new format: it takes the next number in storage/format.py, a step in storage/upgrade.py
and a folder of its own; the vectors of the old one stay as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from faradisc.engine.derived.history import split_change_key
from faradisc.engine.streams.records import parse_entry
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import key_of_row
from faradisc.model.codec.sortkey import decode_component
from faradisc.storage.format import FORMAT_VERSION

HERE = Path(__file__).parent
sys.path.append(str(HERE))

import vectors  # noqa: E402 - beside this file


def stored(version: int) -> dict[str, bytes]:
    text = (HERE / f"format-{version}" / "vectors.json").read_text()
    return {name: bytes.fromhex(digits) for name, digits in json.loads(text).items()}


@pytest.mark.parametrize("version", vectors.BY_FORMAT)
def test_the_bytes_are_those_of_the_format(version: int) -> None:
    assert dict(vectors.BY_FORMAT[version]()) == stored(version)


def test_every_format_has_its_vectors() -> None:
    assert sorted(vectors.BY_FORMAT) == list(range(1, FORMAT_VERSION + 1))


def test_components_are_read_back() -> None:
    seen = 0
    for name, data in stored(1).items():
        kind, _, text = name.partition(" ")
        if kind == "component":
            value = json.loads(text)
            assert decode_component(data, 0, next(iter(value))) == (value, len(data))
            seen += 1
    assert seen == len(vectors.COMPONENTS)


def test_components_sort_as_their_values_do() -> None:
    """The lists of vectors.py are in order, per type."""
    data = stored(1)
    for kind in ("S", "N", "B"):
        encoded = [data[f"component {json.dumps(each)}"] for each in vectors.COMPONENTS if kind in each]
        assert encoded == sorted(encoded)


def test_rows_are_read_back() -> None:
    data = stored(1)
    assert item_record.decode(data["record"]) == vectors.ITEM
    assert key_of_row(data["row key in the table"], vectors.KEY) == {"pk": {"S": "a"}, "sk": {"N": "12"}}
    row_key, at_ns = split_change_key(stored(2)["history key"])
    assert (row_key, at_ns) == (data["row key in the table"], 1_700_000_000_123_456_789)


def test_log_entries_are_read_back() -> None:
    data = stored(1)
    entry = parse_entry(data["stream entry NEW_AND_OLD_IMAGES"][5:])
    assert (entry.name, entry.by_service, entry.at) == ("MODIFY", False, 1_700_000_000_123)
    assert entry.row_key == data["row key in the table"]
    assert item_record.decode(entry.new) == {"pk": {"S": "a"}}
    assert item_record.decode(entry.old) == {"pk": {"S": "b"}}
    assert parse_entry(data["stream entry REMOVE by the service"]).by_service
    assert parse_entry(data["end of a shard"]).is_shard_end
    captured = parse_entry(data["captured entry"][5:])
    assert (captured.name, captured.at) == ("MODIFY", 1_700_000_000_123_456)
