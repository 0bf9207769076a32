"""OrderedKeys against a sorted list, with blocks small enough to split and empty often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.storage import ordered
from faradisc.storage.ordered import OrderedKeys

keys = st.binary(max_size=3)
bounds = st.none() | keys


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> object:
    patch = pytest.MonkeyPatch()
    patch.setattr(ordered, "BLOCK_KEYS_MAX", 4)
    yield
    patch.undo()


@given(st.lists(st.tuples(st.booleans(), keys), max_size=80), st.lists(st.tuples(bounds, bounds), max_size=5))
def test_it_behaves_as_a_sorted_list(
    changes: list[tuple[bool, bytes]], ranges: list[tuple[bytes | None, bytes | None]]
) -> None:
    model: set[bytes] = set()
    ordered_keys = OrderedKeys()
    for adding, key in changes:
        if adding and key not in model:
            model.add(key)
            ordered_keys.add(key)
        elif not adding and key in model:
            model.remove(key)
            ordered_keys.remove(key)
    twin = ordered_keys.copy()
    for lo, hi in [(None, None), *ranges]:
        wanted = sorted(key for key in model if (lo is None or lo <= key) and (hi is None or key < hi))
        assert list(ordered_keys.ascending(lo, hi)) == wanted
        assert list(ordered_keys.descending(lo, hi)) == wanted[::-1]
        assert list(twin.ascending(lo, hi)) == wanted


@pytest.mark.parametrize("step", [1, -1, 7919])
def test_many_keys_in_any_order(step: int) -> None:
    numbers = [(number * step) % 10_007 for number in range(10_007)]
    ordered_keys = OrderedKeys()
    for number in numbers:
        ordered_keys.add(number.to_bytes(2, "big"))
    assert list(ordered_keys.ascending(None, None)) == [number.to_bytes(2, "big") for number in range(10_007)]


def test_a_copy_goes_its_own_way() -> None:
    original = OrderedKeys()
    for byte in b"abcdef":
        original.add(bytes([byte]))
    twin = original.copy()
    twin.remove(b"c")
    original.add(b"x")
    assert b"".join(original.ascending(None, None)) == b"abcdefx"
    assert b"".join(twin.ascending(None, None)) == b"abdef"
