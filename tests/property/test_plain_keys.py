"""Keys that the fast check accepts pass the exact check; keys that it rejects are not plain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.engine.tables.keys import check_item_keys, check_key
from faradisc.errors import ValidationException
from faradisc.limits import PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from faradisc.model.codec.keyspace import Placement, hash_of
from faradisc.model.codec.sortkey import encode_component, raw_bytes
from faradisc.model.values.schema import KeySchema

SCHEMA = KeySchema(("p",), ("s",), {"p": "S", "s": "N"})
LENGTHS = (1, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049)
LONG = st.builds(lambda letter, count: letter * count, st.sampled_from("aé€😀"), st.sampled_from(LENGTHS))
TEXTS = st.one_of(st.text(max_size=5), LONG)
VALUES = st.one_of(
    TEXTS.map(lambda text: {"S": text}),
    st.sampled_from(["0", "-1.5", "1" + "0" * 125]).map(lambda text: {"N": text}),
    st.sampled_from(["", "AAAA"]).map(lambda text: {"B": text}),
)
ITEMS = st.dictionaries(st.sampled_from(["p", "s", "other"]), VALUES)


def allowed(item: dict[str, Any]) -> bool:
    """Returns whether a key is allowed, by independent rules."""
    if set(item) != {"p", "s"} or "S" not in item["p"] or "N" not in item["s"]:
        return False
    return (
        item["p"]["S"] != ""
        and len(raw_bytes(item["p"])) <= PARTITION_KEY_BYTES_MAX
        and len(raw_bytes(item["s"])) <= SORT_KEY_BYTES_MAX
    )


@given(ITEMS)
def test_a_key_is_taken_where_the_rules_allow_it(item: dict[str, Any]) -> None:
    if allowed(item):
        check_key(item, SCHEMA)
        check_item_keys({**item, "other": {"S": ""}}, SCHEMA)
    else:
        with pytest.raises(ValidationException):
            check_key(item, SCHEMA)


@given(TEXTS.filter(bool), st.sampled_from(["0", "-1.5", "12"]))
def test_a_row_key_is_the_hash_and_the_components(text: str, digits: str) -> None:
    item = {"p": {"S": text}, "s": {"N": digits}, "other": {"S": ""}}
    expected = hash_of(raw_bytes(item["p"])) + encode_component(item["p"]) + encode_component(item["s"])
    assert Placement(7, 4, SCHEMA).row_key(item) == expected
