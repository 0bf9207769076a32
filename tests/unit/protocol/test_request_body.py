"""Bodies: JSON and gzip, and their limits."""

from __future__ import annotations

import gzip
import random
import zlib
from typing import Any

import pytest

from faradisc.errors import SerializationException
from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.protocol import body


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"{]",
        b'{"a":1,}',
        b"{} {}",
        b'{"a":NaN}',
        b'{"a":1e999}',
        b"[]",
        b"null",
        b"1",
        b'"TableName"',
        b"\xff",
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\\ud800"}',
        b"\xef\xbb\xbf{}",
        b'{"a":' * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_body_that_is_not_an_object_is_rejected_without_text(text: bytes) -> None:
    with pytest.raises(SerializationException) as caught:
        body.read_object(text)
    assert caught.value.message is None


def test_last_of_two_equal_members_counts() -> None:
    assert body.read_object(b'{"a":1,"a":2}') == {"a": 2}


def test_integers_beyond_64_bits_become_floats() -> None:
    assert body.read_object(b'{"a":123456789012345678901234567890}') == {"a": 1.2345678901234568e29}


def test_gzip_body_is_decompressed() -> None:
    assert body.unpack(gzip.compress(b"{}", mtime=0), b"gzip") == b"{}"
    two_members = gzip.compress(b'{"a"', mtime=0) + gzip.compress(b":1}", mtime=0)
    assert body.unpack(two_members, b" GZIP ") == b'{"a":1}'


def test_other_encodings_are_passed_through() -> None:
    assert body.unpack(b"{}", b"identity") == b"{}"


def incompressible(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def test_largest_decompressed_body_is_accepted() -> None:
    largest = incompressible(REQUEST_BODY_BYTES_MAX)
    assert body.unpack(gzip.compress(largest, 1), b"gzip") == largest
    with pytest.raises(body.BodyTooLarge):
        body.unpack(gzip.compress(largest + b" ", 1), b"gzip")


def test_body_is_decompressed_to_a_hundred_times_its_size_at_most() -> None:
    assert len(body.unpack(gzip.compress(bytes(1024 * 1024)), b"gzip")) == 1024 * 1024
    with pytest.raises(body.BodyTooLarge):
        body.unpack(gzip.compress(bytes(4 * 1024 * 1024)), b"gzip")


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":[%b]}' % b",".join([b'{"N":"1"}'] * 120_000),
        b"{%b}" % b",".join(b'"n%d":{"S":"\\u00e9\xc3\xa9\\ud83d\\ude00"}' % n for n in range(60_000)),
        b'{"a":[%b,1.5,-2,1e3,true,false,null,"",{},[]]}' % b",".join([b"0"] * 120_000),
    ],
)
def test_bodies_of_many_tokens_are_read_as_others_are(text: bytes) -> None:
    assert body.read_large_object(text) == body.read_object(text)


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"0," * 120_000 + b"0]",
        b'{"a":[' + b"0," * 120_000 + b"0]",
        b'{"a":[' + b"0," * 120_000 + b"0]}{}",
        b'{"a":[' + b"0," * 120_000 + b"]}",
        b'{"a":[' + b"0," * 120_000 + b'"\xff"]}',
    ],
    ids=["no object", "cut off", "two documents", "a comma too many", "not UTF-8"],
)
def test_bodies_of_many_tokens_that_are_no_object_are_rejected(text: bytes) -> None:
    with pytest.raises(SerializationException):
        body.read_large_object(text)


def test_dismantle_empties_every_container() -> None:
    inner: list[Any] = [{"a": [1, "x"]}, []]
    document = {"b": inner, "c": {"d": {}}, "e": 1}
    body.dismantle(document)
    assert (document, inner) == ({}, [])


def test_decompression_bomb_is_rejected_across_members() -> None:
    half = gzip.compress(bytes(REQUEST_BODY_BYTES_MAX // 2 + 1))
    with pytest.raises(body.BodyTooLarge):
        body.unpack(half + half, b"gzip")


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"{}",
        gzip.compress(b"{}", mtime=0)[:-1],
        gzip.compress(b"{}", mtime=0) + b"rest",
        zlib.compress(b"{}"),
        gzip.compress(b"", mtime=0) * 9,
    ],
)
def test_damaged_gzip_is_rejected_without_text(packed: bytes) -> None:
    with pytest.raises(SerializationException) as caught:
        body.unpack(packed, b"gzip")
    assert caught.value.message is None


NOTHING = b'{"a":[' + b"{}," * 200_000 + b"{}]}"


def test_body_with_more_objects_than_values_can_have_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ijson.items_coro", None)  # would raise a TypeError
    for text in (NOTHING, NOTHING[:-1], b'{"a":' + b"[" * 200_000 + b"," * 200_000):
        with pytest.raises(SerializationException):
            body.read_large_object(text)


def test_brackets_in_strings_do_not_count() -> None:
    text = b'{"a":[' + b'"{[{[,:", ' * 60_000 + b"1]}"
    assert body.read_large_object(text) == body.read_object(text)


@pytest.mark.parametrize(
    "value", [b'{"L":[]}', b'{"M":{}}', b'{"L":[{"L":[{"L":[{"M":{"a":{"L":[]}}}]}]}]}', b'{"S":""}']
)
@pytest.mark.parametrize("count", [20_000, pytest.param(120_000, marks=pytest.mark.slow)])
def test_shortest_attribute_values_are_parsed(value: bytes, count: int) -> None:
    text = b'{"Item":{"a":{"L":[' + b",".join([value] * count) + b"]}}}"
    assert body.read_large_object(text) == body.read_object(text)


def test_body_of_one_item_has_a_bound_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'{"a":[' + b"1," * 200_000 + b"1]}"
    assert body.read_large_object(text, 200_001) == body.read_object(text)
    with pytest.raises(SerializationException):
        body.read_large_object(text, 200_000)
