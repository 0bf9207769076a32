"""One HTTP request and one HTTP answer as values, and the identifiers of answers.

`server/` and `local/` make an `HttpRequest` of what they read; `response.encode` turns an `HttpResponse`
into bytes. Nothing between them uses a socket.
"""

from __future__ import annotations

from binascii import b2a_base64
from dataclasses import dataclass, field

from faradisc.clock import Entropy

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(slots=True, unsafe_hash=True)
class Peer:
    """The other end of a connection, where its requests come from."""

    address: str = ""
    """The client's, without its port; "" in the same process."""
    is_tls: bool = False
    has_left: bool = field(default=False, compare=False)
    """It has closed the connection, or its own direction of it, and may read nothing more."""


IN_PROCESS = Peer()


@dataclass(slots=True)
class HttpRequest:
    """A whole request; the body is not decompressed.

    `target` is the request target as sent, path and query (`b"/"`, `b"/?X-Amz-Algorithm=..."`).
    `headers` has lower-case names; of a repeated header it holds the last value.
    """

    method: str
    target: bytes
    headers: dict[bytes, bytes]
    body: bytes
    peer: Peer = IN_PROCESS


@dataclass(slots=True)
class HttpResponse:
    """An answer before `response.encode`.

    `body` is as sent (compressed where `extra` says so); `crc32` is its checksum.
    """

    status: int
    body: bytes
    content_type: bytes | None
    request_id: bytes | None
    crc32: int | None
    extra: Headers = ()


BUSY = HttpResponse(503, b"", None, None, None, ((b"Retry-After", b"1"),))
"""The service's answer under overload (errors.md section 1); the request was not begun."""


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
