"""An import accepts the items that PutItem accepts, and stores what PutItem stores, index entries
included."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import orjson
import pytest

from fixtures.exchanging import Exchanging, lines
from fixtures.in_process import Refused
from fixtures.schemas import schema

TEXTS = (
    *("", "x", "\x00", "\x1f", "\x7f", "\\", '"', "/", "\n", "\t", "\b", "\f", "\\\\n", '\\"', "\u2028", "é"),
    *(
        "\U0001d11e",
        "%",
        "%b",
        "{}",
        "[]",
        ",",
        '","',
        '"},"',
        "a" * 1024,
        "a" * 1025,
        "a" * 2048,
        "a" * 2049,
    ),
    *("ü" * 512, "ü" * 513, "ü" * 1024, "ü" * 1025, "a" * 409_600),
)
NUMBERS = (
    *(
        "0",
        "-0",
        "1",
        "-1",
        "00",
        "01",
        "-01",
        "0.5",
        "0.50",
        "-0.05",
        "-0.0",
        "0.0",
        "1e3",
        "10",
        "100",
        "1.0",
    ),
    *(
        "1.5",
        "1.50",
        "123456789012345678",
        "1234567890123456789",
        "1" * 38,
        "1" * 39,
        "9" * 18 + "." + "1" * 15,
    ),
    *(
        "9" * 18 + "." + "1" * 16,
        "0." + "0" * 15 + "1",
        "0." + "0" * 16 + "1",
        "1E-130",
        "1e126",
        "",
        "x",
        "+1",
    ),
    *(".5", "5.", "1_0", " 1", "1 ", "--1", "-", "1.2.3", "\N{ARABIC-INDIC DIGIT ONE}"),
)
BLOBS = (
    *("", "AA==", "AQ==", "AB==", "AAA=", "AAB=", "AAAA", "A", "AA", "AAA", "!!!!", "=AAA", "AA=A", "A==="),
    *("AA= ", "AAAA====", "AAAA=", "AA==AA==", "AAAAA==", "+/+/", "-_-_"),
    *(b64encode(bytes(size)).decode() for size in (1022, 1023, 1024, 1025, 2046, 2047, 2048, 2049)),
)
VALUES: dict[str, tuple[Any, ...]] = {
    "S": TEXTS,
    "N": NUMBERS,
    "B": BLOBS,
    "BOOL": (True, False),
    "NULL": (True, False),
    "SS": ([], ["b", "a"], ["a", "a"], [""], ["", "a"], ["é", "z"], *([text] for text in TEXTS)),
    "NS": ([], ["2", "1"], ["10", "9"], ["1", "1"], ["1", "1.0"], *([text] for text in NUMBERS)),
    "BS": ([], ["AQ==", "AA=="], ["AA==", "AA=="], ["AAAA", "AA=="], *([text] for text in BLOBS)),
    "L": ([], [{"S": ""}], [{"S": '{"S"'}], [{"N": "01"}], [{}]),
    "M": ({}, {"x": {"S": "1"}}, {"": {"S": "1"}}, {"x": {}}, {"b": {"S": ""}, "a": {"N": "1.0"}}),
}
INDEXES = {"all": ("s:S", "n:N", "ALL"), "some": ("b:B", "", ["v", "s"]), "keys": ("n:N", "", "KEYS_ONLY")}


def everything(exchanging: Exchanging, table: str) -> list[list[bytes]]:
    """Returns the items of a table and the entries of its indexes, as JSON in a fixed order."""
    sources = [{}, *({"IndexName": name} for name in INDEXES)]
    found = [exchanging.call("Scan", TableName=table, **source)["Items"] for source in sources]
    return [sorted(orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items) for items in found]


@pytest.mark.parametrize("name", ["v", "s", "n", "b", "p"])
@pytest.mark.parametrize("kind", sorted(VALUES))
def test_an_import_stores_what_put_item_stores(exchanging: Exchanging, name: str, kind: str) -> None:
    """name: the attribute with the value: v is no key, p the key of the table, the others are index keys."""
    base = {"s": {"S": "text"}, "n": {"N": "12"}, "b": {"B": "aGVsbG8="}, "v": {"S": "other"}}
    items = [
        {"p": {"S": str(number)}, **base, name: {kind: value}} for number, value in enumerate(VALUES[kind])
    ]
    exchanging.call("CreateTable", TableName="put", **schema("p:S", gsi=INDEXES))
    accepted = 0
    for item in items:
        try:
            exchanging.put(item, table="put")
        except Refused:
            continue
        accepted += 1
    exchanging.object("in/items.json", lines(items))
    described = exchanging.import_all("in/", gsi=INDEXES)
    assert described["ImportStatus"] == ("COMPLETED" if accepted == len(items) else "FAILED")
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (accepted, len(items) - accepted)
    assert everything(exchanging, "table") == everything(exchanging, "put")
