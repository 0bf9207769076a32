"""Measuring only what changed gives the size of the whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from faradisc.values.size import changed_item_size, item_size

NAMES = st.sampled_from(["pk", "a", "bé", "c" * 40, "ü"])
VALUES = st.one_of(
    st.text(max_size=8).map(lambda text: {"S": text}),
    st.sampled_from(["0", "12", "-1.5", "123456789"]).map(lambda text: {"N": text}),
    st.just({"NULL": True}),
    st.lists(st.text(max_size=3).map(lambda text: {"S": text}), max_size=3).map(lambda items: {"L": items}),
)


@given(st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES), st.sets(NAMES))
def test_the_size_of_a_changed_item_is_its_size(old, written, removed) -> None:
    new = {name: value for name, value in {**old, **written}.items() if name not in removed}
    assert changed_item_size(new, old, item_size(old)) == item_size(new)
