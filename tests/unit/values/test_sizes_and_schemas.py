"""Sizes of values and items, document paths, and what index schemas make of an item.

Sources: capacity.md sections 2.1 and 4.1; expressions.md section 2; new-features.md section 10.
"""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.model.values import attribute, path
from faradisc.model.values.schema import IndexProjection, IndexSchema, KeySchema
from faradisc.model.values.size import changed_item_size, item_size, value_size

SIZES: list[tuple[dict[str, Any], int]] = [
    ({"S": ""}, 0),
    ({"S": "abc"}, 3),
    ({"S": "é☃"}, 5),
    ({"S": "\U0001d11e"}, 4),
    ({"B": ""}, 0),
    ({"B": "AA=="}, 1),
    ({"B": "AAA="}, 2),
    ({"B": "AAAA"}, 3),
    ({"B": "AAAAAA=="}, 4),
    ({"BOOL": True}, 1),
    ({"NULL": True}, 1),
    ({"N": "0"}, 1),
    ({"N": "-12"}, 3),
    ({"SS": ["three", "é"]}, 7),
    ({"NS": ["-12", "0.01", "1"]}, 7),
    ({"BS": ["AAE=", "AgME"]}, 5),
    ({"L": []}, 3),
    ({"M": {}}, 3),
    ({"L": [{"N": "1"}, {"S": "é"}, {"NULL": True}]}, 11),
    ({"M": {"n": {"N": "-1"}, "b": {"BOOL": True}}}, 11),
    ({"M": {"é": {"M": {}}}}, 3 + 1 + 2 + 3),
    ({"L": [{"L": [{"L": []}]}]}, 3 + 1 + 3 + 1 + 3),
]


@pytest.mark.parametrize(("value", "size"), SIZES, ids=[repr(value) for value, _ in SIZES])
def test_value_sizes(value: dict[str, Any], size: int) -> None:
    assert value_size(value) == size
    assert item_size({"né": value}) == 3 + size


def test_v9_item_size() -> None:
    assert item_size({"shirt-color": {"S": "R"}, "shirt-size": {"S": "M"}}) == 23
    assert item_size({}) == 0


@pytest.mark.parametrize(
    "new",
    [
        {"p": {"S": "1"}},
        {"p": {"S": "1"}, "a": {"S": "longer than before"}},
        {"p": {"S": "1"}, "a": {"S": "x"}, "é": {"L": []}},
        {},
    ],
)
def test_the_size_of_a_changed_item_is_that_of_a_new_one(new: dict[str, Any]) -> None:
    old: dict[str, Any] = {"p": {"S": "1"}, "a": {"S": "x"}, "b": {"N": "5"}}
    kept = {name: old[name] if old.get(name) == value else value for name, value in new.items()}
    written = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    assert changed_item_size(kept, old, item_size(old), written) == item_size(new)
    assert changed_item_size(kept, old, item_size(old), {*old, *new}) == item_size(new)


DOCUMENT: dict[str, Any] = {
    "s": {"S": "x"},
    "l": {"L": [{"N": "1"}, {"M": {"k": {"S": "v"}}}]},
    "m": {"M": {"a.b": {"L": []}, "s": {"SS": ["x"]}}},
}


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (("s",), {"S": "x"}),
        (("gone",), None),
        (("s", "x"), None),
        (("s", 0), None),
        (("l", 0), {"N": "1"}),
        (("l", 2), None),
        (("l", "x"), None),
        (("l", 1, "k"), {"S": "v"}),
        (("l", 1, "k", "x"), None),
        (("m", "a.b"), {"L": []}),
        (("m", "a", "b"), None),
        (("m", 0), None),
        (("m", "s", 0), None),
    ],
)
def test_paths(steps: path.Path, found: dict[str, Any] | None) -> None:
    assert path.get(DOCUMENT, steps) == found


def test_a_path_is_printed_as_the_service_does() -> None:
    assert path.text(("a", "b", 0, "c")) == "[a, b, [0], c]"


def test_comparison_by_type() -> None:
    assert attribute.compare({"S": "\uffff"}, {"S": "\U00010000"}) == -1
    assert attribute.compare({"N": "9"}, {"N": "10"}) == -1
    assert attribute.compare({"B": "/w=="}, {"B": "AA=="}) == 1
    assert attribute.compare({"B": "AA=="}, {"B": "AA=="}) == 0


TABLE_KEY = KeySchema(("p",), ("r",), {"p": "S", "r": "N"})
INDEX_KEY = KeySchema(("g", "h"), ("s",), {"g": "S", "h": "N", "s": "B"})
ITEM: dict[str, Any] = {
    "p": {"S": "1"},
    "r": {"N": "1"},
    "g": {"S": "g"},
    "h": {"N": "2"},
    "s": {"B": "AA=="},
    "x": {"S": "x"},
    "y": {"S": "y"},
}


@pytest.mark.parametrize(
    ("projection", "held"),
    [
        (IndexProjection("KEYS_ONLY"), "prghs"),
        (IndexProjection("INCLUDE", ("x", "gone")), "prghsx"),
        (IndexProjection("ALL"), "prghsxy"),
    ],
)
def test_what_an_index_entry_holds(projection: IndexProjection, held: str) -> None:
    index = IndexSchema("index", True, INDEX_KEY, projection, TABLE_KEY)
    assert set(index.entry_of(ITEM)) == set(held)
    assert index.all_key_names == ("g", "h", "s", "p", "r")


@pytest.mark.parametrize("name", ["g", "h", "s"])
def test_an_item_without_one_key_attribute_is_not_in_the_index(name: str) -> None:
    index = IndexSchema("index", True, INDEX_KEY, IndexProjection("ALL"), TABLE_KEY)
    assert index.has(ITEM)
    assert not index.has({n: v for n, v in ITEM.items() if n != name})


def test_a_key_named_by_table_and_index_stands_once() -> None:
    inverted = KeySchema(("r",), ("p",), {"p": "S", "r": "N"})
    index = IndexSchema("inverted", True, inverted, IndexProjection("KEYS_ONLY"), TABLE_KEY)
    assert index.all_key_names == ("r", "p")
