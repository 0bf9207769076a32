"""The three formats: their syntax, round trips, and invalid input."""

from __future__ import annotations

import contextlib
import gzip
import io
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from faradisc.engine.exchange import object_reader
from faradisc.engine.exchange.checking import canonical_size, reason_of
from faradisc.engine.exchange.object_reader import InputFormat, KeyAttributes, ObjectReader
from faradisc.engine.formats import compression, csv_rows, ion_text, ion_values, json_lines
from faradisc.engine.formats.compression import InputDamaged
from faradisc.engine.formats.json_lines import Malformed
from faradisc.model.values.checks import canonicalise
from faradisc.model.values.size import item_size
from fixtures.searching import examples

# --- Items of every type ---------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=12)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
numbers = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9).map(
        lambda number: format(number, "f")
    ),
    st.sampled_from(["0", "-0.5", "1E+125", "1e-130", "9" * 38, "0.000001"]),
)
whole_numbers = st.integers(-(10**9), 10**9).map(str)
binaries = st.binary(max_size=12).map(lambda data: b64encode(data).decode())
scalars = st.one_of(
    st.fixed_dictionaries({"S": texts}),
    st.fixed_dictionaries({"N": numbers}),
    st.fixed_dictionaries({"B": binaries}),
    st.fixed_dictionaries({"BOOL": st.booleans()}),
    st.just({"NULL": True}),
    st.fixed_dictionaries({"SS": st.lists(texts, min_size=1, max_size=4, unique=True)}),
    st.fixed_dictionaries({"BS": st.lists(binaries, min_size=1, max_size=4, unique=True)}),
    st.fixed_dictionaries(
        {"NS": st.lists(st.integers(-(10**9), 10**9).map(str), min_size=1, max_size=4, unique=True)}
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"L": st.lists(inner, max_size=4)}),
        st.fixed_dictionaries({"M": st.dictionaries(names, inner, max_size=4)}),
    ),
    max_leaves=8,
)
items = st.dictionaries(names, values, min_size=1, max_size=5)


def canonical(item: dict[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = orjson.loads(orjson.dumps(item))
    assert all(map(canonicalise, copied.values()))
    return copied


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(items, min_size=1, max_size=5))
def test_json_and_ion_round_trip(made: list[dict[str, Any]]) -> None:
    expected = [canonical(item) for item in made]
    as_json = b"".join(json_lines.item_line(orjson.dumps(item)) for item in expected)
    as_ion = b"".join(map(ion_text.item_line, expected))
    for found in (
        list(json_lines.records([as_json])),
        list(ion_values.records([as_ion])),
        # Without version markers it is read as one stream; also in small pieces.
        list(ion_values.records([as_ion.replace(b"$ion_1_0 {Item", b"{Item")])),
        list(ion_values.records(as_ion[at : at + 7] for at in range(0, len(as_ion), 7))),
        list(json_lines.records(as_json[at : at + 7] for at in range(0, len(as_json), 7))),
    ):
        records = [each for each in found if each is not None]
        assert [canonical(each["Item"]) for each in records if not isinstance(each, Malformed)] == expected
        assert len(records) == len(expected)


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(items)
def test_canonical_size_makes_items_canonical_and_measures_them(made: dict[str, Any]) -> None:
    expected = canonical(made)
    size = canonical_size(made)
    assert made == expected and size == item_size(expected)


def test_golden_line_of_each_format() -> None:
    item = {
        "Authors": {"SS": ["Author1", "Author2"]},
        "Blob": {"B": "aGVsbG8="},
        "Blobs": {"BS": ["AA==", "AQ=="]},
        "Flag": {"BOOL": False},
        "Id": {"N": "103"},
        "List": {"L": [{"S": 'quote " back \\ line\n'}, {"N": "-1.5"}, {"NULL": True}]},
        "Map": {"M": {"in side": {"S": "ü"}, "null": {"N": "0"}, "$1": {"M": {}}, "it's": {"L": []}}},
        "Numbers": {"NS": ["1", "2.5"]},
    }
    assert ion_text.item_line(item).decode() == (
        '$ion_1_0 {Item:{Authors:$dynamodb_SS::["Author1","Author2"],Blob:{{aGVsbG8=}},'
        "Blobs:$dynamodb_BS::[{{AA==}},{{AQ==}}],Flag:false,Id:103.,"
        'List:["quote \\" back \\\\ line\\n",-1.5,null],'
        "Map:{'in side':\"ü\",'null':0.,'$1':{},'it\\'s':[]},Numbers:$dynamodb_NS::[1.,2.5]}}\n"
    )
    (read,) = ion_values.records([ion_text.item_line(item)])
    assert read == {"Item": item}
    assert json_lines.item_line(b'{"a":{"S":"x"}}') == b'{"Item":{"a":{"S":"x"}}}\n'


def test_ion_export_of_the_service() -> None:
    """The example of the developer guide: several lines per record."""
    text = b"""$ion_1_0 {
   Item:{
      Authors:$dynamodb_SS::["Author1","Author2"],
      Dimensions:"8.5 x 11.0 x 1.5",
      ISBN:"333-3333333333",
      Id:103.,
      InPublication:false,
      PageCount:6d2,
      Price:2000.
   }
}
$ion_1_0 {Item:{Id:104.}}
"""
    first, second = ion_values.records([text])
    assert isinstance(first, dict) and isinstance(second, dict)
    assert canonical(first["Item"]) == {
        "Authors": {"SS": ["Author1", "Author2"]},
        "Dimensions": {"S": "8.5 x 11.0 x 1.5"},
        "ISBN": {"S": "333-3333333333"},
        "Id": {"N": "103"},
        "InPublication": {"BOOL": False},
        "PageCount": {"N": "600"},
        "Price": {"N": "2000"},
    }
    assert second == {"Item": {"Id": {"N": "104"}}}


def test_binary_ion_is_read() -> None:
    from amazon.ion import simpleion  # noqa: PLC0415 - of this test only

    content = simpleion.dumps([{"Item": {"p": "a", "n": 1}}, {"Item": {"p": "b"}}], sequence_as_stream=True)
    assert list(ion_values.records([content])) == [
        {"Item": {"p": {"S": "a"}, "n": {"N": "1"}}},
        {"Item": {"p": {"S": "b"}}},
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"$ion_1_0 {Item:{a:2020-01-01T}}", "timestamp"),
        (b"$ion_1_0 {Item:{a:1e0}}", "float"),
        (b"$ion_1_0 {Item:{a:(b c)}}", "sexp"),
        (b"$ion_1_0 {Item:[1]}", "no struct"),
        (b"$ion_1_0 [1]", "no Ion struct"),
        (b'$ion_1_0 {Item:{a:$dynamodb_NS::[1.,"b"]}}', "another type"),
        (b"$ion_1_0 {Item:{$0:1.}}", "no name"),
        (b"$ion_1_0 {Item:{a:{$0:1.}}}", "no name"),
        (b"$ion_1_0 {Item:{a:b::{$0:1.}}}", "no name"),
        (b"$ion_1_0 {Item:{a:", "no valid Ion"),
    ],
)
def test_invalid_ion_value_is_one_error(text: bytes, reason: str) -> None:
    good = b"$ion_1_0 {Item:{Id:104.}}"
    found = list(ion_values.records([b"\n".join([good, text, good])]))
    assert [type(each) for each in found] == [dict, Malformed, dict]
    assert reason in found[1].reason  # type: ignore[union-attr]


# --- CSV -------------------------------------------------------------------------------------------


def csv(text: str, **options: Any) -> list[Any]:
    chosen = {"delimiter": ",", "headers": None, "key_types": {"p": "S", "n": "N"}, **options}
    return list(csv_rows.records([text.encode()], **chosen))


def test_csv_rows() -> None:
    assert csv('﻿p,n,q\r\na,1,"x, ""y""\n\nz"\r\nb,2\n') == [
        {"Item": {"p": {"S": "a"}, "n": {"N": "1"}, "q": {"S": 'x, "y"\n\nz'}}},
        {"Item": {"p": {"S": "b"}, "n": {"N": "2"}}},
    ]
    assert csv("a;1\n", delimiter=";", headers=["p", "n"]) == [{"Item": {"p": {"S": "a"}, "n": {"N": "1"}}}]
    assert csv("p,n\na,\n", may_be_absent=frozenset({"n"})) == [{"Item": {"p": {"S": "a"}}}]


@pytest.mark.parametrize("header", ["p,p", "p,,q", ",".join(map(str, range(256)))])
def test_invalid_csv_headers(header: str) -> None:
    (only,) = csv(f"{header}\na,b\n")
    assert isinstance(only, Malformed)


def test_invalid_csv_row_is_one_error() -> None:
    found = csv('p,n\na,1\na,1,2\nb,"2"x\nc,3\n')
    assert [type(each) for each in found] == [dict, Malformed, Malformed, dict]
    (only,) = csv('p,n\nd,"never closed\nand more\n')
    assert isinstance(only, Malformed)


# --- Bytes that are no such thing --------------------------------------------------------------------


FORMATS = ("DYNAMODB_JSON", "ION", "CSV")


def read_all(content: bytes, format_: str, packing: str) -> Iterator[Any]:
    source = InputFormat(format_, packing)
    with contextlib.suppress(InputDamaged):
        yield from ObjectReader(io.BytesIO(content), source, KeyAttributes({"p": "S"}, frozenset())).records


FRAGMENTS = (
    *(b'{"Item":{"p":{"S":"a"}}}\n', b"$ion_1_0 {Item:{p:1.}}\n", b"p,n\n", b'"', b"'", b"{{", b"}}", b"["),
    *(b"\n", b"$ion_1_0 ", b"\xe0\x01\x00\xea", b"\x00", b"\xff", b"null", b"1e", b"/*", b"//", b"'''"),
    *(b"\\", b":", b","),
)
fragments = st.sampled_from(FRAGMENTS)
garbage = st.one_of(st.binary(max_size=200), st.lists(fragments, max_size=30).map(b"".join))


@examples(150, suppress_health_check=[HealthCheck.too_slow])
@given(
    garbage,
    st.sampled_from(["DYNAMODB_JSON", "ION", "CSV"]),
    st.sampled_from(["NONE", "GZIP", "ZSTD"]),
    st.booleans(),
)
def test_garbage_is_reported_and_raises_no_other_exception(
    content: bytes, format_: str, packing: str, whole: bool
) -> None:
    if whole and packing == "GZIP":
        content = gzip.compress(content)
    elif whole and packing == "ZSTD":
        content = zstandard.ZstdCompressor().compress(content)
    for record in read_all(content, format_, packing):
        assert isinstance(record, dict | Malformed)
        if isinstance(record, dict) and "Item" in record:
            item = record["Item"]
            if type(item) is not dict or canonical_size(item) < 0:
                assert reason_of(item)


@pytest.mark.parametrize("content", ["x", '{"a":', "[", "{Item:{a:'", ",", "\x00"])
@pytest.mark.parametrize("format_", ["DYNAMODB_JSON", "ION", "CSV"])
def test_huge_record_in_a_small_file_needs_little_memory(content: str, format_: str) -> None:
    packed = gzip.compress(content.encode() + content[-1].encode() * 20_000_000, 1)
    tracemalloc.start()
    try:
        for record in read_all(packed, format_, "GZIP"):
            assert isinstance(record, dict | Malformed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * 1024 * 1024


@pytest.mark.parametrize("content", [b"\n", b" ", b"x"])
@pytest.mark.parametrize("format_", FORMATS)
def test_small_file_without_records_is_not_read_to_its_end(
    content: bytes, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_reader, "EMPTY_BYTES_MAX", 2 * 1024 * 1024)
    size = 8 * 1024 * 1024
    packed = zstandard.ZstdCompressor().compress(content * size)
    assert len(packed) < 10_000
    reader = ObjectReader(
        io.BytesIO(packed), InputFormat(format_, "ZSTD"), KeyAttributes({"p": "S"}, frozenset())
    )
    outcome = "ended"
    try:
        for record in reader.records:
            assert isinstance(record, Malformed)
            outcome = record.reason
    except InputDamaged as damage:
        outcome = str(damage)
    assert outcome != "ended"
    assert reader.bytes_read < size


def test_ion_record_of_many_lines_is_joined_once() -> None:
    """A copy for each line would take hours."""
    lines = 700_000
    content = b"$ion_1_0 {Item:{p:[\n" + b"1.,\n" * lines + b"]}}\n"
    (record,) = ion_values.records([content])
    assert isinstance(record, dict)
    assert len(record["Item"]["p"]["L"]) == lines


def without_isal() -> Any:
    return zlib.decompressobj, zlib.error, zlib.compressobj


@pytest.mark.parametrize("packing", ["GZIP", "GZIP without ISA-L", "ZSTD"])
def test_truncated_and_altered_data_is_detected(packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packing, _, without = packing.partition(" ")
    if without:
        monkeypatch.setattr(compression, "gzip_library", without_isal)
    elif packing == "GZIP":
        assert compression.gzip_library() != without_isal()
    content = b'{"Item":{"p":{"S":"a"}}}\n' * 3
    pack = gzip.compress if packing == "GZIP" else zstandard.ZstdCompressor(write_checksum=True).compress
    whole = pack(content)
    for cut in range(1, len(whole)):
        with pytest.raises(InputDamaged):
            b"".join(compression.pieces(io.BytesIO(whole[:cut]), packing))
    for at in range(len(whole)):
        if packing == "GZIP" and 4 <= at < 10:
            continue  # time and system in the header are not checked
        altered = bytes([*whole[:at], whole[at] ^ 0x41, *whole[at + 1 :]])
        with contextlib.suppress(InputDamaged):
            assert b"".join(compression.pieces(io.BytesIO(altered), packing)) == content


def test_gzip_written_with_either_library_is_read_with_both(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'{"Item":{"p":{"S":"a"}}}\n' * 50_000
    for writer in (compression.gzip_library, without_isal):
        packed = io.BytesIO()
        with monkeypatch.context() as patched:
            patched.setattr(compression, "gzip_library", writer)
            writing = compression.GzipWriter(packed)
            writing.write(content[:700_001])
            writing.write(content[700_001:])
            writing.finish()
        for reader in (compression.gzip_library, without_isal):
            with monkeypatch.context() as patched:
                patched.setattr(compression, "gzip_library", reader)
                assert b"".join(compression.pieces(io.BytesIO(packed.getvalue() * 2), "GZIP")) == content * 2


# --- Content that is hardly any ----------------------------------------------------------------------


def pauses(content: bytes, format_: str, packing: str = "NONE") -> tuple[int, list[Any]]:
    """Returns the number of pauses, and the records."""
    reader = ObjectReader(
        io.BytesIO(content), InputFormat(format_, packing), KeyAttributes({"p": "S"}, frozenset())
    )
    found = list(reader.records_and_pauses)
    return found.count(None), [each for each in found if each is not None]


def skippable(size: int) -> bytes:
    return (0x184D2A50).to_bytes(4, "little") + size.to_bytes(4, "little") + bytes(size)


EMPTY = {"GZIP": gzip.compress(b""), "ZSTD": skippable(3000)}
RECORDS = {
    "DYNAMODB_JSON": b'{"Item":{"p":{"S":"a"}}}\n',
    "ION": b'$ion_1_0 {Item:{p:"a"}}\n',
    "CSV": b"p\na\n",
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("packing", sorted(EMPTY))
def test_thousands_of_empty_members_are_skipped_with_pauses(format_: str, packing: str) -> None:
    pack = gzip.compress if packing == "GZIP" else zstandard.ZstdCompressor().compress
    record, count = pack(RECORDS[format_]), 5 * compression.EMPTY_CALLS_MAX
    empty = EMPTY[packing] * count
    paused, records = pauses(empty + record + empty, format_, packing)
    assert records == [{"Item": {"p": {"S": "a"}}}]
    assert paused >= 8


@pytest.mark.parametrize(("format_", "blank"), [("DYNAMODB_JSON", b" \n"), ("CSV", b"\n"), ("CSV", b"\r\n")])
def test_blank_lines_are_skipped_with_pauses(format_: str, blank: bytes) -> None:
    blanks = blank * (5 * json_lines.BLANKS_AT_ONCE)
    paused, records = pauses(RECORDS[format_] + blanks + RECORDS["DYNAMODB_JSON"], format_)
    assert len(records) == 2
    assert paused >= 5


def test_csv_row_with_a_pause_stays_one_row() -> None:
    content = b'p\n"a\n' + b"x" * (3 * compression.PIECE_BYTES) + b'\n\n"\n'
    paused, (record,) = pauses(content, "CSV")
    assert record == {"Item": {"p": {"S": content[3:-2].decode()}}}
    assert paused == 0  # the reader cannot stop within a row


def test_csv_row_with_too_many_pauses_is_damaged() -> None:
    empty = EMPTY["GZIP"] * (compression.EMPTY_CALLS_MAX * (csv_rows.PAUSES_IN_ROW_MAX + 1))
    content = gzip.compress(b'p\n"a\n') + empty + gzip.compress(b'b"\n')
    with pytest.raises(InputDamaged):
        pauses(content, "CSV", "GZIP")


@pytest.mark.parametrize(
    "item", [[], None, {"": {"S": "x"}}, {"p" * 70_000: {"S": "x"}}, {"p": {}}, {"p": {"S": 1}}, {"p": "x"}]
)
def test_invalid_item_has_a_reason(item: Any) -> None:
    assert type(item) is not dict or canonical_size(item) < 0
    assert reason_of(item)
