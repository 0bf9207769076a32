"""Answers as bytes, and their identifiers."""

from __future__ import annotations

import re

import pytest

from faradisc.clock import SeededEntropy, SystemEntropy
from faradisc.protocol.http import HttpResponse
from faradisc.protocol.response import RequestIds, encode

JSON = b"application/x-amz-json-1.0"


def test_ordinary_answer_has_the_services_headers() -> None:
    response = HttpResponse(200, b"{}", JSON, b"ID", 2745614147)
    assert encode(response, keep_alive=True, date=b"Fri, 20 Nov 2026 00:00:00 GMT") == (
        b"HTTP/1.1 200 OK\r\n"
        b"Server: Server\r\n"
        b"Date: Fri, 20 Nov 2026 00:00:00 GMT\r\n"
        b"Content-Type: application/x-amz-json-1.0\r\n"
        b"Content-Length: 2\r\n"
        b"Connection: keep-alive\r\n"
        b"x-amzn-RequestId: ID\r\n"
        b"x-amz-crc32: 2745614147\r\n"
        b"\r\n{}"
    )


def test_extra_headers_change_nothing_else() -> None:
    plain = HttpResponse(400, b"100%", JSON, b"ID", 1)
    with_extra = HttpResponse(400, b"100%", JSON, b"ID", 1, ((b"X-A", b"%b"),))
    expected = encode(plain, keep_alive=False, date=b"D").replace(b"\r\n\r\n", b"\r\nX-A: %b\r\n\r\n")
    assert encode(with_extra, keep_alive=False, date=b"D") == expected
    assert b"Connection: close\r\n" in expected


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (200, b"200 OK"),
        (400, b"400 Bad Request"),
        (404, b"404 Not Found"),
        (413, b"413 Request Entity Too Large"),
        (500, b"500 Internal Server Error"),
        (503, b"503 Service Unavailable"),
        (799, b"799 Unknown"),
    ],
)
def test_status_line(status: int, line: bytes) -> None:
    head = encode(HttpResponse(status, b"", None, None, None), keep_alive=True, date=b"D")
    assert head == (
        b"HTTP/1.1 %b\r\nServer: Server\r\nDate: D\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"
        % line
    )


def test_request_ids_look_like_the_services_and_do_not_repeat() -> None:
    ids = RequestIds(SystemEntropy())
    drawn = [ids.next() for _ in range(1000)]
    assert len(set(drawn)) == 1000
    assert all(re.fullmatch(rb"[0-9A-V]{52}", request_id) for request_id in drawn)


def test_request_ids_follow_the_entropy() -> None:
    first, second = RequestIds(SeededEntropy(7)), RequestIds(SeededEntropy(7))
    assert [first.next() for _ in range(300)] == [second.next() for _ in range(300)]


def test_request_ids_use_every_letter_equally_often() -> None:
    ids = RequestIds(SeededEntropy(1))
    counts: dict[int, int] = {}
    for letter in b"".join(ids.next() for _ in range(2000)):
        counts[letter] = counts.get(letter, 0) + 1
    assert len(counts) == 32
    assert max(counts.values()) < 1.2 * min(counts.values())
