"""Laws of values, keys and records: round trips, order, and that both checks of values agree."""

from __future__ import annotations

import copy
from base64 import b64decode, b64encode
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faradisc.errors import ValidationException
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.codec.sortkey import after_prefix, encode_component, encode_prefix
from faradisc.model.values import attribute, number
from faradisc.model.values.checks import (
    Wording,
    canonical_item_size,
    canonical_size,
    canonicalise,
    check_value,
)
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import changed_item_size, item_size, value_size

Value = dict[str, Any]

texts = st.text(st.characters(codec="utf-8") | st.sampled_from("\x00\x01\xff"), max_size=8)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
blobs = st.binary(max_size=8).map(lambda data: b64encode(data).decode())
numbers = (
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9)
    .map(str)
    .map(number.parse)
)

scalars: st.SearchStrategy[Value] = st.one_of(
    texts.map(lambda v: {"S": v}),
    numbers.map(lambda v: {"N": v}),
    blobs.map(lambda v: {"B": v}),
    st.booleans().map(lambda v: {"BOOL": v}),
    st.just({"NULL": True}),
    st.sets(texts, min_size=1, max_size=4).map(lambda v: {"SS": list(v)}),
    st.sets(numbers, min_size=1, max_size=4).map(lambda v: {"NS": list(v)}),
    st.sets(blobs, min_size=1, max_size=4).map(lambda v: {"BS": list(v)}),
)
values: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda v: {"L": v}),
        st.dictionaries(names, inner, max_size=3).map(lambda v: {"M": v}),
    ),
    max_leaves=8,
)


def canonical(value: Value) -> Value:
    value = copy.deepcopy(value)
    assert canonicalise(value)
    return value


items = st.dictionaries(names, values.map(canonical), max_size=4)
as_written = st.sampled_from(["1e5", "00012", "0", "-3.50", "1200", "0.007", "+7", "-0"]).map(
    lambda n: {"N": n}
)
"""Numbers that are not yet canonical."""


@given(values)
def test_both_walks_give_the_same_canonical_value(raw: Value) -> None:
    slow = copy.deepcopy(raw)
    check_value(slow, Wording.NEW)
    fast = canonical(raw)
    assert fast == slow
    assert canonical(fast) == fast


@given(st.dictionaries(names, values | as_written, max_size=4))
def test_the_fast_walk_measures_what_it_makes_canonical(item: dict[str, Value]) -> None:
    alone = [canonical_size(copy.deepcopy(value)) for value in item.values()]
    together = canonical_item_size(item)
    assert together == item_size(item)
    assert alone == [value_size(value) for value in item.values()]


broken = st.recursive(
    scalars
    | st.sampled_from(
        [{}, {"N": "x"}, {"NULL": False}, {"SS": []}, {"SS": ["a", "a"]}, {"S": "a", "N": "1"}]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda v: {"L": v}),
        st.dictionaries(names, inner, max_size=3).map(lambda v: {"M": v}),
    ),
    max_leaves=8,
)


@given(broken)
def test_both_walks_refuse_the_same_values(raw: Value) -> None:
    try:
        check_value(copy.deepcopy(raw), Wording.OLD)
        accepted = True
    except ValidationException:
        accepted = False
    assert canonicalise(copy.deepcopy(raw)) == accepted


@given(items)
def test_records_read_back(item: dict[str, Value]) -> None:
    size = item_size(item)
    stored = item_record.encode(item, size)
    assert item_record.decode(stored) == item
    assert item_record.size_of(stored) == size
    assert len(stored) >= size


@given(items, items)
def test_records_are_equal_exactly_when_items_are(left: dict[str, Value], right: dict[str, Value]) -> None:
    assert (item_record.encode(left, 0) == item_record.encode(right, 0)) == (left == right)


@given(items)
def test_sizes_add_up(item: dict[str, Value]) -> None:
    assert item_size(item) == sum(len(n.encode()) + value_size(v) for n, v in item.items())


@given(items, items)
def test_the_size_of_a_changed_item(old: dict[str, Value], changes: dict[str, Value]) -> None:
    removed = {name for at, name in enumerate(old) if at % 2}
    new = {name: value for name, value in {**old, **changes}.items() if name not in removed}
    assert changed_item_size(new, old, item_size(old), {*changes, *removed}) == item_size(new)


keys = {
    "S": texts.map(lambda v: {"S": v}),
    "N": numbers.map(lambda v: {"N": v}),
    "B": blobs.map(lambda v: {"B": v}),
}


@given(st.data(), st.sampled_from("SNB"))
def test_key_encodings_sort_as_values_do(data: st.DataObject, kind: str) -> None:
    left, right = data.draw(keys[kind]), data.draw(keys[kind])
    first, second = encode_component(left), encode_component(right)
    assert (first > second) - (first < second) == attribute.compare(left, right)
    assert first == second or not second.startswith(first)


@given(st.data(), st.lists(st.sampled_from("SNB"), min_size=1, max_size=4))
def test_keys_of_several_attributes_sort_one_after_the_other(data: st.DataObject, kinds: list[str]) -> None:
    left, right = ([data.draw(keys[kind]) for kind in kinds] for _ in range(2))
    order = next((c for c in map(attribute.compare, left, right) if c), 0)
    first, second = (b"".join(map(encode_component, key)) for key in (left, right))
    assert (first > second) - (first < second) == order


@given(st.data(), st.sampled_from("SB"))
def test_a_prefix_bounds_what_begins_with_it(data: st.DataObject, kind: str) -> None:
    start, value = data.draw(keys[kind]), data.draw(keys[kind])
    low = encode_prefix(start)
    high = after_prefix(low)
    encoded = encode_component(value)
    begins = (
        value["S"].startswith(start["S"])
        if kind == "S"
        else b64decode(value["B"]).startswith(b64decode(start["B"]))
    )
    assert begins == (low <= encoded and (high is None or encoded < high))


@given(st.integers(1, 5000), st.sampled_from([1, 2, 4, 16, 256]), st.data())
def test_every_key_lies_in_exactly_one_segment(total: int, slots: int, data: st.DataObject) -> None:
    placement = Placement(3, slots, KeySchema(("p",), (), {"p": "S"}))
    row_key = placement.row_key({"p": data.draw(keys["S"])})
    part = placement.part_of(row_key)
    wanted = int.from_bytes(row_key[:16], "big") * total >> 128
    for segment in {0, wanted - 1, wanted, wanted + 1, total - 1} & set(range(total)):
        held = any(
            part == at and low <= row_key and (high is None or row_key < high)
            for at, low, high in placement.hash_ranges(segment, total)
        )
        assert held == (segment == wanted)
