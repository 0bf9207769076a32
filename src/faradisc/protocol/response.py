"""Encodes an answer in HTTP/1.1, with a template per kind of answer.

Headers of every answer after the body was read (errors.md section 1): `x-amzn-RequestId`, `x-amz-crc32`,
`Content-Type`, `Content-Length`, `Date`, `Server: Server`.
"""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus

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
