"""Bodies: JSON and gzip, bounded."""

from __future__ import annotations

import gzip
import zlib

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
def test_what_is_no_object_is_refused_without_text(text: bytes) -> None:
    with pytest.raises(SerializationException) as caught:
        body.read_object(text)
    assert caught.value.message is None


def test_last_of_two_members_stands() -> None:
    assert body.read_object(b'{"a":1,"a":2}') == {"a": 2}


def test_numbers_too_large_for_an_integer_arrive_as_floats() -> None:
    assert body.read_object(b'{"a":123456789012345678901234567890}') == {"a": 1.2345678901234568e29}


def test_gzip_is_unpacked() -> None:
    assert body.unpack(gzip.compress(b"{}", mtime=0), b"gzip") == b"{}"
    two_members = gzip.compress(b'{"a"', mtime=0) + gzip.compress(b":1}", mtime=0)
    assert body.unpack(two_members, b" GZIP ") == b'{"a":1}'


def test_other_encodings_are_passed_through() -> None:
    assert body.unpack(b"{}", b"identity") == b"{}"


def test_largest_unpacked_body() -> None:
    assert len(body.unpack(gzip.compress(bytes(REQUEST_BODY_BYTES_MAX)), b"gzip")) == REQUEST_BODY_BYTES_MAX
    with pytest.raises(body.BodyTooLarge):
        body.unpack(gzip.compress(bytes(REQUEST_BODY_BYTES_MAX + 1)), b"gzip")


def test_bomb_is_refused_across_members() -> None:
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
def test_broken_gzip_is_refused_without_text(packed: bytes) -> None:
    with pytest.raises(SerializationException) as caught:
        body.unpack(packed, b"gzip")
    assert caught.value.message is None
