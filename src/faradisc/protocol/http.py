"""One HTTP request and one HTTP answer as values.

`server/` and `local/` make an `HttpRequest` of what they read; `response.encode` turns an `HttpResponse`
into bytes. Nothing between them uses a socket.
"""

from __future__ import annotations

from faradisc.records import dataclass, field

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


CLOSED, WITHHELD = (HttpResponse(status, b"", None, None, None) for status in (0, -1))
"""No answers: the connection is closed, or stays open without one (operations/faults.py)."""
BUSY = HttpResponse(503, b"", None, None, None, ((b"Retry-After", b"1"),))
"""The service's answer under overload (errors.md section 1); the request was not begun."""
