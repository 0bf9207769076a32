"""Strategies for attribute values, items and paths; small, so that paths often exist in items."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from hypothesis import strategies as st

from faradisc.model.values import path as paths
from faradisc.model.values.attribute import sorted_set

numbers = st.integers(-20, 20).map(str) | st.sampled_from(["0.5", "-1.25", "1" + "0" * 40])
strings = st.text(alphabet="ab\u00e9\U0001f600", max_size=3)
binaries = st.binary(max_size=3).map(lambda data: b64encode(data).decode())


def sets_of(kind: str, members: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.lists(members, min_size=1, max_size=3, unique=True).map(
        lambda chosen: {kind: sorted_set(kind, chosen)}
    )


scalars = st.one_of(
    strings.map(lambda text: {"S": text}),
    numbers.map(lambda text: {"N": text}),
    binaries.map(lambda text: {"B": text}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
)
sets = st.one_of(sets_of("SS", strings), sets_of("NS", numbers), sets_of("BS", binaries))
NAMES = ("a", "b", "c", "d")
values = st.recursive(
    scalars | sets,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda members: {"L": members})
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(lambda members: {"M": members})
    ),
    max_leaves=6,
)
items = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
steps = st.sampled_from([".a", ".b", "[0]", "[1]"])
path_texts = st.builds(
    lambda name, rest: name + "".join(rest), st.sampled_from(NAMES), st.lists(steps, max_size=2)
)


def path_of(text: str) -> paths.Path:
    parsed: list[str | int] = []
    for part in text.replace("[", ".[").split("."):
        parsed.append(int(part[1:-1]) if part.startswith("[") else part)
    return tuple(parsed)
