"""Reads HTTP requests from the bytes of one connection, on httptools. Does no I/O.

States, and every change between them: the tables below. A request that breaks a rule leads to REJECTED; the
requests before it are answered first, then `rejection` is (connection.py). In LAST and REJECTED nothing is
parsed.

Not done here: HTTP/2 (an `Upgrade: h2c` is ignored, as RFC 9110 section 7.8 allows), trailers (dropped),
compressed bodies (`protocol/body.py`).
"""

from __future__ import annotations

import logging
from collections import deque
from http import HTTPStatus
from typing import Final, Literal

import httptools

from faradisc.limits import KB, REQUEST_BODY_BYTES_MAX
from faradisc.protocol.http import IN_PROCESS, HttpRequest

_log = logging.getLogger(__name__)

HEAD_BYTES_MAX = 64 * KB
"""Request line and headers. SDKs send about 1 KB; a session token can add several."""
HEADERS_MAX = 100
TARGET_BYTES_MAX = 16 * KB
FRAMED_BYTES_MAX = 8 * REQUEST_BODY_BYTES_MAX
"""A chunked body with its framing: enough for a full body in chunks of one byte."""

State = Literal["idle", "head", "body", "last", "rejected"]

IDLE: Final = "idle"
"""No part of the next request has arrived."""
HEAD: Final = "head"
"""A part of a request's head has arrived."""
BODY: Final = "body"
"""A request's head and perhaps a part of its body have arrived."""
LAST: Final = "last"
"""The last request of the connection has arrived."""
REJECTED: Final = "rejected"
"""A request breaks a rule, or comes at a bad time."""

ON_MESSAGE_BEGIN: Final[dict[State, State]] = {IDLE: HEAD}
ON_HEADERS_COMPLETE: Final[dict[State, State]] = {HEAD: BODY}
ON_MESSAGE_COMPLETE: Final[dict[State, State]] = {BODY: IDLE}
ON_LAST_MESSAGE_COMPLETE: Final[dict[State, State]] = {BODY: LAST}
ON_END_OF_INPUT: Final[dict[State, State]] = {
    IDLE: LAST,
    HEAD: REJECTED,
    BODY: REJECTED,
    LAST: LAST,
    REJECTED: REJECTED,
}
ON_REJECTION: Final[dict[State, State]] = {IDLE: REJECTED, HEAD: REJECTED, BODY: REJECTED}
ON_UPGRADE: Final[dict[State, State]] = {BODY: IDLE}

UNFINISHED: Final = (HEAD, BODY)
ENDED: Final = (LAST, REJECTED)

_METHODS = {name.encode(): name for name in ("POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH")}


class _Rejected(Exception):
    """Raised in a callback to stop the parser."""


class RequestReader:
    """Turns bytes into requests; the parser calls its `on_...` methods."""

    __slots__ = (
        "_arriving",
        "_body",
        "_fed",
        "_headers",
        "_parser",
        "_target",
        "_tick",
        "_upgrade",
        "awaits_continue",
        "body_began",
        "head_began",
        "peer",
        "rejection",
        "requests",
        "state",
    )

    def __init__(self) -> None:
        self.requests: deque[HttpRequest] = deque()
        """Whole requests; the connection takes them from the left."""
        self.state: State = IDLE
        self.rejection = HTTPStatus.OK
        """The status of the rejection, in REJECTED."""
        self.head_began = 0
        """The tick when the first byte of the request's head arrived, in HEAD."""
        self.body_began = 0
        """The tick when the head was complete, in BODY."""
        self.awaits_continue = False
        """Whether the client waits for `100 Continue` before it sends the body."""
        self.peer = IN_PROCESS
        self._parser = httptools.HttpRequestParser(self)
        self._tick = 0
        self._fed = 0
        """Bytes since the last request ended (those in its own last chunk are not counted)."""
        self._target = b""
        self._arriving: dict[bytes, bytes] = {}
        """Headers until the head is complete, then trailers, which are dropped."""
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | bytearray = b""
        self._upgrade = False

    @property
    def body_bytes(self) -> int:
        """Size of the unfinished body."""
        return len(self._body)

    def feed(self, data: bytes, tick: int) -> None:
        """Parses what the client has sent. May add requests, and may end in REJECTED."""
        self._tick = tick
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on_without_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if self.state not in ENDED:  # else: rejected by a callback, or bytes after the last request
                self.reject(HTTPStatus.BAD_REQUEST)
                if isinstance(error, httptools.HttpParserCallbackError):
                    _log.error("a callback of the HTTP parser failed", exc_info=error)
        if self.state is not IDLE:
            self._check_size()

    def close(self) -> None:
        """Drops the parser, which refers to this object; nothing may be fed afterwards."""
        del self._parser

    def feed_eof(self) -> None:
        """The client sends nothing more: an unfinished request is rejected."""
        if self.state in UNFINISHED:
            self.rejection = HTTPStatus.BAD_REQUEST
        self.state = ON_END_OF_INPUT[self.state]

    def reject(self, status: HTTPStatus) -> None:
        """Ends reading; what of the request has arrived is dropped."""
        self.state = ON_REJECTION[self.state]
        self.rejection = status
        self._body = b""

    def _check_size(self) -> None:
        """Rejects an unfinished request that is too large already."""
        if self.state is HEAD:
            if self._fed > HEAD_BYTES_MAX:
                self.reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self.state is BODY:
            if len(self._arriving) > HEADERS_MAX:
                self.reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            elif self._fed > FRAMED_BYTES_MAX:
                self.reject(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    # --- The parser's callbacks ------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self.state = ON_MESSAGE_BEGIN[self.state]
        self.head_began = self._tick

    def on_url(self, piece: bytes) -> None:
        self._target = self._target + piece if self._target else piece

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in self._arriving and name == b"host":
            self._stop(HTTPStatus.BAD_REQUEST)
        self._arriving[name] = value

    def on_headers_complete(self) -> None:
        headers = self._headers = self._arriving
        self._arriving = {}
        if self._fed > HEAD_BYTES_MAX:
            head = len(self._target) + sum(len(name) + len(value) + 4 for name, value in headers.items())
            if head > HEAD_BYTES_MAX:
                self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if len(headers) > HEADERS_MAX:
            self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if b"host" not in headers and self._parser.get_http_version() != "1.0":
            self._stop(HTTPStatus.BAD_REQUEST)  # RFC 9112 section 3.2, as for two
        if len(self._target) > TARGET_BYTES_MAX:
            self._stop(HTTPStatus.REQUEST_URI_TOO_LONG)
        if int(headers.get(b"content-length", 0)) > REQUEST_BODY_BYTES_MAX:
            self._stop(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if b"upgrade" in headers or b"expect" in headers:
            self._upgrade = self._parser.should_upgrade()
            self.awaits_continue = headers.get(b"expect", b"").lower() == b"100-continue"
        self.state = ON_HEADERS_COMPLETE[self.state]
        self.body_began = self._tick

    def on_body(self, piece: bytes) -> None:
        body = self._body
        if not body:
            self._body = piece
        else:
            if isinstance(body, bytes):
                self._body = body = bytearray(body)
            body += piece  # in place: a small piece does not cost an object
        self.awaits_continue = False
        if len(self._body) > REQUEST_BODY_BYTES_MAX:
            self._stop(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def on_message_complete(self) -> None:
        if self._upgrade:
            return
        parser = self._parser
        method = _METHODS.get(parser.get_method())
        if method is None:
            method = parser.get_method().decode("latin-1")
            if method == "CONNECT":  # the parser reports an upgrade
                return
        body = self._body
        if not isinstance(body, bytes):
            body = bytes(body)
        self.requests.append(HttpRequest(method, self._target, self._headers, body, self.peer))
        changes = ON_MESSAGE_COMPLETE if parser.should_keep_alive() else ON_LAST_MESSAGE_COMPLETE
        self.state = changes[self.state]
        self._forget_request()

    def _forget_request(self) -> None:
        self._fed = 0
        self._target = self._body = b""
        if self._arriving:
            self._arriving = {}
        self.awaits_continue = self._upgrade = False

    def _stop(self, status: HTTPStatus) -> None:
        """Rejects the request from a callback."""
        self.reject(status)
        raise _Rejected

    # --- Upgrades --------------------------------------------------------------------------------

    def _read_on_without_upgrade(self, rest: bytes) -> None:
        """Ignores an upgrade: reads the same request again without its Upgrade header.

        llhttp stops after the head of such a request and skips its body. So a new parser gets the head
        without the headers Upgrade and Connection, and then `rest`, which followed it.
        """
        parser = self._parser
        method = parser.get_method()
        if method == b"CONNECT":
            self.reject(HTTPStatus.BAD_REQUEST)
            return
        head = [b"%b %b HTTP/%b\r\n" % (method, self._target, parser.get_http_version().encode())]
        head += (
            b"%b: %b\r\n" % pair
            for pair in self._headers.items()
            if pair[0] not in (b"upgrade", b"connection")
        )
        if b"close" in self._headers.get(b"connection", b"").lower():
            head.append(b"connection: close\r\n")
        head.append(b"\r\n")
        self.state = ON_UPGRADE[self.state]
        self._forget_request()
        self._parser = httptools.HttpRequestParser(self)
        self.feed(b"".join(head) + rest, self._tick)
