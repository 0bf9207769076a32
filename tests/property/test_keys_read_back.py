"""Row keys decode to the keys they were made of, for any bytes."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faradisc.model.codec.keyspace import Placement, key_of_row
from faradisc.model.values import number
from faradisc.model.values.schema import KeySchema

texts = st.text(st.characters(codec="utf-8") | st.sampled_from("\0\x01\xff"), min_size=1, max_size=12)
binaries = st.binary(min_size=1, max_size=12) | st.lists(
    st.sampled_from(b"\x00\x01\x65\x66\xff"), min_size=1
).map(bytes)
numbers = st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str) | st.sampled_from(
    ["0", "1e125", "-1e125", "1e-130", "-1e-130", "-0.5", "99", "100"]
)


def _canonical(text: str) -> bool:
    try:
        number.parse(text)
    except number.NumberError:
        return False
    return True


values: dict[Any, st.SearchStrategy[dict[str, str]]] = {
    "S": texts.map(lambda text: {"S": text}),
    "B": binaries.map(lambda data: {"B": b64encode(data).decode()}),
    "N": numbers.filter(_canonical).map(lambda text: {"N": number.parse(text)}),
}


@given(st.data(), st.sampled_from("SBN"), st.sampled_from("SBN"))
def test_a_row_key_names_its_item(data: st.DataObject, hash_type: Any, range_type: Any) -> None:
    schema = KeySchema(("p",), ("r",), {"p": hash_type, "r": range_type})
    key = {"p": data.draw(values[hash_type]), "r": data.draw(values[range_type])}
    assert key_of_row(Placement(1, 4, schema).row_key(key), schema) == key
