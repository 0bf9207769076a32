"""The examples of the pages in docs/formats agree with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from faradisc.engine.vectors.schema import VectorSchema
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.codec.sortkey import encode_component
from faradisc.model.values.schema import IndexProjection, KeySchema
from faradisc.model.values.size import item_size

PAGES = Path(__file__).parents[2] / "docs" / "formats"

TABLE_KEY = KeySchema(("pk",), ("sk",), {"pk": "S", "sk": "N"})
ITEM = {
    "pk": {"S": "a"},
    "sk": {"N": "12"},
    "g1": {"S": "x"},
    "g2": {"N": "1"},
    "r": {"S": "q"},
    "x": {"BOOL": True},
}


def _components() -> list[tuple[str, str, bytes]]:
    rows = re.findall(
        r"^\| ([SNB]) \| `(\".*\")` \| `([0-9a-f ]+)` \|$", (PAGES / "keys.md").read_text(), re.M
    )
    return [(kind, json.loads(value), bytes.fromhex(encoded)) for kind, value, encoded in rows]


def _examples(page: str, label: str) -> list[bytes]:
    lines = re.findall(rf"^    {label} +([0-9a-f ]+)$", (PAGES / page).read_text(), re.M)
    return [bytes.fromhex(line) for line in lines]


@pytest.mark.parametrize(("kind", "value", "encoded"), _components())
def test_key_components_of_the_page_are_encoded_by_the_code(kind: str, value: str, encoded: bytes) -> None:
    assert encode_component({kind: value}) == encoded


def test_page_has_components_of_every_key_type() -> None:
    assert {kind for kind, _, _ in _components()} == {"S", "N", "B"}


def test_row_keys_and_parts_of_the_page_are_those_of_the_code() -> None:
    table = Placement(7, 4, TABLE_KEY)
    index = Placement(9, 4, KeySchema(("g1", "g2"), ("r",), {"g1": "S", "g2": "N", "r": "S"}), TABLE_KEY)
    row_keys = [table.row_key(ITEM), index.row_key(ITEM)]
    assert _examples("keys.md", "row key") == row_keys
    hashed = Placement(7, 4, TABLE_KEY, hashed=True)
    assert _examples("keys.md", "hashed row key") == [hashed.row_key(ITEM)]
    assert _examples("keys.md", "part") == [table.part_of(row_keys[0]), index.part_of(row_keys[1])]


def test_record_of_the_page_is_encoded_by_the_code() -> None:
    lines = re.findall(r"^    ((?:[0-9a-f]{2} ?)+)$", (PAGES / "record.md").read_text(), re.M)
    item = {name: ITEM[name] for name in ("pk", "sk", "x")}
    entry = _vector_index().entry({"pk": {"S": "a"}, "e": {"L": [{"N": "1"}, {"N": "-2.5"}]}})
    assert entry is not None
    assert bytes.fromhex("".join(lines)) == item_record.encode(item, 8) + item_record.encode(
        entry, item_size(entry)
    )


def _vector_index() -> VectorSchema:
    key = KeySchema(("pk",), (), {"pk": "S"})
    return VectorSchema("vec", True, key, IndexProjection("KEYS_ONLY"), key, "e", 2, "COSINE", None, ())
