"""A request body: unpacked, bounded, and read as JSON.

Bounds: the body as sent and as unpacked (16 MiB each, 413 beyond), and the depth of the JSON (orjson
refuses more than 1,024 levels). Whatever cannot be read is a SerializationException without text
(errors.md section 5).

Known limits of the reader, all harmless: of two members with one name the last stands; an integer
beyond 64 bits arrives as a float; a lone surrogate escape, a number beyond the range of a double, NaN and
Infinity are refused.
"""

from __future__ import annotations

import zlib
from typing import Any

import orjson

from faradisc.errors import SerializationException
from faradisc.limits import REQUEST_BODY_BYTES_MAX

_GZIP_WINDOW = 31
"""zlib's way to say: 32 KB window, gzip header and trailer."""

_GZIP_MEMBERS_MAX = 8
"""Gzip members in one body. Every client sends one; a body of a million empty ones would cost minutes."""


class BodyTooLarge(Exception):
    """The body is over the limit, as sent or unpacked. Answered with an empty 413."""


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in the body.

    Raises: SerializationException, without text, for anything that is not one.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise SerializationException from None
    if type(document) is not dict:
        raise SerializationException
    return document


def unpack(body: bytes, content_encoding: bytes) -> bytes:
    """The body behind `Content-Encoding`. Never holds more than the limit plus one byte of output.

    Raises: BodyTooLarge; SerializationException, without text, for broken or cut-off gzip. Encodings other
    than gzip are passed through, and fail as JSON.
    """
    if content_encoding.strip().lower() not in (b"gzip", b"x-gzip"):
        return body
    parts: list[bytes] = []
    room = REQUEST_BODY_BYTES_MAX + 1
    rest = body
    for _ in range(_GZIP_MEMBERS_MAX):
        reader = zlib.decompressobj(_GZIP_WINDOW)
        try:
            part = reader.decompress(rest, room)
        except zlib.error:
            raise SerializationException from None
        parts.append(part)
        room -= len(part)
        if room <= 0:
            raise BodyTooLarge
        if not reader.eof:
            raise SerializationException
        rest = reader.unused_data
        if not rest:
            return b"".join(parts)
    raise SerializationException
