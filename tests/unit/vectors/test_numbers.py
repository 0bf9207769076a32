"""Vectors as attribute values, as bytes, and as text again."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.engine.vectors import numbers
from faradisc.model.values.number import parse

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, min_size=1, max_size=8))
def test_shown_vectors_are_numbers_that_pack_to_the_same_bytes(elements: list[float]) -> None:
    data = struct.pack(f"<{len(elements)}f", *elements)
    shown = numbers.shown(data)["L"]
    assert all(parse(element["N"]) == element["N"].removesuffix(".0") for element in shown)
    packed = numbers.packed(shown)
    assert packed is not None
    assert numbers.unpacked(packed) == numbers.unpacked(data)
    assert numbers.packed_of(numbers.stored(data)) == data


@pytest.mark.parametrize(
    ("element", "accepted"),
    [
        ({"N": "340282346638528859811704183484516925440"}, True),
        ({"N": "340282366920938463463374607431768211456"}, False),
        ({"N": "-" + "9" * 38 + "0"}, False),
        ({"N": "0." + "0" * 100 + "1"}, True),
        ({"S": "1"}, False),
        ({"NULL": True}, False),
    ],
)
def test_elements_are_finite_32_bit_floats(element: dict[str, object], accepted: bool) -> None:
    assert (numbers.packed([element]) is not None) == accepted
