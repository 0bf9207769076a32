"""Keys as bytes: self-delimiting, in order, and in the right part.

Source: docs/formats/keys.md (whose vectors tests/docs holds).
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import md5
from itertools import pairwise, product
from typing import Any

import pytest

from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement, hash_of
from faradisc.model.codec.sortkey import after_prefix, encode_component, encode_prefix
from faradisc.model.values.number import parse
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size


def binary(data: bytes) -> dict[str, str]:
    return {"B": b64encode(data).decode()}


BYTES = [
    *(b"", b"\x00", b"\x00\x00", b"\x00\x01", b"\x00\xff", b"\x01"),
    *(b"a", b"a\x00", b"ab", b"b", b"\xff", b"\xff\xff"),
]
TEXTS = [
    *("", "\x00", "\x00\x00", "\x01", "a", "a\x00", "a\x00b", "a\x01", "ab", "b", "é"),
    *("\uffff", "\U00010000"),
]
NUMBERS = [
    *("-9.9e125", "-1e125", "-100", "-99.5", "-99", "-1.5", "-1", "-0.1", "-0.01", "-1e-130", "0", "1e-130"),
    *("0.01", "0.1", "0.11", "1", "1.01", "1.5", "9", "10", "11", "99", "99.5", "100", "1e125", "9.9e125"),
]
ORDERED: dict[str, list[dict[str, Any]]] = {
    "S": [{"S": text} for text in TEXTS],
    "B": [binary(data) for data in BYTES],
    "N": [{"N": parse(text)} for text in NUMBERS],
}


@pytest.mark.parametrize("values", ORDERED.values(), ids=ORDERED)
def test_encodings_sort_as_values_do(values: list[dict[str, Any]]) -> None:
    encoded = [encode_component(value) for value in values]
    assert all(low < high for low, high in pairwise(encoded))


@pytest.mark.parametrize("values", ORDERED.values(), ids=ORDERED)
def test_no_encoding_is_the_beginning_of_another(values: list[dict[str, Any]]) -> None:
    encoded = [encode_component(value) for value in values]
    assert not [(a, b) for a, b in product(encoded, encoded) if a != b and b.startswith(a)]


@pytest.mark.parametrize(
    ("contents", "values"), [(TEXTS, ORDERED["S"]), (BYTES, ORDERED["B"])], ids=["S", "B"]
)
def test_a_prefix_bounds_exactly_what_begins_with_it(
    contents: list[Any], values: list[dict[str, Any]]
) -> None:
    for start, wanted in zip(contents, values, strict=True):
        low = encode_prefix(wanted)
        high = after_prefix(low)
        for content, value in zip(contents, values, strict=True):
            encoded = encode_component(value)
            inside = low <= encoded and (high is None or encoded < high)
            assert inside == content.startswith(start), (start, content)


@pytest.mark.parametrize(
    ("prefix", "after"), [(b"a", b"b"), (b"a\xff", b"b"), (b"\xff", None), (b"", None), (b"a\x00", b"a\x01")]
)
def test_what_comes_after_a_prefix(prefix: bytes, after: bytes | None) -> None:
    assert after_prefix(prefix) == after


def test_lists_of_components_sort_component_by_component() -> None:
    pairs = sorted(product(range(len(TEXTS)), range(len(NUMBERS))))
    encoded = [
        encode_component(ORDERED["S"][text]) + encode_component(ORDERED["N"][number])
        for text, number in pairs
    ]
    assert encoded == sorted(encoded)


# --- Places --------------------------------------------------------------------------------------

KEY = KeySchema(("p",), ("r",), {"p": "S", "r": "N"})


def test_the_hash_is_md5_over_outliers_and_the_key_s_bytes() -> None:
    assert hash_of(b"key") == md5(b"Outlierskey").digest()
    row_key = Placement(1, 4, KEY).row_key({"p": {"S": "key"}, "r": {"N": "1"}})
    assert row_key == md5(b"Outlierskey").digest() + b"key\x00\x00" + b"\xc1\x02\x00"


def test_numbers_hash_by_value() -> None:
    key = KeySchema(("n",), (), {"n": "N"})
    keys = {Placement(1, 4, key).row_key({"n": {"N": parse(text)}}) for text in ("1", "1.0", "1e0", "0.1e1")}
    assert len(keys) == 1


def test_an_index_row_ends_with_the_table_s_key() -> None:
    index_key = KeySchema(("g",), (), {"g": "S"})
    placement = Placement(2, 4, index_key, KEY)
    item: dict[str, Any] = {"p": {"S": "1"}, "r": {"N": "1"}, "g": {"S": "x"}, "more": {"S": "ignored"}}
    row_key = placement.row_key(item)
    assert row_key.startswith(placement.collection(({"S": "x"},)))
    assert row_key.endswith(encode_component({"S": "1"}) + encode_component({"N": "1"}))


@pytest.mark.parametrize("slots", [1, 2, 4, 16, 256])
def test_a_row_lies_in_the_slot_of_its_top_bits(slots: int) -> None:
    placement = Placement(7, slots, KEY)
    assert len(placement.parts) == slots
    for first in range(256):
        part = placement.part_of(bytes([first]) + b"\x00" * 15)
        assert part == (7).to_bytes(4, "big") + bytes([first * slots // 256])


@pytest.mark.parametrize("slots", [1, 4, 16])
@pytest.mark.parametrize("total", [1, 2, 3, 4, 5, 7, 8, 64, 1000])
def test_segments_tile_the_hash_space(slots: int, total: int) -> None:
    """Without gap or overlap, each in order and inside its part."""
    placement = Placement(7, slots, KEY)
    width = (1 << 128) // slots
    position = 0
    for segment in range(total):
        for part, low, high in placement.hash_ranges(segment, total):
            slot = placement.parts.index(part)
            assert int.from_bytes(low, "big") == position
            position = int.from_bytes(high, "big") if high is not None else (slot + 1) * width
            assert slot * width < position <= (slot + 1) * width
    assert position == 1 << 128


# --- Records -------------------------------------------------------------------------------------

ITEM: dict[str, Any] = {
    "p": {"S": "é\x00\U00010000"},
    "n": {"N": "-1.5"},
    "b": {"B": "AP8="},
    "l": {"L": [{"NULL": True}, {"BOOL": False}, {"M": {"k": {"SS": ["a", "b"]}}}]},
}


def test_a_record_is_its_size_and_its_item() -> None:
    size = item_size(ITEM)
    stored = item_record.encode(ITEM, size)
    assert stored[0] == 1
    assert item_record.size_of(stored) == size
    assert item_record.decode(stored) == ITEM


def test_records_are_equal_when_their_items_are() -> None:
    turned = dict(reversed(ITEM.items()))
    assert item_record.encode(turned, 1) == item_record.encode(ITEM, 1)
    assert item_record.encode({**ITEM, "n": {"N": "2"}}, 1) != item_record.encode(ITEM, 1)


def test_a_record_is_at_least_as_long_as_the_size_it_states() -> None:
    """The page loop reads by bytes of records and may only read too little."""
    smallest: list[dict[str, Any]] = [
        {"p": {"S": ""}},
        {"p": {"N": "1" * 38}},
        {"p": {"L": []}},
        {"p": {"M": {}}},
        {"p": {"B": "AAAA" * 100}},
    ]
    for item in smallest:
        assert len(item_record.encode(item, 0)) >= item_size(item)
