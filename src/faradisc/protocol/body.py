"""Reads a request body: decompresses it within limits and parses its JSON.

Limits: the body as sent and decompressed (16 MiB each, 413 beyond), the ratio of the two, and the depth of
the JSON (orjson rejects more than 1,024 levels; the text for deeper values is that of deep values, errors.md
section 11). A body that cannot be read is a SerializationException
without text (errors.md section 5).

orjson parses a body in one call, in which no other thread runs. A body of many tokens is parsed in pieces
instead, at a fifth of the speed, so that the event loop runs in between.

Known limits of the parser, all harmless: of two members with one name the last one counts; an integer
beyond 64 bits becomes a float; a lone surrogate escape, a number beyond the range of a double, NaN and
Infinity are rejected.
"""

from __future__ import annotations

import re
import zlib
from typing import Any

import orjson

from faradisc.errors import ApiError, SerializationException, ValidationException
from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.model.values.checks import NESTING_EXCEEDED
from faradisc.protocol.http import HttpRequest

GZIP_WINDOW = 31
"""In zlib: a window of 32 KB, gzip header and trailer."""

_GZIP_MEMBERS_MAX = 8
"""Most gzip members in one body. Clients send one; a body of a million empty ones would take minutes."""


_UNPACKED_RATIO_MAX = 100
_UNPACKED_BYTES_MIN = 1024 * 1024
"""A body may be decompressed to 1 MiB, or to 100 times its size if that is more."""

PARSED_AT_ONCE_TOKENS_MAX = 100_000
"""Commas and colons of a body that orjson parses; it takes some 10 ms for them."""
_PIECE_BYTES = 16 * 1024
ITEM_TOKENS_MAX = 1_500_000
"""Assumed: more commas and colons in a body with one item are rejected while they are read. An item of 400 KB
and its conditions have fewer."""
_BYTES_PER_BRACKET = 4
_COUNTED_BYTES = 256 * 1024
"""Looked at in one call of C code, in which no other thread runs."""
_WIDE = 4096
_DISMANTLED_LEVELS = 12
"""A container of more members, or on one of the upper levels, is emptied before it is released."""

_LEVELS_MAX = 1024
"""Nested objects and lists, orjson's limit; the other parser takes memory by the square of their number."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ROUNDS = 40
"""Levels of a body that is not taken for deep: twice those of the service, and some."""
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)
"""A string, or a bracket outside of one."""


class BodyTooLarge(Exception):
    """Raised for a body over the limit, as sent or decompressed; answered with an empty 413."""


def unpacked_body(request: HttpRequest) -> bytes:
    """Returns the body, decompressed. Raises BodyTooLarge, SerializationException."""
    body = request.body
    if len(body) > REQUEST_BODY_BYTES_MAX:
        raise BodyTooLarge
    encoding = request.headers.get(b"content-encoding")
    return body if encoding is None else unpack(body, encoding)


def read_object(body: bytes) -> dict[str, Any]:
    """Returns the JSON object in the body. Raises SerializationException, without text, for anything else."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _unreadable(body) from None
    if type(document) is not dict:
        raise SerializationException
    return document


def read_large_object(body: bytes, tokens_max: int = REQUEST_BODY_BYTES_MAX) -> dict[str, Any]:
    """Returns the JSON object in the body; other threads run while it is parsed.

    tokens_max: most commas and colons, those in strings included. Raises SerializationException, without
    text, for anything else.
    """
    tokens = _count(body, b",", b":")
    if tokens <= PARSED_AT_ONCE_TOKENS_MAX:
        return read_object(body)
    if tokens > tokens_max or _is_of_nothing(body):
        raise SerializationException
    if _is_too_deep(body):
        raise _unreadable(body)
    import ijson.backends  # noqa: PLC0415 - few servers receive such a body

    documents: list[Any] = ijson.sendable_list()
    try:
        parser = ijson.items_coro(documents, "", use_float=True)
        for start in range(0, len(body), _PIECE_BYTES):
            parser.send(body[start : start + _PIECE_BYTES])
        parser.close()
    except (ijson.JSONError, ValueError, RecursionError, StopIteration):
        raise SerializationException from None
    if len(documents) != 1 or type(documents[0]) is not dict:
        raise SerializationException
    return documents[0]


def _is_of_nothing(body: bytes) -> bool:
    """Whether a body of many tokens has more objects and lists than attribute values of its length can have.

    The shortest value is a list in a list, as in `{"L":[{"L":[]}]}`: eight bytes, of them two brackets open.
    """
    if _count(body, b"{", b"[") * _BYTES_PER_BRACKET <= len(body):
        return False
    brackets, rest = 0, b""
    for end in range(_COUNTED_BYTES, len(body) + _COUNTED_BYTES, _COUNTED_BYTES):
        bare = _STRINGS.sub(b"", rest + body[end - _COUNTED_BYTES : end])
        outside, quote, rest = bare.partition(b'"')  # a string that has not ended yet
        rest = quote + rest
        brackets += outside.count(b"{") + outside.count(b"[")
        if brackets * _BYTES_PER_BRACKET > min(end, len(body)) + (_COUNTED_BYTES if end < len(body) else 0):
            return True
    return False


def _count(body: bytes, *tokens: bytes) -> int:
    """Returns how often any of these bytes occurs; other threads run meanwhile."""
    pieces = (body[start : start + _COUNTED_BYTES] for start in range(0, len(body), _COUNTED_BYTES))
    return sum(piece.count(token) for piece in pieces for token in tokens)


def _is_too_deep(body: bytes) -> bool:
    # Without what lies between brackets, pairs go away at once in a body that is flat.
    brackets = body.translate(None, _NO_BRACKETS)
    for _ in range(_ROUNDS):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(brackets) + _ROUNDS <= _LEVELS_MAX:
            return False
    levels = 0
    for found in _BRACKETS.finditer(body):
        match body[found.start()]:
            case 0x5B | 0x7B:
                levels += 1
                if levels > _LEVELS_MAX:
                    return True
            case 0x5D | 0x7D:
                levels -= 1
    return False


def _unreadable(body: bytes) -> ApiError:
    """Returns the error of a body of maps and lists that nest too deep but are closed, or of any other."""
    if body.rstrip().endswith(b"}") and (b'"M"' in body or b'"L"' in body) and _is_too_deep(body):
        return ValidationException(NESTING_EXCEEDED)
    return SerializationException()


def dismantle(document: Any) -> None:
    """Empties nested dicts and lists piece by piece; releasing millions of objects at once stops all threads.

    Only what has many members, or is near the root, can hold millions.
    """
    containers = [(document, 0)]
    while containers:
        container, level = containers.pop()
        values = container.values() if type(container) is dict else container
        if level < _DISMANTLED_LEVELS or len(values) > _WIDE:
            if len(values) <= _WIDE:
                containers.extend((value, level + 1) for value in values if type(value) in (dict, list))
            if type(container) is dict:
                while container:
                    container.popitem()
            while container:
                del container[-_WIDE:]


def unpack(body: bytes, content_encoding: bytes) -> bytes:
    """Returns the decompressed body; holds at most one byte more than the limit.

    A body of another encoding than gzip is returned as it is, and fails as JSON. Raises BodyTooLarge;
    SerializationException, without text, for damaged or truncated gzip.
    """
    if content_encoding.strip().lower() not in (b"gzip", b"x-gzip"):
        return body
    parts: list[bytes] = []
    room = min(REQUEST_BODY_BYTES_MAX, max(_UNPACKED_BYTES_MIN, _UNPACKED_RATIO_MAX * len(body))) + 1
    rest = body
    for _ in range(_GZIP_MEMBERS_MAX):
        reader = zlib.decompressobj(GZIP_WINDOW)
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
