"""The short way of an Ion export against the careful one.

What it proves: whatever a stencil makes of a record, the careful way makes too, to the byte, for records like
the one it was cut from with any values; and that ordinary records do go the short way.
"""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faradisc.engine.exchange import ion_stencils, ion_text, stencils
from faradisc.engine.exchange.ion_stencils import IonLines
from faradisc.model.codec import record
from faradisc.model.values.checks import canonicalise
from fixtures.buckets import some_items

Value = dict[str, Any]

texts = st.text(
    st.characters(codec="utf-8") | st.sampled_from("\x00\x1f\x7f\x80\\\"'/\n\t\r\b\f\u2028%{}[],:$"),
    max_size=6,
)
names = texts.filter(bool) | st.sampled_from(
    ["null", "nan", "$1", "$ion_1_0", "in side", "it's", "%b", "plain"]
)
numbers = st.decimals(
    allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9
).map(str) | st.sampled_from(["0", "-0.5", "1e125", "1e-130", "9" * 38])
blobs = st.sampled_from(["", "AA==", "AAA=", "AAAA", "+/+/"])
LEAVES = {
    "S": texts,
    "N": numbers,
    "B": blobs,
    "BOOL": st.booleans(),
    "NULL": st.just(True),
    "SS": st.sets(texts, min_size=1, max_size=3).map(list),
    "NS": st.sets(st.integers(-100, 100).map(str), min_size=1, max_size=3).map(list),
    "BS": st.sets(blobs, min_size=1, max_size=3).map(list),
}
leaves = st.one_of([made.map(lambda content, kind=kind: {kind: content}) for kind, made in LEAVES.items()])
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(names, inner, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=6,
)
items = st.dictionaries(names, values, min_size=1, max_size=5)


def refilled(draw: st.DrawFn, value: Value) -> Value:
    """The same form with other values."""
    ((kind, content),) = value.items()
    if kind == "M":
        return {"M": {name: refilled(draw, member) for name, member in content.items()}}
    if kind == "L":
        return {"L": [refilled(draw, member) for member in content]}
    return {kind: draw(LEAVES[kind])}


def both(lines: IonLines, item: dict[str, Value]) -> None:
    assert all(map(canonicalise, item.values()))
    stored = record.encode(item, 0)
    expected = ion_text.item_line(record.decode(stored))
    assert lines.line(stored[record.HEADER_BYTES :]) == expected


@settings(max_examples=400, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data(), items)
def test_records_of_one_form(data: st.DataObject, form: dict[str, Value]) -> None:
    lines = IonLines()
    both(lines, form)
    for _ in range(4):
        both(lines, {name: refilled(data.draw, value) for name, value in form.items()})  # type: ignore[arg-type]


def test_ordinary_records_go_the_short_way() -> None:
    lines = IonLines()
    made = [record.encode(item, 0)[record.HEADER_BYTES :] for item in some_items(500)]
    for json in made:
        lines.line(json)
    found = [lines._stencils.find(json) is not None for json in made]
    assert all(found)
    assert [lines.line(json) for json in made] == [ion_text.item_line(item) for item in map(_loaded, made)]


def _loaded(json: bytes) -> dict[str, Value]:
    loaded: Value = orjson.loads(json)
    return loaded


def test_records_too_large_to_be_cut_are_written_all_the_same() -> None:
    lines = IonLines()
    for count, size in ((ion_stencils._HOLES_MAX + 1, 1), (1, stencils.TEXT_BYTES_MAX)):
        item = {f"a{number:03}": {"S": "x" * size} for number in range(count)}
        both(lines, item)
        both(lines, item)
        assert lines._stencils.find(record.encode(item, 0)[record.HEADER_BYTES :]) is None
