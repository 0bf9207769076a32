"""One client's connection: HTTP/1.0 and 1.1 on httptools, answers in the order of the requests.

    bytes -> parser -> queue of whole requests -> one at a time: handler -> bytes

Invariants.
1. One request of a connection runs at a time, and its answer is written before the next one starts. So
   pipelined answers are in order, and a client reads its own writes.
2. While a whole request waits in the queue, reading is paused. A connection then holds at most the request
   that runs, one chunk's worth of parsed ones, one answer and the transport's buffer; while none waits, at
   most the running request and the one being read (16 MiB each). All connections together hold no more
   than load.py allows.
3. After `_final` or a refusal nothing more is parsed.
4. The parser calls back into this object; no callback runs a request, so an error in the middle of a chunk
   is answered after the whole requests before it.

Refusals (bad HTTP, too large, too slow) have an empty body, as the service's own HTTP 413 has
(capacity.md 2.0). They are followed by a half-close, and what the client still sends is read and thrown
away for a while: closing with unread bytes would reset the connection, and the client would see the reset
instead of the answer.

Times are counted in ticks, about a second each, so a request costs no look at a clock and no timer.

Not done here: TLS (the transport's), HTTP/2 (an `Upgrade: h2c` is ignored, as RFC 9110 section 7.8
allows), trailers (dropped), compressed bodies (the front door's, `protocol/body.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

import httptools

from faradisc.limits import KB, MB, REQUEST_BODY_BYTES_MAX
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.response import encode
from faradisc.server.driver import PENDING, start
from faradisc.server.load import BUSY, COUNTED_BYTES_MIN, Load

_log = logging.getLogger(__name__)

HEAD_BYTES_MAX = 64 * KB
"""Request line and headers. SDKs send about 1 KB; a session token can add several."""
HEADERS_MAX = 100
TARGET_BYTES_MAX = 16 * KB
FRAMED_BYTES_MAX = 8 * REQUEST_BODY_BYTES_MAX
"""A chunked body with its framing: room for a full body in chunks of one byte."""

IDLE_TICKS_MAX = 600
"""A connection without a request. Long, because a client that reuses one just as it closes sees an error."""
HEAD_TICKS_MAX = 60
"""From the first byte of a request to the end of its headers."""
STALL_TICKS_MAX = 60
"""Without a byte of a body arriving, or of an answer leaving."""
BODY_TICKS_MAX = 600
"""From the end of the headers to the end of the body."""

LINGER_TICKS_MAX = 10
LINGER_BYTES_MAX = 64 * MB
"""How long and how much is read and thrown away after a refusal."""

WRITE_BUFFER_BYTES = 256 * KB
"""Above this much unsent, the connection runs no further request."""
REQUESTS_PER_TURN = 32
"""Pipelined requests answered before other connections get their turn."""

Handler = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]

_METHODS = {name.encode(): name for name in ("POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH")}

_IDLE, _HEAD, _BODY, _LINGERING = range(4)

_FAILED = HttpResponse(500, b"", None, None, None)


@dataclass(slots=True)
class Shared:
    """What the connections of one listener share."""

    handle: Handler
    date: bytes = b""
    """Value of the Date header, renewed every tick."""
    ticks: int = 0
    draining: bool = False
    load: Load = field(default_factory=Load)
    connections: set[Connection] = field(default_factory=set)
    waiting: int = 0
    """Requests that wait for the store, also those whose client has gone."""
    on_quiet: Callable[[], None] = lambda: None
    """Called when a connection or a waiting request ended."""


class _Refused(Exception):
    """Raised inside a parser callback to stop the parser; the status stands in `_refusal`."""


class Connection(asyncio.Protocol):
    __slots__ = (
        "_arriving",
        "_body",
        "_expects",
        "_fed",
        "_final",
        "_headers",
        "_held",
        "_method",
        "_parser",
        "_queue",
        "_reading",
        "_refusal",
        "_running",
        "_shared",
        "_since",
        "_stage",
        "_started",
        "_target",
        "_transport",
        "_turned_away",
        "_unsent",
        "_upgrade",
        "_writable",
    )

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._transport: asyncio.Transport | None = None
        """None before the connection is made and after it is lost."""
        self._parser: httptools.HttpRequestParser | None = None
        self._queue: deque[HttpRequest] = deque()
        self._running = False
        """A request waits for the store, or the queue waits for its next turn."""
        self._method = ""
        """Of the request that waits."""
        self._writable = True
        self._reading = True
        self._final = False
        """The last request of this connection is in the queue, or running, or answered."""
        self._refusal = 0
        """HTTP status to refuse the connection with, once the queue is empty."""
        self._stage = _IDLE
        self._since = shared.ticks
        """Ticks when the present stage began or last made progress."""
        self._started = 0
        """Ticks when the body began; bytes thrown away while lingering."""
        self._unsent = 0
        """Bytes in the transport's buffer when the listener last looked."""
        self._held = 0
        """Bytes of this connection that are counted among those of all (load.py)."""
        self._turned_away = False
        # The request being read:
        self._fed = 0
        """Bytes since the last request ended (those in its own last chunk are not counted)."""
        self._target = b""
        self._arriving: dict[bytes, bytes] = {}
        """Headers, until they are complete; then trailers, which nobody wants."""
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | bytearray = b""
        self._expects = False
        self._upgrade = False

    # --- The transport's calls -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._parser = httptools.HttpRequestParser(self)
        shared = self._shared
        shared.connections.add(self)
        load = shared.load
        if len(shared.connections) - load.turned_away > load.connections_max:
            load.shed += 1
            load.turned_away += 1
            self._turned_away = True
            self._refusal = HTTPStatus.SERVICE_UNAVAILABLE
            if load.turned_away > load.connections_max:
                self._abort()  # each refusal lingers until its client has read it: these are too many
            else:
                self._end_with_refusal()

    def connection_lost(self, exc: Exception | None) -> None:
        """Requests not begun are dropped; one that runs goes on, and its answer is dropped."""
        self._transport = None
        self._parser = None
        self._queue.clear()
        self._hold(0)
        self._shared.connections.discard(self)
        self._shared.load.turned_away -= self._turned_away
        self._shared.on_quiet()

    def data_received(self, data: bytes) -> None:
        if self._final or self._refusal:
            self._throw_away(len(data))
            return
        self._fed += len(data)
        try:
            assert self._parser is not None
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on_without_upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError as error:
            self._stop_reading(error)
        if self._stage != _IDLE and not self._refusal:
            self._check_unfinished()
        if not self._running:
            self._run_queue()
        elif self._queue:
            self._pause_reading()

    def eof_received(self) -> bool:
        """The client will send no more. Returns True to keep the other direction open for its answers."""
        if self._stage == _LINGERING:
            return False
        if self._stage != _IDLE and not self._refusal:
            self._refusal = HTTPStatus.BAD_REQUEST
        self._final = True
        if self._running or self._queue:
            return True
        if self._refusal:
            self._run_queue()
        return False

    def pause_writing(self) -> None:
        self._writable = False
        self._unsent = 0
        self._since = self._shared.ticks
        if self._transport is not None and not self._hold(self._transport.get_write_buffer_size()):
            self._shared.load.shed += 1
            self._abort()

    def resume_writing(self) -> None:
        self._writable = True
        self._hold(0)
        if not self._running:
            self._run_queue()

    # --- The parser's calls ----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._stage = _HEAD
        self._since = self._shared.ticks

    def on_url(self, piece: bytes) -> None:
        self._target = self._target + piece if self._target else piece

    def on_header(self, name: bytes, value: bytes) -> None:
        self._arriving[name.lower()] = value

    def on_headers_complete(self) -> None:
        headers = self._headers = self._arriving
        self._arriving = {}
        if self._fed > HEAD_BYTES_MAX:
            head = len(self._target) + sum(len(name) + len(value) + 4 for name, value in headers.items())
            if head > HEAD_BYTES_MAX:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if len(headers) > HEADERS_MAX:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if len(self._target) > TARGET_BYTES_MAX:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG)
        if int(headers.get(b"content-length", 0)) > REQUEST_BODY_BYTES_MAX:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if b"upgrade" in headers or b"expect" in headers:
            assert self._parser is not None
            self._upgrade = self._parser.should_upgrade()
            self._expects = headers.get(b"expect", b"").lower() == b"100-continue"
        self._stage = _BODY
        self._since = self._started = self._shared.ticks

    def on_body(self, piece: bytes) -> None:
        body = self._body
        if not body:
            self._body = piece
        else:
            if isinstance(body, bytes):
                self._body = body = bytearray(body)
            body += piece  # in place: many small pieces must not cost an object each
        if len(self._body) > REQUEST_BODY_BYTES_MAX:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def on_message_complete(self) -> None:
        if self._upgrade:
            return
        parser = self._parser
        assert parser is not None
        method = _METHODS.get(parser.get_method())
        if method is None:
            method = parser.get_method().decode("latin-1")
            if method == "CONNECT":  # another kind of upgrade
                return
        body = self._body
        if not isinstance(body, bytes):
            body = bytes(body)
        self._queue.append(HttpRequest(method, self._target, self._headers, body))
        if not parser.should_keep_alive():
            self._final = True
        self._forget_request()

    def _forget_request(self) -> None:
        """Be ready to read the next request."""
        self._stage = _IDLE
        self._fed = 0
        self._target = self._body = b""
        if self._arriving:
            self._arriving = {}
        self._expects = self._upgrade = False

    def _refuse(self, status: HTTPStatus) -> None:
        """Stop the parser from one of its own calls."""
        self._refusal = status
        raise _Refused

    # --- Reading ---------------------------------------------------------------------------------

    def _stop_reading(self, error: httptools.HttpParserError) -> None:
        """The parser gave up: for a refusal of ours, for bytes after the last request, for bad HTTP."""
        if not self._refusal and not self._final:
            self._refusal = HTTPStatus.BAD_REQUEST
            if isinstance(error, httptools.HttpParserCallbackError):
                _log.error("a call of the HTTP parser failed", exc_info=error)

    def _check_unfinished(self) -> None:
        """Bounds and duties of a request of which only a part has arrived."""
        if self._stage == _HEAD:
            if self._fed > HEAD_BYTES_MAX:
                self._refusal = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            return
        self._since = self._shared.ticks
        if len(self._arriving) > HEADERS_MAX:  # trailers
            self._refusal = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        elif self._fed > FRAMED_BYTES_MAX:
            self._refusal = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        elif len(self._body) > COUNTED_BYTES_MIN and not self._hold(len(self._body)):
            self._shared.load.shed += 1
            self._refusal = HTTPStatus.SERVICE_UNAVAILABLE
        elif self._expects and not self._body and not self._running and not self._queue:
            self._continue()

    def _continue(self) -> None:
        """The client waits for leave to send the body."""
        self._expects = False
        if self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _read_on_without_upgrade(self, rest: bytes) -> None:
        """Ignore the wish for another protocol: read the same request again without its Upgrade header.

        llhttp stops after the headers of such a request and skips its body, so a fresh parser gets the
        head without the two headers, and then what came after it.
        """
        parser = self._parser
        assert parser is not None
        method = parser.get_method()
        if method == b"CONNECT":
            self._refusal = HTTPStatus.BAD_REQUEST
            self._run_queue()
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
        self._forget_request()
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"".join(head) + rest)

    def _hold(self, size: int) -> bool:
        """Count the bytes this connection holds. False: all connections together hold too much."""
        if size == self._held:
            return True
        before, self._held = self._held, size
        return self._shared.load.hold(before, size)

    def _pause_reading(self) -> None:
        if self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    # --- Running and answering -------------------------------------------------------------------

    def _run_queue(self) -> None:
        """Answer queued requests until one has to wait, the client reads too slowly, or none is left."""
        queue = self._queue
        handle = self._shared.handle
        turns = REQUESTS_PER_TURN
        while queue and self._writable:
            if not turns:
                self._running = True
                asyncio.get_running_loop().call_soon(self._next_turn)
                break
            turns -= 1
            request = queue.popleft()
            if self._shared.waiting >= self._shared.load.waiting_max and request.method == "POST":
                self._shared.load.shed += 1
                self._answer(request.method, BUSY)
                continue
            try:
                response = start(handle(request), self._ended)
            except (Exception, asyncio.CancelledError):
                self._report(request)
                response = _FAILED
            if response is PENDING:
                self._running = True
                self._method = request.method
                self._shared.waiting += 1
                break
            self._answer(request.method, response)
        if queue:
            self._pause_reading()
        elif not self._running and self._transport is not None:
            self._after_queue()

    def _after_queue(self) -> None:
        """Everything asked so far is answered."""
        if self._held and self._stage == _IDLE and self._writable:
            self._hold(0)
        if self._refusal:
            self._end_with_refusal()
        elif self._final or (self._shared.draining and self._stage == _IDLE):
            self._close()
        else:
            if not self._reading:
                self._resume_reading()
            if self._expects and not self._body:
                self._continue()

    def _next_turn(self) -> None:
        self._running = False
        self._run_queue()

    def _ended(self, response: HttpResponse | None, error: BaseException | None) -> None:
        """The request that waited has come to its end."""
        shared = self._shared
        shared.waiting -= 1
        self._running = False
        if response is None:
            _log.error("a request failed", exc_info=error)
            response = _FAILED
        if self._transport is not None:
            self._answer(self._method, response)
            self._run_queue()
        shared.on_quiet()

    def _report(self, request: HttpRequest) -> None:
        _log.exception("a request failed: %s %r", request.method, request.target[:200])

    def _answer(self, method: str, response: HttpResponse) -> None:
        transport = self._transport
        if transport is None:
            return
        shared = self._shared
        keep_alive = bool(self._queue) or not (self._final or shared.draining)
        data = encode(response, keep_alive=keep_alive, date=shared.date)
        if method == "HEAD" and response.body:
            data = data[: -len(response.body)]
        transport.write(data)
        if self._stage == _IDLE:
            self._since = shared.ticks

    # --- Ends ------------------------------------------------------------------------------------

    def _end_with_refusal(self) -> None:
        """Refuse, say that nothing more will come, and read on for a while without looking."""
        transport = self._transport
        if transport is None or self._stage == _LINGERING:
            return
        refusal = HttpResponse(self._refusal, b"", None, None, None)
        transport.write(encode(refusal, keep_alive=False, date=self._shared.date))
        self._stage = _LINGERING
        self._since = self._shared.ticks
        self._started = 0
        self._body = b""
        if self._shared.draining:
            transport.close()
            return
        self._resume_reading()
        if transport.can_write_eof():
            transport.write_eof()

    def _throw_away(self, size: int) -> None:
        """Bytes after the last request."""
        if self._stage == _LINGERING:
            self._started += size
            if self._started > LINGER_BYTES_MAX:
                self._abort()
        elif self._final:
            self._pause_reading()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- The listener's calls --------------------------------------------------------------------

    def expire(self) -> None:
        """End this connection if it has been idle, unfinished or unread for too long.

        Called every few ticks. O(1).
        """
        transport = self._transport
        if transport is None:
            return
        age = self._shared.ticks - self._since
        if self._stage == _LINGERING:
            if age > LINGER_TICKS_MAX:
                transport.abort()
        elif not self._writable or transport.is_closing():
            unsent = transport.get_write_buffer_size()
            if unsent != self._unsent:
                self._unsent = unsent
                self._since = self._shared.ticks
            elif age > STALL_TICKS_MAX:
                transport.abort()
        elif self._running:
            pass  # the client waits for us, not we for it
        elif self._stage == _IDLE:
            if age > IDLE_TICKS_MAX:
                transport.close()
        elif age > (HEAD_TICKS_MAX if self._stage == _HEAD else STALL_TICKS_MAX) or (
            self._stage == _BODY and self._shared.ticks - self._started > BODY_TICKS_MAX
        ):
            self._refusal = HTTPStatus.REQUEST_TIMEOUT
            self._run_queue()

    def drain(self) -> None:
        """Close now if nothing is under way, otherwise after the answers.

        A request that has not arrived whole is refused: it was not begun, so its client may send it again,
        and a client that never sends the rest must not hold up the end.
        """
        if self._stage in (_HEAD, _BODY) and not self._refusal:
            self._refusal = HTTPStatus.SERVICE_UNAVAILABLE
        if self._stage == _LINGERING:
            self._close()
        elif not self._running and not self._queue:
            if self._refusal:
                self._end_with_refusal()
            else:
                self._close()

    def abort(self) -> None:
        """Close now, whatever is under way."""
        self._abort()
