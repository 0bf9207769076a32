"""Rules that are arithmetic: the bytes of an update, the range of zero, the order of Java's hash tables."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.language.expressions import Placeholders, bind_update
from faradisc.model.values import number
from faradisc.model.values.java_order import (
    MAP_BUCKETS_MIN,
    SET_BUCKETS_MIN,
    listed,
    number_hash,
    text_hash,
    with_hashed_number_sets,
)
from faradisc.model.values.size import value_size

# --- The bytes of an update (capacity-consumption.md section 3) ----------------------------------

VALUES: dict[str, Any] = {
    ":s": {"S": "été"},
    ":l": {"L": [{"S": "abc"}, {"N": "12"}]},
    ":n": {"N": "123.45"},
    ":t": {"SS": ["ab", "c"]},
}
NAMES = {"#a": "länger", "#b": "b"}

names = st.sampled_from(["a", "bb", "ccc", "#a", "#b"])
steps = st.one_of(names, st.integers(0, 1000))
Measured = tuple[str, int]
"""A text, and its bytes."""


def _bytes_of(step: str | int) -> int:
    return len(NAMES.get(str(step), str(step)).encode())


@st.composite
def paths(draw: st.DrawFn, *, target: bool) -> Measured:
    path = [draw(names), *draw(st.lists(steps, max_size=3))]
    text = path[0] + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
    sizes = [_bytes_of(step) for step in path]
    if target:
        return text, sum(sizes) + 4 * (len(path) - 1)
    return text, 1 + sum(14 + size for size in sizes)


def value(*refs: str) -> st.SearchStrategy[Measured]:
    return st.sampled_from(refs).map(lambda ref: (ref, value_size(VALUES[ref])))


operands = st.deferred(lambda: st.one_of(value(*VALUES), paths(target=False), functions))
lists = st.deferred(lambda: st.one_of(value(":l"), paths(target=False)))
numbers = st.deferred(lambda: st.one_of(value(":n"), paths(target=False)))
functions = st.one_of(
    st.tuples(paths(target=False), operands).map(
        lambda both: (f"if_not_exists({both[0][0]}, {both[1][0]})", 39 + both[0][1] + both[1][1])
    ),
    st.tuples(lists, lists).map(
        lambda both: (f"list_append({both[0][0]}, ({both[1][0]}))", 37 + both[0][1] + both[1][1])
    ),
)
sums = st.tuples(numbers, st.sampled_from([("+", 34), ("-", 37)]), numbers).map(
    lambda each: (f"{each[0][0]} {each[1][0]} {each[2][0]}", each[1][1] + each[0][1] + each[2][1])
)


@st.composite
def updates(draw: st.DrawFn) -> Measured:
    path, size = draw(paths(target=True))
    match draw(st.sampled_from(["SET", "ADD", "REMOVE", "DELETE"])):
        case "SET":
            text, cost = draw(st.one_of(operands, sums))
            return f"SET {path} = {text}", 3 + 19 + size + cost
        case "ADD":
            text, cost = draw(value(":n", ":t"))
            return f"ADD {path} {text}", 3 + 19 + size + cost
        case "DELETE":
            return f"DELETE {path} :t", 3 + 1 + size
        case _:
            return f"REMOVE {path}", 3 + 1 + size


@given(updates())
def test_an_update_is_charged_by_the_formula(update: Measured) -> None:
    text, size = update
    bound = bind_update(text, Placeholders(NAMES, VALUES))
    assert bound.request_exceeds(size - 1, None)
    assert not bound.request_exceeds(size, None)
    assert not bound.request_exceeds(1000 * size, 100)


def test_actions_add_up_and_values_count_at_each_use() -> None:
    text = "SET a = :s, b.c = :s REMOVE #a[12] DELETE t :t"
    size = 3 + (19 + 1 + 5) + (19 + 1 + 4 + 1 + 5) + (1 + 7 + 4 + 2) + (1 + 1)
    bound = bind_update(text, Placeholders(NAMES, VALUES))
    assert bound.request_exceeds(size - 1, None)
    assert not bound.request_exceeds(size, None)


# --- Zero (limits.md section 2) ------------------------------------------------------------------


@given(st.integers(0, 5), st.integers(0, 140), st.integers(-300, 300))
def test_a_zero_has_the_range_of_its_last_digit(whole: int, fraction: int, exponent: int) -> None:
    digits = "0" * (whole + 1) + ("." + "0" * fraction if fraction else "")
    one = digits[:-1] + "1"

    def outcome(text: str) -> object:
        try:
            number.parse(f"{text}e{exponent}")
        except number.NumberError as error:
            return type(error)
        return None

    assert outcome(digits) == outcome(one)
    assert outcome(f"-{digits}") == outcome(one)


def test_a_difference_of_tiny_numbers_is_zero() -> None:
    tiny = number.parse("1.2345e-130")
    assert number.subtract(tiny, tiny) == "0"


# --- Java's hash tables (errors.md section 11) ---------------------------------------------------


@pytest.mark.parametrize(
    ("members", "shown"),
    [
        (["1", "2", "3"], ["3", "2", "1"]),
        (["3", "20", "100"], ["3", "20", "100"]),
    ],
)
def test_number_sets_are_listed_as_recorded(members: list[str], shown: list[str]) -> None:
    assert listed(members, number_hash, SET_BUCKETS_MIN) == shown


@pytest.mark.parametrize("shown", [["a001", "a000", "pk"], ["bdrw", "pk", "bcsb", "bugl"]])
def test_names_are_listed_as_recorded(shown: list[str]) -> None:
    assert sorted(listed(sorted(shown), text_hash, MAP_BUCKETS_MIN)) == sorted(shown)
    assert listed(sorted(shown), text_hash, MAP_BUCKETS_MIN) == shown


def test_hash_codes_are_java_s() -> None:
    assert text_hash("hello") == 99162322
    assert number_hash("0") == 0
    assert number_hash("1.5") == 31 * 15 + 1
    assert number_hash("-7") == -217
    assert number_hash(str(2**32)) == 31 * 31  # the magnitude's words are 1 and 0


@given(st.lists(st.integers(-(10**37), 10**37), unique=True, min_size=1, max_size=40))
def test_a_set_keeps_its_members_and_has_one_order(members: list[int]) -> None:
    canonical = [number.parse(str(each)) for each in sorted(members)]
    document = orjson.dumps({"a": {"NS": canonical}, "b": {"S": '{"NS":["2","1"]'}})
    shown = orjson.loads(with_hashed_number_sets(document))
    assert sorted(shown["a"]["NS"], key=int) == canonical
    assert shown["a"]["NS"] == listed(canonical, number_hash, SET_BUCKETS_MIN)
    assert shown["b"]["S"] == '{"NS":["2","1"]'
