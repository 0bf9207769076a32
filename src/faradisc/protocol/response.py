"""Encodes an answer in HTTP/1.1, with a template per kind of answer, and makes the identifiers of answers.

Headers of every answer after the body was read (errors.md section 1): `x-amzn-RequestId`, `x-amz-crc32`,
`Content-Type`, `Content-Length`, `Date`, `Server: Server`.
"""

from __future__ import annotations

from binascii import b2a_base64
from functools import lru_cache
from http import HTTPStatus

from faradisc.clock import Entropy
from faradisc.protocol.http import HttpResponse


def encode(response: HttpResponse, *, keep_alive: bool, date: bytes, with_body: bool = True) -> bytes:
    """Returns the bytes of an answer, or of its head.

    date: the Date header's value, which the caller renews every second.
    """
    request_id = response.request_id
    crc32 = response.crc32
    body = response.body
    if request_id is not None and crc32 is not None and not response.extra:
        template = _full_template(response.status, response.content_type, keep_alive)
        return template % (date, len(body), request_id, crc32, body if with_body else b"")
    return _encode_rare(response, keep_alive, date, with_body=with_body)


@lru_cache(maxsize=256)
def _full_template(status: int, content_type: bytes | None, keep_alive: bool) -> bytes:
    """Returns the template of an ordinary answer, for `%` with date, length, request id, checksum, body."""
    return b"".join(
        (
            _status_line(status).replace(b"%", b"%%"),
            b"Server: Server\r\nDate: %b\r\n",
            b"" if content_type is None else b"Content-Type: " + content_type.replace(b"%", b"%%") + b"\r\n",
            b"Content-Length: %d\r\nConnection: ",
            b"keep-alive" if keep_alive else b"close",
            b"\r\nx-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\n\r\n%b",
        )
    )


def _encode_rare(response: HttpResponse, keep_alive: bool, date: bytes, *, with_body: bool) -> bytes:
    lines = [_status_line(response.status), b"Server: Server\r\nDate: ", date, b"\r\n"]
    if response.content_type is not None:
        lines += (b"Content-Type: ", response.content_type, b"\r\n")
    lines.append(b"Content-Length: %d\r\n" % len(response.body))
    lines.append(b"Connection: keep-alive\r\n" if keep_alive else b"Connection: close\r\n")
    if response.request_id is not None:
        lines += (b"x-amzn-RequestId: ", response.request_id, b"\r\n")
    if response.crc32 is not None:
        lines.append(b"x-amz-crc32: %d\r\n" % response.crc32)
    for name, value in response.extra:
        lines += (name, b": ", value, b"\r\n")
    lines += (b"\r\n", response.body if with_body else b"")
    return b"".join(lines)


@lru_cache(maxsize=64)
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    return b"HTTP/1.1 %d %b\r\n" % (status, phrase.encode())


class RequestIds:
    """Makes unpredictable identifiers of answers: 52 characters of `0-9A-V`, 5 random bits each.

    Random bytes are read for many identifiers at once, which makes one cost about 0.1 us. Two base64
    characters each (6 bits) map to one of the 32 letters, so all letters are equally likely.
    """

    __slots__ = ("_entropy", "_ready")

    _PER_DRAW = 128
    _LENGTH = 52
    _BYTES = _LENGTH * 6 // 8
    _FOLD = bytes.maketrans(
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        b"0123456789ABCDEFGHIJKLMNOPQRSTUV" * 2,
    )

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._ready: list[bytes] = []

    def next(self) -> bytes:
        if not self._ready:
            self._draw()
        return self._ready.pop()

    def _draw(self) -> None:
        drawn = self._entropy.token_bytes(self._BYTES * self._PER_DRAW)
        letters = b2a_base64(drawn, newline=False).translate(self._FOLD)
        self._ready = [letters[at : at + self._LENGTH] for at in range(0, len(letters), self._LENGTH)]
